"""Read the rules and queries that a model wrote, and refuse what no draft may say."""

from __future__ import annotations

from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import FLOOR, QUERIED
from constat.catalog import BulkConnection, Connection, QueryMistakeError, SourceFailureError, guard
from constat.diagnostics import Diagnostic, Severity, Span, nearest
from constat.frozen import frozen
from constat.library.approvals import BEYOND, RESERVED
from constat.logic import Aggregate, Apply, Comparison, Positive, Variable, term_variables
from constat.logic.structures import is_same_definition
from constat.project import AuthoringSetting
from constat.syntax import Mode, print_rule
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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.catalog import Guarded, SourceTable
    from constat.logic import Literal, Predicate, Program, Rule, TypeDefinition
    from constat.syntax.surface import SurfaceFile, SurfaceItem

# `check_query` only prepares queries, it runs none.


@frozen
class Ground:
    """What a proposal is held against.

    `databases` are the sources that a query may name; `check_query` asks one of them. A draft may
    add rules to the predicates in `plannable`, which nothing else answers; with `must_derive` it
    has to derive that one. `rejected` are texts that people have rejected, with their reasons.
    """

    program: AnalysedProgram
    databases: tuple[str, ...]
    setting: AuthoringSetting
    check_query: Callable[[Predicate], list[Diagnostic]]
    plannable: frozenset[str] = frozenset()
    must_derive: str = ""
    rejected: Mapping[str, str] = field(default_factory=dict, hash=False)


_MOST_NAMED: Final = 8


def check_query(predicate: Predicate, connection: Connection, most_rows: int) -> list[Diagnostic]:
    """Check one query of a draft; gives nothing where it may run."""
    source = predicate.source
    if source is None:
        return []
    try:
        guarded = guard(source.parameters.get("query", ""), connection.dialect)
        return _held_against(guarded, predicate, connection, most_rows)
    except QueryMistakeError as problem:
        return [refused(predicate, problem.reason, problem.help)]
    except SourceFailureError as problem:
        return [refused(predicate, f"the source does not answer: {problem.reason}", "")]


def _held_against(
    guarded: Guarded, predicate: Predicate, connection: Connection, most_rows: int
) -> list[Diagnostic]:
    if not guarded.tables:
        hint = "read the columns of a table; values alone are facts, which a draft may not state"
        return [refused(predicate, "it reads no table", hint)]
    known = connection.tables()
    unknown = sorted(one for one in guarded.tables if not _knows(known, one))
    if unknown:
        near = nearest(unknown[0], sorted(known))
        hint = f"read `{near}`" if near else f"tables are {_named(sorted(known))}"
        return [refused(predicate, f"the source has no table `{unknown[0][:60]}`", hint)]
    columns = connection.columns(guarded.text)
    if len(columns) != predicate.arity:
        wanted = ", ".join(column.name for column in predicate.columns)
        reason = f"it gives {len(columns)} columns, and `{predicate.name}` has {predicate.arity}"
        return [refused(predicate, reason, f"select one column for each of {wanted}")]
    guess = _estimate(guarded, connection)
    if guess is not None and guess > most_rows:
        # How many rows a condition lets through tells of values: the number goes to a model.
        reason = f"it reads more rows than the {most_rows:,} that `authoring: query_rows` allows"
        return [refused(predicate, reason, "narrow it with WHERE, or read a smaller table")]
    return []


def _estimate(guarded: Guarded, connection: Connection) -> float | None:
    """Ask the source how many rows its plan reads; `None` where it does not say."""
    return connection.estimate(guarded) if isinstance(connection, BulkConnection) else None


def _knows(known: Mapping[str, SourceTable], name: str) -> bool:
    """Tell whether a source has a table; schemas of servers may stand before names."""
    return name in known or name.rpartition(".")[2] in known


def _named(names: list[str]) -> str:
    shown = ", ".join(f"`{one}`" for one in names[:_MOST_NAMED])
    return shown + (", ..." if len(names) > _MOST_NAMED else "") if names else "none"


def refused(predicate: Predicate, reason: str, hint: str) -> Diagnostic:
    """Say that a drafted query may not run."""
    return Diagnostic(
        "C0865",
        f"the query of `{predicate.name}` is refused: {reason}",
        None if predicate.source is None else predicate.source.span,
        note="a drafted query is one SELECT over tables of the source, read-only and bounded",
        help=hint,
    )


# A rule that is reported calculates a value of its head inside a recursion, and nothing in its
# body bounds such a value; so its relation may have no end (semantics 15). What is not reported is
# bounded by the limits of an evaluation as everything is.

_BOUNDS = frozenset({"<", "<=", ">", ">="})


