"""What a converter does with each setting of a framework: a case for each line of the page's table.

Those of Opacus are held against Opacus itself, where it is installed.
"""

from inspect import signature
from pathlib import Path
from typing import Any

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest

from fedpriv.account import foreign, ledger, statements
from fedpriv.errors import BadInput

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "examples/other-frameworks/README.md").read_text(encoding="utf-8")
DELTA = 1e-5
HISTORY = [(1.1, 1 / 29, 58)]
OPACUS = {"clipping": "flat", "poisson_sampling": True}
TFF = {"noise_multiplier": 1.0, "clients_per_round": 100, "population": 10_000, "rounds": 50}
TFF |= {"zeroing": False, "poisson_sampling": True}
FLOWER = {"noise_multiplier": 4.0, "num_sampled_clients": 50, "population": 200, "rounds": 15}
FLOWER |= {"largest_share": 1 / 50, "fewest_replies": 50, "adaptive": False}
PFL = {"noise_parameter": 1.0, "sampling_probability": 0.01, "num_compositions": 50}
PFL |= {"poisson_sampling": True, "public_denominator": True}
GAUSSIAN = dp.GaussianDpEvent(2.0)
CONVERTERS = {
    "opacus": lambda **told: foreign.from_opacus(HISTORY, **OPACUS | told),
    "tff": lambda **told: foreign.from_tff(**TFF | told),
    "flower": lambda **told: foreign.from_flower(**FLOWER | told),
    "pfl": lambda **told: foreign.from_pfl(**PFL | told),
}


def least(trace: pd.DataFrame, sensitivity: str = "C") -> tuple[float, str]:
    """Return the least ε of a trace at a sensitivity, and the status that all of them have."""
    found = [one for one in statements(ledger(trace, DELTA)) if one.sensitivity == sensitivity]
    (status,) = {one.status for one in found}
    return min(one.epsilon for one in found), status


def asks(name: str, answer: Any, wrong: Any, reason: str, framework: str, unsaid: str = "") -> None:
    """Check that an answer makes a guarantee, another one none, and that no answer makes none either."""
    made = CONVERTERS[framework]
    assert least(made(**{name: answer}))[1] == "guarantee"
    assert least(made(**{name: wrong}))[1] == f"not a guarantee: {reason}"
    default = signature(getattr(foreign, f"from_{framework}")).parameters[name].default
    status = least(made(**{name: default}))[1]
    assert status == f"not a guarantee: {unsaid or reason}"


def how_a_batch_is_drawn() -> None:
    passes = "whether an example comes once in each pass is not known"
    asks("poisson_sampling", True, False, passes, "opacus", "how batches were drawn is not known")
    asks("poisson_sampling", True, False, "nobody says that each client was drawn by itself", "tff")
    asks("poisson_sampling", True, False, "nobody says that each client was drawn by itself", "pfl")
    flower = statements(ledger(CONVERTERS["flower"](), DELTA))
    assert {one.relation for one in flower if one.status == "guarantee"} == {"replace_one"}
    events = {
        "fixed": dp.SampledWithoutReplacementDpEvent(20, 5, GAUSSIAN),
        "poisson": dp.PoissonSampledDpEvent(0.1, GAUSSIAN),
    }
    for law, event in events.items():
        assert foreign.from_dp_event(event)["sampling_law"].tolist() == [law]


def norms() -> None:
    reason = "adaptive clipping divides by the size of a batch"
    for answer in ("flat", "per_layer"):
        asks("clipping", answer, "adaptive", reason, "opacus", "how gradients were clipped is not known")
    pd.testing.assert_frame_equal(CONVERTERS["opacus"](), CONVERTERS["opacus"](clipping="per_layer"))
    with pytest.raises(BadInput, match=r"^clipping: found 'ghost', allowed: flat, per_layer, adaptive, None"):
        CONVERTERS["opacus"](clipping="ghost")


def adaptive_clipping() -> None:
    reason = "adaptive clipping divides by the size of a batch"
    assert least(CONVERTERS["opacus"](clipping="adaptive"))[1] == f"not a guarantee: {reason}"
    either = [least(CONVERTERS["tff"](adaptive=adaptive))[0] for adaptive in (True, False)]
    assert either[0] == pytest.approx(either[1], rel=1e-3)
    for adaptive, why in (
        (None, "whether clipping is adaptive is not known"),
        (True, "the noise is of the clipping norm of the next round"),
    ):
        found = statements(ledger(CONVERTERS["flower"](adaptive=adaptive), DELTA))
        assert f"not a guarantee: {why}" in {one.status for one in found}
        assert "guarantee" not in {one.status for one in found}
    together = dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(4.0)])
    (row,) = foreign.from_dp_event(dp.PoissonSampledDpEvent(0.1, together)).to_dict("records")
    assert row["noise_multiplier"] == pytest.approx(2.4)


