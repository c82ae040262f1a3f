"""Check the attributes `@[...]` of predicates, columns and rules, sentences among them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity, nearest
from constat.logic import (
    NULL_POLICIES,
    Aggregate,
    Comparison,
    Constant,
    Variable,
    display_value,
    outer_names,
    term_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis.analysed import AnalysedProgram, Draft
    from constat.diagnostics import Span
    from constat.logic import Attributes, Column, Kind, Predicate, Rule, Term, Value

# Afterwards every cost is a decimal above 0, only facts of outside are abducible or removable, and
# a rule has as many reasons as its body has literals.

ABDUCIBLE: Final = "abducible"
REMOVABLE: Final = "removable"
REASONS: Final = "reasons"
NO_REASON: Final = "-"

_MOST_COST: Final = Decimal(1_000_000)
_MOST_PLACES: Final = 6
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,31}\Z")


def cost_from(text: str) -> Decimal | None:
    """Read a cost: a decimal above 0 and at most a million, of six places; ``None`` for others."""
    try:
        cost = Decimal(text)
    except InvalidOperation:
        return None
    if not cost.is_finite() or not 0 < cost <= _MOST_COST:
        return None
    exponent = cost.as_tuple().exponent
    return cost if isinstance(exponent, int) and -exponent <= _MOST_PLACES else None


def declared_cost(attributes: Attributes, name: str) -> str | None:
    """Return the cost that an attribute gives, 1 where it gives none; ``None`` without it."""
    text = attributes.get(f"{name}.cost", attributes.get(name))
    return "1" if text == "true" else text


def reason_codes(attributes: Attributes) -> tuple[str, ...]:
    """Return the reason codes of a rule by literal, ``-`` where a literal has none."""
    text = attributes.get(REASONS)
    return () if text is None else tuple(one.strip() for one in text.split(","))


def check_abducing(predicate: Predicate, *, derived: bool) -> Iterator[Diagnostic]:
    """Report costs that are none, and conclusions that are called abducible or removable."""
    for name in (ABDUCIBLE, REMOVABLE):
        text = declared_cost(predicate.attributes, name)
        if text is None:
            if any(key.startswith(f"{name}.") for key in predicate.attributes):
                yield _odd_cost(predicate, name, "")
        elif derived and predicate.source is None:
            yield Diagnostic(
                "C0707",
                f"`{predicate.name}` is derived by rules and cannot be {name}",
                predicate.span,
                note="a conclusion holds where its rules give it; facts of outside can be missing",
                help=f"write `@[{name}]` before a declaration that its rules rest on",
            )
        elif cost_from(text) is None:
            yield _odd_cost(predicate, name, text)


def _odd_cost(predicate: Predicate, name: str, text: str) -> Diagnostic:
    return Diagnostic(
        "C0705",
        f"`{text}` is no cost" if text else f"`{name}` says something, and no cost",
        predicate.span,
        note="a cost is a decimal above 0, at most a million, with at most six places",
        help=f"write `@[{name}(cost = 1)]`",
    )


def check_reasons(rule: Rule) -> Iterator[Diagnostic]:
    """Report reasons that do not fit the body, literal by literal."""
    codes = reason_codes(rule.attributes)
    if not codes:
        yield from _reasons_of_no_literal(rule, codes)
        return
    literals = len(rule.body)
    if len(codes) != literals:
        fitting = ",".join([*codes, *[NO_REASON] * literals][:literals])
        shared = "" if rule.id[-1:].isdigit() else "; alternatives with `;` share the attribute"
        yield Diagnostic(
            "C0706",
            f"{len(codes)} reasons for a body of {literals} literals",
            rule.span,
            note=f"there is one for each literal of a body, `-` for none{shared}",
            help=f'write `@[reasons = "{fitting}"]`' if literals else "delete the attribute",
        )
        return
    odd = next((one for one in codes if one != NO_REASON and not _CODE.match(one)), None)
    if odd is not None:
        yield Diagnostic(
            "C0706",
            f"`{odd[:40]}` is no reason code",
            rule.span,
            note="a code is 1 to 32 letters, digits, `_`, `.`, `:` or `-`, beginning with a letter "
            "or digit",
            help="write a code such as `R12`, or `-` for none",
        )
        return
    yield from _reasons_of_no_literal(rule, codes)


def _reasons_of_no_literal(rule: Rule, codes: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Report texts of codes that no literal has: nothing would ever say them."""
    known = sorted({*codes} - {NO_REASON})
    named = f"its codes are {', '.join(known)}" if known else "it has no `reasons`"
    for key in rule.attributes:
        code = key.removeprefix("reason.")
        name, _, language = code.rpartition("_")
        if code == key or code in known or (name in known and _LANGUAGE.match(language)):
            continue
        translated = bool(name) and _LANGUAGE.match(language.lower()) is not None
        base = name if translated else code
        meant = base if base in known else nearest(base, known)
        ending = f"_{language.lower()}" if translated else ""
        yield Diagnostic(
            "C0706",
            f"`{code[:40]}` is the text of a code that no literal of this rule has",
            rule.span,
            note=f"{named}; `_de` behind a code is its text in German",
            help=f"write `{meant}{ending}`"
            if meant
            else "name the code in `reasons`, or delete it",
        )


