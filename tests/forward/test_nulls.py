"""Bulk evaluation over rows with null cells: against the definition, and by hand (semantics 26)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import (
    OPEN,
    Atom,
    Constant,
    MadeBy,
    NullCell,
    NullPolicy,
    Variable,
    with_null_cells,
)
from constat.plan.forward import Strategy
from tests.forward.running import forward
from tests.language.worlds_of_text import program
from tests.oracle.completions import Model, Models, completions
from tests.oracle.definition import Known, Program, Reading
from tests.oracle.families import (
    BOUNDED,
    DECLARATIONS,
    PROGRAMS,
    Database,
    declared,
    sample,
    told_apart,
)
from tests.oracle.test_engine import DOMAIN, agreed, goals
from tests.oracle.test_random import VALUES, with_nulls
from tests.oracle.translation import goal_of, outside_of, program_of, row_of
from tests.property.strategies import HALF, Case, cases
from tests.random_programs.one_database import one_database

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow, Value
    from tests.forward.running import Found
    from tests.oracle.definition import Truth
    from tests.oracle.families import Item

NONE, MAYBE, UNKNOWN = NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN
STRATEGIES: Final = (None, *Strategy)
UNREAD: Final = (
    "not read",
    "nothing read",
    "negation, not read",
    "greatest beside a null column",
)
"""No literal of these reads the second column of `e`."""


def analysed(rules: str, policy: NullPolicy) -> AnalysedProgram:
    """Give a program over `e` and `f`, whose columns may be null in this way."""
    columns = DECLARATIONS
    for name in ("a", "b"):
        columns = columns.replace(f"{name}:", f"@[null = {policy.value}] {name}:")
    return program(columns + declared(rules))


def found_by(rules: str, database: Database, strategy: Strategy | None = None) -> dict[str, Found]:
    """Evaluate all predicates that have rules."""
    read = analysed(rules, database.policy)
    free = [one for one in goals(read) if not any(isinstance(t, Constant) for t in one.terms)]
    found = {}
    for goal in free:
        found[goal.predicate] = forward(read, database.world(), goal, strategy=strategy)
    return found


def compare(name: str, chosen: list[Database]) -> None:
    """Hold the truth of every goal, by the rows of its predicate, against the definition."""
    for number, database in enumerate(chosen):
        read = analysed(PROGRAMS[name], database.policy)
        rules, outside = program_of(read), outside_of(database.world())
        models = Models(rules, DOMAIN)
        words = outside.words() | {word for rule in rules.rules for word in rule.words}
        readings = Reading(rules, outside), Reading(rules, outside, words)
        strategy = STRATEGIES[number % len(STRATEGIES)]
        every = found_by(PROGRAMS[name], database, strategy)
        for goal in goals(read):
            found, body = every[goal.predicate], goal_of(goal)
            wanted = [reading.truth_of(body) for reading in readings]
            decided = (name, database, goal, found)
            assert truths(found, goal)[0] == wanted[0] or wanted[0] is None, decided
            for want, got, accepted in zip(
                wanted, truths(found, goal), (set[str](), words), strict=True
            ):
                place = (name, database, goal, want, got, found)
                assert got in {None, want} or (
                    want is None and agreed(models, outside, accepted, body, got)
                ), place
                if database.policy is NONE and found.closed:
                    assert got == want, place


@pytest.mark.parametrize("name", BOUNDED)
def test_bulk_rules_out_what_a_member_rules_out(name: str) -> None:
    every = [one for one in told_apart(name) if one.has_nulls]
    stated = [one for one in every if all(how == "row" for _, how, _ in one.items)]
    with one_database():
        for database in stated[:: len(stated) // 14]:
            read = analysed(PROGRAMS[name], database.policy)
            reading = Reading(program_of(read), outside_of(database.world()))
            found = found_by(PROGRAMS[name], database)
            for goal in goals(read):
                if reading.truth_of(goal_of(goal)) is False:
                    assert truths(found[goal.predicate], goal)[0] is False, (name, database, goal)


def truths(found: Found, goal: Atom) -> tuple[Truth, Truth]:
    """Give the truth of a goal in both readings, from all rows of its predicate."""

    def truth(sure: int, possible: int) -> Truth:
        relation = {row_of(row): False for row in found.rows[possible]}
        relation |= {row_of(row): True for row in found.rows[sure]}
        known = Known(Program((), {}), {goal.predicate: relation})
        matches = [certain for _, certain, _ in known.solutions(goal_of(goal), {})]
        return True if any(matches) else None if matches else False

    return truth(CERTAIN, CONCEIVABLE), truth(ACCEPTED, POSSIBLE)


@pytest.mark.sampled(12, "laws")
@pytest.mark.parametrize("name", PROGRAMS)
def test_bulk_says_what_the_definition_says_or_leaves_it_open(name: str) -> None:
    with one_database():
        compare(name, [one for one in sample(name) if one.has_nulls])


def test_no_row_is_open_for_a_column_that_no_literal_reads() -> None:
    with one_database():
        for name in UNREAD:
            for database in sample(name):
                if all(how == "row" and cells[0] is not None for _, how, cells in database.items):
                    found = found_by(PROGRAMS[name], database)["p"]
                    assert (found.how, found.closed) == ("closed", True), (name, database, found)


def rows_of(rules: str, policy: NullPolicy, *cells: tuple[Value | None, ...]) -> set[OpenRow]:
    """Give the rows of `p` over rows of `e`; where they are not certain, all that are possible."""
    items: list[Item] = [("e", "row", one) for one in cells]
    found = found_by(rules, Database(tuple(items), policy))["p"]
    assert found.rows[3] == found.rows[1] or not found.rows[3]
    return found.rows[1]


@pytest.mark.parametrize("policy", list(NullPolicy)[:3])
def test_a_total_counts_rows_that_are_null_beside_it(policy: NullPolicy) -> None:
    total = "p(?s) :- ?s = sum ?x : { e(?x, _) }."
    assert rows_of(total, policy, (1, None), (2, None), (2, 0)) == {
        (5,) if policy is NONE else (OPEN,)
    }
    assert rows_of(total, policy, (1, None), (2, None), (3, 0)) == {(6,)}
    assert rows_of(total, policy, (1, 1), (1, 0)) == {(2,)}


@pytest.mark.parametrize(("policy", "count"), [(NONE, 1), (MAYBE, OPEN), (UNKNOWN, 2)])
def test_a_variable_of_its_own_reads_what_is_not_unknown(policy: NullPolicy, count: Value) -> None:
    assert rows_of("p(?n) :- ?n = count : { e(_, _y) }.", policy, (1, None), (2, 0)) == {(count,)}


@pytest.mark.parametrize("total", ["count : { e(_, _) }", "max ?z : { e(?z, _) }"])
def test_what_nobody_knows_may_be_a_total(total: str) -> None:
    # A label that was there before the total counted as any other value that is equal to it.
    for rules in (f"p(?x) :- e(?x, ?y), ?y = {total}.", f"p(?x) :- ?y = {total}, e(?x, ?y)."):
        found = found_by(rules, Database((("e", "row", (1, None)), ("e", "row", (2, 2))), UNKNOWN))[
            "p"
        ]
        assert found.rows[CERTAIN] == {(2,)}
        assert found.rows[POSSIBLE] == {(1,), (2,)}


def test_what_is_read_and_null_is_no_row_or_an_open_one() -> None:
    copy = "p(?x, ?y) :- e(?x, ?y)."
    assert rows_of(copy, NONE, (1, None), (None, 2)) == set()
    assert rows_of(copy, MAYBE, (1, None), (None, 2)) == {(1, OPEN), (OPEN, 2)}
    assert rows_of(copy, UNKNOWN, (1, None)) == {with_null_cells("e", (1, None), (None, UNKNOWN))}
    assert rows_of("p(?x) :- e(?x, 5).", NONE, (1, None)) == set()
    assert rows_of("p(?x) :- e(?x, 5).", MAYBE, (1, None)) == {(1,)}


def test_a_label_is_carried_joined_with_itself_and_counted() -> None:
    one, other = (with_null_cells("e", (n, None), (None, UNKNOWN)) for n in (1, 2))
    nulls: tuple[tuple[Value | None, ...], ...] = ((1, None), (2, None), (3, 0))
    both = "q(?x, ?y) :- e(?x, ?y).  r(?y) :- q(_, ?y)."
    items: list[Item] = [("e", "row", cells) for cells in nulls]
    join = f"{both}  p(?y, ?x) :- r(?y), q(?x, ?y), ?x < 3."
    found = found_by(join, Database(tuple(items), UNKNOWN))["p"]
    assert found.rows[CERTAIN] == {(one[1], 1), (other[1], 2)}
    assert found.rows[POSSIBLE] > found.rows[CERTAIN]
    # Two labels may be one value, so nobody knows how many there are; beside a known column all do.
    assert rows_of(f"{both}  p(?n) :- ?n = count : {{ r(_y) }}.", UNKNOWN, *nulls) == {(OPEN,)}
    assert rows_of(f"{both}  p(?n) :- ?n = count : {{ q(_x, _y) }}.", UNKNOWN, *nulls) == {(3,)}
    assert rows_of(f"{both}  p(?m) :- ?m = max ?x : {{ q(?x, _y) }}.", UNKNOWN, *nulls) == {(3,)}
    assert rows_of(f"{both}  p(?x) :- e(?x, _), !q(?x, _).", UNKNOWN, *nulls) == set()


def test_a_total_function_makes_a_label_of_a_label() -> None:
    source = with_null_cells("e", (1, None), (None, UNKNOWN))[1]
    items: list[Item] = [("e", "row", (1, None)), ("e", "row", (2, 5))]
    rules = "q(?x, max(?y, ?x)) :- e(?x, ?y).  p(?x, ?z) :- q(?x, ?z), e(?x, ?y), ?z = max(?y, ?x)."
    every = found_by(rules, Database(tuple(items), UNKNOWN))
    assert isinstance(source, NullCell)
    made = replace(source, made=MadeBy("max", (None, 1)))
    for name in "qp":
        assert every[name].rows[CERTAIN] == {(1, made), (2, 5)}
    again = "q(max(?y, 1)) :- e(_, ?y).  p(min(?z, 9)) :- q(?z)."
    found = found_by(again, Database(tuple(items), UNKNOWN))["p"]
    assert (found.rows[CERTAIN], found.rows[POSSIBLE]) == ({(5,)}, {(5,), (OPEN,)})


def test_an_absence_of_what_errs_is_not_certain() -> None:
    rules = "q(?x, ?y) :- e(?x, ?y).  p(?x) :- q(?x, ?y), !f(10 / ?y)."
    database = Database((("e", "row", (1, None)), ("e", "row", (2, 5))), UNKNOWN)
    found = found_by(rules, database)["p"]
    assert (found.rows[CERTAIN], found.rows[POSSIBLE]) == ({(2,)}, {(1,), (2,)})


def test_an_absence_reads_what_it_writes() -> None:
    unread, read = "!e(?x, _).", "!q(?x).  q(?x) :- e(?x, _y)."
    for policy, count in ((NONE, 1), (MAYBE, 1), (UNKNOWN, 0)):
        assert rows_of(f"p(?x) :- e(?x, _), {unread}", policy, (1, None)) == set()
        assert len(rows_of(f"p(?x) :- e(?x, _), {read}", policy, (1, None))) == count


def nullable(case: Case) -> Case:
    """Declare the policies of the columns that hold null cells, as a program of people would."""
    predicates = dict(case.program.program.predicates)
    for name, said in case.world.rows.items():
        cells: list[object] = [cell for row, _ in said for cell in row]
        nulls = [cell for cell in cells if isinstance(cell, NullCell)]
        policies = {cell.column: {"null": cell.policy.value} for cell in nulls}
        columns = tuple(
            replace(one, attributes=policies.get(n, {}))
            for n, one in enumerate(predicates[name].columns)
        )
        predicates[name] = replace(predicates[name], columns=columns)
    program = replace(case.program.program, predicates=predicates)
    return replace(case, program=replace(case.program, program=program))


@settings(HALF, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    cases(),
    st.integers(0, 999),
    st.sampled_from(STRATEGIES),
    st.sampled_from([None, True, False]),
    st.booleans(),
)
def test_random_programs_are_decided_as_the_definition_decides_them(
    case: Case,
    seed: int,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
    loose: bool,  # noqa: FBT001  drawn
) -> None:
    case = nullable(with_nulls(case, seed))
    name, kinds = case.goal.predicate, case.program.program.predicates[case.goal.predicate].kinds
    free = Atom(name, tuple(Variable(f"g{n}") for n in range(len(kinds))))
    rules, outside = program_of(case.program), outside_of(case.world)
    words = outside.words() | {word for rule in rules.rules for word in rule.words}
    readings = Reading(rules, outside), Reading(rules, outside, words)
    with one_database():
        found = forward(case.program, case.world, free, strategy=strategy, magic=magic, loose=loose)
    event(found.how)
    every = {row for reading in readings for row in reading.relations[name]}
    if not loose and name not in case.program.external:
        # Rows with labels are among the certain ones, and those with what functions made of them.
        sure = {row for row, certain in readings[0].relations[name].items() if certain}
        assert sure <= {row_of(row) for row in found.rows[CERTAIN]}, found
    for row in {*every, *found.rows[0]}:
        values = [cell for cell in row if isinstance(cell, int | float | str | Decimal)]
        terms = tuple(Constant(cell, kind) for cell, kind in zip(values, kinds, strict=False))
        if len(terms) < len(row):
            continue
        body, said = goal_of(Atom(name, terms)), truths(found, Atom(name, terms))
        for reading, got, accepted in zip(readings, said, (set[str](), words), strict=True):
            want = reading.truth_of(body)
            if want is None and got is not None:
                listed = completions(rules, outside, VALUES, accepted, most=64)
                want = (
                    got if all(Model(rules, o, VALUES).holds(body) is got for o in listed) else want
                )
            assert got in {None, want}, (row, got, found)
