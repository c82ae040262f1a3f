"""Give a program the arithmetic of machine words that Souffle computes with.

In: an analysed program and the width of a word, 32 or 64. Out: the same program in which every
function that can leave the width has its wrapping form, and diagnostics C0611, C0612 and C0614.
Invariant: the meaning of each function is in its name afterwards; what would mean something else
here than in Souffle is refused. Example: `?x + 1` becomes `wrap32.+(?x, 1)`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never, cast

from constat.analysis.analysed import AnalysedProgram
from constat.diagnostics import Diagnostic
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
)
from constat.logic.arithmetic import WRAPPING, bounds, single, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Literal, Rule, Term

_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_NARROW: Final = 32
_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.A-Za-z0-9_]+|[^-+.A-Za-z0-9_"]+', re.DOTALL)
_WHOLE: Final = re.compile(r"-?[0-9]+\Z")
_HEXADECIMAL: Final = re.compile(r"-?0x")
_FOLDS: Final = frozenset({"sum", "mean"})


def with_machine_words(
    analysed: AnalysedProgram, width: int, diagnostics: list[Diagnostic]
) -> AnalysedProgram:
    """Give the program with wrapping functions; what cannot be given is reported."""
    low, high = bounds(Kind.NUMBER, width)
    if _has_unsigned(analysed):
        high = bounds(Kind.UNSIGNED, width)[1]
    rules = tuple(
        _Words(kinds, width, (low, high), diagnostics).rule(rule)
        for rule, kinds in zip(analysed.rules, analysed.variable_kinds, strict=True)
    )
    return replace(analysed, program=replace(analysed.program, rules=rules), rules=rules)


class _Words:
    """One rule while its functions are renamed."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        width: int,
        parts: tuple[int, int],
        diagnostics: list[Diagnostic],
    ) -> None:
        self.kinds = kinds
        self.width = width
        self.parts = parts
        self.diagnostics = diagnostics

    def rule(self, rule: Rule) -> Rule:
        body = tuple(self.literal(one) for one in rule.body)
        return replace(rule, head=self.atom(rule.head), body=body)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Positive(atom):
                return Positive(self.atom(atom))
            case Negative(atom):
                return Negative(self.atom(atom))
            case Comparison(left=left, right=right):
                return replace(literal, left=self.term(left), right=self.term(right))
            case Aggregate():
                return self.aggregate(literal)
            case _:
                assert_never(literal)

    def aggregate(self, aggregate: Aggregate) -> Aggregate:
        if aggregate.recursive:
            self.diagnostics.append(_recursive(aggregate))
        target = None if aggregate.target is None else self.term(aggregate.target)
        body = tuple(self.literal(one) for one in aggregate.body)
        function = aggregate.function
        if target is not None and self.leaves_word(function, self.kind(target)):
            function = wrapped(function, self.width)
        return replace(
            aggregate,
            function=function,
            target=target,
            body=cast("tuple[Positive | Negative | Comparison, ...]", body),
        )

    def leaves_word(self, function: str, kind: Kind | None) -> bool:
        """Whether an aggregate over values of that kind may give what no word holds."""
        if function == "sum" and kind in _INTEGERS:
            return True
        return function in _FOLDS and self.width == _NARROW

    def atom(self, atom: Atom) -> Atom:
        if all(isinstance(term, Variable) for term in atom.terms):
            return atom
        return replace(atom, terms=tuple(map(self.term, atom.terms)))

    def term(self, term: Term) -> Term:
        """Rename the functions of a term; the parser bounds how deep it is."""
        match term:
            case Variable():
                return term
            case Constant():
                return self.constant(term)
            case Apply(arguments=arguments):
                self.refuse(term)
                inner = tuple(map(self.term, arguments))
                if term.function == "+" and term.kind is Kind.SYMBOL:
                    return replace(term, function="cat", arguments=inner)
                wide = term.kind in _INTEGERS or (term.kind is Kind.FLOAT and self.width == _NARROW)
                changes = wide and term.function in WRAPPING
                function = wrapped(term.function, self.width) if changes else term.function
                return replace(term, function=function, arguments=inner)
            case _:
                assert_never(term)

    def constant(self, constant: Constant) -> Constant:
        if constant.kind is Kind.FLOAT and self.width == _NARROW:
            return self.narrow(constant)
        if constant.kind is Kind.STRUCTURE:
            return self.structure(constant)
        if constant.kind in _INTEGERS:
            low, high = bounds(constant.kind, self.width)
            if not low <= cast("int", constant.value) <= high:
                self.diagnostics.append(_too_wide(constant, self.width))
        return constant

    def structure(self, constant: Constant) -> Constant:
        """Check and narrow the numbers in a structure; a text in quotes may look like one."""
        low, high = self.parts
        pieces = _PIECES.findall(str(constant.value))
        if any(_WHOLE.match(one) and not low <= int(one) <= high for one in pieces):
            self.diagnostics.append(_too_wide(constant, self.width))
            return constant
        if self.width == _NARROW:
            pieces = [self.part(one, constant) for one in pieces]
        return replace(constant, value="".join(pieces))

    def part(self, piece: str, constant: Constant) -> str:
        if not _HEXADECIMAL.match(piece):
            return piece
        narrowed = self.narrow(replace(constant, value=float.fromhex(piece)))
        return cast("float", narrowed.value).hex()

    def narrow(self, constant: Constant) -> Constant:
        try:
            return replace(constant, value=single(cast("float", constant.value)))
        except ValueError:
            self.diagnostics.append(_too_wide(constant, self.width))
            return constant

    def refuse(self, term: Apply) -> None:
        """Report what computes something else here than in Souffle."""
        if not term.arguments:
            return
        kind = self.kind(term.arguments[0])
        floats = (kind is Kind.FLOAT) is not (term.kind is Kind.FLOAT)
        if term.function == "as" and floats:
            what = "`as` between integers and floats"
            self.diagnostics.append(_refused(what, "keeps the bits, not the value", term))
        elif term.function == "to_string" and kind is Kind.FLOAT:
            what = "`to_string` of a float"
            self.diagnostics.append(_refused(what, "writes a fixed number of digits", term))

    def kind(self, term: Term) -> Kind | None:
        return self.kinds.get(term.name) if isinstance(term, Variable) else term.kind


