"""Declarations, rules and values in the notation of certificates, in canonical form."""

from __future__ import annotations

import hashlib
import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    MadeBy,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    Positive,
    Variable,
    format_value,
    local_names,
    null_cells,
    null_policies,
    outer_names,
    unread_variables,
)
from constat.logic.values import STRING, constructor_and_fields
from constat.patterns import regex
from constat.proof.levels import millionths, spell
from constat.proof.proofs import RuleNode
from constat.proof.reading import look_at, rule_assumption
from constat.proof.sentences import DISCLOSURE, style_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption, Clock
    from constat.logic import Atom, Column, Literal, OpenRow, Predicate, Rule, Slot, Term
    from constat.proof.proofs import Proof

# Equal content gives equal bytes.  Written apart from the checker's reader on purpose: they share
# no code.

Json: TypeAlias = "str | int | Sequence[Json] | Mapping[str, Json] | None"
Made: TypeAlias = "tuple[str, int, str, tuple[str | None, ...]]"
Cell: TypeAlias = "str | int | tuple[str] | tuple[str, int] | Made | None"
TextRow: TypeAlias = "tuple[Cell, ...]"
"""A row in a certificate: texts, places of shared structures, null cells, ``None`` for ⋆."""

_TEXTS = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_ROWS: Final = 4_096
_FORMS = ("none", "maybe", "unknown")
_ENCODER = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def canonical(value: object) -> str:
    """Return the canonical form, without a newline at the end."""
    return _ENCODER.encode(value)


def canonical_within(clock: Clock, value: object) -> str:
    """Return the canonical form; of a long list with a look at the clock now and then."""
    if not isinstance(value, list) or len(value) <= _ROWS:
        return canonical(value)
    parts = []
    for at in range(0, len(value), _ROWS):
        look_at(clock)
        parts.append(canonical(value[at : at + _ROWS])[1:-1])
    return f"[{','.join(parts)}]"


