"""What every check can do: say in words what it tests, and be written as data."""

import pytest
from made_claims import claim

from fedpriv.report.checks import CHECKS
from fedpriv.report.claim import Claim

TABLE = {"tables": ["table1"]}
EXAMPLES = [
    {"name": "published_accuracy", "column": "dp"} | TABLE,
    {"name": "accuracy_gain", "of": "bdp", "over": "dp"} | TABLE,
    {"name": "share_of_gap", "of": "dpsgd", "low": "dp", "high": "bdp"} | TABLE,
    {"name": "largest_gain", "of": "bdp", "over": "dp", "at": {"table": "table1", "clients": 100}} | TABLE,
    {"name": "accuracy_below", "column": "dp", "below": 0.2} | TABLE,
    {"name": "less_epsilon", "spend": "moments C", "than": "moments 2C"} | TABLE,
    {"name": "epsilon_below", "spend": "moments C", "below": 1} | TABLE,
    {"name": "out_of_reach", "spend": "moments C", "epsilon": 1, "column": "bdp"} | TABLE,
    {"name": "run_gain", "cells": [{"label": "here", "of": "a", "over": "b"}]},
    {"name": "run_below", "cells": [{"label": "here", "run": "a", "below": 0.2}]},
    {"name": "rising", "cells": [{"label": "here", "runs": ["a", "b"]}], "measure": "best_drawn"},
    {"name": "fewer_bytes", "cells": [{"label": "here", "run": "a"}], "at_least": 32},
    {"name": "reaches", "cells": [{"label": "here", "run": "a", "over": "b", "rounds_ratio": 1.5}]},
    {
        "name": "larger_epsilon",
        "cells": [{"label": "here", "run": "a", "spend": "bit exact", "than": "all rdp"}],
    },
    {
        "name": "growth",
        "cells": [{"label": "here", "run": "a", "spend": "sequential rdp", "than": "parallel rdp"}],
    },
]


def test_every_check_says_in_words_what_it_tests():
    checks = [claim(example).check for example in EXAMPLES]
    assert {check.name for check in checks} == set(CHECKS)
    assert len({check.sentence() for check in checks}) == len(CHECKS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_a_claim_survives_being_written_as_data(example):
    declared = claim(example)
    assert Claim.model_validate(declared.model_dump()) == declared
