"""Rows of a large result are proved one by one, each with a proof of least height."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.check import check_certificate
from constat.evaluation import RoundFinished, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from constat.session.many_proofs import RowProofs
    from constat.session.result import Result

EDGE = """.pragma "constat" "0.1"
.decl edge(a: {kind}, b: {kind})
.input edge(source = "g", query = "SELECT a, b FROM edge")
.decl path(a: {kind}, b: {kind})
"""
LEFT = """path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
DOUBLE = """path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), path(?b, ?c).
"""
# The other walk goes backwards, and both need each other.
MUTUAL = """.decl back(a: {kind}, b: {kind})
path(?a, ?b) :- edge(?a, ?b), ?a != ?b.
back(?b, ?a) :- path(?a, ?b).
path(?a, ?c) :- back(?b, ?a), edge(?b, ?c).
"""
UNEVEN = """.decl hop(a: {kind}, b: {kind})
hop(?a, ?b) :- edge(?a, ?b).
hop(?a, ?c) :- edge(?a, ?b), hop(?b, ?c).
path(?a, ?b) :- hop(?a, ?b).
"""
NEGATED = """path(?a, ?b) :- edge(?a, ?b), !edge(?b, ?a).
"""
PROGRAMS = {"left": LEFT, "double": DOUBLE, "mutual": MUTUAL}


def project(folder: Path, rules: str, edges: Iterable[tuple[object, object]], kind: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {g: {uri: 'sqlite:///g.sqlite'}}\n"
    )
    (folder / "r.dl").write_text((EDGE + rules).format(kind=kind))
    (folder / "g.sqlite").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "g.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE edge (a {'TEXT' if kind == 'symbol' else 'INTEGER'}, b)")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", edges)
    return folder


def height(certificate: bytes) -> int:
    """Return how many rules lie above each other in a proof."""
    document = json.loads(certificate)
    heights: list[int] = []
    for node in document["nodes"]:
        below = [heights[one] for one in node.get("premises", ()) if isinstance(one, int)]
        heights.append(0 if node["kind"] == "fact" else 1 + max(below, default=0))
    return heights[-1]


def looked_for(session: Session, effort: int) -> RowProofs:
    """Look for heights of paths in so many steps before those of all are computed.

    Each row that is asked for is found so.
    """

    def usual(goal: str) -> Result:
        raise AssertionError(goal)

    return replace(session.row_proofs("path(?a, ?b)"), effort=effort, usual=usual)


@pytest.mark.parametrize("effort", [0, 3, 10**6])
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=4)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=10), st.data())
def test_a_row_has_a_proof_of_least_height(
    name: str,
    effort: int,
    tmp_path_factory: pytest.TempPathFactory,
    edges: set[tuple[int, int]],
    data: st.DataObject,
) -> None:
    folder = project(tmp_path_factory.mktemp("p"), PROGRAMS[name], sorted(edges), "number")
    with Session(folder) as session, looked_for(session, effort) as rows:
        listed = sorted(one.values for one in session.query("path(?a, ?b)"))
        assert rows.prepare()
        if not listed:
            return
        row = data.draw(st.sampled_from(listed))
        text = ", ".join(map(str, row))
        (found,) = rows.prove(text)
        usual = session.prove(f"path({text})", minimal="height")
        assert check_certificate(found.certificate).accepted
        assert found.verdict is usual.verdict is Verdict.PROVED
        assert height(found.certificate) == height(usual.certificate)
        assert session.verify_source(found.certificate).drift == ()


@pytest.mark.parametrize(("first", "second"), [(1, 5), (5, 1)])
def test_a_row_waits_for_the_highest_of_its_premises(
    first: int, second: int, tmp_path: Path
) -> None:
    longer = [(0, first), (first, 2), (2, 3), (3, 9)]
    folder = project(tmp_path, DOUBLE, [*longer, (0, second), (second, 9)], "number")
    with Session(folder) as session, looked_for(session, 10**6) as rows:
        (found,) = rows.prove("0, 9")
    assert height(found.certificate) == 2


