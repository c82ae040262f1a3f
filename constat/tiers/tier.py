"""What a tier is, and what it answers: the protocol that a project's own tiers implement."""

from __future__ import annotations

import hashlib
import json
import operator
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import field, replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

from constat.evaluation import (
    UNTIMED,
    Answer,
    Assumption,
    Demand,
    Evidence,
    Opening,
    Origin,
    PackedRows,
    Portion,
)
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    UNREAD_CELL,
    Kind,
    NullCell,
    Open,
    OpenRow,
    Predicate,
    Row,
    canonical_bytes,
    canonical_float,
    canonical_lines,
    format_value,
    has_null_cells,
    is_of_type,
    line_before_null,
    parse_value,
    unread_columns,
)
from constat.syntax import print_row, print_stated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from decimal import Decimal

    import numpy as np
    from numpy.typing import NDArray

    from constat.evaluation import Attestation, Clock
    from constat.logic import Column, Value

# What an answer does not call complete is never taken for "no rows". Example, a tier that knows
# one fact: `TierAnswer(portions=(Portion((("C009", "gold"),), evidence),))`.

UNBOUNDED: Final = 1 << 40
"""So many rows no source gives: none is counted that whoever asks may not see."""


@frozen
class TierAnswer:
    """What one tier knows for a demand.

    For the keys in `complete` the portions and openings are all the tier's rows. `failures` tells
    why a key was not answered as it should have been; rows given for it still hold. A key in
    neither has the rows given, perhaps more. `authorities` is the evidence for `complete`.
    `remarks` tell why a key has no rows although nothing failed: the tier does not know.
    """

    portions: tuple[Portion, ...] = ()
    openings: tuple[Opening, ...] = ()
    complete: frozenset[Row] = frozenset()
    failures: Mapping[Row, str] = field(default_factory=dict, hash=False)
    authorities: tuple[Evidence, ...] = ()
    remarks: Mapping[Row, str] = field(default_factory=dict, hash=False)


class Tier(Protocol):
    """One place that facts come from."""

    @property
    def name(self) -> str:
        """The name in the project and in evidence."""
        ...

    @property
    def cost(self) -> int:
        """How dear a demand is, on the scale of `ExternalPredicate`."""
        ...

    def configured(self, predicate: Predicate) -> bool:
        """Whether the project expects this tier to know the predicate."""
        ...

    def answer(self, demand: Demand) -> TierAnswer:
        """Answer one batch. An exception is recorded as a failure for all its keys."""
        ...


@runtime_checkable
class SnapshotTier(Tier, Protocol):
    """A tier whose sources are read in states that have names."""

    def state(self, predicate: Predicate) -> str | None:
        """Name the state that a predicate is read in now; `None` where it has no name."""
        ...


@frozen
class TierSettings:
    """What the factory of a project's own tier is called with."""

    name: str
    folder: Path
    cost: int
    predicates: tuple[str, ...] | None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)


def failed(demand: Demand, reason: str) -> TierAnswer:
    """Give the answer of a tier that could not be asked, or broke down."""
    return TierAnswer(failures=dict.fromkeys(demand.keys, reason))


# `sha256:<hex>` over the rows, as certificates define it: each row the JSON array of its canonical
# texts, `null` for a null cell, sorted as lists with `null` before texts, each followed by a
# newline.


def content_hash(rows: Collection[Row], kinds: Sequence[Kind], clock: Clock = UNTIMED) -> str:
    """Give the hash of distinct rows, in whatever order they come."""
    digest = hashlib.sha256()
    for block in _bytes(rows, kinds, clock):
        clock.check()
        digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def packed_hash(rows: PackedRows, kinds: Sequence[Kind], clock: Clock = UNTIMED) -> str | None:
    """Give the hash of packed rows, of which nobody knows yet that they are distinct.

    `None` where two of them are the same.
    """
    lines = _sorted_lines(rows, kinds, clock)
    digest, last = hashlib.sha256(), None
    while block := next(lines, None):
        clock.check()
        if block[0] == last or any(map(operator.eq, block, islice(block, 1, None))):
            return None
        last = block[-1]
        for written in canonical_bytes(block, len(kinds)):
            digest.update(written)
    return f"sha256:{digest.hexdigest()}"


