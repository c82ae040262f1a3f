"""Make one answer of what the tiers contributed: united, or the first of each key."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    CONTESTED,
    Assumption,
    Conflict,
    FilledRow,
    Opening,
    Portion,
    TierAsked,
    Unfilled,
    Word,
    with_cells,
)
from constat.frozen import slotted
from constat.logic import NullCell, has_null_cells, may_agree, null_cells, null_policies
from constat.project.settings import PREFER_USER, UNRESOLVED
from constat.tiers.tier import (
    fallen_through,
    filled_in,
    ground_key,
    has_null,
    key_of,
    matched_keys,
    opened,
    preferred,
    told_by,
    who_says,
    word_of,
)
from constat.tiers.user import USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.evaluation import Answer, Demand, Evidence, Observer
    from constat.logic import Predicate, Row
    from constat.tiers.asking import Contribution


def unite(
    demand: Demand, contributions: Sequence[Contribution]
) -> tuple[list[Portion], list[Opening]]:
    """Give all rows, each with what it rests on, and all openings."""
    portions: list[Portion] = []
    openings: dict[Opening, None] = {}
    for contribution in contributions:
        for portion in contribution.answer.portions:
            for one in assumed(portion, contribution.tier, demand):
                portions += _split(one, demand, contribution)
        openings.update(dict.fromkeys(demand.clock.over(contribution.answer.openings)))
    return portions, list(openings)


def assumed(portion: Portion, tier: str, demand: Demand) -> Iterator[Portion]:
    """Yield the portion; where its origin is somebody's word, row by row under an assumption."""
    evidence = portion.evidence
    if portion.assumption is not None or not evidence.assumed:
        yield portion
        return
    for row in demand.clock.over(portion.rows):
        said = told_by(word_of(tier, evidence), demand.predicate, row, evidence.confidence)
        yield Portion((row,), evidence, said)


def weakened(
    assumption: Assumption | None, tiers: Sequence[str], predicate: Predicate
) -> Assumption | None:
    """Give the assumption under which a row holds although those tiers did not answer."""
    if not tiers:
        return assumption
    fallen = fallen_through(tiers, predicate)
    if assumption is None:
        return fallen
    if assumption.parts:
        return replace(assumption, parts=(*assumption.parts, fallen))
    # A row has one assumption: this one says both things.
    text = f"{assumption.text}, and {fallen.text}"
    return Assumption(assumption.kind, assumption.subject, text, assumption.confidence)


def _split(portion: Portion, demand: Demand, contribution: Contribution) -> Iterator[Portion]:
    if not contribution.fallen:
        yield portion
        return
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in demand.clock.over(portion.rows):
        silent = contribution.fallen.get(key_of(row, demand.columns), ())
        if has_null(row, demand.columns):
            keys = matched_keys(row, demand.columns, contribution.fallen.keys())
            silent = tuple(dict.fromkeys(one for key in keys for one in contribution.fallen[key]))
        groups.setdefault(silent, []).append(row)
    for tiers, rows in groups.items():
        assumption = weakened(portion.assumption, tiers, demand.predicate)
        yield Portion(tuple(rows), portion.evidence, assumption)


_FIRST: Final = "the first counts"
_SECOND: Final = "the second counts"
_NEITHER: Final = "neither counts"
_NONE: Final = "none of them counts"
_PAIR: Final = 2
NOBODY_COUNTS: Final = (_NEITHER, _NONE)
"""How the text of a conflict ends of which no row counts."""


@slotted
class _TierAnswer:
    """What one tier says about its keys."""

    rows: dict[Row, dict[Row, list[Portion]]] = field(default_factory=dict)
    openings: dict[Row, list[Opening]] = field(default_factory=dict)
    loose: list[Opening] = field(default_factory=list)


@slotted
class _Held:
    """What counts for one key: rows with their evidence, given as portions or as openings.

    `plain` is one row that holds without assumption; `above` what another answer gives already.
    `words` are rows that do not count as rows, as they say cells of one that a higher tier has.
    """

    tier: str
    rows: dict[Row, Evidence | None]
    portions: list[Portion] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    above: bool = False
    words: list[Portion] = field(default_factory=list)

    @property
    def plain(self) -> bool:
        return any(one.assumption is None for one in self.portions)

    @property
    def assumed(self) -> bool:
        """Whether all of it is somebody's word, or rests on an assumption."""
        words = (one is not None and one.assumed for one in self.rows.values())
        return all(words) if self.openings or not self.portions else not self.plain


