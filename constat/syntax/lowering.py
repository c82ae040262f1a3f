"""Turn surface trees into one program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeGuard, assert_never

from constat.diagnostics import Diagnostic, Span
from constat.frozen import slotted
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
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
    Variable,
    parse_decimal,
)
from constat.syntax.cursor import Mode, softened
from constat.syntax.mistakes import declarations, goals, habits
from constat.syntax.printing import UNDECLARED, Predicates, print_term
from constat.syntax.surface import (
    AggregateTerm,
    Attribute,
    Call,
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
    SurfaceTerm,
    Wildcard,
)
from constat.syntax.words import RESERVED

# Columns that a body leaves out become `_`; `column = _` becomes a variable of its own, because
# what is written is read. Heads and facts write all columns. Later passes see positions only.

_LONGEST: Final = 60
Fresh = Callable[[str, "Span | None"], Variable]


@slotted
class PartialFacts:
    """Facts of one text that may leave columns out, which no rule may then read.

    Each gets values of its own there, so that two of them are two rows. `left_out` tells for each
    relation the columns, and where.
    """

    source: str
    left_out: dict[str, dict[int, Span | None]] = field(default_factory=dict)
    count: int = 0

    def filler(
        self, predicate: Predicate, given: Collection[str], span: Span | None
    ) -> list[Constant]:
        """Give a constant for each column, and note those that are not given."""
        self.count += 1
        places = self.left_out.setdefault(predicate.name, {})
        for place, column in enumerate(predicate.columns):
            if column.name not in given:
                places.setdefault(place, span)
        return [_own_value(column.kind, self.count) for column in predicate.columns]


def _own_value(kind: Kind, number: int) -> Constant:
    """Give a value that no other number has, as somebody would write it."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return Constant(number, Kind.NUMBER)
        case Kind.DECIMAL | Kind.FLOAT:
            return Constant(Decimal(number), Kind.DECIMAL)
        case Kind.DATE:
            return Constant((_FIRST_DAY + timedelta(number)).isoformat(), Kind.SYMBOL)
        case Kind.TIMESTAMP:
            day = (_FIRST_DAY + timedelta(number)).isoformat()
            return Constant(f"{day}T00:00:00Z", Kind.SYMBOL)
        case Kind.BOOL:
            return Constant("true", Kind.SYMBOL)
        case _:
            return Constant(f"left out {number}", Kind.SYMBOL)


_FIRST_DAY: Final = date(2001, 1, 1)


@slotted
class NamedArguments:
    """The declarations that names are looked up in, and where mistakes go, each once."""

    known: Predicates
    diagnostics: list[Diagnostic]
    reported: set[SignedAtom] = field(default_factory=set)
    partial: PartialFacts | None = None

    def placed(self, atom: SignedAtom, fresh: Fresh, *, head: bool = False) -> SignedAtom:
        """Give an atom with a term for each column.

        Where nothing declares it that is an error: terms would go into places by chance.
        """
        predicate = self.known.get(atom.predicate)
        if predicate is None:
            if atom not in self.reported and atom.predicate not in RESERVED:
                # That a word of the language names no relation has been said.
                self.reported.add(atom)
                known = sorted(self.known)
                place = atom.span
                span = replace(
                    place, end_line=place.line, end_column=place.column + len(atom.predicate)
                )
                self.diagnostics.append(goals.unknown_predicate(span, atom.predicate, known))
            return replace(atom, names=())
        partial = self.partial if head else None
        if atom not in self.reported:
            found = _mistakes(atom, predicate, head=head and partial is None)
            self.diagnostics.extend(found)
            if found:
                # A rule with alternatives is lowered several times.
                self.reported.add(atom)
        given = {name: term for (name, _), term in zip(atom.names, atom.terms, strict=True)}
        terms: list[SurfaceTerm] = []
        filling = None if partial is None else partial.filler(predicate, given.keys(), atom.span)
        for number, column in enumerate(predicate.columns):
            term = given.get(column.name) or Wildcard(atom.span)
            if filling is not None and column.name not in given:
                terms.append(filling[number])
                continue
            written = column.name in given and isinstance(term, Wildcard)
            terms.append(fresh(column.name, term.span) if written else term)
        return replace(atom, terms=tuple(terms), names=())


def _mistakes(atom: SignedAtom, predicate: Predicate, *, head: bool) -> list[Diagnostic]:
    """Say what is wrong with the names of an atom."""
    unnamed = next((span for name, span in atom.names if not name), None)
    if unnamed is not None:
        return [goals.mixed_arguments(unnamed, _all_named(atom, predicate))]
    columns = {column.name for column in predicate.columns}
    terms = zip(atom.names, atom.terms, strict=True)
    written = [(name, span, _shown(term)) for (name, span), term in terms]
    found = [*goals.unknown_columns(written, predicate)]
    seen: set[str] = set()
    for name, span in atom.names:
        if name in columns and name in seen:
            found.append(goals.column_again(span, name))
        seen.add(name)
    missing = [column.name for column in predicate.columns if column.name not in seen]
    if head and missing and not found:
        found.append(goals.incomplete_head(atom.span, missing))
    return found


