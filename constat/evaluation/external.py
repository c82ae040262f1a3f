"""External predicates: the questions an engine asks outside, what an answer says, who said it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from enum import Enum
from itertools import compress, islice
from operator import itemgetter
from typing import Final, Protocol, TypeAlias, cast, overload, runtime_checkable

from constat.evaluation.clock import UNTIMED, Clock
from constat.frozen import frozen
from constat.logic import Kind, NullCell, OpenRow, Predicate, Row, Value

# The rules here are those by which a certificate is checked (`constat/check/FORMAT.md`, section
# 5), written apart from the checker.

MODEL: Final = "model"
PERSON: Final = "person"
SERVICE: Final = "service"
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")


@frozen
class Agent:
    """Whose word it is: a `model`, a `person` or a `service`, with its version or digest."""

    kind: str
    name: str
    version: str | None = None
    digest: str | None = None


@frozen
class Quote:
    """The words of a document that say it: bytes `start` to `end` of its UTF-8 form."""

    document: str
    text: str
    start: int
    end: int
    hash: str | None = None


@frozen
class Review:
    """Who looked at it and agreed, and when (UTC, `Timestamp` spelling)."""

    name: str
    at: str


@frozen
class Attestation:
    """Hashes are `sha256:<hex>` of the exact texts that went to the agent and came back."""

    agent: Agent
    prompt: str | None = None
    response: str | None = None
    quote: Quote | None = None
    reviewer: Review | None = None
    note: str | None = None


def misfit(attestation: Attestation, kind: str | None, author: str | None) -> str:
    """Tell why an attestation does not fit evidence of an author; empty where it does.

    `kind` is the kind of agent whose word the origin is, `None` where any will do.
    """
    agent = attestation.agent
    if agent.kind not in {MODEL, PERSON, SERVICE} or kind not in {None, agent.kind}:
        return f"the agent is no {kind or 'model, person or service'}"
    if not agent.name or (agent.kind == PERSON and agent.name != author):
        return "the agent is not whose word the evidence is"
    said, marked = attestation.response is not None, agent.version or agent.digest
    if agent.kind == MODEL and not (said and attestation.prompt and marked):
        return "a model needs a version or digest, and the hashes of prompt and response"
    if agent.kind == SERVICE and not said:
        return "a service needs the hash of its response"
    return _form(attestation) or _quoted(attestation.quote) or _reviewed(attestation)


def _form(attestation: Attestation) -> str:
    hashes = [attestation.prompt, attestation.response, attestation.agent.digest]
    hashes.append(attestation.quote.hash if attestation.quote else None)
    if all(one is None or _SHA256.match(one) for one in hashes):
        return ""
    return "a hash is not sha256: and 64 digits"


def _quoted(quote: Quote | None) -> str:
    if quote is None:
        return ""
    size = len(quote.text.encode(errors="replace"))
    placed = quote.start >= 0 and quote.end < 1 << 31 and quote.end - quote.start == size
    if placed and quote.document and quote.text:
        return ""
    return "the quote has not the length it says"


def _reviewed(attestation: Attestation) -> str:
    review = attestation.reviewer
    if review is None:
        return ""
    if not review.name or review.name == attestation.agent.name:
        return "nobody reviews what they said themselves"
    return "" if _TIME.match(review.at) else "the time of the review is not spelled as a Timestamp"


# A demand asks in one batch: which rows of p have one of these keys in these columns? An answer
# lists rows with where each came from, the shapes of rows that may exist besides (open rows), and
# the keys it speaks for. What an answer does not speak for is unknown, never empty: forgetting to
# answer cannot turn into "no rows".


class Origin(Enum):
    """Whose word a fact is.

    Set by the tier that fetched it; nothing a model or a rule writes can set it.
    """

    CONFIG = "CONFIG"
    DATABASE = "DATABASE"
    USER_PROVIDED = "USER_PROVIDED"
    LLM_KNOWLEDGE = "LLM_KNOWLEDGE"
    LLM_HEURISTIC = "LLM_HEURISTIC"
    SUB_PLAN = "SUB_PLAN"
    API = "API"
    DOCUMENT = "DOCUMENT"
    DERIVED = "DERIVED"
    UNRESOLVED = "UNRESOLVED"

    @property
    def assumed(self) -> bool:
        """Whether facts of this origin rest on somebody's word, so that they are assumed."""
        return self not in {Origin.CONFIG, Origin.DATABASE, Origin.DERIVED}

    @property
    def agent(self) -> str | None:
        """The kind of agent whose word it is; `None` where that is open or nobody's word."""
        match self:
            case Origin.LLM_KNOWLEDGE | Origin.LLM_HEURISTIC:
                return MODEL
            case Origin.USER_PROVIDED:
                return PERSON
            case Origin.API:
                return SERVICE
            case _:
                return None


