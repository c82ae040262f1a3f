"""Certificates back into the values of the logic, so that they can be said and drawn.

In: the members of a certificate.  Out: an ``AnalysedProgram`` with the declarations and rules it
carries, rows, and instances of rules.  Invariant: only the certificate speaks; nothing is taken
from a project or an engine, and what was printed from the result is what a checker reads.
``ValueError`` for what is no certificate.

Example: ``["c", "Decimal", "10.5"]`` is ``Constant(Decimal("10.5"), Kind.DECIMAL)``.  The notation
is that of check/FORMAT.md, sections 2 and 4; ``encoding`` writes it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self, cast

from constat.analysis import AnalysedProgram
from constat.logic import (
    OPEN,
    UNREAD_CELL,
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    MadeBy,
    Negative,
    NullCell,
    NullPolicy,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Variable,
    hidden_cell,
    parse_decimal,
    parse_value,
)
from constat.proof.sentences import DISCLOSURE, PLAIN, STYLES, Instance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Literal, OpenRow, Slot, Term, Value
    from constat.proof.sentences import Speech

Members = dict[str, Any]
FIRST: Final = "constat-cert/1"
SECOND: Final = "constat-cert/2"
_OF_COLUMNS: Final = (*STYLES, *DISCLOSURE)
# So much text a table of shared structures may stand for where it is written out.
_MOST_TEXT: Final = 400_000_000


class NullText(str):
    """A cell without a value among texts: it reads as one, and equals nothing but the same cell."""

    __slots__ = ("cell",)

    cell: NullCell

    def __new__(cls, cell: NullCell) -> Self:
        """Make the text of a cell."""
        found = super().__new__(cls, str(cell))
        found.cell = cell
        return found

    def __eq__(self, other: object) -> bool:
        """Tell whether the other is the same cell."""
        return isinstance(other, NullText) and self.cell == other.cell

    def __hash__(self) -> int:
        """Hash the cell."""
        return hash(self.cell)


def read_members(certificate: bytes | str) -> Members:
    """Read a certificate of either format as one without tables: all cells are texts.

    Shared structures are written out, null cells are `NullText`, what is not read is a variable
    whose name says so, and the header's ``unread`` are the columns that the goal does not read.
    ``ValueError`` for what is no certificate. Nested certificates stay as they are.
    """
    members = json.loads(certificate)
    if not isinstance(members, dict) or members.get("format") not in {FIRST, SECOND}:
        raise ValueError("this is no certificate of a format that is known")
    try:
        return _opened(members) if members["format"] == SECOND else _marked(members)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("this is no certificate: a member has another shape") from None


def without_wildcards(value: Any) -> Any:  # noqa: ANN401  JSON of rules
    """Return JSON of rules in which what is not read is a variable of that name."""
    if not isinstance(value, list):
        return value
    if len(value) == 2 and value[0] == "_":  # noqa: PLR2004
        return ["v", value[1]]
    return [without_wildcards(one) for one in value]


def _marked(members: Members) -> Members:
    return {**members, "header": {**members["header"], "unread": []}, "filled": []}


def _opened(members: Members) -> Members:
    reader = _Cells(members)
    name, pattern = members["header"]["goal"]
    unread = [place for place, cell in enumerate(pattern) if cell == ["_"]]
    goal = [None if cell == ["_"] else cell for cell in pattern]
    header = {**members["header"], "goal": [name, reader.row(goal)], "unread": unread}
    closure = members["closure"]
    return {
        **members,
        "header": header,
        "rules": [{**rule, "body": without_wildcards(rule["body"])} for rule in members["rules"]],
        "facts": [
            {**one, "rows": [reader.fact_row(one["predicate"], row) for row in one["rows"]]}
            for one in members["facts"]
        ],
        "coverage": [_with_rows(one, "keys", reader) for one in members["coverage"]],
        "open": [{**one, "row": reader.row(one["row"])} for one in members["open"]],
        "missing": [[one, reader.row(row)] for one, row in members["missing"]],
        "nodes": [_opened_node(one, reader, members["facts"]) for one in members["nodes"]],
        "closure": {
            "entries": [_with_rows(one, "keys", reader) for one in closure["entries"]],
            "rows": [[one, [reader.row(row) for row in rows]] for one, rows in closure["rows"]],
        },
        "summaries": [{**one, "group": reader.row(one["group"])} for one in members["summaries"]],
        "filled": [{**one, "value": reader.row([one["value"]])[0]} for one in members["filled"]],
    }


def _with_rows(member: Members, name: str, reader: _Cells) -> Members:
    return {**member, name: [reader.row(row) for row in member[name]]}


def _opened_node(node: Members, reader: _Cells, facts: list[Members]) -> Members:
    predicate, row = node["fact"]
    # A null cell is one of the row that the source gave, though words may fill others of it.
    given = facts[node["facts"]]["rows"][node["row"]] if node["kind"] == "fact" else row
    found = {**node, "fact": [predicate, reader.fact_row(predicate, row, given)]}
    if node["kind"] == "rule":
        found["bind"] = reader.row(node["bind"])
        found["premises"] = [
            [[reader.row(values), inner] for values, inner in one] if isinstance(one, list) else one
            for one in node["premises"]
        ]
    return found


class _Cells:
    """Cells of a certificate with the tables that they point into."""

    def __init__(self, members: Members) -> None:
        self.kinds = {
            one["name"]: [Kind(kind) for _, kind in one["columns"]]
            for one in members["declarations"]
        }
        self.texts: list[str] = []
        left = _MOST_TEXT
        for constructor, *fields in members["values"]:
            inner = ", ".join(self.texts[f] if isinstance(f, int) else f for f in fields)
            text = f"[{inner}]" if constructor == "[]" else f"{constructor}({inner})"
            left -= len(text)
            if left < 0:
                raise ValueError("the structures of this certificate are too long to write out")
            self.texts.append(text)
        self.labels = [self._label(*one) for one in members["labels"]]

    def _label(self, predicate: str, row: list[Any], column: int, ordinal: int) -> NullText:
        kinds = self.kinds[predicate]
        known = tuple(
            None if text is None else decode_value(text, kind)
            for text, kind in zip(self.row(row), kinds, strict=True)
        )
        return NullText(NullCell(NullPolicy.UNKNOWN, predicate, column, known, ordinal))

    def _made(self, label: NullCell, function: str, arguments: list[str | None]) -> NullText:
        kind = self.kinds[label.predicate][label.column]
        known = tuple(None if one is None else decode_value(one, kind) for one in arguments)
        return NullText(replace(label, made=MadeBy(function, known)))

    def row(self, cells: list[Any]) -> list[Any]:
        """Return a row of texts; where a cell has no value, nobody asks here of which row."""
        return [self._cell(cell, "", 0, ()) for cell in cells]

    def fact_row(
        self, predicate: str, cells: list[Any], given: list[Any] | None = None
    ) -> list[Any]:
        """Return a row of texts of a predicate, with its null cells, which are those of `given`."""
        if all(isinstance(cell, str) for cell in cells):
            return cells
        known = tuple(
            None if isinstance(cell, list) else decode_value(self._cell(cell, "", 0, ()), kind)
            for cell, kind in zip(given or cells, self.kinds[predicate], strict=True)
        )
        return [self._cell(cell, predicate, place, known) for place, cell in enumerate(cells)]

    def _cell(
        self,
        cell: Any,  # noqa: ANN401  JSON
        predicate: str,
        column: int,
        known: tuple[Value | None, ...],
    ) -> Any:  # noqa: ANN401  JSON
        if isinstance(cell, str) or cell is None:
            return cell
        if isinstance(cell, int):
            return self.texts[cell]
        if cell[0] == "unknown":
            label = self.labels[cell[1]]
            return label if len(cell) == 2 else self._made(label.cell, *cell[2:])  # noqa: PLR2004
        if cell[0] == "hidden":
            return NullText(hidden_cell(cell[1]))
        if cell[0] == NullPolicy.UNREAD.value:
            return NullText(UNREAD_CELL)
        if cell[0] == NullPolicy.NONE.value:
            return NullText(NullCell(NullPolicy.NONE, predicate, column))
        return NullText(NullCell(NullPolicy.MAYBE, predicate, column, known, cell[1]))


# As deep as a checker reads (FORMAT.md, section 9): the depth of terms is the depth of recursion.
_DEEPEST: Final = 64


def decode_program(members: Members) -> AnalysedProgram:
    """Return the program a certificate carries, typed as it says."""
    try:
        return _program(members)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("this is no certificate: its program has another shape") from None


def decode_value(text: str, kind: Kind) -> Value:
    """Read a value in the spelling of certificates; of a null cell it is the cell."""
    if isinstance(text, NullText):
        return cast("Value", text.cell)
    if kind is Kind.FLOAT:
        return float.fromhex(text)
    return parse_value(text, kind)


def decode_row(texts: Sequence[str | None], kinds: Sequence[Kind]) -> OpenRow:
    """Read a row or a pattern; ``null`` becomes ⋆."""
    return tuple(
        OPEN if text is None else decode_value(text, kind)
        for text, kind in zip(texts, kinds, strict=True)
    )


def decode_instance(program: AnalysedProgram, node: Members, speech: Speech = PLAIN) -> Instance:
    """Return the rule of a rule node with the values of its substitution."""
    number = node["rule"]
    rule, kinds = program.rules[number], program.variable_kinds[number]
    values: dict[str, Slot] = {
        name: decode_value(text, kind)
        for (name, kind), text in zip(kinds.items(), node["bind"], strict=True)
        if text is not None
    }
    return Instance(rule, values, kinds, program.program.predicates, speech)


def _program(members: Members) -> AnalysedProgram:
    scalars = _configured(members)
    predicates = {
        one["name"]: _predicate(one, configured=one["name"] in scalars)
        for one in members["declarations"]
    }
    kinds = tuple(
        {name: Kind(kind) for name, kind in rule["variables"]} for rule in members["rules"]
    )
    reached = _dependencies(members["rules"])
    rules = tuple(_rule(rule, reached) for rule in members["rules"])
    external = frozenset(one["name"] for one in members["declarations"] if one["external"])
    return AnalysedProgram(Program(predicates, rules), rules, kinds, (), external)


def _configured(members: Members) -> frozenset[str]:
    """Return the predicates whose rows the configuration gave: they read as settings."""
    sources = members["sources"]
    found: set[str] = set()
    others: set[str] = set()
    for group in members["facts"]:
        configured = sources[group["source"]]["origin"] == "CONFIG"
        (found if configured else others).add(group["predicate"])
    return frozenset(found - others)


def _predicate(declared: Members, *, configured: bool) -> Predicate:
    columns = tuple(
        Column(name, kind, Kind(kind), _column_attributes(declared, place))
        for place, (name, kind) in enumerate(declared["columns"])
    )
    source = Source({"source": "config"}) if configured else None
    return Predicate(declared["name"], columns, source, _attributes(declared))


def _column_attributes(declared: Members, place: int) -> Mapping[str, str]:
    """Return what a declaration says of a column: how its values are written, nulls, given."""
    name = declared["columns"][place][0]
    texts = dict(declared.get("texts", ()))
    found = {style: texts[f"{style}.{name}"] for style in _OF_COLUMNS if f"{style}.{name}" in texts}
    policy = declared["nulls"][place] if "nulls" in declared else None
    found |= {} if policy is None else {"null": policy}
    return found | ({"given": ""} if place in declared.get("given", ()) else {})


def _attributes(stated: Members) -> Mapping[str, str]:
    """Return the sentences and reason codes of a declaration or a rule."""
    says = {} if stated["says"] is None else {"says": stated["says"]}
    told = stated.get("texts", ())
    texts = (pair for pair in told if pair[0].partition(".")[0] not in _OF_COLUMNS)
    return {**says, **dict(texts)}


def _rule(stated: Members, reached: Mapping[str, frozenset[str]]) -> Rule:
    head = _atom(stated["head"])
    confidence = parse_decimal(stated["confidence"])
    return Rule(
        stated["id"],
        head,
        tuple(_literal(literal, head.predicate, reached) for literal in stated["body"]),
        confidence,
        proposed=stated["assumption"] is not None and confidence == Decimal(1),
        attributes={**_attributes(stated), **_people(stated)},
    )


def _people(stated: Members) -> dict[str, str]:
    """Return whose rule it is, and which version of it."""
    return {name: stated[name] for name in ("author", "owner", "version") if stated.get(name)}


def _literal(stated: list[Any], head: str, reached: Mapping[str, frozenset[str]]) -> Literal:
    if stated[0] != "a":
        return _test(stated)
    _, function, result, target, body = stated
    inner = tuple(_test(one) for one in body)
    recursive = any(
        isinstance(one, Positive) and head in reached.get(one.atom.predicate, ()) for one in inner
    )
    folded = None if target is None else _term(target)
    variable = _term(result)
    if not isinstance(variable, Variable):
        raise TypeError(result)
    return Aggregate(function, variable, folded, inner, recursive=recursive)


def _test(stated: list[Any]) -> Positive | Negative | Comparison:
    match stated:
        case ["+", atom]:
            return Positive(_atom(atom))
        case ["-", atom]:
            return Negative(_atom(atom))
        case ["?", str(operator), left, right]:
            return Comparison(operator, _term(left), _term(right))
        case _:
            raise TypeError(stated)


def _atom(stated: list[Any]) -> Atom:
    predicate, terms = stated
    return Atom(predicate, tuple(_term(term) for term in terms))


def _term(stated: list[Any], depth: int = 0) -> Term:
    if depth > _DEEPEST:
        raise TypeError("a term is nested too deeply")
    match stated:
        case ["v", str(name)]:
            return Variable(name)
        case ["c", str(kind), str(text)]:
            return Constant(decode_value(text, Kind(kind)), Kind(kind))
        case ["f", str(function), str(kind), list(arguments)]:
            inner = tuple(_term(one, depth + 1) for one in arguments)
            return Apply(function, inner, Kind(kind))
        case _:
            raise TypeError(stated)


def _dependencies(rules: Sequence[Members]) -> Mapping[str, frozenset[str]]:
    """Return what the rules of each predicate reach that some aggregate is over."""
    direct: dict[str, set[str]] = {}
    folded: set[str] = set()
    for rule in rules:
        below = direct.setdefault(rule["head"][0], set())
        for literal in rule["body"]:
            inner = literal[4] if literal[0] == "a" else [literal]
            names = {one[1][0] for one in inner if one[0] in {"+", "-"}}
            below |= names
            folded |= names if literal[0] == "a" else set()
    return {name: _reached(name, direct) for name in sorted(folded & set(direct))}


def _reached(name: str, direct: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(direct[name])
    while waiting:
        below = waiting.pop()
        if below not in found:
            found.add(below)
            waiting += direct.get(below, ())
    return frozenset(found)
