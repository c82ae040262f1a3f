from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from constat.evaluation import Verdict
from constat.project import load_project
from constat.session import Session
from tests.apis.servers import JSONResponse, Request, Response, Served, serving

Project = Callable[..., Path]
Open = Callable[[Path], Session]
State = dict[str, Any]
COUNT = 7
SIZE = 3

ITEM = {"type": "object", "properties": {"id": {"type": "integer"}}}
SPEC = """
openapi: 3.1.0
paths:
  /PATH:
    get:
      operationId: listItems
      responses:
        200:
          content:
            application/json:
              schema:
                type: object
                properties: {items: {type: array}, next: {type: [string, "null"]}}
"""
RULES = """
.decl item(id: number)
.input item(source="crm", operation="listItems", rows="items[]")
.decl many(n: number)
many(?n) :- ?n = count : { item(?i), ?i >= 0 }.
"""


def items_from(start: int) -> list[dict[str, int]]:
    return [{"id": one} for one in range(start, min(start + SIZE, COUNT))]


def paged(items: list[dict[str, int]], then: object = None, link: str = "") -> Response:
    headers = (
        {"link": f'<https://x.example/help>; rel="help", <{link}>; rel="next"'} if link else {}
    )
    return JSONResponse({"items": items, "next": then}, headers=headers)


def at(request: Request, name: str, default: int = 0) -> int:
    return int(request.query_params.get(name, default))


async def by_page(request: Request, state: State) -> Response:
    return paged(items_from((at(request, "page", 1) - 1) * SIZE))


async def by_offset(request: Request, state: State) -> Response:
    return paged(items_from(at(request, "offset")))


async def by_cursor(request: Request, state: State) -> Response:
    start = at(request, "cursor")
    return paged(items_from(start), str(start + SIZE) if start + SIZE < COUNT else None)


async def by_url(request: Request, state: State) -> Response:
    start = at(request, "from")
    return paged(items_from(start), f"/url?from={start + SIZE}" if start + SIZE < COUNT else None)


async def by_link(request: Request, state: State) -> Response:
    start = at(request, "from")
    return paged(
        items_from(start), None, f"/link?from={start + SIZE}" if start + SIZE < COUNT else ""
    )


async def by_header(request: Request, state: State) -> Response:
    start = at(request, "from")
    there = start + SIZE < COUNT
    told = state["header"].replace("NEXT", f"</header?from={start + SIZE}>") if there else ""
    return JSONResponse({"items": items_from(start)}, headers={"link": told} if told else {})


async def around(request: Request, state: State) -> Response:
    return JSONResponse({"items": items_from(0), **state["around"]})


async def looping(request: Request, state: State) -> Response:
    return paged(items_from(at(request, "cursor")), "3")


async def endless(request: Request, state: State) -> Response:
    start = at(request, "cursor")
    return paged([{"id": start}], str(start + 1))


async def elsewhere(request: Request, state: State) -> Response:
    return paged(items_from(0), "http://127.0.0.1:9/next")


async def changing(request: Request, state: State) -> Response:
    """A row is added in front while pages are read, so that one comes twice."""
    start = at(request, "cursor")
    shift = 1 if start else 0
    return paged(items_from(start - shift), str(start + SIZE) if start + SIZE < COUNT else None)


async def failing(request: Request, state: State) -> Response:
    start = at(request, "cursor")
    return paged(items_from(0), "3") if not start else JSONResponse({"items": 1})


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    routes = {
        "/page": by_page,
        "/offset": by_offset,
        "/cursor": by_cursor,
        "/url": by_url,
        "/link": by_link,
        "/header": by_header,
        "/around": around,
        "/looping": looping,
        "/endless": endless,
        "/elsewhere": elsewhere,
        "/changing": changing,
        "/failing": failing,
    }
    with serving(routes) as found:
        yield found


@pytest.fixture
def crm(project: Project, server: Served, opened: Open) -> Callable[[str, str], Session]:
    def make(path: str, paging: str) -> Session:
        settings = f"spec_file: spec.yaml\nurl: {server.url}\nprivate: true\npages: 20"
        told = f"paging: {paging}" if paging else ""
        folder = project(f"{settings}\nauthority: true\nretries: 0\n{told}", RULES)
        (folder / "spec.yaml").write_text(SPEC.replace("PATH", path))
        return opened(folder)

    return make


