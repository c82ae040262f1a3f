"""Run the cases of rule libraries, with every certificate given to the independent checker.

In: paths, or a project. Out: a `CasesRun`. Invariant: an expectation passes only where the engine
gives the expected verdict and the checker, which shares no code with it, accepts the certificate.
Example for a test of one's own: `assert run_cases(["rules"]).failures == ()`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from constat.library import cases
from constat.project import find_project, load_project

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_cases(
    paths: Sequence[Path | str] = (), *, only: str = "", project: Path | str | None = None
) -> cases.CasesRun:
    """Run the cases of libraries, of folders that hold some, or case files.

    Without paths the project's own folder and libraries are searched. With `only`, cases run whose
    name, such as `customer-value/vip`, holds it. Raises `ConstatError` where no case is found.
    """
    places = [Path(path) for path in paths]
    roots: tuple[Path, ...] = ()
    if not places:
        loaded = load_project(find_project(None if project is None else Path(project)))
        places = list(dict.fromkeys(loaded.rule_roots))
        roots = tuple(places)
    return cases.run_cases(places, roots=roots, only=only, checker=checked_verdict)


def checked_verdict(certificate: bytes) -> str:
    """Give the verdict of a certificate; raises `ValueError` with the reason against it."""
    # Loaded on first use: proving a goal needs no checker.
    from constat.check import check_certificate  # noqa: PLC0415  loaded when it is used

    report = check_certificate(certificate)
    if not report.accepted:
        raise ValueError(f"{report.reason} at {report.place}")
    return str(report.verdict)
