"""The results of a small preset, with everything that a report may show, and the page of it."""

from pathlib import Path
from typing import Any

from fedpriv.config.jobs import figure_names
from fedpriv.config.plan import Plan, Preset
from fedpriv.paper.paper import Paper
from fedpriv.report import figures, page
from fedpriv.report.collect import collect
from fedpriv.report.paper import write_tables
from fedpriv.report.results import load_results
from fedpriv.store import summary
from support.made_runs import write_run

BUDGETS = {
    "columns": {
        "dp": {"label": "DP", "accountant": "moments C"},
        "bdp": {"label": "BDP", "accountant": "bayesian product remove_mean"},
    },
    "rows": [
        {
            "clients": clients,
            "baseline": {"run": f"n{clients}_none", "value": 0.97},
            "run": f"n{clients}_dp",
            "published": {
                "dp": {"value": 0.45, "epsilon": 6.0, "delta": 1e-3},
                "bdp": {"value": 0.88, "epsilon": 4.0, "delta": 1e-3},
            },
        }
        for clients in (100, 1000)
    ],
}
ACCOUNTANTS = ["moments C", "moments 2C", "pld C", "bayesian product remove_mean"]
BOTH_ACCOUNTANTS = {"client": "sum moments C", "instance": "sequential moments C"}
BOTH = {
    "columns": {name: {"label": name, "accountants": BOTH_ACCOUNTANTS} for name in ("dp", "dpsgd", "bdp")},
    "rows": [
        {
            "label": f"Photographs ({number})",
            "clients": 100,
            "baseline": {"run": "photos_none", "value": 0.7},
            "runs": {"dp": "photos_dp", "dpsgd": "photos_dpsgd", "bdp": "photos_bdp"},
            "published": {"dp": 0.42, "bdp": 0.64},
            "budgets": {"client": {"epsilon": 1, "delta": 1e-3}, "instance": {"epsilon": 0.1, "delta": 1e-5}},
        }
        for number in (1, 2, 3)
    ],
}
SMALL = {
    "paper": "small",
    "title": "A <small> paper",
    "authors": ["Nobody & Co"],
    "year": 2000,
    "url": "https://example.org/small",
    "runs": {run: {} for run in ("n100_none", "n100_dp", "burst", "n1000_none", "n1000_dp")},
    "tables": {
        "table1": {"kind": "accuracy", "title": "Accuracy & privacy", "place": "Table I"} | BUDGETS,
        "table1_epsilons": {
            "kind": "epsilons",
            "of": "table1",
            "title": "Every ε",
            "accountants": ACCOUNTANTS,
        },
    },
    "figures": {
        "curves": {
            "kind": "rounds",
            "title": "Accuracy > chance",
            "place": "Figure 1",
            "lines": {"n100_dp": 'the "private" run'},
            "panels": {"": "100 clients"},
        },
        "epsilons": {
            "kind": "rounds",
            "title": "ε by round",
            "quantity": "epsilon",
            "run": "n100_dp",
            "accountants": ACCOUNTANTS,
            "panels": {"": "100 clients"},
        },
        "nothing": {
            "kind": "rounds",
            "title": "Of what the preset leaves out",
            "lines": {"n1000_dp": "private"},
            "panels": {"": "1,000 clients"},
        },
    },
    "claims": [
        {
            "id": name,
            "place": "Table I",
            "text": f"<b>{name}</b> [red] holds.",
            "check": f"accuracy({column}) >= published({column}) - 0.005",
            "tables": ["table1"],
            "clients": clients,
            "unsound": unsound,
        }
        for name, column, clients, unsound in (
            ("reached", "bdp", [100], ""),
            ("everywhere", "bdp", [100, 1000], ""),
            ("false", "bdp", [100], "It does not follow."),
            ("elsewhere", "dp", [1000], ""),
            ("baseline", "baseline", [100], ""),
        )
    ],
    "notes": ["Read <as> printed."],
}
WIDE = {
    "paper": "wide",
    "title": "Both levels",
    "authors": ["Nobody"],
    "year": 2001,
    "url": "https://example.org/wide",
    "runs": {run: {} for run in ("photos_none", "photos_dp", "photos_dpsgd", "photos_bdp")},
    "tables": {
        "table4": {"kind": "accuracy", "title": "Both", "place": "Table IV"} | BOTH,
        "table4_epsilons": {
            "kind": "epsilons",
            "of": "table4",
            "title": "Every ε of both",
            "accountants": [*BOTH_ACCOUNTANTS.values()],
        },
    },
}
RUNS = {
    "small": {
        "n100_none": {"scheme": "none", "final": 0.97, "substitute_for": "mnist"},
        "n100_dp": {"scheme": "client_dp", "final": 0.9},
        "burst": {"scheme": "client_dp", "final": 0.1, "config": {"server": {"learning_rate": 99.0}}},
    },
    "wide": {
        "photos_none": {"scheme": "none", "final": 0.7},
        "photos_dp": {"scheme": "joint", "final": 0.4},
        "photos_dpsgd": {"scheme": "joint", "final": 0.6, "per_example_clip": True},
        "photos_bdp": {"scheme": "joint", "final": 0.65},
    },
}
PRESET = {
    "preset": "test",
    "papers": ["small", "wide"],
    "seeds": 2,
    "substitutes": {"mnist": "digits"},
    "patches": {"small/*": {"rounds": 20}},
}


def plan() -> Plan:
    """Return the plan of both papers."""
    papers = {paper["paper"]: Paper.model_validate(paper) for paper in (SMALL, WIDE)}
    planned: Any = {name: dict.fromkeys(RUNS[name]) for name in papers}
    return Plan(Preset.model_validate(PRESET), papers, planned)


def write_results(folder: Path) -> Path:
    """Write the results of both papers, two seeds a run, and the page; return that. `burst` diverged."""
    for name, paper in (("small", SMALL), ("wide", WIDE)):
        built, root = Paper.model_validate(paper), folder / name
        made = [
            write_run(root / "runs", run, seed, **facts)
            for run, facts in RUNS[name].items()
            for seed in range(2)
        ]
        for path in root.glob("runs/burst/*/summary.json"):
            summary.save_summary(path, summary.load_summary(path) | {"diverged": 7, "test_accuracy": None})
        runs = load_results(collect(made, root))
        for figure, spec in figure_names(plan(), name).items():
            figures.write_figure(runs, spec, root / "figures" / figure)
        write_tables(root, built)
    return page.write_report(plan(), folder / "report.html")
