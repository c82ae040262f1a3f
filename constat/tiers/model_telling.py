"""What a model told about keys, as typed rows or a reason why it counts as nothing.

In: the arguments of the call, the predicate, the keys that were asked. Out: `Telling` by key.
Invariants: a row has the key it was asked for, since only the other columns are read; values are
read as the declaration types them; the confidence is that of the model, bounded by the project,
and no confidence is made of what is none; an answer with anything else in it, such as an `origin`,
counts as nothing. Example: `confidence: 5` is refused, 0.95 becomes 0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any, Final

from constat.logic import Kind, read_as
from constat.model import printable
from constat.tiers.model_declared import given_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Column, Predicate, Row

_MEMBERS: Final = frozenset({"key", "known", "rows", "holds", "confidence", "why"})
_PLACES: Final = Decimal("0.000001")
_LONGEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Telling:
    """What was told about one key: rows with their confidence, or why nothing was.

    `unknown` tells an honest "I do not know" from an answer that is of no use. `why` is what the
    model says of its reasons, in one printable line.
    """

    rows: tuple[Row, ...] = ()
    confidence: Decimal = Decimal(0)
    reason: str = ""
    unknown: bool = False
    why: str = ""


def tellings(
    arguments: Mapping[str, Any],
    predicate: Predicate,
    keys: Mapping[int, Row],
    policy: tuple[Decimal, Decimal],
) -> dict[int, Telling]:
    """Read what was told about keys, by their numbers in the prompt."""
    answers: dict[int, list[Mapping[str, Any]]] = {}
    for answer in arguments["answers"]:
        answers.setdefault(int(answer["key"]), []).append(answer)
    return {
        number: _telling(answers.get(number, []), predicate, key, policy)
        for number, key in keys.items()
    }


def _telling(
    answers: Sequence[Mapping[str, Any]],
    predicate: Predicate,
    key: Row,
    policy: tuple[Decimal, Decimal],
) -> Telling:
    if not answers:
        return Telling(reason="it said nothing about this key")
    if len(answers) > 1:
        return Telling(reason="it answered twice for this key")
    (answer,) = answers
    strange = sorted(answer.keys() - _MEMBERS)
    if strange:
        name = printable(strange[0])[:40]
        return Telling(reason=f"its answer has a member `{name}`, which is not its to give")
    if not answer["known"]:
        return Telling(reason="it does not know", unknown=True)
    try:
        confidence = _confidence(answer.get("confidence"), policy)
        rows = _rows(answer, predicate, key)
    except ValueError as problem:
        return Telling(reason=str(problem))
    if not rows:
        return Telling(reason="it knows of no row, and does not speak for all", unknown=True)
    why = answer.get("why", "")
    return Telling(rows, confidence, why=printable(why) if isinstance(why, str) else "")


def _confidence(stated: object, policy: tuple[Decimal, Decimal]) -> Decimal:
    """Bound what the model states; raises `ValueError` for what is no confidence."""
    usual, most = policy
    if stated is None:
        return usual
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        raise ValueError("its confidence is no number")  # noqa: TRY004  callers catch one type
    found = Decimal(repr(stated))
    if not 0 < found <= 1:
        raise ValueError("its confidence is not above 0 and at most 1")
    bounded = min(found, most).quantize(_PLACES, ROUND_FLOOR)
    if not bounded:
        raise ValueError("its confidence is too small to count")
    return bounded


def _rows(answer: Mapping[str, Any], predicate: Predicate, key: Row) -> tuple[Row, ...]:
    given = given_columns(predicate)
    if len(given) == predicate.arity:
        if "rows" in answer or not isinstance(answer.get("holds"), bool):
            raise ValueError("its answer does not say whether the row holds")
        return (key,) if answer["holds"] else ()
    if "holds" in answer or "rows" not in answer:
        raise ValueError("its answer has no rows")
    values = dict(zip(given, key, strict=True))
    found = [_row(row, predicate, values) for row in answer["rows"]]
    return tuple(dict.fromkeys(found))


def _row(written: Mapping[str, str], predicate: Predicate, given: Mapping[int, Any]) -> Row:
    names = {column.name for place, column in enumerate(predicate.columns) if place not in given}
    if written.keys() != names:
        raise ValueError("a row has other columns than were asked for")
    return tuple(
        given[place] if place in given else _value(written[column.name], column)
        for place, column in enumerate(predicate.columns)
    )


def _value(text: str, column: Column) -> Any:  # noqa: ANN401  a value of the column
    if len(text) > _LONGEST:
        raise ValueError(f"column {column.name} is longer than {_LONGEST} characters")
    if column.kind in {Kind.SYMBOL, Kind.STRUCTURE} and not text.isprintable():
        raise ValueError(f"column {column.name} holds a control character")
    try:
        return read_as(text.strip(), column)
    except ValueError as problem:
        raise ValueError(f"column {column.name} {problem}") from None
