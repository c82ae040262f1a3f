"""The three projects that questions are asked about, each in a folder of its own.

In: the name of a schema and a folder. Out: the project's folder, with its database. Invariant: the
rows of the music store are written here by hand, so that an answer can be found by looking.
Example: `build_world("music", folder)`.
"""

from __future__ import annotations

import runpy
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.examples.shop import ROOT, build_database, copy_shop

SCHEMAS: Final = ("shop", "access", "music")
FOLDER: Final = Path(__file__).with_name("questions")
_STORE: Final = """
CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE albums (id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER NOT NULL);
CREATE TABLE genres (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tracks (id INTEGER PRIMARY KEY, album_id INTEGER NOT NULL, name TEXT NOT NULL,
    genre_id INTEGER NOT NULL, seconds INTEGER NOT NULL);
CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL,
    employee_id INTEGER NOT NULL);
CREATE TABLE invoices (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, day TEXT NOT NULL);
CREATE TABLE invoice_lines (id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL,
    track_id INTEGER NOT NULL, price TEXT NOT NULL);
INSERT INTO artists VALUES (1, 'Quiet Engines'), (2, 'Harbour Choir'), (3, 'Nils Trio');
INSERT INTO albums VALUES (10, 'Aurora', 1), (20, 'Tides', 2), (30, 'Late Set', 3);
INSERT INTO genres VALUES (1, 'Electronic'), (2, 'Choral'), (3, 'Jazz');
INSERT INTO tracks VALUES (101, 10, 'Northern Lights', 1, 312), (102, 10, 'Ice', 1, 298),
    (201, 20, 'High Tide', 2, 240), (202, 20, 'Low Tide', 2, 260),
    (303, 30, 'After Hours', 3, 420), (304, 30, 'Last Round', 3, 380);
INSERT INTO employees VALUES (1, 'Petra'), (2, 'Olav');
INSERT INTO customers VALUES (1, 'Ada', 'Italy', 1), (2, 'Bo', 'Norway', 2),
    (3, 'Cleo', 'France', 2), (4, 'Dag', 'Norway', 1);
INSERT INTO invoices VALUES (1, 1, '2025-01-05'), (2, 2, '2025-02-07'), (3, 3, '2025-03-09');
INSERT INTO invoice_lines VALUES (1, 1, 101, '0.99'), (2, 1, 102, '0.99'), (3, 1, 201, '0.99'),
    (4, 2, 303, '1.99'), (5, 2, 304, '1.99'), (6, 3, 303, '1.99');
"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A goal with rules, as a model would hand them in."""

    goal: str
    rules: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is expected: `yes`, `no` or `unknown`, and one way to express it."""

    schema: str
    text: str
    answer: str
    reference: Proposed
    first: tuple[Proposed, ...] = ()


def questions(*schemas: str) -> list[Question]:
    """Read the questions of some schemas, or of all."""
    return [_question(name, entry) for name in schemas or SCHEMAS for entry in _entries(name)]


def _entries(schema: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / f"{schema}.yaml").read_text("utf-8"))
    return found


def _question(schema: str, entry: dict[str, Any]) -> Question:
    unknown = entry.keys() - {"question", "answer", "goal", "rules", "first"}
    if unknown or entry["answer"] not in {"yes", "no", "unknown"}:
        raise ValueError(f"{schema}: {sorted(unknown)}: {entry['question']}")
    return Question(
        schema,
        entry["question"],
        entry["answer"],
        Proposed(entry["goal"], entry.get("rules", "")),
        tuple(Proposed(one["goal"], one.get("rules", "")) for one in entry.get("first", ())),
    )


def build_world(schema: str, folder: Path) -> Path:
    """Build a project in an empty folder; give the project's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    match schema:
        case "shop":
            database = folder / "shop.sqlite"
            build_database(database)
            return copy_shop(folder, database)
        case "access":
            return _copy_access(folder)
        case "music":
            return _build_music(folder)
        case _:
            raise ValueError(f"there is no schema {schema}")


def kept_world(schema: str, folder: Path) -> Path:
    """Give the project that an earlier run has built there, with its state, or build it."""
    places = {"shop": "examples/vip", "access": "examples/access", "music": "music"}
    project = folder / places[schema]
    return project if (project / "constat.yaml").exists() else build_world(schema, folder)


def _copy_access(folder: Path) -> Path:
    ignored = shutil.ignore_patterns(".constat", "__pycache__", "data")
    project = folder / "examples" / "access"
    shutil.copytree(ROOT / "examples" / "access", project, ignore=ignored)
    shutil.copytree(ROOT / "rules" / "access-control", folder / "rules" / "access-control")
    (project / "data").mkdir()
    program = runpy.run_path(str(ROOT / "examples" / "access" / "make_data.py"))
    program["build"](project / "data" / "directory.sqlite")
    return project


def _build_music(folder: Path) -> Path:
    project = folder / "music"
    shutil.copytree(FOLDER / "music", project)
    with closing(sqlite3.connect(project / "store.sqlite")) as connection:
        connection.executescript(_STORE)
    return project
