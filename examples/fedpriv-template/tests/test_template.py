"""What the package adds works from the outside: by its names, in a preset, from data to ε."""

from pathlib import Path

import numpy as np
import pytest
from fedpriv_template.annealed_dp import AnnealedDP
from fedpriv_template.stripes import STRIPES
from fedpriv_template.zcdp import ZCDP

from fedpriv.account import ACCOUNTANTS
from fedpriv.cli.app import main
from fedpriv.config.plan import load_preset
from fedpriv.data import DATASETS
from fedpriv.models import MODELS
from fedpriv.schemes import SCHEMES
from fedpriv.store import parquet

PRESET = Path(__file__).parents[1] / "preset.yaml"


def test_every_name_is_known() -> None:
    assert DATASETS["stripes"] is STRIPES and SCHEMES["annealed_dp"] is AnnealedDP
    assert MODELS["logistic"].__module__ == "fedpriv_template.logistic" and ACCOUNTANTS["zcdp"] is ZCDP


def test_the_paper_is_found_and_its_runs_are_valid() -> None:
    assert list(load_preset(PRESET).runs["striped"]) == ["plain", "constant", "annealed"]


def test_stripes_are_the_same_everywhere() -> None:
    drawn, again = STRIPES.decode(Path()), STRIPES.decode(Path())
    assert np.array_equal(drawn.x_train, again.x_train) and np.bincount(drawn.y_train).tolist() == [400] * 4


def test_noise_falls_from_the_first_round_to_the_last() -> None:
    scheme = AnnealedDP(clip_l2=1.0, first=4.0, last=1.0)
    assert [scheme.noise_multiplier(t, 3) for t in (1, 2, 3)] == pytest.approx([4.0, 2.0, 1.0])
    assert scheme.noise_multiplier(1, 1) == 4.0


def test_what_a_scheme_does_is_what_its_trace_says() -> None:
    keys = ["annealed_dp", "--set", "first=1.6", "--set", "last=0.7"]
    plan = ["--sample-rate", "0.25", "--noise-multiplier", "1", "--rounds", "12", "--delta", "1e-3"]
    assert main(["audit", "--mechanism", *keys, *plan]) == 0


def test_a_run_goes_from_data_to_the_accountants_epsilon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "run", str(tmp_path / "resources")
    words = ["--paper", "striped", "--run", "annealed", "--out", str(out), "--resources", data]
    assert main(["run", str(PRESET), *words]) == 0
    assert main(["account", str(out)]) == 0
    trace, ledger = (parquet.load_frame(out / f"{name}.parquet") for name in ("trace", "ledger"))
    assert trace["noise_multiplier"].iloc[[0, -1]].tolist() == pytest.approx([1.6, 0.7])
    assert trace["test_accuracy"].iloc[-1] > 0.5  # of four classes
    (group,) = ledger[(ledger["accountant"] == "zcdp") & (ledger["sensitivity"] == "C")].groupby("accounting")
    rho = (0.5 / trace["noise_multiplier"] ** 2).sum()
    assert group[1]["epsilon"].iloc[-1] == pytest.approx(rho + 2 * np.sqrt(rho * np.log(1e3)))
    assert main(["audit", str(out), "--json"]) == 0
    assert "of the trace alone, no code of annealed_dp was attacked" in capsys.readouterr().out
