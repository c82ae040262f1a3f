"""Programs are accepted exactly when they have strata and bind all their variables."""

from __future__ import annotations

import pytest

from constat.check import check_certificate
from tests.check.layers import programs

CASES = programs()


@pytest.mark.parametrize(("name", "data", "code"), CASES, ids=[name for name, _, _ in CASES])
def test_a_program_is_judged_as_brute_force_judges_it(
    name: str, data: bytes, code: str | None
) -> None:
    report = check_certificate(data)
    assert (report.code, report.accepted) == (code, code is None), (name, report.reason)


def test_there_are_programs_of_both_sorts() -> None:
    codes = [code for name, _, code in CASES if name.startswith("layers")]
    assert 20 < codes.count("strata") < 100