CURSOR = "{parameter: cursor, next: next}"
WHOLE = [
    ("page", "{kind: page, parameter: page}", 4),
    ("page", "{parameter: page, size: 3, size_parameter: limit}", 4),
    ("offset", "{kind: offset, parameter: offset}", 4),
    ("cursor", CURSOR, 3),
    ("url", "{next: next}", 3),
    ("link", "link", 3),
]


@pytest.mark.parametrize(("path", "paging", "count"), WHOLE)
def test_all_pages_are_read_and_then_the_answer_is_whole(
    crm: Callable[[str, str], Session], path: str, paging: str, count: int
) -> None:
    with crm(path, paging) as session:
        result = session.prove(f"many({COUNT})")
        assert result.verdict is Verdict.PROVED
        (source,) = {
            one.exhaustive
            for call in result.calls
            for one in call.answer.authorities
            if call.demand.predicate.name == "item"
        }
        assert source is not None
        assert source.pages == count
        # Between two pages it may have changed.
        assert result.snapshot == "not one snapshot"


@pytest.mark.parametrize(
    ("header", "whole"),
    [
        ('NEXT; title="on, and on"; rel="last next"', True),
        ("</?a=1,2>; rel=prev, NEXT; Rel = next", True),
        (r'</a>; title="\"; rel=x, <b>"; rel=prev;, , NEXT; a; rel=next;', True),
        ('NEXT; title="; rel=prev"; rel="next"', True),
        ("NEXT; rel=prev; rel=next", True),
        ('NEXT; rel="next', False),
        ("NEXT; rel=prev rel=next", False),
        ('</a>; title="x, NEXT; rel=next', False),
    ],
)
def test_a_header_that_names_a_next_page_is_followed_or_told(
    crm: Callable[[str, str], Session], server: Served, header: str, *, whole: bool
) -> None:
    server.state["header"] = header
    with crm("header", "link") as session:
        verdict = Verdict.PROVED if whole else Verdict.UNRESOLVED
        assert session.prove(f"many({COUNT})").verdict is verdict
        result = session.prove(f"item({COUNT + 1})")
        assert result.verdict is (Verdict.DISPROVED if whole else Verdict.UNRESOLVED)
        reasons = str([one.answer.openings for one in result.calls])
        assert ("`Link` cannot be read" in reasons) is not whole


@pytest.mark.parametrize(
    ("paging", "verdict"),
    [("", Verdict.UNRESOLVED), ("paging: none", Verdict.PROVED), ("paging: link", Verdict.PROVED)],
)
def test_what_takes_a_limit_is_all_there_is_only_once_somebody_says_how_pages_are_read(
    project: Project, server: Served, opened: Open, paging: str, verdict: Verdict
) -> None:
    limit = "      parameters: [{name: per_page, in: query}]\n      responses"
    settings = f"spec_file: spec.yaml\nurl: {server.url}\nprivate: true\nauthority: true\n{paging}"
    folder = project(settings, RULES)
    text = SPEC.replace("PATH", "page").replace("      responses", limit)
    (folder / "spec.yaml").write_text(text)
    with opened(folder) as session:
        result = session.prove(f"many({SIZE})")
        assert result.verdict is verdict
        if verdict is Verdict.UNRESOLVED:
            assert "`per_page`" in str([one.answer.openings for one in result.calls])


def test_a_header_that_names_two_next_pages_is_told(
    crm: Callable[[str, str], Session], server: Served
) -> None:
    server.state["header"] = "</header?page=2>; rel=next, </header?page=3>; rel=next"
    with crm("header", "link") as session:
        result = session.prove(f"item({COUNT + 1})")
        assert result.verdict is Verdict.UNRESOLVED
        assert "names two next pages" in str([one.answer.openings for one in result.calls])


