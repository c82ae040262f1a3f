"""Break the rules of a library in one place, and see whether its cases notice.

In: folders of libraries.  Out: the mutants that no case notices, one a line.  A mutant differs in
one place of one rule: the rule or a literal dropped, a negation turned, a comparison turned or
moved by one, a constant or an operator another one, a variable let go of where two literals meet.
What the analysis refuses, or reads as the same program, is no mutant.

    python -m tests.library.mutation rules/lending
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, analyse
from constat.analysis.names import atoms_of
from constat.diagnostics import ConstatError
from constat.engine import LazyEngine
from constat.evaluation import LimitReachedError, Limits
from constat.library.cases.cases import (
    Case,
    Expectation,
    Library,
    find_libraries,
    names_of_files,
    read_case,
)
from constat.library.cases.running import differences
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    literal_variables,
)
from constat.proof import decide
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMITS: Final = Limits(seconds=20.0)
TURNED: Final = {
    "=": ("!=",),
    "!=": ("=",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
}
OPERATORS: Final = {"+": "-", "-": "+", "*": "/", "/": "*", "min": "max", "max": "min"}
FOLDS: Final = {"sum": "max", "min": "max", "max": "min", "mean": "max"}
UNUSED: Final = "_let_go_of"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule, by its place in the program, and what it became: nothing, if it was dropped."""

    place: int
    head: str
    rule: Rule | None
    text: str


def mutants(rules: Sequence[Rule], own: frozenset[str]) -> Iterator[Mutant]:
    """Yield the mutants of the rules that stand in the files `own`."""
    for place, rule in enumerate(rules):
        if rule.span is None or rule.span.source not in own or not rule.body:
            continue
        yield Mutant(place, rule.head.predicate, None, f"{rule.id}: dropped")
        bare = replace(rule, attributes={})
        for changed, what in changed_rules(bare):
            mutant = _underscored(changed)
            text = " ".join(print_rule(mutant).split())
            told = f"{rule.id}: {what}\n    {text}"
            yield Mutant(place, rule.head.predicate, mutant, told)


def changed_rules(rule: Rule) -> Iterator[tuple[Rule, str]]:
    """Yield the rule with one change, and what was changed."""
    for place, literal in enumerate(rule.body):
        before, after = rule.body[:place], rule.body[place + 1 :]
        yield replace(rule, body=(*before, *after)), f"literal {place + 1} dropped"
        shared = _shared(rule, place)
        for changed, what in changed_literals(literal, shared):
            yield (
                replace(rule, body=(*before, changed, *after)),
                f"literal {place + 1}: {what}",
            )


def changed_literals(literal: Literal, shared: frozenset[str]) -> Iterator[tuple[Literal, str]]:
    """Yield the literal with one change; `shared` are variables that stand elsewhere, too."""
    match literal:
        case Positive(atom):
            yield Negative(atom), "negated"
            yield from ((Positive(one), what) for one, what in changed_atoms(atom, shared))
        case Negative(atom):
            yield Positive(atom), "not negated"
            yield from ((Negative(one), what) for one, what in changed_atoms(atom, shared))
        case Comparison(operator, left, right):
            for other in TURNED.get(operator, ()):
                yield replace(literal, operator=other), f"{other} for {operator}"
            for term, what in changed_terms(left):
                yield replace(literal, left=term), what
            for term, what in changed_terms(right):
                yield replace(literal, right=term), what
        case Aggregate():
            yield from changed_aggregates(literal)


def changed_aggregates(literal: Aggregate) -> Iterator[tuple[Literal, str]]:
    """Yield the aggregate with another function, or with a change inside."""
    if literal.function in FOLDS:
        other = FOLDS[literal.function]
        yield replace(literal, function=other), f"{other} for {literal.function}"
    inner = _inner_shared(literal)
    for place, test in enumerate(literal.body):
        before, after = literal.body[:place], literal.body[place + 1 :]
        yield replace(literal, body=(*before, *after)), "a test inside dropped"
        for changed, what in changed_literals(test, inner):
            if not isinstance(changed, Aggregate):
                yield replace(literal, body=(*before, changed, *after)), f"inside: {what}"


def changed_atoms(atom: Atom, shared: frozenset[str]) -> Iterator[tuple[Atom, str]]:
    """Yield the atom with another constant, or with a variable that nothing else holds."""
    for place, term in enumerate(atom.terms):
        others = list(changed_terms(term))
        if isinstance(term, Variable) and term.name in shared:
            others = [(Variable(UNUSED), f"?{term.name} let go of")]
        for other, what in others:
            yield replace(atom, terms=(*atom.terms[:place], other, *atom.terms[place + 1 :])), what


def changed_terms(term: Term) -> Iterator[tuple[Term, str]]:
    """Yield the term with another constant or operator."""
    match term:
        case Constant(value, kind) if kind is Kind.SYMBOL:
            yield replace(term, value=f"{value} (another)"), f"another text for {value}"
        case Constant(value, kind) if kind in {Kind.NUMBER, Kind.DECIMAL}:
            for step in (1, -1):
                yield replace(term, value=value + step), f"{value} {step:+}"  # type: ignore[operator]  # of these two kinds
        case Apply(function, arguments):
            if function in OPERATORS:
                yield replace(term, function=OPERATORS[function]), f"{OPERATORS[function]} for it"
            if function in {"days_between", "years_between"}:
                yield replace(term, arguments=tuple(reversed(arguments))), "turned round"
            for place, one in enumerate(arguments):
                for other, what in changed_terms(one):
                    inside = (*arguments[:place], other, *arguments[place + 1 :])
                    yield replace(term, arguments=inside), what
        case _:
            return


