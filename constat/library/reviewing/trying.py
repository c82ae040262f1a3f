"""Run the cases of a library as if a draft were approved in it, and those of the draft.

In: a placement. Out: what became of each case. Invariant: the library itself is not touched: the
changed file, its records and the cases lie in a folder that is thrown away. Example: a draft that
breaks `cases/vip.dl` of its library says so before anybody approves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError
from constat.library.cases.reading import Library as CaseLibrary
from constat.library.cases.running import run_library
from constat.library.files import CASES, SUFFIX
from constat.library.reviewing.approvals import FILE_NAME, read_approvals
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.library.cases.results import CaseResult
    from constat.library.cases.running import Checker
    from constat.library.reviewing.approvals import Approval
    from constat.library.reviewing.placing import Placement
    from constat.project import Project

_MOST_CASES = 200


@dataclass(frozen=True, slots=True)
class Tried:
    """A case: its name, whether it is the draft's own, and what is wrong; empty where nothing."""

    name: str
    own: bool
    problems: tuple[str, ...]


def try_cases(
    project: Project,
    placement: Placement,
    records: Sequence[Approval],
    cases: Sequence[tuple[Path, str]],
    checker: Checker | None = None,
) -> tuple[Tried, ...]:
    """Run the draft's cases and those of the library that it goes into."""
    added = frozenset(path for path, _ in cases)
    there = sorted(set((placement.folder / CASES).glob(f"*{SUFFIX}")) - added)[:_MOST_CASES]
    if not there and not cases:
        return ()
    with Scratch() as place:
        folder = (place.path / placement.folder.name).resolve()
        (folder / CASES).mkdir(parents=True)
        lines = (*_present(placement.folder), *records)
        (folder / FILE_NAME).write_bytes(b"".join(one.to_line() for one in lines))
        for path in (*placement.folder.glob(f"*{SUFFIX}"), *there):
            (folder / path.relative_to(placement.folder)).write_bytes(path.read_bytes())
        (folder / placement.file.name).write_text(placement.after, encoding="utf-8", newline="")
        for path, text in cases:
            (folder / CASES / path.name).write_text(text, encoding="utf-8", newline="")
        library = CaseLibrary(
            folder,
            tuple(sorted(folder.glob(f"*{SUFFIX}"))),
            tuple(folder / CASES / path.name for path in (*there, *(one for one, _ in cases))),
            project.rule_roots,
        )
        run = run_library(library, checker)
    names = frozenset(path.name for path, _ in cases)
    return tuple(_tried(one, names) for one in run.cases)


def _present(folder: Path) -> tuple[Approval, ...]:
    try:
        return read_approvals(folder)
    except ConstatError:
        # Whoever approves is told of the damage; to try the cases its records are not needed.
        return ()


def _tried(case: CaseResult, own: frozenset[str]) -> Tried:
    problems = [f"{one.message} [{one.code}]" for one in case.diagnostics]
    problems += [f"{one.goal}: {one.problem}" for one in case.results if one.problem]
    return Tried(case.name, Path(case.file).name in own, tuple(problems))