def test_paging_that_reads_another_field_than_what_leads_on_is_told(
    crm: Callable[[str, str], Session], server: Served
) -> None:
    for around, verdict in (
        ({"next_cursor": "b"}, Verdict.UNRESOLVED),
        ({"next_cursor": None}, Verdict.DISPROVED),
    ):
        server.state["around"] = around
        with crm("around", "{parameter: cursor, next: nextCursor}") as session:
            result = session.prove(f"item({COUNT + 1})")
            assert result.verdict is verdict
            told = "`next_cursor`, which may lead on, and `paging` does not read it"
            said = str([one.answer.openings for one in result.calls])
            assert (told in said) is (verdict is Verdict.UNRESOLVED)


NONE_FURTHER: list[dict[str, Any]] = [
    {"next": None, "has_more": False},
    {"links": {"next": {"href": None}, "self": {"href": "/a"}}},
    {"links": [{"rel": "self", "href": "/a"}], "meta": {"nextPageToken": ""}},
    {"total": 9, "nextly": "x"},
]
FURTHER: list[tuple[dict[str, Any], str]] = [
    ({"next": "/a?page=2"}, "next"),
    ({"has_more": True}, "has_more"),
    ({"meta": {"next-cursor": "a"}}, "meta.next-cursor"),
    ({"_links": {"next": {"href": "/a"}}}, "_links.next"),
    ({"links": [{"rel": "next", "href": "/a"}]}, "links"),
    ({"@odata.nextLink": "https://x.example"}, "@odata.nextLink"),
]


@pytest.mark.parametrize(("around", "name"), [*((one, "") for one in NONE_FURTHER), *FURTHER])
def test_an_answer_that_seems_to_lead_on_is_not_all_there_is(
    crm: Callable[[str, str], Session], server: Served, around: dict[str, Any], name: str
) -> None:
    server.state["around"] = around
    with crm("around", "") as session:
        result = session.prove(f"many({SIZE})")
        assert result.verdict is (Verdict.UNRESOLVED if name else Verdict.PROVED)
        assert (f"it has `{name}`" in str([one.answer.openings for one in result.calls])) is bool(
            name
        )
    with crm("around", "none") as session:
        assert session.prove(f"many({SIZE})").verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("path", "paging", "code"),
    [
        ("looping", CURSOR, "C0578"),
        ("endless", CURSOR, "C0578"),
        ("elsewhere", "{next: next}", "C0575"),
        ("changing", CURSOR, "C0523"),
        ("failing", CURSOR, "C0577"),
        ("link", "none", "C0578"),
    ],
)
def test_some_pages_are_true_and_not_all_there_is(
    crm: Callable[[str, str], Session], path: str, paging: str, code: str
) -> None:
    with crm(path, paging) as session:
        assert session.prove("item(0)").verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}
        assert session.prove("item(999)").verdict is not Verdict.PROVED
        result = session.prove(f"many({COUNT})")
        assert result.verdict is Verdict.UNRESOLVED
        told = str([one.answer.openings for one in result.calls])
        assert f"[{code}]" in told


@pytest.mark.parametrize(("least", "told"), [(7, "DISPROVED"), (6, "UNRESOLVED")])
def test_a_bound_of_rows_counts_none_that_a_role_may_not_see(
    crm: Callable[[str, str], Session], least: int, told: str
) -> None:
    with crm("cursor", CURSOR) as session:
        session.close()
        folder = session.project.folder
        with (folder / "constat.yaml").open("a") as config:
            config.write(f"rights:\n  viewer: {{item: {{rows: {{id: ['{least}']}}}}}}\n")
        config_text = (folder / "constat.yaml").read_text()
        bounds = config_text.replace("{seconds: 20}", "{seconds: 20, query_rows: 2}")
        (folder / "constat.yaml").write_text(bounds)
        sight = load_project(folder).rights.sight("viewer", "v")
        with Session(folder, sight=sight) as seen:
            assert seen.prove(f"item({least})").verdict.value == told
            assert seen.prove("item(0)").verdict is Verdict.UNRESOLVED
        with Session(folder) as whole:
            # Who may see them is told of the bound.
            assert "C0522" in whole.prove("item(6)").explain()
