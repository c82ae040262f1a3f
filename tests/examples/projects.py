"""Copies of the example projects with freshly built databases, for tests that read them."""

from __future__ import annotations

import re
import runpy
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from constat import Session, Verdict

Row = tuple[object, ...]
Asked = dict[Row, bool | None]
"""What an oracle says of rows: they are so, they are not, nobody knows."""

ROOT: Final = Path(__file__).resolve().parents[2]
IGNORED: Final = ("data", ".constat", "__pycache__", "cases")


def copy_example(name: str, library: str, folder: Path) -> Path:
    """Copy an example and its library below `folder`, and build the example's database."""
    ignored = shutil.ignore_patterns(*IGNORED)
    project = folder / "examples" / name
    shutil.copytree(ROOT / "examples" / name, project, ignore=ignored)
    shutil.copytree(ROOT / "rules" / library, folder / "rules" / library, ignore=ignored)
    build = runpy.run_path(str(project / "make_data.py"))["build"]
    build(database_of(project))
    return project


def database_of(project: Path) -> Path:
    """Return where the example's configuration expects its database."""
    for line in (project / "constat.yaml").read_text(encoding="utf-8").splitlines():
        _, found, path = line.partition("uri: sqlite:///")
        if found:
            return project / path
    message = f"{project.name} names no database"
    raise AssertionError(message)


def sql(database: Path, query: str) -> set[tuple[object, ...]]:
    """Ask the database itself, as an oracle that knows nothing of rules."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        return set(connection.execute(query).fetchall())


def columns(database: Path, query: str) -> dict[object, object]:
    """Give the second column by the first."""
    return {row[0]: row[1] for row in sql(database, query)}


def dump(database: Path) -> list[str]:
    """Give all that a database holds, as text."""
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def readme_goals(name: str) -> list[str]:
    """Give the goals that an example's README asks."""
    text = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    found = re.findall(
        rf"""^ +constat prove (["'])(.*)\1 --project examples/{name}$""", text, re.MULTILINE
    )
    return [goal for _, goal in found]


def prove_and_read_again(project: Path, goal: str, verdict: Verdict) -> None:
    """Prove a goal, and have another session check its certificate and read its rows again."""
    with Session(project) as session:
        result = session.prove(goal)
    with Session(project) as reader:
        leaves = reader.verify_source(result.certificate)
    assert result.verdict is verdict
    assert (leaves.report.accepted, leaves.report.verdict) == (True, verdict.value)
    assert leaves.drift == ()


def verdicts(session: Session, query: str) -> dict[Row, str]:
    """Give the answers of a query with what each is called."""
    return {row.values: row.verdict.value for row in session.query(query)}
