"""Goals that are more than one atom: conjunctions, and atoms with functions.

Such a goal becomes a rule for a relation of its own, as a query does (decision 0007), and the goal
is that relation. A certificate carries the rule: whoever reads its leaves again takes it there.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from constat.analysis import analyse, check_goal
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.logic import (
    FUNCTIONS,
    Aggregate,
    Atom,
    Column,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    is_wildcard,
    literal_variables,
    outer_names,
)
from constat.proof.decoding import decode_program
from constat.proof.written import written_literal
from constat.syntax import parse_goal, parse_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Literal, Program, Term
    from constat.session.bench import Bench

ASKED: Final = "the.goal"
"""The relation of such a goal; no text can spell it, so it is nothing that a project declares."""
# What is no atom, and a variable that stands twice.
_MORE = frozenset({"C0180", "C0187"})
# What a query cannot be made of; a rule has more forms.
_SHAPES = frozenset({"C0180", "C0430"})
_BARE = "C0116"
_NO_PREDICATE = "C0181"


@dataclass(frozen=True, slots=True)
class AskedGoal:
    """A goal over a program; `text` is what was typed where that is more than the atom."""

    atom: Atom
    program: AnalysedProgram
    text: str = ""


def read_goal(text: str, program: AnalysedProgram) -> AskedGoal:
    """Read a goal: an atom, or literals with commas between. Raises `ConstatError`."""
    try:
        goal = parse_goal(text, program.program)
        if program.program.predicates[goal.predicate].given:
            return _telling(_over_literals([Positive(goal)], program), _plain(text))
        return AskedGoal(check_goal(goal, program), program)
    except ConstatError as problem:
        if not all(_is_more(one, text, _MORE) for one in problem.diagnostics):
            raise
        return _telling(_conjunction(text, program, problem), _plain(text))


def _telling(asked: AskedGoal, text: str) -> AskedGoal:
    """Give the relation of a goal the sentence that says it: what was typed."""
    analysed = asked.program
    relation = analysed.program.predicates[asked.atom.predicate]
    if asked.atom.predicate != ASKED or "{" in text:
        return replace(asked, text=text)
    names = "|".join(re.escape(one.name) for one in relation.columns)
    says = re.sub(rf"\?({names})\b", r"{\1}", text) if names else text
    told = replace(relation, attributes={**relation.attributes, "says": says})
    predicates = {**analysed.program.predicates, ASKED: told}
    program = replace(analysed.program, predicates=predicates)
    return AskedGoal(asked.atom, replace(analysed, program=program), text)


def asked_over(bench: Bench, text: str) -> tuple[Bench, AskedGoal]:
    """Read a goal, and give what answers it: the program may have got its relation.

    The constants of the goal are among what was said. Raises `ConstatError`.
    """
    asked = read_goal(text, bench.program)
    if not asked.text:
        bench.mention(asked.atom)
        return bench, asked
    for rule in asked.program.program.rules_for(asked.atom.predicate):
        for literal in rule.body:
            if isinstance(literal, Positive | Negative):
                bench.mention(literal.atom)
    return replace(bench, program=asked.program), asked


def _plain(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")


def _conjunction(text: str, program: AnalysedProgram, problem: ConstatError) -> AskedGoal:
    """Read literals as a query does, or else as the body of a rule does."""
    # Plain goals are proved without what only these need.
    from constat.session.query_text import parse_query  # noqa: PLC0415  loaded when it is used
    from constat.session.querying import compile_query  # noqa: PLC0415  loaded when it is used

    try:
        query = parse_query(text, program.program)
    except ConstatError as other:
        if not all(_is_more(one, text, _SHAPES) for one in other.diagnostics):
            raise
        literals = _as_body(text, program, problem, other)
        return _over_literals(literals, program)
    if len(query.literals) == 1 and isinstance(query.literals[0], Negative):
        # Whoever denies one atom is told how to derive what is not so.
        raise problem
    compiled = compile_query(query, program, name=ASKED)
    return AskedGoal(compiled.goal, compiled.program)


def _is_more(problem: Diagnostic, text: str, codes: frozenset[str]) -> bool:
    """Tell whether the text may be more than an atom: a comparison may begin with a function."""
    if problem.code in codes:
        return True
    place = problem.span
    if problem.code != _NO_PREDICATE or place is None or place.line != 1:
        return False
    return text[place.column - 1 : place.end_column - 1] in FUNCTIONS


def _as_body(
    text: str, program: AnalysedProgram, first: ConstatError, second: ConstatError
) -> tuple[Literal, ...]:
    """Read a text as the body of a rule, where texts are quoted and functions may stand."""
    found: list[Diagnostic] = []
    plain = text.strip().removesuffix(".")
    rules = parse_text(f"asked() :- {plain}.", "<goal>", found, program.program.predicates).rules
    errors = [one for one in found if one.severity is Severity.ERROR]
    if errors:
        # Only bare words keep it from being read: the edit is to quote them.
        if {one.code for one in errors} == {_BARE}:
            raise ConstatError([_moved(one) for one in errors])
        goes_on = any("goes on" in one.message for one in first.diagnostics)
        raise (second if goes_on else first)
    if len(rules) != 1 or any(isinstance(one, Aggregate) for one in rules[0].body):
        raise first
    return rules[0].body


def _moved(one: Diagnostic) -> Diagnostic:
    """Give a mistake of the body at its place in the goal."""
    if one.span is None:
        return one
    shift = len("asked() :- ")
    span = replace(one.span, column=one.span.column - shift, end_column=one.span.end_column - shift)
    return replace(one, span=span)


def _over_literals(literals: Sequence[Literal], program: AnalysedProgram) -> AskedGoal:
    """Give the relation of the variables of some literals."""
    # Each literal twice, so that no variable is taken for a slip while kinds are inferred.
    probe = Rule(f"{ASKED}.1", Atom(ASKED, ()), (*literals, *literals))
    probed = _analysed(program, Predicate(ASKED, ()), probe)
    places = (at for at, rule in enumerate(probed.rules) if rule.head.predicate == ASKED)
    kinds = probed.variable_kinds[next(places)]
    named = [one for one in outer_names(probe) if one[0] != "_"]
    names = [one for one in named if kinds[one] is not Kind.STRUCTURE]
    columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in names)
    head = Atom(ASKED, tuple(map(Variable, names)))
    asked = Rule(f"{ASKED}.1", head, tuple(literals))
    return AskedGoal(head, _analysed(program, Predicate(ASKED, columns), asked))


def _analysed(program: AnalysedProgram, predicate: Predicate, rule: Rule) -> AnalysedProgram:
    """Analyse a program with one more predicate and its rule."""
    base = program.program
    predicates = {**base.predicates, predicate.name: predicate}
    found: list[Diagnostic] = []
    joined = replace(base, predicates=predicates, rules=(*base.rules, rule))
    analysed = analyse(joined, found)
    if analysed is None:
        raise ConstatError([one for one in found if one.severity is Severity.ERROR])
    return analysed


def with_asked(document: Mapping[str, Any], program: AnalysedProgram) -> AnalysedProgram:
    """Give the program with the rule of a certificate's goal, where the goal is such a relation.

    The rule adds a relation that nothing else uses, so it says what was asked and no more.
    """
    if document["header"]["goal"][0] != ASKED or ASKED in program.program.predicates:
        return program
    try:
        carried = decode_program(document)  # type: ignore[arg-type]  # members of JSON
    except ValueError:
        return program
    own = [rule for rule in carried.rules if _is_asked(rule.head.predicate)]
    rule = next((one for one in own if one.head.predicate == ASKED), None)
    heads = Counter(one.head.predicate for one in own)
    if rule is None or heads[ASKED] != 1 or not rule.body or any(one.assumed for one in own):
        return program
    base = program.program
    declared = {name: one for name, one in carried.program.predicates.items() if _is_asked(name)}
    try:
        rules = [replace(one, body=_as_written(one.body, carried.program)) for one in own]
    except (StopIteration, TypeError, ValueError):
        # A projection that nothing projects: no goal has such a rule.
        return program
    joined = replace(base, predicates={**base.predicates, **declared}, rules=(*base.rules, *rules))
    return analyse(joined, []) or program


def _as_written(body: Sequence[Literal], program: Program) -> tuple[Literal, ...]:
    """Give a body as it was before its negated atoms were projected."""
    variables = (one for literal in body for one in literal_variables(literal))
    number = max((int(one.name[1:]) for one in variables if is_wildcard(one)), default=0)
    found: list[Literal] = []
    for literal in body:
        written = written_literal(program, literal)
        if isinstance(written, Negative) and written is not literal:
            # Numbered anew: the projection has numbered them by its columns. What is read there has
            # a name that no text spells, since it stands in no other place.
            terms: list[Term] = []
            for term in written.atom.terms:
                number += 1
                if is_wildcard(term):
                    terms.append(Variable(f"_{number}"))
                elif isinstance(literal, Negative) and term not in literal.atom.terms:
                    terms.append(Variable(f"_read.{number}"))
                else:
                    terms.append(term)
            written = Negative(replace(written.atom, terms=tuple(terms)))
        found.append(written)
    return tuple(found)


def _is_asked(name: str) -> bool:
    """Tell whether it is the relation of a goal, or one that this needs for its ranges."""
    return name == ASKED or name.startswith(f"{ASKED}.range")
