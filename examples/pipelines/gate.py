"""What both orchestrators do: prove a goal by the command, and keep its certificate.

Constat has an environment of its own; `CONSTAT` names its command. Nothing is believed that the
command does not say: a goal that is not proved ends the run, and the message says why.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


class NotProvedError(Exception):
    """The goal is not proved; the text is the command's explanation."""


def prove(
    goal: str, project: str, certificate: str, *, assumptions: bool = False
) -> dict[str, Any]:
    """Prove a goal, write its certificate, and give what the command says as JSON.

    Exit codes: 0 proved, 3 proved under assumptions (which counts where `assumptions` is true),
    anything else raises `NotProvedError`.
    """
    command = [os.environ.get("CONSTAT", "constat"), "prove", goal, "--project", project]
    Path(certificate).parent.mkdir(parents=True, exist_ok=True)
    ran = subprocess.run(  # noqa: S603  the command that the operator names
        [*command, "--format", "json", "--certificate", certificate],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == 0 or (assumptions and ran.returncode == 3):
        found: dict[str, Any] = json.loads(ran.stdout)
        return found
    raise NotProvedError(ran.stdout + ran.stderr)
