"""An API of GraphQL: a real executor of the reference implementation, behind a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema, graphql

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from tests.apis.servers import JSONResponse, Request, Response, Served, serving

Project = Callable[..., Path]
Open = Callable[[Path], Session]
State = dict[str, Any]

SCHEMA = build_schema(
    """
    type Language { code: ID! name: String! }
    type Country { code: ID! name: String! capital: String languages: [Language!]! area: Float }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type Edge { node: Country! }
    type Pages { edges: [Edge!]! pageInfo: PageInfo! }
    type Query {
      country(code: ID!): Country
      countries: [Country!]!
      paged(first: Int, after: String): Pages!
      broken: [Country!]
      within(bounds: Bounds!): [Country!]
      search: [Found!]!
      kept: [Kept!]!
    }
    union Found = Book | Disc
    interface Kept { id: ID! }
    type Book implements Kept { id: ID! title: String! size: Int! authors: [Author!]! }
    type Disc implements Kept { id: ID! title: String! size: String! cover(of: Int!): String }
    type Author { name: String! books: [Book!]! }
    input Bounds { least: Float most: Float }
    type Mutation { rename(code: ID!): Country }
    """
)
SWISS: dict[str, Any] = {
    "code": "CH",
    "name": "Switzerland",
    "capital": "Bern",
    "languages": [{"code": "de", "name": "German"}, {"code": "fr", "name": "French"}],
    "area": 41285.5,
}
NAURU: dict[str, Any] = {
    "code": "NR",
    "name": "Nauru",
    "capital": None,
    "languages": [],
    "area": 21.0,
}
ALL = [SWISS, NAURU]


class Root:
    def country(self, _info: object, code: str) -> dict[str, Any] | None:
        return next((one for one in ALL if one["code"] == code), None)

    def countries(self, _info: object) -> list[dict[str, Any]]:
        return ALL

    def paged(self, _info: object, first: int = 1, after: str | None = None) -> dict[str, Any]:
        start = int(after or 0)
        more = start + first < len(ALL)
        edges = [{"node": one} for one in ALL[start : start + first]]
        return {"edges": edges, "pageInfo": {"hasNextPage": more, "endCursor": str(start + first)}}

    def broken(self, _info: object) -> list[dict[str, Any]]:
        raise ValueError("secret of the server")

    def search(self, _info: object) -> list[dict[str, Any]]:
        authors = [{"name": "Frisch", "books": []}, {"name": "Keller", "books": []}]
        book = {"__typename": "Book", "id": "b", "title": "Stiller", "size": 438}
        disc = {"__typename": "Disc", "id": "d", "title": "Kind of Blue", "size": "12 in"}
        return [{**book, "authors": authors}, disc]

    kept = search

    def rename(self, _info: object, code: str) -> None:
        raise AssertionError("nothing is ever changed")


async def answer(request: Request, state: State) -> Response:
    body = await request.json()
    if "lie" in state and "__schema" not in body["query"]:
        return JSONResponse(state["lie"])
    found = await graphql(SCHEMA, body["query"], Root(), variable_values=body.get("variables"))
    return JSONResponse(found.formatted)


@pytest.fixture(scope="module")
def shared() -> Iterator[Served]:
    with serving({"/graphql": answer}) as found:
        yield found


RULES = """
.decl country(code: symbol, name: symbol, @[null = maybe] capital: symbol)
.input country(source="countries", operation="countries")
.decl named(code: symbol, name: symbol)
.input named(source="countries", operation="country", required="code")
.decl speaks(country: symbol, language: symbol)
.input speaks(source="countries", operation="countries", rows="[].languages[]",
              columns="country = [].code, language = name")
.decl large(code: symbol, area: Decimal)
.input large(source="countries", operation="paged", rows="edges[]",
             columns="code = node.code, area = node.area", fixed="first=1")
