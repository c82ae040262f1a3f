"""Terms, literals, rules, predicates and programs as pure values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from types import EllipsisType, MappingProxyType
from typing import Final

from constat.diagnostics import Span
from constat.frozen import frozen
from constat.logic import vocabulary
from constat.logic.values import RECORD, Kind, Value

# Nodes are frozen and compared by content; spans stand outside equality and hash, so the same rule
# written at two places is the same rule.

COMPARISONS = tuple(vocabulary.COMPARISONS)
AGGREGATES = tuple(vocabulary.AGGREGATES)


@frozen
class Variable:
    """A variable, named without its question mark; each `_` has been given a name `_1`, `_2` ..."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class Constant:
    """A value. Before type analysis `kind` is what the literal looks like, after it what it is."""

    value: Value
    kind: Kind
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class Apply:
    """A function applied to terms, `?x + 1`. `kind` is the result's, `None` before type analysis.

    `function` is an operator (`+`, `neg`, `band`: see `OPERATORS`), a named functor, `as` (whose
    `kind` is given), or the constructor of a structure: `[]` or `$Name`. After type analysis
    `type_name` is the structure's type. In a body as written a constructor is a pattern, too:
    `?r = [?x, ?y]` binds `?x` where `?r` is bound. The last passes of analysis put functions in
    place of patterns (`constructor_of`, `field_of`), so engines and checkers know functions only.
    """

    function: str
    arguments: tuple[Term, ...]
    kind: Kind | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    type_name: str = ""


Term = Variable | Constant | Apply


@frozen
class Atom:
    """A predicate applied to terms."""

    predicate: str
    terms: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class Positive:
    """An atom that must hold."""

    atom: Atom


@frozen
class Negative:
    """An atom that must not hold, `!p(?x)`."""

    atom: Atom


