"""Check the sentences of predicates and rules: `says`, `says_not`, `says_unknown`, by language.

In: attributes, a program. Out: diagnostics C0243 and C0792 for sentences that are wrong; C0791 for
those that leave out a value, which only `rules check` asks for. Invariant: afterwards every `{x}`
can be filled in. Example: `@[says = "{c} is a VIP"] @[says(de = "{c} ist VIP")]` speaks two
languages; `@[says = "it is high"]` on `total(c, amount)` leaves out both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity, nearest
from constat.logic import (
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

    from constat.analysis.analysed import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Kind, Predicate, Rule, Term, Value

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
