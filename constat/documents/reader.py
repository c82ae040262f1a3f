"""Read documents in a process of their own, which is bounded in memory and in time.

In: the format and the bytes of each document. Out: for each a `Parsed`, or the reason why there is
none. Started as `python -P -B -m constat.documents.reader MEMORY SECONDS PARENT`; in come frames
(format, bytes), out comes a line of JSON for each. Invariant: what a document does to its reader
costs that document, and no other one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import constat
from constat.diagnostics.interruption import bind_process
from constat.documents.parsed import Parsed, Section, Table, TableRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MEMORY: Final = 2 << 30
"""Bytes of address space of the process."""
SECONDS: Final = 30.0
"""How much time of a processor the reading of one document may take."""
_MODULE: Final = "constat.documents.reader"
_TOO_MUCH: Final = "reading it took too much time or memory"
Read = Parsed | str
"""A document, or why it cannot be read."""


def read_documents(
    documents: Sequence[tuple[str, bytes]],
    until: float,
    *,
    started: Callable[[subprocess.Popen[bytes]], None] = lambda _: None,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> list[Read]:
    """Read documents, given as format and bytes, until a monotonic time.

    `started` is told the process, so that somebody else can end it.
    """
    found: list[Read] = []
    while len(found) < len(documents):
        if time.monotonic() >= until:
            return [*found, *["the time limit was reached"] * (len(documents) - len(found))]
        left = documents[len(found) :]
        read = _read_some(left, until, started, (str(memory), str(seconds)))
        found += read
        if len(read) < len(left):
            late = time.monotonic() >= until
            found.append("the time limit was reached" if late else _TOO_MUCH)
    return found


def _read_some(
    documents: Sequence[tuple[str, bytes]],
    until: float,
    started: Callable[[subprocess.Popen[bytes]], None],
    bounds: tuple[str, str],
) -> list[Read]:
    """Read until the process ends, by itself or not; give what it has told until then."""
    process = subprocess.Popen(  # noqa: S603  our own interpreter and our own module
        [sys.executable, "-P", "-B", "-m", _MODULE, *bounds, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": str(Path(constat.__file__).resolve().parents[1])},
        start_new_session=True,
    )
    started(process)
    ending = threading.Timer(max(0.0, until - time.monotonic()), process.kill)
    ending.daemon = True
    ending.start()
    writing = threading.Thread(target=_send, args=(process.stdin, documents), daemon=True)
    writing.start()
    found: list[Read] = []
    try:
        for line in process.stdout or ():
            if not line.endswith(b"\n"):
                break
            found.append(_from_json(json.loads(line)))
    finally:
        ending.cancel()
        process.kill()
        process.wait()
        writing.join()
        if process.stdout is not None:
            process.stdout.close()
    return found


def _send(stream: BinaryIO, documents: Sequence[tuple[str, bytes]]) -> None:
    try:
        for kind, data in documents:
            stream.write(f"{kind} {len(data)}\n".encode() + data)
            stream.flush()
        stream.close()
    except OSError:
        # The process has ended; what it did not tell is not read.
        return


def _json(read: Read) -> object:
    if isinstance(read, str):
        return read
    return {
        "text": read.text,
        "title": read.title,
        "sections": [[one.title, one.level, one.start, one.end] for one in read.sections],
        "tables": [
            [
                one.header,
                [[row.cells, row.start, row.end] for row in one.rows],
                one.start,
                one.trouble,
            ]
            for one in read.tables
        ],
        "reader": read.reader,
        "marked": read.marked,
    }


def _from_json(told: str | Mapping[str, Any]) -> Read:
    if isinstance(told, str):
        return told
    return Parsed(
        told["text"],
        told["title"],
        tuple(Section(*one) for one in told["sections"]),
        tuple(
            Table(
                tuple(header),
                tuple(TableRow(tuple(cells), *place) for cells, *place in rows),
                start,
                trouble,
            )
            for header, rows, start, trouble in told["tables"]
        ),
        told["reader"],
        told["marked"],
    )


def main(arguments: Sequence[str]) -> None:
    """Read frames until the input ends; write a line for each."""
    from constat.documents import formats  # noqa: PLC0415  loaded when it is used

    memory, seconds, parent = int(arguments[0]), float(arguments[1]), int(arguments[2])
    bind_process(memory, parent)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # only our lines are written to the pipe, whatever a library prints
    while head := sys.stdin.buffer.readline():
        kind, size = head.split()
        data = sys.stdin.buffer.read(int(size))
        # The kernel ends this process, whatever code is running then.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            read: Read = formats.KINDS[kind.decode("ascii")](data)
        except formats.UnreadableError as problem:
            read = str(problem)
        except (MemoryError, RecursionError):
            read = _TOO_MUCH
        told = json.dumps(_json(read)).encode("ascii")
        signal.setitimer(signal.ITIMER_PROF, 0)
        output.write(told + b"\n")
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
