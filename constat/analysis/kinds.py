"""Find the kind of every variable, constant and function, and give constants their final values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, assert_never, cast

from constat.analysis import kind_mistakes
from constat.analysis import kind_mistakes as mistakes
from constat.analysis.analysed import as_warning
from constat.analysis.kind_classes import Classes, Origin
from constat.analysis.kind_mistakes import Constructions, makes_structure
from constat.diagnostics import Diagnostic, Severity
from constat.frozen import frozen
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    NIL,
    OPERATORS,
    RANGE,
    RANGES,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    Positive,
    Signature,
    Value,
    Variable,
    aggregate_kind,
    canonical_decimal,
    canonical_float,
    check_integer,
    check_symbol,
    implementation,
    parse_value,
    signatures,
    term_variables,
)
from constat.syntax import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Span
    from constat.logic import Literal, Rule, Term

# Integers fit the other numeric kinds only where they are exact; texts are read as dates, times
# and truth values only where the kind says so.

_TEXTS = (Kind.DATE, Kind.TIMESTAMP, Kind.BOOL)


def fit(constant: Constant, kind: Kind) -> Value | None:
    """Give the value of a constant as one of that kind, `None` where it is none."""
    try:
        match constant.kind:
            case Kind.SYMBOL:
                return _from_text(str(constant.value), kind)
            case Kind.NUMBER:
                return _from_integer(cast("int", constant.value), kind)
            case Kind.DECIMAL:
                return _from_decimal(cast("Decimal", constant.value), kind)
            case Kind.FLOAT | Kind.UNSIGNED:
                return _same(constant, kind)
            case _:
                return constant.value if constant.kind is kind else None
    except ValueError:
        return None


def folded(term: Apply) -> Apply | Constant:
    """Give the constant that a typed constructor of constants makes, else the constructor.

    Raises `EvaluationError` where its text is too long.
    """
    values = [one for one in term.arguments if isinstance(one, Constant)]
    if len(values) != len(term.arguments):
        return term
    if term.function == NIL:
        return Constant(NIL, Kind.STRUCTURE, term.span)
    make = implementation(term.function, tuple(one.kind for one in values), Kind.STRUCTURE)
    return Constant(make(*(one.value for one in values)), Kind.STRUCTURE, term.span)


def _from_text(text: str, kind: Kind) -> Value | None:
    if kind is Kind.SYMBOL:
        return check_symbol(text)
    return parse_value(text, kind) if kind in _TEXTS else None


def _from_integer(value: int, kind: Kind) -> Value | None:
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return check_integer(value, kind)
        case Kind.DECIMAL:
            return canonical_decimal(Decimal(value))
        case Kind.FLOAT if int(float(value)) == value:
            return canonical_float(float(value))
        case _:
            return None


def _from_decimal(value: Decimal, kind: Kind) -> Value | None:
    match kind:
        case Kind.DECIMAL:
            return canonical_decimal(value)
        case Kind.FLOAT:
            # A float literal is written as 0.1; the nearest float is what everyone means by it.
            return canonical_float(float(value))
        case _:
            return None


def _same(constant: Constant, kind: Kind) -> Value | None:
    if kind is not constant.kind:
        return None
    if kind is Kind.UNSIGNED:
        return check_integer(cast("int", constant.value), kind)
    return canonical_float(float(cast("float", constant.value)))


# A call without a diagnostic has a signature in `constat.logic`.

UNIFORM = OPERATORS | {"min", "max", RANGE}
"""Functions whose arguments and result have one kind."""


@frozen
class Call:
    """An application of a function with the classes of its arguments and of its result."""

    term: Apply
    arguments: tuple[int, ...]
    result: int

    def join(self, classes: Classes, kinds: Mapping[str, Kind]) -> None:
        """Join and bind what the function says whatever its arguments are."""
        origin = Origin(term=self.term)
        function = self.term.function
        if function in UNIFORM:
            for argument in self.arguments:
                classes.join(self.result, argument, origin)
            return
        if function == "as":
            target = kinds.get(self.term.type_name) or self.term.kind
            if target is not None:
                classes.bind(self.result, target, origin)
            return
        known = signatures(function)
        results = {one.result for one in known}
        if len(results) == 1:
            classes.bind(self.result, results.pop(), origin)
        if len(known) == 1 and takes(known[0], len(self.arguments)):
            wanted = parameters(known[0], len(self.arguments))
            taken = Origin(term=self.term, role="takes")
            for argument, kind in zip(self.arguments, wanted, strict=True):
                classes.bind(argument, kind, taken)


def takes(signature: Signature, count: int) -> bool:
    """Tell whether a signature takes that many arguments."""
    wanted = len(signature.parameters)
    return count >= wanted if signature.variadic else count == wanted


def parameters(signature: Signature, count: int) -> tuple[Kind, ...]:
    """Give the kinds of that many arguments; a variadic signature repeats its last."""
    wanted = signature.parameters
    return wanted + wanted[-1:] * (count - len(wanted))


def result_kind(call: Call, classes: Classes) -> Kind | None:
    """Give the kind of the result, as far as the arguments tell it by now."""
    if call.term.function in UNIFORM or call.term.function == "as":
        return classes.kind(call.result)
    kinds = tuple(classes.kind(argument) for argument in call.arguments)
    return next(
        (one.result for one in signatures(call.term.function) if one.parameters == kinds), None
    )


def sum_of_texts(call: Call, classes: Classes) -> Diagnostic | None:
    """Say that `+` joins two texts, where it does, as it may in Souffle; here that is `cat`.

    The classes stay as they are, so a text and a number are still a mistake.
    """
    found = classes.kind(call.result)
    if call.term.function != "+" or found is not Kind.SYMBOL or classes.broken(call.result):
        return None
    kinds = (found,) * len(call.arguments)
    origin = classes.origin(call.arguments[0])
    return mistakes.wrong_arguments(call.term, kinds, found, signatures("+"), origin)


def check_call(call: Call, classes: Classes) -> Iterator[Diagnostic]:
    """Yield what is wrong with a call whose kinds are settled."""
    term = call.term
    known = RANGES if term.function == RANGE else signatures(term.function)
    count = len(call.arguments)
    if not known:
        classes.spoil(call.result)
        yield mistakes.unknown_function(term)
        return
    if not any(takes(one, count) for one in known):
        classes.spoil(call.result)
        yield mistakes.wrong_count(term, known[0])
        return
    if classes.broken(call.result) or any(map(classes.broken, call.arguments)):
        return
    kinds = tuple(classes.kind(argument) for argument in call.arguments)
    result = classes.kind(call.result)
    if None in kinds or result is None:
        return
    if not any(one.result is result and parameters(one, count) == kinds for one in known):
        classes.spoil(call.result)
        for argument in call.arguments:
            classes.spoil(argument)
        given = tuple(kind for kind in kinds if kind is not None)
        origin = next((classes.origin(one) for one in call.arguments), None)
        yield mistakes.wrong_arguments(term, given, result, known, origin)


_MOST_ROUNDS = 20
_OTHERS = frozenset({Kind.UNSIGNED, Kind.FLOAT})


def typed_apart(written: Rule, typed: Rule, infer: Callable[[Rule], Rule]) -> Iterator[Diagnostic]:
    """Warn of the first number of a rule that Souffle takes for one of another type.

    `infer` types a rule, and keeps to itself what is wrong with it.
    """
    given = {
        one.span: one for one in _constants(typed) if one.kind in _OTHERS and one.span is not None
    }
    whole = {one.span for one in _constants(written) if one.kind is Kind.NUMBER}
    aliases = _aliases(written)
    if not aliases or not whole & given.keys():
        return
    resolved = infer(_resolved(written, aliases))
    apart = {one.span for one in _computed_from(resolved) if one.kind is Kind.NUMBER}
    found = [given[span] for span in apart & whole & given.keys() if span is not None]
    named = {one.span for term in aliases.values() for one in _parts(term)}
    for one in sorted(found, key=lambda one: (one.span not in named, _place(one.span)))[:1]:
        yield _warning(one)


def _place(span: Span | None) -> tuple[int, int]:
    return (0, 0) if span is None else (span.line, span.column)


def _warning(constant: Constant) -> Diagnostic:
    unsigned = constant.kind is Kind.UNSIGNED
    number = int(constant.value) if not isinstance(constant.value, str) else 0
    edit = f"{number}u" if unsigned else f"{number}.0"
    return Diagnostic(
        "C0229",
        f"Souffle takes this `{number}` for number here, for {constant.kind.value} there",
        constant.span,
        note="it puts the value in place of the variable and types each place by itself; here the "
        f"variable is {constant.kind.value} everywhere, so the rows may be others",
        help=f"write `{edit}`, which is {constant.kind.value} in both",
        severity=Severity.WARNING,
    )


def _aliases(rule: Rule) -> dict[str, Term]:
    """Give the values that equations say of variables, as far as these are without variables."""
    found: dict[str, Term] = {}
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                names = {variable.name for variable in term_variables(other)}
                if isinstance(one, Variable) and one.name not in found and one.name not in names:
                    found[one.name] = other
                    break
    for _ in range(min(len(found), _MOST_ROUNDS)):
        found = {name: _put(term, found) for name, term in found.items()}
    return {n: term for n, term in found.items() if not any(True for _ in term_variables(term))}


def _resolved(rule: Rule, aliases: Mapping[str, Term]) -> Rule:
    body = tuple(_literal(one, aliases) for one in rule.body if not _is_alias(one, aliases))
    return replace(rule, head=_atom(rule.head, aliases), body=body)


def _is_alias(literal: Literal, aliases: Mapping[str, Term]) -> bool:
    if not isinstance(literal, Comparison) or literal.operator != "=":
        return False
    sides = ((literal.left, literal.right), (literal.right, literal.left))
    return any(
        isinstance(one, Variable)
        and one.name in aliases
        and _put(other, aliases) == aliases[one.name]
        for one, other in sides
    )


def _literal(literal: Literal, aliases: Mapping[str, Term]) -> Literal:
    match literal:
        case Positive(atom):
            return Positive(_atom(atom, aliases))
        case Negative(atom):
            return Negative(_atom(atom, aliases))
        case Comparison(left=left, right=right):
            return replace(literal, left=_put(left, aliases), right=_put(right, aliases))
        case Aggregate(body=body, target=target):
            inner = tuple(_literal(one, aliases) for one in body)
            over = None if target is None else _put(target, aliases)
            return replace(literal, body=inner, target=over)  # type: ignore[arg-type]  # the same kinds


def _atom(atom: Atom, aliases: Mapping[str, Term]) -> Atom:
    return replace(atom, terms=tuple(_put(term, aliases) for term in atom.terms))


def _put(term: Term, aliases: Mapping[str, Term]) -> Term:
    match term:
        case Variable(name):
            return aliases.get(name, term)
        case Apply(arguments=arguments):
            return replace(term, arguments=tuple(_put(one, aliases) for one in arguments))
        case _:
            return term


def _terms(literals: Iterable[Literal]) -> Iterator[tuple[Term, ...]]:
    """Yield the terms that stand together, those of aggregates too."""
    for literal in literals:
        match literal:
            case Positive(atom) | Negative(atom):
                yield from ((one,) for one in atom.terms)
            case Comparison(left=left, right=right):
                yield left, right
            case Aggregate(body=body, target=target):
                yield from _terms(body)
                if target is not None:
                    yield (target,)


def _parts(term: Term) -> Iterator[Constant]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Constant):
            yield one
        elif isinstance(one, Apply):
            waiting += one.arguments


def _constants(rule: Rule) -> Iterator[Constant]:
    for together in ((one,) for one in rule.head.terms), _terms(rule.body):
        for terms in together:
            for term in terms:
                yield from _parts(term)


def _computed_from(rule: Rule) -> Iterator[Constant]:
    """Yield the constants that stand together with a function: only these tell types apart."""
    for together in ((one,) for one in rule.head.terms), _terms(rule.body):
        for terms in together:
            if any(isinstance(term, Apply) for term in terms):
                for term in terms:
                    yield from _parts(term)


# Two terms that must have one kind are in one class, and a class has at most one kind and draws at
# most one error. A constructor of nothing but constants becomes a constant.
# Classes are joined as in unification (Robinson, 1965) with union-find; what is overloaded waits
# until its argument is known.


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
    inference = _Inference(draft, rule)
    # The body first: a mistake is shown against what the body says, the head is a consequence.
    for literal in rule.body:
        inference.literal(literal)
    inference.atom(rule.head, role="gets")
    inference.solve()
    return inference.typed(rule), inference.variable_kinds()


_DAYS = frozenset({Kind.DATE, Kind.TIMESTAMP})


class _Inference:
    """Classes of one rule while its terms are walked; `cells` are the classes in that order."""

    def __init__(self, draft: Draft, rule: Rule) -> None:
        self.rule = rule
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
            if isinstance(comparison.left, Variable) and isinstance(comparison.right, Constant):
                self.diagnostics.append(mistakes.turned_round(comparison))
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
                wrong = check_call(call, self.classes)
                self.diagnostics.extend(map(partial(self.in_rule, call.term), wrong))
            else:
                self.diagnostics.append(as_warning(text_sum))
        for comparison, found in self.comparisons:
            kind = self.classes.kind(found)
            ordered = comparison.operator not in {"=", "!="}
            if not ordered or self.classes.broken(found):
                continue
            if kind is Kind.BOOL:
                self.diagnostics.append(mistakes.no_order_of_kind(comparison))
            elif kind is Kind.STRUCTURE:
                self.diagnostics.append(kind_mistakes.no_order(comparison))
        for aggregate, _, over in self.aggregates:
            self.check_aggregate(aggregate, over)

    def in_rule(self, term: Apply, one: Diagnostic) -> Diagnostic:
        """Give the edit of an unknown function as this rule needs it."""
        unknown = one.code == mistakes.UNKNOWN
        meant = mistakes.meant_in_rule(term, self.rule, self.predicates) if unknown else ""
        return replace(one, help=f"write `{meant}`") if meant else one

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
            found = kind_mistakes.two_types(types, first, second)
        else:
            found = mistakes.conflict(kinds, first, second, self.predicates)
            between = [one.term for one in self.calls if one.term.function == "-"]
            if between and any(one in _DAYS for one in kinds):
                found = replace(found, help=mistakes.between_days(between[0]))
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
        if term.function == "as" and isinstance(arguments[0], Constant):
            return self.typed_cast(typed, arguments[0])
        if not makes_structure(term.function):
            return typed
        typed = replace(typed, kind=Kind.STRUCTURE, type_name=self.classes.structure(found))
        try:
            return folded(typed)
        except EvaluationError as problem:
            if not self.classes.broken(found):
                self.diagnostics.append(kind_mistakes.too_long(term, str(problem)))
            return typed

    def typed_cast(self, term: Apply, constant: Constant) -> Term:
        """Spell a text that is cast as values are spelled; say where it never is a value.

        A text of the data is cast only as it is spelled, so here its spelling is made right.
        """
        kind = term.kind
        if constant.kind is not Kind.SYMBOL or kind not in _TEXTS or kind is None:
            return term
        try:
            value = parse_value(str(constant.value), kind)
        except ValueError as problem:
            self.diagnostics.append(kind_mistakes.never_cast(term, kind, str(problem)))
            return term
        return replace(term, arguments=(replace(constant, value=value),))

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
