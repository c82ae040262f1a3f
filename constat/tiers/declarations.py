"""Hold the rules' sources against the project: every name must mean something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, nearest
from constat.evaluation import Origin
from constat.frozen import frozen
from constat.logic import NULL_POLICIES
from constat.project import inside, suggestion
from constat.tiers.cache_age import MAX_AGE, check_age
from constat.tiers.config import CONFIG, config_key
from constat.tiers.tier import pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Predicate
    from constat.logic.program import Source
    from constat.project import Project

# Nothing is opened here.

CERTIFICATES: Final = "certificates"
"""The source of an `.input`, and the name of its tier."""

_PARAMETERS: Final = ("source", "folder", "rules")
_MOST_SOURCES: Final = 8
_PIN: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


def uses_certificates(predicate: Predicate) -> bool:
    """Tell whether a predicate's `.input` names certificates."""
    return predicate.source is not None and predicate.source.name == CERTIFICATES


def parameter(predicate: Predicate, name: str) -> str:
    """Give a parameter of the `.input`, empty where it has none of that name."""
    return predicate.source.parameters.get(name, "") if predicate.source else ""


def check_certificates(
    predicate: Predicate, project: Project, diagnostics: list[Diagnostic]
) -> None:
    """Report what is wrong with an `.input` that names certificates."""
    if not uses_certificates(predicate) or predicate.source is None:
        return
    name, span = predicate.name, predicate.source.span
    if CERTIFICATES in {*project.databases, *project.tiers}:
        message = f"`{CERTIFICATES}` is the source of proved facts, and no name for another"
        hint = "give the database or tier another name"
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    for written in predicate.source.parameters:
        if written not in _PARAMETERS:
            message = f"`.input {name}` takes certificates, which have no parameter `{written}`"
            hint = suggestion(written, _PARAMETERS)
            diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    folder = parameter(predicate, "folder")
    if folder and inside(folder, project.folder) is None:
        message = f"the folder of the certificates of `{name}` is not inside the project"
        hint = 'write `folder = "proofs"`, or leave it out for the certificates kept here'
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    if not all(map(_PIN.match, parameter(predicate, "rules").split())):
        message = f"the `rules` of `{name}` are not hashes of rules"
        hint = "write `sha256:` and the 64 digits that `constat verify` shows as `rules`"
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))


# A predicate is always asked about by the same columns, so what a model says never depends on the
# goal.

MODEL: Final = "model"
KNOWLEDGE: Final = "knowledge"
HEURISTIC: Final = "heuristic"
MODES: Final = (KNOWLEDGE, HEURISTIC)
PARAMETERS: Final = (MODEL, "given", "about")
_CODE: Final = "C0832"
_LONGEST_ABOUT: Final = 2_000


def asks_model(predicate: Predicate, project: Project) -> bool:
    """Whether a model may be asked about a predicate. A database may have the name `model`."""
    source = predicate.source
    if source is None:
        return False
    return MODEL in source.parameters or (source.name == MODEL and MODEL not in project.databases)


def asked_as(predicate: Predicate) -> str:
    """Give `knowledge` or `heuristic`."""
    return predicate.source.parameters.get(MODEL, KNOWLEDGE) if predicate.source else KNOWLEDGE


def origin_of(predicate: Predicate) -> Origin:
    """Give the origin of what a model says about a predicate."""
    return Origin.LLM_HEURISTIC if asked_as(predicate) == HEURISTIC else Origin.LLM_KNOWLEDGE


def given_columns(predicate: Predicate) -> tuple[int, ...]:
    """Give the positions of the columns by which a model is asked, ascending."""
    written = predicate.source.parameters.get("given", "") if predicate.source else ""
    names = [name.strip() for name in written.split(",") if name.strip()]
    if names:
        return tuple(p for p, column in enumerate(predicate.columns) if column.name in names)
    return tuple(sorted(predicate.key)) or tuple(range(predicate.arity))


