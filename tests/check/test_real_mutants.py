"""Certificates that `prove` wrote over null cells, changed in one place: both checkers agree.

Labels, cells that one or two words fill, rows without a value and given columns are in them.  A
mutant whose hashes fit is rejected, or what was changed carries no part of the conclusion: the
places are those of ``test_mutants`` and the few below.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.check.mutants import mutants
from tests.check.test_mutants import is_harmless, place
from tests.check.writer import canonical, seal
from tests.report.checker.second_checker import SecondChecker, node
from tests.session.test_unknown_values import RULES, shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.check.writer import Tree

GIVEN: Final = """
@[given(d)]
.decl after(o: number, d: number)
after(?o, ?d) :- orders(?o, _, ?s, _), ?s > ?d.
.decl number_after(d: number, n: number)
number_after(?d, ?n) :- orders(_, ?d, _, _), ?n = count : { after(_o, ?d) }.
.decl last(o: number)
last(?o) :- shipped(?o, ?s), ?s = max ?t : { shipped(_o, ?t) }.
.decl shipped(o: number, s: number)
shipped(?o, ?s) :- orders(?o, _, ?s, _).
@[given(n)]
.decl down(n: number, m: number)
down(?n, ?n) :- ?n >= 0.
down(?n, ?m) :- ?n > 0, ?k = ?n - 1, down(?k, ?m).
"""
STATED: Final = (
    ("orders(id = 8, shipped = 9)", "alice"),
    ("orders(id = 8, region = north)", "bob"),
    ("orders(2, 5, 3, north)", "alice"),
)
DENIED: Final = "orders(?o, 5, _, _), !orders(id = ?o, region = _)"
# Policies of both columns, the goal, and its verdict.
REAL: Final = {
    "labels": ("unknown", "beside(4, 4)", "PROVED"),
    "a label in a count": ("unknown", "many(6)", "PROVED"),
    "a label that nobody reads": ("unknown", "late(4)", "PROVED"),
    "a denied label": ("unknown", "waiting(8)", "DISPROVED"),
    "one word": ("maybe", "beside(1, 2)", "PROVED_UNDER"),
    "two words of a row": ("maybe", "late(8), in_region(8, north)", "PROVED_UNDER"),
    "a word that disproves": ("unknown", "in_region(8, south)", "DISPROVED_UNDER"),
    "cells that may be missing": ("maybe", "sent(3)", "UNRESOLVED"),
    "no value": ("none", "waiting(3)", "PROVED"),
    "a given column": ("unknown", "after(4, 5)", "PROVED"),
    "no row of a given column": ("none", "after(4, 999)", "DISPROVED"),
    "a denied row of a given column": ("none", "orders(?o, 5, _, _), !after(?o, 99)", "PROVED"),
    "a total over a given column": ("none", "number_after(5, ?n)", "PROVED"),
    "given columns all the way down": ("none", "down(2, 3)", "DISPROVED"),
    "a greatest that a known member bounds": ("maybe", "last(1)", "DISPROVED"),
    "a greatest that an unknown one may be": ("maybe", "last(4)", "UNRESOLVED"),
    "a denied row, read by name": (
        "none",
        "orders(?o, 5, _, _), !orders(id = ?o, region = _)",
        "PROVED",
    ),
}
# Places of the second format; numbers stand for indices, as in ``test_mutants``.
HARMLESS: Final = (
    (r"header\.goal\.1\.#(\.#)?", "another goal of which the same is shown"),
    (r"header\.asked_by", "a word of the writer"),
    (r"record(\..*)?", "when and where; carries no conclusion"),
    (r"labels\.#\.(1\.)?#", "another name for a label: cells of its row, and its ordinal"),
    (r"declarations\.#\.(texts|nulls|given)(\.#)*", "another program for the pin"),
    (r"rules\.#\.(texts|variables|author|owner|version)(\.#)*", "another program for the pin"),
    (r"filled(\.#(\.(value|source|assumption))?)?", "another word, from which the same follows"),
    (r"sources\.#\.(attestation(\..*)?|hash)", "the word itself: re-read by another command"),
    (r"assumptions\.#\.attestations(\.#)?", "whose word it is, as its source says it"),
    (r"facts\.#\.rows\.#\.#(\.#)?", "other data, from which the same follows"),
    (r"header\.(confidence|search)", "a smaller claim"),
)
STEP: Final = 97


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    found = {}
    for name, (policy, goal, verdict) in REAL.items():
        folder = tmp_path_factory.mktemp("real")
        shop(folder, policy, policy)
        (folder / "rules.dl").write_text(RULES.format(policy, policy) + GIVEN, encoding="utf-8")
        with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
            connection.execute("INSERT INTO o VALUES (8, 5, NULL, NULL)")
        with Session(folder) as session:
            for fact, author in STATED if policy != "none" else ():
                session.facts.add(fact, author=author)
            result = session.prove(goal)
        assert result.verdict.value == verdict, name
        found[name] = result.certificate
    return found


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


def is_without_part(path: tuple[str | int, ...]) -> bool:
    """Tell whether a change of this place may leave a true certificate."""
    return is_harmless(path) or any(re.fullmatch(one, place(path)) for one, _ in HARMLESS)


def check_all(certificate: bytes, second: SecondChecker, step: int) -> tuple[int, int]:
    """Check mutants of a certificate; give how many there were and how many were accepted."""
    tree: Tree = json.loads(certificate)
    logic = canonical([tree["declarations"], tree["rules"]])
    tried = accepted = 0
    for path, what, mutant in mutants(tree, step):
        tried += 1
        data = seal(mutant)
        report = check_certificate(data)
        assert second.check(data)["accepted"] == report.accepted, (path, what, report.reason)
        if path[0] != "digest":
            plain = (canonical(mutant) + "\n").encode()
            assert not check_certificate(plain).accepted, (path, what)
        if report.accepted:
            accepted += 1
            assert is_without_part(path), (place(path), what)
            # What the verdict says is no harmless place.
            assert report.verdict == tree["header"]["verdict"], (path, what)
            changed = canonical([mutant.get("declarations"), mutant.get("rules")]) != logic
            pinned = check_certificate(data, pin=tree["header"]["program"])
            assert not (pinned.accepted and changed), (path, what)
    return tried, accepted


def test_a_group_may_rest_on_the_word_that_fills_a_row_of_it(
    written: dict[str, bytes], second: SecondChecker
) -> None:
    tree: Tree = json.loads(written["a word that disproves"])
    tree["facts"][0]["assumption"] = 0
    data = seal(tree)
    assert second.check(data)["verdict"] == "DISPROVED_UNDER"
    report = check_certificate(data)
    assert report.verdict == "DISPROVED_UNDER", report.reason


@pytest.mark.parametrize("name", REAL)
def test_a_change_in_one_place_of_a_real_certificate_is_noticed_or_harmless(
    written: dict[str, bytes], second: SecondChecker, name: str
) -> None:
    tried, accepted = check_all(written[name], second, STEP)
    assert tried > 15
    assert accepted < tried / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_every_change_in_one_place_of_a_real_certificate_is_noticed_or_harmless(
    written: dict[str, bytes], second: SecondChecker, name: str
) -> None:
    tried, accepted = check_all(written[name], second, 1)
    assert accepted < tried / 2


OPEN_GROUP: Final = """
.decl north(o: number, s: number)
north(?o, ?s) :- orders(?o, _, ?s, "north").
.decl last(o: number)
last(?o) :- orders(?o, _, ?s, _), ?s = max ?t : { north(_o, ?t) }.
"""


def test_a_member_that_may_not_be_there_bounds_no_greatest(
    tmp_path: Path, second: SecondChecker
) -> None:
    shop(tmp_path)
    (tmp_path / "rules.dl").write_text(RULES.format("maybe", "maybe") + OPEN_GROUP, "utf-8")
    with Session(tmp_path) as session:
        bounded, result = session.prove("last(2)"), session.prove("last(1)")
    # Order 4 is later than order 1, and nobody knows whether it goes north.
    assert (bounded.verdict.value, result.verdict.value) == ("DISPROVED", "UNRESOLVED")
    forged: Tree = json.loads(result.certificate)
    forged["header"] |= {"verdict": "DISPROVED", "confidence": "1", "search": "exhausted"}
    forged["missing"] = []
    forged["closure"]["rows"] = [one for one in forged["closure"]["rows"] if one[0] != "last"]
    data = seal(forged)
    report = check_certificate(data)
    assert (report.accepted, report.code) == (False, "not-covered"), report
    assert not second.check(data)["accepted"]
