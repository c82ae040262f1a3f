"""What tiers say of a predicate, as facts and openings: nulls, keys, conflicts, filling.

The second half of the definition (semantics 4 to 6, 22, 26, 26a, 26e, 40, 50). All that tiers would
say is there at once; nobody asks for a pattern. Left open by the contract, and taken here as it is
safe: a null in a key column is an error, whatever its policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from typing import Final

from tests.oracle.definition import (
    NONE,
    STAR,
    Aggregate,
    Atom,
    Beyond,
    Blank,
    Body,
    Cell,
    Compare,
    Fact,
    Negative,
    Null,
    Opening,
    Outside,
    Positive,
    Program,
    Row,
    Star,
    Value,
    is_value,
    same,
    told_apart,
    uses,
)

USER: Final = "user"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A declaration; `nulls` is the policy of each column, `key` the places of `@[key]`.

    Only the `authority` can say that there is nothing else; with `closed` somebody declares it.
    Of the columns in `unread` no tier says anything (50): see `as_read`.
    """

    name: str
    nulls: tuple[str, ...]
    key: tuple[int, ...] = ()
    authority: str = ""
    closed: bool = False
    conflicts: str = "source"
    distinct: bool = False
    unread: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tier:
    """What one tier says: rows, with `None` for a null or for a cell that is left out.

    It failed for the patterns in `failed`: it may have more rows there. `assumed` tiers are
    somebody's word: a person's, a model's.
    """

    name: str
    rows: Sequence[tuple[Value | None, ...]] = ()
    failed: tuple[Row, ...] = ()
    assumed: bool = False
    confidence: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Claim:
    """A row as one tier says it, and the words that it rests on."""

    tier: Tier
    row: Row
    words: frozenset[str]
    sure: bool = True

    def fact(self) -> Fact | Opening:
        if self.sure:
            return Fact(self.row, self.words, self.tier.confidence)
        return self.pattern(frozenset())

    def pattern(self, words: frozenset[str]) -> Opening:
        """Give the row as one that may be, until these words are accepted.

        A pattern has values and ⋆ only (26f): where there is no value it is wider than the row.
        """
        cells = (cell if is_value(cell) else STAR for cell in self.row)
        return Opening(tuple(cells), words)


@dataclass(slots=True)
class Said:
    """What all tiers say together."""

    facts: list[Fact] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    def add(self, one: Fact | Opening) -> None:
        if isinstance(one, Fact):
            self.facts.append(one)
        else:
            self.openings.append(one)


def as_read(predicate: Predicate, program: Program, goal: Body) -> Predicate:
    """Give a declaration without the columns that a goal does not need (50).

    The key is needed, and a column whose nulls leave rows out. In an aggregate each `_` tells rows
    apart (23), unless a key does: then a query's rows of one key never merge. A least or greatest
    is the same of equal rows.
    """
    below, bodies = {""}, [goal]
    while True:
        more = {name for body in bodies for name, _ in uses(body)} - below
        if not more:
            break
        below |= more
        bodies += [rule.body for rule in program.rules if rule.head.predicate in more]
    read = {*predicate.key, *(n for n, policy in enumerate(predicate.nulls) if policy == "skip")}
    counted = False
    for atom, inside in (one for body in bodies for one in _atoms(body)):
        if atom.predicate == predicate.name:
            own = {n for n, term in enumerate(atom.terms) if not isinstance(term, Blank)}
            read |= {*range(len(atom.terms))} if inside and not predicate.key else own
            counted |= inside
    unread = tuple(n for n in range(len(predicate.nulls)) if n not in read)
    merged = predicate.distinct or (bool(unread) and not counted)
    return replace(predicate, unread=unread, distinct=merged)


def _atoms(body: Body) -> Iterator[tuple[Atom, bool]]:
    """Yield the atoms of a body, each with whether its rows are counted or added."""
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom, False
            case Aggregate(function="min" | "max", body=inner):
                yield from _atoms(inner)
            case Aggregate(body=inner) | Beyond(body=inner):
                yield from ((atom, True) for atom, _ in _atoms(inner))
            case Compare():
                pass


