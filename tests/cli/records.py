"""Keys, signatures, a log and a snapshot for the examples of help texts.

In: the folder in which examples run and its project, where `c001.json` is proved. Out: the files
that examples name, and a log of two decisions that each example of `constat log` finds.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

STATE = "state-with-a-log"
EXPLORED = "state-with-an-exploration"
PLANNED = "state-with-a-plan-for-the-library"
REMEMBERED = "state-with-a-conversation"


def make_records(where: Path, project: Path) -> None:
    """Make what the examples name."""
    report = "SELECT id FROM customers;\n"
    (where / "report.sql").write_text(report, encoding="utf-8")
    for role, name in (("approver", "key"), ("source", "source")):
        done("keygen", "--role", role, "--name", "Ada Lovelace", "-o", where / f"{name}.pem")
    done("sign", where / "c001.json", "--key", where / "key.pem", "--meaning", "approved")
    key = ("--key", where / "source.pem", "--project", project)
    done("snapshot", "placed_order", *key, "-o", where / "orders.dsse")
    for goal in ("is_vip(C001)", "is_vip(C001)"):
        done("prove", goal, "--log", "--project", project)
    done("log", "hold", "2", "--matter", "audit-2026", "--project", project)
    anchor = ("--key", where / "key.pem", "-o", where / "head.dsse")
    done("log", "anchor", *anchor, "--project", project)
    shutil.copytree(project / ".constat", where / STATE)
    for name, code, state in (("top5", 0, EXPLORED), ("sizes", 3, PLANNED)):
        plan = ("--plan", project / "plans" / f"{name}.yaml", "--today", "2025-11-21")
        proof = ("--certificate", where / f"{name}.json", "--events", "none")
        shutil.rmtree(project / ".constat")
        # A SELECT over steps, as in `sizes`, stands on the word of what ran it.
        done("solve", *plan, *proof, "--project", project, code=code)
        shutil.copytree(project / ".constat", where / state)
    log = where / "examples" / "memory" / "refund.json"
    kept = ("--session", "refund", "--store", where / REMEMBERED)
    done("memory", "compact", log, *kept)
    done("memory", "branch", "marco", *kept)


def done(*arguments: str | Path, code: int = 0) -> None:
    ran = run(*arguments)
    assert ran.code == code, ran.err


def restore(where: Path, project: Path, command: str) -> None:
    """Bring back what examples of a command start from; the state folder has been removed."""
    if command == "log":
        shutil.copytree(where / STATE, project / ".constat")
    if command in {"resume", "history"}:
        shutil.copytree(where / EXPLORED, project / ".constat")
    if command == "plan":
        shutil.copytree(where / PLANNED, project / ".constat")
    if command == "memory":
        shutil.copytree(where / REMEMBERED, project / ".constat")
    if command == "keygen":
        for name in ("ada", "engine"):
            for suffix in (".pem", ".pub.pem"):
                (where / f"{name}{suffix}").unlink(missing_ok=True)
