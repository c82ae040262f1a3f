"""What stock Souffle 2.5 would not load, or would answer differently."""

from __future__ import annotations

import re
from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity
from constat.frozen import frozen, slotted
from constat.logic import Aggregate, Apply, Comparison, Constant, Kind, Negative, Positive, Variable
from constat.logic.vocabulary import FUNCTIONS
from constat.syntax import attribute_places
from constat.syntax.argument_styles import named_atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Column, Literal, Predicate, Rule, Term

# Kinds decide, not names: `min` of numbers is portable, `min` of dates is not. Terms are walked on
# a list, because a text can make them deep.

Parts = tuple[str, str, "Span | None", bool, str, str]

_OURS: Final = frozenset({name for name, word in FUNCTIONS.items() if not word.souffle})
_CONVERSIONS: Final = frozenset({"to_number", "to_unsigned", "to_float"})
_DIVISIONS: Final = frozenset({"/", "%"})
_SHIFTS: Final = frozenset({"bshl", "bshr", "bshru"})
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
_FLOATS: Final = frozenset({Kind.FLOAT, Kind.DECIMAL})
_WIDE: Final = 1 << 31
_NARROW_WORD: Final = 32


@frozen
class RuleNotes:
    """The notes about one rule; `kinds` are those of its variables."""

    rule: Rule
    kinds: Mapping[str, Kind]

    def notes(self) -> Iterator[Parts]:
        """Yield the parts of the notes, in the order of the rule."""
        for term in self.rule.head.terms:
            yield from self._terms(term)
        for literal in self.rule.body:
            yield from self._literal(literal)

    def _literal(self, literal: Literal) -> Iterator[Parts]:
        match literal:
            case Positive(atom) | Negative(atom):
                for term in atom.terms:
                    yield from self._terms(term)
            case Comparison(left=left, right=right):
                yield from self._terms(left)
                yield from self._terms(right)
            case Aggregate():
                yield from self._aggregate(literal)

    def _aggregate(self, literal: Aggregate) -> Iterator[Parts]:
        if literal.recursive:
            yield (
                "C0284",
                f"a {literal.function} that runs through recursion",
                literal.span,
                False,
                "there every aggregate must be over finished relations: `Unable to stratify`",
                "sum what one chain of rules gives, or leave this file to Constat",
            )
        if literal.target is not None:
            yield from self._folded(literal, self._kind(literal.target))
            yield from self._terms(literal.target)
        for inner in literal.body:
            yield from self._literal(inner)

    def _folded(self, literal: Aggregate, kind: Kind) -> Iterator[Parts]:
        if literal.function in {"min", "max"} and kind not in _NUMBERS:
            yield (
                "C0268",
                f"`{literal.function}` of a {kind.value}",
                literal.span,
                False,
                "min and max are of numbers there: `Couldn't assign types to the aggregator`",
                "say that there is no smaller one: `p(?x), !smaller(?x)` with a rule for `smaller`",
            )
        if literal.function == "mean" and kind not in _FLOATS:
            yield (
                "C0269",
                f"`mean` of a {kind.value}",
                literal.span,
                False,
                "mean is of floats there",
                "divide a `sum` by a `count`, or hold the column as `float`",
            )

    def _terms(self, root: Term) -> Iterator[Parts]:
        pending = [root]
        while pending:
            term = pending.pop()
            match term:
                case Constant():
                    yield from _constant(term)
                case Apply(arguments=arguments):
                    yield from self._applied(term)
                    pending.extend(reversed(arguments))
                case Variable():
                    pass

    def _applied(self, term: Apply) -> Iterator[Parts]:
        function = term.function
        if function in _OURS:
            yield (
                "C0270",
                f"`{function}` is a function of Constat",
                term.span,
                False,
                "Souffle has no function of that name, and no arithmetic of dates",
                "compute the value in the source, and give the predicate a column for it",
            )
        elif function in _CONVERSIONS:
            yield from self._converted(term)
        elif function in _DIVISIONS:
            yield from self._division(term)
        elif function in _SHIFTS:
            yield from _shifted(term)
        elif function == "^":
            yield from self._power(term)
        elif function == "as":
            yield from self._cast(term)

    def _converted(self, term: Apply) -> Iterator[Parts]:
        function, argument = term.function, term.arguments[0]
        before = self._kind(argument)
        if before is Kind.SYMBOL:
            yield (
                "C0271",
                f"`{function}` of a text that is no number",
                term.span,
                True,
                "the whole run ends there; here the one rule instance is unknown",
                "keep such rows out before: `match` with a pattern of digits",
            )
        elif before is not term.kind and function != "to_float" and not self._positive(argument):
            yield (
                "C0278",
                f"`{function}` of a {before.value} that may lie outside its range",
                term.span,
                True,
                "there it becomes another number; here the one rule instance is unknown",
                "write a literal such as `?x >= 0` before it",
            )

    def _power(self, term: Apply) -> Iterator[Parts]:
        exponent = term.arguments[1]
        if term.kind in _FLOATS:
            yield (
                "C0276",
                f"`^` of a {'float' if term.kind is Kind.FLOAT else 'Decimal'}",
                term.span,
                True,
                "the C library rounds it there, to a digit more or less; here it is rounded once",
                "multiply where the exponent is small: `?x * ?x`",
            )
        elif not self._positive(exponent):
            yield (
                "C0276",
                "`^` with an exponent that may be negative",
                term.span,
                True,
                "there `2 ^ -1` is 0; here the one rule instance is unknown",
                "write a literal such as `?exponent >= 0` before it",
            )

    def _positive(self, term: Term) -> bool:
        """Whether an integer is 0 or more: by its kind, its value, or a literal that says so."""
        kind = self._kind(term)
        if kind is Kind.UNSIGNED:
            return True
        if isinstance(term, Constant):
            return isinstance(term.value, int) and term.value >= 0
        return kind is Kind.NUMBER and any(_bounds_below(one, term) for one in self.rule.body)

    def _division(self, term: Apply) -> Iterator[Parts]:
        divisor = term.arguments[1]
        if isinstance(divisor, Constant) and divisor.value:
            return
        if any(_keeps_from_zero(literal, divisor) for literal in self.rule.body):
            return
        yield (
            "C0275",
            f"`{term.function}` by what may be 0",
            term.span,
            True,
            "the whole run ends there; here the one rule instance is unknown",
            "write a literal such as `?divisor != 0` before it",
        )

    def _cast(self, term: Apply) -> Iterator[Parts]:
        before, after = self._kind(term.arguments[0]), term.kind
        stored = {_stored(before), _stored(after or before)}
        if len(stored) > 1:
            yield (
                "C0272",
                f"`as` turns a {before.value} into a {(after or before).value}",
                term.span,
                True,
                "there `as` changes the type and keeps the bits, so that the value is another one",
                "hold both columns in one type",
            )

    def _kind(self, term: Term) -> Kind:
        match term:
            case Variable(name=name):
                return self.kinds.get(name, Kind.SYMBOL)
            case Constant(kind=kind):
                return kind
            case Apply(kind=kind):
                return kind or Kind.SYMBOL


