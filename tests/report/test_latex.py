"""Every table that a paper would print goes into a page as it is, with booktabs alone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REFERENCE = Path("results/reference").resolve()
WRITTEN = sorted(REFERENCE.glob("*/*/tables/*.tex"))
PAPER = REFERENCE / "paper/bdp2019"
COLUMN, PAGE = "3.3in", "6.9in"  # of a journal
DOCUMENT = r"""\documentclass[%s]{article}
\usepackage[textwidth=%s,textheight=9.4in,columnsep=0.3in]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""

pytestmark = pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex on PATH")


def compiled(folder: Path, body: str, width: str, form: str = "10pt") -> str:
    """Return what LaTeX says of a document; an error fails."""
    (folder / "page.tex").write_text(DOCUMENT % (form, width, body), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert ended.returncode == 0, [line for line in ended.stdout.splitlines() if line.startswith("!")]
    return ended.stdout


def inputs(files: list[Path]) -> str:
    return "\n".join(rf"\input{{{path.as_posix()}}}\clearpage" for path in files)


def too_large(said: str) -> list[str]:
    return re.findall(r"Overfull \\hbox.*|.*Float too large.*", said)


def test_every_table_compiles_and_none_is_too_wide_or_too_tall_for_a_page(tmp_path):
    assert len(WRITTEN) >= 20
    assert not too_large(compiled(tmp_path, inputs(WRITTEN), PAGE))


def test_the_tables_of_the_2019_paper_fit_into_one_column(tmp_path):
    files = [PAPER / f"tables/table{number}.tex" for number in (1, 2, 3, 4)]
    assert not too_large(compiled(tmp_path, inputs(files), COLUMN))


def test_its_tables_and_figures_make_a_paper_of_two_columns(tmp_path):
    parts = [rf"\input{{{PAPER.as_posix()}/tables/table{number}}}" for number in (1, 2, 3, 4)]
    parts += [
        rf"\begin{{figure*}}\includegraphics[width=\textwidth]{{{PAPER.as_posix()}/figures/figure{number}.png}}"
        r"\caption{As published, and here.}\end{figure*}"
        for number in (1, 2)
    ]
    said = compiled(tmp_path, "\n".join(parts), PAGE, "10pt,twocolumn")
    assert not too_large(said) and re.search(r"\((\d+) pages?", said)[1] in ("2", "3")
