"""Answers as Arrow and Parquet: exact types and values, whichever engine found them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from constat import ConstatError, Session
from tests.cli.running import run
from tests.session.querying import THINGS, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THING = "thing(?a, ?b, ?c, ?d, ?e, ?f, ?g, ?h)"


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("things") / "project")


@pytest.fixture(scope="module")
def thing_session(things: Path) -> Iterator[Session]:
    with Session(things) as session:
        yield session


def read(rows: object) -> tuple[list[str], list[tuple[object, ...]]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", rows)
        types = [str(row[1]) for row in connection.execute("DESCRIBE given").fetchall()]
        listed = "SELECT * REPLACE (CAST(g AS VARCHAR) AS g) FROM given"
        return types, connection.execute(listed).fetchall()


def test_arrow_has_the_types_of_the_kinds_and_the_order_of_the_rows(
    thing_session: Session,
) -> None:
    found = {
        engine: read(thing_session.query(THING, engine=engine, check="off").to_arrow())
        for engine in ("reference", "forward")
    }
    types, rows = found["forward"]
    assert types == [
        *("VARCHAR", "BIGINT", "UBIGINT", "DOUBLE", "DECIMAL(38,11)", "DATE"),
        *("TIMESTAMP WITH TIME ZONE", "BOOLEAN", "VARCHAR"),
    ]
    assert [row[0] for row in rows] == sorted(thing[0] for thing in THINGS)
    assert {row[-1] for row in rows} == {"COMPUTED"}
    types, rows = found["reference"]
    assert {row[-1] for row in rows} == {"PROVED"}
    assert (types, [(*row[:-1], "COMPUTED") for row in rows]) == found["forward"]


def test_arrow_can_be_read_twice(thing_session: Session) -> None:
    stream = thing_session.query("reach(?a, ?g)", engine="forward").to_arrow()
    assert read(stream) == read(stream)


def test_verdicts_go_along(thing_session: Session) -> None:
    with duckdb.connect() as connection:
        connection.register("given", thing_session.query("ratio(?n, ?verdict)").to_arrow())
        assert [row[0] for row in connection.execute("DESCRIBE given").fetchall()] == [
            *("n", "verdict", "verdict_")
        ]


@pytest.mark.parametrize("more", [(), ("--order", "b:desc"), ("--columns", "e,a", "--limit", "3")])
def test_parquet_files_hold_the_same(things: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    found = {}
    for engine in ("reference", "forward"):
        target = tmp_path / f"{engine}.parquet"
        where = ("--project", str(things), "--format", "parquet", "--check", "off")
        more_of = ("--output", str(target), "--engine", engine, *more)
        assert run("query", THING, *where, *more_of).code == 0
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            named = connection.execute(f"DESCRIBE SELECT * FROM '{target}'").fetchall()
            casts = ", ".join(f"CAST({row[0]} AS VARCHAR)" for row in named)
            rows = connection.execute(f"SELECT {casts} FROM '{target}'").fetchall()
        called = {"reference": "PROVED", "forward": "COMPUTED"}[engine]
        assert {row[-2] for row in rows} == {called}
        found[engine] = ([row[:2] for row in named], [(*row[:-2], row[-1]) for row in rows])
    assert found["forward"] == found["reference"]
    assert len(found["forward"][1]) == (3 if "--limit" in more else len(THINGS))


def test_decimals_with_too_many_places_are_named(tmp_path: Path) -> None:
    thing = ("x", 1, "1", 1.0, "0.1234567890123", "2024-01-01", "2024-01-01T00:00:00Z", "true")
    with Session(make_project(tmp_path / "project", (thing,))) as session:
        for engine in ("reference", "forward"):
            answers = session.query(THING, engine=engine)
            assert [str(row["e"]) for row in answers] == ["0.1234567890123"]
            with pytest.raises(ConstatError, match="C0433"):
                answers.to_arrow()
