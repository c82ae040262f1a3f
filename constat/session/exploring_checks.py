"""Check what the steps of a chain say of sources, before anything runs.

In: a project and a chain. Out: nothing, or `ConstatError` with every mistake. Invariants: a SELECT
on a source has passed the guard and names columns that are there, as far as the source answers now;
nothing of it is run. A source that does not answer is told when its step runs. Example: a step by
`sql` with `source: slaes` is told that there is no such database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.explore.plan import Work
from constat.tiers.connections import Connections
from constat.tiers.declarations import check_declarations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Step
    from constat.project import Project


def check_sources(project: Project, chain: Chain, links: Sequence[Link]) -> None:
    """Check databases, queries and their columns of some steps. Raises `ConstatError`."""
    found = list(_unknown(project, links))
    if not found:
        check_declarations(project, chain.analysed, found)
        found = [one for one in found if one.severity is Severity.ERROR]
    if not found:
        connections = Connections(project)
        try:
            found += _queries(connections, links)
        finally:
            connections.close()
    if found:
        raise ConstatError(found)


def _unknown(project: Project, links: Sequence[Link]) -> Iterator[Diagnostic]:
    known = list(project.databases)
    for link in links:
        for name in link.step.sources if link.step.source else ():
            if name not in known or (link.step.work is Work.SQL and name != link.step.source):
                yield _no_database(link.step, name, known)


def _queries(connections: Connections, links: Sequence[Link]) -> Iterator[Diagnostic]:
    for link in links:
        step = link.step
        if step.work is not Work.SQL or not step.source:
            continue
        try:
            connection = connections.reading(step.source)
            guarded = guard(step.text, connection.dialect)
            columns = connection.columns(guarded.text)
        except QueryMistakeError as problem:
            message = f"step `{step.name}`: {problem.reason}"
            yield Diagnostic(problem.code, message, step.span, help=problem.help)
        except SourceFailureError:
            continue
        else:
            wanted = step.outputs[0]
            if len(columns) != len(wanted.columns):
                message = (
                    f"step `{step.name}`: the query gives {len(columns)} columns, and "
                    f"{len(wanted.columns)} are declared"
                )
                hint = f"give exactly `{wanted.declaration}`"
                yield Diagnostic("C0518", message, step.span, help=hint)


def _no_database(step: Step, name: str, known: list[str]) -> Diagnostic:
    shown = name if name.isprintable() else ascii(name)
    near = nearest(name, known)
    hint = f"write `{near}`" if near else f"the databases are {', '.join(known) or 'none'}"
    message = f"step `{step.name}`: there is no database `{shown[:60]}`"
    return Diagnostic("C0892", message, step.span, help=hint)
