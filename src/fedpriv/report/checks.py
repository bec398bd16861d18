"""The checks that a paper's YAML may name; to add one, write its class and its line here."""

from fedpriv.report.check import Check
from fedpriv.report.run_checks import FewerBytes, Growth, LargerEpsilon, Reaches, Rising, RunBelow, RunGain
from fedpriv.report.table_checks import (
    AccuracyBelow,
    AccuracyGain,
    EpsilonBelow,
    LargestGain,
    LessEpsilon,
    OutOfReach,
    PublishedAccuracy,
    ShareOfGap,
)

CHECKS: dict[str, type[Check]] = {
    "published_accuracy": PublishedAccuracy,
    "accuracy_gain": AccuracyGain,
    "share_of_gap": ShareOfGap,
    "largest_gain": LargestGain,
    "accuracy_below": AccuracyBelow,
    "less_epsilon": LessEpsilon,
    "epsilon_below": EpsilonBelow,
    "out_of_reach": OutOfReach,
    "run_gain": RunGain,
    "run_below": RunBelow,
    "rising": Rising,
    "fewer_bytes": FewerBytes,
    "reaches": Reaches,
    "growth": Growth,
    "larger_epsilon": LargerEpsilon,
}
