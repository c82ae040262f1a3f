"""Relations that are kept current have the rows of a full evaluation, and say what has changed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.analysis import AnalysedProgram, analyse
from constat.diagnostics import Diagnostic
from constat.incremental import Fact, Maintained, NotKeptError
from constat.incremental.relations import Codes, Kept, difference
from constat.logic import Kind, Row
from constat.syntax import parse_text
from tests.incremental.sequences import Walk
from tests.random_programs.one_database import one_database

EDGES = ".decl edge(a: number, b: number)\n.input edge\n"
PATHS = f"""{EDGES}.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
SALES = """.decl sale(id: number, shop: symbol, cents: number)
.input sale
.decl shop(name: symbol)
.input shop
.decl closed(name: symbol)
.input closed
.decl total(shop: symbol, cents: number)
total(?s, ?n) :- shop(?s), ?n = sum ?c : { sale(_, ?s, ?c) }, !closed(?s).
.decl sales(n: number)
sales(?n) :- ?n = count : { sale(_, _, _) }.
"""


def program(text: str) -> AnalysedProgram:
    diagnostics: list[Diagnostic] = []
    parsed = parse_text(f'.pragma "constat" "0.1"\n{text}', "rules.dl", diagnostics)
    found = analyse(parsed, diagnostics)
    assert found is not None, diagnostics
    return found


def come(name: str, *row: int | str) -> Fact:
    return Fact(name, row)


def go(name: str, *row: int | str) -> Fact:
    return Fact(name, row, gone=True)


def test_an_edge_that_comes_brings_its_paths_and_takes_them_with_it() -> None:
    kept = Maintained(program(PATHS), ["path"], {"edge": [(1, 2), (3, 4)]})
    update = kept.update([come("edge", 2, 3)])
    assert set(update.changed["path"].plus) == {(2, 3), (1, 3), (2, 4), (1, 4)}
    assert update.changed["path"].minus == []
    assert update.anew == ""
    update = kept.update([go("edge", 2, 3)])
    assert set(update.changed["path"].minus) == {(2, 3), (1, 3), (2, 4), (1, 4)}
    assert set(kept.rows("path")) == {(1, 2), (3, 4)}


def test_rows_that_support_each_other_in_a_circle_go_with_their_last_support() -> None:
    kept = Maintained(program(PATHS), ["path"], {"edge": [(0, 1), (1, 2), (2, 1)]})
    assert (0, 2) in set(kept.rows("path"))
    kept.update([go("edge", 0, 1)])
    assert set(kept.rows("path")) == {(1, 1), (1, 2), (2, 1), (2, 2)}


def test_a_row_with_another_derivation_stays_and_nothing_behind_it_is_looked_at() -> None:
    chain = [(n, n + 1) for n in range(300)]
    kept = Maintained(program(PATHS), ["path"], {"edge": [*chain, (0, 500), (500, 1)]})
    update = kept.update([go("edge", 0, 500)])
    assert update.changed["path"].minus == [(0, 500)]
    assert update.touched < 20


def test_what_comes_and_goes_in_one_update_changes_nothing() -> None:
    kept = Maintained(program(PATHS), ["path"], {"edge": [(1, 2)]})
    facts = [come("edge", 2, 3), go("edge", 2, 3), come("edge", 1, 2), go("edge", 8, 9)]
    assert kept.update(facts).changed == {}


def test_totals_of_touched_groups_change_and_a_negation_takes_them_away() -> None:
    rows: dict[str, list[Row]] = {
        "sale": [(1, "a", 5), (2, "b", 7)],
        "shop": [("a",), ("b",), ("c",)],
        "closed": [],
    }
    kept = Maintained(program(SALES), ["total", "sales"], rows)
    assert set(kept.rows("total")) == {("a", 5), ("b", 7), ("c", 0)}
    update = kept.update([come("sale", 3, "a", 10)])
    assert update.changed["total"].plus == [("a", 15)]
    assert update.changed["total"].minus == [("a", 5)]
    assert set(kept.rows("sales")) == {(3,)}
    assert kept.update([come("closed", "b")]).changed["total"].minus == [("b", 7)]
    assert kept.update([go("closed", "b")]).changed["total"].plus == [("b", 7)]