def _sorted_lines(rows: PackedRows, kinds: Sequence[Kind], clock: Clock) -> Iterator[list[str]]:
    """Yield the lines of rows in their order, some thousand at a time.

    Short plain ones are sorted as columns of letters, which take less room than texts.
    """
    import numpy as np  # noqa: PLC0415  heavy library, loaded on first use

    parts: list[NDArray[np.bytes_]] = []
    for block in clock.blocks(rows):
        lines = canonical_lines(block, kinds)
        if not all(map(str.isascii, lines)) or max(map(len, lines)) > _LONGEST_LINE:
            parts.clear()
            break
        # What is empty at the end would be cut off; the least letter leaves the order as it is.
        parts.append(np.array([f"{line}\1" for line in lines], np.bytes_))
    if not parts:
        every = [line for block in clock.blocks(rows) for line in canonical_lines(block, kinds)]
        every.sort()
        yield from (every[start : start + _LINES] for start in range(0, len(every), _LINES))
        return
    letters = np.concatenate(parts)
    parts.clear()
    letters.sort()
    for start in range(0, len(letters), _LINES):
        yield [line[:-1].decode() for line in letters[start : start + _LINES].tolist()]


def _bytes(rows: Collection[Row], kinds: Sequence[Kind], clock: Clock) -> Iterable[bytes]:
    """Give the lines of rows in their order, in which a null cell comes before any value."""
    same = unread_columns(rows)
    nulled = [row for row in clock.over(rows) if has_null_cells(row)]
    whole = rows if not nulled else [row for row in clock.over(rows) if not has_null_cells(row)]
    lines: list[str] = []
    for block in clock.blocks(whole):
        lines += canonical_lines(block, kinds, same)
    lines.sort()
    texts = [
        [
            None if isinstance(cell, NullCell) else format_value(cell, kind)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        for row in clock.over(nulled)
    ]
    texts.sort(key=lambda row: [(text is not None, text or "") for text in row])
    begun = 0
    for row in texts:
        place = bisect_left(lines, line_before_null(row, same), lo=begun)
        yield from canonical_bytes(lines[begun:place], len(kinds), same)
        yield f"{json.dumps(row, separators=(',', ':'))}\n".encode()
        begun = place
    yield from canonical_bytes(lines[begun:], len(kinds), same)


# A structure that is none of the column's type is no value, though its spelling is in order.


def read_canonical(text: str, column: Column) -> Value:
    """Read a value of a column that `format_value` wrote; raises `ValueError`."""
    # Floats are spelled in hexadecimal there, which people do not write.
    if column.kind is Kind.FLOAT and "0x" in text:
        return canonical_float(float.fromhex(text))
    value = parse_value(text, column.kind)
    if not is_of_type(value, column):
        raise ValueError(f"is no {column.type_name}")
    return value


# The placeholder and null cells that may be a value match any key; a cell without a value matches
# none. So `(OPEN, "gold")` matches every key of column 0.


def key_of(row: Row, columns: Sequence[int]) -> Row:
    """Give the values of a row in those columns."""
    return tuple(row[column] for column in columns)


def ground_key(row: OpenRow, columns: Sequence[int]) -> Row | None:
    """Give the values of a row in those columns, or `None` where one is not known."""
    slots = [row[column] for column in columns]
    values = tuple(slot for slot in slots if not isinstance(slot, Open | NullCell))
    return values if len(values) == len(slots) else None


def keys_of(rows: Iterable[Row], columns: Sequence[int]) -> Iterator[Row]:
    """Give for each row its values in those columns; for many rows."""
    if len(columns) == 1:
        column = columns[0]
        return ((row[column],) for row in rows)
    return map(itemgetter(*columns), rows) if columns else (() for _ in rows)


def rows_for(
    rows: Iterable[Row], columns: Sequence[int], keys: Collection[Row], clock: Clock = UNTIMED
) -> tuple[Row, ...]:
    """Give the rows that have one of the keys, and those that may have."""
    if not columns:
        return tuple(rows)
    if isinstance(rows, PackedRows):
        return tuple(rows.having(columns, frozenset(clock.over(keys))))
    found = clock.over(rows)
    if len(columns) == 1:
        column, wanted = columns[0], {key[0] for key in clock.over(keys)}
        return tuple(
            [row for row in found if row[column] in wanted or (wanted and may_be_any(row[column]))]
        )
    wanted_keys, key_in = set(clock.over(keys)), itemgetter(*columns)
    return tuple(
        [
            row
            for row in found
            if key_in(row) in wanted_keys
            or (has_null(row, columns) and matched_keys(row, columns, wanted_keys))
        ]
    )


def without_states(answer: Answer) -> Answer:
    """Give an answer whose evidence names no state of a source."""
    told: dict[int, Evidence] = {}

    def nameless(one: Evidence) -> Evidence:
        if id(one) not in told:
            fills = one.fills
            if fills is not None:
                fills = replace(fills, evidence=nameless(fills.evidence))
            told[id(one)] = replace(one, snapshot=None, fills=fills, attestation=stateless(one))
        return told[id(one)]

    def portion(one: Portion) -> Portion:
        return replace(one, evidence=nameless(one.evidence))

    return replace(
        answer,
        portions=tuple(map(portion, answer.portions)),
        openings=tuple(
            one if one.filled is None else replace(one, filled=portion(one.filled))
            for one in answer.openings
        ),
        authorities=tuple(map(nameless, answer.authorities)),
    )


def stateless(evidence: Evidence) -> Attestation | None:
    """Give whose word it is without the hash of the whole document, or response, and the place.

    They change with words that are another row's. In their stead stands the hash of what is shown.
    """
    word = evidence.attestation
    if word is None or evidence.origin not in {Origin.DOCUMENT, Origin.API}:
        return word
    if word.quote is None:
        return replace(word, response=evidence.content_hash)
    words = word.quote.text.encode()
    alone = replace(word.quote, start=0, end=len(words), hash=None)
    response = f"sha256:{hashlib.sha256(words).hexdigest()}"
    return replace(word, response=response, quote=alone)


def opened(row: Row) -> OpenRow:
    """Give the shape of what a row may be; certificates have no null cell in an open row."""
    cells: OpenRow = row
    return tuple(OPEN if isinstance(cell, NullCell) else cell for cell in cells)


def rows_as_read(rows: Iterable[Row], predicate: Predicate) -> tuple[Row, ...]:
    """Give rows without the cells that nobody reads; alike ones are one (semantics 50)."""
    unread = dict.fromkeys(predicate.unread, UNREAD_CELL)
    if not unread:
        return tuple(rows)
    shown = (tuple(unread.get(place, cell) for place, cell in enumerate(row)) for row in rows)
    return tuple(dict.fromkeys(cast("Row", row) for row in shown))


def may_be_any(cell: object) -> bool:
    """Tell whether a cell is null and may be any value."""
    return isinstance(cell, NullCell) and not cell.policy.is_empty


def has_null(row: OpenRow, columns: Sequence[int]) -> bool:
    """Tell whether a row has a null cell in one of the columns."""
    return any(isinstance(row[column], NullCell) for column in columns)


def matched_keys(row: OpenRow, columns: Sequence[int], keys: Collection[Row]) -> list[Row]:
    """Give the keys that a row may have; `keys` is best a set."""
    ground = ground_key(row, columns)
    if ground is not None:
        return [ground] if ground in keys else []
    bound = [
        (place, row[c])
        for place, c in enumerate(columns)
        if not isinstance(row[c], Open) and not may_be_any(row[c])
    ]
    return [key for key in keys if all(key[place] == slot for place, slot in bound)]


def openings_for(
    openings: Collection[Opening],
    columns: Sequence[int],
    keys: Collection[Row],
    clock: Clock = UNTIMED,
) -> tuple[Opening, ...]:
    """Give the openings that may have one of the keys."""
    if not openings:
        return ()
    wanted = keys if isinstance(keys, (set, frozenset)) else set(clock.over(keys))
    return tuple(one for one in clock.over(openings) if matched_keys(one.row, columns, wanted))


_LINES: Final = 1 << 14
_LONGEST_LINE: Final = 100
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/@]{0,500}@")
_NAMED_SECRET: Final = re.compile(
    r"(?i)\b(pass(?:word|wd)?|pwd|secret|token|api[_-]?key|authorization)(\s*[=:]\s*)\S{1,500}"
)
_LONGEST: Final = 200