def weights() -> None:
    asks("public_denominator", True, False, "the sum is divided by the weights of those who came", "pfl")
    for name in ("largest_share", "fewest_replies"):
        found = statements(ledger(CONVERTERS["flower"](**{name: None}), DELTA))
        assert {one.epsilon for one in found} == {np.inf}
    double = [
        least(CONVERTERS["flower"](**told), "C")[0]
        for told in ({"largest_share": 1 / 25}, {"noise_multiplier": 2.0})
    ]
    assert double[0] == pytest.approx(double[1], rel=1e-6)


def passes() -> None:
    pytest.importorskip("fedpriv_studies", reason="its accountant counts clients in turn")
    asked = {"poisson_sampling": False, "once_a_pass": True}
    assert least(CONVERTERS["opacus"](**asked))[1] == "guarantee"
    for answer in (None, False):
        reason = "not a guarantee: whether an example comes once in each pass is not known"
        assert least(CONVERTERS["opacus"](**asked | {"once_a_pass": answer}))[1] == reason
    with pytest.raises(BadInput, match=r"^history: found sampling rates 0\.3, allowed with"):
        foreign.from_opacus([(1.0, 0.3, 9)], clipping="flat", **asked)
    fewer, all_ = (least(CONVERTERS["flower"](fewest_replies=replies))[0] for replies in (40, 50))
    assert fewer > all_


def accumulation() -> None:
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed")
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    engine, model, optimizer, loader = private(opacus)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=3, optimizer=optimizer) as small:
        for x, _ in small:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    (row,) = engine.accountant.history
    assert row == (1.5, 1 / len(loader), len(loader))
    assert foreign.from_opacus(engine.accountant.history, **OPACUS)["releases"].tolist() == [len(loader)]


def workers() -> None:
    pytest.importorskip("opacus", reason="Opacus is not installed")
    import torch
    from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler as Sampler

    drawn: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.distributed, "get_world_size", lambda: 3)
        for rank in range(3):
            patch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
            generator = torch.Generator().manual_seed(rank)
            sampler = Sampler(total_size=30, sample_rate=0.25, steps=400, generator=generator)
            drawn += [index for batch in sampler for index in batch.tolist()]
    # Each example is at one worker, and in a step with the rate that is in the history.
    shares = np.bincount(drawn, minlength=30) / 400
    assert len(shares) == 30 and abs(shares - 0.25).max() < 5 * (0.25 * 0.75 / 400) ** 0.5


def changing_noise() -> None:
    trace = foreign.from_opacus([(1.0, 0.01, 100), (2.0, 0.02, 50)], **OPACUS)
    assert trace["noise_multiplier"].tolist() == [1.0, 2.0] and trace["releases"].tolist() == [100, 50]
    event = dp.ComposedDpEvent([GAUSSIAN, dp.GaussianDpEvent(3.0)])
    assert foreign.from_dp_event(event)["noise_multiplier"].tolist() == [2.0, 3.0]


def zeroing() -> None:
    asks("zeroing", False, True, "the norm of zeroing is a private statistic", "tff")


def noise_scale() -> None:
    half = CONVERTERS["pfl"](noise_scale=0.5)
    assert half["noise_multiplier"].tolist() == [0.5] and half["sampling_rate"].tolist() == [0.005]
    for wrong in (2.0, 0.0, float("nan")):
        with pytest.raises(BadInput, match=r"^noise_scale: found .*, allowed: above 0 and at most 1"):
            CONVERTERS["pfl"](noise_scale=wrong)


def frozen_layers() -> None:
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed")
    histories = []
    for frozen in (False, True):
        engine, model, optimizer, loader = private(opacus, frozen=frozen)
        step(model, optimizer, next(iter(loader))[0])
        histories.append(engine.accountant.history)
        grads = [parameter.grad for parameter in model.parameters()]
        assert (grads[0] is None) == frozen and grads[-1] is not None
    assert histories[0] == histories[1]


def secure_mode() -> None:
    assert (ROOT / "docs/secure-randomness.md").exists() and "(../../docs/secure-randomness.md)" in PAGE
    told = {name for made in PARAMETERS.values() for name in made}
    assert not told & {"secure_mode", "seed", "noise_generator"}


def other_noise() -> None:
    for event in (
        dp.ZCDpEvent(0.1),
        dp.LaplaceDpEvent(1.0),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 4),
        dp.SampledWithReplacementDpEvent(9, 3, GAUSSIAN),
        dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0),
    ):
        with pytest.raises(BadInput, match=r"^event: found .*, allowed: Gaussian noise"):
            foreign.from_dp_event(event)


