"""The view: claims as lines of a context, as many of those that matter as fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.memory.decisions import FAR
from constat.memory.facts import Span
from constat.memory.history import (
    SILENT,
    WHOLE,
    Line,
    head,
    is_bare_number,
    key_of,
    shown,
    speaker,
    whole_line,
)
from constat.memory.tokens import estimate, hundredths, sandwich

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from constat.memory.decisions import Decided
    from constat.memory.history import Claim

# One text names its keys: `get -> id=O-5 state=paid @m7`. Texts with one key, or none, share a
# line: `call get id: O-5 @m7 O-7 @m9`. Otherwise the first line names the columns; an empty cell
# says nothing: its value is shown elsewhere, did not fit, or is not there::

# More columns than these are hard to tell apart by counting; what is left names its key.
_MOST_COLUMNS: Final = 8
_INDENT: Final = "  "
# What the end of a line takes, and marks between values: one, and one more beside it.
LINE: Final = hundredths("\n")
_ROW: Final = hundredths(f"\n{_INDENT}")
_MARK: Final = hundredths("|")
_AGAIN: Final = hundredths("||") - _MARK


def family_of(claim: Claim, *, terse: bool = False) -> str:
    """Return which claims share a table: lines begin alike, and all have keys, or none has.

    Where it is ``terse`` all that tools said share one line, and so on: nothing has a key.
    """
    if terse:
        return speaker(claim.text)
    return f"{head(claim.text)}{'' if key_of(claim) else ' -'}"


@dataclass(slots=True)
class _Row:
    """The claims of one text; ``attached`` is what each key takes beside its values."""

    claims: list[Claim] = field(default_factory=list)
    level: int = 9
    attached: dict[str, int] = field(default_factory=dict)


@frozen
class _Sums:
    """What parts of a family take: values with places, keys before them, columns, cells."""

    values: int = 0
    keyed: int = 0
    columns: int = 0
    cells: int = 0


class Family:
    """Claims whose lines begin alike, growing."""

    def __init__(self, first: Claim, *, terse: bool = False) -> None:
        self._terse = terse
        self._head = speaker(first.text) if terse else head(first.text)
        self._takes = hundredths(self._head) + LINE
        self._rows: dict[str, _Row] = {}
        self._columns: dict[str, int] = {}
        self._keys: set[str] = set()
        self._sums = _Sums()

    def key(self, claim: Claim) -> str:
        """Return what a claim is called here."""
        return "" if self._terse else key_of(claim)

    def cost(self, claim: Claim) -> int:
        """Return what one more claim would take, in hundredths of a token."""
        rows = len(self._rows) + (claim.text.name not in self._rows)
        keys = self._keys | {self.key(claim)}
        return self._total(self._with(claim), rows, keys) - self._now()

    def has(self, claim: Claim) -> bool:
        """Tell whether the text of a claim has a row already."""
        return claim.text.name in self._rows

    def shows(self, claim: Claim) -> bool:
        """Tell whether the row of a claim's text has its value under its key."""
        row = self._rows.get(claim.text.name)
        same = (self.key(claim), shown(claim))
        return row is not None and any((self.key(one), shown(one)) == same for one in row.claims)

    def take(self, claim: Claim, level: int) -> None:
        """Take a claim in."""
        self._sums = self._with(claim)
        key = self.key(claim)
        row = self._rows.setdefault(claim.text.name, _Row())
        row.claims.append(claim)
        row.level = min(level, row.level)
        row.attached[key] = max(row.attached.get(key, 0), _attached(key, claim))
        self._keys.add(key)
        if key not in self._columns and len(self._columns) < _MOST_COLUMNS:
            self._columns[key] = len(self._columns)

    def lines(self) -> list[Line]:
        """Write the claims, in the order in which they were said."""
        rows = sorted((_by_place(row) for row in self._rows.values()), key=_when)
        if not rows:
            return []
        if len(rows) == 1:
            return [_line(rows[0], f"{self._head} {_named(rows[0].claims, self.key)}")]
        if len(self._keys) == 1:
            return [self._shared(rows)]
        names = "|".join(self._columns)
        first = _line(rows[0], f"{self._head} {names}: {self._cells(rows[0])}")
        return [first, *(_line(row, f"{_INDENT}{self._cells(row)}") for row in rows[1:])]

    def _now(self) -> int:
        return self._total(self._sums, len(self._rows), self._keys) if self._rows else 0

    def _total(self, sums: _Sums, rows: int, keys: set[str]) -> int:
        if rows == 1:
            return self._takes + sums.values + sums.keyed
        if len(keys) == 1:
            return self._takes + sums.values + hundredths(f" {next(iter(keys))}:")
        return self._takes + sums.values + sums.columns + sums.cells + rows * _ROW

    def _with(self, claim: Claim) -> _Sums:
        """Return what the parts take with one more claim."""
        sums, key, name = self._sums, self.key(claim), claim.text.name
        row = self._rows.get(name)
        values = sums.values + hundredths(f" {shown(claim)}")
        values += 0 if row else hundredths(f"@{name}")
        known = row.attached if row else {}
        keyed = max(0, _attached(key, claim) - known.get(key, 0))
        column = self._columns.get(key, len(self._columns))
        columns, cells = sums.columns, sums.cells
        if column >= _MOST_COLUMNS:
            cells += keyed
        else:
            columns += 0 if key in self._columns else hundredths(f" {key}") + _MARK
            filled = [self._columns[one] for one in known if one in self._columns]
            cells += _between({*filled, column}) - _between(filled)
        return _Sums(values, sums.keyed + keyed, columns, cells)

    def _cells(self, row: _Row) -> str:
        """Write a row: its cells, and behind them what has no column."""
        cells: dict[str, list[str]] = {one: [] for one in self._columns}
        for claim in row.claims:
            if self.key(claim) in cells:
                cells[self.key(claim)].append(shown(claim))
        said = "|".join(" ".join(values) for values in cells.values()).rstrip("|")
        others = [one for one in row.claims if self.key(one) not in cells]
        return " ".join(part for part in (said, _named(others, self.key)) if part)

    def _shared(self, rows: Sequence[_Row]) -> Line:
        """Write texts of one key, or none, in one line."""
        key = self.key(rows[0].claims[0])
        said = [self._head, *([f"{key}:"] if key else [])]
        for row in rows:
            said += [*map(shown, row.claims), f"@{row.claims[0].text.name}"]
        names = tuple(one.name for row in rows for one in row.claims)
        level = min(row.level for row in rows)
        return Line(" ".join(said), _place(rows[-1].claims), names, level, rows[0].claims[0].at)


