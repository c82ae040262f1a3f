"""A conclusion that is not called stale is the one that proving it again gives."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from tests.tiers.building import database

if TYPE_CHECKING:
    from pathlib import Path

RULES = """.pragma "constat" "0.1"
.decl owns(a: symbol, b: symbol)
.input owns(source="shop", query="SELECT DISTINCT a, b FROM owns"AGE)
.decl paid(i: number, c: symbol, x: number)
.input paid(source="shop", query="SELECT id, c, x FROM paid"AGE)
.decl blocked(c: symbol)
.decl least(x: number)
.input least(source="config")
.decl reaches(a: symbol, b: symbol)
reaches(?a, ?b) :- owns(?a, ?b).
reaches(?a, ?c) :- reaches(?a, ?b), owns(?b, ?c).
.decl total(c: symbol, s: number)
total(?c, ?s) :- paid(_, ?c, _), ?s = sum ?x : { paid(_i, ?c, ?x) }.
.decl good(c: symbol)
good(?c) :- total(?c, ?s), least(?x), ?s >= ?x, !blocked(?c).
.decl alone(c: symbol)
alone(?c) :- total(?c, _), !owns(_, ?c).
"""
GOALS = (
    *("reaches(a, c)", "reaches(c, a)", "total(a, 5)", "good(a)", "good(b)", "alone(a)"),
    *("reaches(?x, d)", "blocked(a)"),
)
NAMES = st.sampled_from(["a", "b", "c", "d"])
STATEMENTS = st.one_of(
    st.builds("INSERT INTO owns VALUES ('{}', '{}')".format, NAMES, NAMES),
    st.builds("DELETE FROM owns WHERE a = '{}'".format, NAMES),
    st.builds("INSERT INTO paid (c, x) VALUES ('{}', {})".format, NAMES, st.integers(0, 6)),
    st.builds("UPDATE paid SET x = {} WHERE c = '{}'".format, st.integers(0, 6), NAMES),
    st.builds("DELETE FROM paid WHERE c = '{}'".format, NAMES),
)
FACTS = st.builds("{}({})".format, st.sampled_from(["blocked"]), NAMES)


def write(folder: Path, least: int, age: str) -> None:
    (folder / "constat.yaml").write_text(
        f"rules: [r.dl]\nfacts: {{least: {least}}}\nclosed: {{blocked: legal}}\n"
        "databases: {shop: {uri: 'sqlite:///shop.sqlite'}}\n"
    )
    (folder / "r.dl").write_text(RULES.replace("AGE", age))


@pytest.mark.laws
@settings(max_examples=12)
@given(
    before=st.lists(STATEMENTS, max_size=5),
    after=st.lists(STATEMENTS, max_size=2),
    stated=st.lists(FACTS, max_size=1),
    least=st.sampled_from([5, 5, 5, 3]),
    age=st.sampled_from(["", ', max_age="1h"']),
)
def test_what_is_current_is_proved_again_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    after: list[str],
    stated: list[str],
    least: int,
    age: str,
) -> None:
    folder = tmp_path_factory.mktemp("laws")
    tables = "CREATE TABLE owns (a TEXT, b TEXT); CREATE TABLE paid (id INTEGER PRIMARY KEY, c, x);"
    rows = "INSERT INTO owns VALUES ('a', 'b'), ('b', 'c'); INSERT INTO paid VALUES (1, 'a', 5);"
    database(folder / "shop.sqlite", tables + rows + ";".join(before))
    write(folder, 5, age)
    verdicts = {}
    for _ in range(2 if age else 1):  # the second time some leaves come from the cache
        with Session(folder) as session:
            for goal in GOALS:
                result = session.prove(goal)
                (folder / f"{GOALS.index(goal)}.cert.json").write_bytes(result.certificate)
                verdicts[goal] = result.verdict
    paths = [folder / f"{number}.cert.json" for number in range(len(GOALS))]
    with Session(folder) as session:
        assert [one.reasons for one in session.stale(paths).conclusions] == [()] * len(GOALS)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.executescript(";".join(after))
    write(folder, least, age)
    with Session(folder, cache=False) as session:
        for fact in stated:
            session.facts.add(fact, author="alice")
        report = session.stale(paths)
        assert report.unknown == ()
        for goal, one in zip(GOALS, report.conclusions, strict=True):
            if one.status == "current":
                assert session.prove(goal).verdict == verdicts[goal], goal
