"""Beyond the small databases: random programs, some of whose cells are null."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

from hypothesis import given
from hypothesis import strategies as st

from constat.logic import NullPolicy, Value, with_null_cells
from tests.oracle.asking import truths_of
from tests.oracle.completions import Domain, Model, completions, contradictions
from tests.oracle.definition import Reading
from tests.oracle.naive import World
from tests.oracle.translation import goal_of, outside_of, program_of
from tests.property.rules import DOMAIN
from tests.property.running import run
from tests.property.strategies import HALF, Case, cases

if TYPE_CHECKING:
    from constat.logic import Row

VALUES: Final[Domain] = {kind.value: values for kind, values in DOMAIN.items()}


def with_nulls(case: Case, seed: int) -> Case:
    """Let some cells of the world be null, each column by its own policy."""
    random = Random(seed)
    rows = {}
    for name, found in case.world.rows.items():
        width = len(case.program.program.predicates[name].columns)
        policies = [random.choice(list(NullPolicy)[:3]) for _ in range(width)]
        seen: dict[tuple[Value | None, ...], int] = {}
        kept: dict[Row, None] = {}
        said = []
        for row, word in found:
            cells = tuple(None if random.random() < 0.3 else cell for cell in row)
            ordinal = seen.get(cells, 0)
            seen[cells] = ordinal + 1
            made = with_null_cells(name, cells, policies, ordinal)
            if made not in kept:
                kept[made] = None
                said.append((made, word))
        rows[name] = tuple(said)
    return replace(case, world=World(rows, case.world.openings))


@HALF
@given(cases(), st.integers(0, 999))
def test_the_definition_agrees_with_completions(case: Case, seed: int) -> None:
    case = with_nulls(case, seed)
    rules, outside = program_of(case.program), outside_of(case.world)
    words = outside.words() | {word for rule in rules.rules for word in rule.words}
    for accepted in (set[str](), words):
        reading = Reading(rules, outside, accepted)
        for one in completions(rules, outside, VALUES, accepted, most=12):
            wrong = contradictions(reading, Model(rules, one, VALUES))
            assert not wrong, (accepted, one, wrong)


@HALF
@given(cases(), st.integers(0, 999))
def test_what_the_engine_decides_is_so_and_what_is_so_by_the_definition_it_decides(
    case: Case, seed: int
) -> None:
    case = with_nulls(case, seed)
    rules, outside = program_of(case.program), outside_of(case.world)
    words = outside.words() | {word for rule in rules.rules for word in rule.words}
    goal = goal_of(case.goal)
    found = truths_of(run(case).strength)
    for accepted, got in zip((set[str](), words), found, strict=True):
        want = Reading(rules, outside, accepted).truth_of(goal)
        assert want in {got, None}, (accepted, want, got)
        if want is None and got is not None:
            for one in completions(rules, outside, VALUES, accepted):
                assert Model(rules, one, VALUES).holds(goal) is got, (accepted, one)
