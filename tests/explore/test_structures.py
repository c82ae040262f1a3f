"""Explorations over structures: steps hand them on, and none makes what is of no type."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.explore.sandbox import Level, unavailable
from tests.explore.planned import plan, step

if TYPE_CHECKING:
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
.type Pair = [least: number, most: number]
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Zero {}
.decl term(id: symbol, e: Expr, p: Pair)
.input term(source = "sales", query = "SELECT id, e, p FROM terms")
.decl name(id: symbol)
.input name(source = "sales", query = "SELECT id FROM terms")
"""
ADDED = step(
    "added(id: symbol, e: Expr, p: Pair)",
    rules="added(?i, $Add(?e, $Zero), [?a, ?b]) :- term(?i, ?e, [?a, ?b]).",
)
COUNTED = step("counted(n: number)", rules="counted(?n) :- ?n = count : { picked(_i, _e) }.")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "constat.yaml").write_text(
        'project: p\nrules: [terms.dl]\ndatabases: {sales: {uri: "sqlite:///s.sqlite"}}\n'
    )
    (tmp_path / "terms.dl").write_text(RULES)
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE terms (id TEXT, e TEXT, p TEXT)")
        rows = [("a", "$Number( 1 )", "[1,2]"), ("b", "$Zero()", "nil"), ("c", "$Zero", "[3, 4]")]
        connection.executemany("INSERT INTO terms VALUES (?, ?, ?)", rows)
    return Session(tmp_path)


def picked(query: str, output: str = "picked(id: symbol, e: Expr)", **more: Any) -> dict[str, Any]:  # noqa: ANN401  whatever a step has
    return step(output, inputs=["added"], sql=query, **more)


def test_rules_make_structures_and_a_select_hands_them_on(session: Session) -> None:
    query = "SELECT id, e FROM added WHERE starts_with(e, '$Add($Number')"
    explored = session.solve("which?", plan=plan(ADDED, picked(query)))
    assert list(explored.rows) == [("a", "$Add($Number(1), $Zero)")]
    every = picked("SELECT id, e FROM added")
    counted = session.solve("how many?", plan=plan(ADDED, every, COUNTED))
    assert list(counted.rows) == [(2,)]
    for one in (explored, counted):
        assert check_certificate(one.certificate).accepted


@pytest.mark.parametrize(
    "cell",
    [
        "'$Add($Zero)'",
        "'nil'",
        "'$Zero()'",
        "'[1, 2]'",
        "replace(e, '$Zero', '0')",
        "''",
        "1",
        "NULL",
    ],
)
def test_a_select_makes_no_other_structure(session: Session, cell: str) -> None:
    with pytest.raises(ConstatError) as caught:
        session.solve("which?", plan=plan(ADDED, picked(f"SELECT id, {cell} AS e FROM added")))
    assert any("column `e`" in one.message for one in caught.value.diagnostics)


def test_a_select_on_a_source_is_read_as_a_source_is(session: Session) -> None:
    asked = step(
        "asked(id: symbol, p: Pair)", sql="SELECT id, p FROM terms WHERE id <> 'b'", source="sales"
    )
    explored = session.solve("which?", plan=plan(asked))
    assert list(explored.rows) == [("a", "[1, 2]"), ("c", "[3, 4]")]


@pytest.mark.parametrize("of", ["term", "added"])
def test_structures_have_no_rank(session: Session, of: str) -> None:
    ranked = step(
        "ranked(place: number, id: symbol, e: Expr)",
        rank={"of": of, "by": "e desc", "top": 2, "place": "place"},
    )
    with pytest.raises(ConstatError, match="C0894") as caught:
        session.solve("which?", plan=plan(ADDED, ranked))
    assert "structures have no order" in caught.value.diagnostics[0].message


MADE = step("made(id: symbol, p: Pair)", rules="made(?i, [1, 2]) :- name(?i).")


@pytest.mark.parametrize("done", [ADDED, MADE], ids=["read", "made"])
def test_a_step_is_done_again_where_a_type_has_changed(
    session: Session, tmp_path: Path, done: dict[str, Any]
) -> None:
    explored = session.solve("which?", plan=plan(done))
    assert [one.how for one in session.resume().steps] == ["kept"]
    changed = RULES.replace("least: number, most: number", "most: number, least: number")
    (tmp_path / "terms.dl").write_text(changed)
    with Session(tmp_path) as other:
        again = other.resume(explored.exploration)
    assert [one.how for one in again.steps] == ["computed"]


@pytest.mark.skipif(
    bool(unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL)),
    reason="nothing here keeps code in",
)
def test_code_reads_structures_as_texts_and_makes_no_other(session: Session) -> None:
    def coded(text: str) -> dict[str, Any]:
        code = f"frame = store.get('added')\n{text}\nstore.put('made', frame[['id', 'e']])"
        return step("made(id: symbol, e: Expr)", inputs=["added"], python=code)

    explored = session.solve("which?", plan=plan(ADDED, coded("frame = frame[frame.id == 'a']")))
    assert list(explored.rows) == [("a", "$Add($Number(1), $Zero)")]
    with pytest.raises(ConstatError) as caught:
        session.solve("which?", plan=plan(ADDED, coded("frame['e'] = '$Add($Zero)'")))
    assert any("is no Expr" in one.message for one in caught.value.diagnostics)


def test_a_step_does_not_change_a_type(session: Session) -> None:
    types = ".type Pair = [{}: number, {}: number]\n"
    rules = "mine(?p) :- term(_, _, ?p).\n"
    same = step("mine(p: Pair)", rules=types.format("least", "most") + rules)
    assert len(session.solve("which?", plan=plan(same)).rows) == 3
    other = step("mine(p: Pair)", rules=types.format("most", "least") + rules)
    with pytest.raises(ConstatError, match="C0891"):
        session.solve("which?", plan=plan(other))
