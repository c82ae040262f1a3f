"""Rules, predicates and programs.

A program is what a set of rule files says: which predicates there are, where their rows come
from, and the rules that derive others. Lowered from text by `syntax`; after `analysis` every
constant and function has its final kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from constat.diagnostics import Span
from constat.logic.structure_text import RECORD
from constat.logic.terms import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Literal,
    Negative,
    Positive,
    Term,
    Variable,
)
from constat.logic.values import Kind

Attributes = Mapping[str, str]
"""Metadata `@[key = value]` as text; `@[approved(by = "x")]` is kept as `approved.by`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a predicate: its name, declared type and (after analysis) its base kind.

    A field of a structure is one, too. `structures` is set by analysis where the kind is a
    structure: it tells what `type_name` and the types of its fields are made of.
    """

    name: str
    type_name: str
    kind: Kind = Kind.SYMBOL
    attributes: Attributes = field(default_factory=dict, hash=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    structures: Structures | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Branch:
    """A way to make a structure: its constructor, `[]` or `$Name`, and its fields."""

    constructor: str
    fields: tuple[Column, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def indicator(self) -> str:
        """The constructor and the number of fields, `$Add/2`, as `constructor_of` gives it."""
        return f"{self.constructor}/{len(self.fields)}"


@dataclass(frozen=True, slots=True)
class Structures:
    """What the structure types of a program are made of: by name of the type, its branches.

    An alias has those of its type. A record type has one branch, with the constructor `[]`, and
    `nil` is a value of it, too.
    """

    branches: Mapping[str, tuple[Branch, ...]] = field(hash=False)

    def branch(self, type_name: str, constructor: str) -> Branch | None:
        """Give the branch of a type with that constructor."""
        found = (one for one in self.branches.get(type_name, ()) if one.constructor == constructor)
        return next(found, None)

    def is_record(self, type_name: str) -> bool:
        """Tell whether it is the name of a record type."""
        return self.branch(type_name, RECORD) is not None


@dataclass(frozen=True, slots=True)
class Source:
    """The parameters of an `.input`.

    `source="sales", query="..."`. `source` is empty for a bare `.input p`.
    """

    parameters: Attributes = field(hash=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The connection's name in the project, `config`, or empty."""
        return self.parameters.get("source", "")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A declared predicate.

    `source` is set for EDB predicates; one without a source and without rules can still be
    answered by facts of the configuration and of users.
    """

    name: str
    columns: tuple[Column, ...]
    source: Source | None = None
    attributes: Attributes = field(default_factory=dict, hash=False)
    description: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The base kind of each column."""
        return tuple(column.kind for column in self.columns)

    @property
    def key(self) -> tuple[int, ...]:
        """The positions named by `@[key = "a,b"]`, or none.

        Per key value a higher tier shadows a lower one.
        """
        names = [name.strip() for name in self.attributes.get("key", "").split(",") if name.strip()]
        places = {column.name: place for place, column in enumerate(self.columns)}
        return tuple(places[name] for name in names if name in places)

    @property
    def given(self) -> tuple[int, ...]:
        """The positions of the columns that goal or caller must bind.

        `@[given(days)]` names them, or `@[given]` stands before each.
        """
        if "given" not in self.attributes and not any(c.attributes for c in self.columns):
            return ()
        names = {name.strip() for name in self.attributes.get("given", "").split(",")}
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.name in names or "given" in column.attributes
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """One head, one conjunction.

    A fact of the text is a rule with an empty body.

    `proposed` is true for a rule a model wrote that nobody approved; with `confidence` below 1
    it is an assumption.
    """

    id: str
    head: Atom
    body: tuple[Literal, ...]
    confidence: Decimal = Decimal(1)
    proposed: bool = False
    attributes: Attributes = field(default_factory=dict, hash=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def assumed(self) -> bool:
        """Whether a conclusion by this rule rests on an assumption."""
        return self.proposed or self.confidence < 1


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """`.type name <: members[0]`.

    (`form` is `subtype`), `.type name = A | B` (`union`) or `.type name = A` (`alias`); or, with
    `branches` and without members, `.type name = [x: A]` (`record`) and `.type name = B { x: A } |
    C {}` (`algebraic`).
    """

    name: str
    form: str
    members: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    attributes: Attributes = field(default_factory=dict, hash=False)
    description: str = ""
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Everything a set of rule files declares. `predicates` keeps the order of declaration.

    `sizes` are the predicates whose number of rows a run prints (`.printsize`), in that order.
    """

    predicates: Mapping[str, Predicate]
    rules: tuple[Rule, ...]
    types: Mapping[str, TypeDefinition] = field(default_factory=dict)
    outputs: Mapping[str, Attributes] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()

    def rules_for(self, predicate: str) -> tuple[Rule, ...]:
        """The rules whose head is that predicate, in order."""
        return tuple(rule for rule in self.rules if rule.head.predicate == predicate)


def is_wildcard(term: Term) -> bool:
    """Tell whether a term was written `_`: as an argument of an atom it reads no column."""
    return isinstance(term, Variable) and term.name[:1] == "_" and term.name[1:].isdigit()


def term_variables(term: Term) -> Iterator[Variable]:
    """Every variable occurrence of a term, left to right."""
    # Most terms are variables or constants, and planning asks for millions of them.
    if isinstance(term, Variable):
        yield term
    if not isinstance(term, Apply):
        return
    stack: list[Term] = [term]
    while stack:
        match stack.pop():
            case Variable() as variable:
                yield variable
            case Apply(arguments=arguments):
                stack.extend(reversed(arguments))
            case _:
                pass


def literal_variables(literal: Literal) -> Iterator[Variable]:
    """Every variable occurrence of a literal; of an aggregate: result, target, body."""
    match literal:
        case Positive(atom) | Negative(atom):
            for term in atom.terms:
                if isinstance(term, Variable):
                    yield term
                elif isinstance(term, Apply):
                    yield from term_variables(term)
        case Comparison(left=left, right=right):
            yield from term_variables(left)
            yield from term_variables(right)
        case Aggregate(result=result, target=target, body=body):
            yield result
            if target is not None:
                yield from term_variables(target)
            for inner in body:
                yield from literal_variables(inner)


def outer_names(rule: Rule) -> tuple[str, ...]:
    """The names of the variables that are not local to an aggregate, by first occurrence.

    (head, then body).
    """
    names: dict[str, None] = {}
    for term in rule.head.terms:
        names.update(dict.fromkeys(variable.name for variable in term_variables(term)))
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            names[literal.result.name] = None
        else:
            names.update(dict.fromkeys(variable.name for variable in literal_variables(literal)))
    return tuple(names)


def unread_variables(rule: Rule) -> frozenset[str]:
    """The names of what was written `_` as an argument of an atom of the body, and nowhere else."""
    times: dict[str, int] = {}
    for term in rule.head.terms:
        for variable in term_variables(term):
            times[variable.name] = 2
    written: set[str] = set()
    for literal in rule.body:
        for variable in literal_variables(literal):
            times[variable.name] = times.get(variable.name, 0) + 1
        for inner in literal.body if isinstance(literal, Aggregate) else (literal,):
            if isinstance(inner, Positive | Negative):
                written.update(
                    t.name for t in inner.atom.terms if isinstance(t, Variable) and is_wildcard(t)
                )
    return frozenset(name for name in written if times[name] == 1)


def local_names(rule: Rule, aggregate: Aggregate) -> tuple[str, ...]:
    """The names of the variables local to that aggregate, by first occurrence."""
    outer = set(outer_names(rule))
    names = (variable.name for variable in literal_variables(aggregate))
    return tuple(dict.fromkeys(name for name in names if name not in outer))
