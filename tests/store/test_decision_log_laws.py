"""Whatever is done to a log behind its back is found."""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.store.decision_log import (
    Anchor,
    Decided,
    DecisionLog,
    Draft,
    Entry,
    check_log,
    entry_after,
    read_entry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = [f"2026-01-{day:02d}T00:00:00.000000Z" for day in range(1, 29)]


def decision(goal: str, until: str | None) -> Draft:
    body = {
        "certificate": "sha256:" + "0" * 64,
        "goal": goal,
        "identity": "sha256:" + "1" * 64,
        "supersedes": None,
        "verdict": "PROVED",
        "who": "ada",
    }
    return Draft("decision", body, "short", until)


def about(kind: str, targets: list[int]) -> Draft:
    body: dict[str, object] = {"targets": targets, "who": "ada"}
    if kind != "expire":
        body |= {"matter": "m", "reason": ""}
    return Draft(kind, body)


@st.composite
def logs(draw: st.DrawFn) -> list[Entry]:
    """Draw a whole log: decisions, some held and released, some expired."""
    entries = [entry_after(None, Draft("begin", {"log": "x"}), TIMES[0])]
    held: set[int] = set()
    gone: set[int] = set()
    for day in range(draw(st.integers(1, 8))):
        kinds = ["decision", "decision", "hold", "release", "expire"]
        kind = draw(st.sampled_from(kinds))
        known = {one.sequence: one for one in entries if one.kind == "decision"}
        free = {
            "hold": sorted(known.keys() - held - gone),
            "release": sorted(held),
            "expire": sorted(known.keys() - held - gone),
        }.get(kind, [])
        if kind == "decision" or not free:
            draft = decision(draw(st.sampled_from(["p(1)", "q(2)"])), TIMES[0])
        else:
            target = draw(st.sampled_from(free))
            draft = about(kind, [target])
            {"hold": held.add, "release": held.discard, "expire": gone.add}[kind](target)
        entries.append(entry_after(entries[-1], draft, TIMES[day]))
    return [dataclasses.replace(one, body=None) if one.sequence in gone else one for one in entries]


def lines(entries: Sequence[Entry]) -> list[bytes]:
    return [one.line() for one in entries]


@given(logs())
def test_a_whole_log_is_whole_and_its_head_is_an_anchor(log: list[Entry]) -> None:
    report = check_log(lines(log))
    assert report.problems == ()
    assert check_log(lines(log), report.anchor).whole
    assert report.anchor == Anchor("x", len(log) - 1, log[-1].hash, log[-1].time)


@given(logs(), st.data())
def test_each_changed_byte_is_found(log: list[Entry], data: st.DataObject) -> None:
    content = b"".join(lines(log))
    place = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255))
    assume(content[place] != byte)
    changed = content[:place] + bytes([byte]) + content[place + 1 :]
    assert not check_log(changed.splitlines(keepends=True)).whole


@given(logs(), st.data())
def test_each_missing_line_is_found(log: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(log) - 1))
    assume(place < len(log) - 1)
    rest = lines(log)
    del rest[place]
    assert not check_log(rest).whole


@given(logs(), st.data())
def test_lines_that_changed_places_are_found(log: list[Entry], data: st.DataObject) -> None:
    found = lines(log)
    assume(len(found) > 1)
    first, second = sorted(
        data.draw(st.lists(st.integers(0, len(found) - 1), min_size=2, max_size=2, unique=True))
    )
    found[first], found[second] = found[second], found[first]
    assert not check_log(found).whole


@given(logs(), st.data())
def test_a_line_that_was_put_in_is_found(log: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(log) - 1))
    # The forger makes an entry that follows the one before it properly, or repeats one.
    made = entry_after(log[place], decision("p(9)", None), log[place].time).line()
    repeated = lines(log)[data.draw(st.integers(0, len(log) - 1))]
    new = data.draw(st.sampled_from([made, repeated]))
    found = lines(log)
    found.insert(place + 1, new)
    assume(place + 1 < len(log) or new == repeated)
    assert not check_log(found).whole


@given(logs(), st.data())
def test_a_cut_tail_is_found_with_an_anchor(log: list[Entry], data: st.DataObject) -> None:
    anchor = check_log(lines(log)).anchor
    kept = data.draw(st.integers(0, len(log) - 1))
    assert not check_log(lines(log)[:kept], anchor).whole


@given(logs(), st.data())
def test_a_tail_written_anew_is_found_with_an_anchor(log: list[Entry], data: st.DataObject) -> None:
    anchor = check_log(lines(log)).anchor
    kept = data.draw(st.integers(1, len(log) - 1)) if len(log) > 1 else 1
    assume(kept < len(log))
    forged = log[:kept]
    for one in log[kept:]:
        forged.append(entry_after(forged[-1], decision("forged(1)", None), one.time))
    assert not check_log(lines(forged), anchor).whole


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["decide", "decide", "supersede", "hold", "release", "expire", "tear"]),
        st.integers(1, 6),
        st.integers(0, 27),
    ),
    max_size=10,
)


