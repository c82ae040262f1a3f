"""Signatures, the decision log and openings, at sizes of years of use.

Run with `python -m tests.bench.bench_records`; `make bench-all` takes the figures with the others.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from constat.proof.openings import Commitment, Opening, opened_rows
from constat.proof.signing import (
    CERTIFICATE_TYPE,
    Signer,
    Statement,
    TrustedKey,
    generate_key,
    judge,
    sign_statement,
    write_envelope,
)
from constat.session.snapshots import merkle_tree
from constat.store.decision_log import Decided, DecisionLog, Draft, check_log, entry_after, lines_of
from tests.bench.measuring import Figure, figure, several, table

if TYPE_CHECKING:
    from constat.store.decision_log import LogReport

ENTRIES = 100_000
ROWS = 1_000_000
TAMPERINGS = 200
NOW = "2026-01-01T00:00:00.000000Z"
IDENTITY = "sha256:" + "0" * 64


def measure(folder: Path) -> list[Figure]:
    """Take all figures."""
    return [*signatures(), *writing(folder / "writing"), *checking(folder), *openings()]


def signatures() -> list[Figure]:
    """Sign and judge a statement about a certificate."""
    key = generate_key("approver", "Ada")
    signer = Signer(key.role, key.name, "approved", key.public.id, NOW)
    statement = Statement(CERTIFICATE_TYPE, "0" * 64, signer, {"identity": IDENTITY})
    line = write_envelope(sign_statement(statement, key))
    trusted = {key.public.id: TrustedKey(key.public, frozenset({"approver"}))}
    subject = (CERTIFICATE_TYPE, "0" * 64, {"identity": IDENTITY})
    signing = several(lambda: write_envelope(sign_statement(statement, key)), 100)
    judging = several(lambda: judge(line, trusted, subject, NOW), 100)
    return [
        figure("sign a certificate", signing, 0.001, milliseconds=True),
        figure("judge a signature", judging, 0.001, milliseconds=True),
    ]


def writing(folder: Path) -> list[Figure]:
    """Write a decision with a certificate of 6 kB down, on this machine's disk."""
    log = DecisionLog(folder)
    places = iter(range(1_000_000))

    def decide() -> None:
        number = next(places)
        decided = Decided(f"p({number})", "PROVED", IDENTITY, "ada")
        log.decide(decided, f"{number:06000}".encode(), NOW)

    return [figure("write a decision down", several(decide, 50), 0.02, milliseconds=True)]


def checking(folder: Path) -> list[Figure]:
    """Check a log of many decisions, and add to it."""
    log = long_log(folder / "long")
    whole = several(lambda: check_log(lines_of(log.path)), 3)

    def add() -> None:
        log.decide(Decided("p(1)", "PROVED", IDENTITY, "ada"), b"x", NOW)

    added = several(add, 20)
    return [
        figure(f"check a log of {ENTRIES:,} entries", whole, 5.0),
        figure(f"write a decision into a log of {ENTRIES:,}", added, 0.02, milliseconds=True),
    ]


def long_log(folder: Path) -> DecisionLog:
    """Write a log at once, as if it had grown."""
    log = DecisionLog(folder)
    log.decide(Decided("p(0)", "PROVED", IDENTITY, "ada"), b"x", NOW)
    (*_, last) = (one.entry for one in log.records())
    body = dict(last.body or {})
    with log.path.open("ab") as stream:
        for _ in range(ENTRIES - 2):
            last = entry_after(last, Draft("decision", body), NOW)
            stream.write(last.line())
    return log


def openings() -> list[Figure]:
    """Commit to a relation, open a key of it, and check that."""
    rows = [(f"C{number // 10:06}", f"{number:08}", "1250") for number in range(ROWS)]
    built = several(lambda: merkle_tree(rows), 1)
    tree = merkle_tree(rows)
    commitment = Commitment(tree.root, ROWS, (0, 1, 2))

    def opened() -> Opening:
        return Opening(499_999, tuple(rows[499_999:500_011]), tree.path(499_999, 500_011))

    opening = opened()
    checked = several(lambda: opened_rows(commitment, (0,), ("C050000",), opening), 100)
    return [
        figure(f"the tree of {ROWS:,} rows", built, 10.0),
        figure("open the ten rows of a key", several(opened, 100), 0.001, milliseconds=True),
        figure("check that they are all", checked, 0.001, milliseconds=True),
    ]


def tampered(folder: Path) -> tuple[int, int]:
    """Tamper with a log at random; give how often, and how often it was found."""
    log = DecisionLog(folder)
    for number in range(50):
        log.decide(Decided(f"p({number})", "PROVED", IDENTITY, "ada"), b"x", NOW)
    lines = log.path.read_bytes().splitlines(keepends=True)
    anchor = check_log(lines).anchor
    draw = random.Random(1)
    reports: list[LogReport] = []
    for _ in range(TAMPERINGS):
        changed, place = list(lines), draw.randrange(len(lines))
        match draw.choice(["edit", "delete", "move", "insert", "cut"]):
            case "edit":
                byte = draw.randrange(len(lines[place]))
                edited = bytearray(lines[place])
                edited[byte] ^= 1 << draw.randrange(8)
                changed[place] = bytes(edited)
            case "delete":
                del changed[place]
            case "move":
                changed.insert((place + 1 + draw.randrange(48)) % 50, changed.pop(place))
            case "insert":
                changed.insert(place, draw.choice(lines))
            case _:
                changed = changed[:place]
        if changed != lines:
            reports.append(check_log(b"".join(changed).splitlines(keepends=True), anchor))
    return len(reports), sum(not one.whole for one in reports)


def main() -> None:
    """Print the table and the count."""
    with TemporaryDirectory() as folder:
        sys.stdout.write(table(measure(Path(folder))))
        done, found = tampered(Path(folder) / "tampered")
    sys.stdout.write(f"\n{found} of {done} tamperings found\n")


if __name__ == "__main__":
    main()