class Shadowing:
    """Works down the chain and keeps, per key value, what is left to say.

    `conflicts` are by key. `revoked` are the rows of the answer above that no longer stand as they
    stood there. With `fill`, what lower tiers say of null cells counts for who accepts their word;
    `fillable` are the keys of which they say something.
    """

    def __init__(
        self,
        demand: Demand,
        key: tuple[int, ...],
        policy: str,
        observe: Observer,
        *,
        fill: bool = False,
    ) -> None:
        self._fill = fill
        self.fillable: set[Row] = set()
        self._demand = demand
        self._predicate = demand.predicate
        self._allowed = null_policies(demand.predicate)
        self._key = key
        self._policy = policy
        self._observe = observe
        self._held: dict[Row, _Held] = {}
        self._silent: dict[Row, list[str]] = {}
        self._silent_about_all: list[str] = []
        self._opened: dict[Opening, None] = {}
        self.conflicts: dict[Row, list[Conflict]] = {}
        self.revoked: set[Row] = set()

    @property
    def portions(self) -> list[Portion]:
        """The rows that count."""
        return [one for held in self._held.values() if not held.above for one in held.portions]

    @property
    def openings(self) -> dict[Opening, None]:
        """The rows that may be."""
        own = (one for held in self._held.values() if not held.above for one in held.openings)
        return {**self._opened, **dict.fromkeys(own)}

    def stand_above(self, answer: Answer, keys: Iterable[Row]) -> None:
        """Let the rows of an answer for these keys win over what is added, if they are better."""
        wanted = set(keys)
        for portion in answer.portions:
            for row in self._demand.clock.over(portion.rows):
                key = key_of(row, self._key)
                if key in wanted:
                    held = self._above(key, portion.evidence.tier)
                    held.rows[row] = portion.evidence
                    held.portions.append(Portion((row,), portion.evidence, portion.assumption))
        for opening in answer.openings:
            ground = ground_key(opening.row, range(len(opening.row)))
            # Where the key is the whole row, an unanswered key's opening looks like a row.
            if ground is not None and opening.assumption is None:
                key = key_of(ground, self._key)
                if key in wanted and (key in answer.answered or len(key) < len(ground)):
                    self._above(key, opening.tier).rows.setdefault(ground, None)

    def _above(self, key: Row, tier: str) -> _Held:
        return self._held.setdefault(key, _Held(tier, {}, above=True))

    def add(self, contribution: Contribution) -> None:
        """Take the next tier's contribution."""
        told = self._sorted(contribution)
        before = sum(map(len, self.conflicts.values()))
        for key, rows in self._demand.clock.over(told.rows.items()):
            fresh = self._fresh(contribution, key, rows, told)
            held = self._held.get(key)
            if held is not None and _says_less(held, fresh):
                self._meet_nulls(key, held, fresh)
                continue
            fresh = self._standing(fresh)
            if held is None:
                self._held[key] = fresh
                if len(rows) > 1:
                    self._conflict(key, fresh, fresh, _NEITHER)
            elif not held.rows.keys() >= fresh.rows.keys() or (fresh.plain and held.assumed):
                self._meet(key, held, fresh)
        self._keep_openings(contribution.tier, told)
        conflicts = sum(map(len, self.conflicts.values())) - before
        if conflicts:
            detail = f"{conflicts} keys have another value in a higher tier (conflict)"
            name = self._predicate.name
            self._observe(TierAsked(contribution.tier, name, conflicts, "partial", detail))

    def _sorted(self, contribution: Contribution) -> _TierAnswer:
        told = _TierAnswer()
        for portion in contribution.answer.portions:
            for one in assumed(portion, contribution.tier, self._demand):
                for row in self._demand.clock.over(one.rows):
                    rows = told.rows.setdefault(key_of(row, self._key), {})
                    rows.setdefault(row, []).append(one)
        for opening in self._demand.clock.over(contribution.answer.openings):
            key = ground_key(opening.row, self._key)
            if key is None:
                told.loose.append(opening)
            else:
                told.openings.setdefault(key, []).append(opening)
        return told

    def _fresh(
        self,
        contribution: Contribution,
        key: Row,
        rows: dict[Row, list[Portion]],
        told: _TierAnswer,
    ) -> _Held:
        """Give what a tier says of a key: one row, or rows of which none is certain."""
        tier = contribution.tier
        fresh = _Held(tier, {row: portions[0].evidence for row, portions in rows.items()})
        fresh.words = [portions[0] for portions in rows.values()]
        partial = key in contribution.answer.failures
        own = told.openings.get(key, ())
        if len(rows) == 1 and own and not (told.loose or partial):
            (row,) = rows
            if all(one.row == opened(row) for one in own):
                # The row itself came as one that may be.
                fresh.openings = list(own)
                return fresh
        if len(rows) > 1 or own or told.loose or partial:
            reason = (
                f"the source gives {len(rows)} {CONTESTED} of {self._predicate.name}: none counts"
            )
            if partial or len(rows) == 1:
                reason = f"the source may have another row for this key of {self._predicate.name}"
            fresh.openings = [Opening(opened(row), reason, tier) for row in rows]
            return fresh
        silent = [
            *contribution.fallen.get(key, ()),
            *self._silent.get(key, ()),
            *self._silent_about_all,
        ]
        for row, portions in rows.items():
            for portion in portions:
                assumption = weakened(portion.assumption, silent, self._predicate)
                fresh.portions.append(Portion((row,), portion.evidence, assumption))
        return fresh

    def _standing(self, fresh: _Held) -> _Held:
        """Give what stands for a key alone: who left out what may not be null says no whole row."""
        left_out = [cell for row in fresh.rows for cell in self._left_out(row)]
        if not left_out:
            return fresh
        name = self._predicate.columns[left_out[0].column].name
        reason = f"who states it leaves its {name} out, and no source has a row that it agrees with"
        openings = [Opening(opened(row), reason, fresh.tier) for row in fresh.rows]
        return _Held(fresh.tier, fresh.rows, [], openings)

    def _left_out(self, row: Row) -> list[NullCell]:
        """Give the null cells that the declaration does not allow: somebody left them out."""
        return [cell for cell in null_cells(row) if cell.policy is not self._allowed[cell.column]]

    def _meet(self, key: Row, held: _Held, fresh: _Held) -> None:
        """Decide between what counts for a key and what a lower tier says of it."""
        if held.rows.keys() == fresh.rows.keys():
            # The same value, now without an assumption.
            self._replace(key, held, fresh)
        elif self._policy == UNRESOLVED:
            self._conflict(key, held, fresh, _NEITHER)
            reason = f"conflict: tiers {held.tier} and {fresh.tier} give different values"
            rows = {**fresh.rows, **held.rows}
            openings = [Opening(opened(row), reason, fresh.tier) for row in rows]
            both = _Held(held.tier, rows, [], openings)
            self._replace(key, held, both)
        elif fresh.plain and held.assumed:
            self._conflict(key, held, fresh, _SECOND)
            self._replace(key, held, fresh)
        elif self._prefers_people(held, fresh):
            self._conflict(key, held, fresh, _SECOND)
            accepted = preferred(held.tier, self._predicate)
            # It stays possible as long as nobody accepts that people are right.
            fresh.openings += [
                Opening(opened(row), accepted.text, held.tier, accepted) for row in held.rows
            ]
            self._replace(key, held, fresh)
        else:
            self._conflict(key, held, fresh, _FIRST if held.portions else _NEITHER)

    def _meet_nulls(self, key: Row, held: _Held, fresh: _Held) -> None:
        """Fill null cells of the row that counts with the word of another, where both agree."""
        base, word = held, fresh
        if fresh.plain and held.assumed:
            base, word = fresh, held
            self._replace(key, held, fresh)
        if len(word.rows) > 1 and not _agree(word):
            self._conflict(key, word, word, _NEITHER)
            return
        if not base.portions or base.portions[0].assumption is not None:
            return
        (row,) = base.rows
        unfilled = Unfilled(row, base.portions[0].evidence)
        reason = f"{base.tier} does not know all of this row of {self._predicate.name}"
        filled = _filled(self._predicate, word, unfilled, reason)
        if filled is not None:
            self.fillable.add(key)
            if self._fill:
                self._replace(key, self._held[key], filled)

    def _prefers_people(self, held: _Held, fresh: _Held) -> bool:
        """Tell whether one person's word replaces what is only assumed."""
        stated = fresh.tier == USER and bool(fresh.portions)
        return self._policy == PREFER_USER and stated and held.tier != USER and held.assumed

    def _replace(self, key: Row, held: _Held, other: _Held) -> None:
        if held.above:
            self.revoked.update(held.rows)
        self._held[key] = other

    def _conflict(self, key: Row, held: _Held, fresh: _Held, outcome: str) -> None:
        """Record who says what; where one tier contradicts itself, both are that tier."""
        told = {row: (held.tier, one) for row, one in held.rows.items()}
        for row, one in fresh.rows.items():
            told.setdefault(row, (fresh.tier, one))
        said = [who_says(tier, self._predicate, row, one) for row, (tier, one) in told.items()]
        if outcome == _NEITHER and len(said) > _PAIR:
            outcome = _NONE
        # Rows that differ in unknown cells alone look the same.
        times = Counter(said).items()
        shown = ", ".join(one if count == 1 else f"{one} {count} times" for one, count in times)
        conflict = Conflict(self._predicate.name, f"{shown}: {outcome}", tuple(told))
        self.conflicts.setdefault(key, []).append(conflict)

    def _keep_openings(self, tier: str, told: _TierAnswer) -> None:
        for opening in told.loose:
            self._opened[opening] = None
        for key, openings in told.openings.items():
            if key not in self._held or self._held[key].tier == tier:
                self._opened.update(dict.fromkeys(openings))
                self._silent.setdefault(key, []).append(tier)
        if told.loose:
            self._silent_about_all.append(tier)


