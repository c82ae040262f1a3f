"""Check that predicates which need inputs can get them, those of `@[given(...)]` included."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis.binding import Inputs, names_in, nothing_required, waiting_atoms
from constat.diagnostics import Diagnostic, Related, Severity, nearest
from constat.logic import Aggregate, Atom, Kind, Negative, Positive, Variable
from constat.syntax import print_atom, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis.analysed import Draft
    from constat.logic import Literal, Predicate, Rule, Term

# In every rule some order of the body binds the required columns, where the head's variables may
# be bound by whoever asks; then the head requires them in turn.
# Required columns only grow, so the iteration ends (a least fixpoint over finitely many columns).

Required = dict[str, set[int]]
"""The places of the columns that must be bound, by predicate."""


def check_modes(draft: Draft) -> None:
    """Report required columns that no order of a body binds."""
    for predicate in draft.predicates.values():
        draft.diagnostics.extend(_unknown_columns(predicate))
    if not declared_inputs(draft.predicates):
        return
    # Opened rules: a structure that a source requires must be made before it is asked.
    required = required_inputs(draft.rules, draft.predicates)
    for rule in draft.rules:
        for atom, place in _stuck(rule, required):
            draft.diagnostics.append(cannot_bind(atom, draft.predicates[atom.predicate], place))


def declared_inputs(predicates: Mapping[str, Predicate]) -> Required:
    """Give the required columns as the inputs say."""
    found: Required = {}
    for predicate in predicates.values():
        if predicate.source is not None and "required" in predicate.source.parameters:
            names = _names(predicate)
            places = {p for p, column in enumerate(predicate.columns) if column.name in names}
            if places:
                found[predicate.name] = places
    return found


def required_inputs(rules: Sequence[Rule], predicates: Mapping[str, Predicate]) -> Required:
    """Give the required columns of all predicates, derived ones included."""
    required = declared_inputs(predicates)
    if not required:
        return required
    callers: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in {atom.predicate for atom in _atoms(rule.body)}:
            callers.setdefault(name, []).append(rule)
    changed = list(required)
    while changed:
        for rule in callers.get(changed.pop(), ()):
            needed = _needed_places(rule, required)
            known = required.setdefault(rule.head.predicate, set())
            if not needed <= known:
                known |= needed
                changed.append(rule.head.predicate)
    return required


def _needed_places(rule: Rule, required: Required) -> set[int]:
    """Give the head columns whose values the body cannot do without."""
    needed = needed_names(rule, required)
    return {
        place
        for place, term in enumerate(rule.head.terms)
        if isinstance(term, Variable) and term.name in needed
    }


def needed_names(rule: Rule, required: Required) -> set[str]:
    """Give the head's variables that whoever asks must bind."""
    head = {term.name for term in rule.head.terms if isinstance(term, Variable)}
    given: set[str] = set()
    while True:
        waiting = waiting_atoms(rule, required_terms(required), given)
        missing = {name for _, names in waiting for name in names}
        fresh = (missing & head) - given
        if not fresh:
            return given
        given.add(min(fresh))


def required_terms(required: Required) -> Inputs:
    """Give what tells the terms of an atom that must be bound before it is asked."""
    if not required:
        return nothing_required

    def inputs(atom: Atom) -> list[Term]:
        places = required.get(atom.predicate, ())
        return [atom.terms[place] for place in places if place < len(atom.terms)]

    return inputs


def _stuck(rule: Rule, required: Required) -> Iterator[tuple[Atom, int]]:
    """Yield the atoms with a required column that nothing binds, whoever asks."""
    given = needed_names(rule, required)
    for atom, names in waiting_atoms(rule, required_terms(required), given):
        for place in sorted(required[atom.predicate]):
            if names_in((atom.terms[place],)) & names:
                yield atom, place
                break


def cannot_bind(atom: Atom, predicate: Predicate, place: int) -> Diagnostic:
    """Report a required column that has no value when the source is asked."""
    column = predicate.columns[place]
    shown = print_term(atom.terms[place])
    source = predicate.source.span if predicate.source else predicate.span
    return Diagnostic(
        "C0230",
        f"`{predicate.name}` cannot be asked: its column `{column.name}` has no value yet",
        atom.terms[place].span or atom.span,
        label="no other literal binds it first",
        note="the source answers only when the columns named by `required` are bound",
        help=f"bind `{shown}` by another literal before `{print_atom(atom)}` needs it: "
        f"`known_{column.name}({shown})`",
        related=() if source is None else (Related(source, "required here"),),
    )


def _names(predicate: Predicate) -> list[str]:
    text = predicate.source.parameters.get("required", "") if predicate.source else ""
    return [name.strip() for name in text.split(",") if name.strip()]


