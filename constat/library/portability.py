"""What stock Souffle 2.5 would not load, or would answer differently.

In: an analysed program and its texts. Out: warnings C0260 to C0279 and C0284 to C0286, one
for each cause and place, whose label says which of the two it is. Invariant: every note rests on
what was measured with Souffle 2.5 or stands in its public reference; a program without notes means
the same in both, integers within 32 bits and divisions that do not err provided. Example: a column
of type `Decimal` is an approximation there and exact here (C0261).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity
from constat.library.portability_rules import RuleNotes
from constat.syntax import attribute_places
from constat.syntax.argument_styles import named_atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Column, Predicate, Rule

LOADS_NOT: Final = "Souffle 2.5 does not load this"
ANSWERS_OTHERWISE: Final = "Souffle 2.5 answers differently"

_PRELUDE: Final = re.compile(r'^[ \t]*\.include[ \t]+"constat/prelude\.dl"', re.MULTILINE)
_STAND_INS: Final = frozenset({"Date", "Timestamp", "Decimal", "Bool"})


@dataclass(frozen=True, slots=True)
class Note:
    """What is not portable, what Souffle does about it, and what to write instead."""

    code: str
    message: str
    span: Span | None
    loads: bool
    note: str
    help: str


@dataclass(slots=True)
class _Notes:
    """The notes so far, each cause and place once."""

    found: dict[tuple[str, Span | None, str], Diagnostic] = field(default_factory=dict)

    def take(self, one: Note) -> None:
        self.found.setdefault(
            (one.code, one.span, one.message),
            Diagnostic(
                one.code,
                one.message,
                one.span,
                ANSWERS_OTHERWISE if one.loads else LOADS_NOT,
                one.note,
                one.help,
                severity=Severity.WARNING,
            ),
        )


def portability_notes(
    analysed: AnalysedProgram, texts: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Give the notes, sorted by place."""
    notes = _Notes()
    written = (*_spelled(texts), *_named(texts, analysed.program.predicates))
    for one in (*_declared(analysed, texts), *_ruled(analysed), *written):
        notes.take(one)
    return tuple(sorted(notes.found.values(), key=lambda one: one.place))


def _declared(analysed: AnalysedProgram, texts: Mapping[str, str]) -> Iterator[Note]:
    with_prelude = any(_PRELUDE.search(text) for text in texts.values())
    derived = {rule.head.predicate for rule in analysed.rules}
    for predicate in analysed.program.predicates.values():
        for column in predicate.columns:
            yield from _column(column, with_prelude=with_prelude)
        yield from _source(predicate, derived=predicate.name in derived)
        if predicate.given:
            yield _given(predicate)
        if predicate.attributes.get("constraint", "true") != "true":
            yield _constraint(predicate)
    for one in _fields(analysed):
        yield from _column(one, with_prelude=with_prelude)


def _constraint(predicate: Predicate) -> Note:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    return Note(
        "C0286",
        f"the constraint `{predicate.attributes['constraint']}` is a form of this language",
        predicate.span,
        loads=False,
        note="stock Souffle knows no `.constraint`; a relation of what breaks it says the same",
        help=f"write `@[constraint] .decl {predicate.name}({columns})` and its rule",
    )


def _fields(analysed: AnalysedProgram) -> Iterator[Column]:
    """Yield the fields of records and branches, which mean there what they mean here."""
    predicates = analysed.program.predicates.values()
    made = (column.structures for one in predicates for column in one.columns)
    structures = next((one for one in made if one is not None), None)
    for name, definition in analysed.program.types.items():
        # With their kinds, where a column has brought the types in.
        known = structures.branches.get(name) if structures is not None else None
        for branch in known or definition.branches:
            yield from branch.fields


