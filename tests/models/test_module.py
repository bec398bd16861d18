"""A network of one's own is trained as torch trains it, or refused in one line that names what is wrong."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from support import tiny
from support.backends import every_backend
from support.made_run import BY_SCHEME, RUN, go, result
from support.own_nets import Good
from torch.nn import functional as F

from fedpriv.cli import app
from fedpriv.config.plan import load_preset
from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.client import Client, Task
from fedpriv.local.work import FedSGD, Speed
from fedpriv.models import functional
from fedpriv.models.base import unflatten
from fedpriv.models.module import Module
from fedpriv.store import summary
from fedpriv.train import inputs

GOOD = {"module": "support.own_nets:Good", "width": 4}
ROOT = Path(__file__).parents[2]
BATCH = {"name": "fedsgd", "batch_size": 10}


def model(**words):
    return parse(Run.model_validate, RUN | {"model": words}, "here").model


def module(name, **words):
    return model(module=f"support.own_nets:{name}", **words)


def learned(model):
    """Return the task of learning ten classes of grey images."""
    return Task(model, 10, torch.zeros(2, 28, 28, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize("scheme", [name for name in BY_SCHEME if name != "dpfl_bnn"])
def test_a_network_of_ones_own_is_trained_by_every_scheme_to_the_same_bits_with_any_threads(
    scheme, files, tmp_path
):
    run = RUN | BY_SCHEME[scheme] | {"model": GOOD, "rounds": 2}
    out = [go(run, files, tmp_path / str(threads), threads=threads) for threads in (1, 3)]
    assert result(out[0]) == result(out[1])
    assert summary.load_summary(out[0] / "summary.json")["parameters"] == 4 * 9 + 4 + 4 + 4 + 4 * 10 + 10


@every_backend
@pytest.mark.parametrize("channels", [1, 3])
def test_every_backend_computes_what_the_module_itself_computes(channels, backend):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 256, (20, channels, 9, 9), dtype=np.uint8))
    y = torch.from_numpy(rng.integers(0, 10, 20))
    task = Task(module("Good", channels=channels), 10, x, y)
    flat = task.model.initial(10, task.example, np.random.default_rng(1))
    net = functional.build_network(task.model.model_dump_json(), 0)  # whose constants are everybody's
    learned = [one for one in net.parameters() if one.requires_grad]
    torch.nn.utils.vector_to_parameters(flat, learned)
    logits = net.double()(x.double() / 255)
    expected = torch.cat([one.flatten() for one in torch.autograd.grad(F.cross_entropy(logits, y), learned)])
    engine = backend(task, Speed(chunk=7, threads=2))
    clients = [Client(np.arange(20), np.random.default_rng(0))] * 3
    updates = engine.train_clients(FedSGD(), flat, clients).updates
    found = engine.logits(flat, x)
    engine.close()
    assert torch.allclose(updates.double(), -expected.expand(3, -1), atol=1e-5)
    assert torch.allclose(found.double(), logits, atol=1e-5)


def test_first_weights_are_those_of_the_constructor_and_of_the_runs_own_stream():
    one, again, other = (
        module("Good").initial(10, (1, 28, 28), np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(one, again) and not torch.equal(one, other)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    module("Good").initial(10, (1, 28, 28), np.random.default_rng(0))
    assert torch.equal(torch.random.get_rng_state(), before)
    params = unflatten(one, module("Good").shapes(10))
    assert params["norm.weight"].tolist() == [1.0] * 4 and params["norm.bias"].tolist() == [0.0] * 4
    assert params["conv.weight"].abs().max() <= 1 / 3
    assert set(params) == {name for name, one in Good().named_parameters() if one.requires_grad}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"how": "running"}, "found buffer norm.running_mean, which a pass changes, allowed: .* GroupNorm"),
        ({"how": "mixing"}, "found a pass that mixes examples, allowed: each by itself"),
        ({"how": "random"}, "found a pass that is random, as dropout is, allowed: the same twice"),
        ({"how": "lazy"}, "found parameter head.weight, whose shape waits for a pass, allowed: "),
        ({"how": "frozen"}, "found no parameter that requires a gradient, allowed: "),
        (
            {"how": "pair"},
            r"found tuple from inputs \[2, 1, 28, 28\], allowed: logits \[2, 10\], one a class",
        ),
        ({"how": "good", "classes": 3}, r"found \[2, 3\] from inputs .*, allowed: logits \[2, 10\]"),
        ({"how": "raises"}, r"which cannot be made of it \(RuntimeError: of its own\), allowed: "),
        ({"how": "leaves"}, r"which cannot be made of it \(SystemExit: nothing\), allowed: "),
    ],
    ids=lambda one: "-".join(map(str, one.values())) if isinstance(one, dict) else None,
)
def test_what_is_in_the_way_is_named(words, said):
    with pytest.raises(BadInput, match=said) as told:
        learned(module("Spoiled", **words))
    assert "\n" not in str(told.value) and str(told.value).startswith("model")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"module": "nowhere.at_all:Net"},
            "found nowhere.at_all:Net, which cannot be imported .*, allowed: FILE:CLASS",
        ),
        ({"module": "support.own_nets:number", "classes": 3}, "number, a function, allowed: a subclass of"),
        ({"module": "support.own_nets:NoNetwork"}, "NoNetwork, a class NoNetwork, allowed: a subclass of"),
        ({"module": "support.own_nets:torch.device", "type": "cpu"}, "a class device, allowed: a subclass"),
    ],
    ids=str,
)
def test_a_path_that_leads_to_no_network_is_one_line_and_nothing_is_called(words, said):
    with pytest.raises(BadInput, match=said) as told:
        model(**words).shapes(10)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "words",
    [
        {"module": "os:system", "command": "touch executed"},
        {"module": "subprocess:Popen", "args": ["touch", "executed"]},
    ],
    ids=lambda words: words["module"],
)
def test_a_preset_runs_no_command(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tiny.lay(tmp_path))
    tiny.patch(tmp_path, model={"name": "module", **words})
    assert app.main(tiny.RUN) == 2
    assert "allowed: a subclass of torch.nn.Module" in capsys.readouterr().err
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "path",
    ["leaves_a_mark:Absent", "a_package.__main__:Net", "a_package.inner:Absent", "fedpriv.__main__:main"],
)
def test_a_file_that_is_refused_does_not_run_before(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tiny.lay(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_package").mkdir()
    for file in ("leaves_a_mark.py", "a_package/__main__.py", "a_package/inner.py"):
        (tmp_path / file).write_text("def Net():\n    Absent = 1\nopen('executed', 'w')\n")
    tiny.patch(tmp_path, model={"name": "module", "module": path})
    assert app.main(tiny.RUN) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"cannot be imported \(ImportError: (\S+ has no Absent|\S+ is a program)\)", line)
    assert not (tmp_path / "executed").exists()


def test_a_run_is_named_by_the_import_path_and_the_arguments():
    runs = [
        Run.model_validate(RUN | {"model": one})
        for one in (GOOD, GOOD | {"name": "module"}, GOOD | {"width": 6})
    ]
    same, said, other = (run.identity("x", 0) for run in runs)
    assert same == said != other
    assert Run.model_validate(runs[0].training()) == runs[0]


def test_a_network_beside_the_config_is_found_and_its_state_is_not_gone_on_with_once_it_was_edited(
    files, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    source = "from support.own_nets import Good as Net\n\n\nclass Mine(Net):\n    pass\n"
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_config.py").write_text(source)
    mine = Module(module="beside_the_config:Mine")
    before = mine.code
    assert before.startswith("beside_the_config:Mine ") and isinstance(mine.shapes(10), dict)
    (tmp_path / "beside_the_config.py").write_text(source + "# edited\n")
    assert mine.code != before
    engine = summary.load_summary(go(RUN | {"model": GOOD}, files, tmp_path / "run") / "summary.json")[
        "environment"
    ]["engine"]
    assert engine.endswith(Module(**GOOD).code)


def test_the_example_is_trained_on_its_own_data_with_every_example_clipped(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples/own")])
    from draw_shapes import drawn

    (x_train, y_train), (x_test, y_test) = (drawn(n, np.random.default_rng(n)) for n in (80, 20))
    found = {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}
    np.savez(tmp_path / "shapes.npz", **found)
    monkeypatch.chdir(tmp_path)
    run = load_preset(ROOT / "examples/own/own.yaml").runs["own"]["fixed"].model_dump(mode="json")
    private = {"name": "instance", "clip_l2": 1.0, "noise_multiplier": 1.0, "per_example_clip": True}
    less = {"partition": {"law": "iid", "clients": 4}, "rounds": 2, "scheme": private, "local": BATCH}
    prepared = inputs.prepare(Run.model_validate(run), tmp_path, (), Speed(device="cpu"))
    told = summary.load_summary(go(run | less, prepared, tmp_path / "run") / "summary.json")
    assert told["rounds"] == 2 and told["diverged"] is None and told["parameters"] == 19_858
