"""What came from outside, as frozen records: rows, null cells, answers, attestations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from . import values
from .canonical import Json, Rejected, canonical, each, inside, sha256
from .functions import TOTAL, signature_holds
from .values import (
    KINDS,
    NONE,
    QUOTED_TEXT,
    STRUCTURE,
    UNREAD,
    Hole,
    Label,
    Null,
    OpenRow,
    Row,
    Structure,
    Structures,
    is_constructor,
    is_known,
    is_number_field,
    is_spelled,
    read_structure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .redaction import Redaction
    from .rules import Declaration, Program
    from .values import Cell, Field, Known, Value


def sort_key(row: OpenRow) -> tuple[tuple[int, int, str], ...]:
    """Order rows by their cells."""
    return tuple(map(_cell_order, row))


def _cell_order(cell: Value) -> tuple[int, int, str]:
    """Order ⋆ first, then null cells, then places in the table, then texts."""
    if type(cell) is str:
        return (5, 0, cell)
    if isinstance(cell, Hole):
        return (0, 0, "")
    if isinstance(cell, Null):
        return (1, 0, "") if cell.ordinal is None else (2, cell.ordinal, "")
    if isinstance(cell, Label):
        return (3, cell.number, "" if cell.made is None else _spelled(*cell.made))
    place = getattr(cell, "place", None)
    return (5, 0, str(cell)) if place is None else (4, place, "")


def _spelled(function: str, arguments: Sequence[str | None]) -> str:
    return canonical([function, list(arguments)])


def check_sorted(rows: tuple[OpenRow, ...]) -> None:
    """Reject rows that are out of order or repeated."""
    # Rows of texts compare as they are.
    if all(type(cell) is str for row in rows for cell in row):
        texts: tuple[tuple[str, ...], ...] = rows  # type: ignore[assignment]  # just seen
        wrong = any(left >= right for left, right in pairwise(texts))
    else:
        wrong = any(left >= right for left, right in pairwise(map(sort_key, rows)))
    if wrong:
        raise Rejected("order", "rows are sorted and distinct")


# A label is named by its content, so the same unknown value has the same label in every row and
# one label never stands for two.  FORMAT.md, sections 2 and 5.


@dataclass(frozen=True, slots=True)
class LabelContent:
    """What a label is of: a column of the row with these known cells, and the row's ordinal."""

    predicate: str
    row: OpenRow
    column: int
    ordinal: int
    kind: str


def read_values(value: Json, structures: Structures) -> tuple[Structure, ...]:
    """Read the table of structures: each stands in it once, and as its index everywhere else."""
    found: list[Structure] = []

    def read(entry: Json) -> None:
        parts = values.array(entry)
        constructor = values.text(parts[0]) if len(parts) > 1 else ""
        if not is_constructor(constructor):
            raise Rejected("schema", "an array of a constructor and fields is expected")
        fields = tuple([_field(part, found, structures) for part in parts[1:]])
        one = structures.made(constructor, fields)
        if one is None:
            raise Rejected("value", "the structure is too long")
        if one.place is not None:
            raise Rejected("value", "the structure is there already")
        one.place = len(found)
        found.append(one)

    each("values", values.array(value), read)
    return tuple(found)


def _field(value: Json, earlier: Sequence[Structure], structures: Structures) -> Field:
    if type(value) is int:
        return earlier[values.index(value, len(earlier))]
    text = values.text(value)
    if QUOTED_TEXT.match(text):
        return text
    if is_number_field(text):
        return text
    found = read_structure(structures, text)
    if found is None:
        raise Rejected("value", f"{text[:40]!r} is no field of a structure")
    if found.place is not None:
        raise Rejected("value", "what is in the table of values is written out")
    return found


