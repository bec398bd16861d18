"""Tables and figures made by Python in the paper's own folder: by a function of `tables.py` or `figures.py`.

A kind of table or figure that one paper needs is a function beside its YAML, and no kind of the suite's:

    figures:
      sweep: {kind: python, function: sweep, title: Accuracy against ε/c, lines: {wei_e10_c1: Wei et al.}}

To read a paper, to plan and to train runs nothing of it: whether the function is there is seen in its source.
It runs where the table or figure is made, as a network or a loss of one's own does.
"""

import ast
import hashlib
import runpy
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import PrivateAttr, StringConstraints, computed_field

from fedpriv.errors import BadInput, plain
from fedpriv.paper.cells import Rendered

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]\w*$", max_length=100)]


class Scripted(Rendered):
    """What a function of the paper's folder makes."""

    kind: Literal["python"] = "python"
    function: Identifier
    """In `tables.py` or `figures.py` beside the YAML."""
    _file: Path = PrivateAttr(Path())

    @computed_field
    @property
    def code(self) -> str:
        """Return the digest of the function's file: what was made by another is made again."""
        return hashlib.sha256(self._file.read_bytes()).hexdigest()[:8] if self._file.is_file() else ""

    def find(self, file: Path, where: str) -> None:
        """Take the function from a file; BadInput unless that defines it. Nothing of the file runs."""
        try:
            defined = ast.parse(file.read_bytes()).body
        except (OSError, SyntaxError, ValueError) as error:
            why = f"{type(error).__name__}: {plain(str(error))}"
            raise BadInput(f"{where}: found {file} ({why}), allowed: a file of Python") from None
        there = [one.name for one in defined if isinstance(one, ast.FunctionDef)]
        if self.function not in there:
            known = ", ".join(there) or "none is there"
            raise BadInput(f"{where}.function: found {self.function}, allowed: {known} (of {file})")
        self._file = file

    def call(self, *args: Any) -> Any:
        """Return what the function gives; whatever goes wrong in it is BadInput that names its file."""
        try:
            return runpy.run_path(str(self._file))[self.function](*args)
        except (Exception, SystemExit) as error:  # somebody's code runs here
            why = f"{type(error).__name__}: {plain(' '.join(str(error).split()))}"
            raise BadInput(f"{self._file}: {self.function}: found {why}, allowed: to end") from error
