"""Check that every variable of a rule is bound, used twice, and not null without a policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

from constat.analysis.aggregation import shadowed_names
from constat.analysis.attributes import named_in_sentence, sentences
from constat.analysis.binding import (
    Step,
    aggregate_variables,
    bind,
    free_names,
    is_pattern,
    names_in,
    steps_of,
)
from constat.analysis.kind_mistakes import any_value
from constat.analysis.modes import given_names
from constat.diagnostics import Diagnostic, Related, Severity, nearest
from constat.logic import (
    Aggregate,
    Atom,
    Comparison,
    Negative,
    Positive,
    Rule,
    Variable,
    is_wildcard,
    literal_variables,
    null_policies,
    outer_names,
    term_variables,
)
from constat.syntax import Mode, print_atom, print_literal, print_rule, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis.analysed import Draft
    from constat.logic import Literal, Predicate, Term

# What stands in backquotes in a help is text that parses.

_LOOKED_AT = 1000


def occurrences(rule: Rule) -> Iterator[Variable]:
    """Yield every variable occurrence of a rule, head first."""
    for term in rule.head.terms:
        yield from term_variables(term)
    for literal in rule.body:
        yield from literal_variables(literal)


def in_head(draft: Draft, rule: Rule, variable: Variable) -> Diagnostic:
    """Report a head variable that the body does not bind."""
    shown = print_term(variable)
    return Diagnostic(
        "C0203",
        f"variable `{shown}` in the head is never bound",
        variable.span or rule.head.span or rule.span,
        label="used only here" if _uses(rule, variable) == 1 else "no positive atom binds it",
        note="every head variable must occur in a positive body atom, or get its value from `=` "
        "or an aggregate",
        help=_binder(draft, rule, variable),
    )


def in_negation(rule: Rule, variable: Variable, atom: Atom) -> Diagnostic:
    """Report a variable that occurs only under negation."""
    shown = print_term(variable)
    edit = f"write `{print_literal(Negative(_without(atom, {variable})))}` if any value counts"
    if _uses(rule, variable) > 1:
        edit = f"deny a predicate of its own: `{_denied_rule(rule, variable, atom)}`"
    return Diagnostic(
        "C0204",
        f"variable `{shown}` under `!` is never bound",
        variable.span or atom.span,
        label="what is absent cannot bind a variable",
        note="a variable of a negated atom occurs in a positive atom too; `_` stands for any value",
        help=edit,
    )


def _denied_rule(rule: Rule, variable: Variable, atom: Atom) -> str:
    """Write a rule for what is denied, with the comparisons that the variable stands in.

    What else is compared is bound there as it is here.
    """
    compared = [
        one
        for one in rule.body
        if isinstance(one, Comparison) and variable in set(literal_variables(one))
    ]
    outside = {
        term.name for one in _positive(rule) for term in one.terms if isinstance(term, Variable)
    }
    own = {term.name for term in atom.terms if isinstance(term, Variable)}
    others = {
        one for each in compared for one in literal_variables(each) if one.name in outside - own
    }
    binders = [
        Positive(one) for one in _positive(rule) if others & set(literal_variables(Positive(one)))
    ]
    terms = (*atom.terms, *sorted(others, key=lambda one: one.name))
    kept = tuple(
        dict.fromkeys(term for term in terms if isinstance(term, Variable) and term.name in outside)
    )
    head = Atom(f"such_{atom.predicate}", kept)
    body: tuple[Literal, ...] = (*binders, Positive(atom), *compared)
    return _one_line(replace(rule, head=head, body=body, attributes={}))


def in_comparison(
    draft: Draft, rule: Rule, variable: Variable, comparison: Comparison
) -> Diagnostic:
    """Report a variable that occurs only in comparisons."""
    return Diagnostic(
        "C0205",
        f"variable `{print_term(variable)}` in a comparison is never bound",
        variable.span or comparison.span,
        label="nothing gives it a value",
        note="a comparison tests values; only `=` with a known other side binds a variable",
        help=_binder(draft, rule, variable),
    )


def in_function(variable: Variable, atom: Atom) -> Diagnostic:
    """Report a variable that occurs only inside a function of a positive atom."""
    place = next(
        index for index, term in enumerate(atom.terms) if variable in set(term_variables(term))
    )
    fresh = Variable(f"{variable.name}_value")
    changed = replace(atom, terms=(*atom.terms[:place], fresh, *atom.terms[place + 1 :]))
    return Diagnostic(
        "C0205",
        f"variable `{print_term(variable)}` in an expression is never bound",
        variable.span or atom.span,
        label="a function cannot be turned round to find its argument",
        note="the arguments of a function are bound by other literals of the body",
        help=f"write `{print_atom(changed)}`, and bind `{print_term(variable)}` by another atom",
    )


def group(rule: Rule, variable: Variable, aggregate: Aggregate, atom: Atom) -> Diagnostic:
    """Report a variable of the head or body that is bound only inside an aggregate."""
    shown = print_term(variable)
    grounding = _only(atom, variable)
    grounded = replace(rule, body=(Positive(grounding), *rule.body), attributes={})
    inside = next((one for one in _inside(aggregate) if one == variable), variable)
    related = () if inside.span is None else (Related(inside.span, "bound only in here"),)
    return Diagnostic(
        "C0208",
        f"variable `{shown}` is bound only inside an aggregate",
        variable.span or aggregate.span,
        label="this is the group, and nothing outside the aggregate binds it",
        note="group keys come from outside the aggregate: otherwise nothing tells an empty group "
        "from one that does not exist",
        help=f"add `{print_atom(grounding)}`: `{_one_line(grounded)}`",
        related=related,
    )


def in_aggregate(rule: Rule, variable: Variable, aggregate: Aggregate) -> Diagnostic:
    """Report a local variable that no positive atom of the aggregate binds."""
    shown = print_term(variable)
    return Diagnostic(
        "C0210",
        f"variable `{shown}` inside `{aggregate.function}` is never bound",
        variable.span or aggregate.span or rule.span,
        label="no positive atom of the aggregate binds it",
        note="an aggregate ranges over the bindings that the positive atoms in its body give",
        help=_inside_help(variable, aggregate),
    )


def _inside_help(variable: Variable, aggregate: Aggregate) -> str:
    for literal in aggregate.body:
        if isinstance(literal, Negative) and variable in set(literal_variables(literal)):
            # Another `_` of the same atom is bound no better than this one.
            terms = literal.atom.terms
            loose = {variable, *(one for one in terms if _is_unnamed(one))}
            head = Atom(
                f"some_{literal.atom.predicate}", tuple(one for one in terms if one not in loose)
            )
            return (
                f"write `!{print_atom(head)}` with the rule `{print_atom(head)} :- "
                f"{print_atom(_without(literal.atom, loose))}.`"
            )
    shown = print_term(variable)
    unused = [
        (one.atom, term)
        for one in aggregate.body
        if isinstance(one, Positive)
        for term in one.atom.terms
        if isinstance(term, Variable) and term.name.startswith("_")
    ]
    same = [(atom, term) for atom, term in unused if term.name == f"_{variable.name}"]
    for atom, old in same or unused:
        changed = replace(atom, terms=tuple(variable if one == old else one for one in atom.terms))
        return f"bind `{shown}` in the body, for example with `{print_atom(changed)}`"
    return f"add an atom to the body, for example `known_{variable.name}({shown})`"


def _uses(rule: Rule, variable: Variable) -> int:
    return sum(one == variable for one in occurrences(rule))


def _inside(aggregate: Aggregate) -> Iterator[Variable]:
    for inner in aggregate.body:
        yield from literal_variables(inner)


def _is_unnamed(term: Term) -> bool:
    return isinstance(term, Variable) and term.name.startswith("_")


def _without(atom: Atom, loose: Collection[Term]) -> Atom:
    """Give the atom with `_` in place of some variables."""
    wild = Variable("_1")
    return replace(atom, terms=tuple(wild if one in loose else one for one in atom.terms))


def _only(atom: Atom, variable: Variable) -> Atom:
    """Give the atom with `_` in place of everything but a variable."""
    wild = Variable("_1")
    return replace(atom, terms=tuple(one if one == variable else wild for one in atom.terms))


def _one_line(rule: Rule) -> str:
    text = print_rule(replace(rule, id=f"{rule.head.predicate}.1", confidence=Decimal(1)))
    return " ".join(text.split())


def _binder(draft: Draft, rule: Rule, variable: Variable) -> str:
    """Say what could bind a variable: one that is used once in its place, or a column of the body.

    An atom of a predicate that the rule says nothing of would bind it too, to rows that have
    nothing to do with the others: following that gave wrong answers.
    """
    lonely = _lonely(rule, variable)
    if lonely is not None:
        shown, other = print_term(variable), print_term(lonely)
        return f"write `{other}` if that is meant, or bind `{shown}` in an atom of the body"
    for atom in _positive(rule):
        predicate = draft.predicates.get(atom.predicate)
        for term, column in zip(atom.terms, predicate.columns if predicate else (), strict=False):
            if is_wildcard(term) and column.name == variable.name.strip("_"):
                return f"read it from `{atom.predicate}`: `{column.name} = {print_term(variable)}`"
    for atom in _positive(rule):
        predicate = draft.predicates.get(atom.predicate)
        wanted = _head_type(draft, rule, variable)
        for term, column in zip(atom.terms, predicate.columns if predicate else (), strict=False):
            if is_wildcard(term) and column.type_name == wanted:
                edit = f"`{column.name} = {print_term(variable)}`"
                return f"read it from a column of the body, such as {edit} in `{atom.predicate}`"
    joined = _joined(draft, rule, variable)
    return f"bind it, for example with `{joined}`"


def _joined(draft: Draft, rule: Rule, variable: Variable) -> str:
    """Give an atom with a column of the variable's name that shares a variable with the body."""
    known = {one.name for one in occurrences(rule)}
    for predicate in islice(draft.predicates.values(), _LOOKED_AT):
        names = [column.name for column in predicate.columns]
        shared = known & set(names) - {variable.name}
        if predicate.name != rule.head.predicate and variable.name in names and shared:
            terms: list[Term] = [
                Variable(name if name in shared or name == variable.name else "_1")
                for name in names
            ]
            return print_atom(Atom(predicate.name, tuple(terms)))
    return print_atom(Atom(f"known_{variable.name.strip('_')}", (variable,)))


