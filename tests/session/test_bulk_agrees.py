"""What the goal-directed engine decides, bulk decides, also over very many rows (26, 38, 50)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.logic import MadeBy, NullCell
from constat.session import bulk
from constat.session.querying import MANY

if TYPE_CHECKING:
    from constat.session import Answers

RULES: Final = """\
.pragma "constat" "0.1"
.decl e(x: number, y: number)
.input e(source = s, query = "SELECT x, y FROM e")
.decl g(y: number, z: number)
.input g(source = s, query = "SELECT y, z FROM g")
.decl joined(x: number)
joined(?x) :- e(?x, ?y), g(?y, ?z), ?z > 5.
.decl twice(x: number)
twice(?x) :- e(?x, ?y), g(?y, ?z), g(?z, ?y).
.decl apart(x: number)
apart(?x) :- e(?x, ?y), g(?y, ?z), !e(?z, ?y).
.decl same(x: number)
same(?x) :- e(?x, ?y), e(?y, ?x), ?y < ?x.
.decl back(x: number)
back(?x) :- g(?x, _z), e(?w, ?x), e(?x, ?w), ?w > ?x.
"""
GOALS: Final = ("joined", "twice", "apart", "same", "back")
CELLS: Final = (1, 2, "?")


@pytest.mark.sampled(30, "laws")
@pytest.mark.parametrize("rows", list(product(CELLS, repeat=3)))
def test_open_rows_over_very_many_rows_are_asked_for_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: tuple[object, ...]
) -> None:
    monkeypatch.setattr(bulk, "MANY", 0)
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as base:
        base.execute("CREATE TABLE e(x, y)")
        base.execute("CREATE TABLE g(y, z)")
        base.executemany("INSERT INTO e VALUES (?, ?)", [(1, rows[0]), (2, rows[1])])
        base.executemany("INSERT INTO g VALUES (?, ?)", [(1, 2), (2, rows[2])])
        base.commit()
    (tmp_path / "r.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {s: {uri: "sqlite:///s.sqlite"}}\n'
    )
    with Session(tmp_path) as session:
        for goal in GOALS:
            answers = session.query(f"{goal}(?x)", engine="forward", check="off")
            found = {row.values[0]: row.verdict.value for row in answers.rows}
            for x in (1, 2):
                proved = session.prove(f"{goal}({x})").verdict.value
                said = found.get(x, "DISPROVED").replace("COMPUTED", "PROVED")
                # Any row may be of an open shape.
                assert said == proved or (x not in found and answers.open_shapes), (goal, x)


# The law over rows with NULLs of all policies, in columns that are read and in others, structures
# among them. A variable that a query hides, or a constant, is a column that is given.

WIDE: Final = """\
.pragma "constat" "0.1"
.type Pair = [a: number, b: symbol]
.decl e(@[null = {}] x: number, @[null = {}] y: number,
    @[null = {}] n: symbol, @[null = {}] w: Pair)
.input e(source = s, query = "SELECT x, y, n, w FROM e")
.decl g(@[null = {}] y: number, @[null = {}] z: number,
    @[null = {}] t: symbol, @[null = {}] w: Pair)
