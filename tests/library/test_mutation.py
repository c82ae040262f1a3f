"""Rules that are broken on purpose: what the cases of a library miss is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.library.cases.cases import find_libraries
from tests.library.folders import FACTS, library
from tests.library.mutation import Judge

if TYPE_CHECKING:
    from pathlib import Path

TRIED = f"""{FACTS} given("e", 3). given("f", 7). given("g", 9). banned("g").
@[expect(
  proved = "good(a); good(c); good(e)",
  disproved = "good(b); good(d); good(g); good(h)",
  by = "R1; R2; R1"
)]
.output good
@[expect(disproved = "alone(a)")] .output alone
"""


def survivors(folder: Path) -> list[str]:
    (found,) = find_libraries([folder])
    judge = Judge(found)
    return [
        one.text.partition("\n")[0] for one in judge.mutants() if judge.verdict(one) == "survived"
    ]


def test_what_the_cases_try_is_noticed_and_what_they_do_not_is_named(tmp_path: Path) -> None:
    found = survivors(library(tmp_path / "lib", {"one": TRIED}))
    # Nothing shows what makes `alone` hold: each change that leaves it false goes unseen.
    assert found
    assert {one.partition(":")[0] for one in found} == {"alone.1"}


def test_a_boundary_that_no_case_tries_is_named(tmp_path: Path) -> None:
    text = TRIED.replace("; good(e)", "").replace('"R1; R2; R1"', '"R1; R2"')
    found = survivors(library(tmp_path / "lib", {"one": text}))
    assert "R1: literal 3: > for >=" in found
