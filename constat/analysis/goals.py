"""Type a goal against an analysed program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.analysis import kind_mistakes as mistakes
from constat.analysis.kind_classes import Origin
from constat.analysis.kinds import fit
from constat.analysis.modes import cannot_bind, required_inputs
from constat.analysis.names import name_mistake
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Aggregate, Constant, Negative, Positive, Term, Variable, is_of_type
from constat.syntax import print_atom, print_term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis.analysed import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Atom, Literal, Predicate, Rule

# As long as nobody has approved the rule that reads the query, no goal and no query of a person is
# about its rows: the database has executed a guess, and its answer alone would look certain.

_MOST_NAMED: Final = 8
QUERIED: Final = "_as_queried"
"""The ending of the names of such predicates."""


def fence_mistakes(
    literals: Sequence[Literal], analysed: AnalysedProgram, span: Span | None
) -> Iterator[Diagnostic]:
    """Yield a mistake for each literal that reads a drafted query directly."""
    for atom in _atoms(literals):
        served = atom.predicate.removesuffix(QUERIED)
        if served != atom.predicate and _is_fenced(atom.predicate, served, analysed):
            yield Diagnostic(
                "C0875",
                f"`{atom.predicate}` is where a drafted query ends",
                atom.span or span,
                note="that the query gives a row is certain, and that it is right nobody has said",
                help=f"ask for `{served}`, which rests on the draft and says so",
            )


def _is_fenced(name: str, served: str, analysed: AnalysedProgram) -> bool:
    readers = [rule for rule in analysed.program.rules if _reads(rule, name, served)]
    # An approved rule has the query alone in its body; a proposed one may be guarded.
    return bool(readers) and all(rule.proposed or len(rule.body) > 1 for rule in readers)


def _reads(rule: Rule, name: str, served: str) -> bool:
    first = rule.body[0] if rule.body else None
    reads = isinstance(first, Positive) and first.atom.predicate == name
    return rule.head.predicate == served and reads


def _atoms(literals: Sequence[Literal]) -> Iterator[Atom]:
    for literal in literals:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom
            case Aggregate(body=inner):
                yield from _atoms(inner)
            case _:
                pass


# What is given back names a declared predicate, has one constant or variable per column, and binds
# what sources require.


def check_goal(goal: Atom, analysed: AnalysedProgram) -> Atom:
    """Give the goal with typed constants. Raises `ConstatError` with everything that is wrong."""
    predicates = analysed.program.predicates
    predicate = predicates.get(goal.predicate)
    if predicate is None or len(predicate.columns) != len(goal.terms):
        raise ConstatError([name_mistake(goal, predicates)])
    if predicate.given:
        raise ConstatError([_needs_rule(goal, predicate)])
    diagnostics = list(fence_mistakes([Positive(goal)], analysed, goal.span))
    terms: list[Term] = []
    for place, term in enumerate(goal.terms):
        match term:
            case Constant():
                origin = Origin(term=term, predicate=predicate, column=place, atom=goal)
                value = fit(term, predicate.columns[place].kind)
                if value is None or not is_of_type(value, predicate.columns[place]):
                    kind = predicate.columns[place].kind
                    diagnostics.append(mistakes.misfit(term, kind, origin, predicates))
                else:
                    terms.append(replace(term, value=value, kind=predicate.columns[place].kind))
            case Variable():
                terms.append(term)
            case _:
                diagnostics.append(_calculated(goal, term))
    required = required_inputs(analysed.rules, predicates).get(goal.predicate, set())
    diagnostics += [
        cannot_bind(goal, predicate, place)
        for place in sorted(required)
        if isinstance(goal.terms[place], Variable)
    ]
    if diagnostics:
        raise ConstatError(diagnostics)
    return replace(goal, terms=tuple(terms))


def _needs_rule(goal: Atom, predicate: Predicate) -> Diagnostic:
    names = " and ".join(f"`{predicate.columns[place].name}`" for place in predicate.given)
    return Diagnostic(
        "C0249",
        f"`{predicate.name}` is asked for here, and its rules are given {names}",
        goal.span,
        label="`prove` and `query` ask for such a predicate, and rules do",
        note="the rules compare or calculate with these columns, and bind them by nothing",
        help=f"write a rule, and ask for its head: `asked() :- {print_atom(goal)}.`",
    )


def _calculated(goal: Atom, term: Term) -> Diagnostic:
    return Diagnostic(
        "C0227",
        f"the goal calculates `{print_term(term)}`",
        term.span or goal.span,
        label="a value or a variable stands here",
        note="a goal asks for facts: its terms are values and variables",
        help="write the value itself, for example `12`",
    )


def what_to_state(analysed: AnalysedProgram, predicate: str) -> str:
    """Name what can be stated of that on which the predicate's rules rest, the nearest first."""
    if is_written_in_rules(analysed, predicate):
        return "write the fact into the rule file, with a dot behind it"
    listed = ", ".join(f"`{name}`" for name in rests_on(analysed, predicate)[:_MOST_NAMED])
    return (
        f"state a fact of {listed}" if listed else "change the rules: they rest on no other facts"
    )


def is_written_in_rules(program: AnalysedProgram, predicate: str) -> bool:
    """Tell whether all that gives a predicate are facts of rule files."""
    rules = program.program.rules_for(predicate)
    return bool(rules) and predicate not in program.external and not any(one.body for one in rules)


def rests_on(program: AnalysedProgram, predicate: str) -> Sequence[str]:
    """Name the outside predicates that the rules of a predicate rest on, the nearest first."""
    return tuple(one for one in below(program, predicate) if one in program.external)


def below(program: AnalysedProgram, predicate: str) -> Sequence[str]:
    """Name all predicates that the rules of a predicate rest on, the nearest first."""
    found: dict[str, None] = {}
    waiting = [predicate]
    while waiting:
        for rule in program.program.rules_for(waiting.pop(0)):
            for literal in rule.body:
                for one in getattr(literal, "body", (literal,)):
                    atom = getattr(one, "atom", None)
                    if atom is not None and atom.predicate not in found:
                        found[atom.predicate] = None
                        waiting.append(atom.predicate)
    return tuple(found)
