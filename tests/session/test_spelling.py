"""A constant that no source has is named with what is nearest; the edit does what is meant."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest

from constat import Session
from constat.evaluation import Verdict
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.decl customer(id: symbol, @[null = maybe] country: symbol, tier: symbol)
.input customer(source = "shop", query = "SELECT id, country, tier FROM customer")
.decl lives_in(id: symbol, country: symbol)
lives_in(?c, ?country) :- customer(id = ?c, country = ?country).
.decl golden(id: symbol)
@[id = G1]
golden(?c) :- customer(id = ?c, tier = ?t), ?t = "Gold".
"""
ROWS = [
    ("QUICK", "Brazil", "gold"),
    ("ALFKI", "New York", "silver"),
    ("Ünal", "São Paulo", "silver"),
    ("NOONE", None, "silver"),
]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE customer (id TEXT PRIMARY KEY, country TEXT, tier TEXT)")
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?)", ROWS)
    connection.close()
    (tmp_path / "constat.yaml").write_text(
        "project: p\nrules: [rules.dl]\ndatabases:\n  shop:\n    uri: sqlite:///shop.db\n"
    )
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    return Session(tmp_path)


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        (
            'lives_in("quick", "Brazil")',
            'no customer has the id "quick"; there is "QUICK": write "QUICK"',
        ),
        (
            'lives_in("QUICK", " brazil ")',
            'no customer has the country " brazil "; there is "Brazil": write "Brazil"',
        ),
        (
            'lives_in("ALFKI", "NewYork")',
            'no customer has the country "NewYork"; there is "New York": write "New York"',
        ),
        (
            'lives_in("QUICK", "Brasil")',
            'no customer has the country "Brasil"; the nearest is "Brazil": if it is meant, write "Brazil"',  # noqa: E501  a message as it is
        ),
        (
            'lives_in("U\u0308nal", "São Paulo")',
            'no customer has the id "U\u0308nal"; there is "Ünal", which looks the same and is made of other characters: write "Ünal"',  # noqa: E501  as above
        ),
        (
            'lives_in("Ünal", "são paulo")',
            'no customer has the country "são paulo"; there is "São Paulo": write "São Paulo"',
        ),
    ],
)
def test_a_constant_of_the_goal_is_named_with_an_edit_that_proves_it(
    session: Session, goal: str, told: str
) -> None:
    with session:
        assert session.unmet_constants(session.prove(goal)) == (told,)
        (written,) = re.findall(r'has the \w+ (".*?");', told)
        (meant,) = re.findall(r'write (".*?")$', told)
        assert session.prove(goal.replace(written, meant)).verdict is Verdict.PROVED


def test_a_constant_of_a_rule_is_named_with_its_rule(session: Session, tmp_path: Path) -> None:
    told = 'no customer has the tier "Gold"; there is "gold": write "gold" in rule G1'
    with session:
        assert session.unmet_constants(session.prove('golden("QUICK")')) == (told,)
    rules = tmp_path / "rules.dl"
    rules.write_text(RULES.replace('"Gold"', '"gold"'), encoding="utf-8")
    with Session(tmp_path) as mended:
        assert mended.prove('golden("QUICK")').verdict is Verdict.PROVED


ALIKE = [
    # What is typed, what the source has, and whether it is the same but for case, blanks, zeros.
    ("1", "00001", True),
    ("00001", "1", True),
    ("A-7", "A-0007", True),
    ("Koln", "Köln", False),
    ("Koeln", "Köln", False),
    ("Muller  gmbh", "Müller GmbH", False),
    ("Köln", "Koln", False),
    ("Strasse 1", "straße 1", True),
    ("late\u2013fee", "late-fee", True),
    ("late fee", "late-fee", True),
    ("\uff11\uff12", "12", True),
    ("Oresund", "Øresund", False),
]


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("where", ["source", "facts"])
@pytest.mark.parametrize("verdict", [Verdict.DISPROVED, Verdict.UNRESOLVED])
@pytest.mark.parametrize(("typed", "kept", "same"), ALIKE)
def test_another_spelling_is_named_whatever_the_verdict(
    tmp_path: Path, typed: str, kept: str, where: str, verdict: Verdict, *, same: bool
) -> None:
    frame = pd.DataFrame({"id": [1], "code": [kept]})
    rules = ".decl p(id: number, code: symbol)\np(?i, ?c) :- coded(id = ?i, code = ?c)"
    rules += ", marked(?i)." if verdict is Verdict.UNRESOLVED else "."
    rules += "\n.decl marked(id: number)\n"
    facts: dict[str, object] = {"coded": frame}
    if where == "facts":
        rules += f'.decl coded(id: number, code: symbol)\ncoded(1, "{kept}").\n'
        facts = {"other": frame}
    with Session(rules=rules, facts=facts) as session:
        goal = f'p(1, "{typed}")'
        if verdict is Verdict.UNRESOLVED:
            goal += ", marked(1)"
        result = session.prove(goal)
        (told,) = session.unmet_constants(result)
        assert f'no coded has the code "{typed}"; ' in told
        assert (f'there is "{kept}"' in told) is same
        assert told.endswith(f'write "{kept}"')


@pytest.mark.parametrize(
    "goal",
    [
        'lives_in("QUICK", "New York")',  # there is such a country
        'lives_in("QUICK", "Xanadu")',  # nothing is near
        'lives_in("NOONE", "Brazil")',  # it is not known
        'lives_in("QUICK", "Brazil")',  # it is proved
    ],
)
def test_nothing_is_said_where_no_constant_is_mistyped(session: Session, goal: str) -> None:
    with session:
        assert session.unmet_constants(session.prove(goal)) == ()


FOUND = 'no person has the city "quick"; there is "QUICK": write "QUICK"'
PEOPLE = "id,city\n1,Rome\n2,QUICK\n"


def begun(folder: Path, kind: str) -> Path:
    """Begin a project with a file of that kind, as the command does."""
    (folder / "person.csv").write_text(PEOPLE)
    if kind != "csv":
        said = f"SELECT * FROM read_csv('{folder}/person.csv')"
        with duckdb.connect(str(folder / "people.duckdb")) as link:
            link.execute(f"CREATE TABLE person AS {said}")
            link.execute(f"COPY person TO '{folder}/person.parquet'")
        (folder / "person.csv").unlink()
        (folder / ("person.parquet" if kind == "duckdb" else "people.duckdb")).unlink()
    source = folder / "people.duckdb" if kind == "duckdb" else folder
    assert run("init", source, "--directory", folder).code == 0
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_every_kind_of_file_names_the_nearest_value(tmp_path: Path, kind: str) -> None:
    ran = run("prove", "person(id = 2, city = quick)", "--project", begun(tmp_path, kind))
    assert (ran.code, FOUND in ran.err) == (5, True)


def test_a_frame_names_the_nearest_value() -> None:
    frame = pd.DataFrame({"id": [1, 2], "city": ["Rome", "QUICK"]})
    with Session(
        rules=".decl p(id: number)\np(?i) :- person(id = ?i).", facts={"person": frame}
    ) as s:
        assert s.unmet_constants(s.prove("person(id = 2, city = quick)")) == (FOUND,)
