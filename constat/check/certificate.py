"""The certificate as frozen records: header, approvals, nodes, closure, summaries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from . import values as shapes
from .canonical import Rejected, canonical, document_of, each, inside, sha256
from .evidence import Evidence, EvidenceReader, read_assumption, read_source
from .program import read_program
from .records import LabelContent, RowReader, check_sorted, read_values
from .redaction import Redaction, read_redaction
from .rules import free_positions, unread_positions
from .summaries import Summary, read_summary
from .values import Hole, Label, OpenRow, Row, Structures

if TYPE_CHECKING:
    from .canonical import Document, Json
    from .rules import Aggregate, Declaration, Program, Rule
    from .values import Cell, Structure

# An approval names a rule of this certificate by the hash of what the rule says, so one given for
# another version cannot be shown for it.  FORMAT.md, section 3.

_SAID: Final = ("id", "head", "body", "variables", "confidence", "says")


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word on the rule of this index; ``key`` is the id of the key that signed it."""

    rule: int
    by: str
    at: str
    key: str | None


def read_approvals(value: Json, rules: Json) -> tuple[Approval, ...]:
    """Read the approvals of a certificate whose rules have been read."""
    listed = shapes.array(value)
    if not listed:
        return ()
    spelled = [canonical(one) for one in listed]
    if spelled != sorted(set(spelled)):
        raise Rejected("order", "approvals are sorted and distinct", "approvals")
    places = {rule_hash(rule): place for place, rule in enumerate(shapes.array(rules))}
    return tuple(each("approvals", listed, lambda one: _approval(one, places)))


def rule_hash(rule: Json) -> str:
    """Return the hash of what a rule says; whether it is assumed, and by whom, is no part of it."""
    if not isinstance(rule, dict):
        raise Rejected("schema", "an object is expected")
    # Texts count where there are any, so a rule without has one hash in both formats.
    names = (*_SAID, "texts") if rule.get("texts") else _SAID
    return sha256(canonical({name: rule.get(name) for name in names}))


def _approval(value: Json, places: dict[str, int]) -> Approval:
    at, by, key, rule = shapes.members(value, ("at", "by", "key", "rule"))
    place = places.get(shapes.sha(rule))
    if place is None:
        raise Rejected("approval", "it is of no rule of this certificate", "rule")
    name = shapes.text(by)
    if not name:
        raise Rejected("approval", "nobody is named", "by")
    return Approval(place, name, shapes.moment(at), shapes.sha_or_null(key))


# The schema is closed, indices point to what exists, values are spelled; whether anything
# *follows* is decided by the passes after this one.  FORMAT.md, sections 3 to 8.

FIRST: Final = "constat-cert/1"
SECOND: Final = "constat-cert/2"
LEVELS: Final = ("C0", "C1", "C2", "C3", "C4")
"""The levels of completeness, the weakest first; as texts they compare as levels do."""
VERDICTS: Final = ("PROVED", "PROVED_UNDER", "DISPROVED", "DISPROVED_UNDER", "UNRESOLVED")

