"""The test vectors of FORMAT.md: files that any checker of the format must accept or reject.

`vectors/index.txt` names each with what is said about it: `accept` and the verdict, or `reject` and
the code. They are made from the cases of these tests; `UPDATE_GOLDEN=1` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.check.catalog import GOOD, good
from tests.check.forged_commitments import FORGERIES, forge
from tests.check.second import upgraded
from tests.check.unknown_values import CASES, case
from tests.check.writer import seal
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "vectors"
LARGEST = 6_000
# Of what both formats have in common every sixth; the cases of unknown values are all there.
EVERY = 6


def vectors() -> Iterator[tuple[str, bytes, str]]:
    """Yield a name, the bytes, and what is said about them."""
    for name in list(GOOD)[::EVERY]:
        tree = good(name).tree
        yield f"good_{name}", seal(upgraded(tree)), tree["header"]["verdict"]
    for name in list(FORGERIES)[::EVERY]:
        code, tree = forge(name, 0)
        yield f"forged_{name}", seal(upgraded(tree)), code
    for name in CASES:
        yield name, *case(name)


def written() -> dict[str, tuple[bytes, str]]:
    """Return the files that there should be, with their lines in the index."""
    found: dict[str, tuple[bytes, str]] = {}
    for name, data, said in vectors():
        if len(data) <= LARGEST:
            kind = "accept" if said.isupper() else "reject"
            found[name] = (data, f"{kind} {said}")
    return found


def test_the_files_are_those_of_the_cases() -> None:
    found = written()
    index = "".join(f"{name}.json {line}\n" for name, (_, line) in sorted(found.items()))
    if os.environ.get("UPDATE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.iterdir():
            old.unlink()
        for name, (data, _) in found.items():
            (FOLDER / f"{name}.json").write_bytes(data)
        (FOLDER / "index.txt").write_text(index, encoding="utf-8")
    assert (FOLDER / "index.txt").read_text(encoding="utf-8") == index
    for name, (data, _) in found.items():
        assert (FOLDER / f"{name}.json").read_bytes() == data
    assert len(found) > 100


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


def listed() -> list[list[str]]:
    return [line.split() for line in (FOLDER / "index.txt").read_text().splitlines()]


def test_both_checkers_meet_the_index(second: SecondChecker) -> None:
    for name, kind, said in listed():
        data = (FOLDER / name).read_bytes()
        report = check_certificate(data)
        assert (report.accepted, said) == (kind == "accept", report.verdict or report.code), name
        assert second.check(data)["accepted"] == report.accepted, name
