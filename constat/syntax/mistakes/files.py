"""Mistakes with files and includes. Codes C0150 to C0155. No message repeats what a file holds."""

from __future__ import annotations

from constat.diagnostics import Diagnostic, Span
from constat.syntax.mistakes.spelling import shown

MAX_FILES = 1_000


def missing(span: Span | None, name: str, near: str | None) -> Diagnostic:
    """A file that is not there."""
    edit = f'write `.include "{near}"`' if near else "correct the name, or create the file"
    return Diagnostic(
        "C0150",
        f"there is no rule file `{shown(name)}`",
        span,
        note="names are relative to the including file, then to the roots of the project; "
        "`constat/prelude.dl` is built in",
        help=edit,
    )


def cycle(span: Span, path: list[str]) -> Diagnostic:
    """A file that includes itself, directly or not."""
    return Diagnostic(
        "C0151",
        "this file includes itself",
        span,
        label=" -> ".join(f"`{shown(name)}`" for name in path),
        note="without `.once` an include in a circle never ends",
        help="write `.once` at the top of the included file",
    )


def outside(span: Span | None, name: str) -> Diagnostic:
    """A file outside the roots."""
    return Diagnostic(
        "C0152",
        f"the rule file `{shown(name)}` lies outside the project",
        span,
        note="with links resolved, a rule file lies inside the project, the library or a folder "
        "that was named",
        help="copy the file into the project, or name its folder on the command line",
    )


def too_many(span: Span | None) -> Diagnostic:
    """More files than anyone needs."""
    return Diagnostic(
        "C0153",
        f"more than {MAX_FILES} rule files are included",
        span,
        note="the limit keeps generated includes from filling the memory",
        help="join small files",
    )


def twice(span: Span, name: str) -> Diagnostic:
    """A file included twice."""
    return Diagnostic(
        "C0154",
        f"`{shown(name)}` is included a second time",
        span,
        note="everything in it would be declared twice",
        help="write `.once` at the top of that file",
    )


def unreadable(span: Span | None, name: str, reason: str) -> Diagnostic:
    """A file that the system does not give."""
    return Diagnostic(
        "C0155",
        f"the rule file `{shown(name)}` cannot be read: {reason}",
        span,
        note="a rule file is an ordinary file that this user may read",
        help="check the name and the permissions",
    )