_MEMBERS: Final = (
    "format",
    "header",
    "declarations",
    "rules",
    "sources",
    "facts",
    "coverage",
    "open",
    "assumptions",
    "nodes",
    "closure",
    "summaries",
    "missing",
    "proofs",
    "record",
    "identity",
    "digest",
)
_MOST_CHANGES: Final = 24
_MEMBERS_OF_SECOND: Final = ("values", "labels", "filled", "redaction")
_HEADER: Final = (
    "goal",
    "verdict",
    "under",
    "confidence",
    "search",
    "program",
    "level",
    "as_of",
    "snapshot",
    "decision",
    "supersedes",
    "libraries",
    "approvals",
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A predicate and a pattern; holes are the goal's variables."""

    predicate: str
    pattern: OpenRow


@dataclass(frozen=True, slots=True)
class Header:
    """What was asked and concluded; ``confidence`` in millionths."""

    goal: Goal
    verdict: str
    under: frozenset[int]
    confidence: int
    search: str
    program: str
    level: str | None
    snapshot: str | None
    as_of: str | None
    approvals: tuple[Approval, ...]
    asked_by: str | None = None
    decision: str | None = None
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactNode:
    """A row of a fact group."""

    predicate: str
    fact: Row
    group: int
    row: int
    confidence: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A summand of a threshold: values of the local variables, a premise for each literal."""

    values: Row
    premises: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class RuleNode:
    """An instance of a rule; ``None`` binds a local variable or stands for no premise.

    ``listed`` has the assignments of each recursive threshold, by its place in the body.
    """

    predicate: str
    fact: Row
    rule: int
    bind: tuple[Cell | None, ...]
    premises: tuple[int | None, ...]
    listed: dict[int, tuple[Assignment, ...]]
    confidence: int


@dataclass(frozen=True, slots=True)
class ClosureEntry:
    """The keys for which the closure's rows bound a derived predicate."""

    predicate: str
    columns: tuple[int, ...]
    orders: tuple[tuple[int, tuple[int, ...]], ...]
    keys: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """All of it; ``nested`` are the certificates that its facts rest on."""

    identity: str
    format: str
    header: Header
    program: Program
    evidence: Evidence
    nodes: tuple[FactNode | RuleNode, ...]
    entries: tuple[ClosureEntry, ...]
    closure_rows: dict[str, tuple[OpenRow, ...]]
    summaries: tuple[Summary, ...]
    missing: tuple[Goal, ...]
    executed: tuple[str | None, ...]
    changes: tuple[str, ...]
    """What its writer says would have turned a "no"; nothing here proves it."""
    nested: tuple[Certificate, ...]
    structures: Structures
    labels: tuple[LabelContent, ...]
    redaction: Redaction | None = None


def read_certificate(document: Document) -> Certificate:
    """Read a canonical document and those nested in it; the hashes are compared first.

    What only the second format has is empty in one of the first.
    """
    parts = _members_of(document)
    second = parts["format"] == SECOND
    assumptions = tuple(each("assumptions", shapes.array(parts["assumptions"]), read_assumption))
    count = len(assumptions)
    told = shapes.array(parts["sources"])
    sources = tuple(each("sources", told, lambda value: read_source(value, count, second=second)))
    kinds = [assumption.kind for assumption in assumptions]
    structures = Structures()
    program = read_program(parts["declarations"], parts["rules"], kinds, structures, second=second)
    shared = read_values(parts.get("values", []), structures)
    redaction = read_redaction(parts.get("redaction"), assumptions, len(sources))
    rows = RowReader(program, structures, shared, second=second, redaction=redaction)
    reader = _reader(parts, program, rows)
    evidence = EvidenceReader(reader.rows, sources, assumptions).evidence(
        parts["facts"], parts["open"], parts["coverage"], parts.get("filled", [])
    )
    header = inside("header", parts["header"], lambda v: reader.header(v, count))
    if header.program != document.program:
        raise Rejected("program", "the header names other rules", "header.program")
    entries, closure_rows = inside("closure", parts["closure"], reader.closure)
    summarised = partial(read_summary, program=program, sources=sources, rows=rows)
    summaries = tuple(each("summaries", shapes.array(parts["summaries"]), summarised))
    nodes = tuple(each("nodes", shapes.array(parts["nodes"]), reader.node))
    missing = tuple(each("missing", shapes.array(parts["missing"]), reader.missing))
    _check_tables_used(shared, reader.rows, evidence)
    refused = second and redaction is None and header.verdict.startswith("DISPROVED")
    record = partial(_read_record, sources=len(sources), refused=refused)
    return Certificate(
        document.identity,
        SECOND if second else FIRST,
        header,
        program,
        evidence,
        nodes,
        entries,
        closure_rows,
        summaries,
        missing,
        *inside("record", parts["record"], record),
        tuple(each("proofs", shapes.array(parts["proofs"]), _read_nested)),
        structures,
        tuple(reader.rows.labels),
        redaction,
    )


def _reader(parts: dict[str, Json], program: Program, rows: RowReader) -> _Reader:
    """Return what reads the rest, once it is known what is hidden and what labels are of."""
    if rows.redaction is not None:
        inside("redaction", rows.value, rows.redaction.read_told)
    rows.read_labels(parts.get("labels", []))
    return _Reader(program, parts["rules"], rows)


def _members_of(document: Document) -> dict[str, Json]:
    """Return the members of a certificate whose hashes are those of its text."""
    second = document.tree.get("format") == SECOND
    names = _MEMBERS + (_MEMBERS_OF_SECOND if second else ())
    parts = dict(zip(names, shapes.members(document.tree, names), strict=True))
    if parts["format"] not in (FIRST, SECOND):
        raise Rejected("schema", f"the format is neither {FIRST} nor {SECOND}", "format")
    for name, computed in (("digest", document.digest), ("identity", document.identity)):
        if parts[name] != computed:
            raise Rejected(name, f"the {name} is not that of this text", name)
    return parts


def _check_tables_used(
    shared: tuple[Structure, ...], reader: RowReader, evidence: Evidence
) -> None:
    """Reject a shared value that stands nowhere, a label of no row, what is opened in vain."""
    if reader.redaction is not None:
        inside("redaction", reader.good, reader.redaction.check)
    inner = {field.place for one in shared for field in one.fields if not isinstance(field, str)}
    for place in range(len(shared)):
        if place not in reader.used and place not in inner:
            raise Rejected("unused", "nothing is this value", f"values[{place}]")
    cells = (cell for group in evidence.facts for row in group.rows for cell in row)
    found = {cell.number for cell in cells if isinstance(cell, Label)}
    for number in range(len(reader.labels)):
        if number not in found:
            raise Rejected("unused", "no row has this label", f"labels[{number}]")


def _read_nested(value: Json) -> Certificate:
    # How deep this goes was counted before the outermost was read.
    if not isinstance(value, dict):
        raise Rejected("schema", "a certificate is a JSON object")
    return read_certificate(document_of(value))


def _bound_positions(rule: Rule) -> list[bool]:
    """Tell of each outer variable of a rule whether a node binds it.

    Nodes give a lower bound of a threshold's result and no value.
    """
    totals = {literal.result.position for _, literal in rule.growing}
    free = free_positions(rule) | unread_positions(rule) | totals
    return [place not in free for place in range(rule.outer)]


class _Reader:
    """Reads what speaks of declared predicates and listed rules."""

    def __init__(self, program: Program, rules: Json, rows: RowReader) -> None:
        self.program = program
        self.rules = rules
        self.rows = rows
        self.bound = [_bound_positions(rule) for rule in program.rules]

    def goal(self, value: Json) -> Goal:
        predicate, pattern = shapes.array(value, 2)
        declaration = self.rows.declaration(predicate)
        return Goal(declaration.name, self.rows.goal_row(declaration, pattern))

    def missing(self, value: Json) -> Goal:
        predicate, pattern = shapes.array(value, 2)
        declaration = self.rows.declaration(predicate)
        row = self.rows.open_row(declaration.kinds, pattern, Hole.ANY)
        return Goal(declaration.name, row)

    def header(self, value: Json, assumptions: int) -> Header:
        names = _HEADER + (("asked_by",) if self.rows.second else ())
        parts = dict(zip(names, shapes.members(value, names), strict=True))
        asked_by = shapes.text_or_null(parts.get("asked_by"))
        under = [shapes.index(found, assumptions) for found in shapes.array(parts["under"])]
        if under != sorted(set(under)):
            raise Rejected("header", "indices are ascending and distinct", "under")
        decision, _ = (shapes.text_or_null(parts[name]) for name in ("decision", "supersedes"))
        as_of = parts["as_of"]
        libraries = each("libraries", shapes.array(parts["libraries"]), shapes.text)
        snapshot = parts["snapshot"]
        return Header(
            inside("goal", parts["goal"], self.goal),
            shapes.one_of(parts["verdict"], VERDICTS),
            frozenset(under),
            shapes.confidence(parts["confidence"]),
            shapes.one_of(parts["search"], ("exhausted", "stopped")),
            shapes.sha(parts["program"]),
            None if parts["level"] is None else shapes.one_of(parts["level"], LEVELS),
            None if snapshot is None else shapes.one_of(snapshot, ("one", "not one snapshot")),
            None if as_of is None else inside("as_of", as_of, shapes.moment),
            read_approvals(parts["approvals"], self.rules),
            asked_by,
            decision,
            tuple(libraries),
        )

    def node(self, value: Json) -> FactNode | RuleNode:
        if isinstance(value, dict) and value.get("kind") == "fact":
            _, fact, facts, row, confidence = shapes.members(
                value, ("kind", "fact", "facts", "row", "confidence")
            )
            predicate, found = self.fact(fact)
            return FactNode(
                predicate,
                found,
                shapes.index(facts),
                shapes.index(row),
                shapes.confidence(confidence),
            )
        kind, fact, position, bind, premises, confidence = shapes.members(
            value, ("kind", "fact", "rule", "bind", "premises", "confidence")
        )
        shapes.one_of(kind, ("rule",))
        rule = shapes.index(position, len(self.program.rules))
        predicate, found = self.fact(fact)
        single, listed = self.premises(rule, premises)
        return RuleNode(
            predicate,
            found,
            rule,
            self.bind(rule, bind),
            single,
            listed,
            shapes.confidence(confidence),
        )

    def fact(self, value: Json) -> tuple[str, Row]:
        predicate, row = shapes.array(value, 2)
        declaration = self.rows.declaration(predicate)
        return declaration.name, self.rows.cells(declaration.kinds, row)

    def bind(self, position: int, value: Json) -> tuple[Cell | None, ...]:
        rule = self.program.rules[position]
        cells = shapes.array(value, len(rule.variables))
        own, local = cells[: rule.outer], cells[rule.outer :]
        if [cell is not None for cell in own] != self.bound[position]:
            raise Rejected("schema", "exactly the free variables are unbound", "bind")
        carried = self.rows.carried
        outer = [
            None if cell is None else carried(kind, cell)
            for (_, kind), cell in zip(rule.variables, own, strict=False)
        ]
        if any(cell is not None for cell in local):
            raise Rejected("schema", "a local variable has no value", "bind")
        return (*outer, *[None] * len(local))

    def premises(
        self, position: int, value: Json
    ) -> tuple[tuple[int | None, ...], dict[int, tuple[Assignment, ...]]]:
        rule = self.program.rules[position]
        cells = shapes.array(value, len(rule.body))
        listed: dict[int, tuple[Assignment, ...]] = {}
        for place, literal in rule.growing:
            read = partial(self.assignments, rule, literal)
            listed[place] = inside(f"premises[{place}]", cells[place], read)
        single = [
            None if cell is None or place in listed else shapes.index(cell)
            for place, cell in enumerate(cells)
        ]
        return tuple(single), listed

    def assignments(self, rule: Rule, literal: Aggregate, value: Json) -> tuple[Assignment, ...]:
        """Read what a threshold lists: assignments in ascending order, each once."""
        kinds = tuple(rule.variables[position][1] for position in literal.inner)

        def read(one: Json) -> Assignment:
            values, premises = shapes.array(one, 2)
            cells = shapes.array(premises, len(literal.body))
            found = tuple([None if cell is None else shapes.index(cell) for cell in cells])
            return Assignment(self.rows.cells(kinds, values), found)

        found = tuple(each("", shapes.array(value), read))
        check_sorted(tuple(assignment.values for assignment in found))
        return found

    def closure(
        self, value: Json
    ) -> tuple[tuple[ClosureEntry, ...], dict[str, tuple[OpenRow, ...]]]:
        entries, rows = shapes.members(value, ("entries", "rows"))
        read = tuple(each("entries", shapes.array(entries), self.entry))
        if len({(entry.predicate, entry.columns) for entry in read}) < len(read):
            raise Rejected("closure", "two entries have the same columns", "entries")
        pairs = each("rows", shapes.array(rows), self.closure_rows)
        names = [name for name, _ in pairs]
        if names != sorted(set(names)):
            raise Rejected("order", "predicates are sorted and distinct", "rows")
        return read, dict(pairs)

    def derived(self, name: Json) -> Declaration:
        declaration = self.rows.declaration(name)
        if declaration.name not in self.program.derived:
            raise Rejected("closure", f"no rule derives {declaration.name}")
        return declaration

    def entry(self, value: Json) -> ClosureEntry:
        predicate, columns, orders, keys = shapes.members(
            value, ("predicate", "columns", "orders", "keys")
        )
        declaration = self.derived(predicate)
        positions = self.rows.columns(declaration, columns)
        kinds = tuple(declaration.kinds[column] for column in positions)
        listed = tuple(each("orders", shapes.array(orders), self.order))
        if tuple(rule for rule, _ in listed) != self.program.derived[declaration.name]:
            raise Rejected("closure", "an entry lists each rule of its predicate once", "orders")
        if not set(declaration.given) <= set(positions):
            raise Rejected("closure", "a given column is none of the key's", "columns")
        found = tuple(each("keys", shapes.array(keys), lambda key: self.rows.row(kinds, key)))
        inside("keys", found, check_sorted)
        return ClosureEntry(declaration.name, positions, listed, found)

    def order(self, value: Json) -> tuple[int, tuple[int, ...]]:
        position, order = shapes.array(value, 2)
        rule = shapes.index(position, len(self.program.rules))
        literals = tuple(shapes.index(literal) for literal in shapes.array(order))
        if sorted(literals) != list(range(len(self.program.rules[rule].body))):
            raise Rejected("closure", "an order is a permutation of the rule's body")
        return rule, literals

    def closure_rows(self, value: Json) -> tuple[str, tuple[OpenRow, ...]]:
        predicate, rows = shapes.array(value, 2)
        declaration = self.derived(predicate)
        kinds = declaration.kinds
        found = tuple(each("rows", shapes.array(rows), lambda row: self.rows.bound_row(kinds, row)))
        check_sorted(found)
        return declaration.name, found


def _read_record(
    value: Json, sources: int, *, refused: bool
) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
    """Return when each source was read, and the texts of the changes, which nothing proves."""
    names = ("created", "engine", "executed", "host", "signatures")
    changes: tuple[str, ...] = ()
    if isinstance(value, dict) and "changes" in value:
        if not refused:
            raise Rejected("record", "only a whole DISPROVED has changes", "changes")
        changes = inside("changes", value["changes"], _read_changes)
        value = {name: one for name, one in value.items() if name != "changes"}
    created, engine, executed, host, signatures = shapes.members(value, names)
    shapes.moment(created)
    shapes.text(engine)
    shapes.text_or_null(host)
    shapes.array(signatures, 0)
    times = shapes.array(executed, sources)
    return tuple(None if time is None else shapes.moment(time) for time in times), changes


def _read_changes(value: Json) -> tuple[str, ...]:
    listed = shapes.array(value)
    if not 1 <= len(listed) <= _MOST_CHANGES:
        raise Rejected("schema", f"from 1 to {_MOST_CHANGES} changes are expected")
    return tuple(each("", listed, _read_change))


def _read_change(value: Json) -> str:
    add, remove, said, verdict = shapes.members(value, ("add", "remove", "text", "verdict"))
    shapes.text_or_null(add)
    told = shapes.one_of(verdict, VERDICTS[:2])
    if not shapes.text(said) or not shapes.text(remove):
        raise Rejected("schema", "a change says what is removed")
    return f"{said}: then {told}"
