"""A child process that can always be ended.

In: a question as bytes and the seconds it may take. Out: the reply's bytes, or `NoAnswerError` with
a reason. Invariants: after a stop, an interruption or `close` no process and no zombie is left; the
child starts from a clean interpreter, never by a fork of this one (a fork of threads may deadlock),
and with an environment that holds nothing of ours, because variables may be passwords.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, Self

import constat
from constat.pydatalog.framing import LENGTH, SECONDS, Incoming

MODULE: Final = "constat.pydatalog.child"
LARGEST_REPLY: Final = 64 << 20
"""Bytes."""

_CHUNK: Final = 1 << 16
_LONGEST: Final = 1e6
"""Seconds: clocks of the kernel take no infinity."""


class NoAnswerError(Exception):
    """The run was stopped or ended by itself; `str()` is the reason."""


class Worker:
    """One child, started when it is first needed, and anew after a stop. For one thread."""

    def __init__(self, memory: int, *, largest_reply: int = LARGEST_REPLY) -> None:
        self._memory = memory
        self._largest = largest_reply
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the child that runs at present."""
        return None if self._process is None else self._process.pid

    def exchange(self, request: bytes, seconds: float) -> bytes:
        """Send a question and wait for the reply."""
        if seconds <= 0:
            raise NoAnswerError("the time limit was reached before pyDatalog was asked")
        seconds = min(seconds, _LONGEST)
        deadline = time.monotonic() + seconds
        body = SECONDS.pack(seconds) + request
        try:
            return self._talk(self._started(), LENGTH.pack(len(body)) + body, deadline)
        except TimeoutError:
            raise NoAnswerError(f"the time limit was reached after {seconds:.1f} seconds") from None
        except OSError:
            raise NoAnswerError("the child process could not be started or reached") from None

    def close(self) -> None:
        """End the child and whatever it started, and wait for it."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # -P: no module of the folder that somebody stands in. -B: it may write no file.
            command = [sys.executable, "-P", "-B", "-m", MODULE, str(self._memory)]
            self._process = subprocess.Popen(  # noqa: S603  our own interpreter and our own module
                [*command, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={"PYTHONPATH": str(Path(constat.__file__).resolve().parents[1])},
                # A group of its own: it is ended as a whole, and Ctrl-C comes to us alone.
                start_new_session=True,
            )
        return self._process

    def _talk(self, process: subprocess.Popen[bytes], frame: bytes, deadline: float) -> bytes:
        finished = False
        try:
            reply = _exchange(process, frame, deadline, self._largest)
            finished = True
        finally:
            # Whatever came between, Ctrl-C included: a child that still works is ended.
            if not finished:
                self.close()
        return reply


def _exchange(
    process: subprocess.Popen[bytes], frame: bytes, deadline: float, largest: int
) -> bytes:
    """Write and read at once: a child may answer before it has read everything."""
    if process.stdin is None or process.stdout is None:
        raise TypeError("a child without pipes")
    target, source = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(target, False)
    os.set_blocking(source, False)
    left, incoming = memoryview(frame), Incoming(largest)
    with selectors.DefaultSelector() as waiting:
        waiting.register(source, selectors.EVENT_READ)
        waiting.register(target, selectors.EVENT_WRITE)
        while not incoming.complete:
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if not ready or time.monotonic() > deadline:
                raise TimeoutError
            for key, _ in ready:
                if key.fd == target:
                    left = _sent(target, left)
                    if not left:
                        waiting.unregister(target)
                else:
                    _receive(process, incoming)
    return incoming.body


def _sent(target: int, left: memoryview) -> memoryview:
    try:
        return left[os.write(target, left[:_CHUNK]) :]
    except BrokenPipeError:
        # The child has ended; how, is told when its output ends too.
        return left[:0]


def _receive(process: subprocess.Popen[bytes], incoming: Incoming) -> None:
    if process.stdout is None:
        raise TypeError("a child without pipes")
    read = os.read(process.stdout.fileno(), _CHUNK)
    if not read:
        raise NoAnswerError(f"pyDatalog ended without an answer ({_ending(process)})")
    incoming.add(read)
    if incoming.too_large:
        raise NoAnswerError(f"the answer is larger than {incoming.largest >> 20:,} MiB")


def _ending(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout=1.0)
        if code < 0:
            return f"signal {-code}"
        return f"exit code {code}"
    return "it closed its output"
