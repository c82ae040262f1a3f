"""Check that predicates which need inputs can get them.

In: a draft; an input says `required = "c"` where a source answers only when `c` is bound. Out:
diagnostics C0230 and C0231. Invariant: in every rule some order of the body binds the required
columns, where the head's variables may be bound by whoever asks; then the head requires them in
turn. Example: `price(?i, ?p) :- api(?i, ?p).` requires `i` of `price`.

Required columns only grow, so the iteration ends (a least fixpoint over finitely many columns).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis.binding import Inputs, names_in, nothing_required, waiting_atoms
from constat.diagnostics import Diagnostic, Related, nearest
from constat.logic import Aggregate, Negative, Positive, Variable
from constat.syntax import print_atom, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis.draft import Draft
    from constat.logic import Atom, Literal, Predicate, Rule, Term

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
