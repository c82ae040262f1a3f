"""Ratio and retention of every method, session by session.

In: sessions and methods. Out: rows, and a table of them. Invariants: the ratio is that of estimated
tokens of the whole session to those of the short one; retention is the share of gold values that
stand in the short one word for word; recall is the share that one search finds in the archive.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory import BudgetError, Memory
from constat.memory.decisions import LAST
from constat.memory.view import fill
from tests.bench.memory import logs, methods

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from constat.memory import View
    from tests.bench.memory.logs import Session

KINDS: Final = MappingProxyType(
    {
        "tau": logs.tau_sessions,
        "tau-long": logs.long_sessions,
        "sgd": logs.sgd_sessions,
        "swe": logs.swe_sessions,
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one session."""

    kind: str
    half: str
    method: str
    ratio: float
    retention: float


def measured(
    folder: Path,
    only: str | None,
    most: int,
    *,
    others: bool = True,
    halves: Sequence[str] = ("even", "odd"),
) -> list[Row]:
    """Measure all methods."""
    found: list[Row] = []
    for kind, sessions in KINDS.items():
        if only in {None, kind}:
            for half in halves:
                chosen = [one for one in sessions(folder) if one.half == half]
                for session in islice(chosen, most):
                    found += _session(kind, session, others=others)
    return found


def _session(kind: str, session: Session, *, others: bool) -> Iterator[Row]:
    whole = methods.tokens(logs.text_of(session.messages))
    note = f"{session.name}: {len(session.messages)} messages, {whole:,} tokens"
    sys.stderr.write(f"{note}, {len(session.gold)} values\n")

    def row(method: str, text: str) -> Row:
        ratio = whole / max(1, methods.tokens(text))
        return Row(kind, session.half, method, ratio, retention(text, session.gold))

    for name, method in methods.baselines() if others else ():
        yield row(name, method(session.messages))
    with Memory() as memory:
        memory.append(session.messages)
        for share in methods.BUDGETS:
            try:
                context = memory.context(whole // share)
            except BudgetError:
                continue
            text = logs.text_of(context.messages)
            yield row(f"memory, 1/{share}", text)
            if share in methods.CEILINGS and context.view is not None:
                other = known_view(memory, context.view, session.gold)
                known = text.replace(context.view.text.lower(), other.lower())
                yield row(f"memory that knows the values, 1/{share}", known)
        yield Row(kind, session.half, "memory, one search", 1.0, found_again(memory, session.gold))


def known_view(memory: Memory, view: View, gold: Sequence[frozenset[str]]) -> str:
    """Return a view of as many tokens whose chooser knows the gold.

    Pins, lines and places are as they are; values come first that are gold, then texts that hold
    some of it. It takes one after the other, so it is no upper bound where sentences compete.
    """
    known, decided = memory.decided()
    claims = [claim for history in known.histories for claim in history.claims]
    spellings = {value for values in gold for value in values}
    classes = {}
    for one in claims:
        value = one.fact.value.lower()
        holds = any(logs.names(value, gold_value) for gold_value in spellings)
        classes[one.name] = 2 if value in spellings else 3 if holds else LAST
    return fill(claims, replace(decided, classes=classes), view.tokens).text


def retention(text: str, gold: Sequence[frozenset[str]]) -> float:
    """Return the share of gold values that stand in a text."""
    kept = sum(any(logs.names(text, one) for one in values) for values in gold)
    return kept / max(1, len(gold))


def found_again(memory: Memory, gold: Sequence[frozenset[str]]) -> float:
    """Return the share of gold values that one search leads to."""
    found = 0
    for values in gold:
        for value in values:
            places = [one.place for one in memory.search(value)]
            texts = (memory.open(place).decode("utf-8", "replace").lower() for place in places)
            if any(logs.names(text, value) for text in texts):
                found += 1
                break
    return found / max(1, len(gold))


def table(rows: Iterable[Row]) -> str:
    """Write rows as a Markdown table: the mean of each half, and the least and the most."""
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for one in rows:
        halves = groups.setdefault((one.kind, one.method), {})
        halves.setdefault(one.half, []).append(one)
    lines = [
        "| data | method | ratio, even | kept, even | ratio, odd | kept, odd |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (kind, method), halves in groups.items():
        cells = [cell for half in ("even", "odd") for cell in _cells(halves.get(half, []))]
        lines.append(f"| {kind} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(rows: Sequence[Row]) -> tuple[str, str]:
    if not rows:
        return "-", "-"
    ratio, kept = fmean(one.ratio for one in rows), fmean(one.retention for one in rows)
    lowest, highest = (100 * edge(one.retention for one in rows) for edge in (min, max))
    spread = f" ({lowest:.0f} to {highest:.0f})" if len(rows) > 1 else ""
    return f"{ratio:.1f}x", f"{100 * kept:.1f} %{spread}"


def area(points: Iterable[tuple[float, float]]) -> float:
    """Return the mean retention over the logarithm of the ratio, between the outer points."""
    ordered = sorted((math.log(ratio), kept) for ratio, kept in points)
    if len(ordered) < 2:
        return ordered[0][1] if ordered else 0.0
    whole = ordered[-1][0] - ordered[0][0]
    parts = ((two[0] - one[0]) * (one[1] + two[1]) / 2 for one, two in pairwise(ordered))
    return sum(parts) / whole if whole else ordered[0][1]
