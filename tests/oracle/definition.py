"""What Constat means, as a program: certain, possible, readings, verdicts (semantics 4 to 18, 26).

There is no plan, no index and no demand. Rules fire on all rows of all predicates, stratum by
stratum, until nothing is new; what is slow here is plain. The one thing taken from elsewhere are
functions of values, folds and tests included (semantics 28), which programs bring along.
Where this program and the contract differ, the contract wins.

Read it in this order: cells, rules, the outside, one literal, one rule, one reading, the verdict.
What tiers say together (keys, conflicts, filling) is in `tiers`; what judges this is in
`completions`. Not defined here: which facts `missing` proposes, which is a search over verdicts,
and what is fetched, which no verdict depends on.

Example: with `r` open at (⋆), `p(?x) :- r(?x).` makes `p(⋆)` possible and nothing certain.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import combinations
from typing import Final, TypeGuard

# ----------------------------------------------------------------------------------------- cells

Value = int | str | float | Decimal


@dataclass(frozen=True, slots=True)
class Star:
    """⋆, the placeholder: any value, in several rows at once, but none of `besides` (7)."""

    besides: frozenset[Value] = frozenset()

    def __repr__(self) -> str:
        return "⋆" + ("" if not self.besides else f" besides {sorted(map(str, self.besides))}")


@dataclass(frozen=True, slots=True)
class Null:
    """A cell of a certain row that holds no value (26).

    `policy` is `none` (there is no value), `unknown` (there is one; the cell is a *label*) or
    `maybe`. `name` tells labels apart: predicate, column, known cells, ordinal (26a).
    """

    policy: str
    name: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function of values; `apply` raises `ErringError` where it errs. `total` is 26b's mark.

    `kind` is that of its values, which only the judge in `completions` asks for.
    """

    name: str
    apply: Callable[..., Value] = field(compare=False, repr=False)
    total: bool = False
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Made:
    """The label that a total function makes of one label and constants (26b)."""

    function: Function
    arguments: tuple[Value | Null, ...]


Cell = Value | Star | Null | Made
Row = tuple[Cell, ...]
Relation = dict[Row, bool]
"""The possible rows of a predicate, each with whether it is certain. A row with ⋆ never is."""

Truth = bool | None
"""Certainly so, certainly not, or unknown (`None`)."""

STAR: Final = Star()
NONE: Final = Null("none")


class ErringError(Exception):
    """A function has no value: division by zero, overflow, a conversion that fails (9)."""


def is_value(cell: Cell) -> TypeGuard[Value]:
    return not isinstance(cell, Star | Null | Made)


def is_label(cell: Cell) -> bool:
    """Tell whether there is a value of which nobody knows which."""
    return isinstance(cell, Made) or (isinstance(cell, Null) and cell.policy == "unknown")


def is_none(cell: Cell) -> bool:
    return isinstance(cell, Null) and cell.policy == "none"


def same(left: Cell, right: Cell) -> Truth:
    """Tell whether two cells that a literal reads are the same value."""
    if is_none(left) or is_none(right):
        return False
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Star) and other in one.besides:
            return False
    if is_value(left) and is_value(right):
        return left == right
    return True if left == right and is_label(left) else None


def told_apart(left: Cell, right: Cell) -> bool:
    """Tell whether two cells certainly differ, where no value is a thing of its own (26c)."""
    if is_value(left) and is_value(right):
        return left != right
    return any(
        is_none(one) and (is_value(other) or is_label(other))
        for one, other in ((left, right), (right, left))
    )


def narrower(left: Cell, right: Cell) -> Cell:
    """Give what is known of a variable that met two cells: a value before a label before ⋆."""
    for test in (is_value, is_label):
        known = [cell for cell in (left, right) if test(cell)]
        if known:
            return min(known, key=repr)
    stars = [cell for cell in (left, right) if isinstance(cell, Star)]
    return Star(frozenset[Value]().union(*(star.besides for star in stars)))


