"""Questions for sources with typed columns: values are parameters, no row that matters is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.catalog import Comparand, Push, guard
from constat.catalog.keyed import Family, typed_pushes, typed_question, typed_whole
from constat.evaluation import Demand
from constat.logic import Value
from tests.tiers.building import declare

PREFIX = "WITH q(c0, c1) AS (\nSELECT a, b FROM t\n)\nSELECT c0, c1 FROM q"
GUARDED = guard("SELECT a, b FROM t", "duckdb")
BARE = Push(0, Comparand.BARE, nullable=False)
NULLABLE = Push(1, Comparand.BARE, nullable=True)
BEYOND = "NOT (c0 >= {} AND c0 < 9223372036854775808) OR c0 <> FLOOR(c0)"
CAST = Push(1, Comparand.AS_TEXT, nullable=False)


def asked(*pushes: Push, keys: list[tuple[Value, ...]]) -> str:
    text = typed_question(GUARDED, 2, pushes, keys).text
    assert text.startswith(PREFIX)
    return text.removeprefix(PREFIX)


def test_each_value_is_a_parameter() -> None:
    question = typed_question(GUARDED, 2, (BARE, CAST), [(1, "x'y"), (2, "?")])
    assert question.text == f"{PREFIX} WHERE (c0, CAST(c1 AS TEXT)) IN ((?, ?), (?, ?))"
    assert question.parameters == (1, "x'y", 2, "?")


@pytest.mark.parametrize(
    ("pushes", "keys", "condition"),
    [
        ((BARE,), [(1,)], " WHERE c0 = ?"),
        ((BARE,), [(1,), (2,)], " WHERE c0 IN (?, ?)"),
        ((BARE, CAST), [(1, "a")], " WHERE c0 = ? AND CAST(c1 AS TEXT) = ?"),
        ((NULLABLE,), [("a",)], " WHERE c1 = ? OR c1 IS NULL"),
        ((NULLABLE,), [("a",), ("b",)], " WHERE c1 IN (?, ?) OR c1 IS NULL"),
        ((BARE, NULLABLE), [(1, "a")], " WHERE (c0 = ? AND c1 = ?) OR c1 IS NULL"),
    ],
)
def test_nulls_are_asked_for_beside_the_keys(
    pushes: tuple[Push, ...], keys: list[tuple[Value, ...]], condition: str
) -> None:
    assert asked(*pushes, keys=keys) == condition


def test_all_rows_are_asked_for_without_a_condition() -> None:
    assert typed_whole(GUARDED, 2).text == PREFIX
    spelled = typed_whole(GUARDED, 2, outputs=("c0", "CAST(c1 AS VARCHAR)"), spelled=frozenset({1}))
    assert spelled.text == PREFIX.replace("SELECT c0, c1", "SELECT c0, CAST(c1 AS VARCHAR)")
    assert spelled.spelled == {1}


@given(keys=st.lists(st.tuples(st.integers(), st.text()), min_size=1, max_size=20))
def test_there_are_as_many_placeholders_as_values(keys: list[tuple[Value, ...]]) -> None:
    question = typed_question(GUARDED, 2, (BARE, NULLABLE), keys)
    assert question.text.count("?") == len(question.parameters) == 2 * len(keys)


@pytest.mark.parametrize(
    ("family", "kind", "comparand"),
    [
        (Family.SIGNED, "number", Comparand.BARE),
        (Family.SIGNED, "symbol", None),
        (Family.NUMERIC, "symbol", None),
        (Family.NUMERIC, "float", None),
        (Family.NUMERIC, "Decimal", None),
        (Family.TEXT, "symbol", Comparand.BARE),
        (Family.TEXT, "number", None),
        (Family.TEXT, "Date", None),
        (Family.CAST, "symbol", Comparand.AS_TEXT),
        (Family.CAST, "number", None),
        (Family.OTHER, "symbol", None),
        (Family.OTHER, "number", None),
    ],
)
def test_only_what_the_source_compares_as_we_do_is_sent(
    family: Family, kind: str, comparand: Comparand | None
) -> None:
    demand = Demand(declare(f"p(x: {kind})"), (0,), ((1,),))
    expected = () if comparand is None else (Push(0, comparand, nullable=True),)
    assert typed_pushes([family], demand, {0}) == expected


@pytest.mark.parametrize(
    ("family", "kind", "besides"),
    [
        (Family.SIGNED, "unsigned", ["c0 < 0"]),
        (Family.NUMERIC, "number", [BEYOND.format("-9223372036854775808")]),
        (Family.NUMERIC, "unsigned", [BEYOND.format("0")]),
    ],
)
def test_what_is_no_value_of_its_kind_comes_whatever_is_asked_for(
    family: Family, kind: str, besides: list[str]
) -> None:
    (push,) = typed_pushes([family], Demand(declare(f"p(x: {kind})"), (0,), ((1,),)), ())
    assert push.open_rows() == besides
    question = typed_question(GUARDED, 1, (push,), [(1,)])
    assert question.text.endswith(f"WHERE c0 = ? OR {besides[0]}")


def test_an_integer_beyond_those_of_the_source_is_not_sent() -> None:
    demand = Demand(declare("p(x: unsigned)"), (0,), ((1,), (1 << 63,)))
    assert typed_pushes([Family.NUMERIC], demand, ()) == ()