def runaways(program: AnalysedProgram, drafted: Collection[str]) -> Iterator[Diagnostic]:
    """Report the drafted rules that may go on for ever."""
    together = {
        name: frozenset(component.predicates)
        for component in program.components
        if component.recursive
        for name in component.predicates
    }
    for rule in program.rules:
        name = rule.head.predicate
        if name not in drafted or name not in together or not rule.proposed:
            continue
        recursive = any(
            isinstance(literal, Positive) and literal.atom.predicate in together[name]
            for literal in rule.body
        )
        if recursive and _counts_on(rule):
            yield Diagnostic(
                "C0878",
                f"a rule of `{name}` calculates new values from its own, without a bound",
                rule.span,
                note="such a rule may go on for ever",
                help="bound the calculated value in the body, for example `?n < 100`, "
                "or calculate outside the recursion",
            )


def _counts_on(rule: Rule) -> bool:
    if any(isinstance(term, Apply) for term in rule.head.terms):
        return True
    in_head = {one.name for term in rule.head.terms for one in term_variables(term)}
    calculated = {name for name in _calculated(rule) if name in in_head}
    bounded = {
        one.name
        for literal in rule.body
        if isinstance(literal, Comparison) and literal.operator in _BOUNDS
        for term in (literal.left, literal.right)
        for one in term_variables(term)
    }
    return bool(calculated - bounded)


def _calculated(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(one, Variable) and isinstance(other, Apply):
                    yield one.name


def check_declared(fragment: Program, base: Program, diagnostics: list[Diagnostic]) -> None:
    """Refuse other columns or types under a name that is taken."""
    for name, predicate in fragment.predicates.items():
        known = base.predicates.get(name)
        if known is None:
            continue
        if predicate.source is not None:
            diagnostics.append(_relabelled(predicate))
        elif _shape(known) != _shape(predicate):
            message = f"`{name}` is declared in the project with other columns"
            hint = f"leave the declaration out and use `{_spelled(known)}`, or choose another name"
            diagnostics.append(Diagnostic("C0862", message, predicate.span, help=hint))
    for name, definition in fragment.types.items():
        own = base.types.get(name)
        if own is not None and not is_same_definition(own, definition):
            message = f"the type `{name}` is declared in the project in another way"
            hint = "leave the declaration out"
            diagnostics.append(Diagnostic("C0862", message, definition.span, help=hint))


def check_heads(
    fragment: Program,
    program: AnalysedProgram,
    plannable: Collection[str],
    diagnostics: list[Diagnostic],
) -> None:
    """Refuse rules for what approved rules derive or sources supply."""
    reported: set[object] = set()
    for rule in fragment.rules:
        name = rule.head.predicate
        if name not in program.program.predicates or name in plannable:
            continue
        if (name, rule.span) in reported:
            continue
        reported.add((name, rule.span))
        approved = program.program.rules_for(name)
        if approved:
            shown = print_rule(approved[0], program.program.predicates)
            why = f"approved rules derive it, for example: {shown[:200]}"
        else:
            why = "its rows come from outside"
        diagnostics.append(
            Diagnostic(
                "C0862",
                f"`{name}` belongs to the project, and a draft adds rules to it",
                rule.span,
                note=why,
                help=f"use `{name}` in a body, and derive a predicate with a name of its own",
            )
        )


def check_sources(fragment: Program, ground: Ground, diagnostics: list[Diagnostic]) -> None:
    """Refuse sources that are no database, and queries where the project wants none."""
    for predicate in fragment.predicates.values():
        source = predicate.source
        if source is None or predicate.name in ground.program.program.predicates:
            continue
        if not ground.setting.queries:
            message = f"`{predicate.name}` has a query, and this project wants none from a model"
            hint = "use the predicates that exist"
            diagnostics.append(Diagnostic("C0864", message, source.span, help=hint))
        elif source.name not in ground.databases:
            message = f"`{source.name[:60]}` is no database that a draft may read"
            note = "a draft cannot say that a fact is configured, stated, proved or a tier's"
            near = nearest(source.name, ground.databases)
            known = near or next(iter(ground.databases), "")
            hint = f'write `source = "{known}"`' if known else "use the predicates that exist"
            diagnostics.append(Diagnostic("C0864", message, source.span, note=note, help=hint))
        elif not source.parameters.get("query", "").strip():
            columns = ", ".join(column.name for column in predicate.columns)
            message = f"the `.input` of `{predicate.name}` has no query"
            hint = f'add `query = "SELECT {columns} FROM ..."`'  # noqa: S608  shown, never run
            diagnostics.append(Diagnostic("C0865", message, source.span, help=hint))


def _relabelled(predicate: Predicate) -> Diagnostic:
    span = predicate.span if predicate.source is None else predicate.source.span
    return Diagnostic(
        "C0864",
        f"a draft says where rows of `{predicate.name}` come from, which the project says",
        span,
        note="sources of the project's predicates are not a model's to choose",
        help="declare a predicate with a name of its own for this query",
    )


def _shape(predicate: Predicate) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.type_name) for column in predicate.columns)


def _spelled(predicate: Predicate) -> str:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    return f"{predicate.name}({columns})"


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


@frozen
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
