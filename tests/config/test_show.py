"""One table costs one table: a preset that shows some of what is rendered plans the runs of that alone."""

from pathlib import Path

import pytest

from fedpriv.config.files import RESULTS, targets
from fedpriv.config.plan import make_plan
from fedpriv.errors import BadInput
from fedpriv.paper.paper import read_yaml

CONFIG = Path(__file__).parents[2] / "config"


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("table2_s3", {"iid_n100_none", "iid_n100_dp_s3"}),
        ("table2_epsilons", {"iid_n100_none", "iid_n100_dp", "iid_n100_tight"}),
        ("figure1", {f"{data}_n{n}_instance" for data in ("aptos", "iid", "noniid") for n in (100, 1000)}),
    ],
)
def test_what_alone_is_shown_needs_only_the_runs_that_it_reads(name, runs):
    config = read_yaml(CONFIG / "laptop.yaml") | {"show": [f"bdp2019/{name}"]}
    plan = make_plan(config, CONFIG / "papers")
    assert set(plan.runs) == {"bdp2019"} and set(plan.runs["bdp2019"]) == runs
    assert plan.papers["bdp2019"].claims == ()
    assert {Path(file).stem.removesuffix("_seeds") for file in targets(plan)} == {
        name,
        "details",
        *RESULTS,
    }


def test_what_is_not_there_cannot_be_shown():
    config = read_yaml(CONFIG / "laptop.yaml") | {"show": ["bdp2019/table9"]}
    with pytest.raises(
        BadInput,
        match=r"No table or figure 'bdp2019/table9'. Did you mean bdp2019/table",
    ):
        make_plan(config, CONFIG / "papers")
