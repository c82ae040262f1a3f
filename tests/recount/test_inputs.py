"""Inputs come in with each row once, and without texts that no rule reads."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

import duckdb
import pytest

from constat.evaluation import Answer, Demand, Evidence, Origin, Readable
from constat.logic import Atom, Kind, Row, Variable
from constat.recount import Bounds, Claim, Recount, State, recount
from constat.recount.inputs import columns_read, distinct, read_input
from constat.recount.statements import is_apart
from constat.recount.tables import Tables
from tests.oracle import naive
from tests.recount.test_recount import HEAD, program_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ARRAYS: Final = Bounds(threads=1, few=0)
SALES: Final = (
    HEAD + ".decl sale(id: number, who: symbol, amount: number, note: symbol)\n.input sale\n"
    ".decl total(who: symbol, amount: number)\n.decl many(n: number)\n"
    "total(?w, ?t) :- sale(_, ?w, _, _), ?t = sum ?a : { sale(_, ?w, ?a, _) }.\n"
    "many(?n) :- ?n = count : { sale(_, _, _, _) }.\n"
)
ROWS: Final[tuple[Row, ...]] = ((1, "ann", 5, "x"), (2, "ann", 5, "x"), (3, "bob", 7, "y"))
TOTALS: Final[tuple[Row, ...]] = (("ann", 10), ("bob", 7))
# No two rows have the same note, and their numbers do not tell them apart.
TOLD_BY_NOTES: Final[tuple[Row, ...]] = ((1, "ann", 5, "x"), (1, "ann", 5, "z"), (3, "bob", 7, "y"))


@dataclass(slots=True)
class Streaming:
    """A relation that is handed over as a stream; counts how often."""

    rows: Iterable[tuple[object, ...]]
    cost: int = 10
    asked: int = 0
    merges: bool = False

    def answer(self, demand: Demand) -> Answer:
        raise NotImplementedError

    def estimate(self) -> float | None:
        return None

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        self.asked += 1
        listed = list(self.rows)
        texts = [", ".join(map(_quoted, row)) for row in listed]
        names = ", ".join(f"v{n}" for n in range(demand.predicate.arity))
        found = duckdb.sql(f"SELECT * FROM (VALUES ({'), ('.join(texts)})) AS t({names})")
        evidence = Evidence("database", Origin.DATABASE, "t", "2026-01-31T10:00:00.000000Z")
        return Readable(demand.predicate, len(listed), evidence, lambda: found, merges=self.merges)


def _quoted(cell: object) -> str:
    if cell is None:
        return "CAST(NULL AS VARCHAR)"
    return f"'{cell}'" if isinstance(cell, str) else f"CAST({cell} AS BIGINT)"


def counted(name: str, given: Streaming, rows: Iterable[Row]) -> Recount:
    program = program_of(SALES)
    arity = program.program.predicates[name].arity
    atom = Atom(name, tuple(Variable(f"v{n}") for n in range(arity)))
    return recount(program, Claim(atom, tuple(range(arity)), list(rows)), {"sale": given}, ARRAYS)


def test_a_column_is_read_where_something_looks_at_it() -> None:
    program = program_of(
        HEAD + ".decl e(a: number, b: number, c: number, d: number, f: number)\n.input e\n"
        ".decl p(a: number)\n"
        "p(?a) :- e(?a, _, ?c, _d, 4), e(_, _, ?c, _, _), !e(_, ?a, _, _, _).\n"
    )
    assert columns_read(program.rules) == {"e": frozenset({0, 1, 2, 4})}


def test_texts_that_no_rule_reads_are_left_out() -> None:
    program, given = program_of(SALES), Streaming(ROWS)
    predicate = program.program.predicates["sale"]
    with Tables(60.0, threads=1, few=0) as held:
        read = columns_read(program.rules)["sale"]
        table = read_input(held, predicate, given, read=read).whole
        assert [one[0] for one in held.run("DESCRIBE", table)] == ["c0", "c1", "c2"]
        assert held.count(table) == len(ROWS)
    assert given.asked == 1


@pytest.mark.parametrize("rows", [ROWS, TOLD_BY_NOTES])
def test_sums_and_counts_take_each_row_once(rows: tuple[Row, ...]) -> None:
    given = Streaming(rows)
    assert counted("total", given, TOTALS) == Recount(State.PASSED)
    assert given.asked == 1 + (rows is TOLD_BY_NOTES)
    assert counted("many", given, [(3,)]) == Recount(State.PASSED)
    assert counted("many", given, [(2,)]).differs
    assert counted("total", given, [("ann", 5), ("bob", 7)]).differs


KEYED: Final = (
    ("p(?i, ?w) :- e(?i, ?w).", True),
    ("p(?i, ?a) :- e(?i, ?w), f(?w, ?a).", True),
    ("p(?i, ?a * ?b) :- e(?i, ?w), f(?w, ?a), f(?a, ?b).", True),
    ("p(?w, ?a) :- e(_, ?w), f(?w, ?a).", False),
    ("p(?i, ?a) :- e(?i, _), f(_, ?a).", False),
    ("p(?i + 0, ?w) :- e(?i, ?w).", False),
    ("p(?i, ?w) :- e(?i, ?w), f(_, _).", False),
    ("p(?i, ?n) :- e(?i, ?w), ?n = count : { f(_, ?w) }.", True),
    ("p(?w, ?n) :- e(_, ?w), ?n = count : { f(_, ?w) }.", False),
)


@pytest.mark.parametrize(("rule", "apart"), KEYED)
def test_rows_that_no_rule_gives_twice_need_not_be_looked_at(rule: str, *, apart: bool) -> None:
    two = "(a: number, b: number)\n"
    program = program_of(
        f"{HEAD}.decl e{two}.input e\n.decl f{two}.input f\n.decl p{two}{rule}\n"
        ".decl many(n: number)\nmany(?n) :- ?n = count : { p(_, _) }.\n"
    )
    assert is_apart(program.rules[0], lambda _: 0) is apart
    given: dict[str, list[Row]] = {"e": [(n, n % 3) for n in range(9)]}
    given["f"] = [(n, n % 2) for n in range(4)]
    externals = {name: Streaming(rows) for name, rows in given.items()}
    world = naive.World({name: tuple((row, None) for row in rows) for name, rows in given.items()})
    right = len(naive.evaluate(program, world, accepted=False)["p"])

    def check(number: int) -> Recount:
        claim = Claim(Atom("many", (Variable("n"),)), (0,), [(number,)])
        return recount(program, claim, externals, ARRAYS)

    assert check(right) == Recount(State.PASSED)
    assert check(right + 1).differs


def test_a_row_that_comes_twice_counts_once() -> None:
    given = Streaming([*ROWS, ROWS[0]])
    assert counted("total", given, TOTALS) == Recount(State.PASSED)
    assert counted("many", given, [(3,)]) == Recount(State.PASSED)
    assert counted("many", Streaming([*ROWS, ROWS[0]], merges=True), [(3,)]).passed


def test_a_cell_without_a_value_is_refused_also_where_nobody_reads_it() -> None:
    given = Streaming([*ROWS[:2], (3, "bob", 7, None)])
    assert counted("total", given, TOTALS).state is State.NOT_CHECKED


def test_what_is_asked_itself_is_read_whole() -> None:
    assert counted("sale", Streaming(ROWS), ROWS) == Recount(State.PASSED)
    assert counted("sale", Streaming(ROWS), [*ROWS[:2], (3, "bob", 7, "z")]).differs


@pytest.mark.parametrize(
    "kinds",
    [
        (Kind.NUMBER,),
        (Kind.UNSIGNED,),
        (Kind.NUMBER, Kind.UNSIGNED, Kind.NUMBER),
        (Kind.NUMBER, Kind.SYMBOL),
        (Kind.SYMBOL, Kind.SYMBOL),
        (Kind.FLOAT, Kind.NUMBER),
    ],
)
def test_rows_are_each_there_once_whatever_tells_them_apart(kinds: tuple[Kind, ...]) -> None:
    random = Random(len(kinds))
    with Tables(60.0, threads=1, few=0) as held:
        # Few numbers, many rows among as many numbers, and few rows among very many.
        for most in (2, 30, 500, 10**9):
            drawn: list[Row] = [
                tuple(_cell(kind, random.randrange(most)) for kind in kinds) for _ in range(200)
            ]
            for rows in (drawn, list(dict.fromkeys(drawn))):
                table = held.empty(kinds)
                held.add_rows(table, rows, kinds)
                each = distinct(held, table, kinds)
                assert sorted(held.run("SELECT * FROM", each)) == sorted(set(rows))
                assert (each == table) == (len(set(rows)) == len(rows))


def _cell(kind: Kind, number: int) -> int | float | str:
    if kind is Kind.FLOAT:
        return float(number)
    if kind is Kind.SYMBOL:
        return f"t{number}"
    return number + 2**63 if kind is Kind.UNSIGNED else number - 100
