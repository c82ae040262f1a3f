"""The child process: reads questions, asks pyDatalog, writes answers, until its input ends.

Started as `python -P -B -m constat.pydatalog.child MEMORY PARENT`. In and out: frames, which are
eight bytes of length, then the bytes; in front of each question stand the seconds it may take.
Invariant: only frames are written to the pipe, whatever a library prints.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

from constat.diagnostics.bounds import bind_process, bind_time, unbind_time
from constat.logic import EvaluationError
from constat.pydatalog.framing import LENGTH, SECONDS
from constat.pydatalog.inside import solve
from constat.pydatalog.wire import read_question, write_reason, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent closes the pipe."""
    memory, parent = int(arguments[0]), int(arguments[1])
    bind_process(memory, parent)
    with _own_output() as output:
        while (request := _frame(sys.stdin.buffer)) is not None:
            bind_time(*SECONDS.unpack_from(request))
            reply = answer(request[SECONDS.size :], memory)
            unbind_time()
            output.write(LENGTH.pack(len(reply)) + reply)
            output.flush()


def answer(request: bytes, memory: int) -> bytes:
    """Answer one question."""
    try:
        question = read_question(request)
        return write_rows(solve(question), question.kinds)
    except EvaluationError as problem:
        return write_reason(f"a rule instance errs: {problem}")
    except MemoryError:
        return write_reason(f"the memory limit of {memory >> 20:,} MiB was reached")
    except Exception as problem:  # noqa: BLE001  the child's boundary: the reason crosses, the message may hold outside bytes
        return write_reason(f"pyDatalog failed ({type(problem).__name__})")


def _own_output() -> BinaryIO:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _frame(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return stream.read(length)


if __name__ == "__main__":
    main(sys.argv[1:])