def _constant(term: Constant) -> Iterator[Parts]:
    value = term.value
    wide = isinstance(value, int) and not -_WIDE <= value < (_WIDE if _signed(term) else 2 * _WIDE)
    if wide:
        yield (
            "C0273",
            "this number does not fit into 32 bits",
            term.span,
            True,
            "a build of Souffle for 32 bits cuts it; one for 64 bits reads it",
            "use a build with `SOUFFLE_DOMAIN_64BIT`",
        )
    if isinstance(value, Decimal) and term.kind is Kind.DECIMAL and value != int(value):
        yield from _inexact(term, value)


def _inexact(term: Constant, value: Decimal) -> Iterator[Parts]:
    if Decimal(float(value)) != value:
        yield (
            "C0274",
            "this decimal has no exact float",
            term.span,
            True,
            "there it is the nearest float, and comparisons with it may turn around",
            "count the smallest unit, such as cents, as a `number`",
        )


def _keeps_from_zero(literal: Literal, divisor: Term) -> bool:
    """Whether a literal is `?divisor != 0`, or compares it with 0 in another strict way."""
    if not isinstance(literal, Comparison) or literal.operator not in {"!=", "<", ">"}:
        return False
    sides = (literal.left, literal.right)
    zero = any(isinstance(side, Constant) and not side.value for side in sides)
    return zero and divisor in sides


