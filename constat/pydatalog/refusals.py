"""What pyDatalog has no counterpart for, found before anything is asked outside.

In: an analysed program and the predicates a goal depends on. Out: diagnostics C0283, C0420 and
C0421, each at its construct. Invariant: what is let through has the same meaning in pyDatalog; the
strata were checked by analysis. Example: a rule with a confidence below 1 is refused, for its
conclusions hold under an assumption, and pyDatalog knows true and false only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constat.analysis import AnalysedProgram
from constat.diagnostics import Diagnostic
from constat.logic import Aggregate, Predicate, Rule
from constat.plan.adornment import not_bound


def refusals(program: AnalysedProgram, names: Iterable[str]) -> list[Diagnostic]:
    """Give a diagnostic for each construct that is refused."""
    found = set(names)
    declared = (program.program.predicates.get(name) for name in sorted(found))
    given = [not_bound(one) for one in declared if one is not None and one.given]
    return [*given, *_rules(program, found), *_totals(program, found), *_inputs(program, found)]


def _rules(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for rule in program.rules:
        if rule.assumed and rule.head.predicate in names:
            yield Diagnostic(
                "C0420",
                f"pyDatalog takes no rule that is an assumption: `{rule.id}`",
                rule.span,
                label=_why(rule),
                note="its conclusions hold under an assumption, and pyDatalog knows no assumptions",
                help="leave `--engine` out: Constat's own engine lists the assumption",
            )


def _totals(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for rule in program.rules:
        for literal in rule.body if rule.head.predicate in names else ():
            if isinstance(literal, Aggregate) and literal.recursive:
                yield Diagnostic(
                    "C0283",
                    f"pyDatalog has no {literal.function} that runs through recursion",
                    literal.span or rule.span,
                    label=f"the rows of this {literal.function} depend on `{rule.head.predicate}`",
                    note="pyDatalog folds a relation once it is complete, and this one is not "
                    "complete without the result",
                    help="leave `--engine` out: Constat's own engine takes it as a threshold",
                )


def _why(rule: Rule) -> str:
    if rule.proposed:
        return "a model wrote this rule and nobody has approved it"
    return f"this rule has the confidence {rule.confidence:f}"


def _inputs(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for name, predicate in program.program.predicates.items():
        if name in names and name in program.external:
            required = _required(predicate)
            if predicate.source is not None and required:
                yield Diagnostic(
                    "C0421",
                    f"pyDatalog needs all rows of `{name}`, which answers for given values only",
                    predicate.source.span or predicate.span,
                    label=f"this input needs {required}",
                    note="pyDatalog is handed complete tables before it starts; it asks nothing",
                    help="leave `--engine` out: Constat's own engine asks for the values it needs",
                )


def _required(predicate: Predicate) -> str:
    parameters = {} if predicate.source is None else predicate.source.parameters
    names = [name.strip() for name in parameters.get("required", "").split(",")]
    return " and ".join(f"`{name}`" for name in names if name)
