# ruff: noqa: RUF001  (letters that look like others)
"""A text of anybody comes out of every medium as it went in, for readers that know nothing of its writer."""

import csv
import io
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from support import read_back
from support.nasty import NASTY, seen

from fedpriv.progress import visible
from fedpriv.report import render
from fedpriv.report.texts import (
    KNOWN,
    escape_csv,
    escape_figure,
    escape_html,
    escape_latex,
    escape_markdown,
    unescape_csv,
)
from fedpriv.report.texts import LATEX as COMMANDS

EXPECTED = list(map(seen, NASTY))
DETAILS = [f"Tested: {text}" for text in NASTY]
GRID = {"table", "thead", "tbody", "tr", "th", "td"}
MARKS = "ab1 |\\`*_~[]()<>&;#!$'\"=+-.@{}^%\n\r\x1b\u202eε⁻–—"
TWINS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΧο⩽⩾‐⁄", "ABEZHIKMNOPTXo≤≥-/")
ANY = st.text(max_size=40) | st.text(alphabet=MARKS, max_size=30)


def table(title="title"):
    """Return a table of every text, as a cell, a detail and a note."""
    cells = pd.DataFrame({"Text": NASTY, "group No.": list(map(str, range(len(NASTY))))})
    return render.PrintedTable("name", title, cells, cells, NASTY, DETAILS)


def wide():
    """Return a table of which every text is a heading."""
    cells = pd.DataFrame([["cell"] * len(NASTY)], columns=NASTY)
    return render.PrintedTable("name", "title", cells, cells, [])


def printed(line):
    """Return the cells of a line of a LaTeX table."""
    return [alike(read_back.latex(cell)) for cell in re.split(r"(?<!\\) & ", line.removesuffix("\\\\"))]


def alike(text):
    """Return a text with every letter that is spelt out as the letter, and of twins the plain one."""
    letters = re.sub(r"\\(?:x(..)|u(....)|U(.{8}))", lambda one: chr(int(one[one.lastindex], 16)), text)
    return " ".join(unicodedata.normalize("NFKC", letters).translate(TWINS).split())


def test_html_shows_every_cell_heading_note_and_title():
    page = read_back.Page(render.fragment(table()))
    assert page.of("td")[::2] == EXPECTED and page.of("p") == EXPECTED
    assert read_back.Page(render.fragment(wide())).of("th")[-len(NASTY) :] == EXPECTED
    assert page.tags <= GRID | {"figcaption", "div", "wbr", "p"}
    assert [*read_back.Page("".join(f"<p>{escape_html(text)}</p>" for text in NASTY)).of("p")] == EXPECTED


def test_markdown_shows_every_cell_heading_detail_note_title_and_description():
    page = read_back.markdown(render.markdown(table()))
    items = page.of("li")
    assert page.of("td")[::2] == EXPECTED and items[-len(NASTY) :] == EXPECTED
    assert items[: len(NASTY)] == list(map(seen, DETAILS))
    assert page.tags == GRID | {"h1", "ol", "ul", "li"}
    assert read_back.markdown(render.markdown(wide())).of("th") == EXPECTED
    page = read_back.markdown("\n\n".join(f"# {escape_markdown(text)}" for text in NASTY))
    assert page.of("h1") == EXPECTED
    page = read_back.markdown("\n\n".join(f"![{escape_markdown(text)}](name.png)" for text in NASTY))
    assert page.described == EXPECTED and set(page.links) == {"name.png"}


def test_csv_gives_every_text_back_one_line_a_row(tmp_path):
    render.write_table_files(table(), tmp_path / "name")
    written = (tmp_path / "name.csv").read_text()
    cells = [line["Text"] for line in csv.DictReader(io.StringIO(written))]
    assert len(written.splitlines()) == len(cells) + 1
    assert [seen(unescape_csv(cell)) for cell in cells] == EXPECTED
    read = pd.read_csv(tmp_path / "name.csv", dtype=str, keep_default_na=False)
    assert list(read["Text"]) == cells


def test_no_cell_of_a_csv_is_computed_by_a_spreadsheet_and_numbers_stay_numbers():
    computed = [text for text in map(escape_csv, NASTY) if text[:1] in tuple("=+-@＝＋－＠")]
    assert computed == ["-0.5", "+7"]
    assert escape_csv("=1+1") == "'=1+1" and escape_csv("'=1") == "''=1" and escape_csv("'a'") == "'a'"


