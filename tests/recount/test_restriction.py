"""What is counted again for a goal with constants: no less than bears on it, and little more."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from constat.logic import Atom, Constant, Kind, Variable
from constat.recount import Claim, Recount, State, recounting, restriction
from constat.recount.inputs import read_input
from constat.recount.recounting import Evaluation, predicates_below
from constat.recount.restriction import restricted
from constat.recount.tables import Tables
from tests.oracle import naive
from tests.property.tables import tables
from tests.random_programs.drawing import DOMAINS, draw
from tests.random_programs.judging import read_program
from tests.recount.test_recount import ARRAYS, HEAD, ONE, corrupted, program_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Row
    from tests.random_programs.judging import Read

INPUTS: Final = (
    HEAD + ".decl e(a: number, b: number)\n.input e\n.decl f(a: number, b: number)\n.input f\n"
)
TWO: Final = "(a: number, b: number)\n"
FREE: Final = Variable("v")


def number(value: int) -> Constant:
    """Give a constant."""
    return Constant(value, Kind.NUMBER)


def outside(program: AnalysedProgram, given: Mapping[str, Sequence[Row]]) -> naive.World:
    """Put rows outside, where the program has such an input."""
    rows = {name: tuple((row, None) for row in found) for name, found in given.items()}
    return naive.World({name: found for name, found in rows.items() if name in program.external})


def counted(text: str, goal: Atom, given: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Give the rows of all relations that are computed for a goal."""
    program = program_of(text)
    world = outside(program, given)
    externals = tables(program, world)
    with Tables(60.0, threads=1) as held:
        whole = Evaluation(held, program, lambda t, one: read_input(t, one, externals[one.name]))
        narrow = whole.narrowed(goal)
        narrow.compute(goal.predicate)
        names = narrow.done
        return {one: sorted(held.run("SELECT * FROM", narrow.table(one))) for one in names}


RING: Final[Mapping[str, Sequence[Row]]] = {
    "e": [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)],
    "f": [(2, 20), (3, 30), (6, 60)],
}
SHAPES: Final[tuple[tuple[str, str, Atom, dict[str, list[Row]]], ...]] = (
    (
        "a recursion that begins where the goal does",
        f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\nt(?a, ?c) :- t(?a, ?b), e(?b, ?c).\n",
        Atom("t", (number(4), FREE)),
        {"t": [(4, 5), (4, 6)]},
    ),
    (
        "one that goes on to other keys",
        f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\nt(?a, ?c) :- e(?a, ?b), t(?b, ?c).\n",
        Atom("t", (number(4), FREE)),
        {"t": [(4, 5), (4, 6), (5, 6)]},
    ),
    (
        "one that goes backwards",
        f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\nt(?a, ?c) :- t(?a, ?b), e(?b, ?c).\n",
        Atom("t", (FREE, number(6))),
        {"t": [(4, 5), (4, 6), (5, 6)]},
    ),
    (
        "a relation that is read with a key and without: all of it is needed",
        (
            f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\nt(?a, ?c) :- t(?a, ?b), t(?b, ?c), e(?b, ?b).\n"
            ".decl p(a: number)\np(?a) :- t(?a, _), t(_, _).\n"
        ),
        Atom("p", (number(4),)),
        {"t": [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)], "p": [(4,)]},
    ),
    (
        "what is denied",
        (
            f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\n"
            ".decl p(a: number)\np(?a) :- e(?a, ?b), !t(?b, _).\n"
        ),
        Atom("p", (number(5),)),
        {"t": [], "p": [(5,)]},
    ),
    (
        "the group of an aggregate",
        (
            f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\nt(?a, ?b) :- f(?a, ?b).\n"
            f".decl p{TWO}p(?a, ?n) :- e(?a, ?b), ?n = count : {{ t(?b, _) }}.\n"
        ),
        Atom("p", (number(1), FREE)),
        {"t": [(2, 3), (2, 20)], "p": [(1, 2)]},
    ),
    (
        "what an aggregate reads by what it reads itself",
        (
            f".decl t{TWO}t(?a, ?b) :- f(?a, ?b).\n"
            f".decl p{TWO}p(?a, ?n) :- e(?a, _), ?n = sum ?c : {{ e(?a, ?b), t(?b, ?c) }}.\n"
        ),
        Atom("p", (number(1), FREE)),
        {"t": [(2, 20)], "p": [(1, 20)]},
    ),
    (
        "what is found by a relation that is derived",
        (
            f".decl q{TWO}q(?a, ?b) :- e(?a, ?b), !f(?b, 30).\nq(?a, 6) :- e(?a, _), f(?a, 20).\n"
            f".decl t{TWO}t(?a, ?b) :- f(?a, ?b).\n.decl p{TWO}p(?a, ?c) :- q(?a, ?b), t(?b, ?c).\n"
        ),
        Atom("p", (number(2), FREE)),
        {"q": [(2, 6)], "t": [(3, 30), (6, 60)], "p": [(2, 60)]},
    ),
    (
        "a constant of a rule",
        f".decl t{TWO}t(?a, ?b) :- e(?a, ?b).\n.decl p(a: number)\np(?b) :- t(4, ?b).\n",
        Atom("p", (FREE,)),
        {"t": [(4, 5)], "p": [(5,)]},
    ),
)


@pytest.mark.parametrize(("rules", "goal", "rows"), [one[1:] for one in SHAPES])
def test_what_is_computed_is_what_bears_on_the_goal(
    rules: str, goal: Atom, rows: dict[str, list[Row]]
) -> None:
    found = counted(INPUTS + rules, goal, RING)
    assert {name: found[name] for name in rows} == rows


