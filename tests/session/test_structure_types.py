"""Types with branches in a session: drafts, approvals, what is kept, and what is read again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.session.drafted import with_drafts
from constat.store.clock import now
from tests.session.reviewed import draft

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """\
project: structures
rules: [terms.dl]
databases: {sales: {uri: "sqlite:///sales.sqlite"}}
"""
TYPES = """\
.pragma "constat" "0.1"
.type Pair = [least: number, most: number]
.type Expr = Number { x: number } | Sub { l: Expr, r: Expr } | Zero {}
"""
RULES = """\
.decl term(id: symbol, e: Expr)
.input term(source = "sales", query = "SELECT id, e FROM terms", record = true)
.decl within(id: symbol, p: Pair)
.input within(source = "sales", query = "SELECT id, p FROM terms")
.decl stated(e: Expr)

@[says = "the term of {id} is a difference"]
.decl difference(id: symbol, l: Expr)
@[id = DIFFERENCE] @[author = "llm:m-1"] @[says = "{i} is {l} less something"]
difference(?i, ?l) :- term(?i, $Sub(?l, _r)).

.decl wide(id: symbol)
@[id = WIDE] @[author = "llm:m-1"]
wide(?i) :- within(?i, [?a, ?b]), ?b - ?a > 10.

.decl least(id: symbol, n: number)
least(?i, ?a) :- within(?i, [?a, _b]).
"""
CELLS = (
    ("a", "$Sub($Number(3),$Zero)", "[1, 20]"),
    ("b", "$Zero", "[5,6]"),
    ("c", "$Number( 7 )", "nil"),
)


def write(folder: Path, types: str = TYPES, rules: str = RULES) -> None:
    (folder / "terms.dl").write_text(types + rules, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text(CONFIGURATION, encoding="utf-8")
    write(tmp_path)
    with closing(sqlite3.connect(tmp_path / "sales.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE terms (id TEXT, e TEXT, p TEXT)")
        connection.executemany("INSERT INTO terms VALUES (?, ?, ?)", CELLS)
    return tmp_path


def verdict(folder: Path, goal: str) -> str:
    with Session(folder) as session:
        result = session.prove(goal)
        assert check_certificate(result.certificate).accepted
        return result.verdict.value


def refused(folder: Path, text: str) -> list[str]:
    with Session(folder) as session, pytest.raises(ConstatError) as problem:
        with_drafts(session.program, [draft(folder, text)])
    return [one.code for one in problem.value.diagnostics]


SHAPES = """\
.type Shape = Circle { r: number } | Square { a: number } | Both { one: Shape, other: Shape }
.decl shape_of(id: symbol, s: Shape)
shape_of(?i, $Both($Circle(?n), $Square(1))) :- term(?i, $Number(?n)).
.decl round(id: symbol)
@[says = "{i} is round"]
round(?i) :- shape_of(?i, $Both($Circle(_n), _other)).
"""


def test_a_draft_may_define_a_type_and_keeps_it_when_it_is_approved(project: Path) -> None:
    kept = draft(project, SHAPES)
    with Session(project) as session, session.with_drafts([kept.short]) as other:
        result = other.prove("round(c)")
        assert check_certificate(result.certificate).verdict == "PROVED_UNDER"
        assert other.prove("round(a)").verdict.value == "DISPROVED_UNDER"
    with Session(project) as session:
        review = session.reviews.review(kept.short)
        assert review.problem == ""
        decided = session.reviews.approve(kept.short, by="ada", reason="as agreed")
    text = (project / decided.file).read_text(encoding="utf-8")
    assert ".type Shape = Circle" in text
    assert verdict(project, "round(c)") == "PROVED"
    assert verdict(project, "round(a)") == "DISPROVED"


def test_a_draft_may_repeat_a_type_and_not_change_it(project: Path) -> None:
    again = TYPES.partition("\n")[2] + ".decl top(id: symbol)\ntop(?i) :- wide(?i).\n"
    kept = draft(project, again)
    with Session(project) as session, session.with_drafts([kept.short]) as other:
        assert other.prove("top(a)").verdict.value == "PROVED_UNDER"
    for old, new in (
        ("least: number, most: number", "most: number, least: number"),
        ("least: number, most: number", "least: number, most: unsigned"),
        ("Sub { l: Expr, r: Expr }", "Sub { r: Expr, l: Expr }"),
        (" | Zero {}", ""),
    ):
        assert old in again
        assert refused(project, again.replace(old, new)) == ["C0882"]


def approve(folder: Path, *names: str) -> None:
    with Session(folder) as session:
        for name in names:
            session.reviews.approve(name, by="ada", reason="as agreed")


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("Sub { l: Expr, r: Expr }", "Sub { r: Expr, l: Expr }", "WIDE"),
        ("least: number, most: number", "most: number, least: number", "DIFFERENCE"),
        ("x: number", "x: unsigned", "WIDE"),
        (" | Zero {}", " | Zero {} | One {}", "WIDE"),
    ],
)
def test_an_approval_ends_where_a_type_in_the_rule_is_another(
    project: Path, old: str, new: str, left: str
) -> None:
    approve(project, "DIFFERENCE", "WIDE")
    with Session(project) as session:
        assert [rule.id for rule in session.program.rules if rule.proposed] == []
    write(project, TYPES.replace(old, new))
    with Session(project) as session:
        proposed = {rule.id for rule in session.program.rules if rule.proposed}
    assert proposed == {"DIFFERENCE", "WIDE"} - {left}


def test_layout_of_a_type_does_not_end_an_approval(project: Path) -> None:
    approve(project, "DIFFERENCE", "WIDE")
    types = TYPES.replace(
        "[least: number, most: number]", "[ // both ends\n least:number,most:number ]"
    )
    write(project, f"{types}\n.type Other = [x: number]\n")
    with Session(project) as session:
        assert [rule.id for rule in session.program.rules if rule.proposed] == []


def test_a_kept_result_is_stale_where_its_types_are_others(project: Path) -> None:
    with Session(project) as session:
        session.materialized.keep("term(?i, ?e)")
        session.materialized.keep("least(?i, ?n)")
        found = session.materialized.query("term(?i, $Number(7))")
        assert [one.values for one in found] == [("c",)]
    write(project, TYPES.replace("least: number, most: number", "most: number, least: number"))
    with Session(project) as session:
        stale = {one.result.query: bool(one.stale) for one in session.materialized.list()}
    assert stale == {"least(?id, ?n)": True, "term(?id, ?e)": False}
    write(project, TYPES.replace(" | Zero {}", " | Zero {} | One {}"))
    with Session(project) as session:
        assert all(one.stale for one in session.materialized.list() if "term" in one.result.query)
        with pytest.raises(ConstatError, match="C0673"):
            session.materialized.query("term(?i, ?e)")


@pytest.mark.parametrize("text", ["$One", "[1, 2]", "$Number( 7 )", "no structure", ""])
def test_a_kept_result_with_another_value_is_an_error(project: Path, text: str) -> None:
    with Session(project) as session:
        session.materialized.keep("term(?i, ?e)")
        (path,) = (project / ".constat" / "materialized").glob("*.sqlite")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE rows SET c1 = ? WHERE c0 = 'b'", (text,))
        with pytest.raises(ConstatError, match="C0670"):
            session.materialized.query("term(?i, ?e)")


def test_what_was_recorded_of_another_type_is_not_used(project: Path) -> None:
    with Session(project) as session:
        then = session.prove("term(b, $Zero)")
    assert then.verdict.value == "PROVED"
    moment = now()
    with Session(project) as session:
        assert session.prove("term(b, $Zero)", as_of=moment).verdict.value == "PROVED"
    write(project, TYPES.replace("Sub { l: Expr, r: Expr }", "Sub { r: Expr, l: Expr }"))
    with Session(project) as session:
        assert session.prove("term(b, $Zero)", as_of=moment).verdict.value == "UNRESOLVED"


def test_a_certificate_is_not_held_against_rows_of_another_type(project: Path) -> None:
    with Session(project) as session:
        shown, absent = session.prove("term(a, ?e)"), session.prove("term(b, $Number(1))")
    with Session(project) as session:
        for result in (shown, absent):
            assert session.verify_source(result.certificate).drift == ()
    write(
        project,
        TYPES.replace("Number { x: number }", "Digits { x: symbol }"),
        RULES,
    )
    with Session(project) as session:
        for result in (shown, absent):
            drift = session.verify_source(result.certificate).drift
            assert ("term", "unknown") in {(one.text, one.status) for one in drift}


def test_answers_leave_as_texts(project: Path) -> None:
    with Session(project) as session:
        answers = session.query("term(?i, ?e)")
        frame = answers.to_pandas()
        assert str(frame["e"].dtype) == "string"
        assert sorted(frame["e"]) == ["$Number(7)", "$Sub($Number(3), $Zero)", "$Zero"]


def test_a_stated_structure_counts_while_it_is_of_the_type(project: Path) -> None:
    with Session(project) as session:
        session.facts.add("stated($Sub($Zero, $Number( 2 )))", author="ada")
        assert session.prove("stated($Sub($Zero, $Number(2)))").verdict.value == "PROVED_UNDER"
        with pytest.raises(ConstatError, match="C0186"):
            session.facts.add("stated($Sub($Zero))", author="ada")
    write(
        project,
        TYPES.replace("Sub { l: Expr, r: Expr }", "Sub { l: Expr }"),
        RULES.replace("$Sub(?l, _r)", "$Sub(?l)"),
    )
    with Session(project) as session:
        result = session.prove("stated($Zero)")
        assert result.verdict.value == "UNRESOLVED"
        (fact,) = session.facts.list()
        assert session.facts.show(fact) == "stated($Sub($Zero, $Number(2)))"


SUPPOSED = """\
.pragma "constat" "0.1"
{types}.decl term(id: symbol, e: Expr)
.decl difference(id: symbol, l: Expr)
difference(?i, ?e) :- term(?i, ?e), ?e = $Zero.
"""


def test_a_supposed_file_does_not_change_a_type(project: Path) -> None:
    types = TYPES.partition("\n")[2]
    file = project / "supposed.dl"
    file.write_text(SUPPOSED.format(types=types), encoding="utf-8")
    with Session(project) as session:
        found = session.what_if("difference(b, $Zero)", rules=[file])
        assert found.after.verdict.value.startswith("PROVED")
    file.write_text(SUPPOSED.format(types=types.replace("l: Expr, r", "r: Expr, l")))
    with Session(project) as session, pytest.raises(ConstatError, match="C0703"):
        session.what_if("difference(b, $Zero)", rules=[file])
