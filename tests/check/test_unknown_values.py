"""What follows over null cells is accepted, what is forged is rejected, by both checkers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.proof.encoding import canonical, sha256
from constat.proof.report.markup import checker_source
from tests.check.unknown_values import CASES, by_document, case, walk
from tests.check.writer import seal
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


@pytest.mark.parametrize("name", CASES)
def test_both_checkers_say_the_same(name: str, second: SecondChecker) -> None:
    data, said = case(name)
    report = check_certificate(data)
    assert said in {report.verdict, report.code}, (report.code, report.place, report.reason)
    found = second.check(data)
    told = (found["reasonCode"], found["place"], found["reason"])
    assert (found["verdict"] or "rejected") == (report.verdict or "rejected"), told


@pytest.mark.parametrize(
    ("content", "attested", "code"),
    [
        ("listed order 4.", False, None),
        ("listed order 5.", False, "document"),
        ("not listed there: order 4", False, "document"),
        # Who hides the rest of the file tells no place: the words stand somewhere in it.
        ("not listed there: order 4", True, None),
        ("listed order 5.", True, "document"),
        (None, True, "document"),
    ],
)
def test_the_words_of_a_document_stand_in_it(
    tmp_path: Path, content: str | None, *, attested: bool, code: str | None
) -> None:
    tree = by_document()
    source = tree["sources"][0]
    if attested:
        agent = {"kind": "service", "name": "reader", "version": "1", "digest": None}
        words = f"sha256:{hashlib.sha256(source['span']['text'].encode()).hexdigest()}"
        told = dict.fromkeys(("prompt", "reviewer", "note"))
        quote = source["span"] | {"start": 0, "end": 7}
        source["span"] = quote
        source["attestation"] = {**told, "agent": agent, "response": words, "quote": quote}
        tree["assumptions"][0]["attestations"] = [sha256(canonical(source["attestation"]))]
    if content is not None:
        (tmp_path / "orders.pdf").write_text(content)
    data = seal(tree)
    assert check_certificate(data).exit_code == 3
    assert check_certificate(data, documents=tmp_path).code == code


@pytest.mark.laws
def test_a_walk_over_a_list_says_the_rest_by_a_number() -> None:
    """Ten thousand cells take two megabytes at most, and each cell as many bytes and steps."""
    small, large = seal(walk(500)), seal(walk(2_000))
    assert check_certificate(large).verdict == "PROVED"
    assert len(large) * 10_000 / 2_000 < 2_000_000
    assert len(large) < 4.2 * len(small)
    assert "limit" not in {check_certificate(one).code for one in (small, large)}