def sha256(text: str) -> str:
    """Return ``sha256:<hex>`` of a text."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def object_form(parts: Mapping[str, str], leave_out: frozenset[str] = frozenset()) -> str:
    """Return the canonical form of an object whose members are in canonical form already."""
    members = (f'"{name}":{parts[name]}' for name in sorted(parts) if name not in leave_out)
    return "{" + ",".join(members) + "}"


def clean(text: str) -> str:
    """Return text a certificate may hold: NUL and lone surrogates replaced."""
    if "\0" in text:
        text = text.replace("\0", "�")
    return text if text.isascii() else text.encode(errors="replace").decode()


def speller(kinds: Sequence[Kind]) -> Callable[[Sequence[Slot]], TextRow]:
    """Return the function that spells a row as its source gave it; what is no value is ``None``."""
    plain = all(kind in _TEXTS for kind in kinds)

    def spell(row: Sequence[Slot]) -> TextRow:
        return tuple(
            [
                None if isinstance(slot, Open | NullCell) else format_value(slot, kind)
                for slot, kind in zip(row, kinds, strict=True)
            ]
        )

    def spell_texts(row: Sequence[Slot]) -> TextRow:
        return tuple([slot if isinstance(slot, str) else None for slot in row])

    return spell_texts if plain else spell


def sort_key(row: TextRow) -> tuple[tuple[int, int, str], ...]:
    """Order rows by their cells: ``None``, null cells, places in the table, texts."""
    return tuple(map(_cell_order, row))


def _cell_order(cell: Cell) -> tuple[int, int, str]:
    if isinstance(cell, str):
        return (5, 0, cell)
    if isinstance(cell, int):
        return (4, cell, "")
    if cell is None:
        return (0, 0, "")
    made = canonical(cell[2:]) if len(cell) > 2 else ""  # noqa: PLR2004  what a function made
    # A column whose cells are not read has no others.
    form = 0 if cell[0] == NullPolicy.UNREAD.value else _FORMS.index(cell[0])
    return (1 + form, cell[1] if len(cell) > 1 else 0, made)


def sorted_rows(rows: Iterable[TextRow]) -> list[TextRow]:
    """Return distinct rows in order."""
    distinct = set(rows)
    if all(type(cell) is str for row in distinct for cell in row):
        return sorted(distinct)
    return sorted(distinct, key=sort_key)


def rows_hash(rows: Iterable[TextRow]) -> str:
    """Return the hash of rows: sorted, each in canonical form and followed by a newline."""
    ordered = sorted(rows, key=sort_key)
    return sha256("".join(canonical(list(row)) + "\n" for row in ordered))


# What a certificate holds is gathered before a cell of it is written, since rows are sorted by
# their cells.  A label is named by its content (FORMAT.md, section 2).  A structure is in the
# table where it occurs twice, or where a part of it is; so a walk over a list says "the rest" by a
# number.

_NOTATION_TEXTS: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL})
# Shorter structures cost less written out than named, and are taken apart whole.
_SHORT: Final = 24
_SMALL: Final = 2_000
# So far a long structure is looked into for one that is known: lists are walked in short steps.
_MOST_SIGNS: Final = 256
_SIGN: Final = regex(rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*\(|[\[\])]", re.ASCII)


class Notation:
    """Spells the cells of one certificate; ``kinds`` are those of each predicate's columns."""

    def __init__(
        self,
        kinds: Mapping[str, Sequence[Kind]] = MappingProxyType({}),
        nulls: Iterable[NullCell] = (),
        structures: Iterable[str] = (),
    ) -> None:
        self.shared = SharedValues(structures)
        self._kinds = kinds
        self._spellers: dict[str, Callable[[Sequence[object]], TextRow]] = {}
        found = {
            cell: (
                cell.predicate,
                self._known(cell, kinds[cell.predicate]),
                cell.column,
                cell.ordinal,
            )
            for cell in nulls
            if cell.policy is NullPolicy.UNKNOWN
        }
        ordered = sorted(
            found, key=lambda one: (found[one][0], sort_key(found[one][1]), *found[one][2:])
        )
        self.labels: dict[NullCell, int] = {cell: place for place, cell in enumerate(ordered)}
        self.labels_json: list[Json] = [
            [name, list(row), column, ordinal]
            for name, row, column, ordinal in (found[cell] for cell in ordered)
        ]

    def _known(self, cell: NullCell, kinds: Sequence[Kind]) -> TextRow:
        """Spell the known cells of a label's row."""
        return self.speller(kinds)([OPEN if one is None else one for one in cell.known])

    def speller(self, kinds: Sequence[Kind]) -> Callable[[Sequence[object]], TextRow]:
        """Return the function that spells a row of these kinds; ⋆ becomes ``None``."""
        plain = all(kind in _NOTATION_TEXTS for kind in kinds)

        def spell(row: Sequence[object]) -> TextRow:
            return tuple([self.cell(slot, kind) for slot, kind in zip(row, kinds, strict=True)])

        def spell_texts(row: Sequence[object]) -> TextRow:
            return tuple([slot if type(slot) is str else self._null(slot) for slot in row])

        return spell_texts if plain else spell

    def speller_of(self, predicate: str) -> Callable[[Sequence[object]], TextRow]:
        """Return the function that spells rows of a predicate."""
        found = self._spellers.get(predicate)
        if found is None:
            found = self._spellers[predicate] = self.speller(self._kinds[predicate])
        return found

    def cell(self, slot: object, kind: Kind) -> Cell:
        """Spell one cell."""
        if isinstance(slot, Open | NullCell):
            return self._null(slot)
        text = format_value(slot, kind)  # type: ignore[arg-type]  # a value
        return self.shared.places.get(text, text) if kind is Kind.STRUCTURE else text

    def _null(self, slot: object) -> Cell:
        if not isinstance(slot, NullCell):
            return None
        if slot.made is not None:
            return self._made(slot, slot.made)
        if slot.policy is NullPolicy.UNKNOWN:
            return ("unknown", self.labels[slot])
        return (slot.policy.value,) if slot.policy.is_empty else ("maybe", slot.ordinal)

    def _made(self, cell: NullCell, made: MadeBy) -> Cell:
        """Spell what a total function makes of a label: its arguments are of the label's kind."""
        kind = self._kinds[cell.predicate][cell.column]
        spelled = tuple(None if one is None else format_value(one, kind) for one in made.arguments)
        return ("unknown", self.labels[cell.source], made.function, spelled)


