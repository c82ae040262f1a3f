"""Look at what keeps steps of code away from the machine: the sandbox of explorations.

In: a project. Out: a finding that names the level that this machine has. Invariants: each level is
tried and not only looked for; no code of anybody's is run. Example: `bubblewrap: steps of Python
code run without network and files`, or `none` with the reason for each level that cannot be had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.explore.sandbox.levels import STRONG, remark, unavailable
from constat.explore.sandbox.step import Level
from constat.project.explore import WEAK
from constat.session.diagnosing_values import NOTE, OK, WARNING, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.project import Project

_CHECK: Final = "sandbox"


def sandbox_findings(
    project: Project, missing: Callable[[Level], str] = unavailable
) -> Iterator[Finding]:
    """Look for the strongest level that this machine has."""
    if not project.explore.python:
        yield Finding(_CHECK, OK, "not needed: `python: false` of `explore:` refuses steps of code")
        return
    reasons: list[str] = []
    for level in STRONG:
        reason = missing(level)
        if not reason:
            said = "; ".join([*reasons, "steps of Python code run without network and files"])
            if open_ := remark(level):
                said = f"{said}; {open_}"
            yield Finding(_CHECK, OK, f"{level.value}: {said}")
            return
        reasons.append(f"{level.value}: {reason}")
    yield _none("; ".join(reasons), weak=project.explore.sandbox == WEAK)


def _none(reasons: str, *, weak: bool) -> Finding:
    hint = "install bubblewrap (`bwrap`), or write `explore: {python: false}`"
    if weak:
        message = f"none: `sandbox: weak` lets `--allow-unconfined` run code unconfined ({reasons})"
        return Finding(_CHECK, WARNING, message, hint, "C0910")
    message = f"none: steps of Python code are refused ({reasons})"
    return Finding(_CHECK, NOTE, message, hint, "C0910")
