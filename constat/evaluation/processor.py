"""Sets up the libraries that compute: numpy as fast as this processor can, DuckDB without a fault.

It also knows what a fork must not use: see `OPEN_HERE`.

Numpy sorts with AVX-512 where it finds it. AMD processors of the Zen 4 family have it, but write
compressed vectors to memory so slowly that sorting with AVX2 takes a fifth of the time (2 million
int64: 110 ms against 20 ms). Numpy decides once, when it is loaded, and lets an environment
variable forbid instructions. Invariant: results are the same either way; nothing is changed where
numpy is loaded already, where the variable is set, or where this is not such a processor.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakSet, finalize

from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

_VARIABLE: Final = "NPY_DISABLE_CPU_FEATURES"
_SLOW: Final = "X86_V4 AVX512_ICL AVX512_SPR"
_DESCRIPTION: Final = Path("/proc/cpuinfo")
_ENOUGH: Final = 8192

# DuckDB 2.0.0 computes a join once that stands in two branches of a UNION ALL, also where the
# branches give other columns of it, and then gives both the columns of one: wrong rows.
WRONG_OPTIMIZERS: Final = "common_subplan"


class _Executing(Protocol):
    """A connection to DuckDB, as far as it is set up here."""

    def execute(self, query: str, /) -> object:
        """Run a statement."""
        ...


_Connection = TypeVar("_Connection", bound=_Executing)


def set_up_duckdb(connection: _Connection) -> _Connection:
    """Turn off the optimizers that give wrong rows; before the settings are locked."""
    connection.execute(f"SET disabled_optimizers = '{WRONG_OPTIMIZERS}'")
    return connection


def load_numpy(description: Path = _DESCRIPTION) -> bool:
    """Load numpy; give whether anything was forbidden."""
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return False
    if not (sorts_slowly(description) and _is_released()):
        return False
    os.environ[_VARIABLE] = _SLOW
    try:
        with warnings.catch_warnings():
            # Another version of numpy may name its instructions otherwise, and says so.
            warnings.simplefilter("ignore")
            importlib.import_module("numpy")
    finally:
        del os.environ[_VARIABLE]
    return True


def sorts_slowly(description: Path) -> bool:
    """Whether this is an AMD processor with AVX-512, by the system's description of it."""
    try:
        with description.open(encoding="ascii", errors="replace") as file:
            text = file.read(_ENOUGH)
    except OSError:
        return False
    return "AuthenticAMD" in text and "avx512f" in text


def _is_released() -> bool:
    """Whether numpy was built for all processors: one that needs AVX-512 must not be denied it."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  heavy library, loaded on first use

    try:
        wheel = distribution("numpy").read_text("WHEEL") or ""
    except PackageNotFoundError:
        return False
    return "manylinux" in wheel or "musllinux" in wheel


class OpenHere:
    """Whoever has connections of SQLite or DuckDB in this process; a fork inherits none of them.

    Their locks and threads stay with the process that began them: behind a fork a query may wait
    for ever, a connection that is closed ends the process, and a write may spoil the file.
    """

    def __init__(self) -> None:
        self._holders: WeakSet[object] = WeakSet()
        self._inherited: tuple[object, ...] = ()
        # Windows has no fork.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from one that had something open."""
        return bool(self._inherited)

    def require_own(self) -> None:
        """Raise `ConstatError` in a process that was forked from one that had something open."""
        if self._inherited:
            note = (
                "the libraries of databases have locks and threads that a fork does not take along"
            )
            message = "this process was forked from one that had a session or a memory open"
            help_text = (
                "start processes with `spawn` or `forkserver`, or fork before anything is open"
            )
            raise ConstatError([Diagnostic("C0527", message, note=note, help=help_text)])

    def add(self, holder: object) -> None:
        """Say that somebody opens connections; raises `ConstatError` as `require_own` does."""
        self.require_own()
        self._holders.add(holder)

    def discard(self, holder: object) -> None:
        """Say that somebody has closed all connections."""
        self._holders.discard(holder)

    def _forked(self) -> None:
        # They are held until the process ends, for what is collected would be closed.
        self._inherited += tuple(self._holders)
        self._holders = WeakSet()


OPEN_HERE: Final = OpenHere()
"""What the process knows, and no session: the locks of SQLite are the process's, too."""


class Turn:
    """A lock that lets a thread in again, and that nobody waits for behind a fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        OPEN_HERE.require_own()
        if self._process != os.getpid():
            # The thread that had it is in the other process.
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_Given = ParamSpec("_Given")


def finalize_here(
    holder: object, work: Callable[_Given, object], /, *given: _Given.args, **named: _Given.kwargs
) -> finalize[..., Any]:
    """Do the work when the holder goes, as `weakref.finalize`; not behind a fork."""
    return finalize(holder, _if_here, os.getpid(), work, *given, **named)


def _if_here(
    process: int, work: Callable[_Given, object], /, *given: _Given.args, **named: _Given.kwargs
) -> None:
    if process == os.getpid():
        work(*given, **named)
