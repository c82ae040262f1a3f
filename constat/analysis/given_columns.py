"""Columns that goal or caller must bind: `@[given(days)]` before a declaration (semantics 42).

The rules of such a predicate may use these columns without another binding. Whoever asks for it
binds them first: a rule by its other literals, a goal by a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis.binding import names_in, waiting_atoms
from constat.analysis.modes import required_terms
from constat.diagnostics import Diagnostic, Related, Severity, nearest
from constat.logic import Atom, Variable
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis.binding import Inputs
    from constat.analysis.draft import Draft
    from constat.logic import Predicate, Rule


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


def left_open(atom: Atom, predicate: Predicate, names: frozenset[str]) -> Diagnostic:
    """Report an atom that leaves a given column open."""
    places = [one for one in predicate.given if names_in((atom.terms[one],)) & names]
    place = places[0] if places else predicate.given[0]
    column, shown = predicate.columns[place], print_term(atom.terms[place])
    binder = f"known_{column.name}({shown})" if shown != "_" else f"known_{column.name}(?x)"
    return Diagnostic(
        "C0249",
        f"`{predicate.name}` is asked without a value for `{column.name}`",
        atom.terms[place].span or atom.span,
        label="whoever asks has to give it",
        note="the rules of the predicate compare or calculate with this column, and bind it by "
        "nothing; a rule whose head passes it on declares it `given` as well",
        help=f"bind it by another literal, for example `{binder}`",
        related=() if predicate.span is None else (Related(predicate.span, "declared here"),),
    )
