"""Programs and worlds of the product in the words of the definition, so that it can run them.

Functions, tests and folds of values are the product's own (`constat.logic`); they are not judged
here. Example: `Variable("_1")` is a `Blank`, `Variable("x")` a `Var`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from constat import logic
from constat.logic import Kind, NullCell, NullPolicy, vocabulary
from tests.oracle import definition as d

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption
    from tests.oracle.naive import World

P = ParamSpec("P")
T = TypeVar("T")

_BLANK = re.compile(r"_[0-9]+\Z")


def program_of(analysed: AnalysedProgram) -> d.Program:
    """Translate an analysed program."""
    predicates = analysed.program.predicates
    return d.Program(
        tuple(
            _Translating(rule, analysed.variable_kinds[number]).rule()
            for number, rule in enumerate(analysed.rules)
        ),
        {name: tuple(kind.value for kind in one.kinds) for name, one in predicates.items()},
        {name: one.given for name, one in predicates.items() if one.given},
    )


class Firing:
    """Looks at single literals of a rule, under bindings, over relations that somebody has."""

    def __init__(
        self,
        rule: logic.Rule,
        kinds: Mapping[str, Kind],
        relations: Mapping[str, Mapping[logic.OpenRow, bool]],
    ) -> None:
        self.rule = rule
        self._translating = _Translating(rule, kinds)
        found = {
            name: {row_of(row): certain for row, certain in relation.items()}
            for name, relation in relations.items()
        }
        self._known = d.Known(d.Program((), {}), found)

    def is_certain(self, literal: logic.Literal, binding: Mapping[str, logic.Slot]) -> bool:
        """Tell whether a literal is certain; a positive one is not looked at."""
        translated = self._translating.literal(literal)
        return self._known.holds(translated, _binding_of(binding)) is True

    def row(self, atom: logic.Atom, binding: Mapping[str, logic.Slot]) -> logic.OpenRow:
        """Give the instance of an atom."""
        return tuple(self.slot(term, binding) for term in atom.terms)

    def slot(self, term: logic.Term, binding: Mapping[str, logic.Slot]) -> logic.Slot:
        """Give the value of a term; ⋆ where it rests on ⋆ or errs."""
        if isinstance(term, logic.Variable):
            return binding[term.name]
        cell = self._known.cell(self._translating.term(term), _binding_of(binding))
        return slot_of(cell, "", 0)


def _binding_of(binding: Mapping[str, logic.Slot]) -> d.Binding:
    return {name: cell_of(slot) for name, slot in binding.items()}


def goal_of(atom: logic.Atom) -> d.Body:
    """Translate a goal."""
    rule = logic.Rule("goal", logic.Atom("goal", ()), (logic.Positive(atom),))
    return _Translating(rule, {}).rule().body


def cell_of(cell: object) -> d.Cell:
    """Translate a cell of a row, as sources, engines and certificates hold it."""
    if cell is logic.OPEN:
        return d.STAR
    if isinstance(cell, NullCell):
        if cell.policy is NullPolicy.NONE:
            return d.NONE
        name = (cell.predicate, cell.column, cell.known, cell.ordinal)
        return d.Null(cell.policy.value, name)
    return cast("d.Value", cell)


def slot_of(cell: d.Cell, predicate: str, column: int) -> logic.Slot:
    """Give a cell of a predicate's column back as the product holds it."""
    if isinstance(cell, d.Star):
        return logic.OPEN
    if cell == d.NONE:
        return cast("logic.Slot", NullCell(NullPolicy.NONE, predicate, column))
    if isinstance(cell, d.Null):
        found = cast("tuple[str, int, tuple[logic.Value | None, ...], int]", cell.name)
        return cast("logic.Slot", NullCell(NullPolicy(cell.policy), *found))
    if isinstance(cell, d.Made):
        # The translated name says the kinds, too; the label has one kind and so has the result.
        (label,) = (one for one in cell.arguments if isinstance(one, d.Null))
        known = tuple(None if one is label else one for one in cell.arguments)
        made = logic.MadeBy(cell.function.name.split(" of ")[0], known)  # type: ignore[arg-type]
        null = cast("NullCell", slot_of(label, predicate, column))
        return cast("logic.Slot", replace(null, made=made))
    return cell


def row_of(row: Collection[object]) -> d.Row:
    """Translate a row."""
    return tuple(map(cell_of, row))


