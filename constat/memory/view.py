"""The view: claims as lines of a context, as many of those that matter as fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen, slotted
from constat.memory.decisions import FAR, record_of
from constat.memory.facts import Span
from constat.memory.history import (
    EACH,
    SILENT,
    WHOLE,
    Line,
    head,
    is_bare_number,
    key_of,
    quoted,
    shown,
    speaker,
    whole_line,
)
from constat.memory.tokens import LINE, estimate, hundredths, line_takes, sandwich

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from constat.memory.decisions import Decided
    from constat.memory.history import Claim

    _Writer = Callable[[Sequence[Claim]], str]

# One record names its keys: `get -> id=O-5 state=paid @m7`. Texts with one key, or none, share a
# line: `call get id: O-5 @m7 O-7 @m9`. Otherwise the first line names the columns; an empty cell
# says nothing: its value is shown elsewhere, did not fit, or is not there. Values of one record
# stand together, and `;` parts the records of one text. Behind `each:` each value is of a record of
# its own; what stands before it is of all of these: `row=4 each: seat=S-3 S-4; Ada|S-1; Jon|S-2`.

# More columns than these are hard to tell apart by counting; what is left names its key.
_MOST_COLUMNS: Final = 8
_INDENT: Final = "  "
# What marks between values take: one, and one more beside it.
_ROW: Final = hundredths(f"\n{_INDENT}")
_MARK: Final = hundredths("|")
_AGAIN: Final = hundredths("||") - _MARK
_APART: Final = hundredths(";")
_EACH: Final = hundredths(f" {EACH}")
_MOST_FACES: Final = 20_000
_MOST_TEXTS: Final = 1_000


def family_of(claim: Claim, *, terse: bool = False) -> str:
    """Return which claims share a table: lines begin alike, and all have keys, or none has.

    Where it is ``terse`` all that tools said share one line, and so on: no line has a key.
    """
    if terse:
        return speaker(claim.text)
    return f"{head(claim.text)}{'' if key_of(claim) else ' -'}"


@dataclass(frozen=True, slots=True)
class Face:
    """How a claim looks in its line: of which record, under which key, as what, what that takes."""

    record: str
    family: str
    head: str
    key: str
    shown: str
    takes: int
    attached: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A claim with a line of its own, and what that takes; ``apart`` as a message of a person."""

    line: Line
    takes: int
    apart: int


class Faces:
    """The faces of claims by their names, each made once."""

    def __init__(self, *, terse: bool = False) -> None:
        self.terse = terse
        self._known: dict[str, Face] = {}
        self._sentences: dict[tuple[str, int, int, str], Sentence] = {}
        self._begun: dict[tuple[str, str], _Text] = {}

    def begun(self, family: str, text: str) -> _Text:
        """Return a text without claims, of a family."""
        found = self._begun.get((family, text))
        if found is None:
            if len(self._begun) >= _MOST_TEXTS:
                self._begun.clear()
            found = self._begun[family, text] = _Text()
        return found

    def sentence(self, claim: Claim, level: int, verbatim: int, note: str) -> Sentence:
        """Return the line of a claim: at most ``verbatim`` characters of it, behind it a note."""
        key = (claim.name, level, verbatim, note)
        found = self._sentences.get(key)
        if found is None:
            if len(self._sentences) >= _MOST_FACES:
                self._sentences.clear()
            line = _sentence(claim, level, verbatim, note)
            stub = 0 if self.terse else _taken(line.stub)
            apart = stub + 100 * estimate(line.words) if line.role else 0
            found = self._sentences[key] = Sentence(line, line_takes(line.text), apart)
        return found

    def of(self, claim: Claim) -> Face:
        """Return the face of a claim."""
        found = self._known.get(claim.name)
        if found is None:
            if len(self._known) >= _MOST_FACES:
                self._known.clear()
            found = self._known[claim.name] = self._made(claim)
        return found

    def _made(self, claim: Claim) -> Face:
        said = shown(claim)
        if self.terse and is_bare_number(claim):
            said = f"{key_of(claim)}={said}"
        takes = hundredths(f" {said}")
        family = family_of(claim, terse=self.terse)
        record = record_of(claim)
        if self.terse:
            return Face(record, family, family, "", said, takes, 0)
        key = key_of(claim)
        key = quoted(key) if f"{key}:" == EACH else key
        # Together a key and a value may be read as one long code.
        attached = hundredths(f" {key}={said}") - takes if key else 0
        attached = max(_taken(f" {key}="), attached) if key else 0
        return Face(record, family, head(claim.text), key, said, takes, attached)


