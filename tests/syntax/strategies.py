"""Generated programs, as `parse_text` gives them: well typed, and safe.

Wildcards are `_1`, `_2` ... in the order of the text. Constants have the kind they look like: a
date is a symbol, a float is a decimal, until analysis has typed them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Branch,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Term,
    TypeDefinition,
    Value,
    Variable,
    canonical_decimal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL)
LOOKS = {Kind.FLOAT: Kind.DECIMAL, Kind.DATE: Kind.SYMBOL, Kind.TIMESTAMP: Kind.SYMBOL}
LOOKS[Kind.BOOL] = Kind.SYMBOL
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
BITS = ("%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
EXTREMES = st.sampled_from(("min", "max"))
SUBTYPE, UNION, ALIAS = "CustomerId", "Anyone", "Amount"
PAIR, SHAPE = "Pair", "Shape"
BASE_KINDS = tuple(kind for kind in Kind if kind is not Kind.STRUCTURE)


def branch(constructor: str, **fields: str) -> Branch:
    """A branch as it is read: kinds of types are known to analysis only."""
    names = {kind.value: kind for kind in BASE_KINDS}
    columns = (Column(name, of, names.get(of, Kind.SYMBOL)) for name, of in fields.items())
    return Branch(constructor, tuple(columns))


TYPES = {
    SUBTYPE: TypeDefinition(
        SUBTYPE, "subtype", ("symbol",), None, {"owner": "sales"}, "A number.\nOurs."
    ),
    UNION: TypeDefinition(UNION, "union", (SUBTYPE, "symbol")),
    ALIAS: TypeDefinition(ALIAS, "alias", ("Decimal",)),
    PAIR: TypeDefinition(
        PAIR, "record", (), branches=(branch("[]", x="number", y="symbol", next=PAIR),)
    ),
    SHAPE: TypeDefinition(
        SHAPE,
        "algebraic",
        (),
        None,
        {"owner": "sales"},
        "A form.",
        (
            branch("$Circle", radius="Decimal", since="Date"),
            branch("$Group", left=SHAPE, right=SHAPE, an_offset_with_a_long_name=PAIR),
            branch("$Point"),
        ),
    ),
}
# No column is a pair: then every structure of a rule is a shape.
COLUMN_TYPES = sorted({*TYPES} - {PAIR})
BASE_OF = {
    SUBTYPE: Kind.SYMBOL,
    UNION: Kind.SYMBOL,
    ALIAS: Kind.DECIMAL,
    SHAPE: Kind.STRUCTURE,
}

# Whatever a rule file may hold inside quotes: all but NUL, halves of surrogate pairs and raw CR.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
coins = st.booleans()
words = st.from_regex(r"[a-z][a-z0-9_]{0,6}x", fullmatch=True)
decimals = st.decimals(-(10**12), 10**12, places=4).map(canonical_decimal)
VALUES: dict[Kind, st.SearchStrategy[Value]] = {
    Kind.NUMBER: st.integers(-(2**63), 2**63 - 1),
    Kind.UNSIGNED: st.integers(0, 2**64 - 1),
    Kind.FLOAT: decimals,
    Kind.DECIMAL: decimals,
    Kind.SYMBOL: texts,
    Kind.DATE: st.dates(date(1900, 1, 1), date(2100, 1, 1)).map(date.isoformat),
    Kind.TIMESTAMP: st.just("2025-01-31T10:00:00.000000Z"),
    Kind.BOOL: st.sampled_from(["true", "false"]),
}


def constants(kind: Kind) -> st.SearchStrategy[Constant]:
    return VALUES[kind].map(lambda value: Constant(value, LOOKS.get(kind, kind)))


def terms(kind: Kind, names: list[str]) -> st.SearchStrategy[Term]:
    """Terms of one kind over variables of that kind."""
    if kind is Kind.STRUCTURE:
        return shapes([Variable(name) for name in names])
    variables = [Variable(name) for name in names]
    leaves: st.SearchStrategy[Term] = constants(kind)
    if variables:
        leaves = leaves | st.sampled_from(variables)
    if kind is Kind.SYMBOL:
        return st.recursive(leaves, lambda inner: st.builds(_cat, inner, inner), max_leaves=4)
    if kind not in NUMERIC:
        return leaves
    integers = kind in {Kind.NUMBER, Kind.UNSIGNED}
    operators = st.sampled_from(("+", "-", "*", "/", "^", *(BITS if integers else ())))
    signs = st.sampled_from(("neg", "bnot", "lnot") if integers else ("neg",))

    def grown(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        return st.one_of(
            st.builds(lambda f, a, b: Apply(f, (a, b)), operators, inner, inner),
            st.builds(lambda f, a: Apply(f, (a,)), signs, inner),
            st.builds(lambda f, a, b: Apply(f, (a, b)), EXTREMES, inner, inner),
            inner.map(lambda term: Apply("as", (term,), kind, None, kind.value)),
        )

    return st.recursive(leaves, grown, max_leaves=8)


def shapes(variables: list[Variable]) -> st.SearchStrategy[Term]:
    """Structures of the type `SHAPE`, with these variables among its parts."""
    numbers, dates = constants(Kind.NUMBER), constants(Kind.DATE)
    circles = st.builds(_made("$Circle"), constants(Kind.DECIMAL), dates)
    nil: Term = Apply("nil", ())
    pairs = st.recursive(
        st.just(nil), lambda rest: st.builds(_made("[]"), numbers, constants(Kind.SYMBOL), rest)
    )
    leaves: st.SearchStrategy[Term] = circles | st.just(Apply("$Point", ()))
    if variables:
        leaves = leaves | st.sampled_from(variables)
    return st.recursive(
        leaves, lambda inner: st.builds(_made("$Group"), inner, inner, pairs), max_leaves=4
    )


def _made(constructor: str) -> Callable[..., Term]:
    return lambda *fields: Apply(constructor, fields)


def _cat(left: Term, right: Term) -> Term:
    return Apply("cat", (left, right))


attributes = st.dictionaries(
    st.sampled_from(["says", "owner", "approved.by", "approved.on", "template"]),
    st.one_of(texts, words, st.sampled_from(["0.5", "12", "true"])),
    max_size=3,
)
descriptions = st.sampled_from(["", "One line.", "Two lines,\nthe second with \\ and ünïcode."])


@st.composite
def predicates(draw: st.DrawFn, name: str, *, derived: bool) -> Predicate:
    columns = []
    # Six columns are written by name.
    for place in range(draw(st.sampled_from((1, 2, 3, 3, 6)))):
        kind_names = [kind.value for kind in BASE_KINDS] + COLUMN_TYPES
        type_name = draw(st.sampled_from(kind_names))
        kind = Kind(type_name) if type_name not in TYPES else Kind.SYMBOL
        null = draw(st.sampled_from([{}, {}, {"null": "skip"}]))
        columns.append(Column(f"c{place}", type_name, kind, null))
    source = None
    if not derived and draw(st.booleans()):
        source = Source({"source": draw(words), "query": draw(texts)})
    return Predicate(name, tuple(columns), source, _grouped(draw(attributes)), draw(descriptions))


def _grouped(found: dict[str, str]) -> dict[str, str]:
    """The parts of one attribute side by side, as they are written."""
    return {key: found[key] for key in sorted(found)}


def kind_of(column: Column) -> Kind:
    return BASE_OF.get(column.type_name, column.kind)


class _Scope:
    """The variables of a rule by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[Kind, list[str]] = {}
        self.count = 0

    def fresh(self, kind: Kind) -> Variable:
        self.count += 1
        name = f"v{self.count}"
        self.by_kind.setdefault(kind, []).append(name)
        return Variable(name)

    def names(self, kind: Kind) -> list[str]:
        return list(self.by_kind.get(kind, ()))