.input g(source = s, query = "SELECT x, y, n, w FROM g")
.decl twice(x: number, z: number)
twice(?x, ?z) :- e(?x, ?y, _, _), g(?y, ?z, _, _), g(?z, ?y, _, _).
.decl apart(x: number, z: number)
apart(?x, ?z) :- e(?x, ?y, _, _), g(?y, ?z, _, _), !e(?z, ?y, _, _).
.decl pairs(x: number, z: number)
pairs(?x, ?z) :- e(?x, ?y, _, _), g(?y, ?z, _, _), ?z > 0.
.decl total(x: number, n: number)
total(?x, ?n) :- e(?x, _, _, _), ?n = count : {{ pairs(?x, _z) }}.
.decl walk(x: number, z: number)
walk(?x, ?y) :- e(?x, ?y, _, _).
walk(?x, ?z) :- walk(?x, ?y), g(?y, ?z, _, _).
.decl least(x: number, t: symbol)
least(?x, ?t) :- e(?x, ?y, ?n, _), g(?y, _, ?m, _), ?t = min(?n, ?m, ?m).
.decl holds(x: number, w: Pair)
holds(?x, ?w) :- e(?x, _, _, ?w).
"""
QUERIES: Final = tuple(
    f"{name}({terms})"
    for name in ("twice", "apart", "pairs", "total", "walk", "least", "holds")
    for terms in ("?a, ?b", "1, ?b", "?a, _")
)
POLICIES: Final = ("error", "none", "unknown", "maybe", "skip")
NUMBERS: Final = st.sampled_from((0, 1, 2, None))
TEXTS: Final = st.sampled_from(("a", "b|1|c", None))
STRUCTURES: Final = st.sampled_from(('[1, "a"]', "none", None))
ROWS: Final = st.lists(
    st.tuples(NUMBERS, NUMBERS, TEXTS, STRUCTURES), min_size=1, max_size=3, unique=True
)


@pytest.mark.laws
@settings(max_examples=max(6, settings().max_examples // 16), deadline=None)
@given(
    st.lists(st.sampled_from(POLICIES), min_size=8, max_size=8),
    ROWS,
    ROWS,
    st.lists(st.sampled_from(QUERIES), min_size=3, max_size=3, unique=True),
    st.sampled_from((0, MANY)),
)
def test_what_a_query_decides_row_by_row_bulk_decides(
    policies: list[str],
    first: list[tuple[object, ...]],
    second: list[tuple[object, ...]],
    queries: list[str],
    many: int,
) -> None:
    with TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        folder = Path(made)
        patch.setattr(bulk, "MANY", many)
        project(folder, tuple(policies), first, second)
        with Session(folder) as session:
            for query in queries:
                sure, told = (
                    verdicts(session.query(query, engine=engine, check="off"))
                    for engine in ("reference", "forward")
                )
                for row in {*sure.rows, *told.rows}:
                    assert sure.of(row) in {"UNRESOLVED", told.of(row)}, (query, row)
                assert told.shapes <= sure.shapes, query


def project(
    folder: Path,
    policies: tuple[str, ...],
    first: list[tuple[object, ...]],
    second: list[tuple[object, ...]],
) -> None:
    """Make a project of `WIDE` with these policies of columns and rows of `e` and `g`."""
    with closing(sqlite3.connect(folder / "s.sqlite")) as base:
        for name, rows in (("e", first), ("g", second)):
            base.execute(f"CREATE TABLE {name}(x, y, n, w)")
            base.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
        base.commit()
    (folder / "r.dl").write_text(WIDE.format(*policies))
    (folder / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {s: {uri: "sqlite:///s.sqlite"}}\n'
    )


def test_a_structure_that_nobody_reads_leaves_nothing_open(tmp_path: Path) -> None:
    project(tmp_path, ("error",) * 8, [(1, 2, "a", None)], [(2, 1, "a", "no structure")])
    with Session(tmp_path) as session:
        told = verdicts(session.query("pairs(?a, ?b)", engine="forward", check="off"))
        assert told == Said({("1", "1"): "PROVED"}, 0)
        told = verdicts(session.query("holds(?a, ?b)", engine="forward", check="off"))
        assert told == Said({}, 1)


@pytest.mark.parametrize("text", ["", "|", "b|1|c", "ä|7"])
def test_a_total_function_makes_a_label_beside_any_text(tmp_path: Path, text: str) -> None:
    policies = ("error", "error", "unknown", "error", *("error",) * 4)
    project(tmp_path, policies, [(1, 2, None, "nil")], [(2, 1, text, "nil")])
    with Session(tmp_path) as session:
        found = [
            [row.values for row in session.query("least(?a, ?b)", engine=one, check="off").rows]
            for one in ("reference", "forward")
        ]
        ((number, cell),) = found[0]
        assert isinstance(cell, NullCell)
        assert cell.made == MadeBy("min", (None, text, text))
        assert verdicts(session.query("least(?a, ?b)", engine="forward", check="off")).rows == {
            (str(number), spelled(cell)): "PROVED"
        }
        assert isinstance(found[1][0][1], NullCell)
        assert found[1][0][1].made == cell.made


def test_shapes_over_very_many_rows_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MANY", 0)
    row = (1, None, "a", "nil")
    project(tmp_path, ("error",) * 8, [row], [(2, 3, "a", "nil"), (4, None, "a", "nil")])
    with Session(tmp_path) as session:
        # Of `twice(1, ⋆)` there can be one row alone, where both unknown values are 4.
        told = session.query("twice(1, ?b)", engine="forward", check="off")
        assert verdicts(told) == Said({("4",): "UNRESOLVED"}, 0)
        assert told.recount is not None
        assert "one by one" in told.recount.why


@dataclass(frozen=True)
class Said:
    """What answers say of rows: a label is named by its column, as the row does."""

    rows: dict[tuple[str, ...], str]
    shapes: int

    def of(self, row: tuple[str, ...]) -> str:
        """Give the verdict of a row, listed or not."""
        return self.rows.get(row, "UNRESOLVED" if self.shapes else "DISPROVED")


def verdicts(answers: Answers) -> Said:
    """Say what answers say of each row, whichever engine computed them."""
    rows: dict[tuple[str, ...], str] = {}
    for row in answers.rows:
        cells, verdict = tuple(map(spelled, row.values)), row.verdict.value
        verdict = verdict.replace("COMPUTED", "PROVED")
        rows[cells] = verdict if rows.get(cells, verdict) == verdict else "UNRESOLVED"
    return Said(rows, answers.open_shapes)


def spelled(cell: object) -> str:
    """Name a cell; what is known beside a label depends on which columns were read."""
    return (
        f"{cell.predicate}.{cell.column}.{cell.made}" if isinstance(cell, NullCell) else str(cell)
    )
