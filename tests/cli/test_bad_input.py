import pytest
from support.tiny import BITS, GOAL, PLAN, PRESET, RUN, patch, write

OUT_OF_RANGE = [
    (["epsilon", *PLAN], "--sample-rate", ["0", "1.5", "nan"], "--sample-rate"),
    (["epsilon", *PLAN], "--delta", ["0", "1", "-1"], "delta"),
    (["epsilon", *PLAN], "--noise-multiplier", ["0", "-3"], "noise_multiplier"),
    (["epsilon", *PLAN], "--rounds", ["0", "many", "1.5"], "rounds"),
    (["epsilon", *PLAN, "--accountant", "rdp"], "--accountant", ["opacus"], "--accountant"),
    (["calibrate", *GOAL], "--epsilon", ["0", "-1", "1e-09"], "epsilon"),
    (["calibrate", *GOAL], "--sample-rate", ["0", "2"], "--sample-rate"),
    (["calibrate", *GOAL], "--delta", ["0", "1"], "delta"),
    (["calibrate", *GOAL], "--rounds", ["0"], "rounds"),
    (["rr-epsilon", *BITS], "--gamma", ["-.1", ".5", "nan"], "gamma"),
    (["rr-epsilon", *BITS], "--delta", ["0", "1"], "delta"),
    (["rr-epsilon", *BITS], "--rounds", ["0"], "rounds"),
    (["rr-epsilon", *BITS, "--dimension", "9"], "--dimension", ["0"], "dimension"),
    ([*RUN, "--seed", "0"], "--seed", ["-1", "one"], "--seed"),
    (RUN, "--paper", ["another"], "--paper"),
    (RUN, "--run", ["another"], "--run"),
    ([*RUN, "--device", "cpu"], "--device", ["tpu"], "--device"),
    ([*RUN, "--dtype", "float32"], "--dtype", ["float8"], "--dtype"),
    ([*RUN, "--threads", "1"], "--threads", ["-1"], "--threads"),
]


@pytest.mark.parametrize(
    ("words", "option", "value", "named"),
    [(words, option, value, named) for words, option, values, named in OUT_OF_RANGE for value in values],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_value_out_of_range_is_one_line_that_names_it(refused, words, option, value, named):
    words = list(words)
    words[words.index(option) + 1] = value
    line = refused(*words)
    assert named in line
    assert value.lstrip("-0.") in line


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "Missing command"),
        (["fly"], "fly"),
        (["epsilon", *PLAN, "--accountant", "bayesian"], "fedpriv account RUN"),
        ([*RUN[:-4], "--run", "pd"], "--run: found pd"),
        ([*RUN, "--set", "scheme.clip_l3=1"], "scheme.clip_l3"),
        ([*RUN, "--set", "scheme"], "--set: found scheme"),
        (["epsilon", "--q", ".3", "--delta", "1e-5"], "--noise-multiplier"),
        (["fetch", "cifar10"], "cifar10"),
        (["fetch", "digits", "cifar10"], "cifar10"),
        (["fetch", "mnist", "--mirror", "nowhere"], "nowhere"),
        (["run", "config/none.yaml", *RUN[2:]], "config/none.yaml"),
        (["account", "out"], "out"),
        (["compare", "results/tiny/tiny"], "results/tiny/tiny"),
        ([*RUN[:-1], ""], "--out: found an empty word"),
        ([*RUN[:-2], "--out="], "--out: found an empty word"),
        (["account", " "], "account: found an empty word"),
        (["fetch", "digits", "--resources", ""], "--resources: found an empty word"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_what_is_not_there_is_named(refused, words, named):
    assert named in refused(*words)


def test_an_unknown_key_of_a_preset_is_named_with_its_file(refused, here):
    write(here / "config/tiny.yaml", PRESET | {"sedes": 3})
    line = refused(*RUN)
    assert "config/tiny.yaml" in line
    assert "sedes" in line


def test_an_unknown_key_of_a_run_is_named_with_its_run(refused, here):
    patch(here, scheme={"epsilon": 1})
    line = refused(*RUN)
    assert "tiny.runs.dp" in line
    assert "epsilon" in line


def test_a_yaml_syntax_error_is_named_with_its_line(refused, here):
    (here / "config/tiny.yaml").write_text("preset: tiny\npapers: [tiny\nseeds: 1\n")
    line = refused(*RUN)
    assert "config/tiny.yaml" in line
    assert "line 3" in line


def test_a_paper_that_is_not_there_is_named_with_those_that_are(refused, here):
    write(here / "config/tiny.yaml", PRESET | {"papers": ["other"]})
    line = refused(*RUN)
    assert "other" in line
    assert "tiny" in line


def test_an_unknown_dataset_is_named_with_those_that_are_known(refused, here):
    patch(here, dataset="cifar10")
    line = refused(*RUN)
    assert "cifar10" in line
    assert "mnist" in line


def test_more_clients_than_shards_is_refused_with_the_number_there_are(refused, here):
    patch(here, partition={"clients": 1000})
    line = refused(*RUN)
    assert "found 1000" in line
    assert "at most 143" in line


def test_more_members_than_clients_is_refused(refused, here):
    patch(here, cohort={"law": "fixed", "size": 5})
    assert "found 5" in refused(*RUN)


@pytest.mark.parametrize("delta", ["0", "1", "nan"])
def test_an_account_refuses_a_delta_out_of_range(refused, trained, delta):
    assert "delta: found" in refused("account", "out", "--delta", delta)


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
def test_a_corrupt_or_missing_file_of_a_run_is_named(refused, trained, name):
    whole = (trained / name).read_bytes()
    (trained / name).write_bytes(whole[: len(whole) // 2])
    assert name in refused("account", "out")
    (trained / name).unlink()
    assert name in refused("account", "out")


def test_comparing_refuses_results_that_are_not_finished(refused, results):
    (results / "claims.csv").unlink()
    assert "claims.csv" in refused("compare", "results/tiny/tiny")
