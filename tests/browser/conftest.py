"""A browser for the tests of reports; without one they are skipped with the reason."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Error, sync_playwright

from tests import extras
from tests.browser.finding import HOW, find_browser
from tests.browser.pages import Pages
from tests.examples.fixtures import shop, shop_database, still_shop
from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

__all__ = ["shop", "shop_database", "still_shop"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    extras.need("browser")
    found = find_browser()
    if found is None:
        pytest.skip(f"no browser was found: {HOW}")
    with sync_playwright() as playwright:
        environment: dict[str, Any] = dict(found.environment)
        try:
            started = playwright.chromium.launch(
                executable_path=found.program,
                args=list(found.arguments),
                env=environment or None,
            )
        except Error as problem:
            pytest.skip(f"{found.program} does not start: {str(problem).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def pages(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Open reports, each in a context of its own, and watch what they do."""
    opener = Pages(browser, tmp_path_factory.mktemp("reports"))
    yield opener
    opener.close()


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