@lru_cache(maxsize=4_096)
def _taken(text: str) -> int:
    """Return what a text takes that comes up again and again."""
    return hundredths(text)


def _sentence(claim: Claim, level: int, verbatim: int, note: str) -> Line:
    said, rest = claim.fact.value, ""
    # What shall be or shall not be is said whole: its middle may be what matters.
    if len(said) > verbatim and claim.fact.predicate not in _ENTIRE:
        said = sandwich(said, min(_PREVIEW, verbatim))
        rest = f" [all of it: ref:{claim.text.name}]"
    return whole_line(claim, level, said, rest, note)


class _Cost(NamedTuple):
    """What records of a text take: values, marks between records, marks and keys in tables."""

    values: int = 0
    marks: int = 0
    cells: int = 0

    def and_(self, other: _Cost, times: int = 1) -> _Cost:
        """Return the sum with so many times another."""
        values, marks, cells = other
        return _Cost(
            self.values + times * values, self.marks + times * marks, self.cells + times * cells
        )


@slotted
class _Row:
    """The claims of one record: the first is its own.

    Other records may have the same ``rest`` (keys and values, equal ones numbered), of which are
    ``takes`` and ``keyed``. ``attached`` is what each key takes beside its values.
    """

    claims: tuple[Claim, ...] = ()
    rest: frozenset[tuple[str, str, int]] = frozenset()
    attached: dict[str, int] = field(default_factory=dict)
    columns: frozenset[int] = frozenset()
    takes: int = 0
    keyed: dict[str, int] = field(default_factory=dict)
    cells: int = 0


@slotted
class _Text:
    """The records of one text, and those of them with one rest; ``cost`` is what these take.

    ``takes`` is what all of it does. It never changes: ``grown`` are the texts with one claim more,
    by its name and the columns of the family, for contexts to come are made of the same ones.
    """

    rows: dict[str, _Row] = field(default_factory=dict)
    alike: dict[frozenset[tuple[str, str, int]], list[_Row]] = field(default_factory=dict)
    cost: _Cost = _Cost()
    takes: _Cost = _Cost()
    grown: dict[tuple[str, tuple[str, ...]], _Text] = field(default_factory=dict)

    def all_of_it(self) -> _Cost:
        """Return what all of it takes."""
        if len(self.rows) == 1:
            (row,) = self.rows.values()
            return _Cost(self.cost.values, 0, row.cells)
        return self.cost.and_(_Cost(0, _APART), max(0, len(self.alike) - 1))


class _Sums(NamedTuple):
    """What parts of a family take: values with places, columns, marks between records, cells."""

    values: int = 0
    columns: int = 0
    marks: int = 0
    cells: int = 0


