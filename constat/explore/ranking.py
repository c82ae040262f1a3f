"""Rankings: which rows of a relation come first, in all or in each group.

In: a step with a `Ranking`, and the declared relations. Out: what is wrong with it, and the SELECT
that does it. Invariant: rows that are equal in what they are ranked by have one rank, so the result
does not depend on the order in which rows lie. Example: `{of: totals, by: total desc, top: 5}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, nearest
from constat.logic.structure_forms import structure_names

_PLACE = '"constat place"'

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.explore.plan import Ranking, Step
    from constat.logic import Column, Program


def check_ranking(step: Step, program: Program) -> Iterator[Diagnostic]:
    """Report columns that are not there, and outputs that are not those of the relation."""
    ranking = step.ranking
    ranked = program.predicates.get(ranking.of) if ranking is not None else None
    if ranking is None or ranked is None:
        return
    known = {one.name: one for one in ranked.columns}
    used = (*(name for name, _ in ranking.by), *ranking.within)
    yield from (_missing(step, ranking, name, known) for name in used if name not in known)
    yield from _unordered(step, ranking, known, structure_names(program.types))
    if ranking.place in known:
        message = f"`{ranking.place}` is a column already"
        yield _mistake(step, message, "name the place otherwise, for example `rank_`")
    for output in step.outputs[:1]:
        for name, kind in output.columns:
            if name == ranking.place:
                if kind not in {"number", "unsigned"}:
                    yield _mistake(step, f"`{name}` is a rank", f"declare `{name}: number`")
            elif name not in known:
                yield _missing(step, ranking, name, known)
            elif known[name].type_name != kind:
                message = f"`{name}` is declared otherwise in `{ranking.of}`"
                yield _mistake(step, message, f"declare `{name}: {known[name].type_name}`")


def ranking_query(step: Step, ranking: Ranking) -> str:
    """Write the SELECT, for DuckDB."""
    groups = ", ".join(_name(one) for one in ranking.within)
    order = ", ".join(f"{_name(one)} {'DESC' if desc else 'ASC'}" for one, desc in ranking.by)
    window = f"{f'PARTITION BY {groups} ' if groups else ''}ORDER BY {order}"
    columns = [name for output in step.outputs[:1] for name, _ in output.columns]
    taken = ", ".join(
        f"{_PLACE} AS {_name(name)}" if name == ranking.place else _name(name) for name in columns
    )
    limit = f" WHERE {_PLACE} <= {ranking.top}" if ranking.top else ""
    shown = ", ".join([*map(_name, ranking.within), _PLACE, *map(_name, columns)])
    # Nothing but names, which `_name` quotes, and numbers becomes part of the text.
    ranked = f"SELECT *, rank() OVER ({window}) AS {_PLACE} FROM {_name(ranking.of)}"  # noqa: S608
    kept = f"SELECT * FROM ({ranked}) AS ranked{limit}"  # noqa: S608
    return f"SELECT {taken} FROM ({kept}) AS kept ORDER BY {shown}"  # noqa: S608


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _unordered(
    step: Step, ranking: Ranking, known: Mapping[str, Column], made: frozenset[str]
) -> Iterator[Diagnostic]:
    for name, _ in ranking.by:
        if name in known and known[name].type_name in made:
            message = f"`{name}` is a {known[name].type_name}, and structures have no order"
            yield _mistake(step, message, "rank by a number, a text or a time")


def _missing(step: Step, ranking: Ranking, name: str, known: Mapping[str, object]) -> Diagnostic:
    near = nearest(name, list(known))
    hint = f"write `{near}`" if near else f"its columns are {', '.join(known)}"
    return _mistake(step, f"`{ranking.of}` has no column `{name}`", hint)


def _mistake(step: Step, message: str, hint: str) -> Diagnostic:
    return Diagnostic("C0894", f"step `{step.name}`: {message}", step.span, help=hint)