def _says_less(held: _Held, fresh: _Held) -> bool:
    """Tell whether rows differ in nothing but null cells."""
    rows = (*held.rows, *fresh.rows)
    if len(held.rows) != 1 or not any(map(has_null_cells, rows)):
        return False
    return all(may_agree(row, upper) for row in fresh.rows for upper in held.rows)


def _agree(word: _Held) -> bool:
    """Tell whether people say of one key what no other of them contradicts: each some cells."""
    pairs = combinations(word.rows, 2)
    return word.tier == USER and all(may_agree(one, other) for one, other in pairs)


def _filled(predicate: Predicate, word: _Held, unfilled: Unfilled, reason: str) -> _Held | None:
    """Give the row that words fill, and what is open until they are accepted; `None` if none do."""
    said = word.portions or word.words
    shape, tier = opened(unfilled.row), unfilled.evidence.tier
    if len(said) == 1 and _is_proved(said[0]):
        # What a certificate proves under assumptions of its own is a row, and no word for a cell.
        if said[0].assumption is None or has_null_cells(said[0].rows[0]):
            return None
        opening = Opening(shape, reason, tier, filled_in(predicate))
        return _Held(word.tier, word.rows, said, [opening])
    filled = FilledRow(unfilled, _needed(unfilled.row, said))
    if not filled.words:
        return None
    portion = Portion((filled.row,), filled.evidence, filled.assumption)
    opening = Opening(shape, reason, tier, filled.assumption, portion)
    return _Held(word.tier, {filled.row: filled.evidence}, [portion], [opening])


