"""The definition against its judge: all small databases of programs with every construct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.language.worlds_of_text import program
from tests.oracle.completions import Domain, Models, completions, contradictions
from tests.oracle.definition import Reading
from tests.oracle.families import PROGRAMS, Database, databases, sample, text_of, told_apart
from tests.oracle.translation import outside_of, program_of

if TYPE_CHECKING:
    from collections.abc import Iterable

DOMAIN: Final[Domain] = {"number": (0, 1), "float": (0.0, 1.0)}


@pytest.mark.sampled(5, "laws")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_certain_is_so_in_all_completions_and_what_is_so_in_one_is_possible(
    name: str,
) -> None:
    judge(name, sample(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_so_it_is_for_every_small_database(name: str) -> None:
    judge(name, told_apart(name))


def test_the_judge_notices_what_is_wrong() -> None:
    rules = program_of(program(text_of("negation, bound")))
    database = next(one for one in databases() if len(one.items) == 2 and one.has_nulls)
    outside = outside_of(database.world())
    reading = Reading(rules, outside)
    models = [Models(rules, DOMAIN).of(one) for one in completions(rules, outside, DOMAIN)]
    assert not any(contradictions(reading, one) for one in models)
    reading.relations["p"][5,] = True
    assert all("certain and not there" in contradictions(reading, one)[0] for one in models)
    reading.relations["p"].clear()
    found = [wrong for one in models for wrong in contradictions(reading, one)]
    assert found
    assert all("there and not possible" in wrong for wrong in found)


def judge(name: str, chosen: Iterable[Database]) -> None:
    rules = program_of(program(text_of(name)))
    models = Models(rules, DOMAIN)
    for database in chosen:
        outside = outside_of(database.world())
        words = outside.words() | {word for rule in rules.rules for word in rule.words}
        for accepted in [set(), words] if words else [set()]:
            reading = Reading(rules, outside, accepted)
            for one in completions(rules, outside, DOMAIN, accepted):
                wrong = contradictions(reading, models.of(one))
                assert not wrong, (database, accepted, one, wrong)