def _attached(key: str, claim: Claim) -> int:
    """Return what its key takes before a value: together they may be read as one long code."""
    value = shown(claim)
    if not key:
        return 0
    apart = hundredths(f" {key}=")
    return max(apart, hundredths(f" {key}={value}") - hundredths(f" {value}"))


def _between(columns: set[int] | Sequence[int]) -> int:
    """Return what the marks between the cells of a row take."""
    if not columns:
        return 0
    runs = len(columns) - (0 in columns)
    return runs * _MARK + (max(columns) - runs) * _AGAIN


def _named(claims: Sequence[Claim], key_of_: Callable[[Claim], str]) -> str:
    """Write claims of one text, each key once before its values."""
    values: dict[str, list[str]] = {}
    for one in claims:
        values.setdefault(key_of_(one), []).append(shown(one))
    return " ".join(
        f"{key}={' '.join(said)}" if key else " ".join(said) for key, said in values.items()
    )


def _by_place(row: _Row) -> _Row:
    ordered = sorted(row.claims, key=lambda one: (one.fact.span.start, one.name))
    return _Row(ordered, row.level, row.attached)


def _when(row: _Row) -> tuple[int, str]:
    return (row.claims[0].at, row.claims[0].text.name)


def _line(row: _Row, said: str) -> Line:
    names = tuple(one.name for one in row.claims)
    first = row.claims[0]
    return Line(f"{said} @{first.text.name}", _place(row.claims), names, row.level, first.at)


def _place(claims: Sequence[Claim]) -> str:
    spans = [one.fact.span for one in claims]
    whole = Span(spans[0].archive, min(x.start for x in spans), max(x.end for x in spans))
    return claims[0].text.place(whole)


# Classes are filled one after the other, nearer texts before others, newer claims before older,
# and of what nobody took up short values before long ones; a claim that no longer fits is passed
# over.