def _is_proved(portion: Portion) -> bool:
    held = portion.assumption
    return held is None or bool(held.parts) or portion.evidence.proved is not None


def _needed(row: Row, said: Sequence[Portion]) -> tuple[Word, ...]:
    """Choose the words that fill a row, who says most first; they come in the order of the cells.

    One word is enough where it says all that others say.
    """

    def places(portion: Portion) -> list[int]:
        told = with_cells(row, portion.rows[0])
        return [place for place, cell in enumerate(row) if cell != told[place]]

    chosen: dict[int, Portion] = {}
    for portion in sorted(said, key=lambda one: -len(places(one))):
        chosen = {**dict.fromkeys(places(portion), portion), **chosen}
    words: dict[int, Word] = {}
    for place in sorted(chosen):
        portion = chosen[place]
        if portion.assumption is None or _is_proved(portion):
            continue
        own = tuple(
            portion.rows[0][at] if chosen.get(at) is portion else row[at] for at in range(len(row))
        )
        words.setdefault(id(portion), Word(own, portion.evidence, portion.assumption))
    return tuple(words.values())


def merge_equal(portions: Sequence[Portion]) -> tuple[Portion, ...]:
    """Put rows with the same evidence and assumption into one portion."""
    groups: dict[tuple[int, object], tuple[Portion, dict[Row, None]]] = {}
    for portion in portions:
        place = (id(portion.evidence), portion.assumption)
        groups.setdefault(place, (portion, {}))[1].update(dict.fromkeys(portion.rows))
    return tuple(
        Portion(tuple(rows), first.evidence, first.assumption) for first, rows in groups.values()
    )