@frozen
class Assumption:
    """Something taken on trust.

    `kind` is `fact`, `rule`, `closure` or `fall-through`; `text` says it in a sentence that is
    the same for the same assumption. `subject` is the atom, rule id, predicate or tier it is
    about. One with `parts` stands for several that are accepted together, those under which
    somebody else proved a fact.
    """

    kind: str
    subject: str = field(compare=False)
    text: str
    confidence: Decimal = Decimal(1)
    parts: tuple[Assumption, ...] = ()


def with_parts(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return assumptions, each that has parts followed by these, without repetitions."""
    return tuple(dict.fromkeys(one for each in assumptions for one in (each, *each.parts)))


def in_parts(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return assumptions, parts instead of what has parts, without repetitions."""
    return tuple(dict.fromkeys(one for each in assumptions for one in each.parts or (each,)))


def is_accepted(assumption: Assumption | None, accepted: Collection[Assumption]) -> bool:
    """Tell whether what rests on an assumption holds where these are accepted."""
    if assumption is None or assumption in accepted:
        return True
    return bool(assumption.parts) and all(part in accepted for part in assumption.parts)


@frozen
class Proved:
    """The certificate that proves a row elsewhere, and the assumptions of its verdict in order."""

    certificate: bytes = field(repr=False)
    assumptions: tuple[Assumption, ...] = ()


@frozen
class Exhaustive:
    """The operation of an API that gave all there is, by the project's word, in so many pages."""

    operation: str
    pages: int


@frozen
class Evidence:
    """How rows were fetched.

    Exact query and parameters (texts), time (UTC, `Timestamp` spelling), how many rows came and
    their hash (sha256 over the sorted canonical rows), and the state of the source where it has a
    name. An attestation tells whose word it is; `proved` is there for what a certificate proves,
    `exhaustive` for what an API gave that is declared an authority.
    `fills` is the row above of which it says null cells: it is that row, and no other.
    """

    tier: str
    origin: Origin
    source: str
    executed_at: str
    query: str | None = None
    parameters: tuple[str, ...] = ()
    row_count: int = 0
    content_hash: str = ""
    snapshot: str | None = None
    confidence: Decimal = Decimal(1)
    author: str | None = None
    attestation: Attestation | None = None
    proved: Proved | None = None
    fills: Unfilled | None = None
    exhaustive: Exhaustive | None = None

    @property
    def assumed(self) -> bool:
        """Whether the rows rest on somebody's word, so that they are assumed."""
        return self.origin.assumed and self.exhaustive is None

    def every(self) -> Iterator[Evidence]:
        """Yield the evidence of the row that this one fills, the source's first, then this one."""
        if self.fills is not None:
            yield from self.fills.evidence.every()
        yield self


@frozen
class Unfilled:
    """A row with null cells: as its source gave it, or with those that a word before it fills."""

    row: Row
    evidence: Evidence


@frozen
class Word:
    """What somebody says of a row; of its null cells nothing is said."""

    row: Row
    evidence: Evidence
    assumption: Assumption


@frozen
class FilledRow:
    """A row whose null cells words fill, each those that no word before it has filled.

    `bare` is the row as its source gave it; without words that is what it is.
    """

    bare: Unfilled
    words: tuple[Word, ...] = ()

    @classmethod
    def of(cls, row: Row, evidence: Evidence, assumption: Assumption | None) -> FilledRow:
        """Take a row apart that rests on such evidence: the words, each with its own cells."""
        steps: list[tuple[Row, Row, Evidence]] = []
        while evidence.fills is not None:
            before = evidence.fills
            steps.insert(0, (before.row, row, replace(evidence, fills=None)))
            row, evidence = before.row, before.evidence
        parts = (assumption.parts or (assumption,)) if steps and assumption else ()
        words = [
            Word(_own_cells(row, before, after), told, part)
            for (before, after, told), part in zip(steps, parts, strict=True)
        ]
        return cls(Unfilled(row, evidence), tuple(words))

    def held(self, holds: Callable[[Assumption], bool]) -> FilledRow:
        """Give the row where only the words count that hold."""
        return replace(self, words=tuple(one for one in self.words if holds(one.assumption)))

    @property
    def row(self) -> Row:
        """The row with all its words."""
        row = self.bare.row
        for word in self.words:
            row = with_cells(row, word.row)
        return row

    @property
    def evidence(self) -> Evidence:
        """What the row rests on: the last word, which fills what the one before it has filled."""
        row, evidence = self.bare.row, self.bare.evidence
        for word in self.words:
            evidence = replace(word.evidence, fills=Unfilled(row, evidence))
            row = with_cells(row, word.row)
        return evidence

    @property
    def assumption(self) -> Assumption | None:
        """That all the words are true; of several the assumption has parts."""
        parts = tuple(one.assumption for one in self.words)
        if len(parts) < 2:  # noqa: PLR2004  two words have parts
            return parts[0] if parts else None
        text = ", and ".join(one.text for one in parts)
        least = min(one.confidence for one in parts)
        return Assumption("fact", parts[0].subject, text, least, parts)


def _own_cells(bare: Row, before: Row, after: Row) -> Row:
    """Give a bare row with the cells that changed from one row to the next."""
    cells = zip(bare, before, after, strict=True)
    return tuple(cell if one == other else other for cell, one, other in cells)


def with_cells(row: Row, said: Row) -> Row:
    """Give a row with what is said of its null cells; where there is no value nothing is said."""
    pairs: Iterable[tuple[object, object]] = zip(row, said, strict=True)
    return tuple(
        said[place] if _may_be_filled(cell) and not isinstance(other, NullCell) else row[place]
        for place, (cell, other) in enumerate(pairs)
    )


def _may_be_filled(cell: object) -> bool:
    return isinstance(cell, NullCell) and not cell.policy.is_empty


@frozen
class Range:
    """What a column's value has to be: `operator` is one of =, <, <=, > and >=."""

    column: int
    operator: str
    value: Value


@frozen
class Demand:
    """The question which rows of a predicate have one of `keys` in `columns`.

    Columns are ascending positions.

    Without columns: `keys` is `((),)` and asks for all rows. Keys are distinct. Whoever answers
    looks at the `clock` while it goes over many rows. Nobody looks at a row whose values are
    outside of one of the `ranges`: whoever answers may leave it out, or not. What is `passing` says
    nothing of later demands: a tier asks anew for their keys. Who asks for `packs` goes through the
    rows in their order: very many may come packed. With `only` no bound counts a row of another
    key: whoever asks may not learn how many there are.
    """

    predicate: Predicate
    columns: tuple[int, ...]
    keys: tuple[Row, ...]
    clock: Clock = field(default=UNTIMED, compare=False, repr=False)
    ranges: tuple[Range, ...] = ()
    passing: bool = field(default=False, compare=False, repr=False)
    packs: bool = field(default=False, compare=False, repr=False)
    only: bool = field(default=False, compare=False, repr=False)


# A million rows as Python objects take ten times what they say. Packed they are columns: whoever
# goes through them has a few as objects at a time, and whoever looks for single ones makes them
# objects again.

_MOST_CODES: Final = 1 << 16
_MOST_DIGITS: Final = 18
_BLOCK: Final = 4_096


class _Decimals:
    """Decimals of few digits: these as a number, and how many stand behind the point."""

    def __init__(self) -> None:
        self._digits, self._places = array("q"), array("B")

    def extend(self, values: Iterable[Decimal]) -> None:
        """Add values; raises `ValueError` where one has too many digits."""
        for value in values:
            whole, _, places = f"{value:f}".partition(".")
            if len(whole) + len(places) > _MOST_DIGITS:
                raise ValueError("more digits than a number of 64 bits has")
            self._digits.append(int(whole + places))
            self._places.append(len(places))

    def __iter__(self) -> Iterator[Decimal]:
        pairs = zip(self._digits, self._places, strict=False)
        return (Decimal(f"{digits}e-{places}") for digits, places in pairs)

    def __getitem__(self, place: int) -> Decimal:
        return Decimal(f"{self._digits[place]}e-{self._places[place]}")


class _Codes:
    """Values of which there are few different ones."""

    def __init__(self) -> None:
        self._codes, self._known = array("H"), dict[Value, int]()
        self._values: list[Value] = []

    def extend(self, values: Sequence[Value]) -> None:
        """Add values; raises `ValueError` where there are too many different ones."""
        for value in dict.fromkeys(values):
            if value not in self._known:
                if len(self._values) == _MOST_CODES:
                    raise ValueError("more values than there are codes")
                self._known[value] = len(self._values)
                self._values.append(value)
        self._codes.extend(map(self._known.__getitem__, values))

    def __iter__(self) -> Iterator[Value]:
        return map(self._values.__getitem__, self._codes)

    def __getitem__(self, place: int) -> Value:
        return self._values[self._codes[place]]


_Held: TypeAlias = "array[int] | array[float] | _Decimals | _Codes | list[Value]"


def _empty(kind: type) -> _Held:
    """Give what holds values of a type."""
    if kind is int:
        return array("q")
    if kind is float:
        return array("d")
    return _Decimals() if kind is Decimal else _Codes()


class PackedColumn(Sequence[Value]):
    """Values of one kind that take a few bytes each; others are kept as they are."""

    def __init__(self) -> None:
        self._held: _Held | None = None
        self._type: type | None = None
        self._count = 0

    def extend(self, values: Sequence[Value]) -> None:
        """Add values behind the others."""
        types = set(map(type, values))
        if self._held is None and values:
            self._type = type(values[0])
            self._held = _empty(self._type)
        if not isinstance(self._held, list):
            try:
                if types != {self._type}:
                    raise ValueError("another type")  # noqa: TRY301  one way out for all
                # What fails half-way is cut off below.
                self._held.extend(values)  # type: ignore[union-attr,arg-type]  # of the type it holds
            except (ValueError, OverflowError):
                self._held = [*self, *values]
        else:
            self._held += values
        self._count += len(values)

    def __len__(self) -> int:
        """Return how many values there are."""
        return self._count

    def __iter__(self) -> Iterator[Value]:
        """Yield the values in their order."""
        held = cast("Iterable[Value]", self._held or ())
        return iter(held) if isinstance(held, list) else islice(held, self._count)

    @overload
    def __getitem__(self, place: int) -> Value: ...
    @overload
    def __getitem__(self, place: slice) -> list[Value]: ...
    def __getitem__(self, place: int | slice) -> Value | list[Value]:
        """Return one value, or some of them."""
        if isinstance(place, slice):
            return list(islice(self, *place.indices(self._count)))
        return cast("Sequence[Value]", self._held)[range(self._count)[place]]

    @property
    def numbers(self) -> array[int] | None:
        """The whole numbers of 64 bits that the column holds; ``None`` where it holds others."""
        return self._held if isinstance(self._held, array) and self._type is int else None  # type: ignore[return-value]  # by its type


class PackedRows(Sequence[Row]):
    """Rows without null cells, all different, as columns; at least one column."""

    def __init__(self, columns: Sequence[PackedColumn]) -> None:
        self.columns = tuple(columns)

    def extend(self, rows: Iterable[Row]) -> None:
        """Add rows behind the others; whoever adds them sees to it that they are new."""
        for column, values in zip(self.columns, zip(*rows, strict=True), strict=True):
            column.extend(values)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.columns[0])

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in their order."""
        return zip(*self.columns, strict=True)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        """Return one row, or some of them."""
        if isinstance(place, slice):
            return list(zip(*(column[place] for column in self.columns), strict=True))
        return tuple(column[place] for column in self.columns)

    def project(self, columns: Iterable[int]) -> PackedRows:
        """Give some of the columns; rows may be the same then."""
        return PackedRows([self.columns[one] for one in columns])

    def having(self, columns: Sequence[int], keys: Collection[Row]) -> PackedRows:
        """Give the rows that have one of these keys in some columns."""
        if not columns:
            return self
        key_of = itemgetter(*columns)
        wanted = {key[0] for key in keys} if len(columns) == 1 else keys
        return self.chosen(key_of(row) in wanted for row in self)

    def chosen(self, flags: Iterable[int]) -> PackedRows:
        """Give the rows for which there is a 1; the same object where that are all."""
        kept = bytearray(flags)
        if all(kept):
            return self
        found = PackedRows([PackedColumn() for _ in self.columns])
        rows = compress(self, kept)
        while block := tuple(islice(rows, _BLOCK)):
            found.extend(block)
        return found


@frozen
class Portion:
    """Rows that share their evidence.

    With an assumption they hold only under it, else for certain.
    """

    rows: Sequence[Row]
    evidence: Evidence
    assumption: Assumption | None = None


CONTESTED: Final = "rows for one key"
"""What the reason of an opening says where a source contradicts itself about a key.

