"""Answers as text, for the file that keeps them, and back.

In: an `Answer` and its predicate. Out: JSON with values in canonical spelling; or, from such a
text, the equal answer. Invariant: the text is untrusted; a row, key or evidence that does not fit
the declaration raises `ValueError`, and then nothing of the text is used. Example: the row
`("C001", Decimal("0.1"))` is written `["C001","0.1"]`.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast

from constat.evaluation import (
    UNTIMED,
    Answer,
    Assumption,
    Clock,
    Evidence,
    Opening,
    Origin,
    Portion,
)
from constat.logic import (
    OPEN,
    NullCell,
    Open,
    format_value,
    null_cells,
    null_policies,
    parse_decimal,
    with_null_cells,
)
from constat.tiers.attested import attestation_text, read_attestation
from constat.tiers.canonical_texts import read_canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.logic import Column, Kind, OpenRow, Predicate, Row, Value

_HASH: Final = re.compile(r"((sha256:)?[0-9a-f]{64})?\Z")
_KINDS: Final = frozenset({"fact", "rule", "closure", "fall-through"})
_TIME: Final = re.compile(r"[0-9TZ:.+ -]{0,40}\Z")


def key_text(key: Row, kinds: Sequence[Kind]) -> str:
    """Write the values of the bound columns, so that equal keys are equal texts."""
    return _dumped([format_value(v, kind) for v, kind in zip(key, kinds, strict=True)])


def answer_text(
    answer: Answer, predicate: Predicate, columns: Sequence[int], clock: Clock = UNTIMED
) -> str:
    """Write an answer about keys of those columns."""
    writer = _Writer(predicate)
    kinds = [predicate.kinds[column] for column in columns]
    return _dumped(
        {
            "portions": [
                [
                    writer.evidence(portion.evidence),
                    writer.assumption(portion.assumption),
                    [writer.row(row) for row in clock.over(portion.rows)],
                ]
                for portion in answer.portions
            ],
            "openings": [
                [writer.row(one.row), one.reason, one.tier, writer.assumption(one.assumption)]
                for one in clock.over(answer.openings)
            ],
            "answered": [key_text(key, kinds) for key in clock.over(answer.answered)],
            "authorities": [writer.evidence(one) for one in answer.authorities],
            "evidence": writer.evidences,
            "assumptions": writer.assumptions,
        }
    )


def read_answer(
    text: str, predicate: Predicate, columns: Sequence[int], clock: Clock = UNTIMED
) -> Answer:
    """Read an answer; raises `ValueError` where anything does not fit."""
    try:
        return _Reader(json.loads(text), predicate, clock).answer(columns)
    except (TypeError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError):
        raise ValueError("is not of the form that answers have") from None


class _Writer:
    """Numbers what several portions share."""

    def __init__(self, predicate: Predicate) -> None:
        self._kinds = predicate.kinds
        self._numbers: dict[int, int] = {}
        self._assumed: dict[Assumption, int] = {}
        self.evidences: list[list[object]] = []
        self.assumptions: list[list[str]] = []

    def row(self, row: OpenRow) -> list[str | int | None]:
        return [_slot_text(slot, kind) for slot, kind in zip(row, self._kinds, strict=True)]

    def evidence(self, one: Evidence) -> int:
        if id(one) not in self._numbers:
            self._numbers[id(one)] = len(self.evidences)
            self.evidences.append(
                [
                    *(one.tier, one.origin.value, one.source, one.executed_at, one.query),
                    *(list(one.parameters), one.row_count, one.content_hash, one.snapshot),
                    *(f"{one.confidence:f}", one.author, attestation_text(one.attestation)),
                ]
            )
        return self._numbers[id(one)]

    def assumption(self, one: Assumption | None) -> int | None:
        if one is None:
            return None
        if one not in self._assumed:
            self._assumed[one] = len(self.assumptions)
            self.assumptions.append([one.kind, one.subject, one.text, f"{one.confidence:f}"])
        return self._assumed[one]


def _slot_text(slot: object, kind: Kind) -> str | int | None:
    """Write a value, `None` for the placeholder, the ordinal of a null cell."""
    if isinstance(slot, Open):
        return None
    return slot.ordinal if isinstance(slot, NullCell) else format_value(cast("Value", slot), kind)


class _Reader:
    """Reads one document; every value is checked on its way."""

    def __init__(
        self, document: dict[str, list[list[object]]], predicate: Predicate, clock: Clock
    ) -> None:
        self._document = document
        self._clock = clock
        self._predicate = predicate
        self._nulls = null_policies(predicate)
        self._columns = predicate.columns
        self._evidence = [_evidence(one) for one in _listed(document["evidence"])]
        self._assumptions = [_assumption(one) for one in _listed(document["assumptions"])]

    def answer(self, columns: Sequence[int]) -> Answer:
        document, over = self._document, self._clock.over
        bound = [self._columns[place] for place in columns]
        keys = (_row(json.loads(_text(one)), bound) for one in over(_listed(document["answered"])))
        return Answer(
            tuple(map(self._portion, _listed(document["portions"]))),
            tuple(map(self._opening, over(_listed(document["openings"])))),
            frozenset(keys),
            tuple(self._evidence[_index(one)] for one in _listed(document["authorities"])),
        )

    def _portion(self, written: object) -> Portion:
        evidence, assumption, rows = _listed(written)
        found = self._evidence[_index(evidence)]
        assumed = self._assumed(assumption)
        if assumed is None and found.origin.assumed:
            raise ValueError("holds a fact of somebody's word without the assumption")
        return Portion(tuple(map(self._row, self._clock.over(_listed(rows)))), found, assumed)

    def _row(self, written: object) -> Row:
        """Read a row; numbers in it are the ordinals of null cells."""
        cells = _listed(written)
        numbers = {_index(cell) for cell in cells if not isinstance(cell, str)}
        if not numbers:
            return _row(cells, self._columns)
        known = [
            _row([cell], [column])[0] if isinstance(cell, str) else None
            for cell, column in zip(cells, self._columns, strict=True)
        ]
        # A cell without a value has the ordinal 0 wherever it stands.
        row = with_null_cells(self._predicate.name, known, self._nulls, max(numbers))
        told = [cell for cell in cells if not isinstance(cell, str)]
        if told != [cell.ordinal for cell in null_cells(row)]:
            raise ValueError("holds a row with null cells that are none of one row")
        return row

    def _opening(self, written: object) -> Opening:
        row, reason, tier, assumption = _listed(written)
        slots = _listed(row)
        if len(slots) != len(self._columns):
            raise ValueError("holds a row of another width")
        opened: OpenRow = tuple(
            OPEN if slot is None else _row([slot], [column])[0]
            for slot, column in zip(slots, self._columns, strict=True)
        )
        return Opening(opened, _text(reason), _text(tier), self._assumed(assumption))

    def _assumed(self, number: object) -> Assumption | None:
        return None if number is None else self._assumptions[_index(number)]


def _row(texts: Iterable[object], columns: Sequence[Column]) -> Row:
    """Read values that are in canonical spelling; `007` is no number here."""
    values = []
    for text, column in zip(list(texts), columns, strict=True):
        value = read_canonical(_text(text), column)
        if format_value(value, column.kind) != text:
            raise ValueError("holds a value in a spelling of its own")
        values.append(value)
    return tuple(values)


def _evidence(written: object) -> Evidence:
    tier, origin, source, executed, query, parameters, count, found, *rest = _listed(written)
    snapshot, sure, author, said = rest
    if not _HASH.match(_text(found)) or not _TIME.match(_text(executed)):
        raise ValueError("holds an evidence with a hash or time that is none")
    whose, who = Origin(origin), None if author is None else _text(author)
    return Evidence(
        tier=_text(tier),
        origin=whose,
        source=_text(source),
        executed_at=_text(executed),
        query=None if query is None else _text(query),
        parameters=tuple(map(_text, _listed(parameters))),
        row_count=_index(count),
        content_hash=_text(found),
        snapshot=None if snapshot is None else _text(snapshot),
        confidence=_share(sure),
        author=who,
        attestation=read_attestation(said, whose, who),
    )


def _assumption(written: object) -> Assumption:
    kind, subject, text, confidence = _listed(written)
    if kind not in _KINDS:
        raise ValueError("holds an assumption of no known kind")
    return Assumption(_text(kind), _text(subject), _text(text), _share(confidence))


def _share(written: object) -> Decimal:
    value = parse_decimal(_text(written))
    if not 0 <= value <= 1:
        raise ValueError("holds a confidence that is none")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("holds something else where a text belongs")  # noqa: TRY004  callers catch one type
    return value


def _index(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("holds something else where a number belongs")
    return value


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("holds something else where a list belongs")  # noqa: TRY004  as in _text
    return value


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
