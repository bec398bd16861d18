"""What there is to work with, and what of it is stored: papers, runs, tables, datasets, schemes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fedpriv.data import DATASETS
from fedpriv.files.rundir import RunDir
from fedpriv.files.summary import everywhere
from fedpriv.paper.cells import titled
from fedpriv.paper.paper import Paper, load_paper
from fedpriv.paper.read import merge, papers_in
from fedpriv.schemes import SCHEMES

Lines = list[dict[str, Any]]
Seeds = Mapping[str, Mapping[str, list[int]]]  # run -> preset -> seeds


def inventory(configs: Path, reference: Path, resources: Path) -> dict[str, Lines]:
    """Return what is declared in `configs` and registered, a line each, by kind.

    Stored are runs and rendered tables below `reference`, and raw data below `resources`.
    """
    papers = {name: load_paper(name, configs / "papers") for name in papers_in(configs / "papers")}
    kept = {name: seeds(reference, name) for name in papers}
    return {
        "papers": [paper_counts(paper, kept[name]) for name, paper in papers.items()],
        "runs": [line for name, paper in papers.items() for line in run_lines(paper, kept[name])],
        "tables": [line for paper in papers.values() for line in rendered_lines(paper, reference)],
        "datasets": [dataset_line(name, resources) for name in DATASETS],
        "schemes": [scheme_line(name) for name in SCHEMES],
    }


def seeds(reference: Path, paper: str) -> Seeds:
    """Return the stored seeds of every run of a paper, by the preset that trained them.

    A damaged file is BadInput naming it.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for told in (RunDir(path).summary for path in everywhere(reference, paper)):
        found.setdefault(told["run"], {}).setdefault(told["preset"], []).append(told["seed"])
    return found


def paper_counts(paper: Paper, kept: Seeds) -> dict[str, Any]:
    """Return how much a paper declares, and how many of its runs are stored."""
    counts = {name: len(getattr(paper, name)) for name in ("runs", "tables", "figures", "claims")}
    counts["runs stored"] = len(kept)
    return {"paper": paper.paper, "title": paper.title, "year": paper.year, **counts}


def run_lines(paper: Paper, kept: Seeds) -> Iterator[dict[str, Any]]:
    """Yield every run of a paper with what tells it apart, before any preset has its say."""
    for name, own in paper.runs.items():
        said = merge(paper.defaults, own)
        scheme = said.get("scheme", "")
        yield {
            "paper": paper.paper,
            "run": name,
            "dataset": said.get("dataset", ""),
            "scheme": scheme.get("name", "") if isinstance(scheme, dict) else scheme,
            "stored": {preset: sorted(some) for preset, some in kept.get(name, {}).items()},
        }


def rendered_lines(paper: Paper, reference: Path) -> Iterator[dict[str, Any]]:
    """Yield every table and figure of a paper, with the presets of which it is rendered in the reference."""
    for kind, there, suffix in (("tables", paper.tables, "csv"), ("figures", paper.figures, "png")):
        for name, one in there.items():
            found = reference.glob(f"*/{paper.paper}/{kind}/{name}.{suffix}")
            yield {
                "paper": paper.paper,
                "name": name,
                "kind": f"{kind.removesuffix('s')} of {one.kind}",
                "title": titled(one),
                "rendered": sorted(path.parts[-4] for path in found),
            }


def dataset_line(name: str, resources: Path) -> dict[str, Any]:
    """Return what a dataset is, and whether anything was fetched for it."""
    one = DATASETS[name]
    return {
        "dataset": name,
        "gives": one.contents,
        "source": "a download" if one.network else "bundled",
        "licence": one.licence,
        "here": any(resources.glob(f"{name}[./-]*")) or (resources / name).is_dir(),
    }


def scheme_line(name: str) -> dict[str, Any]:
    """Return whose presence a scheme protects, and what it does."""
    scheme = SCHEMES[name]
    does = " ".join((scheme.__doc__ or "").split("\n\n")[0].split())
    return {"scheme": name, "unit": getattr(scheme, "unit", ""), "does": does}
