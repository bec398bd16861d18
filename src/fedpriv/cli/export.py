"""The verb that exports: tables and figures as an author puts them into a paper."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedpriv.cli import complete
from fedpriv.cli.options import CONFIGS, REFERENCE, AsJson, Configs, Reference, print_result
from fedpriv.cli.results import elements, results_of
from fedpriv.errors import BadInput, match_name

WIDTHS = {"column": 3.3, "page": 6.9}  # inches, of a journal of two columns
LEAST, MOST = 2.5, 12.0


def inches(text: str) -> float:
    """Return a width in inches; BadInput for what is neither a name of `WIDTHS` nor a number in range."""
    try:
        width = WIDTHS.get(text) or float(text)
    except ValueError:
        width = 0.0
    if not LEAST <= width <= MOST:
        raise BadInput(f"--width: found {text}, allowed: column, page, or inches from {LEAST} to {MOST:g}")
    return width


def export(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="PAPER NAME",
            autocompletion=complete.show_words,
            help="PAPER or RESULTS/PAPER, then tables and figures of it.",
        ),
    ],
    to: Annotated[Path, typer.Option(file_okay=False, help="The folder to write to.")],
    width: Annotated[
        str, typer.Option(metavar="WIDTH", help="column (3.3 inches), page (6.9 inches), or inches.")
    ] = "column",
    reference: Reference = REFERENCE,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    r"""Write tables and figures as LaTeX for a paper.

    A paper's name means its reference results. A figure is drawn at the width that it is printed at, as PDF,
    with the LaTeX to include it. BibTeX entries of the paper and of fedpriv are beside. Each file says what
    made it.
    """
    from fedpriv.report.kit import Kit
    from fedpriv.store.machine import code
    from fedpriv.workflow.export import export as write

    size = inches(width)
    if len(words) < 2:
        raise BadInput(f"export {words[0]}: found no table or figure, allowed: those of fedpriv list tables")
    folder, version = results_of(words[0], reference), code()
    there = [path.stem for path in elements(folder)]
    names = [match_name("table or figure", name, there, f"fedpriv show {folder}") for name in words[1:]]
    typed = shlex.join(["fedpriv", "export", *words, "--to", str(to), "--width", width])
    made = f"fedpriv {version}", f"made by: {typed}", f"results: {folder}"
    files = list(map(str, write(folder, names, Kit(to, size, made), configs, version)))
    print_result({"files": files}, files, as_json)
