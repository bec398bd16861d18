"""The smallest paper that declares one of everything: a table, a figure and a claim about a private run."""

import yaml


def write_preset(folder, preset, paper):
    """Write a preset and its one paper where the program looks for them in `folder`."""
    home = folder / "config/papers" / paper["paper"]
    home.mkdir(parents=True, exist_ok=True)
    (home / "paper.yaml").write_text(yaml.safe_dump(paper))
    (folder / f"config/{preset['preset']}.yaml").write_text(yaml.safe_dump(preset))


def tiny_paper(name, runs, baseline="plain", private="private", clients=100, **others):
    """Return a paper of these runs; its table reads `baseline` and `private`, the rest `private` alone."""
    row = {
        "clients": clients,
        "baseline": {"run": baseline, "value": 0.9},
        "run": private,
        "published": {"dp": {"value": 0.8, "epsilon": 8.0, "delta": 1e-3}},
    }
    table = {
        "kind": "accuracy",
        "title": "A table",
        "place": "Table I",
        "columns": {"dp": {"label": "DP", "accountant": "moments C"}},
        "rows": [row],
    }
    epsilons = {"kind": "rounds", "title": "Every ε", "quantity": "epsilon", "run": private}
    claim = {
        "id": "tighter",
        "place": "Table I",
        "text": "RDP is tighter than moments.",
        "check": 'epsilon("rdp C") <= epsilon("moments C")',
        "tables": ["table1"],
    }
    return {
        "paper": name,
        "title": "A tiny paper",
        "authors": ["Nobody"],
        "year": 2000,
        "url": "https://example.org",
        "runs": runs,
        "tables": {"table1": table},
        "figures": {"epsilons": epsilons | {"accountants": ["moments C", "pld C"], "panels": {"": "Tiny"}}},
        "claims": [claim],
    } | others
