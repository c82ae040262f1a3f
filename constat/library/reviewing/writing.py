"""Write an approval: its records, then the rule file, then the cases.

In: a placement and the words of approvers. Out: files. Invariants: whoever reads rules sees the
draft as approved rules or not at all, at every moment and after every crash: the records come
first, and alone approve nothing, for no rule has their hash; the rule file comes as a whole and
decides; what comes after it has no meaning for answers and is written again by the next approval of
the same draft. Two programs do not lose each other's lines. Reference: rename of POSIX.1-2017.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.library.reviewing.approvals import (
    APPROVED,
    FILE_NAME,
    MOST_BYTES,
    Approval,
    read_approvals,
)
from constat.store.locking import lock_within
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from constat.library.reviewing.placing import Placement

_WAIT_SECONDS: Final = 10.0
_RIGHTS: Final = 0o644
_PERMISSIONS: Final = 0o777


def write_placement(
    placement: Placement, records: Sequence[Approval], cases: Iterable[tuple[Path, str]]
) -> None:
    """Let the rules of a draft in. Raises `ConstatError`, and nothing is let in then."""
    with _failures(placement.file), _alone(placement.folder):
        _require_unchanged(placement)
        _add_records(placement.folder, records)
        _replace(placement.file, placement.after)
    write_cases(cases)


def write_cases(cases: Iterable[tuple[Path, str]]) -> None:
    """Write case files that are not there yet."""
    for path, text in cases:
        with _failures(path, "the rules are let in; approving again writes the cases"):
            path.parent.mkdir(exist_ok=True)
            if not path.exists():
                _replace(path, text)


def write_records(folder: Path, records: Sequence[Approval]) -> None:
    """Add records about rules that lie in a folder already."""
    with _failures(folder / FILE_NAME), _alone(folder):
        _add_records(folder, records)


def _require_unchanged(placement: Placement) -> None:
    try:
        found: str | None = placement.file.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        found = None
    if found != placement.before:
        message = f"`{placement.file.name}` was changed meanwhile"
        raise ConstatError([Diagnostic("C0884", message, help="review the draft again")])


def _add_records(folder: Path, records: Sequence[Approval]) -> None:
    known = read_approvals(folder)
    fresh = [one for one in records if not _stands(one, known)]
    if not fresh:
        return
    content = b"".join(one.to_line() for one in (*known, *fresh))
    if len(content) > MOST_BYTES:
        message = f"{FILE_NAME} would be larger than {MOST_BYTES >> 20} MiB"
        raise ConstatError([Diagnostic("C0885", message)])
    _replace(folder / FILE_NAME, content.decode())


def _stands(one: Approval, known: Sequence[Approval]) -> bool:
    """Whether the same person's same word is there and was not withdrawn."""
    about = [other for other in known if other.hashes == one.hashes]
    for other in reversed(about):
        if other.action != one.action:
            return False
        if one.action != APPROVED or (other.by, bool(other.envelope)) == (
            one.by,
            bool(one.envelope),
        ):
            return True
    return False


def _replace(path: Path, text: str) -> None:
    """Put a text into the place of a file; the file keeps the rights that it had."""
    try:
        mode = path.stat().st_mode & _PERMISSIONS
    except FileNotFoundError:
        mode = _RIGHTS
    with replaced(path, mode) as stream:
        stream.write(text.encode())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not lock_within(descriptor, _WAIT_SECONDS, shared=False):
            message = f"another program is approving rules in `{folder.name}`"
            raise ConstatError([Diagnostic("C0884", message, help="try again")])
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _failures(path: Path, note: str = "no rule was let in") -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        message = f"`{path.name}` cannot be written: {reason}"
        raise ConstatError([Diagnostic("C0884", message, note=note)]) from None
