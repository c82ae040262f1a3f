"""Find variables that occur only once: most of them are typing mistakes.

In: a draft. Out: diagnostics C0206. Invariant: a variable that occurs elsewhere in the same rule
of the text is never reported, though lowering made several rules of several heads and of `;`; nor
is one whose value the rule's sentence tells. Example: in `p(?x) :- q(?x, ?y).` it is `?y`. What
safety reports already is left to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.nullable import flat
from constat.analysis.sentences import named_in_sentence, sentences
from constat.analysis.unbound import occurrences
from constat.diagnostics import Diagnostic, Severity, nearest
from constat.logic import Negative, Positive, null_policies
from constat.syntax import Mode, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis.draft import Draft
    from constat.logic import Rule, Variable


def check_singletons(draft: Draft) -> None:
    """Report variables that occur once in a rule of the text."""
    reported = {one.span for one in draft.diagnostics if one.code in _BETTER}
    severity = Severity.WARNING if draft.mode is Mode.SOUFFLE else Severity.ERROR
    for rules in rules_of_text(draft.program.rules):
        for variable, names in _single(rules):
            if variable.span is None or variable.span not in reported:
                reads = any(_may_be_null(draft, rule, variable) for rule in rules)
                told = _used_once(variable, names, rules[0], reads=reads)
                found = replace(told, severity=severity)
                draft.diagnostics.append(found)


_BETTER = frozenset({"C0203", "C0204", "C0205", "C0208", "C0210"})
_MOST_COMPARED = 100


def rules_of_text(rules: Iterable[Rule]) -> Iterator[list[Rule]]:
    """Group the rules that one rule of the text was lowered to: they share its place."""
    together: list[Rule] = []
    for rule in rules:
        if together and (rule.span is None or rule.span != together[0].span):
            yield together
            together = []
        together.append(rule)
    if together:
        yield together


def _single(rules: list[Rule]) -> Iterator[tuple[Variable, set[str]]]:
    """Yield each variable that occurs once in every rule it is in, always at the same place.

    With it come the names that it may be a slip of.
    """
    places: dict[str, set[object]] = {}
    first: dict[str, Variable] = {}
    told = (named_in_sentence(text) for _, text in sentences(rules[0].attributes))
    repeated = {name for names in told for name in names}
    for number, rule in enumerate(rules):
        here: set[str] = set()
        for variable in occurrences(rule):
            name = variable.name
            if name in here:
                # What lowering made may stand twice at one place, so spans do not count here.
                repeated.add(name)
            elif name[0] != "_":
                here.add(name)
                first.setdefault(name, variable)
                places.setdefault(name, set()).add(variable.span or number)
    single = [n for n, found in places.items() if len(found) == 1 and n not in repeated]
    # Each is compared with all: where nearly every name is used once, none of them is misspelt.
    near = set(places) if len(single) <= _MOST_COMPARED else set()
    for name in single:
        yield first[name], near


def _may_be_null(draft: Draft, rule: Rule, variable: Variable) -> bool:
    """Tell whether it stands in a column where a row may have no value that is known."""
    return any(
        policy is not None and term == variable
        for literal in flat(rule.body)
        if isinstance(literal, Positive | Negative)
        and (predicate := draft.predicates.get(literal.atom.predicate)) is not None
        for term, policy in zip(literal.atom.terms, null_policies(predicate), strict=False)
    )


def _used_once(variable: Variable, names: set[str], rule: Rule, *, reads: bool) -> Diagnostic:
    shown = print_term(variable)
    near = nearest(variable.name, names)
    edit = f"write `_{variable.name}` or `_` if any value will do"
    if reads:
        edit = (
            f"write `_{variable.name}` if the row must have a value there, "
            "`_` if it may be null as well"
        )
    if near is not None:
        edit = f"write `?{near}` if that was meant; {edit}"
    return Diagnostic(
        "C0206",
        f"variable `{shown}` is used only once",
        variable.span or rule.span,
        label="no other place of the rule uses it",
        note="a variable that occurs once compares nothing and gives nothing on; mostly it is a "
        "misspelt name",
        help=edit,
    )
