"""Stages as SQL text: what DuckDB runs here, in one expression or in rounds."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from constat.plan.forward import ForwardPlan
from constat.sql import statements
from tests.language.worlds_of_text import program
from tests.sql.computing import plan_of

LINEAR = """
.decl edge(a: symbol, b: symbol)
.input edge(source="memory")
.decl path(a: symbol, b: symbol)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
.decl reached(a: symbol, n: number)
reached(?x, ?n) :- edge(?x, _), ?n = count : { path(?x, _) }, ?n > 1, !edge(?x, "it's").
"""
NON_LINEAR = """
.decl new(v: number, h: number)
.input new(source="memory")
.decl load(y: number, x: number)
.input load(source="memory")
.decl store(y: number, x: number)
.input store(source="memory")
.decl vpt(v: number, h: number)
.decl hpt(a: number, b: number)
vpt(?y, ?h) :- new(?y, ?h).
vpt(?y, ?k) :- load(?y, ?x), vpt(?x, ?h), hpt(?h, ?k).
hpt(?h, ?k) :- store(?y, ?x), vpt(?y, ?h), vpt(?x, ?k).
"""


def texts(plan: ForwardPlan) -> list[str]:
    return [text for stage in plan.stages for text in statements(plan, stage)]


def labels(listed: list[str]) -> list[str]:
    return [text.split("/* ")[1].split(" */")[0] for text in listed]


def reads_back(listed: list[str]) -> None:
    for text in listed:
        tree = sqlglot.parse_one(text, dialect="duckdb")
        assert not tree.find(exp.Command), text
        again = tree.sql("duckdb", comments=False)
        assert sqlglot.parse_one(again, dialect="duckdb").sql("duckdb") == again


def test_linear_recursion_is_one_expression_for_duckdb() -> None:
    listed = texts(plan_of(program(LINEAR)))
    assert labels(listed) == ["expression: path", "statement: reached"]
    assert "WITH RECURSIVE" in listed[0]
    reads_back(listed)


def test_non_linear_mutual_recursion_is_rounds() -> None:
    listed = texts(plan_of(program(NON_LINEAR)))
    assert labels(listed).count("round: vpt") == 1
    assert labels(listed).count("round: hpt") == 1
    reads_back(listed)
    # Each place that reads the recursion is a delta once.
    [text] = [text for text in listed if text.startswith("/* round: hpt */")]
    tables = [one.name for one in sqlglot.parse_one(text, dialect="duckdb").find_all(exp.Table)]
    assert len([one for one in tables if one.endswith("_delta")]) == 2


def test_rows_that_are_given_besides_those_of_rules_are_read() -> None:
    text = """
.decl n(x: number)
.input n(source="memory")
.decl p(x: number)
.input p(source="memory")
p(?x) :- n(?x).
"""
    [statement] = texts(plan_of(program(text)))
    assert sum(name.endswith("_given") for name in _tables([statement])) == 1
    alone = text.replace('.input p(source="memory")\n', "")
    [statement] = texts(plan_of(program(alone)))
    assert not any(name.endswith("_given") for name in _tables([statement]))


def test_rounds_driven_from_outside_reach_the_fixpoint() -> None:
    import duckdb

    plan = plan_of(program(NON_LINEAR))
    listed = texts(plan)
    with duckdb.connect() as connection:
        for text in listed:
            for table in sqlglot.parse_one(text, dialect="duckdb").find_all(exp.Table):
                if (
                    table.name.endswith(("_new", "_load", "_store"))
                    and "_new" not in table.name[3:]
                ):
                    connection.execute(
                        f'CREATE TABLE IF NOT EXISTS "{table.name}" (c0 BIGINT, c1 BIGINT)'
                    )
        given = {
            name: next(t for t in _tables(listed) if t.endswith(name))
            for name in ("_load", "_store")
        }
        new = next(t for t in _tables(listed) if t.endswith("_new") and t.count("_") == 1)
        connection.execute(f'INSERT INTO "{new}" VALUES (1, 10), (2, 20), (3, 30)')
        connection.execute(f'INSERT INTO "{given["_store"]}" VALUES (1, 2), (2, 3)')
        connection.execute(f'INSERT INTO "{given["_load"]}" VALUES (4, 1), (5, 4)')
        drive(connection, listed)
        vpt = next(t for t in _tables(listed) if t.endswith("_vpt"))
        found = set(connection.execute(f'SELECT * FROM "{vpt}"').fetchall())
    assert found == {(1, 10), (2, 20), (3, 30), (4, 20), (5, 30)}


def _tables(listed: list[str]) -> list[str]:
    trees = [sqlglot.parse_one(text, dialect="duckdb") for text in listed]
    return [table.name for tree in trees for table in tree.find_all(exp.Table)]


def drive(connection: object, listed: list[str]) -> None:
    execute = connection.execute  # type: ignore[attr-defined]  # a connection of DuckDB
    by_word: dict[str, list[str]] = {}
    for text, label in zip(listed, labels(listed), strict=True):
        by_word.setdefault(label.split(":")[0].split(" ")[0], []).append(text)
    for text in by_word["initial"]:
        execute(text)
    while True:
        for text in (*by_word["round"], *by_word["promote"]):
            execute(text)
        if not any(execute(text).fetchone()[0] for text in by_word["until"]):
            return
