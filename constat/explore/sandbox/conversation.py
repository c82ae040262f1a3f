"""What is said with one step: its code goes in, questions come out, and at the end a result.

In: a step and its socket. Out: `Run`. Invariants: whatever the step does, the conversation ends a
little after the step's time; not more is read than was agreed; a frame that was not agreed ends
it; what the step says is believed only as far as `untrusted` allows. Example: a step that sends two
results has broken the protocol and left nothing.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any, Final

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.diagnostics import ConstatError
from constat.explore.sandbox.step import Code, ErrorKind, Level, QueryRun, Run, StepError
from constat.explore.sandbox.untrusted import (
    UntrustedError,
    read_error,
    read_notes,
    read_state,
    read_tables,
    safe_text,
)
from constat.explore.sandbox.wire import Frame, WireError, packed, received
from constat.store.tables_checking import is_scalar
from constat.store.tables_format import encode

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from constat.explore.sandbox.step import Parameter, Source, StepLimits
    from constat.store.tables_values import Scalar

_SECONDS_OF_GRACE: Final = 1.0
_CHUNK: Final = 1 << 16
_LONGEST_QUERY: Final = 64 << 10
_MOST_PARAMETERS: Final = 1_000
_LONGEST_PARAMETER: Final = 1 << 20


class _BrokenError(Exception):
    """The step did not keep to what was agreed."""


class Conversation:
    """The conversation with one step."""

    def __init__(self, code: Code, limits: StepLimits, sources: Mapping[str, Source]) -> None:
        self.code = code
        self._limits = limits
        self._sources = sources
        self._until = 0.0
        self._output = bytearray()
        self._cut = 0
        self._queries: list[QueryRun] = []
        self._result: Frame | None = None
        self._broken = ""
        self._late = False

    def hold(self, link: socket.socket, output: int) -> bool:
        """Talk until the step ends; `False` where it has to be killed."""
        self._until = time.monotonic() + self._limits.seconds + _SECONDS_OF_GRACE
        try:
            self._send(link, self._first())
            self._listen(link, output)
        except (WireError, _BrokenError) as problem:
            self._broken = str(problem)
            return False
        except TimeoutError:
            self._late = True
            return False
        except OSError:
            # The step has closed its end: how it ended is told by its process.
            self._drain(output)
        return True

    def _first(self) -> bytes:
        tables = [encode(table) for table in self.code.inputs.values()]
        told = {
            "code": self.code.text,
            "names": list(self.code.inputs),
            "lengths": [len(one) for one in tables],
            "state": dict(self.code.state),
            "outputs": list(self.code.outputs),
            "databases": list(self.code.databases),
            "plots": self._limits.plots,
        }
        return packed("step", told, b"".join(tables))

    def _listen(self, link: socket.socket, output: int) -> None:
        waiting: list[Any] = [link, output]
        while waiting:
            ready, _, _ = select.select(waiting, [], [], self._left())
            if not ready:
                raise TimeoutError
            if output in ready and not self._read_output(output):
                waiting.remove(output)
            if link in ready and not self._read_frame(link):
                waiting.remove(link)

    def _read_output(self, output: int) -> bool:
        part = os.read(output, _CHUNK)
        room = self._limits.output - len(self._output)
        self._output += part[:room]
        self._cut += len(part) - len(part[:room])
        return bool(part)

    def _drain(self, output: int) -> None:
        os.set_blocking(output, False)
        try:
            while self._read_output(output) and self._left() > 0:
                pass
        except BlockingIOError:
            pass

    def _read_frame(self, link: socket.socket) -> bool:
        def exactly(count: int) -> bytes:
            parts = []
            while count:
                link.settimeout(self._left())
                part = link.recv(min(count, 1 << 20))
                if not part:
                    break
                parts.append(part)
                count -= len(part)
            return b"".join(parts)

        frame = received(exactly, self._limits.bytes)
        if frame is None:
            return False
        if frame.kind == "query" and self._result is None:
            self._send(link, self._answer(frame))
        elif frame.kind == "result" and self._result is None:
            self._result = frame
        else:
            raise _BrokenError("the step sent what was not agreed")
        return True

    def _send(self, link: socket.socket, content: bytes) -> None:
        link.settimeout(self._left())
        link.sendall(content)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _answer(self, frame: Frame) -> bytes:
        """Run a query and spell its answer."""
        database, text, parameters = self._query(frame.told)
        if len(self._queries) >= self._limits.queries:
            raise _BrokenError(f"the step asked more than {self._limits.queries} queries")
        started = time.monotonic()
        rows, digest, body, error = 0, "", b"", ("", "")
        try:
            table = self._sources[database](text, parameters, self._left())
            body = encode(table)
            rows, digest = table.rows, table.sha256
            if rows > self._limits.rows or len(body) > self._limits.bytes:
                error = ("query", f"it gives more than {self._limits.rows} rows, or too many bytes")
        except QueryMistakeError as problem:
            error = ("query", f"{problem.reason}{f'; {problem.help}' if problem.help else ''}")
        except SourceFailureError as problem:
            error = ("connection", problem.reason)
        except ConstatError as problem:
            error = ("query", str(problem))
        seconds = time.monotonic() - started
        self._queries.append(QueryRun(database, text, parameters, rows, digest, seconds, error[1]))
        if error[0]:
            return packed("rows", {"error": error[0], "message": error[1]})
        return packed("rows", {}, body)

    def _query(self, told: dict[str, Any]) -> tuple[str, str, tuple[Parameter, ...]]:
        database, text, parameters = (
            told.get("database"),
            told.get("text"),
            told.get("parameters"),
        )
        named = isinstance(database, str) and database in self.code.databases
        worded = isinstance(text, str) and len(text) <= _LONGEST_QUERY
        if not named or not worded or not _are_parameters(parameters):
            raise _BrokenError("the step asked for what it may not have")
        return str(database), str(text), tuple(parameters or ())

    def outcome(self, code: str, level: Level, seconds: float, status: int | None) -> Run:
        """Give the result; `status` is how the process ended, `None` where it was killed."""
        shown = safe_text(self._output.decode("utf-8", "replace"), self._limits.output)
        if self._cut:
            shown += f"\n[... {self._cut} more bytes of output were cut]\n"
        run = Run(code, level, seconds, output=shown, queries=tuple(self._queries))
        result = self._result
        if self._broken:
            return _failed(run, ErrorKind.PROTOCOL, self._broken)
        if self._late:
            message = f"it did not end within {self._limits.seconds:g} s"
            return _failed(run, ErrorKind.TIMEOUT, message)
        if status is None:
            return _failed(run, ErrorKind.KILLED, "it said no more, and had to be ended")
        if result is None or status:
            return _failed(run, *_ending(status))
        if "error" in result.told:
            error = read_error(
                result.told["error"], retry_connections=self._limits.retry_connections
            )
            return _with_error(run, error)
        try:
            return self._succeeded(run, result)
        except UntrustedError as problem:
            return _failed(run, ErrorKind.RESULT, str(problem))

    def _succeeded(self, run: Run, result: Frame) -> Run:
        tables, plots = read_tables(result.told, result.body, self._limits)
        state = read_state(result.told.get("state"))
        for name in self.code.outputs:
            if name not in tables and name not in state:
                raise UntrustedError(f"the step did not leave `{name}`")
        scalars: dict[str, Scalar] = {
            name: state[name]
            for name in self.code.outputs
            if name in state and is_scalar(state[name])
        }
        return Run(
            *(run.code, run.level, run.seconds, tables, state, scalars),
            notes=read_notes(result.told.get("notes")),
            output=run.output,
            plots=plots,
            queries=run.queries,
        )


def _are_parameters(told: object) -> bool:
    if not isinstance(told, list) or len(told) > _MOST_PARAMETERS:
        return False
    return all(
        type(one) is int or (isinstance(one, str) and len(one) <= _LONGEST_PARAMETER)
        for one in told
    )


def _ending(status: int) -> tuple[ErrorKind, str]:
    """Say what a process that left no result died of."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in {signal.SIGXCPU, signal.SIGALRM}:
            return ErrorKind.TIMEOUT, "it used up its time"
        return ErrorKind.KILLED, f"it was ended by the signal {signal.Signals(number).name}"
    return ErrorKind.KILLED, "it ended without a result"


def _failed(run: Run, kind: ErrorKind, message: str) -> Run:
    return _with_error(run, StepError(kind, message))


def _with_error(run: Run, error: StepError) -> Run:
    return Run(
        run.code, run.level, run.seconds, output=run.output, queries=run.queries, error=error
    )