def _bounds_below(literal: Literal, term: Term) -> bool:
    """Whether a literal is `term >= 0`, or says so with another constant or the other way round."""
    if not isinstance(literal, Comparison):
        return False
    sides = {">": 0, ">=": 0, "<": 1, "<=": 1}
    place = sides.get(literal.operator)
    if place is None:
        return False
    high, low = (literal.left, literal.right)[place], (literal.right, literal.left)[place]
    return (
        high == term and isinstance(low, Constant) and isinstance(low.value, int) and low.value >= 0
    )


def _shifted(term: Apply) -> Iterator[Parts]:
    if not _fits_a_word(term.arguments[1]):
        yield (
            "C0277",
            f"`{term.function}` by what may not be 0 to 31",
            term.span,
            True,
            "there the count is taken modulo the width of the build, 32 or 64",
            "write the count as `?n band 31`",
        )


def _fits_a_word(term: Term) -> bool:
    if isinstance(term, Apply):
        return term.function == "band" and any(map(_fits_a_word, term.arguments))
    if not isinstance(term, Constant) or not isinstance(term.value, int):
        return False
    return 0 <= term.value < _NARROW_WORD


def _signed(term: Constant) -> bool:
    return term.kind is not Kind.UNSIGNED


def _stored(kind: Kind) -> str:
    """What a value is there: decimals are floats, dates and truth values symbols."""
    if kind in _FLOATS:
        return "float"
    return kind.value if kind in _NUMBERS else "symbol"


# Every note rests on what was measured with Souffle 2.5 or stands in its public reference; a
# program without notes means the same in both, integers within 32 bits and divisions that do not
# err provided.

LOADS_NOT: Final = "Souffle 2.5 does not load this"
ANSWERS_OTHERWISE: Final = "Souffle 2.5 answers differently"

_PRELUDE: Final = re.compile(r'^[ \t]*\.include[ \t]+"constat/prelude\.dl"', re.MULTILINE)
_STAND_INS: Final = frozenset({"Date", "Timestamp", "Decimal", "Bool"})


@frozen
class Note:
    """What is not portable, what Souffle does about it, and what to write instead."""

    code: str
    message: str
    span: Span | None
    loads: bool
    note: str
    help: str


@slotted
class _Notes:
    """The notes so far, each cause and place once."""

    found: dict[tuple[str, Span | None, str], Diagnostic] = field(default_factory=dict)

    def take(self, one: Note) -> None:
        self.found.setdefault(
            (one.code, one.span, one.message),
            Diagnostic(
                one.code,
                one.message,
                one.span,
                ANSWERS_OTHERWISE if one.loads else LOADS_NOT,
                one.note,
                one.help,
                severity=Severity.WARNING,
            ),
        )


