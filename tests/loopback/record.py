"""Make tapes of written answers: `python -m tests.loopback.record examples/vip/tapes/ask.yaml`.

In: files with `commands` (of `constat`, in the project they lie in) and `answers` (see `written`).
Out: beside each a tape of the same name, `.jsonl`, with what was asked on the way. Invariants: the
provider's own library talks to a server of ours on the loopback interface, no model is asked, and
the tape says so; what has not changed keeps its line. A change of any prompt changes the requests:
then this is run again.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

import yaml

from constat.cli.entry import main as constat
from constat.model.tapes import Tape
from constat.project import Expanded, Project, find_project
from constat.project.loading import load_project
from constat.project.settings import OPENAI, RECORD, ModelSetting, TapeSetting
from tests.loopback.server import WRITTEN_MODEL, ModelServer
from tests.loopback.written import written_answers

_KEY: Final = "CONSTAT_WRITTEN_ANSWERS_KEY"


def main(files: Sequence[str]) -> int:
    """Make the tapes; gives 1 where a command went wrong."""
    return max([_recorded(Path(file)) for file in files], default=0)


def _recorded(file: Path) -> int:
    script = yaml.safe_load(file.read_text(encoding="utf-8"))
    tape = file.with_suffix(".jsonl").absolute()
    before = Tape(tape).entries if tape.exists() else ()
    tape.unlink(missing_ok=True)
    folder = find_project(file.absolute().parent)
    with (
        ModelServer(written_answers(file)) as server,
        tempfile.TemporaryDirectory() as state,
        _speaking_to(server, tape, Path(state)),
    ):
        commands = [[*shlex.split(line), "--project", str(folder)] for line in script["commands"]]
        codes = [constat(command) for command in commands]
    made = {one.prompt: one for one in Tape(tape).entries} if tape.exists() else {}
    _keep_times(tape, before, made)
    print(f"{file.name}: {len(made)} replies; exit codes {codes}")  # noqa: T201  a script
    return int(not made or any(code in {1, 2, 70} for code in codes))


def _keep_times(tape: Path, before: Sequence[Any], made: dict[str, Any]) -> None:
    """Let replies that are as they were keep their time, so that their lines stay."""
    old = {one.prompt: one for one in before}
    same = {
        prompt: old[prompt]
        if prompt in old and old[prompt].answered.form == one.answered.form
        else one
        for prompt, one in made.items()
    }
    if made:
        Tape(tape)._write(same)


@contextmanager
def _speaking_to(server: ModelServer, tape: Path, state: Path) -> Iterator[None]:
    """Let every model of every project be the server."""

    def loading(folder: Path, **options: Any) -> Project:  # noqa: ANN401  passed on
        project = load_project(folder, **options)
        named = {name: _served(one, server) for name, one in project.models.named.items()}
        models = replace(project.models, named=named, tape=TapeSetting(tape, RECORD))
        return replace(project, models=models, state=state)

    environment = {_KEY: "written answers need no key"}
    with (
        mock.patch("constat.session.session.load_project", loading),
        mock.patch.dict(os.environ, environment),
    ):
        yield


def _served(setting: ModelSetting, server: ModelServer) -> ModelSetting:
    address = server.chat_address if setting.provider == OPENAI else server.address
    return replace(setting, address=Expanded(address), key=_KEY, answers_as=(WRITTEN_MODEL,))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