def _positive(rule: Rule) -> list[Atom]:
    return [literal.atom for literal in rule.body if isinstance(literal, Positive)]


def _lonely(rule: Rule, variable: Variable) -> Variable | None:
    """Give the only variable of the positive atoms that nothing else uses."""
    found = [
        term
        for atom in _positive(rule)
        for term in atom.terms
        if isinstance(term, Variable)
        and not is_wildcard(term)
        and not term.name.startswith("_")
        and term.name != variable.name
        and _uses(rule, term) == 1
    ]
    return found[0] if len(found) == 1 else None


def _head_type(draft: Draft, rule: Rule, variable: Variable) -> str:
    predicate = draft.predicates.get(rule.head.predicate)
    if predicate is not None:
        for term, column in zip(rule.head.terms, predicate.columns, strict=False):
            if term == variable:
                return column.type_name
    return ""


# Afterwards a rule without a diagnostic is safe as `constat/check/FORMAT.md`, section 4 has it,
# and its body can be ordered.


def check_safety(draft: Draft) -> None:
    """Report variables that nothing binds."""
    for rule in draft.program.rules:
        draft.diagnostics.extend(unsafe_variables(draft, rule))


def unsafe_variables(draft: Draft, rule: Rule) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each variable of a rule that nothing binds."""
    names = outer_names(rule)
    outer = set(names)
    # Only `_` and `_name` may stand for any value: a plain name was meant to be bound.
    free = {name for name in free_names(rule) if name[0] == "_"}
    steps = list(steps_of(rule.body, outer, free))
    bound = bind(steps, given_names(rule, draft.predicates))
    skipped = free | shadowed_names(rule, outer)
    missing = [name for name in names if name not in bound.names and name not in skipped]
    for name in _causes(missing, steps, rule):
        yield _unbound(draft, rule, name)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            yield from _unbound_inside(rule, literal, outer)


def _causes(missing: list[str], steps: list[Step], rule: Rule) -> list[str]:
    """Leave out what would be bound if the other missing variables were: one error per cause."""
    names = set(missing)
    consequences = {
        name
        for step in steps
        for name in step.gives & names
        if (step.needs - {name}) & names and name not in step.needs and not _is_making(step, names)
    }
    causes = [name for name in missing if name not in consequences]
    if causes or not missing:
        return causes
    # A circle: each would be bound if another were. What an aggregate groups by is the way out.
    groups = [name for name in missing if _safety_inside(rule, name) is not None]
    return (groups or missing)[:1]


def _is_making(step: Step, missing: set[str]) -> bool:
    """Tell whether a structure lacks nothing but its `_`: then it was meant to be made."""
    return step.opens and all(name[0] == "_" for name in step.gives & missing)


def _safety_inside(rule: Rule, name: str) -> tuple[Aggregate, Atom] | None:
    """Give the aggregate and the positive atom in it that hold a variable."""
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            for inner in literal.body:
                if isinstance(inner, Positive) and name in names_in(inner.atom.terms):
                    return literal, inner.atom
    return None


def _unbound(draft: Draft, rule: Rule, name: str) -> Diagnostic:
    """Choose the diagnostic that shows the mistake best."""
    where = _made_with(rule.body, name, rule.head)
    if where:
        return any_value(_occurrence(rule, name), where)
    inside = _safety_inside(rule, name)
    if inside is not None:
        return group(rule, _occurrence(rule, name), *inside)
    if name in names_in(rule.head.terms):
        return in_head(draft, rule, _occurrence(rule, name))
    for literal in rule.body:
        match literal:
            case Negative(atom) if name in names_in(atom.terms):
                return in_negation(rule, _occurrence(rule, name), atom)
            case Positive(atom) if name in names_in(atom.terms):
                return in_function(_occurrence(rule, name), atom)
            case Comparison() if name in names_in((literal.left, literal.right)):
                return in_comparison(draft, rule, _occurrence(rule, name), literal)
            case _:
                pass
    return in_head(draft, rule, _occurrence(rule, name))


def _made_with(body: Iterable[Literal], name: str, head: Atom | None = None) -> str:
    """Say where a `_` stands in a structure that is made; empty for other variables."""
    if name[0] != "_":
        return ""
    if head is not None and _has_part(head.terms, name):
        return "in the head"
    for literal in body:
        match literal:
            case Negative(atom) if _has_part(atom.terms, name):
                return "under `!`"
            case Comparison() if _has_part((literal.left, literal.right), name):
                return "that is made or compared"
            case _:
                pass
    return ""


def _has_part(terms: Iterable[Term], name: str) -> bool:
    return any(is_pattern(term) and name in names_in((term,)) for term in terms)


def _occurrence(rule: Rule, name: str) -> Variable:
    """Give the first occurrence of a variable in a rule."""
    return next(one for one in occurrences(rule) if one.name == name)


def _unbound_inside(rule: Rule, aggregate: Aggregate, outer: set[str]) -> Iterator[Diagnostic]:
    bound = bind(steps_of(aggregate.body, outer, set()), outer)
    reported: set[str] = set()
    for variable in aggregate_variables(aggregate):
        if variable.name not in bound.names and variable.name not in reported:
            reported.add(variable.name)
            where = _made_with(aggregate.body, variable.name)
            if where:
                yield any_value(variable, where)
            else:
                yield in_aggregate(rule, variable, aggregate)


# A literal reads a column when it writes anything but `_` there. An order not yet shipped has no
# date, and what a rule over dates says of it is for the declaration to tell.


def check_nulls(draft: Draft) -> None:
    """Report columns that can be null and are read without a policy, one for each rule."""
    without = {
        name: places
        for name, predicate in draft.predicates.items()
        if (places := _without_policy(predicate))
    }
    if not without:
        return
    for rule in draft.program.rules:
        draft.diagnostics.extend(_read(draft, rule, without))


def _without_policy(predicate: Predicate) -> set[int]:
    source = predicate.source.parameters if predicate.source else {}
    if "null" in predicate.attributes or "null" in source:
        return set()
    return {
        place
        for place, column in enumerate(predicate.columns)
        if column.attributes.get("nullable", "false") != "false" and "null" not in column.attributes
    }


def _read(draft: Draft, rule: Rule, without: dict[str, set[int]]) -> Iterator[Diagnostic]:
    told: set[tuple[str, int]] = set()
    for literal in flat(rule.body):
        if not isinstance(literal, Positive | Negative):
            continue
        atom = literal.atom
        for place in sorted(without.get(atom.predicate, ())):
            if (atom.predicate, place) in told or place >= len(atom.terms):
                continue
            term = atom.terms[place]
            if not (isinstance(term, Variable) and is_wildcard(term)):
                told.add((atom.predicate, place))
                yield _missing_policy(term, draft.predicates[atom.predicate], place)


def flat(body: tuple[Literal, ...]) -> Iterator[Literal]:
    """Yield the literals of a body; of an aggregate those inside it."""
    for literal in body:
        yield from literal.body if isinstance(literal, Aggregate) else (literal,)


def _missing_policy(term: Term, predicate: Predicate, place: int) -> Diagnostic:
    column = predicate.columns[place]
    declared = column.span or predicate.span
    return Diagnostic(
        "C0211",
        f"column `{column.name}` of `{predicate.name}` can be null, and no policy is given",
        term.span,
        label=f"`{print_term(term)}` reads it here",
        note="a null is never a value: `skip` leaves the row out; `none` says that there is no "
        "value, `unknown` that nobody knows it, `maybe` leaves that open; `error` stops",
        help=f"declare it with a policy: `.decl {predicate.name}({_columns(predicate, place)})`",
        related=() if declared is None else (Related(declared, "declared here"),),
    )


def _columns(predicate: Predicate, place: int) -> str:
    return ", ".join(
        ("@[nullable] @[null = maybe] " if index == place else "") + f"{one.name}: {one.type_name}"
        for index, one in enumerate(predicate.columns)
    )


# A variable that occurs elsewhere in the same rule of the text is never reported, though lowering
# made several rules of several heads and of `;`; nor is one whose value the rule's sentence tells.


def check_singletons(draft: Draft) -> None:
    """Report variables that occur once in a rule of the text."""
    reported = {one.span for one in draft.diagnostics if one.code in _BETTER}
    severity = Severity.WARNING if draft.mode is Mode.SOUFFLE else Severity.ERROR
    for rules in rules_of_text(draft.program.rules):
        for variable, names in _single(rules):
            if variable.span is None or variable.span not in reported:
                reads = any(_may_be_null(draft, rule, variable) for rule in rules)
                # What has the name of its column is no slip of another column's name.
                likely = set() if _has_columns_name(draft, rules[0], variable) else names
                told = _used_once(variable, likely, rules[0], reads=reads)
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


def _has_columns_name(draft: Draft, rule: Rule, variable: Variable) -> bool:
    """Tell whether it stands in a column that is called as it is."""
    return any(
        column.name == variable.name and term == variable
        for literal in flat(rule.body)
        if isinstance(literal, Positive | Negative)
        and (predicate := draft.predicates.get(literal.atom.predicate)) is not None
        for term, column in zip(literal.atom.terms, predicate.columns, strict=False)
    )


def _used_once(variable: Variable, names: set[str], rule: Rule, *, reads: bool) -> Diagnostic:
    shown = print_term(variable)
    near = nearest(variable.name, names)
    edit = f"write `_{variable.name}` or `_` if any value will do"
    if reads:
        edit = (
            f"write `_{variable.name}` if the row must have a value there; if it may be null as "
            "well, write `_`, or leave the column out where it is named"
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
