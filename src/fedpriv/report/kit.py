"""What an author puts into a paper: tables and figures as LaTeX, figures as PDF, and BibTeX entries.

A file has the paper's name and begins with how it was made. A figure is drawn at the width that it is printed
at, so that its letters stay at 7 to 8 points.
"""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.paper import Paper
from fedpriv.report.figures import PAGE, caption, draw_figure, house_style
from fedpriv.report.figures.notes import meanings
from fedpriv.report.render import short_caption
from fedpriv.report.results import Results
from fedpriv.report.texts import escape_latex
from fedpriv.store.files import writing

SUITE = {
    "title": "{fedpriv}: experiments on private federated learning, from raw data to printed tables",
    "author": "{The fedpriv authors}",
}


class Kit(NamedTuple):
    """Where the files go, how wide a column or page is, in inches, and the lines that each begins with."""

    folder: Path
    width: float
    made: tuple[str, ...]

    @property
    def star(self) -> str:
        """`*` where what is printed goes over both columns of a page."""
        return "*" * (self.width >= PAGE)

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file, whole or not at all; a text after the lines that it begins with, as comments."""
        if isinstance(content, str):
            content = ("".join(f"% {line}\n" for line in self.made) + content).encode()
        with writing(self.folder / name) as path:
            path.write_bytes(content)
        return self.folder / name


def write_table(kit: Kit, paper: str, rendered: Path) -> list[Path]:
    """Write a rendered table, RESULTS/PAPER/tables/NAME.tex, as PAPER-NAME.tex."""
    text = rendered.read_text(encoding="utf-8")
    for edge in ("begin", "end"):
        text = text.replace(rf"\{edge}{{table}}", rf"\{edge}{{table{kit.star}}}")
    return [kit.write(f"{paper}-{rendered.name}", text)]


@house_style()
def write_figure(kit: Kit, paper: str, name: str, declared: FigureSpec, results: Results) -> list[Path]:
    """Draw the declared figure of collected runs as PAPER-NAME.pdf, with PAPER-NAME.tex to include it."""
    figure = draw_figure(results, declared, kit.width)
    drawn = BytesIO()
    figure.savefig(drawn, format="pdf", metadata={"CreationDate": None, "Subject": "; ".join(kit.made)})
    label = f"{paper}-{name}"
    notes = [caption(results, declared, figure), *meanings(results, declared.parts())]
    parts = [
        r"% needs \usepackage{graphicx}, and \graphicspath{{FOLDER/}} where the PDF is not beside the paper",
        rf"\begin{{figure{kit.star}}}",
        rf"\centering\includegraphics{{{label}.pdf}}",
        rf"\caption{{{escape_latex(short_caption(declared.title, ''))}}}",
        rf"\label{{fig:{label}}}",
        r"\par\smallskip\raggedright\scriptsize",
        *(rf"\par {escape_latex(note)}" for note in notes),
        rf"\end{{figure{kit.star}}}",
    ]
    return [kit.write(f"{label}.pdf", drawn.getvalue()), kit.write(f"{label}.tex", "\n".join(parts) + "\n")]


def write_citations(kit: Kit, paper: Paper, version: str) -> list[Path]:
    """Write the BibTeX entries `PAPER` and `fedpriv`, of the paper and of this suite, a file each."""
    own = {
        "title": f"{{{escape_latex(paper.title)}}}",
        "author": " and ".join(map(bibtex_author, paper.authors)),
        "year": str(paper.year),
        "howpublished": rf"\url{{{paper.url}}}",
    }
    suite = SUITE | {"note": f"Version {escape_latex(version)}"}
    entries = {paper.paper: own, "fedpriv": suite}
    return [kit.write(f"{key}.bib", bibtex_entry(key, fields.items())) for key, fields in entries.items()]


def bibtex_author(name: str) -> str:
    """Return an author as BibTeX reads it: what is no person's name stays as it is."""
    return f"{{{escape_latex(name)}}}" if name.startswith("The ") else escape_latex(name)


def bibtex_entry(key: str, fields: Iterable[tuple[str, str]]) -> str:
    r"""Return an entry of a kind that every style knows; its addresses need \usepackage{url}."""
    return f"@misc{{{key},\n" + "".join(f"  {name} = {{{text}}},\n" for name, text in fields) + "}\n"
