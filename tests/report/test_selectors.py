"""A declared selector means exactly one line of a ledger."""

import pytest
from pydantic import TypeAdapter, ValidationError

from fedpriv.paper.epsilons import SelectorInWords

read = TypeAdapter(SelectorInWords).validate_python


@pytest.mark.parametrize(
    ("words", "key", "text"),
    [
        ("remove_sum bayesian hoelder", "bayesian/hoelder/remove_sum//", "bayesian, hoelder, remove_sum"),
        ("pld", "pld///C/", "pld, sensitivity C"),  # what is not said is the usual
        ("moments sequential", "moments///C/sequential", "sequential moments, sensitivity C"),
        # Of bits every upload is seen, unless it is said that their sum is.
        ("bit exact", "exact///bit/upload", "upload exact, one bit"),
        ("bits rdp", "rdp///bits/upload", "upload rdp, all bits"),
        ("sum rdp bits", "rdp///bits/sum", "sum rdp, all bits"),
        ("all rdp", "rdp///all/upload", "upload rdp, everything sent"),
        ("upload rdp", "rdp///C/upload", "upload rdp, sensitivity C"),
    ],
)
def test_words_mean_the_columns_they_belong_to_in_any_order_and_are_said_in_one(words, key, text):
    selector = read(words)
    assert "/".join(selector.key) == key and str(selector) == text
    assert selector.kind == ("estimate" if selector.accountant == "bayesian" else "guarantee")
    assert read(selector.model_dump()) == selector


@pytest.mark.parametrize(
    "words",
    [
        "",
        "moments rdp",
        "magic",
        "sum",
        "sum upload moments",
        "moments product",
        "bayesian product",
        "bayesian product pairwise",
        "bayesian product remove_sum literal",
        "bayesian product remove_sum C",
        "exact",
        "bits exact",
        "moments bit",
        "bayesian product remove_sum bits",
    ],
)
def test_what_means_no_line_or_several_is_refused(words):
    with pytest.raises(ValidationError):
        read(words)
