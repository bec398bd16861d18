"""Zero-concentrated privacy: Gaussian noise alone, no credit for who was not sampled.

Bun and Steinke 2016, "Concentrated Differential Privacy", Propositions 1.3 and 1.6 and Lemma 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account.accountants import Accountant
from fedpriv.account.statement import Curve

if TYPE_CHECKING:
    from fedpriv.account.views import View


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C, or for `fixed` cohorts 2C alone.

    A release of multiplier z costs ρ = 1/(2z²), ρ adds up, and ε = ρ + 2 √(ρ ln(1/δ)). Who is sampled with
    some probability pays no more than who is always there, so that this holds under every sampling law.
    From a cohort of fixed size nobody can be taken away, only replaced.
    """
    curves = []
    for sensitivity in ("2C",) if view.law == "fixed" else view.relations:
        with np.errstate(divide="ignore"):
            cost = 0.5 / np.square([release.multiplier(sensitivity) for release in view.releases])
        rho = view.running(cost)
        curves.append(
            Curve(
                rho + 2 * np.sqrt(rho * np.log(1 / delta)),
                np.full(len(rho), np.nan),
                accountant="zcdp",
                relation=view.relations[sensitivity],
                sensitivity=sensitivity,
                violation=view.violation_at(sensitivity),
            )
        )
    return curves


ZCDP = Accountant(curves)
