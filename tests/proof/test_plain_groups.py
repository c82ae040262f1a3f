"""Groups that are folded as columns: the same certificate, byte by byte, as literal by literal."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.logic import OPEN
from constat.proof import decide, groups
from constat.proof.groups import MOST_INLINE, Aggregates, plain_group
from tests.proof.asking import Table, analysed, ask, certificate, checked, goal_of

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow, Row

ROWS = """
.decl sold(o: number, c: symbol, v: {kind}, n: number)
.input sold(source = "crm", query = "SELECT o, c, v, n FROM sold")
.decl found({result})
"""
BODIES = {
    "sum": ("t: number", "found(?t) :- ?t = sum ?v : {{ sold(_, {c}, ?v, _) }}."),
    "count": ("t: number", "found(?t) :- ?t = count : {{ sold(_, {c}, _, _) }}."),
    "least": ("t: number", "found(?t) :- ?t = min ?v : {{ sold(_, {c}, ?v, _) }}."),
    "greatest": ("t: number", "found(?t) :- ?t = max ?v : {{ sold(_, {c}, ?v, _) }}."),
    "mean": ("t: float", "found(?t) :- ?t = mean ?v : {{ sold(_, {c}, ?v, _) }}."),
    "where": ("t: number", "found(?t) :- ?t = sum ?v : {{ sold(_, {c}, ?v, ?n), ?n > 1 }}."),
    "errs": ("t: number", "found(?t) :- ?t = sum ?v / ?n : {{ sold(_, {c}, ?v, ?n) }}."),
    "twice where": (
        "t: number",
        "found(?t) :- ?t = sum ?v : {{ sold(?o, {c}, ?v, ?n), ?n > 0, ?o > 2 }}.",
    ),
    "may err": ("t: number", "found(?t) :- ?t = sum ?v : {{ sold(_, {c}, ?v, ?n), 4 / ?n > 1 }}."),
    "computed": ("t: number", "found(?t) :- ?t = sum ?w : {{ sold(_, {c}, ?v, _), ?w = ?v * 2 }}."),
    "computed in turn": (
        "t: number",
        "found(?t) :- ?t = sum ?w : {{ sold(_, {c}, ?v, ?n), ?w = ?x + ?n, ?x = ?v * 2, ?x > 0 }}.",
    ),
    "computed, may err": (
        "t: number",
        "found(?t) :- ?t = sum ?w : {{ sold(_, {c}, ?v, ?n), ?w = ?v / ?n }}.",
    ),
    "given twice": (
        "t: number",
        "found(?t) :- ?t = count : {{ sold(_, {c}, ?v, ?n), ?w = ?v, ?n = ?w }}.",
    ),
    "twice": ("t: number", "found(?t) :- ?t = sum ?v : {{ sold(?v, {c}, ?v, _) }}."),
    "by group": (
        "c: symbol, t: number",
        "found(?c, ?t) :- sold(_, ?c, _, _), ?t = sum ?v : {{ sold(_, ?c, ?v, _) }}.",
    ),
}
KINDS = {
    "number": st.integers(-3, 3),
    "float": st.sampled_from([0.1, 0.2, -1.5, 1e300]),
    "Decimal": st.sampled_from([Decimal("0.1"), Decimal("-2.5"), Decimal(10**37)]),
}


def program_of(name: str, kind: str = "number", customer: str = '"A"') -> AnalysedProgram:
    result, rule = BODIES[name]
    if kind != "number":
        result = result.replace("number", kind).replace("float", kind)
    return analysed(ROWS.format(kind=kind, result=result) + rule.format(c=customer))


def both_ways(program: AnalysedProgram, table: Table, most: int) -> tuple[bytes, bytes]:
    """Write the certificate both ways; more rows than `most` are summarised."""
    goal = "found(?c, ?t)" if program.program.predicates["found"].arity > 1 else "found(?t)"
    found = []
    for by_columns in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groups, "MOST_INLINE", most)
            if not by_columns:
                patch.setattr(Aggregates, "_at_once", lambda *_: None)
            atom, tables = goal_of(program, goal), {"sold": table}
            decision = decide(LazyEngine(), program, atom, tables, Limits(), exhaust=True)
            found.append(certificate(decision))
    if most == MOST_INLINE:
        checked(found[0])
    return found[0], found[1]


def rows_of(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[Row]]:
    cell = st.tuples(st.integers(0, 9), st.sampled_from("AB"), values, st.integers(0, 2))
    return st.lists(cell, max_size=6, unique=True)  # type: ignore[arg-type]  # values of columns


OPENED: st.SearchStrategy[list[OpenRow]] = st.lists(
    st.sampled_from([(1, "A", OPEN, 1), (OPEN, OPEN, 1, 1), (1, "B", OPEN, 2)]), max_size=1
)


MIXED: tuple[Row, ...] = tuple(
    (o, c, o % 4 - 1, n)
    for o, (c, n) in enumerate(zip("AABABAAA", (1, 2, 2, 1, 0, 0, 2, 2), strict=True))
)


@pytest.mark.parametrize("most", [2, MOST_INLINE])
@pytest.mark.parametrize("rows", [MIXED, tuple((o, c, v, n or 1) for o, c, v, n in MIXED)])
@pytest.mark.parametrize("name", BODIES)
def test_columns_and_literals_fold_the_same_rows(
    name: str, rows: tuple[Row, ...], most: int
) -> None:
    one, other = both_ways(program_of(name), Table(rows), most)
    assert one == other


@given(
    name=st.sampled_from(sorted(BODIES)),
    rows=rows_of(KINDS["number"]),
    said=rows_of(KINDS["number"]),
    opened=OPENED,
    most=st.sampled_from([2, MOST_INLINE]),
)
def test_columns_and_literals_give_the_same_certificate(
    name: str, rows: list[Row], said: list[Row], opened: list[OpenRow], most: int
) -> None:
    words = tuple((row, "0.8") for row in said[:2])
    table = Table(tuple(rows), said=words, open=tuple(opened))
    one, other = both_ways(program_of(name), table, most)
    assert one == other


@given(
    kind=st.sampled_from(["float", "Decimal"]),
    name=st.sampled_from(["sum", "least", "mean"]),
    data=st.data(),
    most=st.sampled_from([2, MOST_INLINE]),
)
def test_exact_kinds_give_the_same_certificate(
    name: str, kind: str, data: st.DataObject, most: int
) -> None:
    table = Table(tuple(data.draw(rows_of(KINDS[kind]))))
    one, other = both_ways(program_of(name, kind), table, most)
    assert one == other


@pytest.mark.parametrize(
    ("name", "rows", "opened", "by_columns"),
    [
        ("sum", [(1, "A", 2, 1)], [], True),
        ("where", [(1, "A", 2, 1)], [], True),
        ("errs", [(1, "A", 2, 1)], [], True),
        ("errs", [(1, "A", 2, 0)], [], False),
        ("computed", [(1, "A", 2, 1)], [], True),
        ("computed in turn", [(1, "A", 2, 1)], [], True),
        ("computed, may err", [(1, "A", 2, 1)], [], True),
        ("computed, may err", [(1, "A", 2, 0)], [], False),
        ("twice", [(1, "A", 1, 1)], [], False),
        ("sum", [(1, "A", 2, 1)], [(1, "A", OPEN, 1)], False),
    ],
)
def test_only_groups_of_plain_rows_are_columns(
    name: str, rows: list[Row], opened: list[OpenRow], *, by_columns: bool
) -> None:
    taken: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "plain_group", lambda *args: noted(taken, plain_group(*args)))
        ask(program_of(name), "found(?t)", {"sold": Table(tuple(rows), open=tuple(opened))})
    assert set(taken) == {by_columns}


def noted(taken: list[bool], found: object) -> object:
    taken.append(found is not None)
    return found
