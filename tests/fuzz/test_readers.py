"""Every reader meets a sample of what `python -m tests.fuzz` tries a million times."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from constat.diagnostics import Diagnostic, Span
from tests.check.catalog import good
from tests.fuzz import trying
from tests.fuzz.configurations import GOOD, Configurations
from tests.fuzz.readers import READERS, SHARES
from tests.fuzz.reading import check_diagnostics, check_places
from tests.fuzz.rereading import verdict_is_so
from tests.fuzz.trying import Tally, smallest, trouble, try_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.reading import Input

ROUNDS: Final = 250
SEED: Final = int(os.environ.get("CONSTAT_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", READERS)
def test_whatever_comes_is_read_or_explained(name: str, tmp_path: Path) -> None:
    tally = try_all(READERS[name](tmp_path), name, SEED, range(ROUNDS))
    assert tally.inputs == ROUNDS
    assert not tally.findings, "\n".join(map(str, tally.findings))
    # Several outcomes are met, so that the test can fail on each.
    assert len(tally.became) > 1


def test_every_reader_has_a_share() -> None:
    assert SHARES.keys() == READERS.keys()
    assert sum(SHARES.values()) == 1000


def test_the_undamaged_configuration_is_read(tmp_path: Path) -> None:
    assert Configurations(tmp_path).check(GOOD.encode()) == "read"


@pytest.mark.parametrize(("verdict", "so"), [("PROVED", True), ("DISPROVED", False)])
def test_an_accepted_verdict_is_judged_without_the_checker(verdict: str, *, so: bool) -> None:
    tree = good("vip_proved").tree
    tree["header"]["verdict"] = verdict
    assert verdict_is_so(tree) is so


class Told:
    """A reader that does what it is told."""

    def __init__(self, answer: Callable[[Input], str]) -> None:
        self.check = answer

    @staticmethod
    def make(chance: Random) -> Input:
        return chance.choice(("a", "b"))


def _endless(_: Input) -> str:
    while True:
        pass


def _fails(given: Input) -> str:
    if given == "b":
        raise LookupError("b is not read")
    return "read"


def test_an_exception_a_loop_and_an_answer_that_changes_are_findings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trying, "SECONDS", 0.05)
    answers = iter("xyxx")
    assert trouble(Told(_fails), "b", twice=False) == "LookupError: b is not read"
    assert trouble(Told(_endless), "a", twice=False) == "takes more than 0.05 seconds"
    changing = Told(lambda _: next(answers))
    assert trouble(changing, "a", twice=True) == "the answer differs the second time"
    assert trouble(changing, "a", twice=True) == "ok x"


def test_a_run_counts_what_became_of_inputs_and_names_those_that_fail() -> None:
    tally = try_all(Told(_fails), "told", 1, range(20))
    assert tally.inputs == 20
    assert tally.became["read"] + len(tally.findings) == 20
    for finding in tally.findings:
        assert trying.made(Told(_fails), finding.place) == "b" == finding.given
    both = Tally()
    both.add(tally)
    both.add(tally)
    assert both.inputs == 40


def test_a_bad_input_is_made_small() -> None:
    assert smallest("aaaaXbbbYbb", lambda text: "X" in text and "Y" in text) == "XY"
    assert smallest((1, b"abXcd"), lambda given: b"X" in given[1]) == (1, b"X")  # type: ignore[operator]  # bytes


@pytest.mark.parametrize(
    "span", [Span("x", 2, 1, 2, 1), Span("x", 1, 3, 1, 4), Span("x", 1, 2, 1, 1)]
)
def test_a_place_outside_the_text_is_noticed(span: Span) -> None:
    with pytest.raises(AssertionError):
        check_places([Diagnostic("C0101", "a mistake", span)], {"x": "a"})


def test_a_code_that_is_not_in_the_catalogue_is_noticed() -> None:
    with pytest.raises(AssertionError):
        check_diagnostics([Diagnostic("C9999", "a mistake")], {})
