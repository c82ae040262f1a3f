"""Steps by SELECT, code and ranking over rows that lack a value: all rows, or none and why."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.explore.sandbox import Level, unavailable
from constat.session import exploring
from tests.explore.planned import plan, step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.explore.runs import Working

CONFINED = not (unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL))
RULES = """
.pragma "constat" "0.1"
@[key = unit_id]
.decl unit(unit_id: number, name: symbol, @[null = {null}] parent: number)
.input unit(source = "units", query = "SELECT unit_id, name, parent FROM unit")
"""
LOOSE = """
.pragma "constat" "0.1"
.decl t(a: number, @[null = none] b: number, @[null = none] d: number)
.input t(source = "units", query = "SELECT a, b, d FROM t")
"""
CONFIGURATION = """
project: units
rules: [units.dl]
databases: {units: {uri: "sqlite:///units.sqlite"}}
"""
ROWS = ((1, "Klinik", None), (2, "Innere", 1), (3, "Chirurgie", 1))
LISTED = step("found(id: number, name: symbol)", sql="SELECT unit_id, name FROM unit")
COUNTED = step("found(n: number)", sql="SELECT count(*) FROM unit")
TOPS = step("found(id: number)", sql="SELECT unit_id FROM unit WHERE parent IS NULL")
CHILDREN = step(
    "found(id: number, n: number)",
    sql="SELECT u.unit_id, count(c.unit_id) FROM unit AS u LEFT JOIN unit AS c "
    "ON c.parent = u.unit_id GROUP BY u.unit_id",
)
RANKED = step(
    "found(place: number, unit_id: number, name: symbol)",
    rank={"of": "unit", "by": ["unit_id desc"], "place": "place"},
)
CODED = step(
    "found(n: number)",
    inputs=["unit"],
    python="store.put('found', pd.DataFrame({'n': [len(store.get('unit'))]}))",
)
NAMED = step(
    "unit_(id: number, name: symbol)",
    rules="unit_(?unit_id, ?name) :- unit(unit_id = ?unit_id, name = ?name).",
)
OVER = step("found(n: number)", sql="SELECT count(*) FROM unit_")


def make_units(folder: Path, rows: Sequence[tuple[object, ...]], null: str = "none") -> Path:
    folder.mkdir()
    (folder / "constat.yaml").write_text(CONFIGURATION)
    (folder / "units.dl").write_text(RULES.format(null=null))
    write_units(folder, rows)
    return folder


def write_units(folder: Path, rows: Sequence[tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(folder / "units.sqlite")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS unit (unit_id INTEGER, name, parent)")
        connection.executemany("INSERT INTO unit VALUES (?, ?, ?)", rows)
        connection.commit()


def refused(folder: Path, *steps: dict[str, Any]) -> str:
    with Session(folder) as session, pytest.raises(ConstatError) as caught:
        session.solve("what?", plan=plan(*steps))
    told = caught.value.diagnostics[0]
    assert told.code == "C0897"
    return f"{told.message}; {told.help}"


STEPS = [LISTED, COUNTED, TOPS, CHILDREN, RANKED]
if CONFINED:
    STEPS.append(CODED)


@pytest.mark.parametrize(
    "made", STEPS, ids=lambda one: next(iter({*one} & {"sql", "rank", "python"}))
)
def test_a_step_never_takes_some_rows_for_all(tmp_path: Path, made: dict[str, Any]) -> None:
    told = refused(make_units(tmp_path / "some", ROWS), made)
    assert "`unit` has rows without a value (`null = none`) in one of `parent`" in told
    rule = "unit_(?unit_id, ?name) :- unit(unit_id = ?unit_id, name = ?name)."
    assert f"read it by a step of rules: `{rule}`" in told
    # Where each row has a value, there is nothing to refuse.
    folder = make_units(tmp_path / "all", [one for one in ROWS if one[2]])
    with Session(folder) as session:
        explored = session.solve("what?", plan=plan(made))
    assert check_certificate(explored.certificate).accepted, explored.proof.why


@pytest.mark.parametrize("null", ["unknown", "maybe"])
def test_what_nobody_knows_is_no_cell_of_a_select(tmp_path: Path, null: str) -> None:
    folder = make_units(tmp_path / "some", ROWS, null)
    wanted = {"unknown": "cells whose values nobody knows", "maybe": "are not all known"}[null]
    for made in STEPS:
        assert wanted in refused(folder, made)
    parents = step(
        "parents(id: number, parent: number)", rules="parents(?i, ?p) :- unit(?i, _, ?p)."
    )
    if null == "unknown":
        assert "`parents` has cells whose values nobody knows" in refused(folder, parents)


def test_a_step_of_rules_names_what_a_select_may_read(tmp_path: Path) -> None:
    with Session(make_units(tmp_path / "some", ROWS)) as session:
        explored = session.solve("how many?", plan=plan(NAMED, OVER))
    assert explored.rows == ((3,),)
    assert check_certificate(explored.certificate).accepted


def test_the_proof_looks_whether_a_row_without_a_value_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that the steps read is there and unchanged; one more row is, which no rule matches."""
    looked = exploring.Proofs._relation

    def before(working: Working, link: Any, name: str) -> Any:  # noqa: ANN401
        found = looked(working, link, name)
        if name == "unit":
            write_units(folder, [(9, "Labor", None)])
        return found

    monkeypatch.setattr(exploring.Proofs, "_relation", staticmethod(before))
    for place, made in enumerate((LISTED, COUNTED, RANKED)):
        folder = make_units(tmp_path / f"all{place}", [one for one in ROWS if one[2]])
        with Session(folder) as session:
            explored = session.solve("what?", plan=plan(made))
        assert explored.certificate == b"", made
        assert explored.verdict is not Verdict.PROVED