def _column(column: Column, *, with_prelude: bool) -> Iterator[Note]:
    if column.type_name in _STAND_INS and not with_prelude:
        yield Note(
            "C0260",
            f"the type `{column.type_name}` is built in here and undefined there",
            column.span,
            loads=False,
            note="the prelude declares the types that stock Souffle lacks",
            help='write `.include "constat/prelude.dl"`',
        )
    if column.kind.value == "Decimal":
        yield Note(
            "C0261",
            f"column `{column.name}` holds exact decimals, and floats there",
            column.span,
            loads=True,
            note="1234567.89 is 1234567.88 in a float of 32 bits; sums and equalities drift",
            help=f"write `{column.name}: number` and count the smallest unit, such as cents",
        )
    if "null" in column.attributes:
        yield _null(column.span)


def _source(predicate: Predicate, *, derived: bool) -> Iterator[Note]:
    name, source = predicate.name, predicate.source
    if source is None:
        if not derived:
            yield Note(
                "C0262",
                f"`{name}` has no source in these files, and is empty there",
                predicate.span,
                loads=True,
                note="here a project says where its rows come from, and what is not known is open",
                help=f"write `.input {name}` and its rows into `{name}.facts`",
            )
        return
    if {"source", "query"} & source.parameters.keys():
        yield Note(
            "C0263",
            f"the source of `{name}` is ignored there: `{name}.facts` is read",
            source.span or predicate.span,
            loads=True,
            note="Souffle ignores parameters that it does not know",
            help=f"write the rows of the query into `{name}.facts`, separated by tabs",
        )
    if "null" in source.parameters or "null" in predicate.attributes:
        yield _null(source.span or predicate.span)


def _given(predicate: Predicate) -> Note:
    names = " and ".join(f"`{predicate.columns[place].name}`" for place in predicate.given)
    return Note(
        "C0285",
        f"whoever asks for `{predicate.name}` gives {names}, and nobody does there",
        predicate.span,
        loads=False,
        note="there every variable of a head is bound by its own body: `Ungrounded variable`",
        help="write a relation of the values that are asked for, and an atom of it into each body",
    )


def _null(span: Span | None) -> Note:
    return Note(
        "C0264",
        "a null policy has no meaning there",
        span,
        loads=True,
        note="an empty cell of a number ends the run there; of a symbol it is the empty text",
        help="write a relation of its own for a column that can be missing",
    )


def _ruled(analysed: AnalysedProgram) -> Iterator[Note]:
    for number, rule in enumerate(analysed.rules):
        if rule.assumed:
            yield _assumed(rule)
        walk = RuleNotes(rule, analysed.variable_kinds[number])
        for one in walk.notes():
            yield Note(*one)


def _assumed(rule: Rule) -> Note:
    why = "is only proposed" if rule.proposed else f"has confidence {rule.confidence:f}"
    return Note(
        "C0265",
        f"rule `{rule.id}` {why}, and holds without reservation there",
        rule.span,
        loads=True,
        note="Souffle ignores `@[confidence]` and `@[author]`",
        help="leave the rule out of what Souffle loads, or approve it",
    )


def _spelled(texts: Mapping[str, str]) -> Iterator[Note]:
    for name, text in texts.items():
        for one in attribute_places(text, name):
            sign = next((mark for mark in ("'", "#") if mark in one.spelling), "")
            if sign:
                yield Note(
                    "C0266",
                    f"an attribute holds `{sign}`",
                    one.span,
                    loads=False,
                    note="in `@[...]` Souffle reads neither `'` nor `#`",
                    help="say it without that sign, or in a `//` comment",
                )
            if one.in_body and not one.spelling.startswith("@!["):
                yield Note(
                    "C0267",
                    "behind `:-` an attribute is spelled `@![...]`",
                    one.span,
                    loads=False,
                    note="`@[...]` stands before the rule",
                    help=f"write `@!{one.spelling[1:]}`",
                )


def _named(texts: Mapping[str, str], known: Mapping[str, Predicate]) -> Iterator[Note]:
    for name, text in texts.items():
        for span, positional in named_atoms(text, name, known):
            yield Note(
                "C0279",
                "arguments are named",
                span,
                loads=False,
                note="there they go by their position; `constat rules fmt --positional` writes "
                "whole files so",
                help=f"write `{positional}`",
            )
