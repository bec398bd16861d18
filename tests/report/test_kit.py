"""What is exported goes into a paper of one column or of two as it is, and says what it is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matplotlib.text import Text
from test_figures import CURVES, EPSILONS

from fedpriv.cli.app import main
from fedpriv.paper.paper import homes, load_paper
from fedpriv.report.figures import COLUMN, PAGE, draw_figure
from fedpriv.report.kit import Kit, write_citations, write_figure

ROOT = Path(__file__).parents[2]
DOCUMENT = r"""%s
\usepackage{booktabs,graphicx,url}
\graphicspath{{kit/}}
\begin{document}
Tables~\ref{tab:bdp2019-table2} and \ref{tab:bdp2019-table4}, Figures~\ref{fig:bdp2019-curves} and
\ref{fig:bdp2019-epsilons}, as published~\cite{bdp2019} and by this suite~\cite{fedpriv}.
\input{kit/bdp2019-table2}\input{kit/bdp2019-table4}\input{kit/bdp2019-curves}\input{kit/bdp2019-epsilons}
\bibliographystyle{plain}\bibliography{kit/bdp2019,kit/fedpriv}
\end{document}
"""
CLASSES = {
    "IEEEtran": r"\documentclass[conference]{IEEEtran}",
    "article": r"\documentclass[11pt]{article}",
}


@pytest.fixture
def kit(results, tmp_path, monkeypatch) -> Path:
    """Return a folder with two tables, two figures and what to cite."""
    folder = tmp_path / "kit"
    with monkeypatch.context() as at_root:
        at_root.chdir(ROOT)
        assert main(["export", "bdp2019", "table2", "table4", "--to", str(folder)]) == 0
    written = Kit(folder, COLUMN, ("fedpriv 0",))
    for name, declared in (("curves", CURVES), ("epsilons", EPSILONS)):
        write_figure(written, "bdp2019", name, declared, results)
    return folder


@pytest.mark.parametrize("name", CLASSES)
def test_tables_figures_and_citations_make_a_paper_without_a_warning(kit, name):
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex on PATH")
    if name == "IEEEtran" and not subprocess.run(["kpsewhich", "IEEEtran.cls"], capture_output=True).stdout:
        pytest.skip("no IEEEtran.cls")
    (kit.parent / "page.tex").write_text(DOCUMENT % CLASSES[name])
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page"]
    for command in (latex, ["bibtex", "page"], latex, latex):
        ended = subprocess.run(command, cwd=kit.parent, capture_output=True, text=True, errors="replace")
        assert ended.returncode == 0, ended.stdout[-2000:]
    said = (kit.parent / "page.log").read_text(errors="replace")
    assert not re.findall(r"Overfull \\hbox.*|.*too large.*|.*[Uu]ndefined.*|.*multiply defined.*", said)


def test_every_file_has_the_papers_name_and_begins_with_what_made_it(kit):
    names = {path.name for path in kit.iterdir()}
    of_paper = {"bdp2019-table2.tex", "bdp2019-table4.tex", "bdp2019-curves.tex", "bdp2019-curves.pdf"}
    assert of_paper <= names and names - {"fedpriv.bib"} == {name for name in names if "bdp2019" in name}
    first = (kit / "bdp2019-table2.tex").read_text().splitlines()
    assert first[0].startswith("% fedpriv ") and "fedpriv export bdp2019 table2 table4" in first[1]
    assert b"fedpriv 0" in (kit / "bdp2019-curves.pdf").read_bytes()


def test_a_caption_is_a_sentence_and_nothing_speaks_of_ours(kit):
    for path in kit.glob("*.tex"):
        text = path.read_text()
        (caption,) = re.findall(r"\\caption\{(.*)\}", text)
        assert len(caption) < 100 and caption.endswith(".")
        assert not re.search(r"\b[Oo]urs?\b", text)


@pytest.mark.parametrize("declared", [CURVES, EPSILONS], ids=lambda declared: declared.quantity)
@pytest.mark.parametrize("width", [COLUMN, 5.5, PAGE])
def test_a_figure_has_the_width_that_is_asked_for_and_letters_of_7_to_8_points(results, declared, width):
    figure = draw_figure(results, declared, width)
    assert figure.get_figwidth() == width
    sizes = {text.get_fontsize() for text in figure.findobj(Text) if text.get_text() and text.get_visible()}
    assert min(sizes) >= 7 and max(sizes) <= 8
    beyond = [axes.get_tightbbox() for axes in figure.axes]
    assert all(box.x0 >= -1 and box.x1 <= figure.bbox.width + 1 for box in beyond)


def test_wide_tables_and_figures_go_over_both_columns(results, tmp_path):
    _, tex = write_figure(Kit(tmp_path, PAGE, ()), "mine", "curves", CURVES, results)
    assert r"\begin{figure*}" in tex.read_text() and r"\end{figure*}" in tex.read_text()


def test_every_declared_paper_can_be_cited(tmp_path):
    for name, home in homes(ROOT / "config/papers").items():
        own, suite = write_citations(Kit(tmp_path, COLUMN, ()), load_paper(name, home), "0.1.0")
        assert own.read_text().startswith(f"@misc{{{name},\n") and "Version 0.1.0" in suite.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bdp2019"], "no table or figure"),
        (["bdp2019", "tabel2"], "Did you mean table2?"),
        (["bdp2019", "audits"], "found no table as LaTeX, allowed: table1, "),
        (["bdp2019", "table2", "--width", "wide"], "allowed: column, page, or inches from 2.5 to 12"),
    ],
)
def test_what_cannot_be_exported_is_a_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["export", *words, "--to", str(tmp_path / "kit")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (tmp_path / "kit").exists()


def test_a_figure_of_stored_runs_is_drawn_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["export", "laptop/nbafl", "sweep", "--to", str(tmp_path), "--width", "page"]) == 0
    assert (tmp_path / "nbafl-sweep.pdf").exists()
