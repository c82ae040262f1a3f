"""Why a set of answers is open: what nobody answered, grouped and counted.

In: an outcome. Out: `OpenReason` values, the most frequent first. Invariant: only what no
assumption would close is named; each reason has one goal to ask for, which can be pasted back.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from constat.engine.state import MAX_FAILURES
from constat.logic import OPEN, NullCell, NullPolicy, display_value, null_policies
from constat.session.answers import OpenReason
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.evaluation import Call, Outcome
    from constat.forward import Results
    from constat.forward.erring import Erring
    from constat.logic import OpenRow, Predicate

_Group = tuple[str, str, str]


def open_reasons(outcome: Outcome) -> tuple[OpenReason, ...]:
    """Group what was left open while a goal was evaluated."""
    seen = _gaps_of(outcome.calls)
    for failure in outcome.failures:
        rule = outcome.program.rules[failure.rule]
        group = (rule.head.predicate, f"rule {rule.id}: {failure.reason}", "")
        shown = ", ".join(f"?{name} = {value}" for name, value in failure.bindings.items())
        seen.setdefault(group, {}).setdefault(shown)
    found = _counted(seen)
    if outcome.stopped not in {"", "settled"}:
        found.append(OpenReason(outcome.goal.predicate, outcome.stopped, "", 1, ""))
    return _sorted(found)


def reasons_in_bulk(results: Results) -> tuple[OpenReason, ...]:
    """Group what was left open where whole relations were computed.

    All that the sources below the goal left open is named, also what no question by key would have
    met; of the instances that err so many as the reference engine keeps. What is loose is named.
    """
    seen = _gaps_of(results.calls)
    for relation, erring in results.erring.items():
        rule = erring.rule
        for bindings, reason in islice(_instances(results, relation, erring), MAX_FAILURES):
            group = (rule.head.predicate, f"rule {rule.id}: {reason}", "")
            seen.setdefault(group, {}).setdefault(bindings)
    found = _counted(seen)
    for name, why in results.loose.items():
        reason = (
            f"{why}; over so many rows it is left open, one row can be proved by itself [C0970]"
        )
        found.append(OpenReason(name, reason, "", 1, ""))
    return _sorted(found)


def _instances(results: Results, relation: str, erring: Erring) -> Iterator[tuple[str, str]]:
    """Yield the instances that err, as bindings, each with the reason."""
    columns = results.plan.program.program.predicates[relation].columns
    places = {column.name: place for place, column in enumerate(columns)}
    for batch in results.database.rows(relation):
        for row in sorted(batch):
            values = tuple([row[places[name]] for name in erring.site.variables])
            shown = zip(columns, row, strict=True)
            told = [f"?{one.name} = {display_value(value, one.kind)}" for one, value in shown]
            yield ", ".join(told), erring.rows[values]


def _gaps_of(calls: Iterable[Call]) -> dict[_Group, dict[str, None]]:
    seen: dict[_Group, dict[str, None]] = {}
    for call in calls:
        predicate = call.demand.predicate
        for group, row in _gaps(call):
            seen.setdefault(group, {}).setdefault(print_row(predicate, row))
    return seen


def _counted(seen: dict[_Group, dict[str, None]]) -> list[OpenReason]:
    return [
        OpenReason(predicate, reason, tier, len(goals), next(iter(goals)))
        for (predicate, reason, tier), goals in seen.items()
    ]


def _sorted(found: list[OpenReason]) -> tuple[OpenReason, ...]:
    return tuple(sorted(found, key=lambda one: (-one.count, one.predicate, one.reason)))


def _gaps(call: Call) -> Iterator[tuple[_Group, OpenRow]]:
    predicate = call.demand.predicate
    told = set()
    for opening in call.answer.openings:
        if opening.assumption is None:
            told.add(opening.row)
            yield (predicate.name, opening.reason, opening.tier), opening.row
    if (OPEN,) * predicate.arity in told:
        return  # that is told of every key
    yield from _nulls(call)
    for key in call.demand.keys:
        row = _pattern(predicate, dict(zip(call.demand.columns, key, strict=True)))
        if key not in call.answer.answered and row not in told:
            yield (predicate.name, "no tier answered", ""), row


def _nulls(call: Call) -> Iterator[tuple[_Group, OpenRow]]:
    """Yield the certain rows of which a cell may hold a value that nobody knows."""
    predicate = call.demand.predicate
    if not {NullPolicy.MAYBE, NullPolicy.UNKNOWN} & {*null_policies(predicate)}:
        return
    for portion in call.answer.portions:
        for row in portion.rows if portion.assumption is None else ():
            every: tuple[object, ...] = row
            cells = [one for one in every if isinstance(one, NullCell)]
            missing = [one for one in cells if one.policy is not NullPolicy.NONE]
            if missing:
                names = ", ".join(predicate.columns[one.column].name for one in missing)
                reason = f"{names} is NULL in {portion.evidence.source}"
                null = {one.column for one in cells}
                known = tuple(OPEN if n in null else one for n, one in enumerate(row))
                yield (predicate.name, reason, portion.evidence.tier), known


def _pattern(predicate: Predicate, known: dict[int, object]) -> OpenRow:
    return tuple(known.get(place, OPEN) for place in range(predicate.arity))  # type: ignore[misc]