def outside(*said: tuple[Predicate, Sequence[Tier]]) -> Outside:
    """Give the outside of a program: what the chains of its predicates say."""
    found = {predicate.name: chain(predicate, tiers) for predicate, tiers in said}
    return Outside(
        {name: one.facts for name, one in found.items()},
        {name: one.openings for name, one in found.items()},
    )


def read(predicate: Predicate, tier: Tier) -> tuple[list[Row], list[Row]]:
    """Give the rows of a tier and the patterns in which it may have others (4, 22, 26)."""
    rows: list[Row] = []
    patterns = list(tier.failed)
    seen: Counter[tuple[Value | None, ...]] = Counter()
    for whole in tier.rows:
        raw = tuple(None if n in predicate.unread else cell for n, cell in enumerate(whole))
        seen[raw] += 1
        policies = [
            policy if cell is None else ""
            for cell, policy in zip(raw, predicate.nulls, strict=True)
        ]
        if tier.name == USER:
            # A cell that a stated fact leaves out: nobody says that there is a value (26e).
            policies = ["maybe" if policy else "" for policy in policies]
        # Nothing reads the cell, so it may as well be one without a value.
        policies = ["none" if n in predicate.unread else one for n, one in enumerate(policies)]
        if "skip" in policies:
            continue
        row = tuple(
            _cell(predicate, place, raw, policy, seen[raw] - 1)
            for place, policy in enumerate(policies)
        )
        broken = {place for place, policy in enumerate(policies) if policy == "error"}
        broken |= {place for place in predicate.key if raw[place] is None}
        if broken:
            patterns.append(tuple(STAR if n in broken else cell for n, cell in enumerate(row)))
        elif row in rows and tier.name == predicate.authority and not predicate.distinct:
            # Two rows would merge: the query is in error. With a key it is so about that key alone;
            # without one, what it gave may not be all (22).
            patterns.append(row if predicate.key else (STAR,) * len(row))
        else:
            rows += [row] if row not in rows else []
    return rows, patterns


def _cell(
    predicate: Predicate, place: int, raw: tuple[Value | None, ...], policy: str, ordinal: int
) -> Cell:
    known = raw[place]
    if known is not None:
        return known
    return NONE if policy == "none" else Null(policy, (predicate.name, place, raw, ordinal))


def chain(predicate: Predicate, tiers: Sequence[Tier]) -> Said:
    """Say what the tiers, the first being the highest, know together."""
    said = Said()
    claims: list[Claim] = []
    for place, tier in enumerate(tiers):
        rows, patterns = read(predicate, tier)
        held = {_key(predicate, one.row) for one in claims if not one.words}
        if not tier.assumed:
            last = not any(one.name == predicate.authority for one in tiers[place + 1 :])
            words = frozenset(() if last else {_failure(tier)})
            for pattern in patterns:
                said.openings += [Opening(row, words) for row in _besides(predicate, pattern, held)]
        for row in rows:
            failed = frozenset(
                _failure(one)
                for one in tiers[:place]
                if any(_covers(pattern, row) for pattern in read(predicate, one)[1])
            )
            own = {f"{tier.name} says {predicate.name}{row}"} if tier.assumed else set()
            torn = predicate.key and any(_covers(one, row, predicate.key) for one in patterns)
            claims.append(Claim(tier, row, failed | own, not torn))
    if predicate.authority not in {tier.name for tier in tiers}:
        held = {_key(predicate, one.row) for one in claims if not one.words}
        words = frozenset({f"{predicate.name} is complete"} if predicate.closed else ())
        everything = (STAR,) * len(predicate.nulls)
        said.openings += [Opening(row, words) for row in _besides(predicate, everything, held)]
    if not predicate.key:
        for claim in claims:
            said.add(claim.fact())
        return said
    for key in dict.fromkeys(_key(predicate, one.row) for one in claims):
        _settle(predicate, [one for one in claims if _key(predicate, one.row) == key], said)
    return said


def _failure(tier: Tier) -> str:
    return f"tier {tier.name} did not answer"


def _key(predicate: Predicate, row: Row) -> Row:
    return tuple(row[place] for place in predicate.key)


