"""The cases of the libraries for ownership and access try every rule from both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from constat.library.cases import CasesRun
from constat.session.cases import run_cases

RULES: Final = Path(__file__).resolve().parents[2] / "rules"

# These literals fetch a value that is there whenever the literals before them hold.
ALWAYS_THERE: Final = {
    "ownership-control": {
        ("STA2", "owner_threshold(?threshold)"),
        ("RGS3", "votes_counted(?company, ?counted)"),
    },
    "access-control": {
        ("LEA2", "assigned(?user, ?senior)"),
        ("SSD4", "role_set_limit(?constraint, ?limit)"),
        ("DSD1", "active_role(?session, ?second)"),
    },
}


@pytest.fixture(scope="module", params=sorted(ALWAYS_THERE))
def run(request: pytest.FixtureRequest) -> CasesRun:
    return run_cases([RULES / str(request.param)])


@pytest.mark.slow
def test_every_literal_is_once_the_reason_that_a_rule_does_not_fire(
    run: CasesRun,
) -> None:
    assert run.failures == ()
    (library,) = run.libraries
    never = {
        (rule.id, literal.text)
        for rule in library.coverage.rules
        for literal in rule.literals
        if literal.never_false
    }
    assert never == ALWAYS_THERE[library.name]