def check_nulls(declaration: Declaration, row: Row, labels: Sequence[LabelContent]) -> None:
    """Reject a null cell that its declaration or its label does not allow."""
    known = tuple(cell if is_known(cell) else Hole.STAR for cell in row)
    ordinals: set[int] = set()
    for column, cell in enumerate(row):
        policy = declaration.nulls[column] if declaration.nulls else None
        if isinstance(cell, Label):
            content = labels[cell.number]
            if cell.made is not None or (content.predicate, content.row, content.column) != (
                declaration.name,
                known,
                column,
            ):
                raise Rejected("cell", "the label is that of another cell")
            ordinals.add(content.ordinal)
        elif isinstance(cell, Null):
            meant = "unread" if cell == UNREAD else "none" if cell == NONE else "maybe"
            if policy != meant:
                raise Rejected("cell", f"a null of this column means {policy}")
            ordinals |= set() if cell.ordinal is None else {cell.ordinal}
        elif policy == "unread":
            raise Rejected("cell", "nobody reads this column, and a value stands in it")
    if len(ordinals) > 1:
        raise Rejected("cell", "a row has one ordinal")


# A filled row is never another row: without the assumption its cell stays what it is.  FORMAT.md,
# section 5.


@dataclass(frozen=True, slots=True)
class Filling:
    """The value of a null cell of a fact row, for whoever accepts the assumption."""

    group: int
    row: int
    column: int
    value: Known
    source: int
    assumption: int


def read_fillings(
    value: Json,
    reader: RowReader,
    groups: Sequence[FactGroup],
    sources: Sequence[Source],
    assumptions: Sequence[Assumption],
) -> tuple[Filling, ...]:
    """Read who says what stands in a null cell: sorted by the cell, each cell once."""

    def read(entry: Json) -> Filling:
        facts, at, column, said, source, assumption = values.members(
            entry, ("facts", "row", "column", "value", "source", "assumption")
        )
        group = groups[values.index(facts, len(groups))]
        row = group.rows[values.index(at, len(group.rows))]
        place = values.index(column, len(row))
        if row[place] in {NONE, UNREAD} or is_known(row[place]):
            raise Rejected("cell", "there is nothing to fill in this cell", "column")
        kind = reader.declaration(group.predicate).kinds[place]
        found = reader.value(kind, said)
        teller = sources[values.index(source, len(sources))]
        if teller.vouched or teller.proof is not None:
            raise Rejected("assumption", "somebody's word fills a cell", "source")
        basis = values.index(assumption, len(assumptions))
        if assumptions[basis].kind != "fact":
            raise Rejected("assumption", "an assumption of kind fact is expected")
        cell = (values.index(facts), values.index(at), place)
        return Filling(*cell, found, values.index(source), basis)

    found = each("filled", values.array(value), read)
    keys = [(one.group, one.row, one.column) for one in found]
    if any(left >= right for left, right in pairwise(keys)):
        raise Rejected("order", "cells are sorted and filled once", "filled")
    return tuple(found)


def filled_row(row: Row, fillings: Sequence[Filling], holds: Callable[[int], bool]) -> Row:
    """Return a row with the values that are accepted."""
    cells = list(row)
    for one in fillings:
        if holds(one.assumption):
            cells[one.column] = one.value
    return tuple(cells)


# The form fits the origin, so a model's word names the model, what it was asked and what it said,
# and a person's word that person.  Whether the hashes are those of real texts, nobody can see
# here. FORMAT.md, section 5.

MODEL: Final = "model"
PERSON: Final = "person"
SERVICE: Final = "service"
_AGENTS: Final = (MODEL, PERSON, SERVICE)
_AGENT_OF: Final = (
    ("LLM_KNOWLEDGE", MODEL),
    ("LLM_HEURISTIC", MODEL),
    ("USER_PROVIDED", PERSON),
    ("API", SERVICE),
)
_SUB_PLAN: Final = "SUB_PLAN"
_ANYBODY: Final = frozenset({_SUB_PLAN, "DOCUMENT"})


@dataclass(frozen=True, slots=True)
class Agent:
    """A model, a person or a service; ``mark`` is its version or digest, if it has one."""

    kind: str
    name: str
    mark: str | None


@dataclass(frozen=True, slots=True)
class Attestation:
    """``hash`` is that of the whole; ``quoted`` and ``reviewer`` name a document and a person."""

    agent: Agent
    quoted: str | None
    reviewer: str | None
    hash: str
    answered: str | None
    """The hash of what the agent gave."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Words of a document: bytes ``start`` to ``end`` of its text."""

    document: str
    hash: str | None
    start: int
    end: int
    text: str