def _underscored(rule: Rule) -> Rule:
    """Name what stands only once as the language asks for it, `_x`."""
    head = list(literal_variables(Positive(rule.head)))
    counts = Counter(one.name for one in head)
    counts.update(one.name for literal in rule.body for one in literal_variables(literal))
    alone = {name for name, count in counts.items() if count == 1 and not name.startswith("_")}
    body = tuple(_renamed(one, alone) for one in rule.body)
    return replace(rule, body=body)


def _renamed(literal: Literal, alone: set[str]) -> Literal:
    match literal:
        case Positive(atom):
            return Positive(_renamed_atom(atom, alone))
        case Negative(atom):
            return Negative(_renamed_atom(atom, alone))
        case Aggregate(body=body):
            inside = tuple(_renamed(one, alone) for one in body)
            return replace(literal, body=inside)  # type: ignore[arg-type]  # no aggregate inside
        case _:
            return literal


def _renamed_atom(atom: Atom, alone: set[str]) -> Atom:
    terms = tuple(
        Variable(f"_{one.name}") if isinstance(one, Variable) and one.name in alone else one
        for one in atom.terms
    )
    return replace(atom, terms=terms)


def _shared(rule: Rule, place: int) -> frozenset[str]:
    """The variables of a literal that stand elsewhere in the rule."""
    others = [one for at, one in enumerate(rule.body) if at != place]
    names = {one for other in others for one in literal_variables(other)}
    names.update(literal_variables(Positive(rule.head)))
    return frozenset(_name(one) for one in names)


def _inner_shared(literal: Aggregate) -> frozenset[str]:
    """The variables of an aggregate's body, as far as they are named by the author."""
    names = [one for test in literal.body for one in literal_variables(test)]
    return frozenset(_name(one) for one in names if not _name(one).startswith("_"))


def _name(variable: object) -> str:
    return str(getattr(variable, "name", variable))


class Judge:
    """The cases of one library, and which of them has noticed most."""

    def __init__(self, library: Library) -> None:
        self.own = names_of_files(library)
        self.cases: list[Case] = []
        for path in library.cases:
            case = read_case(library, path, self.own, [], {})
            if case is None:
                message = f"{path}: the case is broken"
                raise SystemExit(message)
            self.cases.append(case)
        self.noticed: Counter[int] = Counter()
        program = self.cases[0].program
        self.below = {one: reachable(program, one) for one in program.program.predicates}

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants of the library's rules. All cases have them at the same places."""
        yield from mutants(self.cases[0].program.program.rules, self.own)

    def verdict(self, mutant: Mutant) -> str:
        """Say `refused`, `noticed`, or `survived`."""
        order = [number for number, _ in self.noticed.most_common()]
        order += [number for number in range(len(self.cases)) if number not in self.noticed]
        # What asks for the rule's own predicate notices most, and soonest.
        for own in (True, False):
            for number in order:
                case = self.concerned(self.cases[number], mutant, own=own)
                if not case.expectations:
                    continue
                changed = _broken(case, mutant)
                if changed is None:
                    return "refused"
                if _notices(replace(case, program=changed)):
                    self.noticed[number] += 1
                    return "noticed"
        return "survived"

    def concerned(self, case: Case, mutant: Mutant, *, own: bool) -> Case:
        """Give the case with the expectations of the rule's own predicate, or of those above it."""
        found = tuple(
            one
            for one in case.expectations
            if mutant.head in self.below[goal_of(one)] and (goal_of(one) == mutant.head) is own
        )
        return replace(case, expectations=found)


def goal_of(expected: Expectation) -> str:
    """The predicate that an expectation asks for, as the case has it."""
    return expected.text.partition("(")[0].strip()


def reachable(program: AnalysedProgram, name: str) -> frozenset[str]:
    """The predicate and all below it."""
    found, waiting = {name}, [name]
    while waiting:
        head = waiting.pop()
        for rule in program.rules:
            if rule.head.predicate == head:
                new = {atom.predicate for atom in atoms_of(rule)} - found
                found |= new
                waiting += new
    return frozenset(found)


def _broken(case: Case, mutant: Mutant) -> AnalysedProgram | None:
    rules = list(case.program.program.rules)
    rules[mutant.place : mutant.place + 1] = [] if mutant.rule is None else [mutant.rule]
    try:
        return analyse(replace(case.program.program, rules=tuple(rules)), [])
    except (ConstatError, KeyError):
        return None


def _notices(case: Case) -> bool:
    for expected in case.expectations:
        try:
            decision = decide(
                LazyEngine(), case.program, expected.goal, case.externals, LIMITS, exhaust=True
            )
        except LimitReachedError:
            # What its rule used to settle at once no longer ends.
            return True
        if decision.verdict is not expected.verdict:
            return True
        if (expected.by or expected.uses) and any(differences(decision, expected)):
            return True
    return False


def main(folders: Sequence[str]) -> None:
    """Print what no case of the libraries notices, and how many mutants there were."""
    for library in find_libraries([Path(one) for one in folders]):
        judge = Judge(library)
        counts: Counter[str] = Counter()
        for mutant in judge.mutants():
            verdict = judge.verdict(mutant)
            counts[verdict] += 1
            if verdict == "survived":
                print(mutant.text, flush=True)  # noqa: T201  this is a command
        tried = counts["noticed"] + counts["survived"]
        print(f"{library.name}: {counts['noticed']} of {tried} mutants noticed")  # noqa: T201  as above


if __name__ == "__main__":
    main(sys.argv[1:])
