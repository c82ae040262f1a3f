"""What rule files declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.library.listing import proposals, read_listing, unfinished

TEXT = """
.type Id <: symbol
/// All of them.
.decl given(x: Id, @[null = skip] n: number)
.input given(source="db", query="SELECT x, n FROM t")
.decl fixed(x: symbol)
fixed("a"). fixed("b").
@[says = "{x} is good"] @[owner = quality]
.decl good(x: Id)
@[id = R1] @[confidence = 0.9]
good(?x) :- given(?x, 1); given(?x, 2).
@[author = "llm:draft"] @[owner = drafts] @[says = "{x} is drafted"]
good(?x) :- given(?x, 3).
@[author = "llm:draft"] @[approved(by = "J. Doe", on = "2026-01-31")]
good(?x) :- given(?x, 4).
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rules.dl"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_rules_are_listed_with_what_people_look_for(path: Path) -> None:
    rules = read_listing([path], {}).rules
    assert [(one.id, one.status, one.confidence, one.owner, one.line) for one in rules] == [
        ("R1a", "written", "0.9", "quality", 11),
        ("R1b", "written", "0.9", "quality", 11),
        ("good.2", "proposed", "1", "drafts", 13),
        ("good.3", "proposed", "1", "quality", 15),
    ]
    assert [one.says for one in rules] == ["{x} is good"] * 2 + ["{x} is drafted", "{x} is good"]
    assert rules[3].approved_by == ""
    assert {one.head for one in rules} == {"good(?x)"}
    assert {one.file for one in rules} == {"rules.dl"}


def test_predicates_are_listed_with_columns_and_sources(path: Path) -> None:
    given, fixed, good = read_listing([path], {}).predicates
    assert given.columns == (("x", "Id", "symbol"), ("n", "number", "number"))
    assert (given.external, given.source, given.description) == (True, "db", "All of them.")
    assert (fixed.facts, fixed.rules, fixed.external) == (2, 0, False)
    assert (good.facts, good.rules, good.owner) == (0, 4, "quality")


def test_filters_leave_what_they_name(path: Path) -> None:
    listing = read_listing([path], {})
    assert [one.id for one in listing.only(proposed=True).rules] == ["good.2", "good.3"]
    assert [one.name for one in listing.only(proposed=True).predicates] == ["good"]
    assert [one.id for one in listing.only(owner="drafts").rules] == ["good.2"]
    assert [one.id for one in listing.only(owner="quality").rules] == ["R1a", "R1b", "good.3"]
    assert listing.only(predicate="fixed").rules == ()
    assert [one.name for one in listing.only(predicate="fixed").predicates] == ["fixed"]
    assert listing.only() == listing


def test_mistakes_are_raised_with_their_texts(path: Path) -> None:
    path.write_text(TEXT + "god(1).\n", encoding="utf-8")
    texts: dict[str, str] = {}
    with pytest.raises(ConstatError, match="C0201"):
        read_listing([path], texts)
    assert set(texts) == {"rules.dl"}
    with pytest.raises(ConstatError, match="C0405"):
        read_listing([path.parent / "nothing"], {})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ("", "", 0)),
        ("go", ("go", "", 0)),
        ("good(", ("", "good", 0)),
        ("p(a, good(x), ", ("", "p", 2)),
        ("p(a, ?x", (None, "p", 1)),
        ('p("a, (go', (None, "p", 0)),
        (r'p("\"", go', ("go", "p", 1)),
        ("p(a)), go", ("go", "", 0)),
    ],
)
def test_where_a_goal_ends_that_is_being_written(
    text: str, found: tuple[str | None, str, int]
) -> None:
    assert unfinished(text) == found


def test_a_word_stands_for_names_first_and_then_for_what_is_said(path: Path) -> None:
    known = read_listing([path], {}).predicates
    assert [one.name for one in proposals(known, "G")] == ["given", "good"]
    assert [one.name for one in proposals(known, "oo")] == ["good"]
    assert [one.name for one in proposals(known, "all")] == ["given"]
    assert [one.name for one in proposals(known, "")] == ["fixed", "given", "good"]
    assert proposals(known, "bad") == []
