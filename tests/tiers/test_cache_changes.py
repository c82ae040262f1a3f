"""What a change makes of kept answers: what depends on it is asked anew, and nothing else is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session, Verdict
from constat.tiers.cache import concerns
from tests.tiers.building import declare, open_rows, rows
from tests.tiers.kept import QUERY, TIER, Place, place

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Predicate, Row

C1 = ("C001",)
OTHER = "other(c: symbol, t: symbol)"
OTHERS = "SELECT c, t FROM others"


def kept(text: str, query: str, **more: str) -> Predicate:
    return replace(declare(text, query, parameters={"max_age": "10m"}), attributes=more)


def both(**more: str) -> tuple[Predicate, Predicate]:
    """Give two predicates of one source; `more` is said of the first."""
    return kept(TIER, QUERY, **more), kept(OTHER, OTHERS)


def filled(folder: Path, config: str = "") -> Place:
    """Give a project in which both predicates are kept."""
    found = place(folder, config=config)
    with found.run(*both()) as run:
        run.ask("tier", (0,), C1)
        run.ask("other", (0,), C1)
        assert run.queries == 2
    with found.run(*both()) as run:
        run.ask("tier", (0,), C1)
        run.ask("other", (0,), C1)
        assert run.queries == 0
    return found


def asked(found: Place, *predicates: Predicate) -> set[str]:
    """Name the predicates whose source is asked."""
    names = set()
    with found.run(*predicates) as run:
        for one in predicates:
            before = run.queries
            run.ask(one.name, (0,), C1)
            if run.queries > before:
                names.add(one.name)
    return names


def script(found: Place, text: str) -> None:
    with closing(sqlite3.connect(found.folder / "shop.sqlite")) as connection, connection:
        connection.executescript(text)


def test_another_query_asks_its_own_predicate_anew(tmp_path: Path) -> None:
    found = filled(tmp_path)
    changed = kept(TIER, f"{QUERY} WHERE t <> ''"), kept(OTHER, OTHERS)
    assert asked(found, *changed) == {"tier"}


@pytest.mark.parametrize(
    "changed",
    [
        kept("tier(c: symbol, grade: symbol)", QUERY),
        kept(TIER, QUERY, key="c"),
        kept(TIER, QUERY, closed="legal"),
        declare(TIER, QUERY, parameters={"max_age": "10m", "null": "skip"}),
        declare(TIER, QUERY, parameters={"max_age": "10m", "distinct": "true"}),
        declare(TIER, QUERY, parameters={"max_age": "10m"}, nulls={"t": "unknown"}),
    ],
    ids=["column", "key", "closed", "null", "distinct", "null of a column"],
)
def test_another_declaration_asks_its_own_predicate_anew(
    tmp_path: Path, changed: Predicate
) -> None:
    assert asked(filled(tmp_path), changed, both()[1]) == {"tier"}


def test_another_kind_of_a_column_asks_anew(tmp_path: Path) -> None:
    found = place(tmp_path, "CREATE TABLE t (x TEXT); INSERT INTO t VALUES ('7')")
    with found.run(kept("p(x: symbol)", "SELECT x FROM t")) as run:
        assert rows(run.ask("p")) == {("7",)}
    with found.run(kept("p(x: number)", "SELECT x FROM t")) as run:
        assert rows(run.ask("p")) == {(7,)}
        assert run.queries == 1


def test_what_does_not_change_rows_keeps_them(tmp_path: Path) -> None:
    found = filled(tmp_path)
    said = kept(TIER, QUERY, says="{c} is {t}", owner="sales"), both()[1]
    assert asked(found, *said) == set()
    longer = declare(TIER, QUERY, parameters={"max_age": "7d"}), both()[1]
    assert asked(found, *longer) == set()
    souffle = declare(TIER, QUERY, parameters={"max_age": "10m", "delimiter": ","}), both()[1]
    assert asked(found, *souffle) == set()


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ("ALTER TABLE accounts ADD COLUMN since TEXT", {"tier"}),
        ("ALTER TABLE others ADD COLUMN since TEXT", {"other"}),
        ("CREATE TABLE third (x)", set()),
        ("CREATE INDEX by_tier ON accounts (t)", set()),
        ("UPDATE accounts SET t = 'iron'; UPDATE others SET t = 'iron'", set()),
        ("DROP TABLE others; CREATE TABLE others (c TEXT, t BLOB)", {"other"}),
    ],
)
def test_another_schema_asks_anew_what_reads_the_table(
    tmp_path: Path, change: str, anew: set[str]
) -> None:
    found = filled(tmp_path)
    script(found, change)
    assert asked(found, *both()) == anew


def test_a_schema_that_changes_within_a_program_is_seen(tmp_path: Path) -> None:
    found = filled(tmp_path)
    with found.run(*both()) as run:
        run.ask("tier", (0,), C1)
        assert run.queries == 0
        script(found, "ALTER TABLE accounts ADD COLUMN since TEXT")
        run.ask("tier", (0,), C1)
        assert run.queries == 1


@pytest.mark.parametrize(
    ("config", "anew"),
    [
        ("facts: {tier: [[C007, gold]]}", {"tier"}),
        ("facts: {other: [[C007, gold]]}", {"other"}),
        ("closed: {tier: legal}", {"tier"}),
        ("limits: {query_seconds: 12}", set()),
        (
            'tiers: {crm: {factory: "tests.tiers.sample_tiers:Sample", predicates: [tier]}}',
            {"tier"},
        ),
        ('tiers: {crm: {factory: "tests.tiers.sample_tiers:Sample"}}', {"tier", "other"}),
        ("project: shop", set()),
    ],
)
def test_another_configuration_asks_anew_what_depends_on_it(
    tmp_path: Path, config: str, anew: set[str]
) -> None:
    found = filled(tmp_path)
    found.configure(config)
    assert asked(found, *both()) == anew
    found.configure()
    assert asked(found, *both()) == set()


def test_another_address_of_the_source_asks_anew(tmp_path: Path) -> None:
    found = filled(tmp_path)
    (tmp_path / "copy.sqlite").write_bytes((tmp_path / "shop.sqlite").read_bytes())
    found.configure(uri="sqlite:///copy.sqlite")
    assert asked(found, *both()) == {"tier", "other"}


def test_another_password_is_the_same_source_and_no_password_is_written(tmp_path: Path) -> None:
    from constat.project import load_project
    from constat.tiers.cache import concerns

    found, texts = place(tmp_path), set()
    addresses = (
        "postgresql://bob:hunter2@db.example/shop?sslpassword=hunter2&sslmode=require",
        "postgresql://bob:hunter3@db.example/shop?sslpassword=hunter3&sslmode=require",
    )
    for address in addresses:
        found.configure(uri=address)
        texts.add(concerns(kept(TIER, QUERY), load_project(tmp_path), "settled"))
    assert len(texts) == 1
    assert "hunter" not in texts.pop()
    for other in ("bob2:x@db.example/shop", "bob:x@db2.example/shop", "bob:x@db.example/shop2"):
        found.configure(uri=f"postgresql://{other}?sslpassword=x&sslmode=require")
        texts.add(concerns(kept(TIER, QUERY), load_project(tmp_path), "settled"))
    assert len(texts) == 3


Question = tuple[tuple[int, ...], tuple[str, ...]]
VALUES = st.sampled_from(["a", "b", "c", "d"])
TABLE = st.sets(st.tuples(VALUES, VALUES), max_size=8)
QUESTIONS: st.SearchStrategy[Question] = st.one_of(
    st.just(((), ())),
    VALUES.map(lambda one: ((0,), (one,))),
    VALUES.map(lambda one: ((1,), (one,))),
    st.tuples(VALUES, VALUES).map(lambda pair: ((0, 1), pair)),
)


@settings(max_examples=25)
@given(
    table=TABLE,
    configured=st.sets(st.tuples(VALUES, VALUES), max_size=2),
    runs=st.lists(st.lists(QUESTIONS, max_size=4), max_size=4),
    key=st.sampled_from(["", "c", "c,t"]),
)
def test_kept_answers_say_what_the_tiers_would_say(
    tmp_path_factory: pytest.TempPathFactory,
    table: set[Row],
    configured: set[Row],
    runs: list[list[Question]],
    key: str,
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    lines = "".join(
        f"INSERT INTO accounts VALUES ('{c}', '{t}');" for c, t in sorted(table, key=str)
    )
    listed = ", ".join(f"[{c}, {t}]" for c, t in sorted(configured, key=str))
    config = f"facts: {{tier: [{listed}]}}" if configured else ""
    found = place(folder, f"CREATE TABLE accounts (c TEXT, t TEXT); {lines}", config)
    found.facts.add("tier", ("a", "stated"), "alice")
    more = {"key": key} if key else {}
    plainly = replace(declare(TIER, QUERY), attributes=more)
    with found.run(plainly) as plain:
        for questions in runs:
            with found.run(kept(TIER, QUERY, **more)) as run:
                for columns, one in questions:
                    served = run.ask("tier", columns, one)
                    expected = plain.ask("tier", columns, one)
                    assert served.answered == expected.answered
                    for assumed in (True, False):
                        assert rows(served, assumed=assumed) == rows(expected, assumed=assumed)
                    assert open_rows(served) == open_rows(expected)


def test_answers_of_files_are_kept_until_their_form_changes(tmp_path: Path) -> None:
    rules = (
        '.decl a(x: number)\n.input a(source = "d", query = "SELECT x FROM t", max_age = "1h")\n'
    )
    (tmp_path / "rules.dl").write_text(rules)
    (tmp_path / "t.csv").write_text("x\n1\n")
    names = set()
    for form in ("t.csv", "{file: t.csv}", '{file: t.csv, null: {x: "-"}}'):
        text = f"rules: rules.dl\ndatabases: {{d: {{files: {{t: {form}}}}}}}\n"
        (tmp_path / "constat.yaml").write_text(text)
        with Session(tmp_path) as session:
            assert session.prove("a(1)").verdict is Verdict.PROVED
            predicate = session.program.program.predicates["a"]
            names.add(concerns(predicate, session.project, "x"))
    assert len(names) == 2