def test_a_threshold_over_its_own_relation_has_whole_groups() -> None:
    text = HEAD + (
        ".decl own(x: number, y: number, w: number)\n.input own\n"
        ".decl holds(x: number, z: number, y: number, w: number)\n"
        "holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).\n"
        "holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.\n"
        f".decl controls{TWO}"
        "controls(?x, ?y) :- holds(?x, _, ?y, _), sum ?w : { holds(?x, _t, ?y, ?w) } > 50.\n"
    )
    shares = [(1, 2, 60), (1, 3, 30), (2, 3, 30), (3, 4, 90), (7, 1, 99), (8, 9, 99)]
    found = counted(text, Atom("controls", (number(1), FREE)), {"own": shares})
    assert found["controls"] == [(1, 2), (1, 3), (1, 4)]
    assert {row[0] for row in found["holds"]} == {1}


def test_rows_of_an_input_that_rules_add_to_are_read_whole() -> None:
    text = f"{INPUTS}.decl g{TWO}.input g\ng(?a, ?b) :- e(?a, ?b).\n"
    text += f".decl p{TWO}p(?a, ?c) :- g(?a, ?b), g(?b, ?c).\n"
    found = counted(text, Atom("p", (number(4), FREE)), {**RING, "g": [(5, 9)]})
    assert found["p"] == [(4, 6), (4, 9)]


def test_what_errs_counts_only_where_it_bears_on_the_goal() -> None:
    text = f"{INPUTS}.decl p{TWO}p(?a, ?b) :- e(?a, ?b), 10 / (?b - 2) > 0.\n"
    program = program_of(text + f".decl q{TWO}q(10 / (?a - 1), ?b) :- e(?a, ?b).\n")
    externals = tables(program, outside(program, RING))
    for goal, rows, state in (
        (Atom("p", (number(2), FREE)), [(2, 3)], State.PASSED),
        (Atom("p", (number(1), FREE)), [], State.DIFFERS),
        # The head of an instance that errs may be any row.
        (Atom("q", (number(10), FREE)), [(10, 3)], State.DIFFERS),
    ):
        assert recounting.recount(program, Claim(goal, (0, 1), rows), externals, ONE).state is state


def test_nothing_is_restricted_where_rows_are_not_fully_known() -> None:
    program = program_of(f"{INPUTS}.decl t{TWO}t(?a, ?b) :- e(?a, ?b), !f(?b, ?a).\n")
    goal = Atom("t", (number(1), FREE))
    world = naive.World(outside(program, RING).rows, {"f": (((2, 1), None),)})
    externals = tables(program, world)
    for claim, state in (
        (Claim(goal, (1,), [(2,)]), State.DIFFERS),
        (Claim(goal, (1,), [], whole=False), State.PASSED),
    ):
        assert recounting.recount(program, claim, externals, ONE).state is state


# ----------------------------------------------------------------------------- random programs


def _counted(read: Read, goal: Atom, rows: list[Row]) -> Recount:
    claim = Claim(goal, tuple(range(len(goal.terms))), rows)
    externals = tables(read.program, read.world)
    found = recounting.recount(read.program, claim, externals, ONE)
    assert found == recounting.recount(read.program, claim, externals, ARRAYS)
    return found


def _judged(seed: int) -> int:
    """Count goals with constants again, as they are and changed; give how many were restricted."""
    drawn = draw(seed)
    read = read_program(drawn)
    if read is None:
        return 0
    truth = naive.evaluate(read.program, read.world, accepted=False)
    letters = {one.name: one.letters for one in drawn.relations}
    random, narrow = Random(seed), 0
    for atom in read.wanted:
        name, kinds = atom.predicate, read.program.program.predicates[atom.predicate].kinds
        # Analysis makes relations of its own, of which the drawing knows nothing.
        if name not in letters or not kinds:
            continue
        sure = [row for row, certain in truth[name].items() if certain]
        cells = random.choice(sure or [tuple(random.choice(DOMAINS[one]) for one in letters[name])])
        given = random.sample(range(len(kinds)), random.randint(1, len(kinds)))
        terms = [
            Constant(cells[n], kinds[n]) if n in given else one  # type: ignore[arg-type]  # a value
            for n, one in enumerate(atom.terms)
        ]
        goal = Atom(name, tuple(terms))
        if restricted(read.program, goal, predicates_below(read.program, name)) is None:
            continue
        narrow += 1
        rows: list[Row] = [row for row in sure if all(row[n] == cells[n] for n in given)]  # type: ignore[misc]  # whole rows
        narrowly = _counted(read, goal, rows)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recounting, "restricted", lambda *_: None)
            wholly = _counted(read, goal, rows)
        assert narrowly == wholly, (seed, goal)
        for what, wrong in corrupted(rows, letters[name], random) if narrowly.passed else ():
            assert _counted(read, goal, wrong).differs, (seed, goal, what)
    return narrow


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("seed", [2, 5, 8, 21, 34, 42])
def test_random_goals_with_constants_are_counted_as_without_demand(seed: int) -> None:
    _judged(seed)


@pytest.mark.slow
def test_many_random_goals_with_constants() -> None:
    assert sum(map(_judged, range(2_000, 2_060))) > 50


# The argument has three parts, each of which the code could lose.


def test_a_demand_that_is_too_small_is_noticed_by_these_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A demand that lacks what steps reach leaves rows out, and shapes above differ."""
    monkeypatch.setattr(restriction._Writing, "_demands", lambda _: None)
    broken = 0
    for _, rules, goal, rows in SHAPES:
        try:
            found = counted(INPUTS + rules, goal, RING)
        except Exception:  # noqa: BLE001  a demand without any rule is read before it is known
            broken += 1
        else:
            broken += {name: found[name] for name in rows} != rows
    assert broken >= len(SHAPES) - 3