API: Final = "api"
"""The name of the tier of APIs."""
DOCUMENT: Final = "document"
"""The name of the tier of documents."""

SUPPOSED: Final = "supposed"
"""The tier of supposed rows, and how the text of every supposition begins."""


def pattern(demand: Demand, key: Row) -> OpenRow:
    """Give the open row of a demanded key: anything in the other columns."""
    places = dict(zip(demand.columns, key, strict=True))
    return tuple(places.get(place, OPEN) for place in range(demand.predicate.arity))


def stated_by(author: str, predicate: Predicate, row: Row) -> Assumption:
    """Give the assumption that a person's word is true."""
    atom = print_stated(predicate, row)
    return Assumption("fact", atom, f"user {author} says {atom}")


def told_by(who: str, predicate: Predicate, row: Row, confidence: Decimal) -> Assumption:
    """Give the assumption that what a tier tells is true; `who` is named as `word_of` does."""
    atom = print_row(predicate, row)
    return Assumption("fact", atom, f"{who} says {atom}", confidence)


def word_of(tier: str, evidence: Evidence) -> str:
    """Name whose word rows are: an API or a document by its name, everything else by its tier."""
    if tier == DOCUMENT:
        return f"document {evidence.source}"
    return f"API {evidence.source}" if tier == API else f"tier {tier}"


