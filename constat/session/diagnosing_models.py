"""Look at the language models of a project: keys that are set or not, drivers, tapes.

In: a project, the environment. Out: findings. Invariants: no model is asked; a key is looked for
and never shown, nor its length. Example: a model whose `ANTHROPIC_API_KEY` is not set is a warning,
because goals are proved without it.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from constat.project.models import ANTHROPIC, REPLAY, TASKS
from constat.session.diagnosing_values import ERROR, NOTE, OK, WARNING, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.project import Project
    from constat.project.models import ModelSetting, ModelsSetting


def model_findings(project: Project, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at every model of the project."""
    models = project.models
    if not models.named:
        message = "no model is configured: questions are asked as goals, not in plain words"
        yield Finding("models", NOTE, message)
        return
    replayed = models.tape is not None and models.tape.mode == REPLAY
    for model in models.named.values():
        yield from _model(model, models, environment, replayed=replayed)
    if models.tape is not None:
        yield _tape(models, project)


def _model(
    model: ModelSetting, models: ModelsSetting, environment: Mapping[str, str], *, replayed: bool
) -> Iterator[Finding]:
    check = f"model {model.name}"
    tasks = [task for task in TASKS if models.of(task) is model]
    package = "anthropic" if model.provider == ANTHROPIC else "openai"
    if importlib.util.find_spec(package) is None:
        hint = "pip install constat" if package == "anthropic" else "pip install 'constat[openai]'"
        yield Finding(check, ERROR, f"the package {package} is missing", hint)
    if model.address is not None and model.address.missing:
        names = ", ".join(model.address.missing)
        yield Finding(
            check, WARNING, f"its address needs {names}, which is not set", f"set {names}"
        )
    if replayed:
        yield Finding(check, OK, f"{model.model}; replies come from a tape, no key is needed")
    elif model.key and not environment.get(model.key):
        message = f"the environment variable {model.key} is not set"
        yield Finding(check, WARNING, message, f"set {model.key} to the provider's key")
    else:
        key = f"{model.key} is set" if model.key else "it needs no key"
        yield Finding(check, OK, f"{model.model}, {key}, for {', '.join(tasks) or 'no task'}")


def _tape(models: ModelsSetting, project: Project) -> Finding:
    tape = models.tape
    if tape is None or tape.file.is_file():
        return Finding("tape", OK, "it is there")
    if tape.mode == REPLAY:
        hint = f"put it there, or take `tape` out of `models:` in {project.config_name}"
        return Finding("tape", ERROR, f"there is no file {tape.file.name}", hint)
    return Finding("tape", OK, "it is made when a model is first asked")
