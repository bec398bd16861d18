"""YAML is read without what a reader would misread; layers are laid over layers."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support.trees import agreeing, trees

from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Delta, Fraction, Positive, Real, parse
from fedpriv.paper.paper import merge, read_files, read_yaml

PAPERS = Path(__file__).parents[2] / "config" / "papers"


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a paper of these files, by their names without `.yaml`."""

    def written(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return {key: one.value for key, one in read_files(tmp_path).items()}

    return written


@given(trees, trees)
def test_merging_is_idempotent_and_the_upper_layer_wins(below, above):
    merged = merge(below, above)
    assert merge(merged, above) == merged
    assert merge({}, above) == above
    if not isinstance(above, dict):
        assert merged == above


@given(agreeing(3))
def test_layers_that_agree_may_be_merged_in_any_grouping_and_order(layers):
    one, two, three = layers
    assert merge(merge(one, two), three) == merge(one, merge(two, three))
    assert merge(one, two) == merge(two, one)


@pytest.mark.parametrize("key", ["law", "name"])
def test_another_kind_replaces_all_options_of_the_one_below(key):
    assert merge({key: "a", "x": 1}, {key: "b", "y": 2}) == {key: "b", "y": 2}


def test_the_path_of_a_network_says_its_kind():
    own = {"name": "module", "module": "mine:Net"}
    assert merge({"name": "mlp", "widths": [4]}, {"module": "mine:Net"}) == own
    assert merge(own | {"width": 3}, {"module": "mine:Net", "depth": 2}) == own | {"width": 3, "depth": 2}


def test_the_files_of_a_paper_say_together_what_one_file_would(read):
    assert read(paper="paper: x", runs="runs: {a: {}}") == {"paper": "x", "runs": {"a": {}}}


@pytest.mark.parametrize("text", ["runs: {}\nrounds: 1\nruns: {}", "a:\n  b: {runs: 1, c: 2, 'runs': 3}"])
def test_a_key_given_twice_in_a_mapping_is_refused_with_its_line(tmp_path, text):
    path = tmp_path / "preset.yaml"
    path.write_text(text)
    line = len(text.splitlines())
    with pytest.raises(BadInput) as error:
        read_yaml(path)
    assert str(error.value) == f"{path}: line {line}: found runs twice, allowed: every key once"


@pytest.mark.parametrize(
    "number",
    ["010", "0100", "-017", "1:30", "190:20:30", "1_000", "0x1F", "0b11", "1_0.5", "00.5", "1:30.5", "+012"],
)
@pytest.mark.parametrize("text", ["rounds: {}", "runs:\n  a: [1, {}]", "label: {}", "{}: x", "a: !!int '{}'"])
def test_a_number_that_is_another_one_than_it_reads_is_refused_with_its_line(tmp_path, number, text):
    path = tmp_path / "preset.yaml"
    path.write_text(text.format(number))
    line = len(text.splitlines())
    with pytest.raises(BadInput) as error:
        read_yaml(path)
    allowed = "allowed: a decimal number, or text in quotes"
    assert str(error.value) == f"{path}: line {line}: found {number}, {allowed}"


@given(st.integers(-(2**63), 2**63) | st.floats(allow_nan=False))
def test_a_number_as_python_writes_it_is_that_number(tmp_path_factory, number):
    path = tmp_path_factory.mktemp("number") / "preset.yaml"
    path.write_text(yaml.safe_dump({"x": number}) + f"y: [{number!r}, +5, .5, 0, 0.0, 1.0e-3, .inf]")
    if "e" in repr(number):  # 1e-05 is text to YAML, and the number to whoever wants one
        assert parse(TypeAdapter(Real | float).validate_python, read_yaml(path)["y"][0], "y") == number
    assert read_yaml(path)["x"] == number


@pytest.mark.parametrize("text", ["1e-3_0", "1_0", "010", "0_1.5", "\uff11\uff12", "\u0663"])
@pytest.mark.parametrize("kind", [Count, Positive, Fraction, Delta])
def test_a_text_that_python_alone_takes_for_a_number_is_none(kind, text):
    with pytest.raises(BadInput, match=rf"here: found {text}, allowed: a decimal number"):
        parse(TypeAdapter(kind).validate_python, text, "here")


def test_the_same_key_in_different_mappings_is_no_key_twice(read):
    assert read(paper="a: {runs: 1}\nb: {runs: 1}\n1: x\n'1': y")["b"] == {"runs": 1}


def test_a_key_in_two_files_of_a_paper_is_refused_naming_both(read, tmp_path):
    with pytest.raises(BadInput) as error:
        read(paper="paper: x\nruns: {}", runs="runs: {}")
    expected = f"{tmp_path}: runs: found in paper.yaml and runs.yaml, allowed: in one of them"
    assert str(error.value) == expected


def test_a_file_that_is_none_of_a_papers_is_refused(read):
    with pytest.raises(BadInput, match=r"found run\.yaml, allowed: paper\.yaml, runs\.yaml"):
        read(paper="paper: x", run="runs: {}")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "preset.yaml").write_bytes(b"preset: \xff")
    with pytest.raises(BadInput, match="found no UTF-8 at byte 8"):
        read_yaml(tmp_path / "preset.yaml")


@given(st.dictionaries(st.sampled_from("abc"), trees, max_size=3))
def test_a_paper_reads_as_it_was_written(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("paper")
    (folder / "paper.yaml").write_text(yaml.safe_dump(content))
    assert {key: one.value for key, one in read_files(folder).items()} == content


@pytest.mark.parametrize(
    "text",
    [
        "a: 2000-13-45",
        "a: 25:61:61.9e999",
        "a: !!int ''",
        "a: !!int x",
        "a: !!float x",
        "a: !!bool maybe",
        "a: !!timestamp never",
    ],
    ids=lambda text: text[:20],
)
def test_what_python_cannot_read_is_one_line_with_file_and_line(text, tmp_path):
    path = tmp_path / "preset.yaml"
    path.write_text(f"b: 1\n{text}\n")
    try:
        found = read_yaml(path)
    except BadInput as error:
        said = str(error)
        assert said.startswith(f"{path}: line 2: found ") or said.startswith(f"{path}: found no YAML: ")
        assert (said.isprintable() and len(said) < 1000 and "allowed" in said) or "no YAML" in said
    else:
        assert found["a"] == "25:61:61.9e999"  # is text


@pytest.mark.parametrize("path", sorted(PAPERS.parent.rglob("*.yaml")), ids=lambda path: path.name)
def test_every_shipped_file_is_read(path):
    assert read_yaml(path)
