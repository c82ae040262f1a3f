"""Each literate case as it is analysed: refused with its codes, or its meaning by the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.evaluation import ACCEPTED, CERTAIN
from tests.language.reading import LanguageCase, errors
from tests.language.verdicts import REFUSED, RUN, check_case
from tests.language.worlds_of_text import read_program
from tests.property.coverage import under
from tests.property.running import truth

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import Atom
    from tests.language.verdicts import Answer, Ask
    from tests.oracle.naive import World


def by_oracle(found: AnalysedProgram, outside: World) -> Ask:
    expected = truth(found, outside)

    def ask(goal: Atom) -> Answer:
        strength = expected.strength(goal)
        least = CERTAIN if strength == CERTAIN else ACCEPTED
        return strength, under(goal, expected.rows(goal.predicate, least))

    return ask


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_a_case_means_what_it_says(case: LanguageCase) -> None:
    check_case(case, by_oracle)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_refused_program_has_its_codes(case: LanguageCase) -> None:
    _, diagnostics = read_program(case.rules)
    assert errors(diagnostics) == sorted(case.errors)
