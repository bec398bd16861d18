"""What the noise of Table IV guarantees an example: full participation, so that nothing is sampled."""

import pandas as pd

from fedpriv.account import plans
from fedpriv.paper.tables import full_title
from fedpriv.report import numbers
from fedpriv.report.lines import Line, tidy
from fedpriv.report.render import PrintedTable

EPSILON, DELTA, MOST = 0.1, 1e-5, 100_000
COLUMNS = ["table", "row", "column", "quantity", "value", "accountant", "delta", "kind", "epsilon_status"]
NOISE = {  # what stands for σ, which is σC/Δ, and half of it for a replaced example; and rounds
    "APTOS 2019, a photograph's gradient becomes zero": (170.3, 30),
    "APTOS 2019, a photograph is replaced": (85.17, 30),
    "i.i.d., an example's gradient becomes zero": (308.3, 100),
    "i.i.d., an example is replaced": (154.1, 100),
    "non-i.i.d., an example's gradient becomes zero": (323.4, 100),
    "non-i.i.d., an example is replaced by one of its label": (161.7, 100),
}
HOW = (
    f"ε after all rounds (APTOS 2019 has 30, MNIST 100), and the rounds whose ε is at most {EPSILON:g}, by "
    "accountant pld with everybody in every round, add/remove neighbours, at the δ of the line; σ is the std "
    "of the noise on a sum over what one example can add to it. Counted: as its own accountant has it. "
    "Done: what is released. 0: one round costs more."
)


def table4_examples(results, declared, name):
    """Return a line for every data set and relation; what is counted is what is done."""
    cells, lines = [], []
    for label, (sigma, trained) in NOISE.items():
        plan = {"sampling_rate": 1, "noise_multiplier": sigma, "delta": DELTA, "accountant": "pld"}
        epsilon = plans.epsilon(**plan, rounds=trained).epsilon
        rounds = plans.affordable_rounds(**plan, epsilon=EPSILON, at_most=MOST)
        line = {"What": label, "δ": numbers.delta(DELTA)}
        for column in ("counted", "done"):
            for quantity, heading, value, text in (
                ("sampling_rate", "q", 1, "1"),
                ("noise_multiplier", "σ", sigma, f"{sigma:.3g}"),
                ("releases", "releases a round", 1, "1"),
                ("epsilon", "ε", epsilon, numbers.size([epsilon])),
                ("rounds", "rounds", rounds, f"{rounds:,}"),
            ):
                status = {"kind": "guarantee", "epsilon_status": "guarantee"} if heading == "ε" else {}
                about = {"accountant": "pld", "delta": DELTA} | status
                cells.append(Line(label, column, quantity, value, about))
                line[f"{column.capitalize()} {heading}"] = text
        lines.append(line)
    return PrintedTable(name, full_title(declared), tidy(name, COLUMNS, cells), pd.DataFrame(lines), [HOW])
