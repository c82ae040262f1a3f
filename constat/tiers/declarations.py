"""Hold the rules' sources against the project: every name must mean something.

In: predicates with `.input`, the project's databases, facts, tiers. Out: diagnostics. Invariant:
nothing is opened or imported here. Example: `source="sale"` is reported, with `sales` as its fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.logic import NULL_POLICIES
from constat.project import suggestion
from constat.tiers.cache_age import check_age
from constat.tiers.certificate_names import check_certificates, uses_certificates
from constat.tiers.config import CONFIG, config_key
from constat.tiers.model_declared import MODEL, PARAMETERS, asks_model, check_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.analysis import AnalysedProgram
    from constat.logic import Predicate
    from constat.project import Project

_OURS: Final = ("source", "query", "key", "null", "distinct", "max_age", "record", *PARAMETERS)
# What stock Souffle reads of an `.input`; it says nothing about a project's source.
_SOUFFLE: Final = ("IO", "filename", "name", "delimiter", "headers", "rfc4180")


def check_declarations(
    project: Project, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
) -> None:
    """Report unknown sources, policies and names."""
    predicates = analysed.program.predicates
    for predicate in predicates.values():
        _check_source(predicate, project, diagnostics)
        check_certificates(predicate, project, diagnostics)
        _check_key(predicate, diagnostics)
        check_age(predicate, diagnostics)
        check_model(predicate, project, diagnostics)
        for attributes in (predicate.attributes, *(c.attributes for c in predicate.columns)):
            _check_policy(attributes.get("null", "error"), predicate, diagnostics)
    external = [predicates[name] for name in sorted(analysed.external) if name in predicates]
    keys = {config_key(predicate) for predicate in external}
    for name, table in project.facts.items():
        if name not in keys:
            message = f"`facts` has `{name}`, which is no predicate that facts can be given for"
            hint = suggestion(name, keys)
            diagnostics.append(Diagnostic("C0506", message, table.span, help=hint))
    names = {predicate.name for predicate in external}
    _check_names("`closed`", project.closed, names, diagnostics)
    for tier in project.tiers.values():
        _check_names(f"tier `{tier.name}`", tier.predicates or (), names, diagnostics)


def _check_source(predicate: Predicate, project: Project, diagnostics: list[Diagnostic]) -> None:
    source = predicate.source
    if source is None or not (source.name or "query" in source.parameters):
        return
    if uses_certificates(predicate):
        return
    known = {CONFIG, *project.databases, *project.tiers, *_model(predicate, project)}
    if source.name not in known:
        message = f"`{predicate.name}` has the source `{source.name}`, which the project has not"
        if not source.name:
            message = f"`{predicate.name}` has a query and no `source`"
        hint = suggestion(source.name, known - {CONFIG})
        diagnostics.append(Diagnostic("C0510", message, source.span, help=hint))
    elif source.name in project.databases and not source.parameters.get("query"):
        columns = ", ".join(column.name for column in predicate.columns)
        message = f"`{predicate.name}` has a source and no `query`"
        hint = f'add `query="SELECT {columns} FROM ..."`'  # noqa: S608  shown, never run
        diagnostics.append(Diagnostic("C0513", message, source.span, help=hint))
    for name in source.parameters:
        if name not in {*_OURS, *_SOUFFLE}:
            message = f"`.input {predicate.name}` has no parameter `{name}`"
            diagnostics.append(
                Diagnostic("C0513", message, source.span, help=suggestion(name, _OURS))
            )
    _check_policy(source.parameters.get("null", "error"), predicate, diagnostics)
    for name in ("distinct", "record"):
        if source.parameters.get(name, "true") not in {"true", "false"}:
            message = f"`.input {predicate.name}` has a `{name}` that is neither true nor false"
            diagnostics.append(Diagnostic("C0513", message, source.span))


def _model(predicate: Predicate, project: Project) -> Iterable[str]:
    """Give the name of the model tier where it may be a source."""
    return (MODEL,) if asks_model(predicate, project) else ()


def _check_key(predicate: Predicate, diagnostics: list[Diagnostic]) -> None:
    written = predicate.attributes.get("key", "")
    columns = [column.name for column in predicate.columns]
    for name in filter(None, (part.strip() for part in written.split(","))):
        if name not in columns:
            message = f"the key of `{predicate.name}` names a column that it has not"
            diagnostics.append(
                Diagnostic("C0513", message, predicate.span, help=suggestion(name, columns))
            )


def _check_policy(policy: str, predicate: Predicate, diagnostics: list[Diagnostic]) -> None:
    if policy not in NULL_POLICIES:
        message = f"`{predicate.name}` has a `null` that is none of {', '.join(NULL_POLICIES)}"
        span = predicate.source.span if predicate.source else predicate.span
        diagnostics.append(
            Diagnostic("C0513", message, span, help=suggestion(policy, NULL_POLICIES))
        )


def _check_names(
    where: str, names: Iterable[str], known: set[str], diagnostics: list[Diagnostic]
) -> None:
    for name in names:
        if name not in known:
            message = f"{where} names `{name[:60]}`, which is no predicate without rules"
            diagnostics.append(Diagnostic("C0506", message, help=suggestion(name, known)))