QUERIES = (
    ("found(n: number)", "SELECT count(*) FROM t"),
    ("found(n: number, s: number)", "SELECT count(b), coalesce(sum(b), 0) FROM t"),
    ("found(a: number)", "SELECT DISTINCT a FROM t"),
    ("found(a: number)", "SELECT DISTINCT a FROM t WHERE b IS NULL OR d > 1"),
    ("found(a: number, n: number)", "SELECT a, count(*) FROM t GROUP BY a"),
    (
        "found(a: number, n: number)",
        "SELECT x.a, count(y.a) FROM t AS x LEFT JOIN t AS y ON y.a = x.b GROUP BY x.a",
    ),
)


def test_a_select_gives_what_it_gives_over_the_table_or_nothing(tmp_path: Path) -> None:
    """Without a key, rows that lack a value may be equal to others in all that they have."""
    chance = random.Random(11)
    for number in range(3):
        missing = (0.3, 0.0, 0.1)[number]
        cells = [chance.choices(range(3), k=3) for _ in range(chance.randrange(2, 9))]
        drawn = [
            [a, *(None if chance.random() < missing else c for c in more)] for a, *more in cells
        ]
        rows = sorted({(a, b, d) for a, b, d in drawn}, key=str)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "constat.yaml").write_text(CONFIGURATION)
        (folder / "units.dl").write_text(LOOSE)
        with closing(sqlite3.connect(folder / "units.sqlite")) as raw:
            raw.execute("CREATE TABLE t (a INTEGER, b INTEGER, d INTEGER)")
            raw.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            raw.commit()
            wanted = [sorted(raw.execute(text)) for _, text in QUERIES]
        whole = all(None not in row for row in rows)
        asked = [*zip(QUERIES, wanted, strict=True)]
        for (output, text), right in chance.sample(asked, 3 if whole else 2):
            made = step(output, sql=text)
            if not whole:
                assert "has rows without a value" in refused(folder, made), (rows, text)
                continue
            with Session(folder) as session:
                explored = session.solve("what?", plan=plan(made))
            assert sorted(explored.rows) == right, (rows, text)
            assert check_certificate(explored.certificate).accepted
