"""A declared spend means exactly one line of a ledger."""

import pytest
from pydantic import TypeAdapter, ValidationError

from fedpriv.paper.spends import SpendInWords, SpendSelector

read = TypeAdapter(SpendInWords).validate_python


def test_words_mean_the_columns_they_belong_to_in_any_order():
    spend = read("remove_sum bayesian hoelder")
    assert spend.key == ("bayesian", "hoelder", "remove_sum", "", "")


def test_what_is_not_said_is_the_usual():
    assert read("pld").key == ("pld", "", "", "C", "")


def test_of_bits_every_upload_is_seen_unless_it_is_said_that_their_sum_is():
    assert read("bit exact").key == ("exact", "", "", "bit", "upload")
    assert read("bits rdp").key == ("rdp", "", "", "bits", "upload")
    assert read("sum rdp bits").key == ("rdp", "", "", "bits", "sum")
    assert read("all rdp").key == ("rdp", "", "", "all", "upload")
    assert read("upload rdp").key == ("rdp", "", "", "C", "upload")


def test_a_spend_survives_being_written_as_data():
    for words in (
        "moments 2C",
        "upload rdp",
        "bit theorem",
        "parallel bayesian product remove_mean",
    ):
        spend = read(words)
        assert read(spend.model_dump()) == spend == SpendSelector.model_validate(spend.model_dump())


def test_a_spend_says_all_that_tells_it_from_others():
    texts = {
        str(read(words))
        for words in (
            "moments C",
            "moments 2C",
            "rdp C",
            "bayesian product remove_mean",
            "bayesian hoelder remove_mean",
            "bayesian product remove_sum",
            *(f"{accounting} moments C" for accounting in ("sequential", "parallel", "sum", "upload")),
            "sequential bayesian product remove_mean",
            *(
                "bit rdp",
                "bit exact",
                "bit theorem",
                "bits rdp",
                "sum rdp bit",
                "sum rdp bits",
                "all rdp",
            ),
        )
    }
    assert len(texts) == 18


def test_the_accounting_comes_first():
    assert str(read("moments sequential")) == "sequential moments, sensitivity C"
    assert str(read("parallel bayesian hoelder remove_sum")) == "parallel bayesian, hoelder, remove_sum"
    assert str(read("moments")) == "moments, sensitivity C"


def test_only_the_bayesian_accountant_estimates():
    assert read("moments").kind == "guarantee"
    assert read("bayesian product remove_mean").kind == "estimate"


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
