"""The decision log when programs die, disks fill up, and several write at once."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.store.decision_log import Decided, DecisionLog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults

NOW = "2026-01-01T00:00:00.000000Z"
WRITER = """
    import sys
    from pathlib import Path
    from constat.store.decision_log import Decided, DecisionLog
    log = DecisionLog(Path(sys.argv[1]))
    print("ready", flush=True)
    for number in range(int(sys.argv[3])):
        goal = f"{sys.argv[2]}({number})"
        decided = Decided(goal, "PROVED", "sha256:" + "0" * 64, "ada")
        entry = log.decide(decided, goal.encode(), "2026-01-01T00:00:00.000000Z")
        print(entry.sequence, goal, flush=True)
"""


def decided(goal: str) -> Decided:
    return Decided(goal, "PROVED", "sha256:" + "0" * 64, "ada")


def program(text: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def goals(folder: Path) -> dict[int, str]:
    """Check that the log and its certificates are whole; give its goals by number."""
    log = DecisionLog(folder)
    report = log.check()
    assert report is not None
    assert report.problems == ()
    assert log.wrong_certificates(10) == ()
    bodies = {one.entry.sequence: one.entry.body for one in log.records()}
    return {number: str(body["goal"]) for number, body in bodies.items() if body and "goal" in body}


def test_several_programs_write_at_once_and_each_entry_is_there(tmp_path: Path) -> None:
    writers = [program(WRITER, tmp_path, name, 25) for name in "abc"]
    told: dict[int, str] = {}
    for writer in writers:
        output, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0
        pairs = (line.split(maxsplit=1) for line in output.splitlines()[1:])
        told |= {int(number): goal for number, goal in pairs}
    assert len(told) == 75
    assert goals(tmp_path) == told


def test_what_was_given_out_survives_kill_9(tmp_path: Path) -> None:
    draw = random.Random(5)
    told: dict[int, str] = {}
    for turn in range(6):
        with program(WRITER, tmp_path, f"turn{turn}", 100_000) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(draw.uniform(0.005, 0.06))
            writer.kill()
            output = writer.stdout.read()
        lines = output.splitlines(keepends=True)
        # The program may have died while it printed.
        pairs = (line.split(maxsplit=1) for line in lines if line.endswith("\n"))
        told |= {int(number): goal.strip() for number, goal in pairs}
        log = DecisionLog(tmp_path)
        log.decide(decided(f"after({turn})"), b"x", NOW)
        kept = goals(tmp_path)
        assert {number: kept.get(number) for number in told} == told


def test_a_full_disk_writes_nothing_down_and_leaves_the_log_whole(tmp_path: Path) -> None:
    text = """
        import resource, signal, sys
        from pathlib import Path
        from constat.diagnostics import ConstatError
        from constat.store.decision_log import Decided, DecisionLog
        log = DecisionLog(Path(sys.argv[1]))
        log.decide(Decided("p(1)", "PROVED", "sha256:" + "0" * 64, "ada"), b"", sys.argv[2])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = log.path.stat().st_size + 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            log.decide(Decided("p(2)", "PROVED", "sha256:" + "0" * 64, "ada"), b"", sys.argv[2])
        except ConstatError as problem:
            print(problem.diagnostics[0].code)
    """
    with program(text, tmp_path, NOW) as process:
        output, _ = process.communicate(timeout=60)
    assert output == "C0750\n"
    assert goals(tmp_path) == {1: "p(1)"}
    assert DecisionLog(tmp_path).decide(decided("p(3)"), b"", NOW).sequence == 2


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_an_error_of_the_disk_is_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided("p(1)"), b"", NOW)
    whole = getattr(os, call)

    def broken(descriptor: int, *rest: bytes) -> int:
        if call == "write":
            whole(descriptor, bytes(rest[0])[:20])
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, broken)
    with pytest.raises(ConstatError, match="Input/output error") as caught:
        log.decide(decided("p(2)"), b"", NOW)
    assert caught.value.diagnostics[0].code == "C0750"
    monkeypatch.undo()
    assert goals(tmp_path) == {1: "p(1)"}


def test_a_torn_line_is_moved_aside_and_noted(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided("p(1)"), b"", NOW)
    log.decide(decided("p(2)"), b"", NOW)
    content = log.path.read_bytes()
    lines = content.splitlines(keepends=True)
    for cut in (1, 50, len(lines[-1]) - 1):
        log.path.write_bytes(content[:-cut])
        report = log.check()
        assert report is not None
        assert "torn" in report.problems[0]
        # Those who read see the entries before it.
        assert len(log.records()) == 2
        entry = log.decide(decided("p(3)"), b"", NOW)
        assert entry.sequence == 3
        assert goals(tmp_path) == {1: "p(1)", 3: "p(3)"}
        note = log.records()[2].entry
        assert note.kind == "repair"
        assert note.body is not None
        assert (tmp_path / note.body["file"]).read_bytes() == lines[-1][:-cut]
        after = log.check()
        assert after is not None
        assert after.repairs == 1


def test_zeros_that_a_crash_left_at_the_end_are_moved_aside_too(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided("p(1)"), b"", NOW)
    with log.path.open("ab") as stream:
        stream.write(bytes(4_096))
    log.decide(decided("p(2)"), b"", NOW)
    assert goals(tmp_path) == {1: "p(1)", 3: "p(2)"}


def test_a_crash_while_a_torn_line_is_moved_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = DecisionLog(tmp_path)
    log.decide(decided("p(1)"), b"", NOW)
    torn = log.path.read_bytes()[:-9]
    log.path.write_bytes(log.path.read_bytes() + torn[-40:])
    before = log.path.read_bytes()
    whole = os.replace

    def broken(source: str, target: str) -> None:
        if str(target).endswith("log.jsonl"):
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(source, target)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(ConstatError, match="No space left"):
        log.decide(decided("p(2)"), b"", NOW)
    assert log.path.read_bytes() == before
    monkeypatch.undo()
    log.decide(decided("p(2)"), b"", NOW)
    assert goals(tmp_path) == {1: "p(1)", 3: "p(2)"}


def test_a_folder_that_nobody_may_write_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConstatError) as caught:
        DecisionLog(tmp_path / "file" / "decisions").decide(decided("p(1)"), b"", NOW)
    assert caught.value.diagnostics[0].code == "C0750"
