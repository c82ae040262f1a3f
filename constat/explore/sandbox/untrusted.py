r"""Read what a step says of itself: bounded, typed, and harmless to look at.

In: what came out of the sandbox. Out: values, or `UntrustedError`. Invariants: text has no control
character but newlines and tabs, so that it does nothing to a terminal; tables have the names,
kinds and sizes that may be; a picture is a PNG of bounded size. Example: `safe_text("a\x1b[2J")`
is `a\x1b[2J` written out.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from constat.explore.sandbox.step import ErrorKind, Plot, StepError
from constat.explore.sandbox.wire import WireError, pieces
from constat.store.tables_checking import is_json, is_name
from constat.store.tables_format import Table, TableError, decode

if TYPE_CHECKING:
    from constat.explore.sandbox.step import StepLimits

_LONGEST_TITLE: Final = 100
_LONGEST_NOTE: Final = 10_000
_LONGEST_TRACEBACK: Final = 25_000
_LONGEST_MESSAGE: Final = 2_000
_LONGEST_VALUE: Final = 1_000
_MOST_VARIABLES: Final = 40
_MOST_NAMES: Final = 1_000
_LARGEST_PICTURE: Final = 16 << 20
_WIDEST_PICTURE: Final = 10_000
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_SIZES: Final = struct.Struct(">II")
_SIZES_AT: Final = 16


class UntrustedError(ValueError):
    """What came is not what a step may say; the message quotes nothing of it."""


def safe_text(text: str, longest: int) -> str:
    """Write out what is no printable character, and cut what is too long."""
    cut = text[:longest]
    shown = cut if cut.isprintable() else "".join(map(_shown, cut))
    return shown if len(text) <= longest else f"{shown}[...]"


def _shown(letter: str) -> str:
    if letter.isprintable() or letter in "\n\t":
        return letter
    return letter.encode("unicode_escape").decode()


def read_error(told: object, *, retry_connections: bool) -> StepError:
    """Read what a step tells of its failure."""
    found = told if isinstance(told, dict) else {}
    line = found.get("line")
    return StepError(
        _kind(found.get("kind")),
        safe_text(_text(found.get("message")), _LONGEST_MESSAGE),
        line if type(line) is int and 0 <= line < 1 << 31 else 0,
        safe_text(_text(found.get("traceback")), _LONGEST_TRACEBACK),
        _variables(found.get("variables")),
        retry_connections,
    )


def _kind(told: object) -> ErrorKind:
    try:
        return ErrorKind(told)
    except ValueError:
        return ErrorKind.OTHER


def _variables(told: object) -> tuple[tuple[str, str], ...]:
    listed = told if isinstance(told, list) else []
    found = []
    for one in listed[:_MOST_VARIABLES]:
        match one:
            case [str(name), str(shown)]:
                pair = (safe_text(name, _LONGEST_TITLE), safe_text(shown, _LONGEST_VALUE))
                found.append(pair)
            case _:
                pass
    return tuple(found)


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def read_tables(
    told: dict[str, Any], body: bytes, limits: StepLimits
) -> tuple[dict[str, Table], tuple[Plot, ...]]:
    """Read the tables and pictures of a result."""
    tables, plots = _listed(told.get("tables")), _listed(told.get("plots"))
    try:
        parts = pieces(body, [length for _, length in (*tables, *plots)])
        read = [decode(part) for part in parts[: len(tables)]]
    except (WireError, TableError) as problem:
        raise UntrustedError(str(problem)) from None
    names = [name for name, _ in tables]
    if not all(map(is_name, names)) or len(set(names)) != len(names):
        raise UntrustedError("the name of a table is not one")
    if any(table.rows > limits.rows for table in read):
        raise UntrustedError(f"a table has more than {limits.rows} rows")
    pictures = [
        _plot(name, part) for (name, _), part in zip(plots, parts[len(tables) :], strict=True)
    ]
    if len(pictures) > limits.plots:
        raise UntrustedError(f"there are more than {limits.plots} pictures")
    return dict(zip(names, read, strict=True)), tuple(pictures)


def _listed(told: object) -> list[tuple[str, int]]:
    if not isinstance(told, list) or len(told) > _MOST_NAMES:
        raise UntrustedError("the list of tables is not what was agreed")
    found = []
    for one in told:
        match one:
            case [str(name), int(length)]:
                found.append((name, length))
            case _:
                raise UntrustedError("the list of tables is not what was agreed")
    return found


def _plot(name: str, content: bytes) -> Plot:
    if not content.startswith(_PNG) or not _SIZES_AT + 8 <= len(content) <= _LARGEST_PICTURE:
        raise UntrustedError("a picture is no PNG, or too large")
    if max(_SIZES.unpack_from(content, _SIZES_AT)) > _WIDEST_PICTURE:
        raise UntrustedError("a picture is too large")
    return Plot(safe_text(name, _LONGEST_TITLE), content)


def read_state(told: object) -> dict[str, Any]:
    """Read the state variables of a result."""
    if not isinstance(told, dict) or len(told) > _MOST_NAMES or not is_json(told):
        raise UntrustedError("the state variables are not what was agreed")
    if not all(map(is_name, told)):
        raise UntrustedError("the name of a state variable is not one")
    return told


def read_notes(told: object) -> tuple[str, ...]:
    """Read the lines for the scratchpad."""
    if not isinstance(told, list) or len(told) > _MOST_NAMES:
        raise UntrustedError("the notes are not what was agreed")
    return tuple(safe_text(_text(one), _LONGEST_NOTE) for one in told)
