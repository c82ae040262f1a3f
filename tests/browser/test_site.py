"""The site of the documentation: it builds, its links lead somewhere, it reads well on a phone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests import extras
from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Route

_LINK: Final = re.compile(r'(?:href|src)="([^"#:]+)(#[^"]*)?"')
_WIDTHS: Final = (380, 1280)
_HOST: Final = "http://site.test/"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, with every warning an error."""
    extras.need("site")
    pytest.importorskip("material", reason="mkdocs-material is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-f", ".github/mkdocs.yml", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


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


def test_pages_fit_a_phone_and_the_search_finds(site: Path, browser: Browser) -> None:
    with browser.new_context() as context:
        page = _opened(site, context)
        for place in ("index.html", "tutorial/files.html", "comparison.html", "commands.html"):
            for width in _WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                page.goto(f"{_HOST}{place}")
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (place, width)
        page.goto(f"{_HOST}index.html")
        page.get_by_role("textbox", name="Search").fill("overdue")
        page.get_by_role("link", name="Your own database").first.wait_for()


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
