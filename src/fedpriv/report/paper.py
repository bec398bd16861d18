"""All that is rendered from the collected runs of a paper, in one process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedpriv.report.collect import load


def write_tables(runs: Path, declared: Mapping[str, Any], out: Path) -> None:
    """Write every table among `declared` to `out`/tables; the verdicts to `out`, if it has the key claims."""
    from fedpriv.paper.kinds import TABLES
    from fedpriv.report import tables
    from fedpriv.report.claims import write as claims

    frame = load(runs)
    for name, table in declared["tables"].items():
        tables.write(frame, TABLES[table["kind"]].model_validate(table), out / "tables" / name)
    if "claims" in declared:
        claims.write(frame, declared, out / "claims")


def write_figures(runs: Path, declared: Mapping[str, Any], out: Path) -> None:
    """Draw every figure among `declared` (key figures) into `out`/figures."""
    from fedpriv.paper.kinds import FIGURES
    from fedpriv.report import figures

    frame = load(runs)
    for name, figure in declared["figures"].items():
        figures.write(frame, FIGURES[figure["kind"]].model_validate(figure), out / "figures" / name)