def read_attestation(
    value: Json, origin: str, author: str | None, answered_rows: str
) -> Attestation | None:
    """Read the attestation of a source of this origin, author and hash of rows."""
    if value is None:
        return None
    agent, prompt, response, quote, reviewer, note = values.members(
        value, ("agent", "prompt", "response", "quote", "reviewer", "note")
    )
    values.text_or_null(note)
    asked, answered = values.sha_or_null(prompt), values.sha_or_null(response)
    who = inside("agent", agent, _read_agent)
    quoted = None if quote is None else inside("quote", quote, _read_quote)
    reviewed = None if reviewer is None else inside("reviewer", reviewer, _read_reviewer)
    _check_agent(who, origin, author)
    if who.kind == MODEL and (who.mark is None or asked is None or answered is None):
        raise Rejected("attestation", "a model has a version or digest, a prompt and a response")
    if who.kind == SERVICE and answered is None:
        raise Rejected("attestation", "a service has a response")
    if who.kind == SERVICE and origin == _SUB_PLAN and answered != answered_rows:
        raise Rejected("attestation", "the response is not the hash of the rows")
    if reviewed == who.name:
        raise Rejected("attestation", "nobody reviews what they said themselves", "reviewer")
    document = None if quoted is None else quoted.document
    return Attestation(who, document, reviewed, sha256(canonical(value)), answered)


def _read_agent(value: Json) -> Agent:
    kind, name, version, digest = values.members(value, ("kind", "name", "version", "digest"))
    found, mark = values.sha_or_null(digest), values.text_or_null(version)
    return Agent(values.one_of(kind, _AGENTS), _named(name), found or mark)


def _read_quote(value: Json) -> Quoted:
    document, found, start, end, text = values.members(
        value, ("document", "hash", "start", "end", "text")
    )
    mark, first, last = values.sha_or_null(found), values.index(start), values.index(end)
    words = _named(text)
    if first + len(words.encode()) != last:
        raise Rejected("attestation", "the text is not as long as its place")
    return Quoted(_named(document), mark, first, last, words)


def read_span(value: Json) -> Quoted:
    """Read the place of a row in a document, which is written as a quotation is."""
    return _read_quote(value)


def _read_reviewer(value: Json) -> str:
    name, at = values.members(value, ("name", "at"))
    values.moment(at)
    return _named(name)


def _named(value: Json) -> str:
    found = values.text(value)
    if not found:
        raise Rejected("attestation", "a name or a quoted text is empty")
    return found


def _check_agent(agent: Agent, origin: str, author: str | None) -> None:
    wanted = dict(_AGENT_OF).get(origin)
    if wanted is None and origin not in _ANYBODY:
        raise Rejected("attestation", f"rows of origin {origin} are not attested")
    if wanted not in {None, agent.kind}:
        raise Rejected("attestation", f"the word of a {wanted} is expected", "agent.kind")
    if agent.kind == PERSON and agent.name != author:
        raise Rejected("attestation", "the person is not the author of the source", "agent.name")


# Nothing here says what follows; `evidence` and `commitments` check the parts. FORMAT.md, section
# 5.

AUTHORITIES: Final = frozenset({"CONFIG", "DATABASE"})
PROVED: Final = "DERIVED"
"""The origin of a row that another certificate proves."""


@dataclass(frozen=True, slots=True)
class Proved:
    """The nested certificate that proves a row, and the outer assumptions that it rests on."""

    certificate: int
    assumptions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One answer from outside; ``rows`` and ``hash`` describe all of it."""

    tier: str
    origin: str
    name: str
    query: str | None
    parameters: tuple[str, ...]
    rows: int
    hash: str
    confidence: int
    author: str | None
    attestation: Attestation | None
    commitment: Json
    """As it stands: it speaks of columns that are read later."""
    proof: Proved | None
    authority: bool = False
    """Whether it is an API whose answer is said to be all there is."""
    span: Quoted | None = None
    """Where in its document it stands."""

    @property
    def vouched(self) -> bool:
        """Whether its rows rest on nobody's word, so that it can close a key."""
        return self.origin in AUTHORITIES or self.authority


