"""Turn surface trees into one program.

In: the items of all files, in order. Out: a `constat.logic.Program`. Invariant: every rule has
one head and one conjunction, `_` is `_1`, `_2` ... in the order of the text, and each aggregate
is a literal of its own; what is declared twice or was never declared is reported. Example: `p(?x)
:- q(?x); r(?x).` gives the rules `p.1a` and `p.1b`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Span
from constat.logic import (
    Atom,
    Column,
    Literal,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    TypeDefinition,
    Variable,
    parse_decimal,
)
from constat.syntax.mistakes import declarations, structure
from constat.syntax.modes import Mode
from constat.syntax.named_arguments import NamedArguments
from constat.syntax.printing import UNDECLARED, Predicates
from constat.syntax.rule_lowering import conjunctions, count_alternatives, lower_rule
from constat.syntax.surface import (
    Attribute,
    Choice,
    Compared,
    ConstraintText,
    Declaration,
    Include,
    Notes,
    Port,
    RuleText,
    SignedAtom,
    SurfaceItem,
    SurfaceLiteral,
)

VIOLATES: Final = "violates_"
"""What the name of the relation begins with that lists what breaks a constraint."""
_OPPOSITES: Final = MappingProxyType(
    {
        "=": "!=",
        "!=": "=",
        "<": ">=",
        ">=": "<",
        ">": "<=",
        "<=": ">",
        "match": "!match",
        "!match": "match",
        "contains": "!contains",
        "!contains": "contains",
    }
)
# Looking for similar names is worth it for the first mistakes only.
_MANY = 200


def lower(
    items: Iterable[SurfaceItem],
    diagnostics: list[Diagnostic],
    mode: Mode = Mode.STRICT,
    known: Predicates = UNDECLARED,
) -> Program:
    """Give the program that the items declare together.

    `known` are predicates that others declare: arguments of theirs may be named.
    """
    lowering = _Lowering(diagnostics, mode)
    ordered = list(items)
    # Declarations first: a file may use what a later one declares.
    for item in ordered:
        match item:
            case Declaration():
                lowering.declare(item)
            case TypeDefinition():
                lowering.define(item)
            case _:
                pass
    lowering.known = {**known, **lowering.predicates} if known else lowering.predicates
    for item in ordered:
        match item:
            case Port():
                lowering.open_port(item)
            case RuleText():
                lowering.add_rules(item)
            case ConstraintText():
                lowering.add_constraint(item)
            case Declaration() | TypeDefinition() | Include():
                pass
    return Program(
        lowering.predicates,
        tuple(lowering.rules),
        lowering.types,
        lowering.outputs,
        tuple(lowering.sizes),
    )


def as_mapping(attributes: Iterable[Attribute]) -> dict[str, str]:
    """Attributes by key."""
    return {one.key: one.value for one in attributes}


@dataclass(slots=True)
class _Lowering:
    """The program so far."""

    diagnostics: list[Diagnostic]
    mode: Mode = Mode.STRICT
    predicates: dict[str, Predicate] = field(default_factory=dict)
    known: Predicates = field(default_factory=dict)
    types: dict[str, TypeDefinition] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    sizes: dict[str, None] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    ids: dict[str, Span | None] = field(default_factory=dict)

    def declare(self, item: Declaration) -> None:
        first = self.predicates.get(item.name)
        if first is not None:
            self.diagnostics.append(
                declarations.declared_twice(item.span, "predicate", item.name, first.span)
            )
            return
        self.predicates[item.name] = Predicate(
            item.name,
            item.columns,
            None,
            as_mapping(item.notes.attributes),
            item.notes.description,
            item.span,
        )

    def define(self, item: TypeDefinition) -> None:
        first = self.types.setdefault(item.name, item)
        if first is not item and item.span is not None:
            self.diagnostics.append(
                declarations.declared_twice(item.span, "type", item.name, first.span)
            )

    def open_port(self, item: Port) -> None:
        predicate = self.predicates.get(item.name)
        if predicate is None:
            known = sorted(self.predicates) if len(self.diagnostics) < _MANY else []
            self.diagnostics.append(
                declarations.undeclared(item.span, item.directive, item.name, known)
            )
        elif item.directive == "printsize":
            self.sizes[item.name] = None
        elif item.directive == "output":
            found = self.outputs.setdefault(item.name, {})
            found.update(as_mapping(item.notes.attributes) | as_mapping(item.parameters))
        elif predicate.source is not None and self.mode is Mode.STRICT:
            self.diagnostics.append(
                declarations.declared_twice(
                    item.span, "the input of", item.name, predicate.source.span
                )
            )
        else:
            self.predicates[item.name] = replace(
                predicate,
                source=Source(as_mapping(item.parameters), item.span),
                attributes=as_mapping(item.notes.attributes) | dict(predicate.attributes),
                description=predicate.description or item.notes.description,
            )

    def add_rules(self, item: RuleText) -> None:
        limit = structure.MAX_ALTERNATIVES
        if count_alternatives(item.branches, limit) * len(item.heads) > limit:
            self.diagnostics.append(structure.too_many_alternatives(item.span))
            return
        bodies = list(conjunctions(item.branches))
        confidence = self.confidence(item.notes)
        names = list(self.names(item, len(bodies)))
        attributes = rule_attributes(item.notes)
        proposed = is_proposed(attributes)
        named = NamedArguments(self.known, self.diagnostics)
        pairs = [(head, body) for head in item.heads for body in bodies]
        for name, (head, body) in zip(names, pairs, strict=True):
            atom, literals = lower_rule(head, body, named, self.mode)
            self.note_id(name, item.span)
            self.rules.append(
                Rule(name, atom, literals, confidence, proposed, attributes, item.span)
            )

    def add_constraint(self, item: ConstraintText) -> None:
        """Add the relation of what breaks a constraint, and the rule that finds it."""
        body = item.body if item.then is None else (*item.body, opposite(item.then))
        named = NamedArguments(self.known, self.diagnostics)
        name = f"{VIOLATES}{item.name}"
        _, literals = lower_rule(SignedAtom(name, (), item.span), body, named, self.mode)
        columns = constraint_columns(literals, self.known, item.span)
        attributes = {"constraint": item.name, **as_mapping(item.notes.attributes)}
        self.declare(Declaration(name, columns, item.notes, item.span))
        declared = self.predicates[name]
        if declared.span != item.span:
            return
        self.predicates[name] = replace(declared, attributes=attributes)
        head = Atom(name, tuple(Variable(one.name) for one in columns), item.span)
        self.note_id(f"{name}.1", item.span)
        self.rules.append(Rule(f"{name}.1", head, literals, span=item.span))

    def names(self, item: RuleText, alternatives: int) -> Iterator[str]:
        """The ids of the rules an item stands for."""
        explicit = next((one.value for one in item.notes.attributes if one.key == "id"), "")
        total = alternatives * len(item.heads)
        for place, head in enumerate(item.heads):
            number = self.counts[head.predicate] = self.counts.get(head.predicate, 0) + 1
            for alternative in range(alternatives):
                if explicit:
                    index = place * alternatives + alternative
                    yield explicit + (letters(index) if total > 1 else "")
                else:
                    suffix = letters(alternative) if alternatives > 1 else ""
                    yield f"{head.predicate}.{number}{suffix}"

    def note_id(self, name: str, span: Span) -> None:
        if name in self.ids:
            self.diagnostics.append(declarations.id_twice(span, name, self.ids[name]))
        else:
            self.ids[name] = span

    def confidence(self, notes: Notes) -> Decimal:
        for one in notes.attributes:
            if one.key == "confidence":
                try:
                    value = parse_decimal(one.value)
                except ValueError:
                    value = Decimal(0)
                if 0 < value <= 1:
                    return value
                self.diagnostics.append(declarations.odd_confidence(one.span))
        return Decimal(1)


def opposite(literal: SurfaceLiteral) -> SurfaceLiteral:
    """Give what holds where a literal does not."""
    match literal:
        case SignedAtom():
            return replace(literal, negative=not literal.negative)
        case Compared():
            return replace(literal, operator=_OPPOSITES[literal.operator])
        case Choice():
            raise TypeError("the parser reads one literal behind `=>`")


def constraint_columns(
    literals: Iterable[Literal], known: Predicates, span: Span
) -> tuple[Column, ...]:
    """Give the variables of the positive atoms with the types of their columns, each once."""
    found: dict[str, Column] = {}
    for literal in literals:
        if not isinstance(literal, Positive) or literal.atom.predicate not in known:
            continue
        declared = known[literal.atom.predicate].columns
        for column, term in zip(declared, literal.atom.terms, strict=False):
            if isinstance(term, Variable) and not term.name.startswith("_"):
                found.setdefault(
                    term.name, Column(term.name, column.type_name, column.kind, {}, span)
                )
    return tuple(found.values())


def letters(index: int) -> str:
    """`a` to `z`, then `aa`, `ab` and so on."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def rule_attributes(notes: Notes) -> dict[str, str]:
    """The attributes of a rule without those that have a field of their own."""
    found = as_mapping(notes.attributes)
    found.pop("id", None)
    found.pop("confidence", None)
    if notes.description:
        found["description"] = notes.description
    return found


def is_proposed(attributes: dict[str, str]) -> bool:
    """Whether a model wrote a rule: whether somebody approved it is recorded outside the text."""
    return attributes.get("author", "").strip().lower().startswith(("llm:", "model:"))