def test_latex_prints_every_cell_heading_detail_note_and_title():
    text = render.latex(table(), "label")
    grid = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    long = r"\multicolumn{2}{@{}l}{"
    first = [line.removeprefix(long).removesuffix(r"} \\") if long in line else line for line in grid]
    first = [printed(line)[0] for line in first if not line.startswith((r"\enspace", r"\addlinespace"))]
    assert first == list(map(alike, EXPECTED))
    assert not any(line.lstrip().startswith(("[", "*")) for line in grid)  # an option of the line before
    notes = re.findall(r"^\\par (.*)$", text, re.MULTILINE)
    assert [alike(read_back.latex(note)) for note in notes] == list(map(alike, EXPECTED))
    empty = table()._replace(notes=[], items=[])
    for title in ("blank\n\nline", "\\input{x} $x_$", "}"):
        (caption,) = re.findall(
            r"^\\caption\{(.*)\}$", render.latex(empty._replace(title=title), "label"), re.MULTILINE
        )
        assert read_back.latex(caption) == seen(f"{title}.")


def test_a_figure_has_every_text_in_its_legend_and_computes_none():
    figure = Figure()
    axes = figure.subplots()
    for text in NASTY:
        axes.plot([1], [1], label=escape_figure(text))
    shown = [one._preprocess_math(one.get_text()) for one in figure.legend(loc="center").get_texts()]
    assert [seen(text) for text, _ in shown] == [
        one if len(one) < 400 else seen(f"{one[:399]}…") for one in EXPECTED
    ]
    assert not any(maths for _, maths in shown)


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_figure_of_every_text_is_drawn(kind):
    figure = Figure(figsize=(4, 4), dpi=40)
    for number, text in enumerate(NASTY):
        figure.text(0, number / len(NASTY), escape_figure(text), fontsize=6)
    figure.savefig(io.BytesIO(), format=kind)


@given(ANY)
def test_any_text_comes_out_as_it_went_in(text):
    assert read_back.Page(f"<p>{escape_html(text)}</p>").of("p") == [seen(text)]
    assert alike(read_back.latex(escape_latex(text))) == alike(seen(text))
    assert set(filter(str.isprintable, escape_latex(text))) <= set(map(chr, range(128))) | set(KNOWN)
    assert unescape_csv(escape_csv(text)) == visible(text)
    once = escape_markdown(text)
    assert read_back.markdown(f"| a |\n|---|\n| {once} |\n").of("td") == [seen(text)]
    assert read_back.markdown(f"- {once}\n").of("li") == [seen(text)]
    assert read_back.markdown(f"# {once}\n").of("h1") == [seen(text)]
    assert read_back.markdown(f"![{once}](x.png)\n").described == [seen(text)]


def test_latex_compiles_whatever_letters_there_are(tmp_path):
    if not (compiler := shutil.which("pdflatex")):
        pytest.skip("no pdflatex on PATH")
    accents = "ẽñếżěőçÅúÜ"
    others = "„ĐЖ中🙂½µﬁ𝜀€«»™ħѐ\u0302"
    lines = [escape_latex(f"x{letter}") for letter in [*COMMANDS, *KNOWN, *accents, *others, *"x²⁻¹₁"]]
    body = "\\documentclass{article}\\begin{document}\n%s\n\\end{document}\n"
    (tmp_path / "all.tex").write_text(body % "\n\n".join(lines), encoding="utf-8")
    command = [compiler, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert ended.returncode == 0, [line for line in ended.stdout.splitlines() if line.startswith("!")]
    assert "Missing character" not in (tmp_path / "all.log").read_text(errors="replace")


def test_no_table_of_the_reference_has_a_letter_that_latex_does_not_know():
    written = sorted(Path("results/reference").glob("**/*.tex"))
    found = {
        letter for path in written for letter in path.read_text(encoding="utf-8") if not letter.isascii()
    }
    assert len(written) >= 20 and found <= set(KNOWN)


@pytest.mark.parametrize("text", ["n100_dp, σ = 3 – 5 (%)", "[8, 16]", "paper's [digits in place of mnist]"])
def test_a_harmless_text_stays_as_it_is(text):
    assert escape_markdown(text) == escape_figure(text) == text
