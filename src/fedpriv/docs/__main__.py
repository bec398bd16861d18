"""Write the generated pages of the repository in the current folder."""

from pathlib import Path

from fedpriv import docs
from fedpriv.docs import pictures

root = Path.cwd()
for path, text in docs.pages(root).items():
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
pictures.draw_pictures(root)