class SharedValues:
    """The table of structures: ``places`` of their texts."""

    def __init__(self, cells: Iterable[str]) -> None:
        self.places: dict[str, int] = {}
        self.entries: list[Json] = []
        self._parts: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._times: dict[str, int] = {}
        for text in cells:
            if len(text) >= _SHORT:
                self._times[text] = self._times.get(text, 0) + 1
        self._own = {text: text for text in self._times}
        # The shorter first: of a list the rest is there before the list.
        for text in sorted(self._times, key=lambda one: (len(one), one)):
            self._take_apart(text)
        self._count()
        for text in self._parts:
            self._enter(text)

    def _take_apart(self, whole: str) -> None:
        """Note the parts of a structure, inner ones first; of a long one those around a known one.

        A long one that holds nothing known has no parts until it is named itself.
        """
        if len(whole) > _SMALL:
            around = self._around_known(whole)
            for outer, inner in zip(around[-2::-1], around[:0:-1], strict=True):
                self._parts.setdefault(outer, _ending_with(outer, inner))
            self._parts.setdefault(whole, (whole, ()))
            return
        # What is known has its parts already: going down a list meets each rest once.
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        waiting = [whole]
        while waiting:
            text = waiting[-1]
            parts = found.get(text) or constructor_and_fields(text)
            found[text] = parts
            below = [one for one in parts[1] if len(one) >= _SHORT and one[0] in "[$"]
            left = [one for one in below if one not in self._parts]
            waiting += left
            if not left:
                self._parts[waiting.pop()] = parts

    def _around_known(self, whole: str) -> list[str]:
        """Return a structure, those that end it one in the other, and the known one in them."""
        found = [whole]
        for number, sign in enumerate(_SIGN.finditer(whole, 1)):
            if number > _MOST_SIGNS:
                break
            if sign[0] in "])":
                # What was opened last does not reach to the end.
                found.pop()
                if not found:
                    break
            elif sign[0][0] != '"':
                inner = whole[sign.start() : len(whole) - len(found)]
                # The text that is there already: copies of long lists fill the memory.
                found.append(self._own.get(inner, inner))
                if inner in self._parts:
                    return found
        return []

    def _count(self) -> None:
        for text, (_, fields) in self._parts.items():
            for field in fields:
                if field in self._parts:
                    self._times[field] = self._times.get(field, 0) + 1
            self._times.setdefault(text, 0)

    def _enter(self, text: str) -> None:
        constructor, fields = self._parts[text]
        if not fields and self._times[text] > 1:
            constructor, fields = constructor_and_fields(text)
        inner = [self.places.get(field, field) for field in fields]
        shares = any(type(field) is int for field in inner)
        if fields and len(text) >= _SHORT and (shares or self._times[text] > 1):
            self.places[text] = len(self.entries)
            self.entries.append([constructor, *inner])


def _ending_with(outer: str, inner: str) -> tuple[str, tuple[str, ...]]:
    """Take a structure apart whose last field is known."""
    constructor, fields = constructor_and_fields(f"{outer[: -len(inner) - 1]}nil{outer[-1]}")
    return constructor, (*fields[:-1], inner)


def notation_of(proof: Proof, shown: Iterable[tuple[str, OpenRow]], *, shares: bool) -> Notation:
    """Return how the cells of a certificate are spelled; ``shown`` is what came from outside."""
    kinds = proof.reading.program.kinds
    rows = list(shown)
    nulls = [cell for _, row in rows for cell in null_cells(row)]
    has_structures = shares and proof.reading.program.has_structures
    structures = structures_in(proof) if has_structures else []
    if has_structures:
        structures += [text for name, row in rows for text in _structures(row, kinds[name])]
    return Notation(kinds, nulls, structures)


def structures_in(proof: Proof) -> list[str]:
    """Return the structures in nodes and bounds of a proof, as often as they stand there."""
    predicates = proof.reading.program.program.predicates
    found: list[str] = []
    for node in proof.nodes.values():
        found += _structures(node.row, predicates[node.predicate].kinds)
        if isinstance(node, RuleNode):
            code = proof.code(node.rule)
            found += _structures(node.values, code.kinds[: code.outer])
            for place, total in node.totals:
                inner = [code.kinds[slot] for slot in code.body[place].inner]  # type: ignore[union-attr]
                found += [t for one in total.summands for t in _structures(one.values, inner)]
    inside = proof.slice.inside
    for name, rows in inside.shown_rows().items():
        found += [text for row in rows for text in _structures(row, predicates[name].kinds)]
    for (name, columns), entry in inside.entries.items():
        own = [predicates[name].kinds[column] for column in columns]
        found += [text for key in entry.keys for text in _structures(key, own)]
    return found


