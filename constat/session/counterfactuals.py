"""What little change would have turned a "no": each change is tried before it is told.

In: a goal that does not hold, its certificate, and somebody to answer it in a supposed world.  Out:
changes after which the goal holds: a row less, or a number that differs by what was lacking.
Invariants: nothing is told that the supposed world of `what-if` has not confirmed; only rows that
sources gave are changed, never a setting of the project; the tries are counted and timed.

Example: of ``approved(A102)``, 58 above what is allowed: ``loan(L2, P2, 252)`` in place of
``loan(L2, P2, 310)``, or no ``loan(L3, P2, 180.5)``.
"""

from __future__ import annotations

import time
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError
from constat.evaluation import Origin, Verdict
from constat.frozen import frozen
from constat.logic import OPEN, Kind
from constat.proof.decoding import decode_row
from constat.proof.export.account import account_of
from constat.proof.export.document import say_change
from constat.proof.sentences import is_left_out
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.evaluation import Call
    from constat.logic import OpenRow, Predicate
    from constat.proof.export.account import Account

MOST_TRIED: Final = 24
_SECONDS: Final = 10.0
# What is cheap enough to be tried without being asked for: the answer itself read little, none of
# it from a model or over an API, so that a try takes 15 to 35 ms.
MOST_CHEAP: Final = 12
_MOST_ROWS: Final = 1_000
_MOST_CALLS: Final = 100
_CHEAP: Final = frozenset({Origin.CONFIG, Origin.DATABASE, Origin.USER_PROVIDED, Origin.DERIVED})
_HELD: Final = frozenset({Verdict.PROVED, Verdict.PROVED_UNDER})
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL})
_OF_SOURCES: Final = frozenset({"DATABASE", "API", "DOCUMENT"})


@frozen
class Counterfactual:
    """A change after which the goal holds: in words, and as options of `what-if`."""

    text: str
    remove: str
    add: str
    verdict: Verdict

    def as_json(self) -> dict[str, str | None]:
        """Give it as a certificate has it; the verdict by its code."""
        told = {"text": self.text, "verdict": self.verdict.value}
        return {**told, "add": self.add or None, "remove": self.remove}


@frozen
class Counterfactuals:
    """The changes that were confirmed; ``stopped`` tells that some were not tried."""

    found: tuple[Counterfactual, ...]
    tried: int
    stopped: bool


def is_cheap(calls: Sequence[Call]) -> bool:
    """Tell whether an answer read so little, of such sources, that it can be asked a few times."""
    portions = [portion for call in calls for portion in call.answer.portions]
    return (
        len(calls) <= _MOST_CALLS
        and sum(len(one.rows) for one in portions) <= _MOST_ROWS
        and all(one.evidence.origin in _CHEAP for one in portions)
        and not any(call.answer.openings for call in calls)
    )


def counterfactuals(
    certificate: bytes, ask: Callable[[str, str, float], Verdict], most: int = MOST_TRIED
) -> Counterfactuals:
    """Try changes of the rows that a refusal shows, so many at most.

    ``ask`` gives the verdict with one row less and one more, within so many seconds.
    """
    account = account_of(certificate)
    until = time.monotonic() + _SECONDS
    found: list[Counterfactual] = []
    tried = 0
    for text, remove, add in _candidates(account):
        left = until - time.monotonic()
        if tried >= most or left <= 0:
            return Counterfactuals(tuple(found), tried, stopped=True)
        tried += 1
        try:
            verdict = ask(remove, add, left)
        except ConstatError:
            # What cannot be supposed is no change that anybody could make.
            continue
        if verdict in _HELD:
            found.append(Counterfactual(text, remove, add, verdict))
    return Counterfactuals(tuple(found), tried, stopped=False)


def _candidates(account: Account) -> Iterator[tuple[str, str, str]]:
    """Yield changes: numbers first, by what is lacking; then single rows that are not there."""
    rows, distances = list(_rows(account)), _distances(account)
    for predicate, row in rows:
        # What nobody read of a row cannot be written into another one.
        for distance in () if any(map(is_left_out, row)) else distances:
            yield from _moved(predicate, row, distance)
    for predicate, row in rows:
        shown = print_row(predicate, tuple(OPEN if is_left_out(one) else one for one in row))
        yield say_change(predicate, row, None), shown, ""


def _rows(account: Account) -> Iterator[tuple[Predicate, OpenRow]]:
    """Yield the whole rows that sources gave."""
    document = account.document
    predicates = document.program.program.predicates
    for number, group in enumerate(document.facts):
        if document.sources[group["source"]]["origin"] not in _OF_SOURCES:
            continue
        predicate = predicates[group["predicate"]]
        for texts in document.rows(number):
            row = decode_row(texts, predicate.kinds)
            cells: tuple[Any, ...] = row
            if OPEN not in row and all(
                isinstance(one, int | float | str | Decimal) or is_left_out(one) for one in cells
            ):
                yield predicate, row


def _distances(account: Account) -> tuple[Decimal, ...]:
    """Return by how much the comparisons fail, the smallest first."""
    found = set()
    for conclusion in account.denial:
        for path in conclusion.paths:
            for text in (path.attempt.distance, *(one.distance for one in path.reasons)):
                try:
                    found.add(Decimal(text.replace(",", "")))
                except InvalidOperation:
                    continue
    # A number that is equal to what it has to exceed needs the least step more.
    return tuple(sorted(one or Decimal(1) for one in found))


def _moved(predicate: Predicate, row: OpenRow, distance: Decimal) -> Iterator[tuple[str, str, str]]:
    for place, column in enumerate(predicate.columns):
        value = row[place]
        named = place in predicate.key or "id" in column.attributes
        if column.kind not in _NUMBERS or named or not isinstance(value, int | Decimal):
            continue
        whole = column.kind is not Kind.DECIMAL
        if whole and distance != int(distance):
            continue
        step: Any = int(distance) if whole else distance
        for moved in (value - step, value + step):
            if moved < 0:
                continue
            other = (*row[:place], moved, *row[place + 1 :])
            rows = print_row(predicate, row), print_row(predicate, other)
            yield say_change(predicate, row, other), *rows
