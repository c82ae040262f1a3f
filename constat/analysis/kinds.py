"""Find the kind of every variable, constant and function, and give constants their final values.

In: a draft whose columns have kinds. Out: rules whose constants and functions carry their final
kinds, the kinds of variables, and diagnostics C0215, C0218 to C0226 and C0234 to C0238. Invariant:
two terms that must have one kind are in one class, and a class has at most one kind and draws at
most one error. A constructor of nothing but constants becomes a constant. Example: in `p(?x),
?x > 1` with a Decimal column the constant becomes `Decimal(1)`.

Classes are joined as in unification (Robinson, 1965) with union-find; what is overloaded waits
until its argument is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from constat.analysis import kind_mistakes as mistakes
from constat.analysis import structure_mistakes
from constat.analysis.aliases import typed_apart
from constat.analysis.calls import Call, check_call, result_kind, sum_of_texts
from constat.analysis.constants import fit, folded
from constat.analysis.constructions import Constructions, makes_structure
from constat.analysis.draft import as_warning
from constat.analysis.kind_classes import Classes, Origin
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    Positive,
    Variable,
    aggregate_kind,
)
from constat.syntax import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis.draft import Draft
    from constat.logic import Literal, Rule, Term


def infer_kinds(draft: Draft) -> None:
    """Fill `Draft.rules` and `Draft.variable_kinds`."""
    for rule in draft.program.rules:
        typed, kinds = infer_rule(draft, rule)
        if draft.mode is Mode.SOUFFLE:
            quiet = replace(draft, diagnostics=[])
            apart = typed_apart(rule, typed, lambda one: infer_rule(quiet, one)[0])  # noqa: B023  used at once
            draft.diagnostics.extend(apart)
        draft.rules.append(typed)
        draft.variable_kinds.append(kinds)


def infer_rule(draft: Draft, rule: Rule) -> tuple[Rule, Mapping[str, Kind]]:
    """Give a rule with final kinds, and the kinds of its variables; report what does not fit."""
    inference = _Inference(draft)
    # The body first: a mistake is shown against what the body says, the head is a consequence.
    for literal in rule.body:
        inference.literal(literal)
    inference.atom(rule.head, role="gets")
    inference.solve()
    return inference.typed(rule), inference.variable_kinds()


class _Inference:
    """Classes of one rule while its terms are walked; `cells` are the classes in that order."""

    def __init__(self, draft: Draft) -> None:
        self.predicates = draft.predicates
        self.types = draft.types
        self.souffle = draft.mode is Mode.SOUFFLE
        self.diagnostics = draft.diagnostics
        self.classes = Classes(self.report_conflict)
        self.constructions = Constructions(self.types, self.classes, self.diagnostics)
        self.cells: list[int] = []
        self.calls: list[Call] = []
        self.comparisons: list[tuple[Comparison, int]] = []
        self.aggregates: list[tuple[Aggregate, int, int | None]] = []

    # Walking: every term gets a class, classes that must agree are joined.

    def literal(self, literal: Literal) -> None:
        match literal:
            case Positive(atom) | Negative(atom):
                self.atom(atom)
            case Comparison():
                self.comparison(literal)
            case Aggregate(target=target, body=body):
                for inner in body:
                    self.literal(inner)
                over = None if target is None else self.term(target)
                self.aggregate(literal, over)
            case _:
                assert_never(literal)

    def atom(self, atom: Atom, role: str = "gives") -> None:
        predicate = self.predicates.get(atom.predicate)
        columns = () if predicate is None else predicate.columns
        known = len(columns) == len(atom.terms)
        for place, term in enumerate(atom.terms):
            found = self.term(term)
            if known and predicate is not None and columns[place].type_name in self.types.kinds:
                origin = Origin(term=term, predicate=predicate, column=place, atom=atom, role=role)
                structure = self.types.structure(columns[place].type_name)
                self.classes.bind(found, columns[place].kind, origin, structure)
            elif isinstance(term, Apply) and makes_structure(term.function):
                # What is wrong with the column is told elsewhere.
                self.classes.spoil(found)

    def comparison(self, comparison: Comparison) -> None:
        left, right = self.term(comparison.left), self.term(comparison.right)
        origin = Origin(comparison=comparison)
        if comparison.operator.lstrip("!") in {"match", "contains"}:
            self.classes.bind(left, Kind.SYMBOL, origin)
            self.classes.bind(right, Kind.SYMBOL, origin)
        else:
            self.classes.join(left, right, origin)
            self.comparisons.append((comparison, left))

    def aggregate(self, aggregate: Aggregate, over: int | None) -> None:
        result = self.term(aggregate.result)
        origin = Origin(term=aggregate.result, aggregate=aggregate)
        if aggregate.function == "count":
            self.classes.bind(result, Kind.NUMBER, origin)
        elif aggregate.function != "mean" and over is not None:
            # Before the join: a sum of texts is one mistake, not one in every use of the result.
            self.check_aggregate(aggregate, over)
            if not self.classes.broken(over):
                self.classes.join(result, over, origin)
        self.aggregates.append((aggregate, result, over))

    def term(self, term: Term) -> int:
        """Give the class of a term; the classes of its parts are made before, without recursion."""
        if isinstance(term, Variable):
            return self.classes.variable(term.name)
        stack: list[int] = []
        for part in postorder(term):
            match part:
                case Variable():
                    stack.append(self.classes.variable(part.name))
                case Constant():
                    stack.append(self.classes.constant(part))
                    self.cells.append(stack[-1])
                case Apply(arguments=arguments):
                    cut = len(stack) - len(arguments)
                    found = self.apply(part, tuple(stack[cut:]))
                    del stack[cut:]
                    stack.append(found)
                    self.cells.append(found)
        return stack[0]

    def apply(self, term: Apply, arguments: tuple[int, ...]) -> int:
        if makes_structure(term.function):
            return self.constructions.add(term, arguments)
        if term.function in {CONSTRUCTOR_OF, FIELD_OF} and term.kind is not None:
            return self.taken_apart(term, arguments, term.kind)
        call = Call(term, arguments, self.classes.new())
        self.calls.append(call)
        call.join(self.classes, self.types.kinds)
        return call.result

    def taken_apart(self, term: Apply, arguments: tuple[int, ...], kind: Kind) -> int:
        """Type what an analysed rule has in place of a pattern; the text cannot say it."""
        origin, taken = Origin(term=term), Origin(term=term, role="takes")
        for argument, wanted in zip(arguments, (Kind.STRUCTURE, Kind.NUMBER), strict=False):
            self.classes.bind(argument, wanted, taken)
        found = self.classes.new()
        self.classes.bind(found, kind, origin)
        return found

    # Solving: overloads, kinds that only constants tell, then the checks that need kinds.

    def solve(self) -> None:
        self.settle_overloads()
        self.classes.settle_constants(self.report_mixed)
        self.settle_overloads()
        self.constructions.finish()
        # Outer calls first: of nested arithmetic the whole is shown, not a part of it.
        for call in reversed(self.calls):
            text_sum = sum_of_texts(call, self.classes) if self.souffle else None
            if text_sum is None:
                self.diagnostics.extend(check_call(call, self.classes))
            else:
                self.diagnostics.append(as_warning(text_sum))
        for comparison, found in self.comparisons:
            kind = self.classes.kind(found)
            ordered = comparison.operator not in {"=", "!="}
            if not ordered or self.classes.broken(found):
                continue
            if kind is Kind.BOOL:
                self.diagnostics.append(mistakes.no_order(comparison))
            elif kind is Kind.STRUCTURE:
                self.diagnostics.append(structure_mistakes.no_order(comparison))
        for aggregate, _, over in self.aggregates:
            self.check_aggregate(aggregate, over)

    def settle_overloads(self) -> None:
        """Give `mean` and overloaded functions their results; one may wait for another."""
        progress = True
        while progress:
            progress = self.constructions.settle()
            for aggregate, result, over in self.aggregates:
                if aggregate.function == "mean" and over is not None:
                    kind = aggregate_kind("mean", self.classes.kind(over))
                    progress |= self.settle(result, kind, Origin(aggregate=aggregate))
            for call in self.calls:
                kind = result_kind(call, self.classes)
                progress |= self.settle(call.result, kind, Origin(term=call.term))

    def settle(self, found: int, kind: Kind | None, origin: Origin) -> bool:
        if kind is None or self.classes.kind(found) is not None:
            if kind is not None:
                self.classes.bind(found, kind, origin)
            return False
        self.classes.bind(found, kind, origin)
        return True

    def check_aggregate(self, aggregate: Aggregate, over: int | None) -> None:
        if over is None or self.classes.broken(over):
            return
        kind = self.classes.kind(over)
        if kind is not None and aggregate_kind(aggregate.function, kind) is None:
            self.classes.spoil(over)
            self.diagnostics.append(
                mistakes.no_aggregate(aggregate, kind, self.classes.origin(over))
            )

    def report_conflict(
        self,
        kinds: tuple[Kind, Kind],
        types: tuple[str, str],
        first: Origin | None,
        second: Origin | None,
    ) -> None:
        if all(types):
            found = structure_mistakes.two_types(types, first, second)
        else:
            found = mistakes.conflict(kinds, first, second, self.predicates)
        self.diagnostics.append(found)

    def report_mixed(self, first: Constant, second: Constant) -> None:
        self.diagnostics.append(mistakes.mixed_constants(first, second))

    # Rebuilding: the same walk again, each constant and function taking the kind of its class.

    def variable_kinds(self) -> dict[str, Kind]:
        return {
            name: self.classes.kind(found) or Kind.SYMBOL
            for name, found in self.classes.variables.items()
        }

    def typed(self, rule: Rule) -> Rule:
        if not self.cells:
            return rule
        cells = iter(self.cells)
        body = tuple([self.typed_literal(one, cells) for one in rule.body])
        return replace(rule, head=self.typed_atom(rule.head, cells), body=body)

    def typed_literal(self, literal: Literal, cells: Iterator[int]) -> Literal:
        match literal:
            case Positive(atom):
                return Positive(self.typed_atom(atom, cells))
            case Negative(atom):
                return Negative(self.typed_atom(atom, cells))
            case Comparison(left=left, right=right):
                first = self.typed_term(left, cells)
                return replace(literal, left=first, right=self.typed_term(right, cells))
            case Aggregate(body=body, target=target):
                inner = tuple([self.typed_literal(one, cells) for one in body])
                over = None if target is None else self.typed_term(target, cells)
                return replace(literal, body=inner, target=over)  # type: ignore[arg-type]
            case _:
                assert_never(literal)

    def typed_atom(self, atom: Atom, cells: Iterator[int]) -> Atom:
        if all(isinstance(term, Variable) for term in atom.terms):
            return atom
        return replace(atom, terms=tuple([self.typed_term(one, cells) for one in atom.terms]))

    def typed_term(self, term: Term, cells: Iterator[int]) -> Term:
        if isinstance(term, Variable):
            return term
        stack: list[Term] = []
        for part in postorder(term):
            match part:
                case Variable():
                    stack.append(part)
                case Constant():
                    stack.append(self.typed_constant(part, next(cells)))
                case Apply(arguments=arguments):
                    cut = len(stack) - len(arguments)
                    stack[cut:] = [self.typed_call(part, tuple(stack[cut:]), next(cells))]
        return stack[0]

    def typed_call(self, term: Apply, arguments: tuple[Term, ...], found: int) -> Term:
        kind = self.classes.kind(found) or Kind.SYMBOL
        typed = replace(term, arguments=arguments, kind=kind)
        if not makes_structure(term.function):
            return typed
        typed = replace(typed, kind=Kind.STRUCTURE, type_name=self.classes.structure(found))
        try:
            return folded(typed)
        except EvaluationError as problem:
            if not self.classes.broken(found):
                self.diagnostics.append(structure_mistakes.too_long(term, str(problem)))
            return typed

    def typed_constant(self, constant: Constant, found: int) -> Constant:
        kind = self.classes.kind(found)
        if kind is None or self.classes.broken(found):
            return constant
        value = fit(constant, kind)
        if value is None:
            self.diagnostics.append(
                mistakes.misfit(constant, kind, self.classes.origin(found), self.predicates)
            )
            return constant
        if kind is constant.kind and value == constant.value:
            return constant
        return replace(constant, value=value, kind=kind)


def postorder(term: Term) -> Iterator[Term]:
    """Yield the parts of a term, arguments before functions, left to right."""
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        part, ready = stack.pop()
        if ready or not isinstance(part, Apply):
            yield part
        else:
            stack.append((part, True))
            stack.extend((one, False) for one in reversed(part.arguments))
