"""The archive keeps every message, whatever happens to the programs that use it."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from constat.diagnostics import ConstatError
from constat.memory import (
    Archive,
    HeldAttachments,
    Message,
    Role,
    Text,
    from_anthropic,
    from_openai,
)
from constat.memory.messages import read, spelled
from tests.memory.logs import airline_dialogues, anthropic_logs, openai_logs

WRITER = """
    import sys
    from pathlib import Path
    from constat.memory import Archive, Message, Role, Text
    archive = Archive(Path(sys.argv[1]))
    print("ready", flush=True)
    for number in range(int(sys.argv[3])):
        text = f"{sys.argv[2]} {number} " + "word " * 300
        archive.append("s", [Message(Role.USER, (Text(text),)), Message(Role.USER, (Text("on"),))])
        print(number, flush=True)
"""


def said(*texts: str) -> list[Message]:
    return [Message(Role.USER, (Text(text),)) for text in texts]


def program(text: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@given(anthropic_logs(), openai_logs())
def test_a_message_is_read_as_it_was_spelled(
    log: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    for message in (*from_anthropic(log, HeldAttachments()), *from_openai(other)):
        spelling, texts = spelled(message)
        assert read(spelling, texts.__getitem__) == message


@settings(max_examples=8)
@given(openai_logs(), openai_logs())
def test_sessions_keep_their_own_messages(
    log: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    one, two = from_openai(log), from_openai(other)
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        assert archive.append("one", one) == tuple(range(len(one)))
        archive.append("two", two)
        assert archive.append("one", two) == tuple(range(len(one), len(one) + len(two)))
        again = Archive(Path(folder))
        assert again.messages("one") == one + two
        assert again.messages("one", len(one)) == two
        assert again.messages("two") == two
        assert again.sessions() == ("one", "two")


@pytest.mark.data
def test_public_dialogues_come_back_word_for_word(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    dialogues = [from_openai(log) for log in airline_dialogues()[:30]]
    for number, dialogue in enumerate(dialogues):
        archive.append(f"dialogue {number}", dialogue)
    for number, dialogue in enumerate(dialogues):
        assert archive.messages(f"dialogue {number}") == dialogue
    # The policy stands at the head of each of them, and once in the file.
    assert archive.path.stat().st_size < 1_000_000


def test_nothing_is_created_by_reading(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "nowhere")
    assert (archive.messages("s"), archive.count("s"), archive.sessions()) == ((), 0, ())
    with pytest.raises(KeyError):
        archive.get("sha256:0")
    assert not (tmp_path / "nowhere").exists()


def test_who_was_overtaken_is_told_and_keeps_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append("s", said("a", "b"), after=0)
    with pytest.raises(ConstatError, match="C0801"):
        archive.append("s", said("c"), after=1)
    assert archive.count("s") == 2
    archive.append("s", said("c"), after=2)
    assert archive.messages("s") == tuple(said("a", "b", "c"))


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_a_session_has_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConstatError, match="C0802"):
        Archive(tmp_path).append(name, said("a"))


def test_bytes_are_kept_by_their_digest_only(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    message = {"role": "user", "content": [image("AAEC")]}
    (read_back,) = from_anthropic([message], archive)
    reference = read_back.blocks[0].reference  # type: ignore[union-attr]
    assert Archive(tmp_path).get(reference) == b"\x00\x01\x02"
    with closing(sqlite3.connect(archive.path)) as file:
        file.execute("UPDATE contents SET content = x'00'")
        file.commit()
    with pytest.raises(ConstatError, match="C0800"):
        archive.get(reference)
    with pytest.raises(ValueError, match="digest"):
        archive.put("sha256:0", b"other")


def image(data: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


@pytest.mark.faults
def test_a_writer_killed_at_any_moment_has_kept_what_it_was_told_is_kept(tmp_path: Path) -> None:
    moments = random.Random(11)
    told = 0
    for turn in range(8):
        with program(WRITER, tmp_path, turn, 100_000) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.random() * 0.15)
            os.kill(process.pid, signal.SIGKILL)
            told += len([line for line in process.stdout.read().splitlines(keepends=True) if line])
        found = Archive(tmp_path).messages("s")
        assert len(found) % 2 == 0
        assert told <= len(found) // 2 <= told + turn + 1
        assert all(message.text == "on" for message in found[1::2])
    assert told > 0


@pytest.mark.faults
def test_two_programs_append_to_one_session_without_gaps(tmp_path: Path) -> None:
    processes = [program(WRITER, tmp_path, name, 25) for name in ("a", "b")]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    texts = [message.text for message in Archive(tmp_path).messages("s")]
    assert len(texts) == 100
    assert texts[1::2] == ["on"] * 50
    for name in ("a", "b"):
        own = [int(text.split()[1]) for text in texts[::2] if text.startswith(name)]
        assert own == list(range(25))


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path: Path) -> None:
    Archive(tmp_path).append("s", said("first"))
    text = """
        import resource, signal, sys
        from pathlib import Path
        from constat.diagnostics import ConstatError
        from constat.memory import Archive, Message, Role, Text
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        archive = Archive(Path(sys.argv[1]))
        try:
            archive.append("s", [Message(Role.USER, (Text("x" * 1_000_000),))])
        except ConstatError as problem:
            print(problem)
        print(archive.count("s"))
    """
    with program(text, tmp_path) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.startswith("C0800")
    assert output.splitlines()[-1] == "1"
    assert Archive(tmp_path).append("s", said("second")) == (1,)


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 4_000])
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    archive = Archive(tmp_path)
    archive.path.write_bytes(content)
    for use in (lambda: archive.count("s"), lambda: archive.append("s", said("a"))):
        with pytest.raises(ConstatError, match="C0800"):
            use()
    assert archive.path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    with closing(sqlite3.connect(archive.path)) as file:
        file.execute("CREATE TABLE theirs (x)")
        file.commit()
    with pytest.raises(ConstatError, match="no archive"):
        archive.append("s", said("a"))