def fallen_through(tiers: Iterable[str], predicate: Predicate) -> Assumption:
    """Give the assumption that silent tiers would have changed nothing."""
    names = tuple(dict.fromkeys(tiers))
    listed = " and ".join(_spoken(name) for name in names)
    return Assumption(
        "fall-through", " and ".join(names), f"{listed} did not answer for {predicate.name}"
    )


def _spoken(tier: str) -> str:
    """Name a tier for people: those that each project has by what they are."""
    plain = {"database": "the database", "config": "the configuration", "model": "the model"}
    plain[DOCUMENT] = "the documents"
    return plain.get(tier, f"tier {tier}")


def declared_closed(author: str, predicate: Predicate) -> Assumption:
    """Give the assumption that the known rows are all there are."""
    text = f"{author} declares that no fact of {predicate.name} is missing"
    return Assumption("closure", predicate.name, text)


def preferred(tier: str, predicate: Predicate) -> Assumption:
    """Give the assumption that people are right where another assumed value stands against them."""
    text = f"what people state of {predicate.name} counts before what tier {tier} assumes"
    return Assumption("closure", predicate.name, text)


def filled_in(predicate: Predicate) -> Assumption:
    """Give the assumption that what lower tiers say of null cells of a source is their value."""
    text = f"what is stated of {predicate.name} fills the cells that its source does not know"
    return Assumption("closure", predicate.name, text)


def who_says(tier: str, predicate: Predicate, row: Row, evidence: Evidence | None) -> str:
    """Say whose word a row is: `database sales says tier(C001, gold)`."""
    if evidence is not None and evidence.tier == SUPPOSED:
        return f"{SUPPOSED} is {print_stated(predicate, row)}"
    who = _spoken(tier) if evidence is None else word_of(tier, evidence)
    if evidence is not None and evidence.author:
        return f"user {evidence.author} says {print_stated(predicate, row)}"
    if evidence is not None and evidence.origin is Origin.DATABASE:
        who = f"database {evidence.source}"
    elif evidence is not None and evidence.origin is Origin.CONFIG:
        who = "the configuration"
    return f"{who} says {print_row(predicate, row)}"


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Read a parameter that lists pairs: `city = address.city, name = name`."""
    parts = [one.partition("=") for one in text.split(",") if one.strip()]
    return [(name.strip(), written.strip()) for name, _, written in parts]


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """Give a message of foreign code without addresses' passwords, bounded, in one line."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = _NAMED_SECRET.sub(r"\1\2***", _ADDRESS.sub(r"\1***@", text[:5_000]))
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
