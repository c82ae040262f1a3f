"""Sets up the libraries that compute: numpy as fast as this processor can, DuckDB without a fault.

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
import warnings
from pathlib import Path
from typing import Final, Protocol, TypeVar

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