_MOST_REFS: Final = 50
_PINNED: Final = "what is pinned"
_PREVIEW: Final = 2_000
# What long texts are cut to, one after the other, where what is pinned does not fit.
_SHORTER: Final = (2_000, 600)
_SHORTEST: Final = 200
# What is pinned and no obligation takes no more of a small budget than this.
_OTHER_PINS: Final = 0.3
_ENTIRE: Final = frozenset({"constraint", "preference"})
# From this class on nobody has asked with a value or named it: more of them fit if short ones go
# first. What was asked with goes by its time alone.
_NOT_TAKEN_UP: Final = 3
# What is in play: what was taken up, and what may be chosen.
_IN_PLAY: Final = 4
# Where less than this is left nothing is looked at any more.
_LEAST: Final = 200


class BudgetError(ConstatError):
    """What has to be there does not fit; ``refs`` are the places of what is pinned."""

    def __init__(self, needed: int, budget: int, refs: Sequence[str], what: str = _PINNED) -> None:
        self.needed = needed
        self.budget = budget
        self.refs = tuple(refs)
        shown = ", ".join(self.refs[:_MOST_REFS])
        told = Diagnostic(
            "C0803",
            f"{what} takes {needed:,} tokens, and {budget:,} are there",
            note=f"pinned: {shown}" if shown else "",
            help=f"give at least {needed:,} tokens{', or take one of these back' if shown else ''}",
        )
        super().__init__([told])


@frozen
class View:
    """Lines in the order in which they were said; ``passed_over`` counts what did not fit.

    ``left_out`` counts what is pinned and could not even be named, ``lost`` what is in play and
    was passed over.
    """

    lines: tuple[Line, ...]
    tokens: int
    passed_over: int = 0
    left_out: int = 0
    lost: int = 0

    @property
    def text(self) -> str:
        """The lines, one after the other."""
        return "\n".join(one.text for one in self.lines)

    @property
    def block(self) -> str:
        """The lines of a context's block: of what people said only what it is, and where."""
        return "\n".join(one.stub or one.text for one in self.lines)

    @property
    def values(self) -> str:
        """The lines of a context's block without those of what people said."""
        return "\n".join(one.text for one in self.lines if not one.role)

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """What people and the system said, by their roles: the task first, and nothing twice."""
        spoken = [one for one in self.lines if one.role]
        spoken.sort(key=lambda one: (not one.stub.startswith("task "), one.at))
        found: list[tuple[str, str]] = []
        for one in spoken:
            if not any(one.role == role and one.words in said for role, said in found):
                found.append((one.role, one.words))
        return tuple(found)


@frozen
class Filling:
    """How to fill: what is shown in full elsewhere, and the bounds of what people said.

    ``shown`` are names of texts that the context holds word for word. Where it is ``loose``, what
    is pinned gives way rather than not fit: obligations are shown whole as long as there is room,
    then only named. ``pins`` is the share of a budget that what is pinned may take. Where it is
    ``terse`` values have no keys, and numbers, which say nothing without one, are left out.
    """

    shown: Collection[str] = ()
    human_tokens: int = 20_000
    verbatim: int = 8_000
    loose: bool = False
    pins: float = 1.0
    terse: bool = False


def fill(
    claims: Iterable[Claim],
    decided: Decided,
    budget: int,
    filling: Filling | None = None,
) -> View:
    """Choose and write. Raises ``BudgetError``."""
    filling = filling or Filling()
    ranked = sorted(_ranked(claims, decided, filling), key=lambda one: one[0])
    pinned = [claim for (level, *_), claim in ranked if level == 1]
    packing = _pinned(pinned, decided, budget, filling)
    packing.claims = {claim.name: claim for _, claim in ranked}
    for level, group in groupby(ranked[len(pinned) :], key=lambda one: one[0][0]):
        packing.offer_all([claim for _, claim in group], level)
    return packing.view()


def _pinned(claims: Sequence[Claim], decided: Decided, budget: int, filling: Filling) -> _Packing:
    """Pin claims; where they do not fit, long ones of them are shown by their ends."""
    if filling.loose:
        packing = _Packing(decided, budget, replace(filling, verbatim=_SHORTEST))
        packing.pin_what_fits(claims)
        return packing
    for verbatim in _SHORTER:
        packing = _Packing(decided, budget, filling)
        try:
            packing.pin(claims)
        except BudgetError:
            filling = replace(filling, verbatim=min(verbatim, filling.verbatim))
        else:
            return packing
    packing = _Packing(decided, budget, filling)
    packing.pin(claims)
    return packing