None of these rows is certain, whatever anybody states: only the source itself can mend that.
"""


@frozen
class Opening:
    """A shape of rows that may exist.

    `row` has the placeholder where anything may stand.

    A row without placeholders is possible and not certain (two values of one tier contradict).
    With an assumption it is open only until that is accepted (a declared closure, a
    fall-through). One with `filled` stands for a row whose null cells somebody's word fills, and
    goes with that word.
    """

    row: OpenRow
    reason: str
    tier: str
    assumption: Assumption | None = None
    filled: Portion | None = field(default=None, compare=False)


@frozen
class Conflict:
    """Different values for one key of a predicate; `text` says who says what, and what counts.

    `rows` are the rows that are said, whole.
    """

    predicate: str
    text: str
    rows: tuple[Row, ...] = ()


CONFLICT: Final = "conflict: "
"""How the text of an assumption begins by which a certificate records a conflict."""


@frozen
class Answer:
    """What is known for a demand.

    For every key in `answered`, the portions' rows and the openings that match are all there can
    be, by the word of `authorities`; a demanded key that is not answered is wholly open. Rows may
    go beyond the demand (a wider answer); they must be true rows. `conflicts` were met on the way.
    """

    portions: tuple[Portion, ...] = ()
    openings: tuple[Opening, ...] = ()
    answered: frozenset[Row] = frozenset()
    authorities: tuple[Evidence, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


class ExternalPredicate(Protocol):
    """One predicate answered from outside, by whatever tiers stand behind it.

    Must not raise for a failing source: a failure is an opening with its reason. It may be asked
    from one thread at a time.
    """

    @property
    def cost(self) -> int:
        """How dear a demand is: 1 configuration and memory.

        10 local database, 100 network, 1000 language model.
        """
        ...

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        ...


@runtime_checkable
class ConcurrentPredicate(ExternalPredicate, Protocol):
    """An external predicate that may be asked while predicates of other sources are."""

    @property
    def source(self) -> str:
        """The source behind it, which is asked one question at a time; empty for "not so"."""
        ...


@frozen
class Readable:
    """A whole relation that need not become Python values: complete, and certain but for openings.

    `stream` gives an object with `__arrow_c_stream__`, whose columns `v0`, `v1` and so on are those
    of the predicate in canonical form: integers and floats as such, decimals exact, everything
    else as text. A row that comes twice is a mistake of the source, so whoever loads them counts
    them. It is read once, before the read transaction of its source ends. In the evidence the hash
    is empty: it would be that of rows nobody has looked at.
    """

    predicate: Predicate
    rows: int
    evidence: Evidence
    stream: Callable[[], object] = field(compare=False, repr=False)
    merges: bool = False
    """Whether equal rows are no mistake, so that `rows` may be more than there are."""
    openings: tuple[Opening, ...] = ()
    """The rows besides, of which not every column is known."""
    nulls: tuple[Row, ...] = ()
    """The certain rows besides, which hold null cells."""
    changed: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)
    """Asked when all rows are read: whether they may be of two states of the source."""
    told: tuple[Range, ...] = ()
    """The ranges that the source was told: rows outside of them are left out."""


@runtime_checkable
class RelationPredicate(ExternalPredicate, Protocol):
    """An external predicate that may hand out its whole relation at once."""

    def estimate(self) -> float | None:
        """Guess how many rows it has, without reading them; `None` where nobody knows."""
        ...

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out all rows, so many at most; `None` where only `answer` can say them."""
        ...