class Family:
    """Claims whose lines begin alike, growing."""

    def __init__(self, first: Claim, faces: Faces | None = None) -> None:
        self._faces = faces or Faces()
        self._head = self._faces.of(first).head
        self._name = self._faces.of(first).family
        self._takes = hundredths(self._head) + LINE
        self._texts: dict[str, _Text] = {}
        self._levels: dict[str, int] = {}
        self._rows = 0
        self._columns: dict[str, int] = {}
        self._names: tuple[str, ...] = ()
        self._keys: set[str] = set()
        self._sums = _Sums()
        self._weighed: tuple[Claim, _Sums, _Text] | None = None

    def key(self, claim: Claim) -> str:
        """Return what a claim is called here."""
        return self._faces.of(claim).key

    def cost(self, claim: Claim) -> int:
        """Return what one more claim would take, in hundredths of a token."""
        face, keys, row = self._faces.of(claim), self._keys, self._row(claim)
        keys = keys if face.key in keys else keys | {face.key}
        rows = self._rows + (row is None)
        keyed = sum(_attached(row or _Row(), face).values()) if rows == 1 else 0
        return self._total(self._with(claim)[0], rows, keys, keyed) - self._now()

    def has(self, claim: Claim) -> bool:
        """Tell whether the text of a claim has a row already."""
        return claim.text.name in self._texts

    def shows(self, claim: Claim) -> bool:
        """Tell whether a record of a claim's text has its value under its key."""
        face, text = self._faces.of(claim), self._texts.get(claim.text.name)
        rows = text.rows.values() if text else ()
        others = (self._faces.of(one) for row in rows for one in row.claims)
        return any(one.key == face.key and one.shown == face.shown for one in others)

    def has_record(self, claim: Claim) -> bool:
        """Tell whether a value that is no number stands here of a claim's record."""
        row = self._row(claim)
        return any(not is_bare_number(one) for one in (row.claims if row else ()))

    def take(self, claim: Claim, level: int) -> None:
        """Take a claim in."""
        self._rows += self._row(claim) is None
        self._sums, text = self._with(claim)
        self._weighed = None
        name = claim.text.name
        self._texts[name] = text
        self._levels[name] = min(level, self._levels.get(name, level))
        key = self.key(claim)
        self._keys.add(key)
        if key not in self._columns and len(self._columns) < _MOST_COLUMNS:
            self._columns[key] = len(self._columns)
            self._names = tuple(self._columns)

    def lines(self) -> list[Line]:
        """Write the claims, in the order in which they were said."""
        texts = sorted(self._texts.values(), key=_when)
        if not texts:
            return []
        if self._rows == 1:
            return [
                self._line(
                    texts[0], f"{self._head} {self._named(self._ordered(_claims(texts[0])))}"
                )
            ]
        if len(self._keys) == 1:
            return [self._shared(texts)]
        names = "|".join(self._columns)
        first = self._line(texts[0], f"{self._head} {names}: {self._told(texts[0])}")
        return [first, *(self._line(one, f"{_INDENT}{self._told(one)}") for one in texts[1:])]

    def _line(self, text: _Text, said: str) -> Line:
        claims = _claims(text)
        name = claims[0].text.name
        names = tuple(one.name for one in claims)
        return Line(f"{said} @{name}", _place(claims), names, self._levels[name], claims[0].at)

    def _row(self, claim: Claim) -> _Row | None:
        text = self._texts.get(claim.text.name)
        return text.rows.get(self._faces.of(claim).record) if text else None

    def _now(self) -> int:
        if not self._rows:
            return 0
        keyed = 0
        if self._rows == 1:
            (row,) = next(iter(self._texts.values())).rows.values()
            keyed = sum(row.attached.values())
        return self._total(self._sums, self._rows, self._keys, keyed)

    def _total(self, sums: _Sums, rows: int, keys: set[str], keyed: int) -> int:
        if rows == 1:
            return self._takes + sums.values + keyed
        values = self._takes + sums.values + sums.marks
        if len(keys) == 1:
            return values + _taken(f" {next(iter(keys))}:")
        return values + sums.columns + sums.cells

    def _with(self, claim: Claim) -> tuple[_Sums, _Text]:
        """Return what the parts take with one more claim, and its text with it."""
        if self._weighed is not None and self._weighed[0] is claim:
            return self._weighed[1:]
        face, sums, text = self._faces.of(claim), self._sums, self._texts.get(claim.text.name)
        before = text.takes if text else _Cost(-_taken(f"@{claim.text.name}"), 0, -_ROW)
        start = text or self._faces.begun(self._name, claim.text.name)
        grown = start.grown.get((claim.name, self._names))
        if grown is None:
            grown = self._grown(start, claim)
            start.grown[claim.name, self._names] = grown
        more = grown.takes.and_(before, -1)
        columns = sums.columns
        if face.key not in self._columns and len(self._columns) < _MOST_COLUMNS:
            columns += _taken(f" {face.key}") + _MARK
        found = _Sums(
            sums.values + more.values, columns, sums.marks + more.marks, sums.cells + more.cells
        )
        self._weighed = claim, found, grown
        return found, grown

    def _grown(self, text: _Text, claim: Claim) -> _Text:
        """Return a text with one more claim: its record leaves those that it was like."""
        face = self._faces.of(claim)
        row = text.rows.get(face.record)
        other = self._longer(row, claim)
        own = self._faces.of(other.claims[0]).takes
        own -= self._faces.of(row.claims[0]).takes if row else 0
        cost, alike = text.cost.and_(_Cost(own)), dict(text.alike)
        if row is not None:
            left = [one for one in alike.pop(row.rest) if one is not row]
            cost = cost.and_(self._weigh(text.alike[row.rest]), -1).and_(self._weigh(left))
            alike.update({row.rest: left} if left else {})
        joined = alike.get(other.rest, [])
        alike[other.rest] = [*joined, other]
        cost = cost.and_(self._weigh(joined), -1).and_(self._weigh(alike[other.rest]))
        found = _Text({**text.rows, face.record: other}, alike, cost)
        found.takes = found.all_of_it()
        return found

    def _longer(self, row: _Row | None, claim: Claim) -> _Row:
        """Return a row with one more claim."""
        face = self._faces.of(claim)
        column = self._columns.get(face.key, len(self._columns))
        there = row or _Row()
        columns = there.columns | {column} if column < _MOST_COLUMNS else there.columns
        attached = _attached(there, face)
        others = [one for one in attached if one not in self._columns and one != face.key]
        others += [face.key] if column >= _MOST_COLUMNS else []
        cells = _between(columns) + sum(attached[one] for one in others)
        if row is None:
            return _Row((claim,), frozenset(), attached, columns, 0, {}, cells)
        number = 1
        while (face.key, face.shown, number) in row.rest:
            number += 1
        rest = row.rest | {(face.key, face.shown, number)}
        keyed = {**row.keyed, face.key: max(face.attached, row.keyed.get(face.key, 0))}
        claims, takes = (*row.claims, claim), row.takes + face.takes
        return _Row(claims, rest, attached, columns, takes, keyed, cells)

    def _weigh(self, alike: Sequence[_Row]) -> _Cost:
        """Return what records with one rest take, without their own values."""
        if not alike:
            return _Cost()
        first, marks = alike[0], _EACH * (len(alike) > 1)
        if self._faces.terse:
            return _Cost(first.takes, marks)
        if len(alike) == 1 and first.rest:
            return _Cost(first.takes, 0, first.cells)
        own: dict[str, int] = {}
        for face in (self._faces.of(one.claims[0]) for one in alike):
            own[face.key] = max(face.attached, own.get(face.key, 0))
        return _Cost(first.takes, marks, sum(first.keyed.values()) + sum(own.values()))

    def _told(self, text: _Text) -> str:
        """Write the records of a text: one by its cells, and so several of several values."""
        if len(text.rows) == 1:
            return self._cells(self._ordered(_claims(text)))
        return self._parted(text, self._cells, self._named)

    def _parted(self, text: _Text, cells: _Writer, named: _Writer) -> str:
        """Write records apart from each other; what some share stands once before the rest."""
        parts = []
        for rows in sorted(text.alike.values(), key=_start_of):
            if len(rows) == 1:
                write = cells if rows[0].rest else named
                parts.append(write(self._ordered(rows[0].claims)))
                continue
            said = [named(self._ordered(rows[0].claims[1:]))] if rows[0].rest else []
            own = sorted((one.claims[0] for one in rows), key=_start)
            parts.append(" ".join([*said, EACH, named(own)]))
        return "; ".join(parts)

    def _cells(self, claims: Sequence[Claim]) -> str:
        """Write a row: its cells, and behind them what has no column."""
        cells: dict[str, str] = {}
        others: list[Claim] = []
        for claim in claims:
            face = self._faces.of(claim)
            if face.key in self._columns:
                before = cells.get(face.key)
                cells[face.key] = face.shown if before is None else f"{before} {face.shown}"
            else:
                others.append(claim)
        said = "|".join([cells.get(one, "") for one in self._columns]).rstrip("|")
        return " ".join(part for part in (said, self._named(others)) if part)

    def _named(self, claims: Sequence[Claim]) -> str:
        """Write claims, each key once before its values."""
        values: dict[str, list[str]] = {}
        for face in map(self._faces.of, claims):
            values.setdefault(face.key, []).append(face.shown)
        return " ".join(
            f"{key}={' '.join(said)}" if key else " ".join(said) for key, said in values.items()
        )

    def _values(self, claims: Sequence[Claim]) -> str:
        return " ".join([self._faces.of(one).shown for one in claims])

    def _ordered(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return values of one record by their places, where keys give way with numbers last."""
        found = sorted(claims, key=_start)
        return sorted(found, key=is_bare_number) if self._faces.terse else found

    def _shared(self, texts: Sequence[_Text]) -> Line:
        """Write texts of one key, or none, in one line."""
        (key,) = self._keys
        said = [self._head, *([f"{key}:"] if key else [])]
        for text in texts:
            one = len(text.rows) == 1
            said.append(
                self._values(self._ordered(_claims(text)))
                if one
                else self._parted(text, self._values, self._values)
            )
            said.append(f"@{_first_in(text).text.name}")
        names = tuple(one.name for text in texts for one in _claims(text))
        level = min(self._levels[_first_in(text).text.name] for text in texts)
        place = _place(_claims(texts[-1]))
        return Line(" ".join(said), place, names, level, _first_in(texts[0]).at)


def _attached(row: _Row, face: Face) -> dict[str, int]:
    """Return what the keys of a row take with one more value."""
    return {**row.attached, face.key: max(face.attached, row.attached.get(face.key, 0))}


def _between(columns: Collection[int]) -> int:
    """Return what the marks between the cells of a row take."""
    if not columns:
        return 0
    runs = len(columns) - (0 in columns)
    return runs * _MARK + (max(columns) - runs) * _AGAIN


def _start(claim: Claim) -> tuple[int, str]:
    return claim.fact.span.start, claim.name


def _start_of(rows: Sequence[_Row]) -> tuple[int, str]:
    return min(_start(claim) for row in rows for claim in row.claims)


def _claims(text: _Text) -> list[Claim]:
    return sorted((claim for row in text.rows.values() for claim in row.claims), key=_start)


def _first_in(text: _Text) -> Claim:
    return _claims(text)[0]


def _when(text: _Text) -> tuple[int, str]:
    first = _first_in(text)
    return (first.at, first.text.name)


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
NOT_TAKEN_UP: Final = 3
# Of so many places that say the same, the last ones, one is chosen to be cited.
MOST_PLACES: Final = 4
# What is in play: what was taken up, and what may be chosen.
_IN_PLAY: Final = 4
# Where less than this is left nothing is looked at any more: two tokens, or half a hundredth.
_LEAST: Final = 200
_SHARE: Final = 0.005


class BudgetError(ConstatError):
    """What has to be there does not fit; ``refs`` are the places of what is pinned."""

    def __init__(self, needed: int, budget: int, refs: Sequence[str], what: str = _PINNED) -> None:
        self.needed = needed
        self.budget = budget
        self.refs = tuple(refs)
        self.what = what
        shown = ", ".join(self.refs[:_MOST_REFS])
        told = Diagnostic(
            "C0803",
            f"{what} takes {needed:,} tokens, and {budget:,} are there",
            note=f"pinned: {shown}" if shown else "",
            help=f"give at least {needed:,} tokens{', or take one of these back' if shown else ''}",
        )
        super().__init__([told])


class _Said:
    """What somebody said so far; only what might be a part of it is looked for in all of it."""

    def __init__(self) -> None:
        self._text = ""
        self._pairs: set[tuple[str, str]] = set()

    def take(self, words: str) -> bool:
        """Take in some words; tells whether they are new."""
        pairs = list(pairwise(words.split()))
        # The first word and the last may be parts of longer ones.
        if self._pairs.issuperset(pairs[1:-1]) and words in self._text:
            return False
        # A mark that no text has keeps one from going over into the next.
        self._text = f"{self._text}\0{words}"
        self._pairs.update(pairs)
        return True


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
        said: dict[str, _Said] = {one.role: _Said() for one in spoken}
        return tuple((one.role, one.words) for one in spoken if said[one.role].take(one.words))


@frozen
class Filling:
    """How to fill: what is shown in full elsewhere, and the bounds of what people said.

    ``shown`` are names of texts that the context holds word for word. Where it is ``loose``, what
    is pinned gives way rather than not fit: obligations are shown whole as long as there is room,
    then only named. ``pins`` is the share of a budget that what is pinned may take. Where it is
    ``terse`` values have no keys but for numbers, which say nothing without one; they stand behind
    the other values of their record, and those that are not in play are left out. Where it
    ``counts``, all that does not fit is counted, and otherwise no more than what is in play.
    ``words`` is what the context holds word for word; where it is terse, a value in prose that
    stands there needs no line.
    """

    shown: Collection[str] = ()
    human_tokens: int = 20_000
    verbatim: int = 8_000
    loose: bool = False
    pins: float = 1.0
    terse: bool = False
    counts: bool = True
    words: str = ""


What = tuple[str, str]


class Order(Protocol):
    """Claims as they are to be offered, and what the rules say beside that."""

    @property
    def count(self) -> int:
        """How many claims there are."""
        ...

    @property
    def pinned(self) -> Sequence[Claim]:
        """What is always in sight, the newest first."""
        ...

    @property
    def contradictions(self) -> Sequence[tuple[str, str]]:
        """The names of claims that contradict each other."""
        ...

    @property
    def faces(self) -> Faces:
        """How claims look, with their keys."""
        ...

    def groups(
        self, wanted: Callable[[Claim], bool], said: Collection[What]
    ) -> Iterator[tuple[int, list[list[Claim]]]]:
        """Yield the classes behind what is pinned, and in each the claims that say the same.

        They are ``wanted``, and say what is not ``said`` yet; the first is to be offered first.
        """
        ...

    def beside(self, key: Claim) -> Iterable[Claim]:
        """Return the cells that stay beside a claim."""
        ...

    def put_right(self, error: Claim) -> str:
        """Say whether an error of a tool was put right."""
        ...

    def news(self, claim: Claim, level: int) -> Collection[What]:
        """Return what the text of a claim says of a class."""
        ...


Place = tuple[int, int, str]


def offers(found: Iterable[Sequence[tuple[Place, Claim]]]) -> list[list[Claim]]:
    """Put claims in the order of a class: nearer texts before others, newer before older.

    Those that say the same are together, the last ones of them.
    """
    several = (sorted(one, key=_first) if len(one) > 1 else one for one in found)
    ordered = sorted(several, key=_first_of)
    return [[one for _, one in places] for places in ordered]


def _first(one: tuple[Place, Claim]) -> Place:
    return one[0]


def _first_of(places: Sequence[tuple[Place, Claim]]) -> Place:
    return places[0][0]


class Ranked:
    """The order that rules give."""

    def __init__(self, claims: Iterable[Claim], decided: Decided) -> None:
        self.faces = Faces()
        self._decided = decided
        self._claims = {claim.name: claim for claim in claims}
        self._at = {name: number for number, name in enumerate(self._claims)}
        self._by_text: dict[tuple[str, int], set[What]] = {}
        for one in self._claims.values():
            if one.fact.predicate not in SILENT:
                where = (one.text.name, decided.level(one.name))
                self._by_text.setdefault(where, set()).add(what_of(one))

    @property
    def count(self) -> int:
        """How many claims there are."""
        return len(self._claims)

    @property
    def pinned(self) -> Sequence[Claim]:
        """What is always in sight, the newest first."""
        found = [one for one in self._claims.values() if one.name in self._decided.pinned]
        return sorted(found, key=lambda one: (-one.at, one.name))

    @property
    def contradictions(self) -> Sequence[tuple[str, str]]:
        """The claims that contradict each other."""
        return self._decided.contradictions

    def groups(
        self, wanted: Callable[[Claim], bool], said: Collection[What]
    ) -> Iterator[tuple[int, list[list[Claim]]]]:
        """Yield the classes, and the claims in them that say the same."""
        found: dict[tuple[int, int], dict[What, list[Claim]]] = {}
        known: dict[str, int] = {}
        for claim in self._claims.values():
            level = self._decided.level(claim.name)
            if level < 2 or claim.fact.predicate in SILENT:  # noqa: PLR2004  1 is pinned
                continue
            room, value = 0, claim.fact.value
            if level >= NOT_TAKEN_UP and claim.fact.predicate not in WHOLE:
                room = known[value] if value in known else known.setdefault(value, estimate(value))
            found.setdefault((level, room), {}).setdefault(what_of(claim), []).append(claim)
        for level, room in sorted(found):
            same = found[level, room]
            places = (self._latest(same[what], wanted) for what in same if what not in said)
            if ordered := offers(filter(None, places)):
                yield level, ordered

    def beside(self, key: Claim) -> Iterable[Claim]:
        """Return the cells that stay beside a claim."""
        names = self._decided.beside.get(key.name, ())
        return [self._claims[name] for name in names if name in self._claims]

    def put_right(self, error: Claim) -> str:
        """Say whether an error of a tool was put right."""
        return self._decided.put_right(error.name, error.text.passage.tool)

    def news(self, claim: Claim, level: int) -> Collection[What]:
        """Return what the text of a claim says of a class."""
        return self._by_text.get((claim.text.name, level), frozenset())

    def _latest(
        self, claims: list[Claim], wanted: Callable[[Claim], bool]
    ) -> list[tuple[Place, Claim]]:
        claims.sort(key=lambda one: (one.at, self._at[one.name]), reverse=True)
        hops = self._decided.hops
        return [
            ((hops.get(one.text.name, FAR), -one.at, one.name), one)
            for one in islice(filter(wanted, claims), MOST_PLACES)
        ]


def fill(
    claims: Iterable[Claim],
    decided: Decided,
    budget: int,
    filling: Filling | None = None,
) -> View:
    """Choose and write what rules have decided about. Raises ``BudgetError``."""
    return filled(Ranked(claims, decided), budget, filling)


def filled(order: Order, budget: int, filling: Filling | None = None) -> View:
    """Choose and write. Raises ``BudgetError``."""
    filling = filling or Filling()
    pinned = [one for one in order.pinned if one.text.name not in filling.shown]
    pinned = [one for one in pinned if one.fact.predicate not in SILENT]
    packing = _pinned(pinned, order, budget, filling)
    for level, offered in order.groups(packing.wants, packing.said):
        if packing.is_full and level > _IN_PLAY and not filling.counts:
            break
        packing.offer_all(offered, level)
    return packing.view()


def shortened(order: Order, budget: int, filling: Filling) -> View:
    """Choose and write; where what is pinned does not fit, it gives way rather than be refused."""
    try:
        return filled(order, budget, filling)
    except BudgetError:
        return filled(order, budget, replace(filling, loose=True))


def _pinned(claims: Sequence[Claim], order: Order, budget: int, filling: Filling) -> _Packing:
    """Pin claims; where they do not fit, long ones of them are shown by their ends."""
    if filling.loose:
        packing = _Packing(order, budget, replace(filling, verbatim=_SHORTEST))
        packing.pin_what_fits(claims)
        return packing
    for verbatim in _SHORTER:
        packing = _Packing(order, budget, filling)
        try:
            packing.pin(claims)
        except BudgetError:
            filling = replace(filling, verbatim=min(verbatim, filling.verbatim))
        else:
            return packing
    packing = _Packing(order, budget, filling)
    packing.pin(claims)
    return packing


class _Packing:
    """Fills a budget, claim by claim; ``said`` is what is in sight."""

    def __init__(self, order: Order, budget: int, filling: Filling) -> None:
        self.filling = filling
        self.said: set[What] = set()
        self._order = order
        self._faces = Faces(terse=True) if filling.terse else order.faces
        self._budget = 100 * budget
        self._least = max(_LEAST, int(self._budget * _SHARE))
        self._used = 0
        self._pins: frozenset[str] = frozenset()
        self._new: dict[tuple[str, int], int] = {}
        self._families: dict[str, Family] = {}
        self._wholes: list[Line] = []
        self._passed_over = 0
        self._left_out = 0
        self._lost = 0
        self._human = 100 * filling.human_tokens
        self._numbers: list[tuple[int, Sequence[Claim]]] = []
        self._heard = filling.words.lower() if filling.terse else ""

    @property
    def is_full(self) -> bool:
        """Whether nothing is looked at any more."""
        return self._budget - self._used < self._least

    def wants(self, claim: Claim) -> bool:
        """Tell whether a claim may be shown: what stands elsewhere in the context is not."""
        # A constraint that is shown in full where it was said is in sight already.
        if claim.text.name in self.filling.shown:
            return False
        return not (self.filling.terse and is_bare_number(claim) and not key_of(claim))

    def pin(self, claims: Sequence[Claim]) -> None:
        """Show all of these."""
        self._pins = frozenset(one.name for one in claims)
        against = self._opponents()
        for claim in claims:
            if self._is_new(claim):
                other = against.get(claim.name, "")
                note = f"(contradicts {other})" if other else ""
                self._add(claim, 1, self._cost(claim, 1, note), note)
        if self._used > self._budget * self.filling.pins:
            ordered = sorted(claims, key=lambda one: (one.at, one.place))
            refs = list(dict.fromkeys(one.place for one in ordered))
            raise BudgetError(-(-self._used // 100), self._budget // 100, refs)

    def pin_what_fits(self, claims: Sequence[Claim]) -> None:
        """Show what fits of these, obligations whole and first; name the others by their places."""
        self._pins = frozenset(one.name for one in claims)
        against = self._opponents()
        bound = self._budget * _OTHER_PINS
        for claim in sorted(claims, key=lambda one: one.fact.predicate not in _ENTIRE):
            if not self._is_new(claim):
                continue
            other = against.get(claim.name, "")
            note = f"(contradicts {other})" if other else ""
            most = self._budget if claim.fact.predicate in _ENTIRE else bound
            cost = self._cost(claim, 1, note)
            if self._used + cost <= most:
                self._add(claim, 1, cost, note)
            elif claim.fact.predicate in WHOLE:
                self._name(claim, note, most)
            else:
                self._left_out += 1

    def _name(self, claim: Claim, note: str, most: float) -> None:
        """Show what a claim is and where it stands, without its words."""
        line = self._sentence(claim, 1, note).line
        what = line.stub or f"{claim.fact.predicate} @{claim.place}"
        cost = hundredths(what) + LINE
        if self._used + cost > most:
            self._left_out += 1
            return
        self._used += cost
        self._wholes.append(replace(line, text=what, role="", words="", stub=""))

    def offer_all(self, offered: Sequence[Sequence[Claim]], level: int) -> None:
        """Show what fits of one class; what several texts say is cited from one that is, anyway."""
        if self._numbers and self._numbers[-1][0] < level:
            self._offer_numbers()
        for each in offered:
            # They say the same, so one of them is new where all are.
            if not self._is_new(each[0]):
                continue
            if self.filling.terse and level >= NOT_TAKEN_UP and is_bare_number(each[0]):
                self._numbers += [(level, each)] if level <= _IN_PLAY else []
                continue
            if self.is_full:
                self._pass_over(level)
            else:
                self._offer(self._cited(each, level), level)

    def _offer_numbers(self) -> None:
        """Show what fits of the numbers in play whose records are in sight."""
        numbers, self._numbers = self._numbers, []
        for level, each in numbers:
            if not self._is_new(each[0]):
                continue
            shown = next((one for one in each if self._family(one).has_record(one)), None)
            if self.is_full or shown is None:
                self._pass_over(level)
            else:
                self._offer(shown, level)

    def _cited(self, same: Sequence[Claim], level: int) -> Claim:
        """Return the one of some claims that takes least: in a row that is there, or will be."""
        first = same[0]
        if len(same) == 1 or first.fact.predicate in WHOLE:
            return first
        there = next((one for one in same if self._family(one).has(one)), None)
        return there or min(same, key=lambda one: -self._news(one, level))

    def _news(self, claim: Claim, level: int) -> int:
        """Return how much the text of a claim said of a class when that was first asked."""
        where = (claim.text.name, level)
        found = self._new.get(where)
        if found is None:
            said = self.said
            found = sum(one not in said for one in self._order.news(claim, level))
            self._new[where] = found
        return found

    def _offer(self, claim: Claim, level: int) -> None:
        """Show a claim if it fits."""
        cost = self._cost(claim, level)
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
        for cell in self._order.beside(claim):
            if not self.wants(cell) or cell.fact.predicate in SILENT:
                continue
            if self._family(cell).shows(cell):
                continue
            cost = self._family(cell).cost(cell)
            if cost <= self._budget - self._used:
                self._add(cell, level, cost)

    def view(self) -> View:
        """Write the lines, in the order in which things were said."""
        self._offer_numbers()
        blocks = [[one] for one in self._wholes]
        blocks += [lines for one in self._families.values() if (lines := one.lines())]
        blocks.sort(key=lambda lines: (lines[0].at, lines[0].text))
        found = tuple(line for block in blocks for line in block)
        taken = sum(line_takes(one.text) for one in found) - LINE * bool(found)
        return View(found, -(-taken // 100), self._passed_over, self._left_out, self._lost)

    def _opponents(self) -> Mapping[str, str]:
        places: dict[str, str] = {}
        for one, two in self._order.contradictions:
            places.setdefault(one, f"@{two.partition(' ')[0]}")
            places.setdefault(two, f"@{one.partition(' ')[0]}")
        return places

    def _is_new(self, claim: Claim) -> bool:
        """Tell whether a claim says what is not in sight yet."""
        if claim.fact.predicate == "said" and ("person", claim.fact.value) in self.said:
            return False
        if what_of(claim) in self.said:
            # A sentence is in sight once it is shown; a pinned value is shown where it belongs.
            return claim.fact.predicate not in WHOLE and claim.name in self._pins
        return not self._is_heard(claim)

    def _is_heard(self, claim: Claim) -> bool:
        """Tell whether a value stands in what is shown word for word, and needs no line beside."""
        # A value of a record is shown with it; one in prose has none, and a number needs its key.
        prose = claim.fact.predicate == "entity_value" and claim.fact.method != "json"
        if not (self._heard and prose) or is_bare_number(claim):
            return False
        value = claim.fact.value.lower()
        start = self._heard.find(value)
        while start >= 0:
            end = start + len(value)
            if not (_goes_on(self._heard, start - 1) or _goes_on(self._heard, end)):
                return True
            start = self._heard.find(value, start + 1)
        return False

    def _add(self, claim: Claim, level: int, cost: int, note: str = "") -> None:
        self._used += cost
        self.said.add(what_of(claim))
        self.said.add(("person", claim.fact.value))
        if claim.fact.predicate == "said":
            self._human -= cost
        if claim.fact.predicate in WHOLE:
            line = self._sentence(claim, level, note).line
            self._wholes.append(line)
            if self.filling.terse:
                self._heard += f"\n{line.words or line.text}".lower()
        else:
            self._family(claim).take(claim, level)

    def _cost(self, claim: Claim, level: int, note: str = "") -> int:
        """Return what a claim takes, in hundredths of a token."""
        if claim.fact.predicate in WHOLE:
            said = self._sentence(claim, level, note)
            apart = said.apart + LINE
            return apart if self.filling.terse and said.line.role else max(said.takes, apart)
        return self._family(claim).cost(claim)

    def _family(self, claim: Claim) -> Family:
        name = self._faces.of(claim).family
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = Family(claim, self._faces)
        return found

    def _sentence(self, claim: Claim, level: int, note: str) -> Sentence:
        if claim.fact.predicate == "error":
            known = claim.fact.unit or self._order.put_right(claim)
            note = note or f"({known})"
        return self._faces.sentence(claim, level, self.filling.verbatim, note)


def _goes_on(text: str, at: int) -> bool:
    """Tell whether a word goes on at a place."""
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def what_of(claim: Claim) -> What:
    """Return what a claim says: a sentence of a kind, or a value with its unit."""
    one = claim.fact
    if one.predicate in WHOLE:
        return (one.predicate, one.value)
    return ("value", (f"{one.value} {one.unit}" if one.unit else one.value).strip())