@pytest.mark.parametrize(("effort", "runs"), [(0, 2), (8, 2), (10**6, 1)])
def test_heights_of_all_rows_are_computed_once_looking_for_some_has_cost_as_much(
    effort: int, runs: int, tmp_path: Path
) -> None:
    folder = project(tmp_path, LEFT, [(one, one + 1) for one in range(6)], "number")
    events: list[object] = []
    with Session(folder) as session, looked_for(session, effort) as rows:
        rows.parts = replace(rows.parts, observe=events.append)
        assert rows.prepare()
        told = [rows.prove(f"0, {end}")[0].certificate for end in (1, 4, 6)]
    assert [height(one) for one in told] == [1, 4, 6]
    computed = [one for one in events if isinstance(one, RoundFinished) and one.new_rows == 6]
    assert len(computed) == runs


@pytest.mark.parametrize("longer", [3, 7])
def test_of_two_ways_the_shorter_is_taken_wherever_it_stands(longer: int, tmp_path: Path) -> None:
    edges = [(1, 2), (2, longer), (longer, 9), (1, 5), (5, 9)]
    folder = project(tmp_path, LEFT, edges, "number")
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        (found,) = rows.prove("1, 9")
        assert height(found.certificate) == 2


def test_texts_are_looked_up_as_numbers(tmp_path: Path) -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    folder = project(tmp_path, LEFT, edges, "symbol")
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        assert rows.prepare()
        (found,) = rows.prove("a, d")
        assert found.verdict is Verdict.PROVED
        assert height(found.certificate) == 1
        assert check_certificate(found.certificate).accepted
        (none,) = rows.prove("d, a")
        assert none.verdict is Verdict.DISPROVED


@pytest.mark.parametrize("rules", [UNEVEN, NEGATED])
def test_where_heights_are_no_rounds_a_row_is_proved_in_the_usual_way(
    rules: str, tmp_path: Path
) -> None:
    folder = project(tmp_path, rules, [(1, 2), (2, 3)], "number")
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        assert not rows.prepare()
        (found,) = rows.prove("1, 2")
        assert found.verdict is Verdict.PROVED


def test_a_source_that_has_changed_since_is_asked_again(tmp_path: Path) -> None:
    folder = project(tmp_path, LEFT, [(1, 2), (2, 3), (1, 4), (4, 5), (5, 3)], "number")
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        assert rows.prepare()
        with closing(sqlite3.connect(folder / "g.sqlite")) as connection, connection:
            connection.execute("DELETE FROM edge WHERE a = 2")
        (found,) = rows.prove("1, 3")
        assert found.verdict is Verdict.PROVED
        assert height(found.certificate) == 3
        with closing(sqlite3.connect(folder / "g.sqlite")) as connection, connection:
            connection.execute("DELETE FROM edge WHERE a = 5")
        (gone,) = rows.prove("1, 3")
        assert gone.verdict is Verdict.DISPROVED


def test_each_atom_of_a_conjunction_is_proved(tmp_path: Path) -> None:
    folder = project(tmp_path, LEFT, [(1, 2), (2, 3), (3, 4)], "number")
    with Session(folder) as session, session.row_proofs("path(1, ?b), path(?b, 4)") as rows:
        found = rows.prove("2")
        assert [one.goal for one in found] == ["path(1, 2)", "path(2, 4)"]
        assert all(check_certificate(one.certificate).accepted for one in found)
        assert session.row_proofs("path(?a, ?b)").prove("1, 4")[0].verdict is Verdict.PROVED


def test_where_decisions_are_logged_each_proof_is(tmp_path: Path) -> None:
    folder = project(tmp_path, LEFT, [(1, 2), (2, 3)], "number")
    with (folder / "constat.yaml").open("a") as file:
        file.write("log: true\n")
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        assert rows.prepare()
        assert rows.prove("1, 3")[0].logged is not None
