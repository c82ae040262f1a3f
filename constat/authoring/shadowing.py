"""Refuse drafts that would change what is there already.

In: what a draft declares and derives, and the program it would join. Out: diagnostics. Invariants:
no predicate of the project gets other columns, other rows or another source from a draft, unless
the project lets models plan that predicate; a source is a database of the project and nothing else,
so that no draft makes a fact look configured, stated or proved. Example: `.input is_vip(source =
"sales", ...)` draws C0864.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, nearest
from constat.logic.structure_forms import is_same_definition
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Collection

    from constat.analysis import AnalysedProgram
    from constat.authoring.ground import Ground
    from constat.logic import Predicate, Program


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
