"""dp-accounting as an oracle: its accountants, and our mechanisms as its events."""

import dp_accounting as dp
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from fedpriv.account.releases import Release


def rdp_accountant(relation: str = "add_remove") -> RdpAccountant:
    neighbours = {
        "add_remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace_one": dp.NeighboringRelation.REPLACE_ONE,
        "replace_special": dp.NeighboringRelation.REPLACE_SPECIAL,
    }
    return RdpAccountant(neighboring_relation=neighbours[relation])


def pld_accountant(width: float = 1e-4) -> PLDAccountant:
    return PLDAccountant(value_discretization_interval=width)


def event(mechanism: Release, times: int, sensitivity: str = "C") -> dp.DpEvent:
    """Return `times` releases: those of fixed samples are for replaced clients, whom a sum moves by 2C."""
    release = dp.GaussianDpEvent(mechanism.multiplier(sensitivity))
    if mechanism.law == "fixed":
        release = dp.SampledWithoutReplacementDpEvent(mechanism.population, mechanism.sample, release)
    elif mechanism.sampling_rate < 1:
        release = dp.PoissonSampledDpEvent(mechanism.sampling_rate, release)
    return dp.SelfComposedDpEvent(release, times)
