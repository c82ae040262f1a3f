"""Run one step in a process that has given everything up.

In: a frame `step` with code, tables and state. Out: a frame `result`: what the step left, or its
error. Invariant: what is sent is untrusted by whoever reads it; nothing here guards anything.
Example: the code `store.put("n", 1)` gives the result `{"state": {"n": 1}, ...}`.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import random
import reprlib
import signal
import sys
import traceback
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.explore.sandbox.inside.asking import (
    Database,
    QueryRefusedError,
    SourceUnavailableError,
    reading,
)
from constat.explore.sandbox.inside.holding import (
    MissingTableError,
    Store,
    UnfitResultError,
    as_json,
    as_table,
)
from constat.explore.sandbox.inside.importing import (
    ALIASES,
    BlockedImportError,
    blocked_import,
    step_builtins,
)
from constat.explore.sandbox.wire import Frame, packed, pieces, received
from constat.store.table_forms import Table, encode

if TYPE_CHECKING:
    from types import FrameType, TracebackType

# What a step tells of its own failure: kind, line, traceback, and what its variables held.
#
# Invariant: whatever an exception or a variable does when it is looked at, something bounded
# comes out.

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


# Run one step in a process that has given everything up.

# The pictures that a step draws with matplotlib, as PNG.

_DOTS: Final = 110


class Pictures:
    """Collects the pictures of a step."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._saved: dict[str, bytes] = {}
        self._figures: set[int] = set()

    def catch(self) -> None:
        """Have `savefig` with a name keep the picture here."""
        figures: Any = sys.modules.get("matplotlib.figure")
        if figures is None:
            return
        original = figures.Figure.savefig
        saved, shown = self._saved, self._figures

        def savefig(figure: Any, fname: Any = "picture", **options: Any) -> None:  # noqa: ANN401
            if hasattr(fname, "write"):
                original(figure, fname, **options)
                return
            drawn = io.BytesIO()
            wished = {key: one for key, one in options.items() if key in {"dpi", "bbox_inches"}}
            original(figure, drawn, **{"dpi": _DOTS, **wished, "format": "png"})
            saved[PurePath(str(fname)).stem or "picture"] = drawn.getvalue()
            shown.add(id(figure))

        figures.Figure.savefig = savefig

    def all(self) -> list[tuple[str, bytes]]:
        """Give the pictures: those that were saved, and the figures that are still open."""
        plot: Any = sys.modules.get("matplotlib.pyplot")
        for number in plot.get_fignums() if plot is not None else ():
            figure = plot.figure(number)
            if id(figure) not in self._figures:
                figure.savefig(f"figure_{number}")
        return list(self._saved.items())[: self._most]


_LARGEST: Final = 1 << 40
_MOST_AT_ONCE: Final = 1 << 20


class _Link:
    """The step's socket."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def receive(self) -> Frame:
        found = received(self._exactly, _LARGEST)
        if found is None:
            os._exit(1)
        return found

    def send(self, kind: str, told: dict[str, Any], body: bytes = b"") -> None:
        left = memoryview(packed(kind, told, body))
        while left:
            left = left[os.write(self._descriptor, left[:_MOST_AT_ONCE]) :]

    def ask(self, kind: str, told: dict[str, Any]) -> Frame:
        self.send(kind, told)
        return self.receive()

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self._descriptor, min(count, _MOST_AT_ONCE))
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def run_step(descriptor: int) -> None:
    """Receive a step, run it, and send what it left."""
    link = _Link(descriptor)
    frame = link.receive()
    told = frame.told
    tables = dict(zip(told["names"], pieces(frame.body, told["lengths"]), strict=True))
    store = Store(tables, told["state"])
    pictures = Pictures(int(told["plots"]))
    names = _names(store, [Database(name, link.ask) for name in told["databases"]], told)
    # The same code over the same tables draws the same numbers.
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  the generator that steps may use
    signal.signal(signal.SIGALRM, _time_is_up)
    given = frozenset(names)
    try:
        pictures.catch()
        exec(_compiled(str(told["code"])), names)  # noqa: S102  this is what the sandbox is for
        answer, body = _result(store, names, told["outputs"], pictures)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    except BaseException as problem:  # noqa: BLE001  whatever a step raises is told
        # What is told of a failure is not interrupted; the other side still ends it.
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        own = {name: value for name, value in names.items() if name not in given}
        answer, body = {"error": told_error(problem, own)}, b""
    sys.stdout.flush()
    sys.stderr.flush()
    link.send("result", answer, body)


def _compiled(text: str) -> Any:  # noqa: ANN401  code
    remember_source(text)
    tree = ast.parse(text, STEP_NAME)
    blocked = blocked_import(tree)
    if blocked is not None:
        name, line = blocked
        raise BlockedImportError(f"a step may not import `{name}` (line {line})")
    return compile(tree, STEP_NAME, "exec", dont_inherit=True)


def _names(store: Store, databases: list[Database], told: dict[str, Any]) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": step_builtins()}
    names |= {alias: sys.modules[module] for alias, module in ALIASES.items()}
    names["store"] = store
    for name in ("read_sql", "read_sql_query"):
        setattr(names["pd"], name, reading(getattr(names["pd"], name)))
    for name, one in zip(told["databases"], databases, strict=True):
        names[f"db_{name}"] = one
    if databases:
        names["db"] = databases[0]
    return names


def _time_is_up(_signal: int, _frame: FrameType | None) -> None:
    raise StepTimeoutError("the step did not end in its time")


def _result(
    store: Store, names: dict[str, Any], outputs: list[str], pictures: Pictures
) -> tuple[dict[str, Any], bytes]:
    tables, state, notes = store.left
    for name in outputs:
        if name not in tables and name not in state:
            _take(name, names, tables, state)
    plots = pictures.all()
    written = [encode(table) for table in tables.values()]
    answer = {
        "tables": [[name, len(one)] for name, one in zip(tables, written, strict=True)],
        "plots": [[name, len(one)] for name, one in plots],
        "state": state,
        "notes": notes,
    }
    return answer, b"".join([*written, *(one for _, one in plots)])


def _take(
    name: str, names: dict[str, Any], tables: dict[str, Table], state: dict[str, Any]
) -> None:
    """Take a variable of the name of an output that was not put."""
    if name not in names:
        raise UnfitResultError(f"the step did not leave `{name}`: store.put({name!r}, ...)")
    table = as_table(name, names[name])
    if table is not None:
        tables[name] = table
    else:
        state[name] = as_json(name, names[name])