def _all_named(atom: SignedAtom, predicate: Predicate) -> str:
    """Write an atom with the names of its arguments: those without go by their place."""
    parts = []
    columns = {column.name: column for column in predicate.columns}
    for place, ((name, _), term) in enumerate(zip(atom.names, atom.terms, strict=True)):
        at_place = predicate.columns[place].name if place < predicate.arity else "column"
        alone = None if name or not isinstance(term, Constant) else columns.get(str(term.value))
        value = _shown(term) if alone is None else f"?{alone.name}"
        value = '"true"' if alone is not None and alone.kind is Kind.BOOL else value
        parts.append(f"{alone.name if alone else name or at_place} = {value}")
    return f"{'!' if atom.negative else ''}{atom.predicate}({', '.join(parts)})"


def _shown(term: SurfaceTerm) -> str:
    match term:
        case Variable() | Constant():
            text = print_term(term)
            return text if len(text) <= _LONGEST else "..."
        case Wildcard():
            return "_"
        case _:
            return "..."


# Numbering follows the order of the text, so a printed rule reads back as itself. An aggregate
# that is not simply `?v = sum ...` gets a fresh variable, and its literal stands before the
# comparison that uses it: `?t > count : { p(_) }` becomes `?count_1 = count : { p(_) }, ?t >
# ?count_1`.

_KINDS: Final = MappingProxyType({kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE})
_Conjunction = tuple[SurfaceLiteral, ...]


def count_alternatives(branches: Sequence[_Conjunction], limit: int) -> int:
    """How many conjunctions a body stands for; above `limit` the number is not exact."""
    total = 0
    for branch in branches:
        product = 1
        for literal in branch:
            if isinstance(literal, Choice):
                product *= count_alternatives(literal.branches, limit)
            if product > limit:
                return product
        total += product
        if total > limit:
            return total
    return total


def conjunctions(branches: Sequence[_Conjunction]) -> Iterator[_Conjunction]:
    """Multiply groups out: the disjunctive normal form, in the order of the text."""
    pending: list[_Conjunction] = list(reversed(branches)) or [()]
    # On a list instead of the call stack: groups nest two hundred deep.
    while pending:
        current = pending.pop()
        for place, literal in enumerate(current):
            if isinstance(literal, Choice):
                front, back = current[:place], current[place + 1 :]
                pending.extend(front + inner + back for inner in reversed(literal.branches))
                break
        else:
            yield current


def lower_rule(
    head: SignedAtom, body: _Conjunction, names: NamedArguments, mode: Mode = Mode.STRICT
) -> tuple[Atom, tuple[Literal, ...]]:
    """Give the head and the literals of the body; mistakes go where those of the names go."""
    lowering = _RuleLowering(names, head, body, mode)
    if head.names:
        head = names.placed(head, lowering.fresh_read, head=True)
    terms = tuple(lowering.argument(term) for term in head.terms)
    for literal in body:
        lowering.literal(literal)
    return Atom(head.predicate, terms, head.span), tuple(lowering.literals)