.decl broken(code: symbol)
.input broken(source="countries", operation="broken")
"""


@pytest.fixture
def countries(project: Project, shared: Served, opened: Open) -> Callable[..., Session]:
    shared.state.pop("lie", None)

    def make(more: str = "authority: true", rules: str = RULES) -> Session:
        settings = f"type: graphql\nurl: {shared.url}/graphql\nprivate: true\n{more}"
        return opened(project(settings, rules, "countries"))

    return make


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ('country("CH", "Switzerland", "Bern")', Verdict.PROVED),
        ('country("CH", "Swiss", _)', Verdict.DISPROVED),
        ('country("NR", "Nauru", "Yaren")', Verdict.UNRESOLVED),
        ('named("CH", "Switzerland")', Verdict.PROVED),
        ('named("XX", "Nowhere")', Verdict.DISPROVED),
        ('speaks("CH", "French")', Verdict.PROVED),
        ('speaks("NR", "French")', Verdict.DISPROVED),
        ('large("NR", 21)', Verdict.PROVED),
        ('large("CH", 41285.5)', Verdict.PROVED),
        ('broken("CH")', Verdict.UNRESOLVED),
    ],
)
def test_fields_of_queries_are_predicates(
    countries: Callable[..., Session], goal: str, verdict: Verdict
) -> None:
    with countries() as session:
        result = session.prove(goal)
        assert result.verdict is verdict
        assert session.verify(result.certificate).accepted
        assert session.verify_source(result.certificate).exit_code == result.exit_code
        assert b"secret of the server" not in result.certificate


def test_all_pages_of_a_connection_are_read(countries: Callable[..., Session]) -> None:
    with countries() as session:
        result = session.prove('large("XX", 1)')
        assert result.verdict is Verdict.DISPROVED
        authorities = [one for call in result.calls for one in call.answer.authorities]
        assert authorities[0].exhaustive is not None
        assert authorities[0].exhaustive.pages == 2


@pytest.mark.parametrize("name", ["search", "kept"])
def test_what_only_some_things_have_is_drafted_and_read(
    countries: Callable[..., Session], name: str
) -> None:
    with countries() as session:
        text = session.draft_tables([name]).text
        shown = session.catalog.table(name)
    assert "needs the argument `of`" in text
    assert "`Book` stands around it" in text
    assert any("needs the argument `of`" in one for one in shown.problems)
    with countries(rules=text) as session:
        goal = f'{name}_book_authors(b, 1, "{{}}")'
        assert session.prove(goal.format("Keller")).verdict is Verdict.PROVED
        assert session.prove(goal.format("Frisch")).verdict is Verdict.DISPROVED
        columns = [one.name for one in session.program.program.predicates[name].columns]
        values = {"typename": "Disc", "disc_size": "12 in"}
        goal = ", ".join(f'"{values[one]}"' if one in values else "?" for one in columns)
        assert session.prove(f"{name}({goal})").verdict is Verdict.PROVED
        # A book has no size of discs.
        wrong = goal.replace("Disc", "Book")
        assert session.prove(f"{name}({wrong})").verdict is not Verdict.PROVED


def test_an_object_that_it_is_asked_with_is_told(countries: Callable[..., Session]) -> None:
    with countries() as session:
        shown = session.catalog.table("countries.within")
        assert shown.problems == ("it is asked with the object `bounds`, which no column can give",)
        assert "asked with the object `bounds`" in session.draft_tables(["within"]).text
        assert session.catalog.table("countries.country").problems == ()


def test_a_mutation_is_not_asked(countries: Callable[..., Session]) -> None:
    rules = """
    .decl renamed(code: symbol, name: symbol)
    .input renamed(source="countries", operation="rename", required="code")
    """
    with countries(rules=rules) as session, pytest.raises(ConstatError) as caught:
        session.prove('renamed("CH", "x")')
    assert caught.value.diagnostics[0].code == "C0572"


@pytest.mark.parametrize(
    "lie",
    [
        {"data": {"countries": None}},
        {"data": {"countries": [{"code": "CH", "name": 7, "capital": None}]}},
        {"data": {"countries": {"code": "CH"}}},
        {"data": None},
        {"data": {}},
        [],
        {"data": {"countries": []}, "errors": [{"message": "partly"}]},
    ],
)
def test_an_answer_that_does_not_fit_the_types_is_a_failure(
    countries: Callable[..., Session], shared: Served, lie: object
) -> None:
    with countries() as session:
        session.prove('named("CH", "x")')
        shared.state["lie"] = lie
        assert session.prove('country("NR", "x", _)').verdict is Verdict.UNRESOLVED
