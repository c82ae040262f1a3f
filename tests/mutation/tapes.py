"""A DuckDB whose answers are known already, for copies that ask what the unbroken code asked.

In: a piece of work that opens one DuckDB. Out: a tape of what it asked and got. Played back, the
same questions get the same answers without a database; the first other question opens a real one,
asks it everything that was asked so far, and goes on with it. With one thread DuckDB gives the same
rows to the same statements. A function in Python is tried with every value it was called with, so a
break inside of it is another question too.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final, Self, cast

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HANDLES: Final = (duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation)


@dataclass(slots=True)
class Event:
    """A call: its object, name and arguments as bytes, and what came of it.

    `calls` are the values that a function of Python was called with, each with what came of it.
    """

    key: bytes
    outcome: tuple[str, bytes] = ("", b"")
    calls: dict[bytes, bytes] = field(default_factory=dict)


Tape = list[Event]


class _Real:
    """The calls so far and, where it had to be opened, the real database behind them."""

    def __init__(self, tape: Tape | None) -> None:
        self.tape = tape
        self.recorded: Tape = []
        self.calls: list[tuple[int, str, tuple[Any, ...]]] = []
        self.objects: list[Any] = []
        self.count = 0
        self.complete = True

    def ask(self, owner: int, name: str, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        """Make a call, or give what came of it when the tape was recorded."""
        at = len(self.calls)
        self.calls.append((owner, name, arguments))
        if self.tape is not None and not self.objects:
            event = self.tape[at] if at < len(self.tape) else None
            same = event is not None and event.key == _key(owner, name, arguments)
            if event is not None and same and name == "create_function":
                same = _agrees(arguments[1], event.calls)
            if event is not None and same:
                return self._played(owner, event)
            self._catch_up()
        return self._made(at)

    def _played(self, owner: int, event: Event) -> Any:  # noqa: ANN401
        kind, found = event.outcome
        value = pickle.loads(found)  # noqa: S301  written by this program
        if kind == "error":
            raise cast("Exception", value)
        if kind == "handle":
            return self._handle(owner if value else None)
        return value

    def _handle(self, same: int | None, real: Any = None) -> Proxy:  # noqa: ANN401
        if same is not None:
            return Proxy(self, same)
        number, self.count = self.count, self.count + 1
        if real is not None:
            self.objects.append(real)
        return Proxy(self, number)

    def _catch_up(self) -> None:
        """Open a real database and ask it everything but the last call."""
        assert self.tape is not None
        count, self.count = self.count, 0
        for owner, name, arguments in self.calls[:-1]:
            found, error = self._called(owner, name, arguments)
            if error is None and _is_handle(found) and found is not self._of(owner):
                self._handle(None, found)
        assert self.count == count

    def _of(self, owner: int) -> Any:  # noqa: ANN401
        return self.objects[owner] if owner >= 0 else None

    def _called(
        self, owner: int, name: str, arguments: tuple[Any, ...]
    ) -> tuple[Any, Exception | None]:
        try:
            if owner < 0:
                given, named = arguments
                return _CONNECT(*given, **named), None
            return getattr(self.objects[owner], name)(*arguments), None
        except Exception as problem:  # noqa: BLE001  it is given to whoever called
            return None, problem

    def _made(self, at: int) -> Any:  # noqa: ANN401
        owner, name, arguments = self.calls[at]
        event = Event(_key(owner, name, arguments))
        self.complete = self.complete and bool(event.key)
        if self.tape is None and name == "create_function":
            arguments = (arguments[0], _listening(arguments[1], event.calls), *arguments[2:])
        found, error = self._called(owner, name, arguments)
        is_handle = error is None and _is_handle(found)
        same = is_handle and found is self._of(owner)
        if self.tape is None and self.complete:
            kind = "error" if error is not None else "handle" if is_handle else "value"
            event.outcome = (kind, pickle.dumps(error or (same if is_handle else found)))
            self.recorded.append(event)
        if error is not None:
            raise error
        return self._handle(owner if same else None, found) if is_handle else found


class Proxy:
    """An object of DuckDB's, of which there may be none."""

    def __init__(self, real: _Real, number: int) -> None:
        self._real = real
        self._number = number

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._real.ask(self._number, name, arguments)

    def __enter__(self) -> Self:
        self._real.ask(self._number, "__enter__", ())
        return self

    def __exit__(self, *raised: object) -> None:
        self._real.ask(self._number, "__exit__", raised)

    def interrupt(self) -> None:
        """End what runs, if anything does."""
        if self._real.objects:
            self._real.objects[self._number].interrupt()

    def close(self) -> None:
        """Close what is open; nothing is asked after it."""
        if self._real.objects:
            self._real.objects[self._number].close()


_CONNECT: Final = duckdb.connect


def _is_handle(found: object) -> bool:
    return isinstance(found, _HANDLES) or hasattr(found, "append_rows")


def _key(owner: int, name: str, arguments: tuple[Any, ...]) -> bytes:
    """Spell a call; empty where it cannot be spelled, and so is like no other."""
    if name == "create_function":
        arguments = (arguments[0], *arguments[2:])
    if name == "__exit__":
        arguments = tuple(one is None for one in arguments)
    try:
        return f"{owner} {name} ".encode() + _plain(arguments)
    except Exception:  # noqa: BLE001  whatever cannot be spelled
        return b""


def _plain(value: object) -> bytes:
    if isinstance(value, tuple | list):
        return b"(" + b",".join(map(_plain, value)) + b")"
    if isinstance(value, dict):
        return b"{" + b",".join(_plain(pair) for pair in value.items()) + b"}"
    if value is None or isinstance(value, str | int | float | bytes):
        return repr(value).encode("utf-8", "backslashreplace")
    return pickle.dumps(value)


def _listening(function: Callable[..., Any], calls: dict[bytes, bytes]) -> Callable[..., Any]:
    def compute(*values: object) -> object:
        found, error = _tried(function, values)
        calls[pickle.dumps(values)] = _told(found, error)
        if error is not None:
            raise error
        return found

    compute.__annotations__ = {}
    places = Signature.from_callable(function).parameters
    listed = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in places]
    compute.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # DuckDB looks there
    return compute


def _agrees(function: Callable[..., Any], calls: dict[bytes, bytes]) -> bool:
    """Tell whether a function does what another one did."""
    return all(
        _told(*_tried(function, pickle.loads(values))) == told  # noqa: S301  as above
        for values, told in calls.items()
    )


def _tried(function: Callable[..., Any], values: tuple[object, ...]) -> tuple[Any, Any]:
    try:
        return function(*values), None
    except Exception as problem:  # noqa: BLE001  it is compared
        return None, problem


def _told(found: object, error: Exception | None) -> bytes:
    return _plain((found, type(error).__name__))


@contextmanager
def played(tape: Tape | None) -> Iterator[_Real]:
    """Let `duckdb.connect` play a tape back, or record one where there is none."""
    real = _Real(tape)
    duckdb.connect = lambda *given, **named: real.ask(-1, "connect", (given, named))
    try:
        yield real
    finally:
        duckdb.connect = _CONNECT