class _RuleLowering:
    """The names given so far in one rule."""

    def __init__(
        self,
        names: NamedArguments,
        head: SignedAtom,
        body: _Conjunction,
        mode: Mode,
    ) -> None:
        self.named = names
        self.diagnostics = names.diagnostics
        self.mode = mode
        self.sources = (head, body)
        self.literals: list[Literal] = []
        self.wildcards = 0
        self.taken: set[str] | None = None

    def literal(self, literal: SurfaceLiteral) -> None:
        match literal:
            case SignedAtom():
                self.literals.append(self.atom(literal))
            case Compared():
                self.comparison(literal)
            case Choice():
                raise AssertionError("groups are multiplied out before")
            case _:
                assert_never(literal)

    def atom(self, atom: SignedAtom) -> Positive | Negative:
        if atom.names:
            atom = self.named.placed(atom, self.fresh_read)
        lowered = Atom(atom.predicate, tuple(map(self.argument, atom.terms)), atom.span)
        return Negative(lowered) if atom.negative else Positive(lowered)

    def comparison(self, compared: Compared) -> None:
        """Lower a comparison; `?v = sum ...` is an aggregate and no comparison.

        Unless its group reads `?v`: then the value is compared with what `?v` is already.
        """
        left, right = compared.left, compared.right
        if compared.operator == "=":
            if isinstance(left, AggregateTerm) and not isinstance(right, AggregateTerm):
                left, right = right, left
            if isinstance(right, AggregateTerm) and _may_name(left, right):
                result = self.wildcard(left) if isinstance(left, Wildcard) else left
                self.literals.append(self.aggregate(right, result))
                return
        # Aggregates first: their literals stand first, and `_` is numbered in that order.
        left, right = self.extract(compared.left), self.extract(compared.right)
        self.literals.append(self.compare(replace(compared, left=left, right=right)))

    def extract(self, term: SurfaceTerm) -> SurfaceTerm:
        """Turn the aggregates of a term into literals; depth is bounded by the parser."""
        match term:
            case AggregateTerm():
                result = self.fresh(term)
                self.literals.append(self.aggregate(term, result))
                return result
            case Call(arguments=arguments):
                return replace(term, arguments=tuple(map(self.extract, arguments)))
            case _:
                return term

    def compare(self, compared: Compared) -> Comparison:
        left, right = self.argument(compared.left), self.argument(compared.right)
        return Comparison(compared.operator, left, right, compared.span)

    def aggregate(self, term: AggregateTerm, result: Variable) -> Aggregate:
        target = None if term.target is None else self.argument(term.target)
        body = tuple(self.inner(one) for one in term.body)
        return Aggregate(term.function, result, target, body, term.span)

    def inner(self, literal: SurfaceLiteral) -> Positive | Negative | Comparison:
        match literal:
            case SignedAtom():
                return self.atom(literal)
            case Compared():
                return self.compare(literal)
            case Choice():
                raise AssertionError("the parser reports alternatives in aggregates")
            case _:
                assert_never(literal)

    def argument(self, term: SurfaceTerm) -> Term:
        """Lower a term; where an aggregate stands in it, it may not stand there."""
        match term:
            case Variable() | Constant():
                return term
            case AggregateTerm():
                return self.misplaced(term)
            case Wildcard():
                return self.wildcard(term)
            case Call():
                return self.apply(term, tuple(map(self.argument, term.arguments)))
            case _:
                assert_never(term)

    def misplaced(self, term: AggregateTerm) -> Variable:
        """Report an aggregate as an argument; in souffle mode its literal stands before."""
        mistake = habits.misplaced_aggregate(term.span, term.function)
        self.diagnostics.append(softened(mistake, self.mode))
        result = self.fresh(term)
        if self.mode is Mode.SOUFFLE:
            self.literals.append(self.aggregate(term, result))
        return result

    def apply(self, call: Call, arguments: tuple[Term, ...]) -> Apply:
        kind = _KINDS.get(call.type_name) if call.function == "as" else None
        return Apply(call.function, arguments, kind, call.span, call.type_name)

    def wildcard(self, term: Wildcard) -> Variable:
        self.wildcards += 1
        return Variable(f"_{self.wildcards}", term.span)

    def fresh(self, term: AggregateTerm) -> Variable:
        """A variable for the value of an aggregate that no one has named."""
        return Variable(self.unused(f"{term.function}_1"), term.span)

    def fresh_read(self, column: str, span: Span | None) -> Variable:
        """A variable for a column that is read and that nothing else names."""
        return Variable(self.unused(f"_{column}"), span)

    def unused(self, wanted: str) -> str:
        """A name that the rule does not use: the wanted one, or that with another number."""
        if self.taken is None:
            self.taken = set(_names(self.sources))
        stem, number, name = wanted.rstrip("0123456789"), 1, wanted
        while name in self.taken:
            number += 1
            name = f"{stem}{number}"
        self.taken.add(name)
        return name


def _may_name(term: SurfaceTerm, aggregate: AggregateTerm) -> TypeGuard[Variable | Wildcard]:
    """Whether a term may be the result of an aggregate, which nothing inside it reads."""
    match term:
        case Wildcard():
            return True
        case Variable(name):
            # An aggregated variable of that name is another one, or a mistake.
            return name not in _names(aggregate.body) or name in _names(aggregate.target)
        case _:
            return False


def _names(tree: object) -> Iterator[str]:
    """The names of all variables in a surface tree."""
    stack = [tree]
    while stack:
        match stack.pop():
            case Variable(name=name):
                yield name
            case tuple() as several:
                stack.extend(several)
            case SignedAtom(terms=terms) | Call(arguments=terms):
                stack.extend(terms)
            case Compared(left=left, right=right):
                stack.extend((left, right))
            case AggregateTerm(target=target, body=body):
                stack.extend((target, body))
            case _:
                pass


# Every rule has one head and one conjunction, `_` is `_1`, `_2` ... in the order of the text, and
# each aggregate is a literal of its own; what is declared twice or was never declared is reported.

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
    partial: PartialFacts | None = None,
) -> Program:
    """Give the program that the items declare together.

    `known` are predicates that others declare: arguments of theirs may be named. Facts of the
    source that `partial` names may leave columns out.
    """
    lowering = _Lowering(diagnostics, mode, partial)
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


@slotted
class _Lowering:
    """The program so far."""

    diagnostics: list[Diagnostic]
    mode: Mode = Mode.STRICT
    partial: PartialFacts | None = None
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
        limit = habits.MAX_ALTERNATIVES
        if count_alternatives(item.branches, limit) * len(item.heads) > limit:
            self.diagnostics.append(habits.too_many_alternatives(item.span))
            return
        bodies = list(conjunctions(item.branches))
        confidence = self.confidence(item.notes)
        names = list(self.names(item, len(bodies)))
        attributes = rule_attributes(item.notes)
        proposed = is_proposed(attributes)
        partial = self.partial
        if partial is not None and (item.branches or item.span.source != partial.source):
            partial = None
        named = NamedArguments(self.known, self.diagnostics, partial=partial)
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
