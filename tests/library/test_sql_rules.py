"""SQL as rules: what comes out is what SQLite says, and what has no counterpart is named."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.evaluation import Verdict
from constat.library.sql_rules import Stored, import_sql
from constat.logic import Column, Kind, Predicate
from constat.session.answers import Computed
from tests.cli.running import Ran, run

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = """
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE animal (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owner, kind TEXT,
  weight INTEGER, born TEXT NOT NULL);
CREATE TABLE visit (animal INTEGER NOT NULL REFERENCES animal, number INTEGER NOT NULL,
  cost INTEGER NOT NULL, PRIMARY KEY (animal, number));
INSERT INTO owner VALUES (1, 'Ada', 'Rome'), (2, 'Bob', NULL), (3, 'Cid', 'Bonn');
INSERT INTO animal VALUES (1, 1, 'dog', 30, '2020-01-05'), (2, 1, 'cat', 4, '2021-02-01'),
  (3, 2, 'dog', NULL, '2019-07-09'), (4, 2, 'dog', 30, '2020-01-05'), (5, 3, NULL, 7, '2022-03-03');
INSERT INTO visit VALUES (1, 1, 50), (1, 2, 50), (2, 1, 20), (4, 1, 50), (5, 1, 9), (3, 1, 0);
"""
CERTAIN: Final = frozenset({Verdict.PROVED, Computed.CERTAIN})
NAMED: Final = {
    "columns": "SELECT name, city FROM owner WHERE id > 1",
    "a join": "SELECT o.name, a.id FROM owner o JOIN animal a ON a.owner = o.id WHERE a.weight > 5",
    "a join by commas": "SELECT o.id, a.id FROM owner o, animal a WHERE a.owner = o.id",
    "equal rows are added up": "SELECT SUM(cost), COUNT(*) FROM visit",
    "a group": "SELECT kind, COUNT(*), SUM(weight), MIN(born) FROM animal GROUP BY kind",
    "a group of a join": (
        "SELECT o.name, SUM(v.cost) FROM owner o JOIN animal a ON a.owner = o.id"
        " JOIN visit v ON v.animal = a.id GROUP BY o.name HAVING SUM(v.cost) > 10"
    ),
    "a sum of nothing in a group": (
        "SELECT kind, SUM(weight), COUNT(*) FROM animal WHERE id <> 1 AND id <> 4 GROUP BY kind"
    ),
    "a sum of nothing": "SELECT SUM(cost) FROM visit WHERE cost > 900",
    "a group by number": "SELECT owner, MAX(weight) FROM animal GROUP BY 1",
    "a mean": "SELECT owner, AVG(weight) FROM animal GROUP BY owner",
    "alternatives": "SELECT id FROM animal WHERE kind IN ('cat', 'bird') OR weight >= 30",
    "between and like": "SELECT id FROM owner WHERE id BETWEEN 1 AND 2 AND name LIKE '%d%'",
    "what is there": "SELECT id FROM owner WHERE city IS NOT NULL",
    "denied": "SELECT id FROM owner WHERE NOT name LIKE 'A%' AND id NOT IN (3, 4)",
    "a calculation": "SELECT id, weight * 2 + 1 FROM animal WHERE weight - 1 > owner",
    "like in both cases": "SELECT id FROM owner WHERE name LIKE 'a%' OR name LIKE '%B'",
    "whole divisions": (
        "SELECT id, (weight - 40) / 4, (weight - 40) % 7, -weight / 4 FROM animal WHERE weight > 0"
    ),
    "days": "SELECT id FROM animal WHERE born >= '2020-01-05'",
    "all columns": "SELECT * FROM visit WHERE cost <> 50",
    "a union": "SELECT id FROM owner UNION SELECT cost FROM visit",
    "a count of what is there": "SELECT COUNT(weight) FROM animal",
    "in a query": "SELECT name FROM owner WHERE id IN (SELECT DISTINCT owner FROM animal)",
    "not in a query": "SELECT id FROM animal WHERE id NOT IN (SELECT number FROM visit)",
    "in what may be NULL": "SELECT id FROM owner WHERE name IN (SELECT city FROM owner)",
    "exists": (
        "SELECT a.kind, COUNT(*) FROM animal a WHERE EXISTS"
        " (SELECT * FROM visit v WHERE a.id = v.animal AND cost = 50) GROUP BY a.kind"
    ),
    "does not exist": (
        "SELECT o.id FROM owner o WHERE NOT EXISTS"
        " (SELECT 1 FROM animal o2 WHERE o2.owner = o.id AND o2.kind = 'dog')"
    ),
    "in a query with a condition": (
        "SELECT name FROM owner WHERE id IN (SELECT owner FROM animal WHERE weight > 5)"
    ),
    "not in a query with a condition": (
        "SELECT id FROM owner WHERE id NOT IN (SELECT owner FROM animal WHERE weight > 5)"
    ),
    "not in what is there": (
        "SELECT id FROM animal a WHERE kind NOT IN (SELECT city FROM owner WHERE city IS NOT NULL)"
    ),
    "in a join": (
        "SELECT name FROM owner WHERE id IN (SELECT a.owner FROM animal a JOIN visit v"
        " ON v.animal = a.id WHERE v.cost >= 50 AND a.kind LIKE 'd%')"
    ),
    "in groups": (
        "SELECT id FROM animal WHERE id IN"
        " (SELECT animal FROM visit GROUP BY animal HAVING COUNT(*) > 1)"
    ),
    "in a union": (
        "SELECT id FROM owner WHERE id IN"
        " (SELECT owner FROM animal WHERE weight < 9 UNION SELECT number + 1 FROM visit)"
    ),
    "in what is calculated": "SELECT id FROM owner WHERE id IN (SELECT owner + 1 FROM animal)",
    "in a query about the row": (
        "SELECT o.id FROM owner o WHERE 'dog' IN"
        " (SELECT kind FROM animal WHERE owner = o.id AND weight > 5)"
    ),
    "exists beside a condition": (
        "SELECT o.id FROM owner o WHERE EXISTS"
        " (SELECT 1 FROM animal a WHERE a.owner = o.id AND (a.weight > 5 OR a.kind = 'cat'))"
    ),
    "does not exist beside a condition": (
        "SELECT a.id FROM animal a WHERE NOT EXISTS"
        " (SELECT 1 FROM visit v WHERE v.animal = a.id AND v.cost > 10 AND v.number = 1)"
    ),
    "does not exist in a join": (
        "SELECT o.name FROM owner o WHERE NOT EXISTS (SELECT 1 FROM animal a, visit v"
        " WHERE v.animal = a.id AND a.owner = o.id AND v.cost > 20)"
    ),
    "a query in a query in a query": (
        "SELECT id FROM owner WHERE id IN (SELECT owner FROM animal WHERE weight > 1 AND id IN"
        " (SELECT animal FROM visit WHERE cost > 20))"
    ),
    "alternatives of what may be NULL": (
        "SELECT id, owner FROM animal WHERE kind = 'cat' OR weight > 5 OR id IS NOT NULL"
    ),
    "one or the other": (
        "SELECT id FROM owner WHERE id = 3 OR id IN (SELECT owner FROM animal WHERE weight > 20)"
    ),
    "nothing in a group": "SELECT kind, COUNT(*) FROM animal WHERE id > 90 GROUP BY kind",
}
REFUSED: Final = {
    "SELECT o.id FROM owner o LEFT JOIN animal a ON a.owner = o.id": "OUTER JOIN",
    "SELECT id FROM owner LIMIT 3": "LIMIT",
    "SELECT id FROM owner WHERE city IS NULL": "NULL",
    "SELECT id FROM owner WHERE id = (SELECT MAX(owner) FROM animal)": "a query inside of a query",
    "SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM animal a WHERE a.weight > o.id)": (
        "only `=` may compare a column of the inner query with one of the outer"
    ),
    "SELECT COUNT(*) FROM animal WHERE kind = 'cat' OR weight > 5": "make a view of each side",
    "SELECT id FROM owner WHERE EXISTS (SELECT 1 FROM visit WHERE cost > 5)": "a query inside of a",
    "SELECT id FROM owner WHERE id IN (SELECT animal FROM visit LIMIT 1)": "LIMIT",
    "SELECT id FROM owner WHERE id NOT IN (SELECT weight FROM animal WHERE id > 1)": (
        "write `weight IS NOT NULL` into the inner query"
    ),
    "SELECT id FROM owner o WHERE id IN (SELECT COUNT(*) FROM animal WHERE owner = o.id)": (
        "a query inside of a query"
    ),
    "SELECT id FROM owner WHERE EXISTS (SELECT COUNT(*) FROM animal WHERE owner = 9)": "a query in",
    "SELECT id FROM owner WHERE id IN (SELECT kind FROM animal)": "compared as number and symbol",
    "SELECT id FROM animal WHERE weight NOT IN (SELECT weight FROM animal)": (
        "`NOT EXISTS (SELECT 1 FROM animal other_animal WHERE other_animal.weight = animal.weight)`"
    ),
    "SELECT substr(born, 1, 7), COUNT(*) FROM animal GROUP BY substr(born, 1, 7)": (
        "GROUP BY of `SUBSTRING(born, 1, 7)`, which is no column,"
    ),
    "SELECT UPPER(city) FROM owner": "write a rule for it by hand",
    "SELECT RANK() OVER (ORDER BY id) FROM owner": "WINDOW",
    "SELECT CASE WHEN id > 1 THEN 2 ELSE 3 END FROM owner": "CASE",
    "SELECT id FROM owners": "the table `owners`",
    "SELECT nam FROM owner": "the column `nam`",
    "SELECT name, COUNT(*) FROM owner": "not in GROUP BY",
    "SELECT id FROM owner WHERE name = id": "whose sides are symbol and number",
    "SELECT COUNT(DISTINCT kind) FROM animal": "COUNT(DISTINCT kind)",
    "SELECT COALESCE(city, 'x') FROM owner": "NULL",
    "DELETE FROM owner": "DELETE",
    "SELECT id FROM owner WHERE name LIKE 'ä%'": "LIKE with letters beyond ASCII",
    "SELECT weight / 2.0 FROM animal": "whose quotient may be no whole number",
    "CREATE TABLE x (a INTEGER)": "CREATE TABLE",
    "SELECT UPPER(name) FROM owner": "UPPER(name)",
    "SELECT o.id FROM owner p": "`o`",
}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    with closing(sqlite3.connect(folder / "clinic.sqlite")) as connection:
        connection.executescript(SCHEMA)
    with contextlib.chdir(folder):
        assert run("init", "clinic.sqlite").code == 0
    sources = folder / "rules" / "sources.dl"
    # As SQL has it: a NULL is no value.
    sources.write_text(sources.read_text("utf-8").replace("null = maybe", "null = none"), "utf-8")
    return folder


def imported(clinic: Path, text: str, *more: str) -> Ran:
    (clinic / "own.sql").write_text(text, "utf-8")
    with contextlib.chdir(clinic):
        return run("rules", "import", "own.sql", *more)


@pytest.mark.parametrize("name", NAMED)
def test_rules_say_what_sqlite_says(clinic: Path, name: str) -> None:
    own = clinic / "rules" / "own.dl"
    done = imported(clinic, f"CREATE VIEW own AS {NAMED[name]};", "--output", "rules/own.dl")
    assert done.code == 0, done
    with closing(sqlite3.connect(clinic / "clinic.sqlite")) as connection:
        cursor = connection.execute(NAMED[name])
        width = len(cursor.description)
        # A row with a NULL is none here: a rule gives values.
        wanted = {row for row in cursor if None not in row}
    try:
        with Session(clinic) as session:
            found = session.query(f"own({', '.join(f'?c{n}' for n in range(width))})")
            rows = {tuple(map(_plain, one.values)) for one in found.rows if one.verdict in CERTAIN}
    finally:
        own.unlink()
    assert rows == {tuple(map(_plain, row)) for row in wanted}


def _plain(cell: object) -> object:
    return float(cell) if isinstance(cell, int | float | Decimal) else cell


@pytest.mark.parametrize("query", REFUSED)
def test_what_has_no_counterpart_is_named(clinic: Path, query: str) -> None:
    done = imported(clinic, query, "--output", "rules/refused.dl")
    assert done.code == 2, done
    assert "C0461" in (done.out + done.err)
    assert REFUSED[query] in (done.out + done.err)
    assert not (clinic / "rules" / "refused.dl").exists()


def test_what_sql_does_otherwise_is_said(clinic: Path) -> None:
    text = (
        "SELECT name FROM owner ORDER BY name; SELECT id FROM owner UNION ALL SELECT 1 FROM owner"
    )
    done = imported(clinic, text)
    assert done.code == 0
    for one in ("ORDER BY is left out", "equal rows of `result` are one row", "UNION ALL"):
        assert one in (done.out + done.err)
    assert "C0460" in imported(clinic, "SELECT FROM WHERE").out


FILE: Final = """\
CREATE VIEW heavy AS
SELECT id, weight FROM animal WHERE weight > 5;