_Rank = tuple[int, int, int, int, str]


def _ranked(
    claims: Iterable[Claim], decided: Decided, filling: Filling
) -> list[tuple[_Rank, Claim]]:
    found: list[tuple[_Rank, Claim]] = []
    known: dict[str, int] = {}
    for claim in claims:
        level = decided.level(claim.name)
        # A constraint that is shown in full where it was said is in sight already.
        if level == 0 or claim.fact.predicate in SILENT or claim.text.name in filling.shown:
            continue
        if filling.terse and level > 1 and is_bare_number(claim):
            continue
        hops = decided.hops.get(claim.text.name, FAR) if level > 1 else 0
        room, value = 0, claim.fact.value
        if level >= _NOT_TAKEN_UP and claim.fact.predicate not in WHOLE:
            room = known[value] if value in known else known.setdefault(value, estimate(value))
        found.append(((level, room, hops, -claim.at, claim.name), claim))
    return found


class _Packing:
    """Fills a budget, claim by claim."""

    def __init__(self, decided: Decided, budget: int, filling: Filling) -> None:
        self.filling = filling
        self.claims: Mapping[str, Claim] = {}
        self._decided = decided
        self._budget = 100 * budget
        self._used = 0
        self._said: set[tuple[str, str]] = set()
        self._families: dict[str, Family] = {}
        self._wholes: list[Line] = []
        self._passed_over = 0
        self._left_out = 0
        self._lost = 0
        self._human = 100 * filling.human_tokens

    def pin(self, claims: Sequence[Claim]) -> None:
        """Show all of these."""
        against = self._opponents()
        for claim in claims:
            if self._is_new(claim):
                other = against.get(claim.name, "")
                note = f"(contradicts {other})" if other else ""
                self._add(claim, 1, self._cost(claim, note), note)
        if self._used > self._budget * self.filling.pins:
            ordered = sorted(claims, key=lambda one: (one.at, one.place))
            refs = list(dict.fromkeys(one.place for one in ordered))
            raise BudgetError(-(-self._used // 100), self._budget // 100, refs)

    def pin_what_fits(self, claims: Sequence[Claim]) -> None:
        """Show what fits of these, obligations whole and first; name the others by their places."""
        against = self._opponents()
        bound = self._budget * _OTHER_PINS
        for claim in sorted(claims, key=lambda one: one.fact.predicate not in _ENTIRE):
            if not self._is_new(claim):
                continue
            other = against.get(claim.name, "")
            note = f"(contradicts {other})" if other else ""
            most = self._budget if claim.fact.predicate in _ENTIRE else bound
            cost = self._cost(claim, note)
            if self._used + cost <= most:
                self._add(claim, 1, cost, note)
            elif claim.fact.predicate in WHOLE:
                self._name(claim, note, most)
            else:
                self._left_out += 1

    def _name(self, claim: Claim, note: str, most: float) -> None:
        """Show what a claim is and where it stands, without its words."""
        line = self._whole(claim, 1, note)
        what = line.stub or f"{claim.fact.predicate} @{claim.place}"
        cost = hundredths(what) + LINE
        if self._used + cost > most:
            self._left_out += 1
            return
        self._used += cost
        self._wholes.append(replace(line, text=what, role="", words="", stub=""))

    def offer_all(self, claims: Sequence[Claim], level: int) -> None:
        """Show what fits of one class; what several texts say is cited from one that is, anyway."""
        same: dict[tuple[str, str], list[Claim]] = defaultdict(list)
        for one in claims:
            if self._is_new(one):
                same[_what(one)].append(one)
        news = Counter(name for each in same.values() for name in {one.text.name for one in each})
        for each in same.values():
            self.offer(min(each, key=lambda one: self._effort(one, news)), level)

    def _effort(self, claim: Claim, news: Counter[str]) -> tuple[bool, int]:
        """Return what orders texts that say the same: those in sight, those with most to say."""
        if claim.fact.predicate in WHOLE:
            return (False, 0)
        return (not self._family(claim).has(claim), -news[claim.text.name])

    def offer(self, claim: Claim, level: int) -> None:
        """Show a claim if it fits and says something new."""
        if not self._is_new(claim):
            return
        if self._budget - self._used < _LEAST:
            self._pass_over(level)
            return
        cost = self._cost(claim)
        bound = self._human if claim.fact.predicate == "said" else cost
        if cost <= min(bound, self._budget - self._used):
            self._add(claim, level, cost)
            self._keep_company(claim, level)
        else:
            self._pass_over(level)

    def _pass_over(self, level: int) -> None:
        self._passed_over += 1
        self._lost += level <= _IN_PLAY

    def _keep_company(self, claim: Claim, level: int) -> None:
        """Show the cells that stay beside a claim, in its row, as far as they fit."""
        for name in self._decided.beside.get(claim.name, ()):
            cell = self.claims.get(name)
            if cell is None or self._family(cell).shows(cell):
                continue
            cost = self._cost(cell)
            if cost <= self._budget - self._used:
                self._add(cell, level, cost)

    def view(self) -> View:
        """Write the lines, in the order in which things were said."""
        blocks = [[one] for one in self._wholes]
        blocks += [lines for one in self._families.values() if (lines := one.lines())]
        blocks.sort(key=lambda lines: (lines[0].at, lines[0].text))
        found = tuple(line for block in blocks for line in block)
        text = "\n".join(one.text for one in found)
        return View(found, estimate(text), self._passed_over, self._left_out, self._lost)

    def _opponents(self) -> Mapping[str, str]:
        places: dict[str, str] = {}
        for one, two in self._decided.contradictions:
            places.setdefault(one, f"@{two.partition(' ')[0]}")
            places.setdefault(two, f"@{one.partition(' ')[0]}")
        return places

    def _is_new(self, claim: Claim) -> bool:
        """Tell whether a claim says what is not in sight yet."""
        if claim.fact.predicate == "said" and ("person", claim.fact.value) in self._said:
            return False
        if _what(claim) in self._said:
            # A sentence is in sight once it is shown; a pinned value is shown where it belongs.
            return claim.fact.predicate not in WHOLE and claim.name in self._decided.pinned
        return True

    def _add(self, claim: Claim, level: int, cost: int, note: str = "") -> None:
        self._used += cost
        self._said |= {_what(claim), ("person", claim.fact.value)}
        if claim.fact.predicate == "said":
            self._human -= cost
        if claim.fact.predicate in WHOLE:
            self._wholes.append(self._whole(claim, level, note))
        else:
            self._family(claim).take(claim, level)

    def _cost(self, claim: Claim, note: str = "") -> int:
        """Return what a claim takes, in hundredths of a token."""
        if claim.fact.predicate in WHOLE:
            line = self._whole(claim, 1, note)
            stub = 0 if self.filling.terse else hundredths(line.stub)
            apart = stub + 100 * estimate(line.words)
            if self.filling.terse and line.role:
                return apart + LINE
            return max(hundredths(line.text), apart if line.role else 0) + LINE
        return self._family(claim).cost(claim)

    def _family(self, claim: Claim) -> Family:
        terse = self.filling.terse
        name = family_of(claim, terse=terse)
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = Family(claim, terse=terse)
        return found

    def _whole(self, claim: Claim, level: int, note: str = "") -> Line:
        said, rest = claim.fact.value, ""
        # What shall be or shall not be is said whole: its middle may be what matters.
        if len(said) > self.filling.verbatim and claim.fact.predicate not in _ENTIRE:
            said = sandwich(said, min(_PREVIEW, self.filling.verbatim))
            rest = f" [all of it: ref:{claim.text.name}]"
        if claim.fact.predicate == "error":
            known = claim.fact.unit or self._decided.put_right(claim.name, claim.text.passage.tool)
            note = note or f"({known})"
        return whole_line(claim, level, said, rest, note)


def _what(claim: Claim) -> tuple[str, str]:
    """Return what a claim says: a sentence of a kind, or a value with its unit."""
    one = claim.fact
    if one.predicate in WHOLE:
        return (one.predicate, one.value)
    return ("value", f"{one.value} {one.unit}".strip())
