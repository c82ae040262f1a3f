"""Which predicates a language model is asked about, how, and by which columns.

In: declarations. Out: how a model may know a predicate, and the columns that are given when it is
asked. `source = "model"` leaves it to the model alone; `model = "knowledge"` or `"heuristic"` lets
it stand behind a source that failed. Given are the columns of `@[key = ...]` or of
`given = "company"`; without either all, so that the model is asked whether a row holds. Invariant:
a predicate is always asked about by the same columns, so what a model says never depends on the
goal. Example: `.input industry(source = "model", about = "the industry a company works in")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.evaluation import Origin
from constat.project import suggestion

if TYPE_CHECKING:
    from constat.logic import Predicate
    from constat.project import Project

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
