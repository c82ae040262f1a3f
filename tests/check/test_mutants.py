"""Certificates changed in a single place: every change is noticed, or provably harmless.

A mutant as it stands has another digest and is rejected.  A mutant whose hashes are made to fit is
another certificate; it is rejected unless what was changed carries no part of the conclusion.
``HARMLESS`` says, place by place, why that is so.  The test samples; the slow one takes them all.
"""

from __future__ import annotations

import re

import pytest

from constat.check import check_certificate
from tests.check.catalog import good, small
from tests.check.mutants import mutants, places
from tests.check.writer import canonical, seal, seal_hashes

# Place (numbers stand for indices), and why a change there leaves a true certificate.
HARMLESS = (
    (r"digest|identity|header\.program", "computed anew when the hashes are made to fit"),
    (r"header\.(as_of|decision|supersedes|snapshot)", "reserved, or a word of the writer"),
    (r"header\.goal\.1\.#", "null asks for less: some value instead of this one"),
    (r"record\.(engine|host)|record\.executed\.#", "when and where; carries no conclusion"),
    (
        r"declarations\.#\.(says|external)",
        ("another program for the pin; what may come from outside is covered where it matters"),
    ),
    (
        r"declarations\.#\.columns(\.#(\.#)?)?",
        "the name of a column, or columns of a predicate that nothing speaks of",
    ),
    (r"rules(\.#)?", "another program for the pin; a rule that nothing here rests on"),
    (r"header\.under\.#", "of two that say the same one is enough: a true, smaller claim"),
    (r"facts\.#\.source", "another source of equal standing and confidence is named"),
    (r"rules\.#\.(says|id)", "another program for the pin; the rule is printed from its logic"),
    (r"rules\.#\.(head|body)\..*", "another program for the pin, from which the same follows"),
    (
        r"sources\.#\.(tier|name|query|parameters|parameters\.#|snapshot|author)",
        ("how the source is described: re-read by another command"),
    ),
    (r"sources\.#\.rows", "the source gave more than is shown"),
    (r"sources\.#\.confidence", "of rows that the conclusion does not read positively"),
    (r"assumptions\.#(\.text|\.confidence)?", "the words of an assumption, printed as they are"),
    (
        r"facts|facts\.#(\.rows(\.#(\.#)?)?|\.assumption)?",
        ("other data, from which the same follows; leaves are re-read by another command"),
    ),
    (
        r"coverage|coverage\.#(\.(columns|keys|sources)(\.#(\.#)?)?)?",
        ("another claim of a source, or one that the conclusion does not need"),
    ),
    (
        r"open|open\.#(\.(reason|assumption|row)(\.#)?)?",
        ("another gap, against which the conclusion was checked as well"),
    ),
    (r"missing|missing\.#(\.1\.#)?", "fewer hints, or wider ones that match as well"),
    (r"closure\.rows\.#\.1\.#(\.#)?", "⋆ instead of a value, or a row that ⋆ covers as well"),
    (r"closure\.entries(\.#(\.keys(\.#(\.#)?)?)?)?", "a demand that nothing makes"),
    (r"summaries\.#\.(sources\.#|chunks\.#\.#)", "other data within the same bounds"),
)

SAMPLE = 211


def place(path: tuple[str | int, ...]) -> str:
    """Return the path with indices as ``#``; the position inside a pair stays."""
    shown = []
    for position, step in enumerate(path):
        pair = path[:1] in {("missing",), ("closure",)} or path[:2] == ("header", "goal")
        keeps = pair and step == 1 and position == (3 if path[0] == "closure" else 2)
        shown.append(str(step) if isinstance(step, str) or keeps else "#")
    return ".".join(shown)


def is_harmless(path: tuple[str | int, ...]) -> bool:
    return any(re.fullmatch(pattern, place(path)) for pattern, _ in HARMLESS)


def check_mutants(name: str, step: int) -> None:
    tree = good(name).tree
    pin = tree["header"]["program"]
    logic = canonical([tree["declarations"], tree["rules"]])
    for path, what, mutant in mutants(tree, step):
        if path[0] != "digest":
            plain = (canonical(mutant) + "\n").encode()
            assert not check_certificate(plain).accepted, (path, what)
        report = check_certificate(seal(mutant), pin=pin)
        changes_rules = canonical([mutant.get("declarations"), mutant.get("rules")]) != logic
        assert not (report.accepted and changes_rules), (path, what)
        report = check_certificate(seal(mutant))
        assert report.code != "limit"
        assert not report.accepted or is_harmless(path), (place(path), what)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("name", small())
def test_a_change_in_one_place_is_noticed_or_harmless(name: str) -> None:
    check_mutants(name, SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("name", small())
def test_every_change_in_one_place_is_noticed_or_harmless(name: str) -> None:
    check_mutants(name, 1)


def test_a_mutant_without_its_digest_is_rejected_whatever_was_changed() -> None:
    tree = good("gold_by_user").tree
    for path, what, mutant in mutants(tree):
        kept = {**mutant, "digest": tree["digest"]}
        if canonical(kept) != canonical(tree):
            report = check_certificate((canonical(kept) + "\n").encode())
            assert not report.accepted, (path, what)


@pytest.mark.slow
def test_every_reason_for_harmlessness_is_needed() -> None:
    used = {
        pattern
        for name in small()
        for path, _ in places(good(name).tree)
        for pattern, _ in HARMLESS
        if re.fullmatch(pattern, place(path))
    }
    assert used == {pattern for pattern, _ in HARMLESS}
    assert seal_hashes(good("vip_proved").tree) == good("vip_proved").data()