def states_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    plain = CONVERTERS["opacus"]()
    state = {"history": HISTORY, "mechanism": "rdp"}
    of_torch = [(torch.tensor(1.1, dtype=torch.float64), np.float64(1 / 29), torch.tensor(58))]
    for history in (state, of_torch, {"history": of_torch}, [[1.1, 1 / 29, 58.0]]):
        pd.testing.assert_frame_equal(foreign.from_opacus(history, **OPACUS), plain)
    for wrong in ({"mechanism": "rdp"}, [(1.0, 2)], [(torch.ones(2), 0.1, 3)], [("a", 0.1, 3)], 5, None):
        with pytest.raises(BadInput, match=r"^history: found .*, allowed: accountant\.history or") as refused:
            foreign.from_opacus(wrong, **OPACUS)
        assert "\n" not in str(refused.value)


ROWS = {
    "how a batch or cohort is drawn": how_a_batch_is_drawn,
    "one norm, norms by layer, ghost clipping": norms,
    "adaptive clipping": adaptive_clipping,
    "weights and denominator": weights,
    "passes, last batch, `drop_last`, dropout": passes,
    "accumulated steps": accumulation,
    "several workers": workers,
    "noise that changes over time": changing_noise,
    "zeroing": zeroing,
    "`noise_scale`": noise_scale,
    "frozen layers": frozen_layers,
    "secure mode, seeds": secure_mode,
    "correlated, discrete or Laplace noise": other_noise,
    "state dict, numbers of torch": states_and_tensors,
}
PARAMETERS = {
    name: {*signature(getattr(foreign, name)).parameters}
    for name in ("from_opacus", "from_tff", "from_flower", "from_pfl")
}
NUMBERS = {"history", "unit", "noise_multiplier", "population", "rounds", "clients_per_round"}
NUMBERS |= {"num_sampled_clients", "noise_parameter", "sampling_probability", "num_compositions"}


def table() -> str:
    """Return the table of settings of the page."""
    return PAGE[PAGE.index("| setting |") : PAGE.index("**Opacus.**")]


def test_the_page_has_a_line_for_each_case_and_names_all_that_a_converter_asks() -> None:
    lines = [line.split(" | ") for line in table().strip().splitlines()[2:]]
    assert [line[0].removeprefix("| ") for line in lines] == [*ROWS]
    assert {len(line) for line in lines} == {6}
    for name, asked in PARAMETERS.items():
        assert all(f"`{one}`" in table() for one in asked - NUMBERS), name


@pytest.mark.parametrize("setting", ROWS)
def test_each_setting_is_asked_read_or_changes_no_epsilon(setting: str) -> None:
    ROWS[setting]()


# --- what Opacus itself does -------------------------------------------------------------------------------


def private(opacus: Any, frozen: bool = False, **told: Any) -> tuple[Any, ...]:
    """Return an engine, and what it has made private: a model of two layers, its optimiser and loader."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(40, 6)
    model = torch.nn.Sequential(torch.nn.Linear(6, 50), torch.nn.Linear(50, 60))
    for parameter in model[0].parameters():
        parameter.requires_grad = not frozen
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    engine = opacus.PrivacyEngine(accountant="rdp")
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(trained, lr=0.0),
        data_loader=torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x), batch_size=8),
        **{"noise_multiplier": 1.5, "max_grad_norm": 2.0} | told,
    )
    return engine, made[0], made[1], made[-1]


def step(model: Any, optimizer: Any, x: Any) -> None:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()


ADAPTIVE = {"target_unclipped_quantile": 0.5, "clipbound_learning_rate": 0.2, "max_clipbound": 10.0}
ADAPTIVE |= {"min_clipbound": 0.01, "unclipped_num_std": 1.25}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("told", "norm", "multiplier"),
    [
        ({}, 2.0, 1.5),
        ({"grad_sample_mode": "ghost"}, 2.0, 1.5),
        ({"clipping": "per_layer", "max_grad_norm": [0.5, 1.0, 1.0, 0.5]}, 2.5**0.5, 1.5),
        ({"clipping": "adaptive", **ADAPTIVE}, 2.0, (1.5**-2 - 2.5**-2) ** -0.5),
    ],
    ids=["flat", "ghost", "per_layer", "adaptive"],
)
def test_opacus_adds_noise_of_the_multiplier_that_is_read_times_the_norm(told, norm, multiplier):
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed")
    import torch

    engine, _, optimizer, _ = private(opacus, **told)
    for parameter in optimizer.params:  # a batch that adds nothing
        parameter.grad_sample = torch.zeros(1, *parameter.shape)
        parameter.summed_grad = torch.zeros_like(parameter)
    optimizer.unclipped_num = torch.tensor(0)
    optimizer.add_noise()
    noise = torch.cat([parameter.grad.flatten() for parameter in optimizer.params])
    assert len(noise) == 3410
    assert noise.std().item() == pytest.approx(multiplier * norm, rel=0.06)
    hook = engine.accountant.get_optimizer_hook_fn(sample_rate=0.1)
    hook(optimizer)
    assert engine.accountant.history == [(1.5, 0.1, 1)]