@settings(max_examples=12)
@given(OPERATIONS)
def test_whatever_is_done_to_a_log_by_its_own_means_leaves_it_whole(
    operations: list[tuple[str, int, int]],
) -> None:
    with TemporaryDirectory() as name:
        log = DecisionLog(Path(name))
        for operation, number, day in operations:
            # What cannot be done is refused, and leaves the log as it was.
            with suppress(ConstatError):
                done(log, operation, number, TIMES[day])
            report = log.check()
            assert report is None or report.problems == ()
            assert log.wrong_certificates(10) == ()
            for record in log.records():
                body, until = record.entry.body, record.entry.until
                assert body is not None or not record.matters
                assert body is not None or (until is not None and until <= TIMES[27])


def done(log: DecisionLog, operation: str, number: int, now: str) -> None:
    """Do one thing to a log."""
    made = Decided("p", "PROVED", "sha256:" + "1" * 64, "ada", until=TIMES[number])
    match operation:
        case "decide":
            log.decide(made, b"%d" % number, now)
        case "supersede":
            log.decide(dataclasses.replace(made, supersedes=number), b"x", now)
        case "hold":
            log.hold([number], "m", "", "ada", now)
        case "release":
            log.release([number], "m", "", "ada", now)
        case "expire":
            log.expire("ada", now)
        case _ if log.path.exists():
            with log.path.open("ab") as stream:
                stream.write(b'{"body":')
            log.decide(made, b"after", now)


def two(until: str | None = TIMES[3]) -> list[Entry]:
    begin = entry_after(None, Draft("begin", {"log": "x"}), TIMES[0])
    return [begin, entry_after(begin, decision("p(1)", until), TIMES[1])]


def gone(log: list[Entry], targets: list[int], day: int) -> list[Entry]:
    """Expire entries, as whoever can write the file might."""
    expire = entry_after(log[-1], about("expire", targets), TIMES[day])
    return [
        *(dataclasses.replace(one, body=None) if one.sequence in targets else one for one in log),
        expire,
    ]


def test_a_body_that_went_in_silence_is_found() -> None:
    begin, entry = two()
    report = check_log(lines([begin, dataclasses.replace(entry, body=None)]))
    assert report.problems == ("entry 1: its body is missing and nothing says why",)


def test_an_expiry_before_its_time_under_hold_or_of_nothing_is_found() -> None:
    assert check_log(lines(gone(two(), [1], 5))).whole
    for log, targets, day, wanted in (
        (two(), [1], 2, "before its time"),
        (two(None), [1], 5, "before its time"),
        (two(), [0], 5, "before its time"),
        (two(), [1, 1], 5, "not expired, or twice"),
    ):
        problems = check_log(lines(gone(log, targets, day))).problems
        assert any(wanted in one for one in problems), (wanted, problems)
    held = two()
    held.append(entry_after(held[-1], about("hold", [1]), TIMES[2]))
    assert any("under hold" in one for one in check_log(lines(gone(held, [1], 5))).problems)


def test_a_hold_of_no_decision_and_a_release_of_no_hold_are_found() -> None:
    for draft in (about("hold", [0]), about("hold", [9]), about("release", [1])):
        log = two()
        log.append(entry_after(log[-1], draft, TIMES[2]))
        assert not check_log(lines(log)).whole


def test_a_torn_last_line_and_a_second_beginning_are_found() -> None:
    log = two()
    torn = lines(log)
    assert "torn" in check_log([*torn[:-1], torn[-1][:-5]]).problems[0]
    begin = entry_after(log[-1], Draft("begin", {"log": "x"}), TIMES[2])
    assert not check_log(lines([*log, begin])).whole
    assert not check_log([]).whole


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": -1},
        {"sequence": True},
        {"sequence": 1.0},
        {"kind": "note"},
        {"kind": ["decision"]},
        {"time": "yesterday"},
        {"until": "2026"},
        {"retention": None},
        {"previous": "sha256:00"},
        {"body": "md5:" + "0" * 64},
        {"more": 1},
    ],
    ids=str,
)
def test_a_head_of_another_form_is_no_entry(change: dict[str, object]) -> None:
    document = json.loads(two()[1].line())
    document["head"] |= change
    line = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    assert not check_log([two()[0].line(), line]).whole


def test_an_entry_reads_as_it_was_written() -> None:
    for one in two():
        assert read_entry(one.line()) == one