@st.composite
def _atom(draw: st.DrawFn, predicate: Predicate, scope: _Scope, *, wild: bool) -> Atom:
    found: list[Term] = []
    for column in predicate.columns:
        kind = kind_of(column)
        choice = draw(st.integers(0, 3))
        if choice == 0 and wild:
            found.append(Variable("_0"))
        elif choice == 1 and scope.names(kind):
            found.append(Variable(draw(st.sampled_from(scope.names(kind)))))
        elif choice == 2 and kind is Kind.STRUCTURE:
            found.append(draw(_pattern(scope, wild=wild)))
        elif choice == 2:
            found.append(draw(constants(kind)))
        else:
            found.append(scope.fresh(kind))
    return Atom(predicate.name, tuple(found))


@st.composite
def _pattern(draw: st.DrawFn, scope: _Scope, *, wild: bool) -> Term:
    """A structure with variables in it, which an atom binds."""
    rest: Term = Variable("_0") if wild else Apply("nil", ())
    if draw(coins):
        return Apply("$Circle", (scope.fresh(Kind.DECIMAL), draw(constants(Kind.DATE))))
    pair = Apply("[]", (scope.fresh(Kind.NUMBER), scope.fresh(Kind.SYMBOL), rest))
    return Apply("$Group", (scope.fresh(Kind.STRUCTURE), draw(shapes([])), pair))


@st.composite
def _ground_atom(draw: st.DrawFn, predicate: Predicate, scope: _Scope) -> Atom:
    """An atom over bound variables only, as heads and negated literals need."""
    kinds = [kind_of(column) for column in predicate.columns]
    return Atom(predicate.name, tuple(draw(terms(kind, scope.names(kind))) for kind in kinds))


