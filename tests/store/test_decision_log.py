"""The decision log: what is written down, held, expired, superseded, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.store.decision_log import (
    MOST_LINE_BYTES,
    Anchor,
    Decided,
    DecisionLog,
    EntryError,
    read_entry,
)

EARLY = "2026-01-01T00:00:00.000000Z"
LATE = "2026-06-01T00:00:00.000000Z"
VERY_LATE = "2027-01-01T00:00:00.000000Z"


def decided(goal: str = "p(1)", **more: object) -> Decided:
    return Decided(goal=goal, verdict="PROVED", identity="sha256:" + "a" * 64, who="ada", **more)  # type: ignore[arg-type]


def code_of(caught: pytest.ExceptionInfo[ConstatError]) -> str:
    return caught.value.diagnostics[0].code


def whole(log: DecisionLog, anchor: Anchor | None = None) -> bool:
    report = log.check(anchor)
    assert report is not None
    return report.whole


def test_a_decision_is_an_entry_and_a_certificate_under_its_digest(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    entry = log.decide(decided(), b"certificate", EARLY)
    digest = hashlib.sha256(b"certificate").hexdigest()
    assert (tmp_path / "certificates" / f"{digest}.json").read_bytes() == b"certificate"
    begin, first = log.records()
    assert begin.entry.kind == "begin"
    assert (entry.sequence, first.entry) == (1, entry)
    assert entry.body is not None
    assert entry.body["certificate"] == f"sha256:{digest}"
    assert log.certificate(entry) == b"certificate"
    assert whole(log)
    assert log.path.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another account")
@pytest.mark.parametrize("mode", [0o640, 0o644])
def test_an_account_of_the_auditors_verifies_what_it_may_read(mode: int) -> None:
    # Below a folder of the test no other account could enter.
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named) / "decisions"
        DecisionLog(folder).decide(decided(), b"before", EARLY)
        log = DecisionLog(folder, mode)
        log.decide(decided("p(2)"), b"after", LATE)
        Path(named).chmod(0o755)
        verify = (
            "import os, sys; from pathlib import Path; from constat.store.decision_log import *;"
            "os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(65534);"
            "log = DecisionLog(Path(sys.argv[1]));"
            "print(log.check().whole, log.wrong_certificates(9))"
        )
        told = []
        for group in (0, 65534):
            program = [sys.executable, "-c", verify, str(folder), str(group)]
            ran = subprocess.run(program, capture_output=True, text=True, check=False)
            told.append(ran.stdout or ran.stderr.splitlines()[-1])
        assert told[0] == "True ()\n"
        assert (told[1] == "True ()\n") == (mode == 0o644), told[1]
        # What is written while only the owner may read is the owner's again.
        DecisionLog(folder).decide(decided("p(3)"), b"", VERY_LATE)
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_entries_are_canonical_lines_chained_by_their_heads(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    for number in range(3):
        log.decide(decided(f"p({number})"), b"", EARLY)
    lines = log.path.read_bytes().splitlines(keepends=True)
    heads = [json.loads(line)["head"] for line in lines]
    assert [head["sequence"] for head in heads] == [0, 1, 2, 3]
    for before, after in pairwise(heads):
        text = json.dumps(before, sort_keys=True, separators=(",", ":"))
        assert after["previous"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert [read_entry(line).line() for line in lines] == lines


def test_equal_decisions_have_different_hashes(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    first, second = (log.decide(decided(), b"", EARLY) for _ in range(2))
    # The hash stays when the content goes: it must not tell who the content was about.
    assert first.body_hash != second.body_hash


def test_time_never_runs_backwards(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", LATE)
    assert log.decide(decided(), b"", EARLY).time == LATE
    assert whole(log)


@pytest.mark.parametrize(
    ("goal", "number", "reason"),
    [
        ("p(2)", 1, "is about p(1)"),
        ("p(1)", 9, "no entry 9"),
        ("p(1)", 0, "no decision"),
    ],
)
def test_what_cannot_be_superseded_is_refused_and_nothing_is_written(
    tmp_path: Path, goal: str, number: int, reason: str
) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", EARLY)
    before = log.path.read_bytes()
    with pytest.raises(
        ConstatError, match=reason.replace("(", r"\(").replace(")", r"\)")
    ) as caught:
        log.decide(decided(goal, supersedes=number), b"new", EARLY)
    assert code_of(caught) == "C0753"
    assert log.path.read_bytes() == before


def test_a_decision_is_superseded_once(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", EARLY)
    log.decide(decided(supersedes=1), b"", EARLY)
    with pytest.raises(ConstatError, match="superseded by 2 already"):
        log.decide(decided(supersedes=1), b"", EARLY)
    assert [one.superseded_by for one in log.records()] == [None, 2, None]


def test_what_is_held_does_not_expire_and_the_rest_leaves_its_head(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    for content in (b"one", b"two", b"three"):
        log.decide(decided(until=LATE), content, EARLY)
    log.decide(decided(), b"for ever", EARLY)
    log.hold([2], "Q-17", "", "legal", EARLY)
    assert log.expire("archive", EARLY) == log.expire("archive", EARLY)
    assert log.expire("archive", EARLY).expired == ()
    expiry = log.expire("archive", LATE)
    assert (expiry.expired, expiry.held) == ((1, 3), (2,))
    assert whole(log)
    assert [one.entry.body is None for one in log.records()][1:5] == [True, False, True, False]
    kept = {path.read_bytes() for path in (tmp_path / "certificates").iterdir()}
    assert kept == {b"two", b"for ever"}
    log.release([2], "Q-17", "", "legal", LATE)
    assert log.expire("archive", LATE).expired == (2,)
    report = log.check()
    assert report is not None
    assert (report.problems, report.expired, report.held) == ((), 3, 0)
    assert '"ada"' not in log.path.read_text().splitlines()[1]


def test_a_hold_for_one_matter_does_not_end_with_another(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(until=EARLY), b"", EARLY)
    log.hold([1], "first", "", "legal", EARLY)
    log.hold([1], "second", "", "legal", EARLY)
    log.release([1], "first", "", "legal", EARLY)
    assert log.expire("archive", LATE).held == (1,)
    with pytest.raises(ConstatError, match="not held") as caught:
        log.release([1], "first", "", "legal", EARLY)
    assert code_of(caught) == "C0755"
    with pytest.raises(ConstatError, match="held already"):
        log.hold([1], "second", "", "legal", EARLY)
    with pytest.raises(ConstatError, match="no decision 2"):
        log.hold([1, 2], "third", "", "legal", EARLY)


def test_a_certificate_of_two_decisions_stays_until_both_have_expired(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(until=EARLY), b"same", EARLY)
    log.decide(decided(until=LATE), b"same", EARLY)
    log.expire("archive", EARLY)
    assert log.wrong_certificates(10) == ()
    log.expire("archive", LATE)
    assert list((tmp_path / "certificates").iterdir()) == []


def test_certificates_that_are_missing_or_changed_are_named(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    entries = [log.decide(decided(), content, EARLY) for content in (b"a", b"b", b"c")]
    paths = [
        tmp_path / "certificates" / f"{hashlib.sha256(one).hexdigest()}.json"
        for one in (b"a", b"b")
    ]
    paths[0].unlink()
    paths[1].write_bytes(b"x")
    assert log.wrong_certificates(10) == (
        "entry 1: its certificate is missing",
        "entry 2: its certificate is not the one written down",
    )
    with pytest.raises(ConstatError, match="missing"):
        log.certificate(entries[0])


def test_entries_are_found_by_number_and_by_identity(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", EARLY)
    log.decide(decided(), b"", EARLY)
    assert log.find("1").entry.sequence == 1
    assert log.find("sha256:" + "a" * 64).entry.sequence == 2
    assert log.find("a" * 8).entry.sequence == 2
    for unknown in ("7", "b" * 8, "a" * 7, "", "-1", "\u0661"):
        with pytest.raises(ConstatError) as caught:
            log.find(unknown)
        assert code_of(caught) == "C0754"


def test_an_anchor_finds_a_cut_tail_and_a_tail_that_was_written_anew(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    for number in range(4):
        log.decide(decided(f"p({number})"), b"", EARLY)
    report = log.check()
    assert report is not None
    anchor = report.anchor
    log.decide(decided("p(5)"), b"", EARLY)
    assert whole(log, anchor)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:3]))
    assert whole(log)
    cut = log.check(anchor)
    assert cut is not None
    assert cut.problems == ("the log is cut off before entry 4 of the anchor",)
    for number in range(4):
        log.decide(decided(f"other({number})"), b"", EARLY)
    assert whole(log)
    assert not whole(log, anchor)
    other = DecisionLog(tmp_path / "other")
    for number in range(6):
        other.decide(decided(f"p({number})"), b"", EARLY)
    assert not whole(other, anchor)


def test_a_log_that_was_begun_is_not_begun_anew(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", EARLY)
    log.path.unlink()
    for use in (lambda: log.decide(decided(), b"", EARLY), log.records, log.check):
        with pytest.raises(ConstatError) as caught:
            use()
        assert code_of(caught) == "C0752"
    assert not log.path.exists()


def test_nothing_is_added_to_a_log_whose_last_entry_was_changed(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided(), b"", EARLY)
    changed = log.path.read_bytes().replace(b"ada", b"eve")
    log.path.write_bytes(changed)
    with pytest.raises(ConstatError) as caught:
        log.decide(decided(), b"new", EARLY)
    assert code_of(caught) == "C0752"
    assert log.path.read_bytes() == changed
    assert not (tmp_path / "certificates" / f"{hashlib.sha256(b'new').hexdigest()}.json").exists()


def test_what_is_too_long_for_a_line_is_not_written(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    with pytest.raises(ConstatError) as caught:
        log.decide(decided("p" * MOST_LINE_BYTES), b"", EARLY)
    assert code_of(caught) == "C0750"
    with pytest.raises(EntryError):
        read_entry(b"[" * MOST_LINE_BYTES)


def test_a_log_that_nobody_began_is_empty(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "nowhere")
    assert (log.records(), log.check(), list(log.content())) == ((), None, [])
    assert log.expire("archive", LATE).expired == ()


def test_another_program_that_holds_the_log_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from constat.store.decision_log import locked

    monkeypatch.setattr("constat.store.decision_log.WAIT_SECONDS", 0.05)
    log = DecisionLog(tmp_path)
    with locked(tmp_path), pytest.raises(ConstatError) as caught:
        log.decide(decided(), b"", EARLY)
    assert code_of(caught) == "C0751"
    assert log.decide(decided(), b"", EARLY).sequence == 1
