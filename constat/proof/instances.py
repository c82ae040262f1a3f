"""Rules made ready for instantiation: each term a function of a binding.

In: an analysed rule.  Out: a ``RuleCode`` whose atoms give patterns, whose comparisons give truth,
under a *binding*: one cell per variable, in the order certificates list them.  Invariant: a cell is
``None`` until bound; the placeholder ⋆ and an error never turn into a value, so that a certificate
is written with the same three-valued reading in which it will be checked (FORMAT.md, section 6).

Example: under ``?x = 3`` the atom ``p(?x, ?y + 1)`` has the pattern ``(3, None)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import TYPE_CHECKING, assert_never

from constat.logic import (
    OPEN,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    Open,
    OpenRow,
    Positive,
    Slot,
    Term,
    Value,
    Variable,
    comparison,
    implementation,
    is_never_negative,
    literal_variables,
    local_names,
    outer_names,
    term_variables,
    threshold_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Row, Rule


class Erring(Enum):
    """What stands where an evaluation erred."""

    ERROR = "⚡"


ERROR = Erring.ERROR
Cell = Slot | Erring | None
Binding = list[Cell]
Evaluator = Callable[[Binding], Cell]
Pattern = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class TermCode:
    """A term: the cell of its variable (or -1), its function, its kind and the cells it reads.

    ``constant`` is the value of a constant, ``None`` for other terms.
    """

    slot: int
    evaluate: Evaluator
    kind: Kind
    reads: frozenset[int]
    constant: Value | None = None


@dataclass(frozen=True, slots=True)
class AtomCode:
    """An atom; ``slots`` are the cells of its plain variables, -1 elsewhere."""

    predicate: str
    terms: tuple[TermCode, ...]
    slots: tuple[int, ...]

    def pattern(self, binding: Binding) -> Pattern:
        """Evaluate the arguments."""
        return tuple(
            [
                binding[term.slot] if term.slot >= 0 else term.evaluate(binding)
                for term in self.terms
            ]
        )

    def unify(self, pattern: Pattern, row: OpenRow, binding: Binding) -> Binding | None:
        """Extend the binding by a row; ``None`` where they differ.  A ⋆ joins with anything."""
        extended = list(binding)
        for slot, bound, value in zip(self.slots, pattern, row, strict=True):
            # Looked up again: the same variable may stand in an earlier column of this atom.
            known = extended[slot] if slot >= 0 else bound
            if slot >= 0 and (known is None or known is OPEN):
                extended[slot] = value
            elif known != value and not is_hole(known) and value is not OPEN:
                return None
        return extended


@dataclass(frozen=True, slots=True)
class PositiveCode:
    """An atom that must hold."""

    atom: AtomCode


@dataclass(frozen=True, slots=True)
class NegativeCode:
    """An atom that must not hold."""

    atom: AtomCode


@dataclass(frozen=True, slots=True)
class ComparisonCode:
    """Two terms and an operator; ``=`` binds a side that is an unbound variable."""

    operator: str
    left: TermCode
    right: TermCode
    test: Callable[[Value, Value], bool]

    def truth(self, binding: Binding) -> bool | Cell:
        """Return whether it holds, or the hole (``None``: unbound) that leaves it open."""
        left, right = self.left.evaluate(binding), self.right.evaluate(binding)
        hole = worst_hole((left, right))
        if hole is not False:
            return hole
        try:
            return self.test(left, right)  # type: ignore[arg-type]  # no hole is left
        except EvaluationError:
            return ERROR

    def assigned(self, binding: Binding) -> Binding | None:
        """Bind an unbound side; ``None`` where neither side can be bound."""
        if self.operator != "=":
            return None
        for side, other in ((self.left, self.right), (self.right, self.left)):
            if side.slot >= 0 and binding[side.slot] is None:
                value = other.evaluate(binding)
                if value is not None:
                    extended = list(binding)
                    extended[side.slot] = OPEN if value is ERROR else value
                    return extended
        return None


Test = PositiveCode | NegativeCode | ComparisonCode


@dataclass(frozen=True, slots=True)
class ThresholdCode:
    """What a recursive total has to exceed, and the place of the comparison that says so."""

    place: int
    operator: str
    bound: TermCode
    proven: bool


@dataclass(frozen=True, slots=True)
class AggregateCode:
    """An aggregate; ``outer`` are the cells it takes from outside, ``inner`` its local ones.

    ``threshold`` is set where it is over the rule's own component.
    """

    function: str
    result: int
    target: TermCode | None
    body: tuple[Test, ...]
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    threshold: ThresholdCode | None = None


LiteralCode = Test | AggregateCode


@dataclass(frozen=True, slots=True)
class RuleCode:
    """A rule; ``names`` and ``kinds`` list all its variables, the first ``outer`` not local."""

    number: int
    head: AtomCode
    body: tuple[LiteralCode, ...]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    outer: int

    def start(self, columns: Sequence[int], key: Sequence[Slot]) -> Binding | None:
        """Unify the head's variables and constants with a key; ``None`` where they clash."""
        binding: Binding = [None] * len(self.names)
        for column, value in zip(columns, key, strict=True):
            term = self.head.terms[column]
            known = binding[term.slot] if term.slot >= 0 else term.constant
            if known is not None and known != value:
                return None
            if term.slot >= 0:
                binding[term.slot] = value
        return binding


