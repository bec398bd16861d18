"""What a scheme makes of the noisy mean is the server's step, and is kept."""

import torch
from safetensors.torch import load_file
from support.made_run import RUN, go

from fedpriv.schemes import SCHEMES
from fedpriv.schemes.client_dp import ClientDP
from fedpriv.store import parquet


class Halved(ClientDP):
    """Takes half of every step, and counts the rounds."""

    name: str = "halved"
    mechanism = "gaussian"

    def memory(self, parameters):
        return {"rounds": torch.zeros(1)}

    def postprocess(self, mean, context):
        rounds = context.memory["rounds"] + 1
        return mean / 2, {"rounds": rounds}, {"share_clipped": float(rounds)}


def test_half_of_every_step_is_half_of_the_servers_rate_and_memory_goes_from_round_to_round(
    files, tmp_path, monkeypatch
):
    monkeypatch.setitem(SCHEMES, "halved", Halved)
    halved = go(RUN | {"scheme": RUN["scheme"] | {"name": "halved"}}, files, tmp_path / "halved")
    slower = RUN["server"] | {"learning_rate": RUN["server"]["learning_rate"] / 2}
    slow = go(RUN | {"server": slower}, files, tmp_path / "slow")
    one, other = (load_file(run / "model.safetensors")["flat"] for run in (halved, slow))
    assert torch.equal(one, other)
    trace = parquet.load_frame(halved / "trace.parquet")
    assert trace["share_clipped"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_class_that_makes_something_of_a_release_says_anew_what_it_releases():
    class Silent(ClientDP):
        def postprocess(self, mean, context):
            return -mean, {}, {}

    assert Silent.mechanism == "other" and Silent.plan is not ClientDP.plan
    assert Halved.mechanism == "gaussian"
