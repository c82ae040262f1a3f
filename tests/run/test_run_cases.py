"""Each literate run, on each engine: what is written, what is printed, what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.run.places import ENGINES, Place, codes
from tests.run.reading import RunCase, run_cases

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.sampled(3)

CASES = run_cases()


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_gives_what_its_case_says(case: RunCase, engine: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    for name, content in case.facts:
        place.fact(name, content)
    ran = place.run(case.program, *case.options, engine=engine)
    assert ran.code == case.code, ran.err
    assert place.results() == dict(case.results)
    assert ran.out == case.stdout
    if case.codes is not None:
        assert codes(ran) == list(case.codes), ran.err


def test_there_are_cases_of_every_file() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) > 40