def portability_notes(
    analysed: AnalysedProgram, texts: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Give the notes, sorted by place."""
    notes = _Notes()
    written = (*_spelled(texts), *_named(texts, analysed.program.predicates))
    for one in (*_declared(analysed, texts), *_ruled(analysed), *written):
        notes.take(one)
    return tuple(sorted(notes.found.values(), key=lambda one: one.place))


def _declared(analysed: AnalysedProgram, texts: Mapping[str, str]) -> Iterator[Note]:
    with_prelude = any(_PRELUDE.search(text) for text in texts.values())
    derived = {rule.head.predicate for rule in analysed.rules}
    for predicate in analysed.program.predicates.values():
        for column in predicate.columns:
            yield from _column(column, with_prelude=with_prelude)
        yield from _source(predicate, derived=predicate.name in derived)
        if predicate.given:
            yield _given(predicate)
        if predicate.attributes.get("constraint", "true") != "true":
            yield _constraint(predicate)
    for one in _fields(analysed):
        yield from _column(one, with_prelude=with_prelude)


def _constraint(predicate: Predicate) -> Note:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    return Note(
        "C0286",
        f"the constraint `{predicate.attributes['constraint']}` is a form of this language",
        predicate.span,
        loads=False,
        note="stock Souffle knows no `.constraint`; a relation of what breaks it says the same",
        help=f"write `@[constraint] .decl {predicate.name}({columns})` and its rule",
    )


def _fields(analysed: AnalysedProgram) -> Iterator[Column]:
    """Yield the fields of records and branches, which mean there what they mean here."""
    predicates = analysed.program.predicates.values()
    made = (column.structures for one in predicates for column in one.columns)
    structures = next((one for one in made if one is not None), None)
    for name, definition in analysed.program.types.items():
        # With their kinds, where a column has brought the types in.
        known = structures.branches.get(name) if structures is not None else None
        for branch in known or definition.branches:
            yield from branch.fields


def _column(column: Column, *, with_prelude: bool) -> Iterator[Note]:
    if column.type_name in _STAND_INS and not with_prelude:
        yield Note(
            "C0260",
            f"the type `{column.type_name}` is built in here and undefined there",
            column.span,
            loads=False,
            note="the prelude declares the types that stock Souffle lacks",
            help='write `.include "constat/prelude.dl"`',
        )
    if column.kind.value == "Decimal":
        yield Note(
            "C0261",
            f"column `{column.name}` holds exact decimals, and floats there",
            column.span,
            loads=True,
            note="1234567.89 is 1234567.88 in a float of 32 bits; sums and equalities drift",
            help=f"write `{column.name}: number` and count the smallest unit, such as cents",
        )
    if "null" in column.attributes:
        yield _null(column.span)


def _source(predicate: Predicate, *, derived: bool) -> Iterator[Note]:
    name, source = predicate.name, predicate.source
    if source is None:
        if not derived:
            yield Note(
                "C0262",
                f"`{name}` has no source in these files, and is empty there",
                predicate.span,
                loads=True,
                note="here a project says where its rows come from, and what is not known is open",
                help=f"write `.input {name}` and its rows into `{name}.facts`",
            )
        return
    if {"source", "query"} & source.parameters.keys():
        yield Note(
            "C0263",
            f"the source of `{name}` is ignored there: `{name}.facts` is read",
            source.span or predicate.span,
            loads=True,
            note="Souffle ignores parameters that it does not know",
            help=f"write the rows of the query into `{name}.facts`, separated by tabs",
        )
    if "null" in source.parameters or "null" in predicate.attributes:
        yield _null(source.span or predicate.span)


def _given(predicate: Predicate) -> Note:
    names = " and ".join(f"`{predicate.columns[place].name}`" for place in predicate.given)
    return Note(
        "C0285",
        f"whoever asks for `{predicate.name}` gives {names}, and nobody does there",
        predicate.span,
        loads=False,
        note="there every variable of a head is bound by its own body: `Ungrounded variable`",
        help="write a relation of the values that are asked for, and an atom of it into each body",
    )


def _null(span: Span | None) -> Note:
    return Note(
        "C0264",
        "a null policy has no meaning there",
        span,
        loads=True,
        note="an empty cell of a number ends the run there; of a symbol it is the empty text",
        help="write a relation of its own for a column that can be missing",
    )


def _ruled(analysed: AnalysedProgram) -> Iterator[Note]:
    for number, rule in enumerate(analysed.rules):
        if rule.assumed:
            yield _assumed(rule)
        walk = RuleNotes(rule, analysed.variable_kinds[number])
        for one in walk.notes():
            yield Note(*one)


def _assumed(rule: Rule) -> Note:
    why = "is only proposed" if rule.proposed else f"has confidence {rule.confidence:f}"
    return Note(
        "C0265",
        f"rule `{rule.id}` {why}, and holds without reservation there",
        rule.span,
        loads=True,
        note="Souffle ignores `@[confidence]` and `@[author]`",
        help="leave the rule out of what Souffle loads, or approve it",
    )


def _spelled(texts: Mapping[str, str]) -> Iterator[Note]:
    for name, text in texts.items():
        for one in attribute_places(text, name):
            sign = next((mark for mark in ("'", "#") if mark in one.spelling), "")
            if sign:
                yield Note(
                    "C0266",
                    f"an attribute holds `{sign}`",
                    one.span,
                    loads=False,
                    note="in `@[...]` Souffle reads neither `'` nor `#`",
                    help="say it without that sign, or in a `//` comment",
                )
            if one.in_body and not one.spelling.startswith("@!["):
                yield Note(
                    "C0267",
                    "behind `:-` an attribute is spelled `@![...]`",
                    one.span,
                    loads=False,
                    note="`@[...]` stands before the rule",
                    help=f"write `@!{one.spelling[1:]}`",
                )


def _named(texts: Mapping[str, str], known: Mapping[str, Predicate]) -> Iterator[Note]:
    for name, text in texts.items():
        for span, positional in named_atoms(text, name, known):
            yield Note(
                "C0279",
                "arguments are named",
                span,
                loads=False,
                note="there they go by their position; `constat rules fmt --positional` writes "
                "whole files so",
                help=f"write `{positional}`",
            )
