"""Read the rules that a model wrote, and refuse what no draft may say.

In: a text, and how variables are spelled. Out: a `Fragment`, and diagnostics placed in `<draft>`.
Invariants: a fragment declares predicates and derives them, and nothing else: it holds no fact, no
rule without a row to start from, no file, no approval, id, confidence or closure of its own; every
bound is checked before anything is multiplied out. Example: `is_vip("C001").` draws C0863.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import FLOOR, QUERIED
from constat.diagnostics import Diagnostic, Severity, Span
from constat.library.reviewing.beyond import BEYOND, RESERVED
from constat.logic import Aggregate, Positive
from constat.project import AuthoringSetting
from constat.syntax import Mode
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from constat.syntax.surface import (
    Attribute,
    ConstraintText,
    Declaration,
    Include,
    Notes,
    Port,
    RuleText,
)
from constat.syntax.words import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.logic import Literal, Predicate, Program, Rule, TypeDefinition
    from constat.syntax.surface import SurfaceFile, SurfaceItem

DRAFT_NAME: Final = "<draft>"
MOST_CHARACTERS: Final = 20_000
MOST_RULES: Final = 60
MOST_ALTERNATIVES: Final = 200
MOST_PREDICATES: Final = 40
_STRICT: Final = AuthoringSetting().variables
_NONE: Final[Mapping[str, Predicate]] = MappingProxyType({})
_KEPT_OF_RULES: Final = frozenset({FLOOR, "says", "says_not", "reasons"})
_KEPT_OF_PREDICATES: Final = frozenset({"says", "says_not", "says_unknown", "key"})
_KEPT_OF_COLUMNS: Final = frozenset({"null", "nullable", "id", "percent", "places", "unit", "year"})
_KEPT_OF_INPUTS: Final = frozenset({"source", "query", "key", "null", "distinct"})


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a draft declares and derives; `text` is what the model wrote."""

    text: str
    program: Program


def read_fragment(
    text: str,
    diagnostics: list[Diagnostic],
    *,
    variables: str = _STRICT,
    known: Mapping[str, Predicate] = _NONE,
) -> Fragment | None:
    """Read a draft over `known` predicates; `None` where it cannot be read as a whole.

    What may not stand in a draft is reported too, and does not keep the rest from being read: one
    round shall show all mistakes.
    """
    if not _check_text(text, diagnostics):
        return None
    mode = Mode.STRICT if variables == _STRICT else Mode.SOUFFLE
    found: list[Diagnostic] = []
    file = parse_file(text, DRAFT_NAME, found, mode)
    items = list(_items(file, diagnostics))
    program = lower(items, found, mode, known)
    if mode is Mode.SOUFFLE:
        program = _with_own_types(program)
    # Bare variables were asked for: what strict says of them would only confuse.
    errors = [one for one in found if one.severity is Severity.ERROR]
    diagnostics.extend(errors if mode is Mode.SOUFFLE else found)
    if len(program.rules) > MOST_ALTERNATIVES:
        message = f"the alternatives of the draft make more than {MOST_ALTERNATIVES} rules"
        diagnostics.append(_too_large(message))
        return None
    _check_rules(program.rules, diagnostics)
    return None if errors else Fragment(text, program)


def _with_own_types(program: Program) -> Program:
    """Give back the names of our types, which Souffle's style keeps apart from those of a file."""
    names = {f"{name}_": name for name in STAND_INS}
    predicates = {
        name: replace(
            one,
            columns=tuple(
                replace(column, type_name=names.get(column.type_name, column.type_name))
                for column in one.columns
            ),
        )
        for name, one in program.predicates.items()
    }
    types = {name: _with_names(one, names) for name, one in program.types.items()}
    return replace(program, predicates=predicates, types=types)


def _with_names(definition: TypeDefinition, names: Mapping[str, str]) -> TypeDefinition:
    members = tuple(names.get(member, member) for member in definition.members)
    branches = tuple(
        replace(
            one,
            fields=tuple(
                replace(field, type_name=names.get(field.type_name, field.type_name))
                for field in one.fields
            ),
        )
        for one in definition.branches
    )
    return replace(definition, members=members, branches=branches)


def _check_text(text: str, diagnostics: list[Diagnostic]) -> bool:
    if len(text) > MOST_CHARACTERS:
        message = f"the draft is longer than {MOST_CHARACTERS:,} characters"
        diagnostics.append(_too_large(message))
        return False
    odd = next((one for one in text if not one.isprintable() and one not in "\n\t"), None)
    if odd is not None:
        line = text[: text.index(odd)].count("\n") + 1
        message = f"the draft holds the control character U+{ord(odd):04X}"
        place = Span(DRAFT_NAME, line, 1, line, 1)
        hint = "write plain text, with line feeds between the lines"
        diagnostics.append(Diagnostic("C0879", message, place, help=hint))
        return False
    return True