def _structures(row: Sequence[object], kinds: Sequence[Kind]) -> list[str]:
    pairs = zip(row, kinds, strict=True)
    return [cell for cell, kind in pairs if kind is Kind.STRUCTURE and isinstance(cell, str)]


# Two goals on one predicate give the same rules in the same order, so that the pinned hash names
# the rules and not the question.

APPROVALS: Final = "approved.by.records"
"""The attribute of an approved rule that holds its records, each in canonical form on a line.

No text can set it: the name of an attribute in a rule file has at most one point.
"""


_SAID: Final = ("id", "head", "body", "variables", "confidence", "says")
# Sentences in all forms and languages, reason codes, and what a rule cites.
_TOLD: Final = regex(r"says(?:_not|_unknown)?(?:\..+)?|reasons|reason\..+|cites")


@frozen
class EncodedProgram:
    """Declarations and rules as JSON; ``place_of_rule`` maps program numbers to indices here."""

    declarations: list[Json]
    rules: list[Json]
    place_of_rule: dict[int, int]
    assumptions: tuple[Assumption, ...]
    approvals: list[Json]
    texts: Mapping[str, str]
    """Declarations and rules in canonical form, by the names of their members."""
    pin: str
    """The hash that names the rules."""


def encode_program(program: AnalysedProgram, predicate: str) -> EncodedProgram:
    """Encode what is reachable from a predicate, in the order of declaration; nothing changes it.

    All goals about one predicate have one encoding.
    """
    return program.remembered(("encoded", predicate), lambda: _encoded(program, predicate))


def _encoded(program: AnalysedProgram, predicate: str) -> EncodedProgram:
    reached = reachable(program, predicate)
    numbers = [n for n, rule in enumerate(program.rules) if rule.head.predicate in reached]
    assumptions: dict[Assumption, int] = {}
    rules: list[dict[str, Json]] = []
    for number in numbers:
        assumption = rule_assumption(program, number)
        place = None
        if assumption is not None:
            place = assumptions.setdefault(assumption, len(assumptions))
        rules.append(_rule(program, number, place))
    declared = [
        _declaration(one, external=one.name in program.external)
        for one in program.program.predicates.values()
        if one.name in reached
    ]
    places = {number: place for place, number in enumerate(numbers)}
    approvals = _approvals((program.rules[number] for number in numbers), rules)
    texts = {"declarations": canonical(declared), "rules": canonical(rules)}
    pin = sha256(object_form(texts))
    return EncodedProgram(declared, [*rules], places, tuple(assumptions), approvals, texts, pin)


def _approvals(rules: Iterable[Rule], encoded: Iterable[Mapping[str, Json]]) -> list[Json]:
    """Encode who approved rules, from the records that were found to count.

    A rule that says something else here than what was approved has no approval.
    """
    lines = {
        line
        for rule in rules
        for line in rule.attributes.get(APPROVALS, "").splitlines()
        if not rule.proposed
    }
    found = [json.loads(line) for line in sorted(lines)]
    if not found:
        return []
    said = set(map(said_digest, encoded))
    return [one for one in found if one["rule"] in said]


def reachable(program: AnalysedProgram, predicate: str) -> frozenset[str]:
    """Return the predicates that a predicate's rules speak about, itself included."""
    mentions: dict[str, set[str]] = {}
    for rule in program.rules:
        mentions.setdefault(rule.head.predicate, set()).update(_mentioned(rule))
    found: set[str] = set()
    waiting = [predicate]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += mentions.get(name, ())
    return frozenset(found)