CREATE VIEW lost AS
SELECT o.id
FROM owner o
LEFT JOIN animal a ON a.owner = o.id;
SELECT name FROM ownr;
"""


def test_each_statement_is_taken_or_refused_where_it_stands(clinic: Path) -> None:
    done = imported(clinic, FILE, "--output", "rules/own.dl")
    own = clinic / "rules" / "own.dl"
    text = own.read_text("utf-8")
    own.unlink()
    assert done.code == 2
    assert "own.sql:7:11" in done.out
    assert "own.sql:8:18" in done.out
    assert '@[says = "heavy: id {id}, weight {weight}"]' in text
    assert "@[id = heavy]" in text
    assert "// constat query 'heavy(?id, ?weight)'" in text
    assert "lost" not in text


INNER: Final = """\
CREATE VIEW seen AS SELECT animal FROM visit;
CREATE VIEW kinds AS SELECT kind FROM animal;
CREATE VIEW unseen AS SELECT id FROM animal WHERE id NOT IN (SELECT animal FROM seen);
CREATE VIEW odd AS SELECT name FROM owner WHERE name NOT IN (SELECT kind FROM kinds);
CREATE VIEW plain AS SELECT name FROM owner WHERE NOT EXISTS
  (SELECT 1 FROM kinds other_kinds WHERE other_kinds.kind = owner.name);