def check_model(predicate: Predicate, project: Project, diagnostics: list[Diagnostic]) -> None:
    """Report what an `.input` says wrongly about a model."""
    source = predicate.source
    if source is None:
        return
    name, told = predicate.name, source.parameters

    def complain(message: str, hint: str) -> None:
        diagnostics.append(Diagnostic(_CODE, message, source.span, help=hint))

    if not asks_model(predicate, project):
        for unused in {"given", "about"} & told.keys():
            complain(f"`.input {name}` has `{unused}` and asks no model", 'add `model="knowledge"`')
        return
    if asked_as(predicate) not in MODES:
        hint = suggestion(asked_as(predicate), MODES) or f'write `model="{KNOWLEDGE}"`'
        complain(f"the `model` of `{name}` is none of {', '.join(MODES)}", hint)
    columns = [column.name for column in predicate.columns]
    for given in (one.strip() for one in told.get("given", "").split(",")):
        if given and given not in columns:
            hint = suggestion(given, columns) or f'write `given="{columns[0]}"`'
            complain(f"the `given` of `{name}` names a column that it has not", hint)
    if predicate.key and "given" in told and set(given_columns(predicate)) != set(predicate.key):
        hint = "leave `given` out: the columns of the key are given"
        complain(f"`{name}` has a key, and another `given`", hint)
    if len(told.get("about", "")) > _LONGEST_ABOUT:
        complain(f"the `about` of `{name}` is too long", f"use {_LONGEST_ABOUT} characters at most")


# An operation is a predicate: columns that `required` names are sent, the others are fields. What
# an API says of itself is not looked at here.

OF_APIS: Final = ("operation", "rows", "columns", "fixed")
_PARAMETER: Final = re.compile(r"\{([^{}]{1,200})\}\Z")


@frozen
class ApiColumns:
    """How the columns of a predicate stand for an operation, by their positions.

    `sent` are the columns that it is asked with, `parameters` their parameters where these have
    another name, `paths` those of fields. `fixed` are parameters that always have the same value.
    """

    sent: tuple[int, ...]
    parameters: Mapping[int, str] = field(default_factory=dict, hash=False)
    paths: Mapping[int, str] = field(default_factory=dict, hash=False)
    rows: str | None = None
    fixed: Mapping[str, str] = field(default_factory=dict, hash=False)


def api_columns(predicate: Predicate) -> ApiColumns:
    """Read what an `.input` says of an operation; `check_api` reports what is wrong with it."""
    told = predicate.source.parameters if predicate.source else {}
    places = {column.name: place for place, column in enumerate(predicate.columns)}
    required = [name.strip() for name in told.get("required", "").split(",")]
    parameters: dict[int, str] = {}
    paths: dict[int, str] = {}
    for name, written in pairs_of(told.get("columns", "")):
        found = _PARAMETER.match(written)
        if name in places and found is not None:
            parameters[places[name]] = found[1]
        elif name in places:
            paths[places[name]] = written
    return ApiColumns(
        tuple(sorted({places[name] for name in required if name in places})),
        parameters,
        paths,
        told.get("rows"),
        dict(pairs_of(told.get("fixed", ""))),
    )


def check_api(predicate: Predicate, project: Project, diagnostics: list[Diagnostic]) -> None:
    """Report what an `.input` says wrongly about an operation."""
    source = predicate.source
    if source is None:
        return
    name, told = predicate.name, source.parameters

    def complain(message: str, hint: str) -> None:
        diagnostics.append(Diagnostic("C0573", message, source.span, help=hint))

    if source.name not in project.apis:
        if source.name in project.documents:
            return
        for unused in [one for one in OF_APIS if one in told]:
            message = f"`.input {name}` has `{unused}`, and its source is no API"
            hint = suggestion(source.name, project.apis) or "name a source of `apis:`"
            complain(message, hint)
        return
    for message, hint in _api_mistakes(predicate):
        complain(message, hint)


