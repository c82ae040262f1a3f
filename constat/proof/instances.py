"""Rules made ready for instantiation, with an order of their literals."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from constat.frozen import frozen
from constat.logic import (
    OPEN,
    UNREAD_CELL,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    NullCell,
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
    made_of,
    outer_names,
    term_variables,
    threshold_of,
    unread_variables,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Row, Rule

# A cell is `None` until bound; the placeholder ⋆ and an error never turn into a value, so that a
# certificate is written with the same three-valued reading in which it will be checked (FORMAT.md,
# section 6).


class Erring(Enum):
    """What stands where an evaluation erred."""

    ERROR = "⚡"

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("an error is neither true nor false")


ERROR = Erring.ERROR
Cell = Slot | NullCell | Erring | None
Binding = list[Cell]
Evaluator = Callable[[Binding], Cell]
Pattern = tuple[Cell, ...]


@frozen
class TermCode:
    """A term: the cell of its variable (or -1), its function, its kind and the cells it reads.

    ``constant`` is the value of a constant, ``None`` for other terms; ``unread`` tells that the
    term is written ``_``.
    """

    slot: int
    evaluate: Evaluator
    kind: Kind
    reads: frozenset[int]
    constant: Value | None = None
    unread: bool = False


@frozen
class AtomCode:
    """An atom; ``slots`` are the cells of its plain variables, -1 elsewhere.

    ``unread`` are the columns in which it has ``_``, ``given`` those that whoever asks binds.
    """

    predicate: str
    terms: tuple[TermCode, ...]
    slots: tuple[int, ...]
    unread: frozenset[int] = frozenset()
    given: tuple[int, ...] = ()

    def pattern(self, binding: Binding) -> Pattern:
        """Evaluate the arguments."""
        return tuple(
            [
                binding[term.slot] if term.slot >= 0 else term.evaluate(binding)
                for term in self.terms
            ]
        )

    def shape(self, pattern: Pattern) -> OpenRow:
        """Return the open row of a pattern, without the cells that the atom does not read."""
        cells = enumerate(opened(pattern))
        return tuple([UNREAD_CELL if at in self.unread else cell for at, cell in cells])  # type: ignore[misc]  # an unread cell is a cell

    def unify(self, pattern: Pattern, row: OpenRow, binding: Binding) -> Binding | None:
        """Extend the binding by a row; ``None`` where they differ.  A ⋆ joins with anything.

        What is known takes the place of what is not: a value that of a label, either that of ⋆.
        """
        extended = list(binding)
        for term, bound, cell in zip(self.terms, pattern, row, strict=True):
            slot, value = term.slot, cell
            if term.unread:
                extended[slot] = value
                continue
            if isinstance(value, NullCell) and not value.is_label:
                if value.policy.is_empty:
                    return None
                value = OPEN
            # Looked up again: the same variable may stand in an earlier column of this atom.
            known = extended[slot] if slot >= 0 else bound
            if slot >= 0 and (known is None or known is OPEN or _gives_way(known, value)):
                extended[slot] = value
            elif known != value and is_known(known) and is_known(value):
                return None
        return extended


@frozen
class PositiveCode:
    """An atom that must hold."""

    atom: AtomCode


@frozen
class NegativeCode:
    """An atom that must not hold."""

    atom: AtomCode


@frozen
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
            # A label stands for one value, which equals itself; all else about it is open.
            same = isinstance(left, NullCell) and left == right
            return _OF_ONE_LABEL.get(self.operator, OPEN) if same else hole
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


@frozen
class ThresholdCode:
    """What a recursive total has to exceed, and the place of the comparison that says so."""

    place: int
    operator: str
    bound: TermCode
    proven: bool


@frozen
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


@frozen
class RuleCode:
    """A rule; ``names`` and ``kinds`` list all its variables, the first ``outer`` not local."""

    number: int
    head: AtomCode
    body: tuple[LiteralCode, ...]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    outer: int
    unread: frozenset[int] = frozenset()

    def own_tests(self, place: int) -> tuple[ComparisonCode, ...]:
        """Return the comparisons of nothing but variables that stand alone in a positive literal.

        Whether they hold, a row that the literal takes says by itself (FORMAT.md, section 5).
        """
        literal = self.body[place]
        if not isinstance(literal, PositiveCode):
            return ()
        alone = frozenset(slot for slot in literal.atom.slots if slot >= 0)
        tests = (one for one in self.body if isinstance(one, ComparisonCode))
        read = ((one, one.left.reads | one.right.reads) for one in tests)
        return tuple(one for one, slots in read if slots and slots <= alone)

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


# What holds of a label and itself.
_OF_ONE_LABEL: Final = MappingProxyType(
    {"=": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}
)


def _gives_way(known: Cell, value: Cell) -> bool:
    """Tell whether a variable that has a label takes a value instead."""
    return type(known) is NullCell and is_known(value)


def is_hole(cell: Cell) -> bool:
    """Tell whether the cell is unbound, ⋆ or an error."""
    return cell is None or cell is OPEN or cell is ERROR


def is_known(cell: Cell) -> bool:
    """Tell whether the cell is a value that somebody knows."""
    return not is_hole(cell) and type(cell) is not NullCell


def is_starred(pattern: Sequence[Cell]) -> bool:
    """Tell whether a bound cell of a pattern is a value that nobody knows."""
    return any(cell is OPEN or cell is ERROR or type(cell) is NullCell for cell in pattern)


def known_columns(pattern: Pattern) -> tuple[tuple[int, ...], Row]:
    """Return the columns of a pattern that hold values, and the values."""
    columns = tuple([place for place, cell in enumerate(pattern) if is_known(cell)])
    return columns, tuple([pattern[column] for column in columns])  # type: ignore[misc]


def worst_hole(cells: Sequence[Cell]) -> Cell | bool:
    """Return the hole that a function of these cells evaluates to, ``False`` if there is none."""
    if None in cells:
        return None
    if ERROR in cells:
        return ERROR
    return OPEN if OPEN in cells or NullCell in map(type, cells) else False


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
    unread = unread_variables(rule)
    places = {name: place for place, name in enumerate(names)}
    compiler = _Compiler(places, kinds, program, unread)
    return RuleCode(
        number,
        compiler.atom(rule.head),
        tuple(compiler.literal(rule, place, len(outer)) for place in range(len(rule.body))),
        names,
        tuple(kinds[name] for name in names),
        len(outer),
        frozenset(places[name] for name in unread),
    )


@frozen
class _Compiler:
    places: Mapping[str, int]
    kinds: Mapping[str, Kind]
    program: AnalysedProgram
    unread: frozenset[str]

    def term(self, term: Term) -> TermCode:
        match term:
            case Variable(name=name):
                place = self.places[name]
                evaluate = itemgetter(place)
                reads = frozenset((place,))
                unread = name in self.unread
                return TermCode(place, evaluate, self.kinds[name], reads, unread=unread)
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
                # Only of a label a total function makes more than ⋆: one of its own.
                return made_of(term.function, cells) if hole is OPEN else hole
            try:
                return function(*cells)
            except EvaluationError:
                return ERROR

        return evaluate

    def atom(self, atom: Atom) -> AtomCode:
        terms = tuple(self.term(term) for term in atom.terms)
        unread = frozenset(column for column, term in enumerate(terms) if term.unread)
        given = self.program.program.predicates[atom.predicate].given
        return AtomCode(atom.predicate, terms, tuple(term.slot for term in terms), unread, given)

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
    """Tell whether every cell holds a value or stands for one, or for none."""
    return not (None in row or OPEN in row or ERROR in row)


def is_open(cell: Cell) -> bool:
    """Tell whether the cell is the placeholder."""
    return isinstance(cell, Open)


# For a safe rule such an order exists and is found.

_LATE: Final = 1_000_000


def order_of(rule: RuleCode, columns: Sequence[int]) -> tuple[int, ...]:
    """Order a body greedily: tests first, then the atom with the fewest unbound arguments."""
    bound = {rule.head.slots[column] for column in columns}
    left = list(range(len(rule.body)))
    order: list[int] = []
    while left:
        best = min(left, key=lambda place: (_rank(rule.body[place], bound), place))
        left.remove(best)
        order.append(best)
        bound |= _binds(rule.body[best])
    return tuple(order)


def is_ready(literal: LiteralCode, bound: set[int]) -> bool:
    """Tell whether what a literal must read is bound."""
    return _rank(literal, bound) < _LATE


def _rank(literal: LiteralCode, bound: set[int]) -> int:
    match literal:
        case ComparisonCode(left=left, right=right):
            ready = left.reads | right.reads <= bound
            return (
                0 if ready or (literal.operator == "=" and _assigns(left, right, bound)) else _LATE
            )
        case NegativeCode(atom):
            return 1 if all(term.reads <= bound for term in atom.terms) else _LATE
        case PositiveCode(atom):
            if any(term.slot < 0 and not term.reads <= bound for term in atom.terms):
                return _LATE
            if not all(atom.terms[place].reads <= bound for place in atom.given):
                return _LATE
            return 2 + sum(not term.reads <= bound for term in atom.terms)
        case AggregateCode(outer=outer, threshold=threshold):
            # A recursive threshold is held against its bound where it is taken.
            needs = set(outer) | (threshold.bound.reads if threshold is not None else set())
            return 2 if needs <= bound else _LATE


def _assigns(left: TermCode, right: TermCode, bound: set[int]) -> bool:
    return any(
        side.slot >= 0 and other.reads <= bound for side, other in ((left, right), (right, left))
    )


def _binds(literal: LiteralCode) -> set[int]:
    match literal:
        case PositiveCode(atom):
            return {slot for slot in atom.slots if slot >= 0}
        case ComparisonCode(left=left, right=right):
            return {side.slot for side in (left, right) if side.slot >= 0}
        case AggregateCode(result=result):
            return {result}
        case NegativeCode():
            return set()