def _items(file: SurfaceFile, diagnostics: list[Diagnostic]) -> Iterator[SurfaceItem]:
    """Yield what a draft may hold, without the attributes that are not a model's to give."""
    counts = {"rules": 0, "predicates": 0}
    declared = {item.name for item in file.items if isinstance(item, Declaration)}
    for item in file.items:
        match item:
            case Include() | ConstraintText():
                what = "a file is included" if isinstance(item, Include) else "data are constrained"
                diagnostics.append(_refused(item.span, what))
            case Port() if item.directive != "input":
                diagnostics.append(_refused(item.span, f"`.{item.directive}` writes something"))
            case Port() if item.name not in declared:
                diagnostics.append(_foreign(item))
            case Port():
                yield _input(item, diagnostics)
            case Declaration():
                counts["predicates"] += 1
                yield _declaration(item, diagnostics)
            case RuleText():
                counts["rules"] += 1
                notes = _notes(item.notes, _KEPT_OF_RULES, diagnostics)
                yield replace(item, notes=notes)
            case _:
                yield item
    for what, most in (("rules", MOST_RULES), ("predicates", MOST_PREDICATES)):
        if counts[what] > most:
            diagnostics.append(_too_large(f"the draft has more than {most} {what}"))


def _foreign(item: Port) -> Diagnostic:
    return Diagnostic(
        "C0864",
        f"a draft says where rows of `{item.name}` come from, which it does not declare",
        item.span,
        note="sources of the project's predicates are not a model's to choose",
        help="declare a predicate with a name of its own for this query",
    )


def _too_large(message: str) -> Diagnostic:
    place = Span(DRAFT_NAME, 1, 1, 1, 1)
    return Diagnostic("C0879", message, place, help="write only what the question needs")


def _input(item: Port, diagnostics: list[Diagnostic]) -> Port:
    parameters = tuple(_kept(item.parameters, _KEPT_OF_INPUTS, diagnostics))
    return replace(item, parameters=parameters, notes=_notes(item.notes, frozenset(), diagnostics))


def _declaration(item: Declaration, diagnostics: list[Diagnostic]) -> Declaration:
    if item.name.endswith(RESERVED):
        message = f"`{item.name}` has an ending that is kept for what is made from drafts"
        hint = f"name it `{item.name.removesuffix(QUERIED).removesuffix(BEYOND)}_found`"
        diagnostics.append(Diagnostic("C0875", message, item.span, help=hint))
    columns = tuple(
        replace(
            column,
            attributes={k: v for k, v in column.attributes.items() if k in _KEPT_OF_COLUMNS},
        )
        for column in item.columns
    )
    notes = _notes(item.notes, _KEPT_OF_PREDICATES, diagnostics)
    return replace(item, columns=columns, notes=notes)


def _notes(notes: Notes, kept: frozenset[str], diagnostics: list[Diagnostic]) -> Notes:
    return replace(notes, attributes=tuple(_kept(notes.attributes, kept, diagnostics)))


def _kept(
    attributes: Iterable[Attribute], kept: frozenset[str], diagnostics: list[Diagnostic]
) -> Iterator[Attribute]:
    for one in attributes:
        if one.key.partition(".")[0] in kept:
            yield one
            continue
        message = f"`{one.key}` is not a draft's to say and was taken out"
        note = "approval, id, confidence, author, closure and age are recorded outside a draft"
        diagnostics.append(
            Diagnostic("C0870", message, one.span, note=note, severity=Severity.WARNING)
        )


def _check_rules(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    reported: set[Span | None] = set()
    for rule in rules:
        # Alternatives of one rule of the text have its place.
        if rule.span in reported:
            continue
        if not rule.body:
            reported.add(rule.span)
            diagnostics.append(_fact(rule))
        elif not any(map(_starts, rule.body)):
            reported.add(rule.span)
            diagnostics.append(_groundless(rule))


def _starts(literal: Literal) -> bool:
    """Tell whether a literal takes rows of a predicate."""
    if isinstance(literal, Aggregate):
        return any(map(_starts, literal.body))
    return isinstance(literal, Positive)


def _fact(rule: Rule) -> Diagnostic:
    return Diagnostic(
        "C0863",
        f"`{rule.head.predicate}` is stated as a fact",
        rule.span,
        label="this would be true because a model says so",
        note="a draft says how facts follow from what is there; facts come from sources and people",
        help="write a rule whose body takes rows of known predicates, "
        "or leave the fact unknown: what is missing is shown",
    )


def _groundless(rule: Rule) -> Diagnostic:
    return Diagnostic(
        "C0863",
        f"a rule of `{rule.head.predicate}` takes no row of any predicate",
        rule.span,
        label="this is a fact in the form of a rule",
        note="a draft says how facts follow from what is there; facts come from sources and people",
        help="add a positive atom of a known predicate to the body",
    )


def _refused(span: Span, what: str) -> Diagnostic:
    return Diagnostic(
        "C0868",
        f"{what}, which a draft may not do",
        span,
        note="a draft declares predicates, gives them rules, and may say a query for them",
        help="delete this line",
    )
