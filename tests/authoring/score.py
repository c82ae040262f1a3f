"""Score a language model on the questions: `python -m tests.authoring.score --provider anthropic`.

In: a provider, or the answers that people wrote (`--provider written`), served on the loopback
interface. Out: for each schema how many first proposals passed the checks, how many passed after
repairs, and how many verdicts are right. Invariants: where no provider answers, or it stops to,
the report says so and has no figures; figures of written answers say that they are about the checks
and no model; with `--folder` every reply that was paid for is kept there, and a run that is taken
up again pays only for the rest. Example: `python -m tests.authoring.score --provider openai
--base-url http://localhost:11434/v1 --key "" --model some-model --variables bare --only music`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.model import Usage
from constat.project import Expanded, Project
from constat.project.loading import load_project
from constat.project.settings import (
    ANTHROPIC,
    OPENAI,
    SPELLINGS,
    STRICT,
    ModelSetting,
    ModelsSetting,
)
from constat.session import Session
from tests.authoring.worlds import SCHEMAS, Question, kept_world, questions
from tests.authoring.writing import answerer
from tests.loopback.server import WRITTEN_MODEL, ModelServer

WRITTEN: Final = "written"
_KEY: Final = "CONSTAT_WRITTEN_ANSWERS_KEY"
_ANSWERS: Final = {
    Verdict.PROVED: "yes",
    Verdict.PROVED_UNDER: "yes",
    Verdict.DISPROVED: "no",
    Verdict.DISPROVED_UNDER: "no",
    Verdict.UNRESOLVED: "unknown",
}
# Nobody answers, or may be asked: nothing is known about the model. Every other failure is its own.
_SILENT: Final = frozenset(
    {"C0821", "C0822", "C0823", "C0824", "C0825", "C0828", "C0829", "C0831", "C0935"}
)
_NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of one question; `rounds` is 0 where no proposal passed."""

    question: Question
    rounds: int = 0
    answer: str = ""
    trouble: str = ""
    usage: Usage = _NO_USAGE

    @property
    def right(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.answer == self.question.answer


@dataclass(frozen=True, slots=True)
class Report:
    """All scores, or why there are none."""

    provider: str
    model: str
    variables: str
    scores: tuple[Scored, ...] = ()
    silent: str = ""
    before: int = 0

    def as_json(self) -> dict[str, Any]:
        """Give figures; none where nobody answered."""
        head = {"provider": self.provider, "model": self.model, "variables": self.variables}
        if self.silent:
            asked = {"questions_before": self.before} if self.before else {}
            return {**head, "answered": False, "reason": self.silent, **asked}
        return {
            **head,
            "answered": True,
            "answers": "written by hand: this scores the checks, not a model"
            if self.provider == WRITTEN
            else "of the model",
            "usage": self._usage(),
            "schemas": {name: self._figures(name) for name in self._schemas()},
            "wrong": [
                {"question": one.question.text, "expected": one.question.answer}
                | {"answer": one.answer, "trouble": one.trouble}
                for one in self.scores
                if not one.right
            ],
        }

    def _usage(self) -> dict[str, int]:
        total = sum((one.usage for one in self.scores), Usage())
        read = total.read + total.cached + total.stored
        return {"calls": total.calls, "read": read, "written": total.written}

    def _schemas(self) -> list[str]:
        return list(dict.fromkeys(one.question.schema for one in self.scores))

    def _figures(self, schema: str) -> dict[str, int]:
        own = [one for one in self.scores if one.question.schema == schema]
        return {
            "questions": len(own),
            "valid_first": sum(one.rounds == 1 for one in own),
            "valid_after_repair": sum(one.rounds >= 1 for one in own),
            "verdict_right": sum(one.right for one in own),
        }


class _Scored(Session):
    """A session over a project that was changed for the score."""

    def __init__(self, project: Project) -> None:
        super().__init__(project.folder)
        self._project = project


def score(
    wanted: Sequence[Question], setting: ModelSetting, variables: str, folder: Path, provider: str
) -> Report:
    """Ask every question; stops where the provider itself fails."""
    found: list[Scored] = []
    for schema in dict.fromkeys(one.schema for one in wanted):
        project = _project(kept_world(schema, folder / schema), setting, variables)
        with _Scored(project) as session:
            for question in wanted:
                if question.schema != schema:
                    continue
                one = _asked(session, question)
                if one.trouble[:5] in _SILENT:
                    told = (provider, setting.model, variables)
                    return Report(*told, silent=one.trouble, before=len(found))
                found.append(one)
    if found and all(one.trouble.startswith("C0826") for one in found):
        reason = f"nothing that came is a reply of a model: {found[0].trouble}"
        return Report(provider, setting.model, variables, silent=reason)
    return Report(provider, setting.model, variables, tuple(found))


def _project(folder: Path, setting: ModelSetting, variables: str) -> Project:
    project = load_project(folder)
    return replace(
        project,
        models=ModelsSetting(named={setting.name: setting}, default=setting.name),
        authoring=replace(project.authoring, variables=variables),
    )


def _asked(session: Session, question: Question) -> Scored:
    before = session.models.usage
    try:
        found = session.ask(question.text)
    except ConstatError as problem:
        first = problem.diagnostics[0]
        used = session.models.usage - before
        return Scored(question, trouble=f"{first.code}: {first.message}", usage=used)
    return Scored(question, found.rounds, _ANSWERS[found.verdict], usage=found.usage)


@contextmanager
def served(wanted: Sequence[Question], variables: str = STRICT) -> Iterator[ModelSetting]:
    """Serve the written answers to questions; gives the model that speaks to the server."""
    before = os.environ.get(_KEY)
    os.environ[_KEY] = "written answers need no key"
    try:
        with ModelServer(answerer(wanted, variables)) as server:
            yield ModelSetting("written", ANTHROPIC, WRITTEN_MODEL, _KEY, Expanded(server.address))
    finally:
        if before is None:
            os.environ.pop(_KEY, None)
        else:
            os.environ[_KEY] = before


def main(arguments: Sequence[str] | None = None) -> int:
    """Score and print; gives 0 where there are figures and 4 where nobody answered."""
    given = _parser().parse_args(arguments)
    wanted = questions(*(given.only or SCHEMAS))[: given.most]
    with ExitStack() as stack:
        folder = Path(given.folder or stack.enter_context(tempfile.TemporaryDirectory()))
        if given.provider == WRITTEN:
            setting = stack.enter_context(served(wanted, given.variables))
        else:
            address = Expanded(given.base_url) if given.base_url else None
            setting = ModelSetting("scored", given.provider, given.model, given.key, address)
        report = score(wanted, setting, given.variables, folder, given.provider)
    print(json.dumps(report.as_json(), indent=2))  # noqa: T201  a script
    return 4 if report.silent else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.authoring.score")
    parser.add_argument("--provider", choices=(WRITTEN, ANTHROPIC, OPENAI), default=WRITTEN)
    parser.add_argument("--model", default="claude-sonnet-4-5")
    parser.add_argument("--key", default="ANTHROPIC_API_KEY", help="the variable with the key")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--variables", choices=SPELLINGS, default=STRICT)
    parser.add_argument("--only", choices=SCHEMAS, action="append")
    parser.add_argument("--folder", default="", help="keep projects and replies here")
    parser.add_argument("--most", type=int, default=1_000)
    return parser


if __name__ == "__main__":
    sys.exit(main())