def outside_of(world: World) -> d.Outside:
    """Translate a world."""
    return d.Outside(
        {
            name: tuple(
                d.Fact(row_of(row), words_of(one), one.confidence if one else Decimal(1))
                for row, one in rows
            )
            for name, rows in world.rows.items()
        },
        {
            name: tuple(d.Opening(row_of(row), words_of(one)) for row, one in openings)
            for name, openings in world.openings.items()
        },
    )


def words_of(assumption: Assumption | None) -> frozenset[str]:
    """Give what must be accepted for what rests on an assumption."""
    if assumption is None:
        return frozenset()
    return frozenset(one.text for one in assumption.parts or (assumption,))


class _Translating:
    """Translates one rule."""

    def __init__(self, rule: logic.Rule, kinds: Mapping[str, Kind]) -> None:
        self._rule = rule
        self._kinds = kinds

    def rule(self) -> d.Rule:
        rule = self._rule
        body: list[d.Literal] = []
        passed: dict[int, d.Beyond | None] = {}
        for place, literal in enumerate(rule.body):
            if isinstance(literal, logic.Aggregate) and literal.recursive:
                threshold = logic.threshold_of(rule, place)
                assert threshold is not None, "analysis refuses every other recursive aggregate"
                passed[threshold.place] = None
                passed[place] = self._beyond(literal, threshold)
        for place, literal in enumerate(rule.body):
            found = passed[place] if place in passed else self.literal(literal)
            body += [found] if found is not None else []
        return d.Rule(rule.id, self._atom(rule.head), tuple(body), rule.confidence, rule.proposed)

    def literal(self, literal: logic.Literal) -> d.Literal:
        if isinstance(literal, logic.Aggregate):
            kind = None if literal.target is None else self._kind(literal.target)
            function = literal.function
            return d.Aggregate(
                function,
                d.Var(literal.result.name),
                None if literal.target is None else self.term(literal.target),
                tuple(map(self._simple, literal.body)),
                self._outer(literal),
                _erring(lambda values: logic.fold(function, kind, values)),
            )
        return self._simple(literal)

    def _simple(self, literal: logic.Literal) -> d.Positive | d.Negative | d.Compare:
        match literal:
            case logic.Positive(atom):
                return d.Positive(self._atom(atom))
            case logic.Negative(atom):
                return d.Negative(self._atom(atom))
            case logic.Comparison(operator, left, right):
                test = _erring(logic.comparison(operator, self._kind(left)))
                return d.Compare(operator, self.term(left), self.term(right), test)
            case logic.Aggregate():
                raise AssertionError("an aggregate holds no aggregate")

    def _beyond(self, literal: logic.Aggregate, threshold: logic.Threshold) -> d.Beyond:
        return d.Beyond(
            None if literal.target is None else self.term(literal.target),
            tuple(map(self._simple, literal.body)),
            self._outer(literal),
            threshold.operator,
            self.term(threshold.bound),
            not logic.is_never_negative(literal, self._kinds),
        )

    def _outer(self, literal: logic.Aggregate) -> frozenset[str]:
        names = {one.name for inner in literal.body for one in logic.literal_variables(inner)}
        if literal.target is not None:
            names |= {one.name for one in logic.term_variables(literal.target)}
        return frozenset(names - set(logic.local_names(self._rule, literal)))

    def _atom(self, atom: logic.Atom) -> d.Atom:
        return d.Atom(atom.predicate, tuple(map(self.term, atom.terms)))

    def term(self, term: logic.Term) -> d.Term:
        match term:
            case logic.Variable(name):
                return d.Blank(name) if _BLANK.match(name) else d.Var(name)
            case logic.Constant(value):
                return d.Const(value)
            case logic.Apply(function, arguments):
                kinds = tuple(map(self._kind, arguments))
                kind = self._kind(term)
                apply = _erring(logic.implementation(function, kinds, kind))
                word = vocabulary.FUNCTIONS.get(function)
                total = word is not None and word.total
                made = d.Function(f"{function} of {kinds}", apply, total, kind.value)
                return d.Call(made, tuple(map(self.term, arguments)))

    def _kind(self, term: logic.Term) -> Kind:
        found = self._kinds[term.name] if isinstance(term, logic.Variable) else term.kind
        assert found is not None, "analysis gives every function its kind"
        return found


def _erring(function: Callable[P, T]) -> Callable[P, T]:
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except logic.EvaluationError as error:
            raise d.ErringError(str(error)) from error

    return call
