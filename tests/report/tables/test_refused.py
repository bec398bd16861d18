"""What a paper declares of a table or figure that does not fit together is refused, naming key and choice."""

import pytest
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.figures import RoundsFigure
from fedpriv.paper.tables import AccuracyTable, RunsTable, resolve_tables

RUNS = {"title": "Search", "match": "n100_*", "columns": ["accuracy_last", "round"]}
FIGURE = {"title": "Every ε", "quantity": "epsilon", "accountants": ["moments C"], "panels": {"": "N"}}
TIGHT = {"label": "tight", "accountant": "pld C", "within": "bdp"}
OF_TABLE1 = [
    (("columns", "tight"), TIGHT | {"within": "baseline"}, r"columns.tight.within.*baseline.*dp, bdp"),
    (("columns", "tight"), TIGHT | {"accountant": None}, "within with accountant"),
    (("rows", 0, "runs"), {"dp": "a", "bdp": "b"}, "some of the columns dp, bdp, beside run"),
    (("rows", 0, "published", "dp", "value"), 87, r"found 87.*accuracy as a fraction, at most 1"),
]
OF_TABLE4 = [
    (("columns", "dp", "accountants", "instance"), "moments C", "sequential or parallel"),
    (("columns", "dp", "accountants", "client"), "parallel moments C", "sum, upload or no accounting"),
    (("rows", 0, "runs"), {"dp": "photos_dp"}, "exactly the columns dp, dpsgd, bdp"),
    (("rows", 0, "published"), {"pd": 0.4}, "some of the columns dp, dpsgd, bdp"),
    (("rows", 0, "budgets"), {"client": {"epsilon": 1, "delta": 0.1}}, "client, instance"),
    (("rows", 1, "label"), "Photographs", "every label once"),
]
OF_RUNS = [
    (("columns",), [{"name": "epsilon"}], "epsilon: found nothing, allowed: epsilon with accountant"),
    (("columns",), [{"name": "gamma", "accountant": "moments C"}], "gamma with nothing"),
    (("columns",), ["gain_last"], "found gain_last, allowed: these with a reference"),
    (("lines",), [{"run": "half", "label": "a half"}], "allowed: lines, or match"),
    (("columns",), ["magic"], "columns.0.name: found 'magic'; input should be 'accuracy_last'"),
]
OF_FIGURE = [
    (("accountants",), ["sum moments C", "upload moments C"], "found sum, upload, allowed: one accounting"),
    (("accountants",), [], "found nothing, allowed: those of epsilon and growth"),
    (("quantity",), "accuracy", "found moments C, allowed: those of epsilon and growth"),
    (("accountants",), ["moments Q"], "found Q in 'moments Q'"),
    (("panels",), {"n100": {"title": "N", "budgets": {"DP": 1}}}, "found DP, allowed: none"),
    (("lines",), {}, "lines"),
]


@pytest.mark.parametrize(
    ("kind", "path", "value", "words"),
    [
        (kind, *case)
        for kind, cases in {
            "declared": OF_TABLE1,
            "joint": OF_TABLE4,
            RunsTable: OF_RUNS,
            RoundsFigure: OF_FIGURE,
        }.items()
        for case in cases
    ],
)
def test_what_does_not_fit_together_is_refused(kind, path, value, words, request):
    if isinstance(kind, str):
        kind, data = AccuracyTable, request.getfixturevalue(kind).model_dump()
    else:
        data = dict(RUNS if kind is RunsTable else FIGURE)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(BadInput, match=words):
        parse(kind.model_validate, data, "paper.yaml")


@pytest.mark.parametrize("of", ["table2", "every"])
def test_a_table_of_epsilons_is_of_a_table_of_accuracies(of, declared):
    tables = {"table1": declared.model_dump(), "every": {"kind": "epsilons", "of": of}}
    with pytest.raises(PydanticCustomError, match=f"every.of: found {of}, allowed: table1"):
        resolve_tables(tables, {})