@dataclass(frozen=True, slots=True)
class Assumption:
    """What somebody must accept; ``confidence`` in millionths, ``attestations`` as hashes."""

    kind: str
    text: str
    confidence: int
    attestations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Rows of one predicate from one source; they hold where all of ``rests_on`` is accepted."""

    predicate: str
    source: int
    assumption: int | None
    rests_on: tuple[int, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """Some row of this shape may exist."""

    predicate: str
    row: OpenRow
    reason: str
    assumption: int | None


Reader = tuple[int, int]
"""The index of a rule, and the place of a positive literal in its body."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """For these keys, facts and open rows are all there can be.

    With a ``reader``, the place of a rule and of a positive literal in its body, they are all that
    this literal and the comparisons of its variables let pass.
    """

    predicate: str
    columns: tuple[int, ...]
    keys: tuple[Row, ...]
    sources: tuple[int, ...]
    reader: Reader | None = None


class RowReader:
    """Reads rows against declarations; remembers texts that it has already checked.

    ``shared`` are the structures of the table, and ``used`` the places of those that were met;
    ``labels`` say what each label is of.
    """

    def __init__(
        self,
        program: Program,
        structures: Structures,
        shared: Sequence[Structure] = (),
        *,
        second: bool,
        redaction: Redaction | None = None,
    ) -> None:
        self.program = program
        self.redaction = redaction
        self.structures = structures
        self.shared = shared
        self.labels: Sequence[LabelContent] = ()
        self.second = second
        self.used: set[int] = set()
        self.good: dict[str, set[str]] = {kind: set() for kind in KINDS}
        self.read: dict[str, Structure] = {}

    def declaration(self, name: Json) -> Declaration:
        """Return the declaration of a predicate."""
        found = self.program.declarations.get(values.text(name))
        if found is None:
            raise Rejected("declaration", f"{values.text(name)[:40]!r} is not declared")
        return found

    def external(self, name: Json) -> Declaration:
        """Return the declaration of a predicate that has rows from outside."""
        declaration = self.declaration(name)
        if not declaration.external:
            raise Rejected("declaration", f"no rows of {declaration.name} come from outside")
        return declaration

    def value(self, kind: str, value: Json) -> Known:
        """Return a value, spelled or by its place in the table."""
        # Most texts come again and again: one look-up decides them.
        if type(value) is str and value in self.good[kind]:
            return value
        if type(value) is list and self.redaction is not None:
            return self.redaction.hidden(kind, value)
        if kind == STRUCTURE:
            return self.structure(value)
        found = values.text(value)
        if not is_spelled(kind, found):
            raise Rejected("value", f"{found[:40]!r} is not the spelling of a {kind}")
        self.good[kind].add(found)
        return found

    def structure(self, value: Json) -> Known:
        """Return a structure; one that is in the table stands nowhere as a text."""
        if type(value) is int and self.second:
            self.used.add(values.index(value, len(self.shared)))
            return self.shared[value]
        text = values.text(value)
        known = self.read.get(text)
        if known is None:
            known = read_structure(self.structures, text)
            if known is None:
                raise Rejected("value", f"{text[:40]!r} is not the spelling of a structure")
            if known.place is not None:
                raise Rejected("value", "what is in the table of values is written out")
            self.read[text] = known
        return known

    def read_labels(self, value: Json) -> None:
        """Read what each label is of: sorted and distinct."""

        def read(entry: Json) -> LabelContent:
            predicate, cells, column, ordinal = values.array(entry, 4)
            declaration = self.external(predicate)
            row = self.open_row(declaration.kinds, cells)
            place = values.index(column, len(row))
            if row[place] is not Hole.STAR or declaration.nulls[place] != "unknown":
                raise Rejected("cell", "no unknown value can stand in this column")
            number = values.index(ordinal)
            return LabelContent(declaration.name, row, place, number, declaration.kinds[place])

        found = each("labels", values.array(value), read)
        keys = [(one.predicate, sort_key(one.row), one.column, one.ordinal) for one in found]
        if any(left >= right for left, right in pairwise(keys)):
            raise Rejected("order", "labels are sorted and distinct", "labels")
        self.labels = found

    def cell(self, kind: str, value: Json) -> Cell:
        """Return a value or a null cell."""
        if type(value) is not list or not self.second:
            return self.value(kind, value)
        match value:
            case ["unknown", int(number)]:
                return self.label(kind, number)
            case ["unknown", int(number), function, arguments]:
                return self.made(kind, number, function, arguments)
            case ["maybe", int(ordinal)]:
                return Null(ordinal)
            case ["none"]:
                return NONE
            case ["unread"]:
                return UNREAD
            case ["hidden", _]:
                return self.value(kind, value)
            case _:
                raise Rejected("schema", "this is no cell of a row")

    def carried(self, kind: str, value: Json) -> Cell:
        """Return what a variable can have: a value or a label."""
        if type(value) is str and value in self.good[kind]:
            return value
        found = self.cell(kind, value)
        if type(found) is Null:
            raise Rejected("schema", "no variable has such a cell")
        return found

    def label(self, kind: str, number: int) -> Label:
        """Return a label of this kind."""
        content = self.labels[values.index(number, len(self.labels))]
        if content.kind != kind:
            raise Rejected("kind", f"the label is of the kind {content.kind}")
        return Label(number)

    def made(self, kind: str, number: int, function: Json, arguments: Json) -> Label:
        """Return what a total function makes of a label and values of the label's kind."""
        own = self.labels[values.index(number, len(self.labels))].kind
        name, given = values.text(function), values.array(arguments)
        if name not in TOTAL or given.count(None) != 1 or any(type(v) is list for v in given):
            raise Rejected("cell", "no total function of one label is this")
        if not signature_holds(name, (own,) * len(given), kind):
            raise Rejected("kind", f"no {name} of {own} gives {kind}")
        spelled = [None if one is None else str(self.value(own, one)) for one in given]
        return Label(number, (name, tuple(spelled)))

    def row(self, kinds: tuple[str, ...], value: Json) -> Row:
        """Return a row of values."""
        cells = values.array(value, len(kinds))
        return tuple([self.value(kind, cell) for kind, cell in zip(kinds, cells, strict=True)])

    def cells(self, kinds: tuple[str, ...], value: Json) -> Row:
        """Return a row that may have null cells."""
        cells, good = values.array(value, len(kinds)), self.good
        return tuple(
            [
                # As `value` does, which decides at once about a text that came before.
                cell if type(cell) is str and cell in good[kind] else self.cell(kind, cell)
                for kind, cell in zip(kinds, cells, strict=True)
            ]
        )

    def fact_row(self, declaration: Declaration, value: Json) -> Row:
        """Return a row of a source, whose null cells are those that its declaration allows."""
        row = self.cells(declaration.kinds, value)
        if "unread" in declaration.nulls or any(type(c) is Label or type(c) is Null for c in row):
            check_nulls(declaration, row, self.labels)
        return row

    def open_row(self, kinds: tuple[str, ...], value: Json, hole: Hole = Hole.STAR) -> OpenRow:
        """Return a row of values in which ``null`` has become ``hole``."""
        cells = values.array(value, len(kinds))
        return tuple(
            hole if cell is None else self.value(kind, cell)
            for kind, cell in zip(kinds, cells, strict=True)
        )

    def bound_row(self, kinds: tuple[str, ...], value: Json) -> OpenRow:
        """Return a row of what rules carry, in which ``null`` has become ⋆."""
        return tuple(
            Hole.STAR if cell is None else self.carried(kind, cell)
            for kind, cell in zip(kinds, values.array(value, len(kinds)), strict=True)
        )

    def goal_row(self, declaration: Declaration, value: Json) -> OpenRow:
        """Return the pattern of a goal: ``null`` is a variable, ``["_"]`` is not read."""
        kinds = declaration.kinds
        cells = values.array(value, len(kinds))
        for policy, cell in zip(declaration.nulls, cells, strict=False):
            if policy == "unread" and cell != ["_"]:
                raise Rejected("declaration", "the goal reads a column that nobody reads")
        return tuple(
            Hole.ANY
            if cell == ["_"] and self.second
            else Hole.UNBOUND
            if cell is None
            else self.value(kind, cell)
            for kind, cell in zip(kinds, cells, strict=True)
        )

    def columns(self, declaration: Declaration, value: Json) -> tuple[int, ...]:
        """Return ascending positions of columns."""
        width = len(declaration.columns)
        found = tuple(values.index(column, width) for column in values.array(value))
        if list(found) != sorted(set(found)):
            raise Rejected("schema", "columns are ascending and distinct", "columns")
        if any(declaration.nulls[column] == "unread" for column in found if declaration.nulls):
            raise Rejected("declaration", "nobody reads a column of the key", "columns")
        return found
