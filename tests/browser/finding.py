"""A headless browser of the Chromium family, wherever one is.

In: nothing.  Out: a ``Browser``: the program, what it needs to start, and axe-core if it is there;
or why there is none.  Looked for, in this order: the variable ``CONSTAT_BROWSER``, the path, what
`playwright install chromium` leaves behind, and what `make browser` has fetched into the
environment.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FETCHED: Final = Path(sys.prefix) / "browser"
AXE: Final = FETCHED / "axe.min.js"
PYTHON: Final = FETCHED / "python"
"""CPython for browsers, of the Pyodide project: what the playground of the site runs."""
TERSER_VERSION: Final = "5.51.2"
TERSER: Final = FETCHED / f"terser-{TERSER_VERSION}" / "node_modules" / "terser" / "bin" / "terser"
HOW: Final = "run `make browser`"

_NAMES: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome-headless-shell",
    "microsoft-edge",
)
_QUIET: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Whatever a page asks for, no name is looked up; a test may serve on loopback.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_SOFTWARE: Final = ("--use-gl=angle", "--use-angle=swiftshader")


@dataclass(frozen=True, slots=True)
class Browser:
    """A program to start, with its arguments and what it adds to the environment."""

    program: str
    arguments: tuple[str, ...] = _QUIET
    environment: dict[str, str] = field(default_factory=dict)


def find_browser() -> Browser | None:
    """Return a browser, or nothing."""
    named = os.environ.get("CONSTAT_BROWSER")
    if named:
        return Browser(named)
    found = next((place for name in _NAMES if (place := shutil.which(name))), None)
    if found is not None:
        return Browser(found)
    own = own_of_playwright()
    if own is not None:
        return Browser(str(own))
    return fetched()


def own_of_playwright() -> Path | None:
    """Return the newest browser that playwright has installed."""
    default = Path.home() / ".cache" / "ms-playwright"
    root = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or default)
    patterns = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/*/chrome")
    found = [place for pattern in patterns for place in root.glob(pattern) if place.is_file()]
    return max(found, default=None)


def fetched() -> Browser | None:
    """Return the browser that `make browser` has fetched, with its libraries and fonts."""
    program = FETCHED / "chromium"
    if not program.is_file():
        return None
    environment = {
        "LD_LIBRARY_PATH": str(FETCHED / "al2023" / "lib"),
        "FONTCONFIG_FILE": str(FETCHED / "fonts.conf"),
    }
    return Browser(str(program), (*_QUIET, *_SOFTWARE), environment)