def _mentioned(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        inner = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            if not isinstance(one, Comparison | Aggregate):
                yield one.atom.predicate


def _declaration(predicate: Predicate, *, external: bool) -> Json:
    says = predicate.attributes.get("says")
    policies = null_policies(predicate) if external else (None,) * predicate.arity
    return {
        "name": predicate.name,
        "columns": [[column.name, column.kind.value] for column in predicate.columns],
        "external": int(external),
        "says": None if says is None else clean(says),
        "texts": _texts(predicate.attributes, predicate.columns),
        "nulls": [None if policy is None else policy.value for policy in policies],
        "given": list(predicate.given) if not external else [],
    }


def _texts(attributes: Mapping[str, str], columns: Iterable[Column] = ()) -> list[Json]:
    """Encode what is said of a predicate or a rule besides its sentence: sorted by name.

    How the values of a column are written has the name of the style and that of the column.
    """
    told = {name: text for name, text in attributes.items() if _TOLD.fullmatch(name)}
    told.pop("says", None)
    for column in columns:
        told |= {f"{style}.{column.name}": text for style, text in style_of(column).items()}
        marks = (mark for mark in DISCLOSURE if mark in column.attributes)
        told |= {f"{mark}.{column.name}": column.attributes[mark] for mark in marks}
    return [[clean(name), clean(told[name])] for name in sorted(told)]


def _rule(program: AnalysedProgram, number: int, assumption: int | None) -> dict[str, Json]:
    rule = program.rules[number]
    kinds = program.variable_kinds[number]
    names = dict.fromkeys(outer_names(rule))
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            names.update(dict.fromkeys(local_names(rule, literal)))
    says = rule.attributes.get("says")
    unread = unread_variables(rule)
    return {
        "id": clean(rule.id),
        "head": atom_json(rule.head),
        "body": [_literal(literal, unread) for literal in rule.body],
        "variables": [[name, kinds[name].value] for name in names],
        "confidence": spell(millionths(rule.confidence)),
        "says": None if says is None else clean(says),
        "assumption": assumption,
        "texts": _texts(rule.attributes),
        **_people(rule, program.program.predicates[rule.head.predicate]),
    }


def _people(rule: Rule, predicate: Predicate) -> dict[str, Json]:
    """Encode whose rule it is, and which version of it: as it says, or else its predicate."""
    found: dict[str, Json] = {}
    for name in ("author", "owner", "version"):
        said = rule.attributes.get(name) or predicate.attributes.get(name)
        found[name] = clean(said) if said else None
    return found


def rule_digest(program: AnalysedProgram, number: int) -> str:
    """Return the hash of what a rule says (FORMAT.md, 3)."""
    return said_digest(_rule(program, number, None))


def said_digest(rule: Mapping[str, Json]) -> str:
    """Return the hash of what a rule of a certificate says: that in which approvals name it."""
    # Texts count where there are any: a rule without keeps the hash that the first format gave it.
    names = (*_SAID, "texts") if rule.get("texts") else _SAID
    return sha256(canonical({name: rule[name] for name in names}))


def atom_json(atom: Atom, unread: Container[str] = ()) -> Json:
    """Encode an atom; ``unread`` are the variables that are written ``_``."""
    return [
        atom.predicate,
        [
            ["_", term.name] if isinstance(term, Variable) and term.name in unread else _term(term)
            for term in atom.terms
        ],
    ]


def _term(term: Term) -> Json:
    match term:
        case Variable(name=name):
            return ["v", name]
        case Constant(value=value, kind=kind):
            return ["c", kind.value, format_value(value, kind)]
        case Apply(function=function, arguments=arguments, kind=kind):
            if kind is None:
                raise TypeError("a function without a kind was not analysed")
            return ["f", function, kind.value, [_term(argument) for argument in arguments]]
        case _:
            assert_never(term)


def _literal(literal: Literal, unread: Container[str]) -> Json:
    match literal:
        case Positive(atom):
            return ["+", atom_json(atom, unread)]
        case Negative(atom):
            return ["-", atom_json(atom, unread)]
        case Comparison(operator=operator, left=left, right=right):
            return ["?", operator, _term(left), _term(right)]
        case Aggregate(function=function, result=result, target=target, body=body):
            folded = None if target is None else _term(target)
            inside = [_literal(inner, unread) for inner in body]
            return ["a", function, _term(result), folded, inside]
        case _:
            assert_never(literal)