def _covers(pattern: Row, row: Row, places: Sequence[int] | None = None) -> bool:
    chosen = range(len(row)) if places is None else places
    return all(same(pattern[place], row[place]) is not False for place in chosen)


def _besides(predicate: Predicate, pattern: Row, keys: set[Row]) -> Iterator[Row]:
    """Yield a pattern without the rows that have one of these keys: they are never others (5)."""
    if not predicate.key or not keys:
        yield pattern
        return

    def without(row: Row, places: tuple[int, ...], left: set[Row]) -> Iterator[Row]:
        if not left:
            yield row
            return
        if not places:
            return
        place, taken = places[0], {key[-len(places)] for key in left}
        cell = row[place]
        if isinstance(cell, Star):
            values = frozenset(filter(is_value, taken))
            yield _put(row, place, Star(cell.besides | values))
        for value in taken if isinstance(cell, Star) else {cell}:
            rest = {key for key in left if key[-len(places)] == value}
            yield from without(_put(row, place, value), places[1:], rest)

    yield from without(pattern, predicate.key, keys)


def _put(row: Row, place: int, cell: Cell) -> Row:
    return (*row[:place], cell, *row[place + 1 :])


def _settle(predicate: Predicate, claims: list[Claim], said: Said) -> None:
    """Decide what counts for one key: a plain claim before an assumed one, else the first (40)."""
    held = next((one for one in claims if not one.words), claims[0])
    own = [one for one in claims if one.tier == held.tier]
    if len(own) > 1:
        # Two rows of one tier: none is certain, all are possible (6).
        said.conflicts.append(_conflict(claims))
        said.openings += [one.pattern(frozenset()) for one in own]
        return
    fact = held.fact()
    against: list[Claim] = []
    for tier in dict.fromkeys(one.tier.name for one in claims if one is not held):
        others = [one for one in claims if one.tier.name == tier and one is not held]
        fills = [_fills(fact, one) for one in others]
        if None in fills or (len(others) > 1 and not (tier == USER and _agree(others))):
            # Two rows of one tier that say different things fill nothing (6).
            said.conflicts.append(_conflict([held, *others]))
            against += others if None in fills else []
            if predicate.conflicts == "user" and held.words and tier == USER and len(others) == 1:
                said.add(others[0].fact())
                said.openings.append(held.pattern(others[0].words))
                return
        elif isinstance(fact, Fact):
            for one in others:
                fact = replace(fact, fills=(*fact.fills, *(_fills(fact, one) or ())))
        if held.words:
            # As long as nobody accepts the first word, the second may be what is so.
            for one in others:
                said.add(one.fact() if one.row == held.row else one.pattern(held.words))
    if against and predicate.conflicts == "unresolved":
        said.openings += [one.pattern(frozenset()) for one in (held, *against)]
    else:
        said.add(fact)


def _agree(claims: Sequence[Claim]) -> bool:
    """Tell whether people say nothing different of one key: each may leave cells out (26e)."""
    return not any(
        told_apart(left, right)
        for one, other in combinations(claims, 2)
        for left, right in zip(one.row, other.row, strict=True)
    )


def _fills(fact: Fact | Opening, other: Claim) -> list[tuple[int, Value, str]] | None:
    """Give the cells that a claim fills (26e); `None` where it says something else."""
    known = {fill[0]: fill[1] for fill in getattr(fact, "fills", ())}
    word = " and ".join(sorted(other.words)) or f"{other.tier.name} says {other.row}"
    fills: list[tuple[int, Value, str]] = []
    for place, (cell, said) in enumerate(zip(fact.row, other.row, strict=True)):
        cell_now = known.get(place, cell)
        if not is_value(said):
            # A label says that there is a value, `none` that there is none, `maybe` nothing.
            if told_apart(cell_now, said):
                return None
        elif isinstance(cell_now, Null) and cell_now != NONE:
            fills.append((place, said, word))
        elif cell_now != said:
            return None
    return fills


def _conflict(claims: Sequence[Claim]) -> str:
    return " and ".join(f"{one.tier.name} says {one.row}" for one in claims)