"""


def test_a_view_of_the_file_or_of_the_project_is_what_a_query_inside_asks(clinic: Path) -> None:
    own, later = clinic / "rules" / "own.dl", clinic / "rules" / "later.dl"
    done = imported(clinic, INNER, "--output", "rules/own.dl")
    try:
        assert done.code == 2
        assert done.out.count("error[C0461]") == 1
        # What has NULL in SQL has none in a rule: NOT IN is nowhere true there.
        hint = "NOT EXISTS (SELECT 1 FROM kinds other_kinds WHERE other_kinds.kind = owner.name)"
        assert hint in done.out
        assert "!seen(animal = ?id)" in own.read_text("utf-8")
        assert "!kinds(kind = ?name)" in own.read_text("utf-8")
        again = imported(clinic, INNER, "--output", "rules/own.dl")
        assert "seen_2" not in own.read_text("utf-8")
        assert again.out == done.out
        asked = (
            "CREATE VIEW later AS SELECT id FROM animal WHERE NOT EXISTS"
            " (SELECT 1 FROM seen s WHERE s.animal = animal.id)"
        )
        refused = imported(
            clinic, "SELECT id FROM animal WHERE id NOT IN (SELECT animal FROM seen)"
        )
        assert "NOT EXISTS (SELECT 1 FROM seen other_seen" in refused.out
        assert imported(clinic, asked, "--output", "rules/later.dl").code == 0
        with Session(clinic) as session:
            rows = session.query("later(?id)").rows
        assert not [one for one in rows if one.verdict in CERTAIN]
    finally:
        own.unlink(missing_ok=True)
        later.unlink(missing_ok=True)


MYSQL: Final = Stored(
    Predicate(
        "town", (Column("name", "symbol", Kind.SYMBOL), Column("people", "number", Kind.NUMBER))
    ),
    "town",
    ("name", "people"),
    frozenset({1}),
)


@pytest.mark.parametrize(
    ("condition", "dialect", "said"),
    [
        ("name = 'Rome'", "mysql", "for equal in `name`"),
        ("name IN ('Rome')", "mysql", "for equal in `name`"),
        ("name < 'Rome'", "postgres", "as its language does in `name`"),
        ("people > 5", "sqlite", "`people` is number here, as the query of `town` spells it"),
        ("name = 'Rome'", "postgres", ""),
        ("name = 'Rome'", "sqlite", ""),
    ],
)
def test_what_a_source_compares_in_another_way_is_said(
    condition: str, dialect: str, said: str
) -> None:
    found = import_sql(f"SELECT name FROM town WHERE {condition}", "x.sql", [MYSQL], dialect)
    told = [one.message for one in found.diagnostics]
    assert any(said in one for one in told) if said else not any("`name`" in one for one in told)


def _named(table: str, *, nullable: bool) -> Stored:
    columns = (Column("name", "symbol", Kind.SYMBOL),)
    return Stored(
        Predicate(table, columns), table, ("name",), nullable=frozenset({0} if nullable else ())
    )


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("NOT EXISTS (SELECT 1 FROM lake l WHERE l.name = r.name)", "`r.name` is NULL, NOT EXISTS"),
        ("r.name NOT IN (SELECT name FROM lake)", "`r.name` is NULL, NOT IN of no rows"),
        ("NOT EXISTS (SELECT 1 FROM lake l WHERE l.name = t.name)", ""),
        ("r.name IN (SELECT name FROM lake)", ""),
    ],
)
def test_a_row_that_is_kept_for_its_null_is_told_whatever_its_variable_is_called(
    condition: str, said: str
) -> None:
    known = [
        _named("town", nullable=False),
        _named("river", nullable=True),
        _named("lake", nullable=False),
    ]
    query = f"SELECT t.name, r.name AS at FROM town t, river r WHERE t.name > 'A' AND {condition}"
    found = import_sql(query, "x.sql", known, "sqlite")
    told = [one.message for one in found.diagnostics if "is NULL" in one.message]
    assert found.text
    assert len(told) == bool(said)
    assert all(said in one for one in told)


@pytest.mark.parametrize(
    ("query", "kept", "left_out"),
    [
        ("SELECT name, people FROM town", True, False),
        ("SELECT people, COUNT(*) AS n FROM town GROUP BY people", True, False),
        ("SELECT * FROM town", True, False),
        ("SELECT name FROM town WHERE people > 5", False, True),
        ("SELECT people FROM town WHERE people > 5", False, True),
        ("SELECT SUM(people) AS n FROM town", False, True),
        ("SELECT name FROM town", False, False),
    ],
)
@pytest.mark.parametrize("null", ["maybe", "none"])
def test_what_sql_does_with_null_is_told_as_it_is(
    query: str, *, kept: bool, left_out: bool, null: str
) -> None:
    columns = (
        Column("name", "symbol", Kind.SYMBOL),
        Column("people", "number", Kind.NUMBER, attributes={"null": null}),
    )
    town = Predicate("town", columns, attributes={"key": "name"})
    known = [Stored(town, "town", ("name", "people"))]
    told = [one.message for one in import_sql(query, "x.sql", known, "sqlite").diagnostics]
    assert any("SQL keeps a row, or a group, whose `people`" in one for one in told) is kept
    said = any("SQL leaves out what is NULL in `people`" in one for one in told)
    assert said is (left_out and null == "maybe")


NAMES: Final = """\
CREATE VIEW v1_Heavy AS SELECT id AS "AnimalId", owner FROM animal WHERE weight > 5;
CREATE VIEW "perOwner" AS SELECT owner, COUNT(*) AS "howMany" FROM V1_HEAVY GROUP BY owner;
CREATE VIEW Many AS SELECT animalid FROM v1_heavy h JOIN perowner p ON p.owner = h.owner
  WHERE p.howmany > 1;
CREATE VIEW Total AS SELECT COUNT(*) AS n FROM PerOwner;
"""


def test_a_view_is_read_by_its_name_in_sql_and_keeps_its_key(clinic: Path) -> None:
    own, later = clinic / "rules" / "own.dl", clinic / "rules" / "later.dl"
    done = imported(clinic, NAMES, "--output", "rules/own.dl")
    try:
        assert (done.code, "has no key" in done.out) == (0, False), done
        assert "it has no key" not in done.out + done.err
        text = "CREATE VIEW later AS SELECT HowMany FROM PerOwner WHERE HowMany > 1"
        assert imported(clinic, text, "--output", "rules/later.dl").code == 0
        with Session(clinic) as session:
            found = [session.query(goal).rows for goal in ("many(?a)", "total(?n)", "later(?n)")]
    finally:
        own.unlink()
        later.unlink(missing_ok=True)
    rows = [sorted(one.values[0] for one in each if one.verdict in CERTAIN) for each in found]
    assert rows == [[], [3], []]