def is_hole(cell: Cell) -> bool:
    """Tell whether the cell is unbound, ⋆ or an error."""
    return cell is None or cell is OPEN or cell is ERROR


def known_columns(pattern: Pattern) -> tuple[tuple[int, ...], Row]:
    """Return the columns of a pattern that hold values, and the values."""
    columns = tuple([place for place, cell in enumerate(pattern) if not is_hole(cell)])
    return columns, tuple([pattern[column] for column in columns])  # type: ignore[misc]


def worst_hole(cells: Sequence[Cell]) -> Cell | bool:
    """Return the hole that a function of these cells evaluates to, ``False`` if there is none."""
    if None in cells:
        return None
    if ERROR in cells:
        return ERROR
    return OPEN if OPEN in cells else False


def opened(pattern: Pattern) -> OpenRow:
    """Return the open row of a pattern: ⋆ wherever no value stands."""
    return tuple([OPEN if is_hole(cell) else cell for cell in pattern])  # type: ignore[misc]


def compile_rule(program: AnalysedProgram, number: int) -> RuleCode:
    """Make a rule ready; its variables are numbered as in certificates."""
    rule = program.rules[number]
    outer = outer_names(rule)
    local: dict[str, None] = {}
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            local.update(dict.fromkeys(local_names(rule, literal)))
    names = (*outer, *local)
    kinds = program.variable_kinds[number]
    compiler = _Compiler({name: place for place, name in enumerate(names)}, kinds, program)
    return RuleCode(
        number,
        compiler.atom(rule.head),
        tuple(compiler.literal(rule, place, len(outer)) for place in range(len(rule.body))),
        names,
        tuple(kinds[name] for name in names),
        len(outer),
    )


@dataclass(frozen=True, slots=True)
class _Compiler:
    places: Mapping[str, int]
    kinds: Mapping[str, Kind]
    program: AnalysedProgram

    def term(self, term: Term) -> TermCode:
        match term:
            case Variable(name=name):
                place = self.places[name]
                evaluate = itemgetter(place)
                return TermCode(place, evaluate, self.kinds[name], frozenset((place,)))
            case Constant(value=value, kind=kind):
                return TermCode(-1, lambda _: value, kind, frozenset(), value)
            case Apply(kind=kind) if kind is not None:
                reads = frozenset(self.places[one.name] for one in term_variables(term))
                return TermCode(-1, self.call(term, kind), kind, reads)
            case _:
                raise TypeError("a function without a kind was not analysed")

    def call(self, term: Apply, kind: Kind) -> Evaluator:
        arguments = tuple(self.term(argument) for argument in term.arguments)
        kinds = tuple(argument.kind for argument in arguments)
        function = implementation(term.function, kinds, kind)
        evaluators = tuple(argument.evaluate for argument in arguments)

        def evaluate(binding: Binding) -> Cell:
            cells = [one(binding) for one in evaluators]
            hole = worst_hole(cells)
            if hole is not False:
                return hole
            try:
                return function(*cells)
            except EvaluationError:
                return ERROR

        return evaluate

    def atom(self, atom: Atom) -> AtomCode:
        terms = tuple(self.term(term) for term in atom.terms)
        return AtomCode(atom.predicate, terms, tuple(term.slot for term in terms))

    def test(self, literal: Positive | Negative | Comparison) -> Test:
        match literal:
            case Positive(atom):
                return PositiveCode(self.atom(atom))
            case Negative(atom):
                return NegativeCode(self.atom(atom))
            case Comparison(operator=operator, left=left, right=right):
                sides = self.term(left), self.term(right)
                return ComparisonCode(operator, *sides, comparison(operator, sides[0].kind))
            case _:
                assert_never(literal)

    def literal(self, rule: Rule, place: int, outer: int) -> LiteralCode:
        literal = rule.body[place]
        if not isinstance(literal, Aggregate):
            return self.test(literal)
        used = {self.places[variable.name] for variable in _inside(literal)}
        return AggregateCode(
            literal.function,
            self.places[literal.result.name],
            None if literal.target is None else self.term(literal.target),
            tuple(self.test(inner) for inner in literal.body),
            tuple(sorted(place for place in used if place < outer)),
            tuple(sorted(place for place in used if place >= outer)),
            self.threshold(rule, place, literal) if literal.recursive else None,
        )

    def threshold(self, rule: Rule, place: int, literal: Aggregate) -> ThresholdCode | None:
        found = threshold_of(rule, place)
        if found is None:
            return None
        proven = is_never_negative(literal, self.kinds)
        return ThresholdCode(found.place, found.operator, self.term(found.bound), proven)


def _inside(literal: Aggregate) -> list[Variable]:
    found = [] if literal.target is None else list(term_variables(literal.target))
    for inner in literal.body:
        found += literal_variables(inner)
    return found


def decided_by_totals(code: RuleCode) -> list[LiteralCode]:
    """Return the comparisons that recursive thresholds of a rule decide."""
    return [
        code.body[one.threshold.place]
        for one in code.body
        if isinstance(one, AggregateCode) and one.threshold is not None
    ]


def is_ground(row: Sequence[Cell]) -> bool:
    """Tell whether every cell holds a value."""
    return not (None in row or OPEN in row or ERROR in row)


def is_open(cell: Cell) -> bool:
    """Tell whether the cell is the placeholder."""
    return isinstance(cell, Open)
