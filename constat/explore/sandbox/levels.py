"""Which ways of keeping code away from the machine this machine has.

In: nothing. Out: for each level nothing, or the reason why it cannot be had. Invariant: a level is
offered only after it was tried: programs may be there and be forbidden to work. Example: where
user namespaces are switched off, `unavailable(Level.BUBBLEWRAP)` gives a reason, and Landlock with
a filter of system calls is taken.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.sandbox.step import Level

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS_TO_TRY: Final = 10.0
STRONG: Final = (Level.BUBBLEWRAP, Level.KERNEL)


def remark(level: Level) -> str:
    """Say what a level leaves open; empty where nothing of the machine can be seen."""
    if level is Level.KERNEL:
        return "names, sizes and times of files can be probed, and none of their content"
    return "nothing keeps code in" if level is Level.NONE else ""


def unavailable(level: Level) -> str:
    """Give the reason why a level cannot be had on this machine; empty where it can."""
    if sys.platform != "linux":
        return "it needs Linux"
    if level is Level.NONE:
        return ""
    # Windows has none of the modules with which a process is confined.
    from constat.explore.sandbox.inside.confining import filters_work, landlock_version  # noqa: PLC0415  loaded when it is used

    if not filters_work():
        return f"this kernel runs no filters of system calls, or {platform.machine()} is not known"
    if level is Level.KERNEL:
        return "" if landlock_version() else "this kernel has no Landlock"
    return _bubblewrap_trouble()


def _bubblewrap_trouble() -> str:
    program = shutil.which("bwrap")
    if program is None:
        return "the program `bwrap` is not installed"
    trial = [program, "--unshare-all", "--ro-bind", "/", "/", "--", program, "--version"]
    try:
        outcome = subprocess.run(  # noqa: S603  our own words
            trial,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_TO_TRY,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "the program `bwrap` does not run"
    return "" if outcome.returncode == 0 else "`bwrap` may not make namespaces here"


def choose_level(
    wished: Level | None = None,
    *,
    allow_none: bool = False,
    missing: Callable[[Level], str] = unavailable,
) -> Level:
    """Choose the wished level, or else the strongest; never none unless that is allowed.

    Raises `ConstatError` where there is no such level, or only none.
    """
    if wished is not None and wished.strong:
        reason = missing(wished)
        if reason:
            message = f"the level `{wished.value}` cannot be had on this machine: {reason}"
            raise ConstatError([Diagnostic("C0911", message)])
        return wished
    reasons = []
    for level in STRONG if wished is None else ():
        reason = missing(level)
        if not reason:
            return level
        reasons.append(f"{level.value}: {reason}")
    if allow_none and not missing(Level.NONE):
        return Level.NONE
    raise ConstatError([_refusal(reasons)])


def _refusal(reasons: list[str]) -> Diagnostic:
    return Diagnostic(
        "C0910",
        "steps of Python code are refused: nothing here keeps them away from the machine",
        note="; ".join(reasons),
        help="install bubblewrap, or allow unconfined code in the configuration and on the command"
        " line (`--allow-unconfined`), where you have read it",
    )