@runtime_checkable
class GuessingPredicate(ExternalPredicate, Protocol):
    """An external predicate whose source knows what its columns hold."""

    def guess(self, ranges: tuple[Range, ...]) -> float | None:
        """Guess how many rows lie within ranges, reading none; `None` where nobody knows."""
        ...


@frozen
class Served:
    """A whole relation that stays on its server: complete, certain, and a set of rows.

    `query` gives its rows there in columns `c0`, `c1` and so on: integers, floats and exact numbers
    as such, everything else as text that is compared by code points. `rows` is a guess. `doubted`
    is asked before a query reads some columns: whether all of their cells are such values, or what
    is wrong. `results` runs a query on the server that may read such queries, in the state that is
    read: it is given what kinds the columns have, and yields arrays of columns, exact numbers as
    texts. Where it `chooses`, the query gives the same rows each time, and is cheap to repeat.
    `guessed` says how many rows such a query may give. `minded` writes the query so that it fails
    for what `doubted` looks for, and says in which of the columns that are read.
    """

    predicate: Predicate
    server: str
    query: str
    rows: float
    evidence: Evidence
    doubted: Callable[[Collection[int]], str] = field(compare=False, repr=False)
    results: Callable[[str, tuple[Kind, ...]], Iterator[Mapping[str, object]]] = field(
        compare=False, repr=False
    )
    chooses: bool = False
    guessed: Callable[[str], float | None] = field(
        default=lambda _: None, compare=False, repr=False
    )
    minded: Callable[[Collection[int]], tuple[str, frozenset[int]]] | None = field(
        default=None, compare=False, repr=False
    )