# Afterwards every `{x}` can be filled in.

SENTENCES: Final = ("says", "says_not", "says_unknown")

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}\Z")
_DIGITS: Final = re.compile(r"[0-9]")


def named_in_sentence(sentence: str) -> tuple[str, ...]:
    """Give the names that stand in braces, without question marks."""
    return tuple(one.strip().lstrip("?") for one in _PLACEHOLDER.findall(sentence))


def sentences(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every sentence with its attribute: `says`, `says.de`, `says_not`, ..."""
    for key, text in attributes.items():
        if key.partition(".")[0] in SENTENCES:
            yield key, text


def check_sentences(
    attributes: Mapping[str, str], names: list[str], place: Span | None
) -> Iterator[Diagnostic]:
    """Report braces that nothing fills, and languages that are none."""
    for key, text in sentences(attributes):
        form, _, language = key.partition(".")
        if language and not _LANGUAGE.match(language):
            yield Diagnostic(
                "C0792",
                f"`{language}` is no language",
                place,
                label=f"in `@[{form}({language} = ...)]`",
                note="a language is its code of two or three letters: `de`, `fr`, `en`",
                help=f'write `@[{form}(de = "...")]` for German, `fr` for French, and so on',
            )
        yield from _braces(text, names, place)


def _braces(sentence: str, names: list[str], place: Span | None) -> Iterator[Diagnostic]:
    found = [one.strip() for one in _PLACEHOLDER.findall(sentence)]
    wrong = next((one for one in found if one.lstrip("?") not in names), None)
    if wrong is None and not re.search("[{}]", _PLACEHOLDER.sub("", sentence)):
        return
    near = nearest(wrong or "", names) or (names[0] if names else None)
    edit = f"write `{{{near}}}` in its place" if near else "write the sentence without braces"
    yield Diagnostic(
        "C0243",
        "a brace in the sentence has no partner"
        if wrong is None
        else f"the sentence names `{{{wrong}}}`, which is nothing here",
        place,
        label=f"known are {', '.join(f'`{{{one}}}`' for one in names)}" if names else "",
        note="in `says` braces stand for columns, in a rule's sentence also for its variables",
        help=edit,
    )


# -------------------------------------------------------------- what a sentence leaves out


def incomplete_sentences(program: AnalysedProgram) -> list[Diagnostic]:
    """Report sentences that leave out a value, each once, by place.

    A predicate's sentence says every column, a rule's everything that its comparisons compare: a
    threshold that nobody reads about is what such a sentence is asked for.
    """
    found: dict[tuple[object, str], Diagnostic] = {}
    for predicate in program.program.predicates.values():
        for one in _of_predicate(predicate):
            found.setdefault((one.span, one.message), one)
    for number, rule in enumerate(program.rules):
        head = program.program.predicates[rule.head.predicate]
        for one in _of_rule(rule, head, program.variable_kinds[number]):
            found.setdefault((one.span, one.message), one)
    return sorted(found.values(), key=lambda one: one.place)


def _of_predicate(predicate: Predicate) -> Iterator[Diagnostic]:
    names = [column.name for column in predicate.columns]
    for key, text in sentences(predicate.attributes):
        said = named_in_sentence(text)
        missing = [f"{{{name}}}" for name in names if name not in said]
        if missing:
            yield _left_out(f"`{predicate.name}`", key, text, missing, predicate.span)


def _of_rule(rule: Rule, head: Predicate, kinds: Mapping[str, Kind]) -> Iterator[Diagnostic]:
    outer = frozenset(outer_names(rule))
    # A column of the head stands for the variable in it.
    named = {
        column.name: term.name
        for column, term in zip(head.columns, rule.head.terms, strict=True)
        if isinstance(term, Variable)
    }
    for key, text in sentences(rule.attributes):
        names = named_in_sentence(text)
        said = {*names, *(named.get(name, name) for name in names)}
        missing: dict[str, None] = {}
        for side in _compared(rule):
            if isinstance(side, Constant):
                if not _says_constant(text, side.value, side.kind):
                    missing[display_value(side.value, side.kind)] = None
                continue
            for variable in term_variables(side):
                known = variable.name in outer and variable.name in kinds
                if known and variable.name not in said:
                    missing[f"{{{variable.name}}}"] = None
        if missing:
            yield _left_out(f"rule {rule.id}", key, text, list(missing), rule.span)


def _compared(rule: Rule) -> Iterator[Term]:
    """Yield both sides of each comparison that decides something, those of aggregates with them."""
    for literal in rule.body:
        inner: Iterable[object] = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            if isinstance(one, Comparison) and one.operator != "=":
                yield from (one.left, one.right)


def _says_constant(text: str, value: Value, kind: Kind) -> bool:
    """Tell whether a sentence says a constant, whichever way its digits are grouped."""
    shown = display_value(value, kind)
    if shown in text:
        return True
    bare = re.sub(r"(?<=[0-9])[,' .](?=[0-9])", "", text)
    return bool(_DIGITS.search(shown)) and shown.replace(".", "") in bare


def _left_out(
    whose: str, key: str, text: str, missing: list[str], place: Span | None
) -> Diagnostic:
    form, _, language = key.partition(".")
    shown = ", ".join(missing)
    attribute = f"{form}({language} = ...)" if language else f"{form} = ..."
    edit = f"{text.rstrip('.')} ({shown})"
    return Diagnostic(
        "C0791",
        f"a sentence of {whose} leaves out {shown}",
        place,
        label=f"`@[{attribute}]`",
        note="whoever reads a proof sees only what its sentences say",
        help=f'write `"{edit}"`, or better words with {shown} in them',
        severity=Severity.WARNING,
    )


# Afterwards `Predicate.key` loses no name, null policies are known ones, and every `{x}` of a
# sentence can be filled in.

_ANYWHERE = (
    *("approved", "author", "description", "expect"),
    *("owner", "says", "says_not", "version"),
)
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
        "whole",
    ),
)
OF_TYPES = ("approved", "author", "description", "owner", "unit")
_STYLES = ("id", "percent", "places", "unit", "year")
_DISCLOSURE = ("confidential", "personal")
OF_COLUMNS = (*_DISCLOSURE, "description", "given", "null", "nullable", *_STYLES)
_ATTRIBUTES_MOST_PLACES = 12
OF_RULES = (*_ANYWHERE, "cites", "confidence", "floor", "id", "reason", "reasons")


def check_attributes(draft: Draft) -> None:
    """Report attributes that are unknown or say something impossible."""
    for definition in draft.program.types.values():
        draft.diagnostics.extend(_unknown(definition.attributes, OF_TYPES, "type", definition.span))
    derived = {rule.head.predicate for rule in draft.program.rules}
    for predicate in draft.predicates.values():
        draft.diagnostics.extend(_attributes_of_predicate(predicate))
        draft.diagnostics.extend(check_abducing(predicate, derived=predicate.name in derived))
    seen: set[Span] = set()
    for rule in draft.program.rules:
        # Each alternative has a body of its own.
        draft.diagnostics.extend(check_reasons(rule))
        # Rules lowered from one rule of the text share its attributes.
        if rule.attributes and (rule.span is None or rule.span not in seen):
            draft.diagnostics.extend(_attributes_of_rule(draft, rule))
            if rule.span is not None:
                seen.add(rule.span)


def _attributes_of_predicate(predicate: Predicate) -> Iterator[Diagnostic]:
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
    if not places.isdecimal() or int(places) > _ATTRIBUTES_MOST_PLACES:
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


def _attributes_of_rule(draft: Draft, rule: Rule) -> Iterator[Diagnostic]:
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
