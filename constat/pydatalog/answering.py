"""Ask pyDatalog for answers, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import constat
from constat.analysis import AnalysedProgram
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import (
    Answer,
    CallFinished,
    CallStarted,
    Demand,
    Externals,
    Limits,
    Observer,
    ignore_event,
)
from constat.frozen import frozen
from constat.logic import Atom, Predicate, Row, has_null_cells
from constat.pydatalog.translation import needed, refusals, translate
from constat.pydatalog.wire import LENGTH, SECONDS, Incoming, read_answer, write_question

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
            if not hasattr(os, "killpg"):
                raise NoAnswerError("this system cannot bound and end the process that answers")
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


# A predicate with an opening, without a complete answer, or with a row that rests on an assumption
# gives a refusal (C0422) and never a smaller table: absence would become false. Cheap predicates
# are asked first, so that a refusal costs little.

UNRESOLVED = 4
"""The exit code: open facts are no construct of the language, so 78 is not theirs."""


def closed_facts(
    program: AnalysedProgram,
    names: Iterable[str],
    externals: Externals,
    limits: Limits,
    observe: Observer,
) -> dict[str, tuple[Row, ...]]:
    """Ask for everything; raises `ConstatError` for what is open, `NoAnswerError` at a limit."""
    deadline = time.monotonic() + limits.seconds
    wanted = [name for name in names if name in program.external]
    # A predicate that no tier answers has no cost; it is refused first.
    wanted.sort(key=lambda name: externals[name].cost if name in externals else 0)
    if len(wanted) > limits.calls:
        raise NoAnswerError(f"the limit of {limits.calls:,} calls was reached")
    found: dict[str, tuple[Row, ...]] = {}
    for number, name in enumerate(wanted, 1):
        predicate = program.program.predicates[name]
        answer = _asked(number, predicate, externals, observe)
        reason = _open(answer)
        if reason:
            raise ConstatError([_refused(predicate, reason)], exit_code=UNRESOLVED)
        found[name] = tuple(
            dict.fromkeys(row for portion in answer.portions for row in portion.rows)
        )
        if sum(map(len, found.values())) > limits.rows:
            raise NoAnswerError(f"the limit of {limits.rows:,} rows was reached")
        if time.monotonic() > deadline:
            raise NoAnswerError("the time limit was reached while facts were fetched")
    return found


def _asked(number: int, predicate: Predicate, externals: Externals, observe: Observer) -> Answer:
    external = externals.get(predicate.name)
    if external is None:
        return Answer()
    observe(CallStarted(predicate.name, (), 1))
    start = time.monotonic()
    answer = external.answer(Demand(predicate, (), ((),)))
    rows = sum(len(portion.rows) for portion in answer.portions)
    seconds = time.monotonic() - start
    openings = len(answer.openings)
    observe(CallFinished(number, predicate.name, (), 1, rows, openings, seconds))
    return answer


def _open(answer: Answer) -> str:
    """Say why an answer is not a closed table of facts; nothing when it is one."""
    for opening in answer.openings:
        word = "" if opening.assumption is None else f" ({opening.assumption.text})"
        return f"there may be more rows: {opening.reason}{word}"
    if () not in answer.answered:
        return "no tier speaks for all of its rows"
    for portion in answer.portions:
        if portion.assumption is not None and portion.rows:
            return f"rows rest on an assumption: {portion.assumption.text}"
        if any(map(has_null_cells, portion.rows)):
            return "rows have cells without a value"
    return ""


def _refused(predicate: Predicate, reason: str) -> Diagnostic:
    span = predicate.span if predicate.source is None else predicate.source.span or predicate.span
    return Diagnostic(
        "C0422",
        f"pyDatalog takes closed facts only, and `{predicate.name}` is open",
        span,
        label="not all of its rows are known for certain",
        note=reason,
        help="leave `--engine` out: Constat's own engine says what holds all the same",
    )


# A run that was stopped has no answer; it never counts as "no". pyDatalog does not always end,
# even without functions, so the limit is not optional.

REFUSED: Final = 78
"""The exit code of a construct that is refused on purpose."""

MEMORY: Final = 2 << 30
"""Bytes of address space for the child."""


@frozen
class AnswerSet:
    """The rows that match a goal, or why there is no answer.

    `stopped` is empty when pyDatalog came to its end, so that `rows` are all there are.
    """

    goal: Atom
    rows: frozenset[Row]
    stopped: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether some row matches; `None` when there is no answer."""
        return None if self.stopped else bool(self.rows)


class PyDatalogEngine:
    """Answers goals by pyDatalog. Keeps its child between goals; `close` ends it. For one thread.

    `memory` is in bytes of address space. Without a `close` the child ends with this process.
    """

    def __init__(self, *, memory: int = MEMORY) -> None:
        self._worker = Worker(memory)

    def answers(
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        observe: Observer = ignore_event,
    ) -> AnswerSet:
        """Fetch all facts the goal depends on, then ask. `limits.seconds` bounds both together."""
        deadline = time.monotonic() + limits.seconds
        names = needed(program, goal)
        refused = refusals(program, names)
        if refused:
            raise ConstatError(refused, exit_code=REFUSED)
        try:
            rows = closed_facts(program, names, externals, limits, observe)
            question = translate(program, goal, rows)
            left = deadline - time.monotonic()
            reply = self._worker.exchange(write_question(question), left)
        except NoAnswerError as problem:
            return AnswerSet(goal, frozenset(), str(problem))
        found = read_answer(reply, question.kinds)
        if isinstance(found, str):
            return AnswerSet(goal, frozenset(), found)
        return AnswerSet(goal, found)

    def close(self) -> None:
        """End the child. The engine may be used again; it starts another."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answers(
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    observe: Observer = ignore_event,
) -> AnswerSet:
    """Answer one goal with a child of its own."""
    with PyDatalogEngine() as engine:
        return engine.answers(program, goal, externals, limits, observe=observe)