@runtime_checkable
class ServedPredicate(ExternalPredicate, Protocol):
    """An external predicate whose relation a server may compute with where it lies."""

    def served(self, demand: Demand, *, cheaply: bool) -> Served | str:
        """Say how the server gives all rows exactly, or why it does not; "" where there is none.

        What its tables do not promise is looked for; `cheaply` leaves out what that costs much for.
        """
        ...


@runtime_checkable
class FillablePredicate(ExternalPredicate, Protocol):
    """An external predicate whose certain rows have null cells, which somebody's word may fill."""

    @property
    def may_fill(self) -> bool:
        """Whether an answer that it gave has such a row, and somebody else may know more of it."""
        ...

    def filled(self) -> ExternalPredicate:
        """Give the same predicate, where that word counts for who accepts it (semantics 26e)."""
        ...


Externals = Mapping[str, ExternalPredicate]
"""The external predicates of an evaluation, by predicate name."""


def filled_externals(externals: Externals) -> Externals | None:
    """Give external predicates whose null cells are filled, where somebody says more of them.

    `None` where nobody does, as far as they were asked; the second evaluation of a goal or a query
    that stays open asks these (semantics 26e).
    """
    filled = {
        name: one.filled()
        for name, one in externals.items()
        if isinstance(one, FillablePredicate) and one.may_fill
    }
    return {**externals, **filled} if filled else None


