"""Check the attributes `@[...]` of predicates, columns and rules.

In: a draft with its declarations. Out: diagnostics C0240 (a warning) to C0243, and those of
`abducing` and `sentences`. Invariant:
afterwards `Predicate.key` loses no name, null policies are known ones, and every `{x}` of a
sentence can be filled in. Example: `@[kye = "c"]` is C0240.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis.abducing import check_abducing, check_reasons
from constat.analysis.sentences import check_sentences
from constat.diagnostics import Diagnostic, Severity, nearest
from constat.logic import NULL_POLICIES, outer_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis.draft import Draft
    from constat.diagnostics import Span
    from constat.logic import Column, Predicate, Rule

_ANYWHERE = ("approved", "author", "description", "expect", "owner", "says", "says_not")
OF_PREDICATES = (
    *_ANYWHERE,
    *(
        "abducible",
        "closed",
        "constraint",
        "distinct",
        "given",
        "key",
        "null",
        "removable",
        "says_unknown",
    ),
)
OF_TYPES = ("approved", "author", "description", "owner", "unit")
_STYLES = ("id", "percent", "places", "unit", "year")
OF_COLUMNS = ("description", "given", "null", "nullable", *_STYLES)
_MOST_PLACES = 12
OF_RULES = (*_ANYWHERE, "confidence", "floor", "id", "reasons")


def check_attributes(draft: Draft) -> None:
    """Report attributes that are unknown or say something impossible."""
    for definition in draft.program.types.values():
        draft.diagnostics.extend(_unknown(definition.attributes, OF_TYPES, "type", definition.span))
    derived = {rule.head.predicate for rule in draft.program.rules}
    for predicate in draft.predicates.values():
        draft.diagnostics.extend(_of_predicate(predicate))
        draft.diagnostics.extend(check_abducing(predicate, derived=predicate.name in derived))
    seen: set[Span] = set()
    for rule in draft.program.rules:
        # Each alternative has a body of its own.
        draft.diagnostics.extend(check_reasons(rule))
        # Rules lowered from one rule of the text share its attributes.
        if rule.attributes and (rule.span is None or rule.span not in seen):
            draft.diagnostics.extend(_of_rule(draft, rule))
            if rule.span is not None:
                seen.add(rule.span)


def _of_predicate(predicate: Predicate) -> Iterator[Diagnostic]:
    place, attributes = predicate.span, predicate.attributes
    names = [column.name for column in predicate.columns]
    if attributes:
        yield from _unknown(attributes, OF_PREDICATES, "predicate", place)
        yield from _null(attributes, place)
        yield from _keys(attributes, predicate, names)
        yield from check_sentences(attributes, names, place)
    if predicate.source is not None:
        yield from _null(predicate.source.parameters, predicate.source.span or place)
    for column in predicate.columns:
        if column.attributes:
            yield from _unknown(column.attributes, OF_COLUMNS, "column", column.span or place)
            yield from _null(column.attributes, column.span or place)
            yield from _style(column, column.span or place)


def _style(column: Column, place: Span | None) -> Iterator[Diagnostic]:
    """Report what a column cannot be written like."""
    given = [key for key in _STYLES if key in column.attributes]
    places = column.attributes.get("places", "0")
    wrong = edit = ""
    if not places.isdecimal() or int(places) > _MOST_PLACES:
        wrong, edit = f"`places` is `{places}`", "write `@[places = 2]`"
    elif given and given != ["unit"] and not (column.kind.numeric or given == ["id"]):
        wrong, edit = f"`{given[0]}` is said of a {column.kind.value}", f"delete `@[{given[0]}]`"
    elif len(given) > 1 and set(given) not in ({"places", "unit"}, {"places", "percent"}):
        wrong, edit = (
            f"`{given[0]}` and `{given[1]}` exclude each other",
            f"keep one: `@[{given[0]}]`",
        )
    if wrong:
        yield Diagnostic(
            "C0246",
            f"column `{column.name}` cannot be written so: {wrong}",
            place,
            note="a number has a `unit`, or is a `percent`, with `places` if they matter; an `id` "
            "or a `year` is written as it is",
            help=edit,
        )


def _of_rule(draft: Draft, rule: Rule) -> Iterator[Diagnostic]:
    yield from _unknown(rule.attributes, OF_RULES, "rule", rule.span)
    predicate = draft.predicates.get(rule.head.predicate)
    columns = [] if predicate is None else [column.name for column in predicate.columns]
    variables = [name for name in outer_names(rule) if not name.startswith("_")]
    yield from check_sentences(rule.attributes, [*variables, *columns], rule.span)


def _unknown(
    attributes: Mapping[str, str], known: Iterable[str], what: str, place: Span | None
) -> Iterator[Diagnostic]:
    for key in dict.fromkeys(one.partition(".")[0] for one in attributes):
        if key in known:
            continue
        near = nearest(key, known)
        edit = f"write `@[{near} = ...]`" if near else "delete it, or say it in a `//` comment"
        yield Diagnostic(
            "C0240",
            f"a {what} has no attribute `{key}`",
            place,
            label=f"`@[{key} ...]` is ignored",
            note=f"the attributes of a {what} are: {', '.join(sorted(known))}",
            help=edit.replace(" = ...", ' = "text"'),
            severity=Severity.WARNING,
        )


def _null(attributes: Mapping[str, str], place: Span | None) -> Iterator[Diagnostic]:
    policy = attributes.get("null")
    if policy is not None and policy not in NULL_POLICIES:
        near = nearest(policy, NULL_POLICIES) or "skip"
        yield Diagnostic(
            "C0242",
            "this null policy does not exist",
            place,
            label=f"the policy is `{policy}`",
            note="`error` stops, `skip` leaves the row out; under the others the row stays: `none` "
            "says that there is no value, `unknown` that nobody knows it, `maybe` leaves that open",
            help=f"write `null = {near}`",
        )


def _keys(
    attributes: Mapping[str, str], predicate: Predicate, names: list[str]
) -> Iterator[Diagnostic]:
    for name in (one.strip() for one in attributes.get("key", "").split(",")):
        if name in names or (not name and "key" not in attributes):
            continue
        near = nearest(name, names) or (names[0] if names else "column")
        yield Diagnostic(
            "C0241",
            f"`{predicate.name}` has no column `{name}` for its key",
            predicate.span,
            label=f"its columns are {', '.join(f'`{one}`' for one in names) or 'none'}",
            note="a key names columns; per value of the key a higher tier shadows a lower one",
            help=f'write `@[key = "{near}"]`',
        )