@st.composite
def _comparison(draw: st.DrawFn, scope: _Scope) -> Comparison:
    kind = draw(st.sampled_from(sorted(scope.by_kind, key=lambda one: one.value)))
    names = scope.names(kind)
    if kind is Kind.SYMBOL and draw(st.booleans()):
        operator = draw(st.sampled_from(["match", "!match", "contains", "!contains"]))
        return Comparison(operator, Constant("a.*", Kind.SYMBOL), Variable(names[0]))
    unordered = kind in {Kind.BOOL, Kind.STRUCTURE}
    operator = draw(st.sampled_from(OPERATORS[:2] if unordered else OPERATORS))
    return Comparison(operator, draw(terms(kind, names)), draw(terms(kind, names)))


@st.composite
def _aggregate(draw: st.DrawFn, given: list[Predicate], scope: _Scope) -> Aggregate:
    inner = _Scope()
    inner.by_kind = {kind: list(names) for kind, names in scope.by_kind.items()}
    inner.count = scope.count + 100
    body: list[Positive | Negative | Comparison] = [
        Positive(draw(_atom(draw(st.sampled_from(given)), inner, wild=False)))
    ]
    if draw(coins) and inner.by_kind:
        body.append(draw(_comparison(inner)))
    numeric = [kind for kind in NUMERIC if inner.names(kind)]
    if not numeric or draw(st.booleans()):
        return Aggregate("count", scope.fresh(Kind.NUMBER), None, tuple(body))
    kind = draw(st.sampled_from(numeric))
    function = draw(st.sampled_from(["sum", "min", "max"]))
    target = draw(terms(kind, inner.names(kind)))
    return Aggregate(function, scope.fresh(kind), target, tuple(body))


@st.composite
def _rule(draw: st.DrawFn, head: Predicate, given: list[Predicate]) -> Rule:
    scope = _Scope()
    body: list[Literal] = []
    body.extend(
        Positive(draw(_atom(draw(st.sampled_from(given)), scope, wild=True)))
        for _ in range(draw(st.integers(0, 2)))
    )
    if draw(coins) and scope.by_kind:
        body.append(draw(_comparison(scope)))
    if draw(coins) and scope.by_kind:
        body.append(Negative(draw(_ground_atom(draw(st.sampled_from(given)), scope))))
    if draw(st.integers(0, 3)) == 0:
        body.append(draw(_aggregate(given, scope)))
    confidence = draw(st.sampled_from([Decimal(1), Decimal("0.9"), Decimal("0.000001")]))
    extra = _grouped(draw(attributes))
    description = draw(descriptions)
    if description:
        extra["description"] = description
    rule = Rule("", draw(_ground_atom(head, scope)), tuple(body), confidence, False, extra)
    return numbered(rule)


def numbered(rule: Rule) -> Rule:
    """Name each wildcard `_1`, `_2` ... in the order of the text."""
    count = 0

    def term(found: Term) -> Term:
        nonlocal count
        if isinstance(found, Variable) and found.name == "_0":
            count += 1
            return Variable(f"_{count}")
        if isinstance(found, Apply):
            return replace(found, arguments=tuple(map(term, found.arguments)))
        return found

    head = _mapped(rule.head, term)
    body = tuple(_renamed(literal, term) for literal in rule.body)
    return replace(rule, head=head, body=body)


def _mapped(atom: Atom, term: Callable[[Term], Term]) -> Atom:
    return replace(atom, terms=tuple(map(term, atom.terms)))


def _renamed(literal: Literal, term: Callable[[Term], Term]) -> Literal:
    match literal:
        case Positive(atom):
            return Positive(_mapped(atom, term))
        case Negative(atom):
            return Negative(_mapped(atom, term))
        case _:
            return literal


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs with given and derived predicates; each derived one uses only those before it."""
    given = [draw(predicates(f"given{n}", derived=False)) for n in range(draw(st.integers(1, 2)))]
    declared = list(given)
    rules: list[Rule] = []
    for number in range(draw(st.integers(0, 3))):
        head = draw(predicates(f"derived{number}", derived=True))
        for count in range(1, draw(st.integers(1, 2)) + 1):
            rule = draw(_rule(head, declared))
            named = draw(st.booleans())
            name = f"R{number}_{count}" if named else f"{head.name}.{count}"
            rules.append(replace(rule, id=name))
        declared.append(head)
    outputs = {one.name: draw(attributes) for one in declared if draw(st.booleans())}
    shown = {name: _grouped(found) for name, found in outputs.items()}
    return Program({one.name: one for one in declared}, tuple(rules), dict(TYPES), shown)
