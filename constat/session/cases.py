"""Run the cases of rule libraries, with every certificate given to the independent checker.

In: paths, or a project. Out: a `CasesRun`. Invariant: an expectation passes only where the engine
gives the expected verdict and the checker, which shares no code with it, accepts the certificate.
Example for a test of one's own: `assert run_cases(["rules"]).failures == ()`.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.library import cases
from constat.project import find_project, load_project

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.project import Project

_SECONDS: Final = 300.0


def run_cases(
    paths: Sequence[Path | str] = (), *, only: str = "", project: Path | str | None = None
) -> cases.CasesRun:
    """Run the cases of libraries, of folders that hold some, or case files.

    Without paths the project's own folder and libraries are searched. With `only`, cases run whose
    name, such as `customer-value/vip`, holds it. A case that names sources reads those of the
    project, which is looked for then. Raises `ConstatError` where no case is found.
    """
    start = None if project is None else Path(project)
    places = [Path(path) for path in paths]
    roots: tuple[Path, ...] = ()
    if not places:
        loaded = load_project(find_project(start))
        places = list(dict.fromkeys(loaded.rule_roots))
        roots = tuple(places)
    opened = partial(_sources, start)
    return cases.run_cases(places, roots=roots, only=only, checker=checked_verdict, sources=opened)


@contextmanager
def _sources(
    start: Path | None, program: AnalysedProgram, names: Collection[str]
) -> Iterator[Externals]:
    """Open the sources of some predicates of a case; what people have stated stays out."""
    from constat.store import FactStore  # noqa: PLC0415  loaded when it is used
    from constat.store.replacing import Scratch  # noqa: PLC0415  loaded when it is used
    from constat.tiers import build_externals  # noqa: PLC0415  loaded when it is used

    project = _about(load_project(find_project(start)), program)
    with closing(Scratch()) as nothing:
        tiers = build_externals(project, program, FactStore(nothing.path))
        tiers.start(_SECONDS)
        try:
            yield {name: tiers.externals[name] for name in names}
        finally:
            tiers.release()
            tiers.close()


def _about(project: Project, program: AnalysedProgram) -> Project:
    """Give what a project says of the external predicates of a case, and of no others."""
    from constat.tiers.config import config_key  # noqa: PLC0415  loaded when it is used

    declared = [one for one in program.program.predicates.values() if one.name in program.external]
    keys = set(map(config_key, declared))
    tiers = {
        name: one
        if one.predicates is None
        else replace(one, predicates=tuple(n for n in one.predicates if n in program.external))
        for name, one in project.tiers.items()
    }
    return replace(
        project,
        facts={key: one for key, one in project.facts.items() if key in keys},
        closed={name: by for name, by in project.closed.items() if name in program.external},
        tiers=tiers,
    )


def checked_verdict(certificate: bytes) -> str:
    """Give the verdict of a certificate; raises `ValueError` with the reason against it."""
    # Loaded on first use: proving a goal needs no checker.
    from constat.check import check_certificate  # noqa: PLC0415  loaded when it is used

    report = check_certificate(certificate)
    if not report.accepted:
        raise ValueError(f"{report.reason} at {report.place}")
    return str(report.verdict)
