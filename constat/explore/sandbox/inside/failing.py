"""What a step tells of its own failure: kind, line, traceback, and what its variables held.

In: an exception and the names of the step. Out: a bounded table for JSON. Invariant: whatever an
exception or a variable does when it is looked at, something bounded comes out. Example:
`{"kind": "missing column", "line": 2, "message": "'revnue'", ...}`.
"""

from __future__ import annotations

import linecache
import reprlib
import sys
import traceback
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from constat.explore.sandbox.inside.asking import (
    Database,
    QueryRefusedError,
    SourceUnavailableError,
)
from constat.explore.sandbox.inside.holding import MissingTableError, Store, UnfitResultError
from constat.explore.sandbox.inside.importing import BlockedImportError

if TYPE_CHECKING:
    from types import TracebackType

STEP_NAME: Final = "<step>"
_LONGEST_TRACEBACK: Final = 20_000
_LONGEST_MESSAGE: Final = 2_000
_LONGEST_VALUE: Final = 800
_MOST_VARIABLES: Final = 40
_SHOWN_ROWS: Final = 3


class StepTimeoutError(BaseException):
    """The time of the step is up."""


# The first that fits; those of the libraries come before the classes that they extend.
_KINDS: Final = (
    (StepTimeoutError, "timeout"),
    (BlockedImportError, "blocked import"),
    (SyntaxError, "syntax"),
    (MissingTableError, "missing table"),
    (UnfitResultError, "result"),
    (QueryRefusedError, "query"),
    (SourceUnavailableError, "connection"),
    (MemoryError, "memory"),
    (PermissionError, "blocked call"),
    (NameError, "name"),
    (AttributeError, "attribute"),
    (TypeError, "type"),
    (ArithmeticError, "arithmetic"),
    (ValueError, "value"),
)


def remember_source(text: str) -> None:
    """Have tracebacks show the lines of the step."""
    linecache.cache[STEP_NAME] = (len(text), None, text.splitlines(keepends=True), STEP_NAME)


def told_error(problem: BaseException, names: dict[str, Any]) -> dict[str, Any]:
    """Tell what went wrong."""
    return {
        "kind": _kind(problem),
        "message": _message(problem),
        "line": _line(problem),
        "traceback": _traceback(problem),
        "variables": described(names),
    }


def _kind(problem: BaseException) -> str:
    if isinstance(problem, KeyError) and _within_pandas(problem.__traceback__):
        return "missing column"
    for one, kind in _KINDS:
        if isinstance(problem, one):
            return kind
    return "other"


def _within_pandas(trace: TracebackType | None) -> bool:
    last = ""
    while trace is not None:
        last = str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return last.startswith("pandas.")


def _message(problem: BaseException) -> str:
    try:
        text = str(problem) or type(problem).__name__
    except BaseException:  # noqa: BLE001  an exception of the step's own making
        text = type(problem).__name__
    return text[:_LONGEST_MESSAGE]


def _line(problem: BaseException) -> int:
    if isinstance(problem, SyntaxError) and problem.filename == STEP_NAME:
        return problem.lineno or 0
    line = 0
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == STEP_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _traceback(problem: BaseException) -> str:
    try:
        told = traceback.TracebackException.from_exception(problem, limit=-50)
        del told.stack[: _own_frames(told.stack)]
        text = _without_folders("".join(told.format()))
    except BaseException:  # noqa: BLE001  an exception of the step's own making
        return "the traceback cannot be shown"
    if len(text) <= _LONGEST_TRACEBACK:
        return text
    half = _LONGEST_TRACEBACK // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def _without_folders(text: str) -> str:
    """Say where in a library a line is, and not where the library lies."""
    for folder in sorted(sys.path, key=len, reverse=True):
        text = text.replace(f'"{folder}/', '"')
    return text


def _own_frames(stack: traceback.StackSummary) -> int:
    """Count the frames before the first one of the step."""
    for place, frame in enumerate(stack):
        if frame.filename == STEP_NAME:
            return place
    return len(stack)


def described(names: dict[str, Any]) -> list[list[str]]:
    """Describe the variables of a step, those last made last."""
    found = []
    for name, value in list(names.items()):
        hidden = name.startswith("_") or isinstance(
            value, ModuleType | FunctionType | type | Store | Database
        )
        if not hidden:
            found.append([str(name)[:100], _described(value)[:_LONGEST_VALUE]])
    return found[-_MOST_VARIABLES:]


def _described(value: object) -> str:
    try:
        return _frame(value) or reprlib.repr(value)
    except BaseException:  # noqa: BLE001  a value of the step's own making
        return f"<a {type(value).__name__} that cannot be shown>"


def _frame(value: object) -> str:
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(value, pd.DataFrame):
        types = ", ".join(f"{name}: {kind}" for name, kind in list(value.dtypes.items())[:30])
        head = value.head(_SHOWN_ROWS).to_string(max_cols=12, max_colwidth=30)
        return f"DataFrame of {len(value)} rows ({types})\n{head}"
    if isinstance(value, pd.Series):
        head = value.head(_SHOWN_ROWS).to_string()
        return f"Series of {len(value)} cells, {value.dtype}\n{head}"
    return ""
