"""The comment beside a field is what the reference says of it, as in every other page that is generated."""

from typing import Any

import griffe


class Remarks(griffe.Extension):
    """Takes the comment at the end of a field's line for its docstring."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Give an attribute without a docstring the words that stand beside it."""
        remark = "\n".join(attr.lines).partition("  # ")[2]
        if attr.docstring is None and remark:
            attr.docstring = griffe.Docstring(remark, parent=attr)