def _has_unsigned(analysed: AnalysedProgram) -> bool:
    """Tell whether a structure of the program may hold an unsigned number.

    The text of a structure does not tell signed from unsigned.
    """
    columns = (one for each in analysed.program.predicates.values() for one in each.columns)
    structures = next((one.structures for one in columns if one.structures is not None), None)
    if structures is None:
        return False
    branches = (branch for found in structures.branches.values() for branch in found)
    return any(one.kind is Kind.UNSIGNED for branch in branches for one in branch.fields)


def _too_wide(constant: Constant, width: int) -> Diagnostic:
    return Diagnostic(
        "C0611",
        f"this {constant.kind.value} does not fit in {width} bits",
        constant.span,
        note="stock Souffle computes with 32 bits, and so does souffle mode unless told otherwise",
        help="run with `--word-size 64`, or write a smaller number",
    )


def _refused(what: str, there: str, term: Apply) -> Diagnostic:
    return Diagnostic(
        "C0612",
        f"{what} is not supported in souffle mode",
        term.span,
        note=f"Souffle {there}, so the answers would differ",
        help="use `to_number` or `to_float`, or compare the value itself",
    )


def _recursive(aggregate: Aggregate) -> Diagnostic:
    return Diagnostic(
        "C0614",
        f"`{aggregate.function}` is aggregated over what depends on it",
        aggregate.span,
        note="Souffle refuses this; strict mode allows sums and counts that are compared by `>`, "
        "which wrapping integers would break",
        help='write `.pragma "constat" "0.1"` at the top of the file, and `?` before variables',
    )
