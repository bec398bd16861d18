"""Parts, `uses` and families make the runs of a paper; whatever contradicts itself is refused."""

import re
from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.trees import fragments

from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.paper.paper import homes, merge, read_files, runs_of

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "config" / "papers"
PAGE = ROOT / "docs" / "add-a-paper.md"
PARTS = {
    "n100": {"partition": {"clients": 100}, "cohort": {"law": "poisson", "rate": 0.3}},
    "n10": {"partition": {"clients": 10}, "cohort": {"law": "full"}},
    "iid": {"partition": {"law": "iid"}},
    "dp": {"scheme": {"name": "client_dp", "clip_l2": 1.0}},
    "strict": {"uses": ["dp"], "scheme": {"clip_l2": 0.5}},
}
words = st.text("xyz", min_size=1, max_size=2)


def runs(runs, parts=PARTS):
    return runs_of({"parts": parts, "runs": runs}, "paper")


def refused(declared, parts=PARTS):
    """Return the lines that refuse such runs."""
    with pytest.raises(BadInput) as error:
        runs(declared, parts)
    assert all(line.startswith("paper") for line in str(error.value).splitlines())
    return str(error.value)


def test_parts_are_laid_together_key_by_key():
    assert runs({"run": {"uses": ["n100", "iid"], "rounds": 7}}) == {
        "run": {
            "partition": {"clients": 100, "law": "iid"},
            "cohort": {"law": "poisson", "rate": 0.3},
            "rounds": 7,
        }
    }


def test_a_run_wins_over_its_parts_and_a_part_over_those_it_uses():
    made = runs({"run": {"uses": ["strict"]}, "other": {"uses": ["strict"], "scheme": {"clip_l2": 3.0}}})
    assert made["run"]["scheme"] == {"name": "client_dp", "clip_l2": 0.5}
    assert made["other"]["scheme"] == {"name": "client_dp", "clip_l2": 3.0}


@given(fragments, fragments)
def test_two_parts_are_refused_exactly_where_their_order_would_matter(left, right):
    parts = {"left": left, "right": right}
    declared = {"run": {"uses": ["left", "right"]}, "turned": {"uses": ["right", "left"]}}
    try:
        made = runs(declared, parts)
    except BadInput:
        assert merge(left, right) != merge(right, left)
    else:
        assert made["run"] == made["turned"] == merge(left, right) == merge(right, left)


def test_parts_that_contradict_each_other_are_refused_naming_all_of_it():
    assert refused({"run": {"uses": ["iid", "n100", "n10"]}}) == (
        "paper: runs.run: partition.clients: found 100 in part n100 and 10 in part n10, "
        "allowed: one value in all parts that are used together"
    )


def test_parts_that_a_part_uses_must_agree_too():
    line = refused({}, PARTS | {"both": {"uses": ["n100", "n10"]}})
    assert line.startswith("paper: parts.both: partition.clients: found 100 in part n100")


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(words, min_size=1, max_size=3, unique=True))
)
def test_a_family_has_a_run_for_every_choice_of_words_in_their_order(over):
    template = "run_" + "_".join(f"{{{key}}}" for key in over)
    choices = list(product(*over.values()))
    parts = {f"{key}_{word}": {"said": {key: word}} for key, its_words in over.items() for word in its_words}
    family = {"over": over, "uses": [f"{key}_{{{key}}}" for key in over], "rounds": 1}
    made = runs({template: family}, parts)
    assert list(made) == ["run_" + "_".join(choice) for choice in choices]
    for choice, run in zip(choices, made.values(), strict=True):
        assert run["rounds"] == 1
        assert run.get("said", {}) == dict(zip(over, choice, strict=True))


def test_runs_stand_in_the_order_in_which_they_are_declared():
    family = {"over": {"clients": [100, 10]}, "uses": ["n{clients}"]}
    made = runs({"first": {}, "n{clients}_iid": family, "last": {}})
    assert list(made) == ["first", "n100_iid", "n10_iid", "last"]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"run": {"uses": ["n1000"]}}, ("runs.run.uses", "n1000", "n100, n10, iid, dp, strict")),
        ({"n{x}": {"over": {"x": [1000]}, "uses": ["n{x}"]}}, ("runs.n1000.uses", "n1000")),
        ({"n{x}": {}}, ("runs.n{x}", "found x", "over")),
        ({"n": {"uses": ["n{x}"]}}, ("runs.n", "n{x}", "found x")),
        ({"n": {"over": {"x": [1]}}}, ("runs.n.over", "found x", "placeholder")),
        ({"n{x}": {"over": {"x": [1], "y": [2]}}}, ("runs.n{x}.over", "found y", "allowed: x")),
        ({"n{x}": {"over": {"x": []}}}, ("runs.n{x}.over.x", "at least 1")),
        ({"n{x}": {"over": {"x": ["A b"]}}}, ("runs.n{x}.over.x.0", "A b")),
        ({"n{x}": {"over": {"x": 100}}}, ("runs.n{x}.over.x", "found 100")),
        ({"a1": {}, "a{x}": {"over": {"x": [1]}}}, ("found a1 made by a1 and by a{x}", "once")),
        ({"a{x}": {"over": {"x": [1, 1]}}}, ("found a1 made by a{x} and by a{x}",)),
        ({"run": {"uses": "n100"}}, ("runs.run.uses", "found 'n100'")),
        ({"run": 3}, ("runs.run", "found 3")),
        ([], ("runs", "found []")),
    ],
)
def test_wrong_runs_are_refused_in_one_line_naming_the_place(declared, words):
    line = refused(declared)
    assert all(word in line for word in ("paper: ", *words))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"a": {"uses": ["b"]}, "b": {"uses": ["c"]}, "c": {"uses": ["b"]}}, ("b uses c uses b",)),
        ({"a": {"uses": ["a"]}}, ("a uses a",)),
        ({"a": {"uses": ["b"]}}, ("parts.a.uses", "found b", "allowed: a")),
        ({"A": {}}, ("parts.A",)),
        ({"a": 1}, ("parts.a", "found 1")),
    ],
)
def test_wrong_parts_are_refused_though_no_run_uses_them(parts, words):
    line = refused({}, parts)
    assert all(word in line for word in ("paper: ", *words))


def test_parts_that_use_parts_are_each_laid_once():
    pairs = {f"{side}{k}": {"uses": [f"a{k - 1}", f"b{k - 1}"]} for k in range(1, 60) for side in "ab"}
    parts = {"a0": {"rounds": 1}, "b0": {"validation": 2}} | pairs
    assert runs({"run": {"uses": ["a59"]}}, parts) == {"run": {"rounds": 1, "validation": 2}}


def test_the_example_of_the_page_on_papers_is_nine_runs_that_can_be_planned():
    (example,) = re.findall(r"```yaml\n(.+?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    content = yaml.safe_load(example)
    made = {name: merge(content["defaults"], own) for name, own in runs_of(content, "page").items()}
    assert len(made) == 9 and next(iter(made)) == "iid_n100_none"
    weak = Run.model_validate(made["iid_n100_weak"])
    assert (weak.rounds, weak.scheme.noise_multiplier, weak.scheme.clip_l2) == (100, 1.0, 1.0)
    assert all(Run.model_validate(run) for run in made.values())


@pytest.mark.parametrize(("paper", "home"), homes(PAPERS).items())
def test_every_part_of_a_paper_is_used(paper, home):
    content = {key: one.value for key, one in read_files(home / paper).items()}
    for name in content.get("parts", {}):
        others = {key: part for key, part in content["parts"].items() if key != name}
        assert f"found {name}, allowed" in refused(content["runs"], others)