def test_a_change_of_much_is_evaluated_anew_and_says_so() -> None:
    kept = Maintained(program(PATHS), ["path"], {"edge": [(1, 2), (2, 3)]}, least=0)
    update = kept.update([come("edge", 3, n) for n in range(10, 20)])
    assert update.anew == "the change touches much of what is kept"
    assert len(update.changed["path"].plus) == 30
    assert len(kept.relations["path"]) == 33


def test_a_rule_that_errs_by_a_new_fact_is_not_kept_and_nothing_has_changed() -> None:
    text = ".decl n(x: number)\n.input n\n.decl inverse(x: number, y: number)\n"
    kept = Maintained(program(f"{text}inverse(?x, 10 / ?x) :- n(?x)."), ["inverse"], {"n": [(5,)]})
    with pytest.raises(NotKeptError):
        kept.update([come("n", 2), come("n", 0)])
    assert set(kept.rows("inverse")) == {(5, 2)}
    assert set(kept.rows("n")) == {(5,)}
    kept.update([come("n", 2)])
    assert set(kept.rows("inverse")) == {(5, 2), (2, 5)}


def test_a_sum_within_its_own_recursion_is_refused_with_its_rule() -> None:
    text = f"""{EDGES}.decl heavy(a: number)
heavy(?a) :- edge(?a, 0).
heavy(?a) :- edge(?a, _), ?n = count : {{ edge(?a, ?b), heavy(?b) }}, ?n > 1.
"""
    with pytest.raises(NotKeptError, match="adds up its own recursion"):
        Maintained(program(text), ["heavy"], {"edge": []})


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_programs_stay_what_a_full_evaluation_gives(seed: int) -> None:
    with one_database():
        assert Walk(seed).difference(2, 3) == ""


@pytest.mark.laws
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 30))
def test_many_random_programs_stay_what_a_full_evaluation_gives(seed: int) -> None:
    with one_database():
        assert Walk(seed).difference(8, 5) == ""


def test_rows_in_arrays_are_found_like_rows_in_a_table() -> None:
    """More rows than a table of Python takes: then they lie in sorted arrays."""
    drawn = random.Random(7)
    rows = list({(drawn.randrange(90), f"t{drawn.randrange(400)}") for _ in range(60_000)})
    codes = Codes()
    kept = Kept("many", (Kind.NUMBER, Kind.SYMBOL), codes)
    columns = [codes.numbers(kind, [row[n] for row in rows]) for n, kind in enumerate(kept.kinds)]
    kept.put(columns, np.arange(len(rows)))
    marks = {row: mark for mark, row in enumerate(rows)}
    for step in range(300):
        row = drawn.choice(rows)
        if row in marks:
            assert kept.remove(row) == marks.pop(row)
        else:
            marks[row] = step
            kept.add(row, step)
    key = rows[0][0], rows[0][1]
    for columns_of, looked in (((0,), key[:1]), ((1,), key[1:]), ((0, 1), key), ((), ())):
        expected = {row for row in marks if tuple(row[n] for n in columns_of) == looked}
        assert set(kept.find(columns_of, looked)) == expected
        assert kept.count(columns_of, looked) == len(expected)
    assert set(kept) == set(marks)
    assert len(kept) == len(marks)
    assert all(kept.mark(row) == mark for row, mark in list(marks.items())[:500])
    assert kept.find((1,), ("no such text",)) == []


def test_the_difference_of_arrays_is_that_of_the_rows() -> None:
    old = [np.array([1, 1, 5]), np.array([2, 1 << 62, 9])]
    new = [np.array([1, -(1 << 62)]), np.array([2, 3])]
    gone, came = difference(old, new)
    assert gone.tolist() == [False, True, True]
    assert came.tolist() == [False, True]