def all_of(truths: Iterable[Truth]) -> Truth:
    """Give the truth of "and": one that is false decides (12)."""
    found = list(truths)
    return False if False in found else None if None in found else True


# ----------------------------------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class Blank:
    """`_`: the literal does not read this column (26). Inside an aggregate it counts (23)."""

    name: str = "_"


@dataclass(frozen=True, slots=True)
class Var:
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A value of the text."""

    value: Value


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to terms."""

    function: Function
    arguments: tuple[Term, ...]


Term = Blank | Var | Const | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Positive:
    """An atom that must hold."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative:
    """An atom that must not hold; a variable that nothing binds means "any"."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Compare:
    """Two terms compared; `=` binds a variable that has no value yet."""

    operator: str
    left: Term
    right: Term
    test: Callable[[Value, Value], bool] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result = function target : { body }`; `outer` are the body's names from outside.

    `fold` gives the value of a list of values, `None` where there is none.
    """

    function: str
    result: Var
    target: Term | None
    body: tuple[Positive | Negative | Compare, ...]
    outer: frozenset[str]
    fold: Callable[[list[Value]], Value | None] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Beyond:
    """A total inside its own recursion, of which only matters that it is beyond a bound.

    `falls` says that the text does not rule out summands below zero (decision record 0010).
    """

    target: Term | None
    body: tuple[Positive | Negative | Compare, ...]
    outer: frozenset[str]
    operator: str
    bound: Term
    falls: bool


Literal = Positive | Negative | Compare | Aggregate | Beyond
Body = tuple[Literal, ...]
Binding = dict[str, Cell]
Key = tuple[tuple[str, Cell], ...]
Group = dict[Key, bool]
"""The distinct bindings of an aggregate's body, each with whether it is certain."""
Used = tuple[tuple[Atom, Row], ...]
"""The rows that an instance of a body takes for its atoms."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A head and a body. A proposed rule, or one of less than full confidence, is assumed (19)."""

    name: str
    head: Atom
    body: Body
    confidence: Decimal = Decimal(1)
    proposed: bool = False

    @property
    def words(self) -> frozenset[str]:
        assumed = self.proposed or self.confidence < 1
        return frozenset({f"rule {self.name}"} if assumed else ())


@dataclass(frozen=True, slots=True)
class Program:
    """Rules, the kinds of the columns of each predicate, and which columns are given (42)."""

    rules: tuple[Rule, ...]
    kinds: Mapping[str, tuple[str, ...]]
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def strata(self) -> list[list[str]]:
        """Put what a predicate negates or aggregates over below it, what it uses not above it."""
        height = dict.fromkeys(self.kinds, 0)
        for _ in range(len(height) + 1):
            before = dict(height)
            for rule in self.rules:
                head = rule.head.predicate
                for name, step in uses(rule.body):
                    height[head] = max(height[head], height[name] + step)
            if height == before:
                levels = sorted(set(height.values()))
                return [[name for name in height if height[name] == level] for level in levels]
        raise ValueError("a predicate negates or aggregates over itself")


def uses(body: Iterable[Literal]) -> Iterator[tuple[str, int]]:
    """Yield the predicates of a body, with 1 where they must be known before."""
    for literal in body:
        match literal:
            case Positive(atom):
                yield atom.predicate, 0
            case Negative(atom):
                yield atom.predicate, 1
            case Aggregate(body=inner):
                yield from ((name, 1) for name, _ in uses(inner))
            case Beyond(body=inner):
                yield from uses(inner)
            case Compare():
                pass


# ----------------------------------------------------------------------------------- the outside


@dataclass(frozen=True, slots=True)
class Fact:
    """A row from outside. It holds where all its `words` are accepted, and is possible else.

    `fills` are places, values and words: where that word is accepted the cell has this value (26e).
    """

    row: Row
    words: frozenset[str] = frozenset()
    confidence: Decimal = Decimal(1)
    fills: tuple[tuple[int, Value, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """A pattern of rows that may exist: until its words are accepted, or for good without any."""

    row: Row
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outside:
    """All that tiers say; `closure` is the confidence that a predicate's rows are all there are."""

    facts: Mapping[str, Sequence[Fact]] = field(default_factory=dict)
    openings: Mapping[str, Sequence[Opening]] = field(default_factory=dict)
    closure: Mapping[str, Decimal] = field(default_factory=dict)

    def words(self) -> set[str]:
        found = {word for facts in self.facts.values() for one in facts for word in one.words}
        found |= {fill[2] for facts in self.facts.values() for one in facts for fill in one.fills}
        return found | {
            word for some in self.openings.values() for one in some for word in one.words
        }


# ------------------------------------------------------------- literals and bodies, three-valued


class Known:
    """What is known of each predicate, and so what literals and bodies hold (7 to 9).

    `asked` are the cells that somebody asks about in given columns (42). As long as `sure_totals`
    is off, no total of a recursion is certain.
    """

    def __init__(self, program: Program, relations: dict[str, Relation]) -> None:
        self.program = program
        self.relations = relations
        self.asked: dict[str, dict[Row, None]] = {name: {} for name in program.given}
        self.sure_totals = True

    # A literal under a binding.

    def cell(self, term: Term, binding: Binding) -> Cell:
        """Give the cell that a term stands for: ⋆ where it errs (9) or rests on the unknown."""
        match term:
            case Var(name):
                return binding[name]
            case Const(value):
                return value
            case Call(function, terms):
                cells = [self.cell(one, binding) for one in terms]
                if all(map(is_value, cells)):
                    try:
                        return function.apply(*cells)
                    except ErringError:
                        return STAR
                unknown = [one for one in cells if not is_value(one)]
                if function.total and len(unknown) == 1 and is_label(unknown[0]):
                    plain = [one for one in cells if not isinstance(one, Star | Made)]
                    # A label that a function made gives no further label.
                    return Made(function, tuple(plain)) if len(plain) == len(cells) else STAR
                return STAR
            case Blank():
                raise ValueError("`_` has no value")

    def meets(self, atom: Atom, row: Row, binding: Binding) -> Truth:
        """Tell whether the instance of an atom is that row: the table of matches (26)."""
        return all_of(
            self._fits(term, cell, binding) for term, cell in zip(atom.terms, row, strict=True)
        )

    def _fits(self, term: Term, cell: Cell, binding: Binding) -> Truth:
        return True if isinstance(term, Blank) else same(self.cell(term, binding), cell)

    def extend(self, atom: Atom, row: Row, binding: Binding) -> Binding | None:
        """Give the binding after an atom took a row; `None` where it is certainly another row.

        Functions in the atom are looked at when everything is bound.
        """
        found = dict(binding)
        for term, cell in zip(atom.terms, row, strict=True):
            match term:
                case Blank(name):
                    found[name] = cell
                case Var(name):
                    known = found.get(name, STAR)
                    if same(known, cell) is False:
                        return None
                    found[name] = narrower(known, cell)
                case Const(value):
                    if same(value, cell) is False:
                        return None
                case Call():
                    pass
        return found

    def holds(self, literal: Literal, binding: Binding) -> Truth:
        """Tell whether a literal other than a positive atom holds."""
        match literal:
            case Negative(atom):
                return self.lacks(atom, binding)
            case Compare():
                return self.compare(literal, binding)
            case Aggregate(result=result):
                value = self.total(literal, binding)
                open_ = isinstance(value, Star)
                if open_ and self.is_ruled_out(literal, "=", binding[result.name], binding):
                    return False
                return False if value is None else same(value, binding[result.name])
            case Beyond():
                return self.beyond(literal, binding)
            case Positive():
                return True

    def lacks(self, atom: Atom, binding: Binding) -> Truth:
        """Tell whether no row is that of an atom: certain iff none is possible (8).

        Each column is looked at by itself: what stands twice may be in both (26a).
        """
        self._ask(atom, binding)
        free = {t.name for t in atom.terms if isinstance(t, Var) and t.name not in binding}
        bound = [
            term
            for term in atom.terms
            if not isinstance(term, Blank) and not (isinstance(term, Var) and term.name in free)
        ]
        # A function in the atom may err; then nobody knows, whatever rows there are.
        truth: Truth = None if STAR in [self.cell(term, binding) for term in bound] else True
        for row, certain in self.relations[atom.predicate].items():
            # What nothing binds may have any value: here it has that of the row.
            taken = {
                term.name: cell
                for term, cell in zip(atom.terms, row, strict=True)
                if isinstance(term, Var) and term.name in free
            }
            match = self.meets(atom, row, {**taken, **binding})
            if match and certain:
                return False
            truth = truth if match is False else None
        return truth

    def compare(self, literal: Compare, binding: Binding) -> Truth:
        """Compare; a label is certain of nothing but itself (26a), an error of nothing (9)."""
        left, right = self.cell(literal.left, binding), self.cell(literal.right, binding)
        if is_label(left) and left == right:
            if literal.operator in {"=", "<=", ">="}:
                return True
            return False if literal.operator in {"!=", "<", ">"} else None
        if not is_value(left) or not is_value(right):
            return False if literal.operator == "=" and same(left, right) is False else None
        try:
            return literal.test(left, right)
        except ErringError:
            return None

    # Aggregates.

    def group(self, literal: Aggregate | Beyond, binding: Binding) -> Group:
        """Give the distinct bindings of all variables of the body, each `_` being one (23)."""
        found: Group = {}
        start = {name: binding[name] for name in literal.outer}
        for one, certain, _ in self.solutions(literal.body, start):
            # Whichever label a row has that may belong here, it is a member of this group.
            key = tuple(sorted({**one, **start}.items()))
            found[key] = certain or found.get(key, False)
        return found

    def total(self, literal: Aggregate, binding: Binding) -> Cell | None:
        """Give the value of an aggregate, ⋆ where it is open, `None` where there is none."""
        group = self.group(literal, binding)
        outer = [binding[name] for name in literal.outer]
        if any(isinstance(cell, Star) for cell in outer) or not all(group.values()):
            return STAR
        if literal.function not in {"min", "max"} and not all_apart(group):
            return STAR
        target = literal.target
        cells = [0 if target is None else self.cell(target, dict(key)) for key in group]
        values = list(filter(is_value, cells))
        if len(values) < len(cells):
            return STAR
        try:
            return literal.fold(values)
        except ErringError:
            return STAR

    def is_ruled_out(
        self, literal: Aggregate, comparison: str, cell: Cell, binding: Binding
    ) -> bool:
        """Tell whether a min or max that is open cannot compare so with a cell (8).

        The greatest of a group is at least what one certain member has, and the least at most that.
        It is said of variables only: what a function makes may err (9), and of bodies without
        absences.
        """
        if literal.function not in {"min", "max"} or not isinstance(literal.target, Var):
            return False
        outer = [binding[name] for name in literal.outer]
        if not is_value(cell) or not all(map(is_value, outer)):
            return False
        if any(isinstance(one, Negative) for one in literal.body):
            return False
        group = self.group(literal, binding)
        sure = [dict(key)[literal.target.name] for key, certain in group.items() if certain]
        known = [one for one in sure if is_value(one)]
        found = literal.fold(known)
        if found is None:
            return False
        further = literal.fold([found, cell])
        beyond = found != cell and further == found
        reflexive = "<=" if literal.function == "max" else ">="
        strict = "<" if literal.function == "max" else ">"
        return (comparison in {"=", reflexive} and beyond) or (
            comparison == strict and further == found
        )

    def compares_open(self, body: Body, binding: Binding) -> bool:
        """Tell whether a comparison with an open min or max of the same body is ruled out."""
        turned = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
        for one in body:
            if not isinstance(one, Aggregate) or not isinstance(self.total(one, binding), Star):
                continue
            for other in body:
                if not isinstance(other, Compare) or other.operator not in turned:
                    continue
                sides = (
                    (other.left, other.operator, other.right),
                    (other.right, turned[other.operator], other.left),
                )
                for left, operator_, right in sides:
                    if left == one.result and self.is_ruled_out(
                        one, operator_, self.cell(right, binding), binding
                    ):
                        return True
        return False

    def beyond(self, literal: Beyond, binding: Binding) -> Truth:
        """Tell whether a total of its own recursion is beyond its bound (record 0010).

        What is certain is a lower bound as long as nothing that is possible takes from it. Labels
        never tell summands apart, and an unknown summand may be negative (26c).
        """
        bound = self.cell(literal.bound, binding)
        outer = [binding[name] for name in literal.outer]
        if not is_value(bound) or any(isinstance(cell, Star) for cell in outer):
            return None
        sure: list[tuple[Key, Fraction]] = []
        most, unknown, falls = Fraction(), False, False
        for key, certain in self.group(literal, binding).items():
            cell = 1 if literal.target is None else self.cell(literal.target, dict(key))
            unknown |= any(isinstance(one, Star) for _, one in key) or not is_value(cell)
            exact = exactly(cell) if is_value(cell) else None
            falls |= exact is None or exact < 0
            if exact is not None and exact > 0:
                most += exact
                sure += [(key, exact)] if certain else []
        passes = operator.gt if literal.operator == ">" else operator.ge
        least = exactly(bound)
        if passes(heaviest(sure), least) and not (falls and literal.falls) and self.sure_totals:
            return True
        return None if unknown or passes(most, least) else False

    # A rule.

    def solutions(self, body: Body, start: Binding) -> Iterator[tuple[Binding, bool, Used]]:
        """Yield the possible instances of a body, each with whether it is certain this way."""
        given = self.program.given
        atoms = [one.atom for one in body if isinstance(one, Positive)]
        plain = [atom for atom in atoms if atom.predicate not in given]
        later = [atom for atom in atoms if atom.predicate in given]
        for joined, used in self._join(plain, start, ()):
            for binding, rows in self._call(body, later, joined, used):
                truths = [same(cell, binding[name]) for name, cell in start.items()]
                truths += [self.holds(literal, binding) for literal in body]
                for atom, row in rows:
                    certain = self.relations[atom.predicate][row] or None
                    truths += [certain, self.meets(atom, row, binding)]
                truth = all_of(truths)
                if truth is None and self.compares_open(body, binding):
                    truth = False
                if truth is not False:
                    yield binding, truth is True, rows

    def _join(
        self, atoms: list[Atom], binding: Binding, used: Used
    ) -> Iterator[tuple[Binding, Used]]:
        if not atoms:
            yield binding, used
            return
        for row in tuple(self.relations[atoms[0].predicate]):
            extended = self.extend(atoms[0], row, binding)
            if extended is not None:
                yield from self._join(atoms[1:], extended, (*used, (atoms[0], row)))

    def _call(
        self, body: Body, later: list[Atom], joined: Binding, used: Used
    ) -> Iterator[tuple[Binding, Used]]:
        """Bind what equations say; then take the atoms whose given columns are bound (42)."""
        binding = self._bind(body, joined)
        if binding is None:
            return
        if not later:
            yield binding, used
            return
        ready = [atom for atom in later if self._ask(atom, binding)]
        if not ready:
            raise ValueError(f"nothing binds the given columns of {later[0].predicate}")
        rest = [atom for atom in later if atom is not ready[0]]
        for extended, rows in self._join(ready[:1], binding, used):
            yield from self._call(body, rest, extended, rows)

    def _ask(self, atom: Atom, binding: Binding) -> bool:
        """Note the cells in given columns; tell whether all of them are bound."""
        terms = [atom.terms[place] for place in self.program.given.get(atom.predicate, ())]
        if any(isinstance(one, Blank) or not names_of(one) <= set(binding) for one in terms):
            return False
        if terms:
            self.asked[atom.predicate][tuple(self.cell(term, binding) for term in terms)] = None
        return True

    def _bind(self, body: Body, joined: Binding) -> Binding | None:
        """Bind by equations and aggregates what has no value yet; `None` where one has none."""
        binding = dict(joined)
        while True:
            before = dict(binding)
            for literal in body:
                match literal:
                    case Compare("=", left, right):
                        self._equate(left, right, binding)
                        self._equate(right, left, binding)
                    case Aggregate(result=result, outer=outer) if outer <= set(binding):
                        value = self.total(literal, binding)
                        if value is None:
                            return None
                        self._assign(result, value, binding)
                    case _:
                        pass
            if binding == before:
                return binding

    def _equate(self, side: Term, other: Term, binding: Binding) -> None:
        if isinstance(side, Var) and names_of(other) <= set(binding):
            self._assign(side, self.cell(other, binding), binding)

    def _assign(self, variable: Var, cell: Cell, binding: Binding) -> None:
        if isinstance(binding.get(variable.name, STAR), Star):
            binding[variable.name] = cell


# ------------------------------------------------------------------------------------ one reading


class Reading(Known):
    """What is certain and what is possible where some assumptions are accepted (10).

    `rounds` bounds each fixpoint. Beyond it nobody knows the rows of its stratum (15).
    """

    def __init__(
        self,
        program: Program,
        outside: Outside,
        accepted: Collection[str] = (),
        *,
        goal: Body = (),
        rounds: int = 10_000,
    ) -> None:
        super().__init__(program, {})
        self.outside = outside
        self.accepted = frozenset(accepted)
        self.rounds = rounds
        self.stopped = False
        passes = 0
        # What is asked of given columns in one pass is answered in the next.
        while True:
            before = {name: len(keys) for name, keys in self.asked.items()}
            self.relations = {name: {} for name in program.kinds}
            self._evaluate()
            self.truth = self.truth_of(goal)
            passes += 1
            if passes > rounds:
                self.stopped, self.truth = True, None
                break
            if before == {name: len(keys) for name, keys in self.asked.items()}:
                break

    def heads(self, rule: Rule) -> Iterator[tuple[Row, bool, Binding, Used]]:
        """Yield the heads of a rule's instances, each with whether it is certain this way."""
        accepted = rule.words <= self.accepted
        for start in self._starts(rule.head):
            for binding, certain, used in self.solutions(rule.body, start):
                row = tuple(self.cell(term, binding) for term in rule.head.terms)
                yield row, certain and accepted, binding, used

    def _starts(self, head: Atom) -> Iterator[Binding]:
        """Yield the bindings that callers give; without given columns there is one, empty."""
        places = self.program.given.get(head.predicate, ())
        shape = Atom(head.predicate, tuple(head.terms[place] for place in places))
        for key in tuple(self.asked[head.predicate]) if places else [()]:
            start = self.extend(shape, key, {})
            if start is not None:
                yield start

    # All rules.

    def _add(self, predicate: str, row: Row, *, certain: bool) -> bool:
        """Add a row and tell whether that changed anything. A row with ⋆ is never certain."""
        relation = self.relations[predicate]
        sure = certain and not any(isinstance(cell, Star) for cell in row)
        changed = row not in relation or (sure and not relation[row])
        relation[row] = sure or relation.get(row, False)
        return changed

    def _evaluate(self) -> None:
        self.sure_totals = True
        for predicate, facts in self.outside.facts.items():
            for fact in facts:
                row = filled(fact, self.accepted)
                self._add(predicate, row, certain=fact.words <= self.accepted)
        for predicate, openings in self.outside.openings.items():
            for opening in openings:
                if not opening.words or not opening.words <= self.accepted:
                    self._add(predicate, opening.row, certain=False)
        for stratum in self.program.strata():
            rules = [rule for rule in self.program.rules if rule.head.predicate in stratum]
            # What is possible does not depend on which totals are certain, and it tells whether a
            # summand may be negative; so a stratum is finished twice.
            thresholds = any(isinstance(one, Beyond) for rule in rules for one in rule.body)
            for self.sure_totals in (False, True) if thresholds else (True,):
                self._finish(rules)

    def _finish(self, rules: list[Rule]) -> None:
        looked_at = rules
        for _ in range(self.rounds):
            fired = [(one.head.predicate, found) for one in looked_at for found in self.heads(one)]
            changed = {
                name for name, (row, sure, _, _) in fired if self._add(name, row, certain=sure)
            }
            if not changed:
                return
            # A rule says the same again where nothing that it reads has changed.
            looked_at = [one for one in rules if self._depends(one, changed)]
        self.stopped = True
        for name in {rule.head.predicate for rule in rules}:
            self._add(name, (STAR,) * len(self.program.kinds[name]), certain=False)

    def _depends(self, rule: Rule, changed: Collection[str]) -> bool:
        """Tell whether a rule reads one of these, or is called from above."""
        read = any(name in changed for name, _ in uses(rule.body))
        return read or rule.head.predicate in self.program.given

    def truth_of(self, goal: Body) -> Truth:
        """Tell whether some instance of a goal holds."""
        found = [certain for _, certain, _ in self.solutions(goal, {})] if goal else []
        return True if any(found) else None if found else False

    # Confidence.

    def confidences(self) -> dict[tuple[str, Row], Decimal]:
        """Give the greatest confidence of each certain row (17).

        A rule gives the least of its premises times its own, rounded down; another way can only
        raise it. Absence and aggregates have the least of what closes the predicates below them.
        """
        found: dict[tuple[str, Row], Decimal] = {}
        for predicate, facts in self.outside.facts.items():
            for fact in facts:
                if fact.words <= self.accepted:
                    place = (predicate, filled(fact, self.accepted))
                    found[place] = max(found.get(place, Decimal(0)), fact.confidence)
        changed = True
        while changed:
            changed = False
            for rule in self.program.rules:
                for row, certain, binding, used in list(self.heads(rule)):
                    if not certain or any(isinstance(cell, Star) for cell in row):
                        continue
                    least = self._support(rule.body, binding, used, found)
                    value = (least * rule.confidence).quantize(Decimal("1e-6"), ROUND_FLOOR)
                    place = (rule.head.predicate, row)
                    if value > found.get(place, Decimal(0)):
                        found[place], changed = value, True
        return found

    def _support(
        self, body: Body, binding: Binding, used: Used, found: Mapping[tuple[str, Row], Decimal]
    ) -> Decimal:
        parts = [found.get((atom.predicate, row), Decimal(0)) for atom, row in used]
        for literal in body:
            match literal:
                case Negative(atom):
                    parts.append(self._closed(atom.predicate))
                case Aggregate():
                    start = {name: binding[name] for name in literal.outer}
                    parts += [self._closed(name) for name, _ in uses(literal.body)]
                    for one, _, rows in self.solutions(literal.body, start):
                        parts.append(self._support(literal.body, one, rows, found))
                case Beyond():
                    parts.append(self._passing(literal, binding, found))
                case _:
                    pass
        return min([Decimal(1), *parts])

    def _passing(
        self, literal: Beyond, binding: Binding, found: Mapping[tuple[str, Row], Decimal]
    ) -> Decimal:
        """Give the greatest confidence at which the summands still pass the bound."""
        start = {name: binding[name] for name in literal.outer}
        graded: dict[Key, tuple[Decimal, Fraction]] = {}
        for one, certain, rows in self.solutions(literal.body, start):
            cell = 1 if literal.target is None else self.cell(literal.target, one)
            if certain and is_value(cell):
                key = tuple(sorted(one.items()))
                support = self._support(literal.body, one, rows, found)
                least = max(support, graded.get(key, (Decimal(0),))[0])
                graded[key] = least, exactly(cell)
        passes = operator.gt if literal.operator == ">" else operator.ge
        bound = self.cell(literal.bound, binding)
        assert is_value(bound), "it passed"
        for level in sorted({grade for grade, _ in graded.values()}, reverse=True):
            summands = [(key, exact) for key, (grade, exact) in graded.items() if grade >= level]
            if passes(heaviest(summands), exactly(bound)):
                return level
        return Decimal(0)

    def _closed(self, predicate: str) -> Decimal:
        below, pending = {predicate}, [predicate]
        while pending:
            name = pending.pop()
            rules = (rule for rule in self.program.rules if rule.head.predicate == name)
            fresh = {used for rule in rules for used, _ in uses(rule.body)} - below
            below |= fresh
            pending += fresh
        return min(self.outside.closure.get(name, Decimal(1)) for name in below)


def names_of(term: Term) -> set[str]:
    match term:
        case Var(name):
            return {name}
        case Call(arguments=arguments):
            return {name for one in arguments for name in names_of(one)}
        case _:
            return set()


def filled(fact: Fact, accepted: Collection[str]) -> Row:
    """Give the row of a fact with the cells that accepted words fill (26e)."""
    row = list(fact.row)
    for place, value, word in fact.fills:
        if word in accepted:
            row[place] = value
    return tuple(row)


def exactly(value: Value) -> Fraction:
    return Fraction(*value.as_integer_ratio()) if not isinstance(value, str) else Fraction(value)


def all_apart(keys: Iterable[Key]) -> bool:
    """Tell whether any two bindings differ for certain (26c)."""
    return all(keys_apart(left, right) for left, right in combinations(keys, 2))


def keys_apart(left: Key, right: Key) -> bool:
    return any(told_apart(one, other) for (_, one), (_, other) in zip(left, right, strict=True))


def heaviest(summands: list[tuple[Key, Fraction]]) -> Fraction:
    """Give the greatest sum of summands that are certainly different."""
    for place, (key, exact) in enumerate(summands):
        alike = [one for one in summands if one[0] != key and not keys_apart(key, one[0])]
        if alike:
            without = summands[:place] + summands[place + 1 :]
            return max(heaviest(without), exact + heaviest([o for o in without if o not in alike]))
    return sum((exact for _, exact in summands), Fraction())


# ------------------------------------------------------------------------------------ the verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of a goal; `assumptions` are all smallest sets under which it is decided."""

    verdict: str
    assumptions: tuple[frozenset[str], ...] = ()


def decide(program: Program, outside: Outside, goal: Body, rounds: int = 10_000) -> Decision:
    """Decide a goal: the hard reading first, then the one that accepts everything (10)."""

    def truth(accepted: Iterable[str]) -> Truth:
        return Reading(program, outside, frozenset(accepted), goal=goal, rounds=rounds).truth

    hard = truth(())
    if hard is not None:
        return Decision("PROVED" if hard else "DISPROVED")
    words = sorted(outside.words() | {word for rule in program.rules for word in rule.words})
    accepted = truth(words)
    if accepted is None:
        return Decision("UNRESOLVED")
    least: list[frozenset[str]] = []
    for size in range(1, len(words) + 1):
        for chosen in map(frozenset, combinations(words, size)):
            if not any(one <= chosen for one in least) and truth(chosen) is accepted:
                least.append(chosen)
    return Decision("PROVED_UNDER" if accepted else "DISPROVED_UNDER", tuple(least))


def check_given(program: Program, goal: Body) -> list[str]:
    """Name the given columns that a goal leaves open: an error, never DISPROVED (42)."""
    bound = {
        name
        for one in goal
        if isinstance(one, Positive)
        for place, term in enumerate(one.atom.terms)
        if place not in program.given.get(one.atom.predicate, ())
        for name in names_of(term)
    }
    return [
        f"column {place} of {one.atom.predicate}"
        for one in goal
        if isinstance(one, Positive | Negative)
        for place in program.given.get(one.atom.predicate, ())
        if isinstance(one.atom.terms[place], Blank) or not names_of(one.atom.terms[place]) <= bound
    ]


def count_of(rows: Collection[Row]) -> tuple[int, int]:
    """Give how many rows an answer has, at least and at most: labels may hide that two are one."""
    keys = [tuple((str(place), cell) for place, cell in enumerate(row)) for row in rows]
    return int(heaviest([(key, Fraction(1)) for key in keys])), len(rows)
