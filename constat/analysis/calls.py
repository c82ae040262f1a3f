"""What a function makes of the kinds of its arguments.

In: an application and the classes of its parts. Out: joined classes, the kind of the result,
diagnostics C0222, C0223 and C0226. Invariant: a call without a diagnostic has a signature in
`constat.logic`. Example: `?a + ?b` joins both arguments and the result; `year(?d)` gives a number
once `?d` is a Date or a Timestamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis import kind_mistakes as mistakes
from constat.analysis.kind_classes import Classes, Origin
from constat.logic import OPERATORS, RANGE, RANGES, Apply, Kind, Signature, signatures

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

UNIFORM = OPERATORS | {"min", "max", RANGE}
"""Functions whose arguments and result have one kind."""


@dataclass(frozen=True, slots=True)
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
