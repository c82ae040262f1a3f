"""Answers over rows that are not fully known are checked as the definition has them (26, 38)."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from shutil import copyfile
from typing import TYPE_CHECKING, Final

import pytest

from constat.logic import Atom, Constant, NullPolicy, Variable, with_null_cells
from constat.recount import (
    Bounds,
    Claim,
    Computed,
    FolderError,
    Recount,
    check_folder,
    recount,
    write_folder,
)
from tests.forward.test_nulls import analysed
from tests.oracle.definition import Made, Reading, Star
from tests.oracle.families import DOUBTS, POLICIES, PROGRAMS, ROWS, Database, sample
from tests.oracle.test_engine import goals
from tests.oracle.translation import outside_of, program_of, row_of
from tests.property.tables import SOME_TIME, tables
from tests.recount.test_folders import forged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Row, Value
    from tests.oracle.definition import Cell, Relation
    from tests.oracle.families import Item

ONE: Final = Bounds(threads=1)
NONE, MAYBE, UNKNOWN = NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN


def counted(
    read: AnalysedProgram, database: Database, goal: Atom, rows: Iterable[Row], *, whole: bool
) -> Recount:
    claim = Claim(goal, tuple(range(len(goal.terms))), list(rows), whole=whole)
    return recount(read, claim, tables(read, database.world()), ONE)


def relations(
    rules: str, database: Database
) -> Iterator[tuple[AnalysedProgram, Atom, list[Row], list[Row]]]:
    """Yield each predicate as a goal, with its certain rows and those that are possible only.

    Rows with a placeholder, or with what a function made of a label, are left out.
    """
    read = analysed(rules, database.policy)
    reading = Reading(program_of(read), outside_of(database.world()))
    cells: dict[Cell, object] = {}
    for said in database.world().rows.values():
        for row, _ in said:
            cells |= dict(zip(row_of(row), row, strict=True))

    def written(relation: Relation, *, certain: bool) -> list[Row]:
        rows = [row for row, sure in relation.items() if sure is certain]
        plain = [row for row in rows if not {Star, Made} & set(map(type, row))]
        return [tuple([cells.get(cell, cell) for cell in row]) for row in plain]  # type: ignore[misc]

    for goal in goals(read):
        relation = reading.relations[goal.predicate]
        made = any(type(cell) is Made for row in relation for cell in row)
        if not made and not any(isinstance(term, Constant) for term in goal.terms):
            yield (
                read,
                goal,
                written(relation, certain=True),
                written(relation, certain=False) + [()] * any(map(has_star, relation)),
            )


def free(read: AnalysedProgram, name: str) -> Atom:
    """Give the goal that asks for all rows."""
    arity = read.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"v{n}") for n in range(arity)))


def has_star(row: Iterable[object]) -> bool:
    return any(isinstance(cell, Star) for cell in row)


def judge(rules: str, database: Database, told: Counter[str]) -> None:
    """Claim what the definition says, and then a little less and a little more."""
    for read, goal, sure, possible in relations(rules, database):
        place = (rules, database, goal, sure, possible)
        found = counted(read, database, goal, sure, whole=not possible)
        told[found.why or found.state.value] += 1
        assert not found.differs, (found, place)
        if found.passed and possible:
            assert counted(read, database, goal, sure, whole=True).differs, place
        for row in filter(None, possible if found.passed else ()):
            assert counted(read, database, goal, [*sure, row], whole=False).differs, place
        for lost in sure if found.passed else ():
            left = [row for row in sure if row != lost]
            assert counted(read, database, goal, left, whole=True).differs, place
            assert counted(read, database, goal, left, whole=False).passed, place


@pytest.mark.sampled(96, "laws")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_definition_says_is_accepted_and_nothing_else(name: str) -> None:
    told: Counter[str] = Counter()
    for database in sample(name):
        judge(PROGRAMS[name], database, told)


def total(random: Random, *, grouped: bool) -> str:
    """Draw a total, of all or of the group of `?x`."""
    words = [*["?x"] * grouped, "?y", "?y", "?z", "0", "1"]
    atoms = [
        random.choice(["e({}, {})", "e({}, {})", "f({})"]).format(*random.choices(words, k=2))
        for _ in range(random.choice([1, 1, 2]))
    ]
    if random.random() < 0.3:
        atoms = [random.choice([*["e(?x, _)", "e(_, ?x)"] * grouped, "e(?y, _)", "e(_, ?y)"])]
    names = [one for one in ("?y", "?z") if one in "".join(atoms)]
    for test in ("{} > 0", "{} != 1", "!f({})"):
        if names and random.random() < 0.12:
            atoms.append(test.format(random.choice(names)))
    function = random.choice(["count", "count", "sum", "sum", "mean", "min", "max"])
    if not names or function == "count":
        return f"count : {{ {', '.join(atoms)} }}"
    target = random.choice(["{}", "{}", "{}", "max({}, 0)"]).format(random.choice(names))
    return f"{function} {target} : {{ {', '.join(atoms)} }}"


def totals(random: Random) -> str:
    """Draw rules that add up, and sometimes some that read or deny what they gave."""
    grouped = random.random() < 0.6
    guard = random.choice(["f(?x), ", "e(?x, _), ", "e(_, ?x), "]) if grouped else ""
    drawn = total(random, grouped=grouped)
    if drawn.startswith("mean"):
        return named(f"p({'?x' * grouped}) :- {guard}?n = {drawn}, ?n > 0.4.")
    test = random.choice(["", "", ", ?n > 0", ", f(?n)"])
    above = ["", "", "  q(?n) :- p(_, ?n).", "  q(?s) :- ?s = sum ?n : { p(_x, ?n) }."]
    if not grouped:
        above = ["", "", "  q(?x) :- f(?x), !p(?x)."]
    rule = named(f"p({'?x, ' * grouped}?n) :- {guard}?n = {drawn}{test}.")
    return rule + random.choice(above)


def named(rule: str) -> str:
    """Write variables that stand in one place as such."""
    return re.sub(r"\?(\w)", lambda one: f"{'?' if rule.count(one[0]) > 1 else '_'}{one[1]}", rule)


def doubtful(random: Random) -> Database:
    """Draw rows, some with cells without a value, some assumed or open."""
    rows = random.choices(ROWS, weights=[1 + 2 * (None not in one[2]) for one in ROWS], k=3)
    rows += random.sample(DOUBTS, random.choice([0, 1, 2]))
    return Database(tuple(sorted(dict.fromkeys(rows), key=str)), random.choice(POLICIES))


@pytest.mark.sampled(20, "laws")
@pytest.mark.parametrize("seed", range(600))
def test_totals_are_what_the_definition_says(seed: int) -> None:
    """Of any total over rows that are not fully known, and of what reads or denies it."""
    random, told = Random(seed), Counter[str]()
    judge(totals(random), doubtful(random), told)
    assert set(told) <= {"passed"}


def erring(random: Random) -> str:
    """Draw a rule whose instances may err, and at times one that reads what it gives."""
    words = ["?x", "?y", "0", "1", "2", "?x - 1", "?y - ?x", str(2**63 - 1)]
    made = f"{random.choice(words[:6])} {random.choice('/%/*+-')} ({random.choice(words)})"
    body = random.choice(["e(?x, ?y)", "e(?x, ?y), f(?x)", "e(?y, ?x), !f(?y)"])
    test = random.choice([">", "=", "!="])
    rule = random.choice(
        [
            f"p({made}) :- {body}.",
            f"p({random.choice(['?x', '?y'])}) :- {body}, {made} {test} 1.",
            f"p(?x) :- {body}, ?z = {made}, ?z {test} ?y.",
            f"p(?x) :- {body}, !f({made}).",
            f"p(?x) :- {body}, e({made}, _).",
            f"p(?y) :- {body}, f(?x - ?y), {made} < 3.",
        ]
    )
    if random.random() < 0.4:
        function = random.choice(["sum", "count", "min", "max", "mean"])
        left, right = random.choice(["?y", "2", "?y - 1"]), random.choice(["?y", "(?y - 1)"])
        made = f"{left} {random.choice('/%*+')} {right}"
        target = "" if function == "count" else random.choice([f" {made}", f" {made}", " ?y"])
        inner = random.choice(["e(?x, ?y)", "e(?y, ?x)", "e(?x, ?y), !f(?y)"])
        inner += random.choice([f", {made} > 0", "", f", f({made})"])
        total, test = (
            f"?n = {function}{target} : {{ {inner} }}",
            random.choice(["?n != 1", "?n < 1"]),
        )
        rule = f"p(?x) :- f(?x), {total}, {'?n > 0.4' if function == 'mean' else test}."
        if function != "mean":
            rule = random.choice([rule, f"p(?n) :- f(?x), {total}."])
    above = [
        "",
        "q(?x) :- f(?x), !p(?x).",
        "q(?n) :- ?n = count : { p(_) }.",
        "q(?x) :- p(?x).  q(?y) :- q(?x), e(?x, ?y).  q(4 / (?x - 1)) :- q(?x), ?x < 3.",
    ]
    return named(rule) + "  " + random.choice(above)


@pytest.mark.sampled(20, "laws")
@pytest.mark.parametrize("seed", range(600))
def test_instances_that_err_are_what_the_definition_says(seed: int) -> None:
    random, told = Random(seed), Counter[str]()
    judge(erring(random), doubtful(random), told)
    assert set(told) <= {"passed"}


RULES: Final = (
    ("p(?x) :- e(?x, _).", UNKNOWN, ((1, None), (2, 5)), {(1,), (2,)}),
    ("p(?n) :- ?n = count : { e(_, _) }.", UNKNOWN, ((1, None), (2, 5)), {(2,)}),
    ("p(?n) :- ?n = sum ?x : { e(?x, _) }.", MAYBE, ((1, None), (2, 5)), {(3,)}),
    ("p(?x) :- e(?x, ?y), ?y > 4.", NONE, ((1, None), (2, 5)), {(2,)}),
    ("p(?x) :- e(?x, _), !e(?x, 5).", NONE, ((1, None), (2, 5)), {(1,)}),
)


@pytest.mark.parametrize(("rules", "policy", "cells", "rows"), RULES)
def test_cells_without_a_value_have_a_clause(
    rules: str,
    policy: NullPolicy,
    cells: tuple[tuple[Value | None, ...], ...],
    rows: set[Row],
    tmp_path: Path,
) -> None:
    items: list[Item] = [("e", "row", one) for one in cells]
    database, read = Database(tuple(items), policy), analysed(rules, policy)
    goal = free(read, "p")
    assert counted(read, database, goal, rows, whole=True).passed
    claim = Claim(goal, tuple(range(len(goal.terms))), list(rows))
    computed = Computed(read, claim, tables(read, database.world()), SOME_TIME)
    write_folder(tmp_path / "answer", computed, ONE)
    assert check_folder(tmp_path / "answer", ONE).found.passed


def test_an_answer_with_labels_goes_and_comes(tmp_path: Path) -> None:
    database = Database((("e", "row", (1, None)), ("e", "row", (2, 5))), UNKNOWN)
    read = analysed("p(?y) :- e(_, ?y).", UNKNOWN)
    goal = free(read, "p")
    rows: list[Row] = [(5,), with_null_cells("e", (1, None), (None, UNKNOWN))[1:]]
    for claimed in (rows, rows[:1]):
        computed = Computed(
            read, Claim(goal, (0,), claimed), tables(read, database.world()), SOME_TIME
        )
        folder = tmp_path / str(len(claimed))
        write_folder(folder, computed, ONE)
        assert check_folder(folder, ONE).found.passed is (claimed == rows)


LIES: Final = (
    """SELECT a, "a.mark", b, 'L["e", 1, ["2", null], 0]' AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, 'L["f", 1, ["1", null], 0]' AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, 'N' AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, '*' AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, 'L[' AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, CAST(NULL AS VARCHAR) AS "b.mark", ".certain" FROM {}""",
    """SELECT a, "a.mark", b, "b.mark", false AS ".certain" FROM {}""",
)


@pytest.mark.parametrize("query", LIES)
def test_marks_that_no_row_has_are_rejected(query: str, tmp_path: Path) -> None:
    database = Database((("e", "row", (1, None)),), UNKNOWN)
    read = analysed("p(?x) :- e(?x, _).", UNKNOWN)
    goal = free(read, "p")
    folder = tmp_path / "answer"
    claim = Claim(goal, (0,), [(1,)])
    write_folder(folder, Computed(read, claim, tables(read, database.world()), SOME_TIME), ONE)
    copy = tmp_path / "copy.parquet"
    copyfile(folder / "input-1.parquet", copy)
    forged(folder, "input-1.parquet", query.format(f"read_parquet('{copy}')"))
    with pytest.raises(FolderError):
        check_folder(folder, ONE)


def test_an_open_row_is_possible_wherever_it_may_be_met() -> None:
    items: list[Item] = [("e", "row", (1, 2)), ("e", "open", (None, 3))]
    read = analysed("p(?x) :- e(?x, _).  q(?y) :- e(_, ?y), !p(?y).", UNKNOWN)
    database = Database(tuple(items), UNKNOWN)
    p, q = free(read, "p"), free(read, "q")
    assert counted(read, database, p, [(1,)], whole=False).passed
    assert counted(read, database, p, [(1,)], whole=True).differs
    # Nobody knows whether 2 begins an edge: so it is no certain row, and not excluded.
    assert counted(read, database, q, [(2,)], whole=False).differs