def _api_mistakes(predicate: Predicate) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, each with an edit."""
    name, told = predicate.name, predicate.source.parameters if predicate.source else {}
    if not told.get("operation"):
        yield f"`{name}` has an API as its source, and no `operation`", 'write `operation="..."`'
    if "query" in told:
        yield f"`{name}` has an API as its source, and a `query`", "write `operation=` instead"
    columns = [column.name for column in predicate.columns]
    for column, written in pairs_of(told.get("columns", "")):
        if column not in columns or not written:
            hint = suggestion(column, columns) or 'write `columns="city = address.city"`'
            yield f"`columns` of `{name}` names a column that it has not", hint
    for key, written in pairs_of(told.get("fixed", "")):
        if not key or not written:
            yield f"`fixed` of `{name}` is no list", 'write `fixed="status=open, limit=100"`'
    found = api_columns(predicate)
    for place in found.parameters.keys() - set(found.sent):
        required = ", ".join(columns[one] for one in sorted({*found.sent, place}))
        message = f"column `{columns[place]}` of `{name}` is sent, and `required` does not name it"
        yield message, f'write `required="{required}"`'
    for place in found.paths.keys() & set(found.sent):
        message = f"column `{columns[place]}` of `{name}` is sent, and a field as well"
        yield message, f'write `columns="{columns[place]} = {{...}}"` with the parameter'


OF_DOCUMENTS: Final = ("pattern", "section")


def check_documents(predicate: Predicate, project: Project, diagnostics: list[Diagnostic]) -> None:
    """Report what an `.input` says wrongly about documents."""
    source = predicate.source
    if source is None:
        return
    if source.name in project.documents:
        from constat.tiers import documents  # noqa: PLC0415  loaded when it is used

        diagnostics += documents.mistakes(predicate)
        return
    for unused in [one for one in OF_DOCUMENTS if one in source.parameters]:
        message = f"`.input {predicate.name}` has `{unused}`, and its source is no documents"
        hint = suggestion(source.name, project.documents) or "name a source of `documents:`"
        diagnostics.append(Diagnostic("C0582", message, source.span, help=hint))


# Nothing is opened or imported here.

_OURS: Final = (
    "source",
    "query",
    "key",
    "null",
    "distinct",
    "max_age",
    "record",
    "required",
    *OF_APIS,
    *OF_DOCUMENTS,
    *PARAMETERS,
)
# What stock Souffle reads of an `.input`; it says nothing about a project's source.
_SOUFFLE: Final = ("IO", "filename", "name", "delimiter", "headers", "rfc4180")


def reads_by_column(predicate: Predicate, project: Project) -> bool:
    """Whether the columns of a predicate may be read one by one, so that some are left out.

    Databases, APIs, configuration and people are: a model and a tier of a project's own may say
    whole rows, a nested certificate proves one, and nothing is left out of what is kept for
    another goal. With `@[whole]` it is always read whole: openings in a snapshot need that.
    """
    source = predicate.source
    if "whole" in predicate.attributes or asks_model(predicate, project):
        return False
    if project.record.every if source is None else not _is_kept_for_none(source, project):
        return False
    tiers = project.tiers.values()
    return all(one.predicates is not None and predicate.name not in one.predicates for one in tiers)


def _is_kept_for_none(source: Source, project: Project) -> bool:
    """Whether rows are read by column where they stand, and for the goal alone."""
    if source.name not in {*project.databases, *project.apis, CONFIG}:
        return False
    # Whether the age means anything is told where it is declared.
    if MAX_AGE in source.parameters:
        return False
    wish = source.parameters.get("record")
    return not (wish == "true" or (wish is None and project.record.covers(source.name)))


def check_sources(
    project: Project, predicates: Iterable[Predicate], diagnostics: list[Diagnostic]
) -> None:
    """Report what the project does not have of what these `.input` and attributes name."""
    for predicate in predicates:
        _check_source(predicate, project, diagnostics)
        check_certificates(predicate, project, diagnostics)
        _check_key(predicate, diagnostics)
        check_age(predicate, diagnostics)
        check_model(predicate, project, diagnostics)
        check_api(predicate, project, diagnostics)
        check_documents(predicate, project, diagnostics)
        for attributes in (predicate.attributes, *(c.attributes for c in predicate.columns)):
            _check_policy(attributes.get("null", "error"), predicate, diagnostics)


def check_declarations(
    project: Project, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
) -> None:
    """Report unknown sources, policies and names."""
    predicates = analysed.program.predicates
    check_sources(project, predicates.values(), diagnostics)
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
    known = {CONFIG, *project.databases, *project.apis, *project.documents, *project.tiers}
    known |= {*_model(predicate, project)}
    if source.name not in known:
        message = f"`{predicate.name}` has the source `{source.name}`, which the project has not"
        if not source.name:
            message = f"`{predicate.name}` has a query and no `source`"
        hint = _sources_help(source.name, known, project)
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


_FRAMES: Final = "frames"
"""The source that frames have which a program hands in."""


def _sources_help(written: str, known: set[str], project: Project) -> str:
    """Say what may stand as `source`: the nearest name, what else there is, or no `.input`."""
    if written == _FRAMES:
        given = 'facts={"NAME": frame}'
        return (
            f"hand frames in by their names: `Session(..., {given})`, in a notebook `%%rules NAME`"
        )
    near = nearest(written, sorted(known))
    listed = ", ".join(f"`{one}`" for one in sorted(known - {CONFIG})[:_MOST_SOURCES])
    configured, place = f'source = "{CONFIG}"', project.config_name
    there = f"the project has {listed}" if listed else "the project has no source yet"
    use = f'write `source = "{near}"`' if near else f"{there}: name one"
    new = f", or add `{written}:` under `databases:` of {place}" if written else ""
    return (
        f"{use}{new}; rows that stand under `facts:` of {place} have `{configured}`; where"
        " people state the rows, or nobody yet, delete the `.input`"
    )


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