@frozen
class Comparison:
    """A constraint between two terms; `=` binds a variable that nothing else binds."""

    operator: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class Aggregate:
    """`result = function target : { body }`.

    `target` is `None` for `count` only.

    A variable is local to the aggregate when it occurs in its body or target and neither in the
    head, nor in a literal that is no aggregate, nor as the result of any aggregate of the rule.

    `recursive` is set by analysis where the rule's own component is aggregated over; then the
    aggregate is a threshold (see `thresholds`) and has no other meaning.
    """

    function: str
    result: Variable
    target: Term | None
    body: tuple[Positive | Negative | Comparison, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    recursive: bool = field(default=False, compare=False, repr=False)


Literal = Positive | Negative | Comparison | Aggregate


# A program is what a set of rule files says: which predicates there are, where their rows come
# from, and the rules that derive others. Lowered from text by `syntax`; after `analysis` every
# constant and function has its final kind.

Attributes = Mapping[str, str]
"""Metadata `@[key = value]` as text; `@[approved(by = "x")]` is kept as `approved.by`."""


@frozen
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


@frozen
class Branch:
    """A way to make a structure: its constructor, `[]` or `$Name`, and its fields."""

    constructor: str
    fields: tuple[Column, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def indicator(self) -> str:
        """The constructor and the number of fields, `$Add/2`, as `constructor_of` gives it."""
        return f"{self.constructor}/{len(self.fields)}"


@frozen
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


@frozen
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


@frozen
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
    def unread(self) -> tuple[int, ...]:
        """The positions of the columns that no rule and no goal reads: see `reading_least`."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.attributes.get("null") == "unread"
        )

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


@frozen
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


@frozen
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


@frozen
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


# A threshold is monotone as long as no summand is negative: more rows never make it false. That is
# why `sum` and `count` may run through recursion in this form and in no other.

_TURNED: Final = MappingProxyType({">": "<", ">=": "<=", "<": ">", "<=": ">="})
_UPWARD: Final = frozenset({">", ">="})
# 38 digits before the point, 38 after it, and room for 10^24 summands: every sum is exact.
_SUMS: Final = Context(prec=100, Emax=999, Emin=-999)


@frozen
class Threshold:
    """`result operator bound`, operator `>` or `>=`; `place` is the comparison's in the body."""

    place: int
    operator: str
    bound: Term


def threshold_of(rule: Rule, place: int) -> Threshold | None:
    """Give the one comparison that uses the aggregate at `place`, if it is a lower bound."""
    aggregate = rule.body[place]
    if not isinstance(aggregate, Aggregate) or aggregate.function not in {"sum", "count"}:
        return None
    result = aggregate.result
    if uses_of(rule, result) != 2:  # noqa: PLR2004  as the result, and in the comparison
        return None
    for at, literal in enumerate(rule.body):
        if isinstance(literal, Comparison) and literal.operator in _TURNED:
            if literal.left == result and literal.operator in _UPWARD:
                return Threshold(at, literal.operator, literal.right)
            if literal.right == result and _TURNED[literal.operator] in _UPWARD:
                return Threshold(at, _TURNED[literal.operator], literal.left)
    return None


def add_exactly(total: int | Decimal, value: int | Decimal) -> int | Decimal:
    """Add two summands. A total is no value: it neither overflows nor is it rounded."""
    if isinstance(value, Decimal):
        return _SUMS.add(Decimal(total), value)
    return total + value


def is_beyond(total: int | Decimal, operator: str, bound: int | Decimal) -> bool:
    """Whether a total is greater than a bound, or for `>=` as great."""
    return total > bound or (operator == ">=" and total == bound)


def uses_of(rule: Rule, variable: Variable) -> int:
    """How often a variable occurs in a rule, as the result of an aggregate included."""
    found = [one for term in rule.head.terms for one in term_variables(term)]
    for literal in rule.body:
        found.extend(literal_variables(literal))
    return found.count(variable)


def is_never_negative(aggregate: Aggregate, kinds: Mapping[str, Kind]) -> bool:
    """Whether the text alone says that no summand is below zero.

    A count adds ones; an unsigned value has no sign; a variable may have a guard such as `?w >= 0`
    in the aggregate's body; sums and products of such terms are again such terms.
    """
    if aggregate.target is None:
        return aggregate.function == "count"
    guarded = frozenset(_guarded(aggregate))
    pending = [aggregate.target]
    while pending:
        match pending.pop():
            case Variable(name) if name in guarded or kinds.get(name) is Kind.UNSIGNED:
                pass
            case Constant(value=value) if not isinstance(value, str) and value >= 0:
                pass
            case Apply(kind=Kind.UNSIGNED):
                pass
            case Apply(function="+" | "*", arguments=arguments):
                pending.extend(arguments)
            case _:
                return False
    return True


def _guarded(aggregate: Aggregate) -> list[str]:
    """The variables that a comparison of the body keeps from being negative."""
    names: list[str] = []
    for literal in aggregate.body:
        if isinstance(literal, Comparison) and literal.operator in _TURNED:
            ways = (
                (literal.operator, literal.left, literal.right),
                (_TURNED[literal.operator], literal.right, literal.left),
            )
            names.extend(
                side.name
                for operator, side, other in ways
                if operator in _UPWARD and isinstance(side, Variable) and _is_floor(other)
            )
    return names


def _is_floor(term: Term) -> bool:
    if not isinstance(term, Constant) or isinstance(term.value, str):
        return False
    return term.value >= 0


# Make rules and goals in a program.
#
# A term is a `Variable`, a Python value, `...` for any value (`_`), or a term that was made
# before. What is made are plain nodes; a session writes them as text and reads that as it reads
# rule files. Example: `rule(atom("is_big", c), atom("spent", c, t), compare(t, ">", 100.0),
# id="BIG")`.

Given = Term | str | bool | int | float | Decimal | date | EllipsisType
"""What stands for a term."""


_KINDS: Final = (
    (str, Kind.SYMBOL),
    (int, Kind.NUMBER),
    (float, Kind.FLOAT),
    (Decimal, Kind.DECIMAL),
)


def term(value: Given) -> Term:
    """Give the term of a Python value; `TypeError` for a value that no column can hold.

    Texts, truth, whole numbers, floats, decimals, days and moments (without a zone, those of UTC).
    """
    if isinstance(value, Variable | Constant | Apply):
        return value
    if value is ...:
        return Variable("_1")
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
        return Constant(f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z", Kind.TIMESTAMP)
    if isinstance(value, date):
        return Constant(value.isoformat(), Kind.DATE)
    if isinstance(value, bool):
        return Constant(str(value).lower(), Kind.BOOL)
    for known, kind in _KINDS:
        if isinstance(value, known):
            return Constant(value, kind)
    message = f"no term can be made of {type(value).__name__}"
    raise TypeError(message)


def atom(predicate: str, /, *terms: Given) -> Atom:
    """Apply a predicate to terms."""
    return Atom(predicate, tuple(map(term, terms)))


def compare(left: Given, operator: str, right: Given) -> Comparison:
    """Compare two terms: `compare(t, ">", 100)`; `=` gives a value to a variable."""
    return Comparison(operator, term(left), term(right))


def function(name: str, /, *terms: Given) -> Apply:
    """Apply a function or an operator to terms: `function("+", x, 1)`."""
    return Apply(name, tuple(map(term, terms)))


def aggregate(
    name: str, result: Variable, target: Given | None, *body: Atom | Literal
) -> Aggregate:
    """Give `result = name target : { body }`; `count` has no target."""
    inner = tuple(one for one in map(as_literal, body) if not isinstance(one, Aggregate))
    return Aggregate(name, result, None if target is None else term(target), inner)


def as_literal(given: Atom | Literal) -> Literal:
    """Give a literal; an atom is one that must hold, `Negative(atom)` one that must not."""
    return Positive(given) if isinstance(given, Atom) else given


def rule(head: Atom, /, *body: Atom | Literal, id: str = "", **attributes: str) -> Rule:  # noqa: A002  the word of the language
    """Give a rule, or a fact where there is no body; attributes such as `says` are texts."""
    return Rule(
        id or f"{head.predicate}.1", head, tuple(map(as_literal, body)), attributes=attributes
    )


def negated(one: Atom) -> Negative:
    """Give `!atom`."""
    return Negative(one)


def declare(
    predicate: str, columns: Mapping[str, str], /, description: str = "", **attributes: str
) -> Predicate:
    """Declare a predicate: `declare("spent", {"customer": "symbol", "total": "float"})`."""
    made = tuple(Column(name, kind) for name, kind in columns.items())
    return Predicate(predicate, made, attributes=attributes, description=description)
