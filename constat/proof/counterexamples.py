"""Name what contradicts an "every": the rows because of which a literal fails.

In: the literal that stops a rule, under a binding, in a slice of recorded answers.  Out: the first
few ``Counterexample`` values and how many there are.  A literal that asks for absence (``!p(...)``,
a count that is too large) fails because of rows that are there; each is named with the rows of
sources it rests on.  Nobody is asked.

Example: ``all_paid(C1) :- customer(C1), !unpaid(C1, _)`` fails because of ``unpaid(C1, 17)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.proof.groups import Group
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    is_ground,
    is_hole,
    is_known,
    opened,
    order_of,
)
from constat.proof.reading import TooLargeError
from constat.proof.shown import SourceShown, source_shown
from constat.proof.written import original_row
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import OpenRow, Row
    from constat.proof.instances import Binding, LiteralCode, Pattern, RuleCode, Test
    from constat.proof.slices import Slice

MOST_SHOWN: Final = 5
_PROJECTED: Final = ".some"
_COUNTS: Final = frozenset({"count", "sum"})
_LESS: Final = frozenset({"<", "<="})
_MORE: Final = frozenset({">", ">="})

Fact = tuple[str, "Row"]
Found = tuple["Fact | None", tuple["Fact", ...], tuple[str, ...]]
"""A fact, if one is meant, the facts it rests on, and what is absent besides."""


@frozen
class Counterexample:
    """A row that must not be there, or the rows that make it so; and where they were read."""

    fact: str
    because: tuple[str, ...]
    sources: tuple[SourceShown, ...]


@frozen
class Counterexamples:
    """The first of them, and how many were met in all: at least so many with `at_least`.

    Rows that make a sum too large are `summed`: no one of them breaks anything.
    """

    shown: tuple[Counterexample, ...] = ()
    count: int = 0
    at_least: bool = False
    summed: bool = False


def counterexamples(walker: Slice, code: RuleCode, place: int, binding: Binding) -> Counterexamples:
    """Return what contradicts a literal that fails; nothing for one that only lacks rows."""
    finder = _Finder(walker)
    try:
        found = sorted(finder.against(code, place, binding), key=str)
        shown = tuple(finder.shown(*one) for one in found[:MOST_SHOWN])
    except (TooLargeError, ValueError):
        return Counterexamples()
    return Counterexamples(shown, len(found), finder.at_least, finder.summed)


class _Finder:
    """Finds and writes counterexamples: a fact, if it is one, and the facts it rests on."""

    def __init__(self, walker: Slice) -> None:
        self.walker = walker
        self.program = walker.program
        self.predicates = walker.program.program.predicates
        self.at_least = False
        self.summed = False

    def against(self, code: RuleCode, place: int, binding: Binding) -> Iterator[Found]:
        """Yield each counterexample of a literal once."""
        literal = code.body[place]
        if isinstance(literal, NegativeCode):
            yield from dict.fromkeys(
                self.rows(literal.atom.predicate, literal.atom.pattern(binding))
            )
            return
        aggregate = self.exceeding(code, literal, binding)
        if aggregate is not None:
            self.summed = aggregate.function == "sum"
            yield from dict.fromkeys(self.counted(aggregate, binding))

    def rows(self, predicate: str, pattern: Pattern) -> Iterator[Found]:
        """Yield the certain rows of a pattern; of a derived one that is ground, its instances."""
        if predicate in self.program.external:
            for row in self.walker.outside.possible(predicate, pattern):
                if is_ground(row) and self.walker.outside.is_certain(predicate, row):  # type: ignore[arg-type]
                    yield (predicate, row), (), ()  # type: ignore[misc]  # ground
        if predicate not in self.walker.derived:
            return
        ground = is_ground(pattern)
        # Of a conclusion that is asked for by itself, the engine stops at the first rule.
        self.at_least |= ground and len(self.program.rule_numbers(predicate)) > 1
        for number in self.program.rule_numbers(predicate):
            code = self.walker.code(number)
            for binding in self.instances(code, pattern):
                positives, absent = self.rests(code.body, binding)
                if _PROJECTED in predicate:
                    # A helping predicate of ours: the row that it stands for is meant.
                    ((name, row),) = positives
                    yield from self.below(name, row)
                elif ground:
                    yield None, positives, absent
                else:
                    yield (predicate, code.head.pattern(binding)), positives, absent  # type: ignore[misc]

    def below(self, name: str, row: Row) -> Iterator[Found]:
        """Yield a row, with what the first instance of its rules rests on."""
        if name in self.program.external and self.walker.outside.is_certain(name, row):
            yield (name, row), (), ()
            return
        for number in self.program.rule_numbers(name):
            code = self.walker.code(number)
            for binding in self.instances(code, row):
                yield (name, row), *self.rests(code.body, binding)
                return
        yield (name, row), (), ()

    def instances(self, code: RuleCode, pattern: Pattern) -> Iterator[Binding]:
        """Yield the bindings under which a rule certainly gives a row of a pattern."""
        columns = tuple(place for place, cell in enumerate(pattern) if not is_hole(cell))
        key = tuple(pattern[column] for column in columns)
        start = code.start(columns, key)  # type: ignore[arg-type]  # no holes
        if start is None:
            return
        for binding in self.walker.search(code, order_of(code, columns), start):
            if all(self.holds(code, place, binding) for place in range(len(code.body))):
                yield binding

    def holds(self, code: RuleCode, place: int, binding: Binding) -> bool:
        """Tell whether a literal is certain under a binding."""
        literal = code.body[place]
        match literal:
            case PositiveCode(atom) | NegativeCode(atom):
                row = atom.pattern(binding)
                if not is_ground(row):
                    return False
                if isinstance(literal, NegativeCode):
                    return not self.walker.possible(atom.predicate, row)
                return self.walker.is_certain(atom.predicate, row)  # type: ignore[arg-type]
            case ComparisonCode():
                return literal.truth(binding) is True
            case AggregateCode():
                return not is_hole(binding[literal.result])

    def rests(
        self, body: Iterable[LiteralCode | Test], binding: Binding
    ) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """Return the rows of a body that are there, and what is said of those that are not."""
        there: list[Fact] = []
        absent: list[str] = []
        for literal in body:
            if not isinstance(literal, PositiveCode | NegativeCode):
                continue
            name, row = literal.atom.predicate, literal.atom.pattern(binding)
            if isinstance(literal, NegativeCode):
                named = original_row(self.program, name, opened(row))
                absent.append(f"no {self.text(named)}")
            elif is_ground(row):
                there.append((name, row))  # type: ignore[arg-type]  # ground
        return tuple(there), tuple(absent)

    def exceeding(
        self, code: RuleCode, literal: LiteralCode, binding: Binding
    ) -> AggregateCode | None:
        """Return the count or sum that is more than a literal allows."""
        if isinstance(literal, AggregateCode):
            wanted = binding[literal.result]
            exact = self.walker.aggregates.exact(code, code.body.index(literal), literal, binding)
            more = is_known(wanted) and is_known(exact.value) and exact.value > wanted  # type: ignore[operator]
            return literal if more and literal.function in _COUNTS else None
        if not isinstance(literal, ComparisonCode):
            return None
        left, right = literal.left.evaluate(binding), literal.right.evaluate(binding)
        if is_hole(left) or is_hole(right):
            return None
        for one in code.body:
            if not isinstance(one, AggregateCode) or one.function not in _COUNTS:
                continue
            # The comparison fails: so `<` and `<=` say that there is too much.
            on_left = one.result == literal.left.slot
            on_right = one.result == literal.right.slot
            equal = literal.operator == "="
            if on_left and (literal.operator in _LESS or (equal and left > right)):  # type: ignore[operator]
                return one
            if on_right and (literal.operator in _MORE or (equal and right > left)):  # type: ignore[operator]
                return one
        return None

    def counted(self, literal: AggregateCode, binding: Binding) -> Iterator[Found]:
        """Yield what a count ranges over: its only row, or the rows of its body together."""
        start: Binding = [None] * len(binding)
        for slot in literal.outer:
            start[slot] = binding[slot]
        for one in Group(self.walker, literal).distinct(start).values():
            facts, absent = self.rests(literal.body, one)
            if len(facts) == 1 and not absent:
                yield from self.below(*facts[0])
            else:
                yield None, facts, absent

    def shown(
        self, fact: Fact | None, rests: tuple[Fact, ...], absent: tuple[str, ...]
    ) -> Counterexample:
        """Write a counterexample with the sources of its rows."""
        texts = (*map(self.text, rests), *absent)
        sources: dict[SourceShown, None] = {}
        for name, row in (*([] if fact is None else [fact]), *rests):
            if name in self.program.external:
                grounds = self.walker.outside.grounds(name, row)
                if grounds is not None:
                    sources[source_shown(grounds.evidence)] = None
        if fact is None:
            return Counterexample(" and ".join(texts), (), tuple(sources))
        return Counterexample(self.text(fact), texts, tuple(sources))

    def text(self, fact: tuple[str, OpenRow]) -> str:
        return print_row(self.predicates[fact[0]], fact[1])