def _unknown_columns(predicate: Predicate) -> Iterator[Diagnostic]:
    if predicate.source is None:
        return
    known = [column.name for column in predicate.columns]
    for name in _names(predicate):
        if name not in known:
            near = nearest(name, known) or (known[0] if known else "column")
            yield Diagnostic(
                "C0231",
                f"`{predicate.name}` has no column `{name}` that could be required",
                predicate.source.span or predicate.span,
                label=f"its columns are {', '.join(f'`{one}`' for one in known) or 'none'}",
                note="`required` names the columns that must be bound when the source is asked",
                help=f'write `required = "{near}"`',
            )


def _atoms(body: Iterable[Literal]) -> Iterator[Atom]:
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom
            case Aggregate(body=inner):
                yield from (one.atom for one in inner if isinstance(one, Positive | Negative))
            case _:
                pass


# The rules of such a predicate may use these columns without another binding. Whoever asks for it
# binds them first: a rule by its other literals, a goal by a value.


def given_names(rule: Rule, predicates: Mapping[str, Predicate]) -> frozenset[str]:
    """Give the variables of a head that whoever asks has bound."""
    predicate = predicates.get(rule.head.predicate)
    if predicate is None:
        return frozenset()
    if any(_unknown(predicate)):
        # Reported by itself: what is meant would only be reported as unbound besides.
        return names_in(rule.head.terms)
    if not predicate.given:
        return frozenset()
    terms = [rule.head.terms[place] for place in predicate.given if place < len(rule.head.terms)]
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def given_terms(predicates: Mapping[str, Predicate]) -> Inputs:
    """Give what tells the terms of an atom that whoever asks must bind."""
    return required_terms({one.name: set(one.given) for one in predicates.values()})


def check_given(draft: Draft) -> None:
    """Report given columns that do not exist, and atoms that leave one open."""
    predicates = draft.predicates
    for predicate in predicates.values():
        if "given" in predicate.attributes or predicate.given:
            draft.diagnostics.extend(_of_predicate(predicate, draft))
    if not any(one.given for one in predicates.values()):
        return
    if any(one.severity is Severity.ERROR for one in draft.diagnostics):
        return
    inputs = given_terms(predicates)
    for rule in draft.program.rules:
        for atom, names in waiting_atoms(rule, inputs, given_names(rule, predicates)):
            draft.diagnostics.append(left_open(atom, predicates[atom.predicate], names))


def _of_predicate(predicate: Predicate, draft: Draft) -> Iterator[Diagnostic]:
    names = [column.name for column in predicate.columns]
    for name in _unknown(predicate):
        near = nearest(name, names) or (names[0] if names else "column")
        yield Diagnostic(
            "C0247",
            f"`{predicate.name}` has no column `{name}` that could be given",
            predicate.span,
            label=f"its columns are {', '.join(f'`{one}`' for one in names) or 'none'}",
            note="`given` names the columns that whoever asks binds",
            help=f"write `@[given = {near}]`",
        )
    derived = any(rule.head.predicate == predicate.name for rule in draft.program.rules)
    if predicate.given and (predicate.source is not None or not derived):
        yield Diagnostic(
            "C0247",
            f"`{predicate.name}` has given columns and no rules that use them",
            predicate.span,
            label="its rows come from outside",
            note="given columns are for rules; a source that needs a value says `required`",
            help='write `.input p(required = "c")`, or delete `@[given = c]`',
        )


def _unknown(predicate: Predicate) -> Iterator[str]:
    """Yield the names of given columns that the predicate has not."""
    known = {column.name for column in predicate.columns}
    written = predicate.attributes.get("given", "").split(",")
    yield from (name for name in map(str.strip, written) if name and name not in known)


_EXAMPLES: Final = MappingProxyType(
    {
        Kind.FLOAT: "1.5",
        Kind.DECIMAL: "10.50",
        Kind.SYMBOL: '"gold"',
        Kind.DATE: '"2025-01-31"',
        Kind.TIMESTAMP: '"2025-01-31T10:00:00Z"',
        Kind.BOOL: '"true"',
        Kind.STRUCTURE: "nil",
    }
)


def left_open(atom: Atom, predicate: Predicate, names: frozenset[str]) -> Diagnostic:
    """Report an atom that leaves a given column open."""
    places = [one for one in predicate.given if names_in((atom.terms[one],)) & names]
    place = places[0] if places else predicate.given[0]
    column = predicate.columns[place]
    # A value in its place is the edit that always works; what binds it is another's to know.
    terms = [print_term(term) for term in atom.terms]
    terms[place] = _EXAMPLES.get(column.kind, "5")
    valued = f"{atom.predicate}({', '.join(terms)})"
    return Diagnostic(
        "C0249",
        f"`{predicate.name}` is asked without a value for `{column.name}`",
        atom.terms[place].span or atom.span,
        label="whoever asks has to give it",
        note="the rules of the predicate compare or calculate with this column, and bind it by "
        "nothing; a rule whose head passes it on declares it `given` as well",
        help=f"give a value, for example `{valued}`; in a rule another literal may bind it",
        related=() if predicate.span is None else (Related(predicate.span, "declared here"),),
    )