NOT_ONE: Final = "not one snapshot"
_CHANGING: Final = frozenset({Origin.DATABASE, Origin.API, Origin.DOCUMENT})


@frozen
class Call:
    """One demand an engine made, for `--trace-calls`, with what came back."""

    number: int
    demand: Demand
    answer: Answer
    seconds: float = field(default=0.0, compare=False)


def snapshot_met(calls: Iterable[Call]) -> str | None:
    """Say whether what was read outside is of one state, as a certificate's header does."""
    asked = [one.answer for one in calls]
    evidence = [one for answer in asked for one in answer.authorities]
    evidence += [e for answer in asked for one in answer.portions for e in one.evidence.every()]
    return state_of(evidence)


def state_of(evidence: Iterable[Evidence]) -> str | None:
    """Say whether rows are of one state of one source: `one`, or `not one snapshot`.

    `None` where no database, API or document was read: what else there is does not change while
    a goal is decided. A single answer is of one state, whether that has a name or not; each page
    of an API is an answer.
    """
    read = [one for one in evidence if one.origin in _CHANGING]
    states = {(one.source, _state(one)) for one in read}
    named = len(states) == 1 and all(state is not None for _, state in states)
    answers = {(one.source, one.query, one.parameters, _answer(one)) for one in read}
    alone = len(answers) == 1 and not any(map(_in_pages, read))
    return ("one" if named or alone else NOT_ONE) if read else None


def answered_note(status: int, pages: int, remark: str) -> str:
    """Say how an API answered, and in how many pages: the note of its attestation."""
    told = "a page" if pages == 1 else f"{pages} pages"
    return f"status {status}, {told}, {remark}"


_PAGES: Final = re.compile(r"status [0-9]+, [0-9]+ pages,")


def _in_pages(evidence: Evidence) -> bool:
    """Whether an answer took several requests, between which it may have changed."""
    said = evidence.attestation
    return (
        evidence.origin is Origin.API and said is not None and bool(_PAGES.match(said.note or ""))
    )


def _answer(evidence: Evidence) -> str | None:
    """Tell answers of an API to one question apart by their hashes."""
    said = evidence.attestation
    return said.response if said and evidence.origin is Origin.API else None


def _state(evidence: Evidence) -> str | None:
    """Name the state that was read: of a document it is its hash."""
    said = evidence.attestation
    return said.response if said and evidence.origin is Origin.DOCUMENT else evidence.snapshot


def conflicts_met(calls: Iterable[Call]) -> tuple[str, ...]:
    """Say what was met of different values for one key, each conflict once, in order."""
    return tuple(sorted({one.text for call in calls for one in call.answer.conflicts}))
