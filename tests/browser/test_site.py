"""The site of the documentation: it builds, its links lead somewhere, it reads well on a phone."""

from __future__ import annotations

import json
import re
import runpy
import time
from typing import TYPE_CHECKING, Final

import pytest

from constat.check import check_certificate
from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Route

_LINK: Final = re.compile(r'(?:href|src)="([^"#:]+)(#[^"]*)?"')
_WIDTHS: Final = (380, 1280)
_HOST: Final = "http://site.test/"
_PATIENCE: Final = 240_000
"""Milliseconds: Python for browsers is 13 MB, and slow where the machine is busy."""


def test_every_link_of_the_site_leads_to_a_file_of_it(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    lost = [
        (str(page.relative_to(site)), link)
        for page, text in pages.items()
        if page.name != "404.html"
        for link, _ in _LINK.findall(text)
        if not (page.parent / link).exists()
    ]
    assert (lost, len(pages) > 50) == ([], True)


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    asked = {
        found
        for page in site.rglob("*.html")
        for found in re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)', page.read_text("utf-8")
        )
    }
    assert asked == set()


def test_the_search_knows_pages_codes_and_commands(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in found["docs"]}
    assert {"tutorial/files.html", "codes/analysis.html", "commands.html", "format.html"} <= places
    assert {"rest.html", "graphql.html", "mcp.html"} <= places
    told = {entry["location"] for entry in found["docs"]}
    assert {"rest.html#post-v1prove", "graphql.html#asked", "mcp.html#draft_rules"} <= told


def test_the_site_gives_the_schema_of_the_configuration_and_the_document_of_openapi(
    site: Path,
) -> None:
    schema = json.loads((site / "constat.schema.json").read_text(encoding="utf-8"))
    assert "databases" in schema["properties"]
    assert "/v1/prove" in json.loads((site / "openapi.json").read_text(encoding="utf-8"))["paths"]


def test_pages_fit_a_phone_and_the_search_finds(site: Path, browser: Browser) -> None:
    with browser.new_context() as context:
        page = _opened(site, context)
        for place in (
            *("index.html", "tutorial/files.html", "tutorial/packages.html", "comparison.html"),
            *("commands.html", "rest.html", "graphql.html", "mcp.html", "guide/rules.html"),
            *("figures.html", "codes/packages.html", "rules/lending.html"),
        ):
            for width in _WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                page.goto(f"{_HOST}{place}")
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (place, width)
        page.goto(f"{_HOST}index.html")
        page.get_by_role("textbox", name="Search").fill("overdue")
        page.get_by_role("link", name="Your own database").first.wait_for()


def test_the_playground_answers_and_its_links_hold_the_program(
    site: Path, browser: Browser, tmp_path: Path
) -> None:
    with browser.new_context() as context:
        page = open_playground(site, context)
        for name, verdict in (("paths", "PROVED"), ("unknown", "UNRESOLVED"), ("vip", "PROVED")):
            ask_playground(page, name, verdict)
        assert "revenue of C001 is $150,000, more than" in page.get_by_label("Answer").inner_text()
        for name in ("certificate", "page"):
            with page.expect_download() as found:
                page.get_by_role("button", name=f"Save the {name}").click()
            found.value.save_as(tmp_path / name)
        report = check_certificate((tmp_path / "certificate").read_bytes())
        assert (report.accepted, report.verdict) == (True, "PROVED")
        assert "C001 is a VIP" in (tmp_path / "page").read_text("utf-8")
        page.get_by_label("Goal").fill("is_vip(?c)")
        page.get_by_role("button", name="All answers").click()
        page.get_by_text("All answers (").wait_for()
        assert "C001" in page.get_by_label("Answer").inner_text()
        page.get_by_label("Goal").fill("is_vip(")
        page.get_by_role("button", name="Prove").click()
        page.get_by_text("There is a mistake").wait_for()
        _check_links(page, context)


def open_playground(site: Path, context: BrowserContext) -> Page:
    """Open the playground, which waits long for its Python."""
    if not (site / "playground" / "python").is_dir():
        pytest.skip("there is no Python for browsers: make browser")
    page = _opened(site, context)
    page.set_default_timeout(_PATIENCE)
    page.goto(f"{_HOST}playground.html")
    return page


def ask_playground(page: Page, name: str, verdict: str) -> None:
    """Prove the goal of an example, and wait for the verdict."""
    page.get_by_label("Begin with").select_option(name)
    page.wait_for_function("name => document.title && rules.value.length > 100", arg=name)
    page.get_by_role("button", name="Prove").click()
    page.get_by_text(f"{verdict}; the certificate is checked").wait_for()


def _wait_until_it_fits(page: Page, width: int) -> None:
    """Wait for the layout to follow the new size: the page is not wider than its window."""
    end = time.monotonic() + 10
    while page.evaluate("document.documentElement.scrollWidth") > width:
        assert time.monotonic() < end, f"wider than {width}"
        page.wait_for_timeout(50)


def _check_links(page: Page, context: BrowserContext) -> None:
    """A link holds the program, and what it holds is text and nothing else."""
    page.get_by_label("Rules and facts").fill("<img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Link to this").click()
    page.get_by_text("in the address of this page").wait_for()
    other = context.new_page()
    other.goto(page.url)
    other.get_by_text("This program came with the link").wait_for()
    assert other.get_by_label("Rules and facts").input_value().startswith("<img")
    for width in _WIDTHS:
        other.set_viewport_size({"width": width, "height": 800})
        _wait_until_it_fits(other, width)


def test_the_examples_of_the_playground_are_what_they_say() -> None:
    home = ROOT / "docs" / "playground"
    asked = runpy.run_path(str(home / "answering.py"))["answer"]
    files = sorted((home / "examples").glob("*.dl"))
    listed = re.findall(r'\["[^"]+", "([a-z]+)"\]', (home / "page.js").read_text("utf-8"))
    assert sorted(listed) == [file.stem for file in files]
    for file in files:
        first, rules = file.read_text(encoding="utf-8").split("\n", 1)
        goal = first.removeprefix("// goal: ")
        assert json.loads(asked("prove", rules, goal))["title"].endswith("is checked"), file.stem
        assert json.loads(asked("query", rules, goal))["title"] == "All answers"
    wrong = json.loads(asked("prove", "p(?x) :- q(?x", "p(1)"))
    assert (wrong["title"], "rules.dl:1" in wrong["text"]) == ("There is a mistake", True)


def _opened(site: Path, context: BrowserContext) -> Page:
    """Give a page for which the files of the site are a host."""

    def fulfil(route: Route) -> None:
        file = site / route.request.url.removeprefix(_HOST).partition("?")[0]
        if file.is_file():
            route.fulfill(path=file)
        else:
            route.fulfill(status=404)

    context.route("**/*", fulfil)
    return context.new_page()
