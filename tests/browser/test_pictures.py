"""The pictures of the documentation: each is made here, and shows what its page shows today.

In: a page.  Out: a PNG in ``docs/pictures`` that carries, in a chunk of its own, the words that its
page had and the digest of the page's styles.  Both are compared with the page of today, so that
another machine's fonts change nothing; `make pictures` takes the pictures anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.proof.report.page import to_html
from tests.browser.test_site import ask_playground, open_playground
from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, ViewportSize

    from tests.browser.pages import Pages

PICTURES: Final = ROOT / "docs" / "pictures"
MOST: Final = 180_000
"""Bytes of a picture."""
WRITE: Final = "CONSTAT_PICTURES"
"""The variable that `make pictures` sets."""
SIZE: Final[ViewportSize] = {"width": 900, "height": 1300}
KIND: Final = b"iTXt"
KEY: Final = b"Constat\0\0\0\0\0"
"""Keyword, no compression, no language, no translated keyword."""

_PASSING: Final = {
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC": "2026-01-31 09:00:00 UTC",
    r"Decided on \d{4}-\d\d-\d\d": "Decided on 2026-01-31",
    r"\(\d+\.\d s\)": "(0.5 s)",
}
"""What is another each time, and what a picture shows for it."""
_STILL: Final = """passing => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode())
    for (const [old, fixed] of Object.entries(passing))
      walk.currentNode.data = walk.currentNode.data.replace(new RegExp(old, "g"), fixed);
}"""


def test_the_page_of_a_yes(pages: Pages, still_shop: Path) -> None:
    with Session(still_shop) as session:
        _take(_opening(pages, session, "is_vip(C001)"), "proved.png", ".opening")


def test_the_page_of_a_no(pages: Pages) -> None:
    with Session(ROOT / "examples" / "lending") as session:
        _take(_opening(pages, session, "approved(A104)"), "disproved.png", ".opening")


def test_the_playground(site: Path, browser: Browser) -> None:
    with browser.new_context(viewport=SIZE) as context:
        page = open_playground(site, context)
        ask_playground(page, "unknown", "UNRESOLVED")
        _take(page, "playground.png", "div#playground")


def test_every_picture_of_the_documentation_is_small_and_shown_and_made_here() -> None:
    shown = {
        (file.parent / link).resolve()
        for file in (ROOT / "docs").rglob("*.md")
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", file.read_text(encoding="utf-8"))
    }
    found = {
        file for end in ("png", "jpg", "gif", "webp") for file in ROOT.glob(f"docs/**/*.{end}")
    }
    made = set(re.findall(r'"([a-z]+\.png)"', Path(__file__).read_text(encoding="utf-8")))
    assert shown == found == {PICTURES / name for name in made}
    assert {file.name for file in found if file.stat().st_size > MOST} == set()


def test_a_picture_of_other_words_or_styles_is_stale(pages: Pages) -> None:
    page = pages.open("<style>p{color:red}</style><p>one 2026-01-01 10:00:00 UTC</p>").page
    picture = _with_words(page.screenshot(), _shown(page.locator("p"), page))
    again = pages.open("<style>p{color:red}</style><p>one 2027-02-03 11:00:00 UTC</p>").page
    assert _words(picture) == _shown(again.locator("p"), again)
    for other in ("<style>p{color:red}</style><p>two", "<style>p{color:tan}</style><p>one"):
        changed = pages.open(other).page
        assert _words(picture) != _shown(changed.locator("p"), changed)


def _opening(pages: Pages, session: Session, goal: str) -> Page:
    """Open the report of a goal, verified by itself."""
    watched = pages.open(to_html(session.prove(goal).certificate), viewport=SIZE)
    watched.verified()
    return watched.page


def _take(page: Page, name: str, part: str) -> None:
    """Write the picture of a part of a page where that is wished, else compare what it says."""
    place = page.locator(part)
    says = _shown(place, page)
    if os.environ.get(WRITE):
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / name).write_bytes(_with_words(place.screenshot(), says))
    assert _words((PICTURES / name).read_bytes()) == says, "stale: make pictures"


def _shown(place: Locator, page: Page) -> dict[str, str]:
    """Give the words of a part of a page, and the digest of what the page is styled by."""
    page.evaluate(_STILL, _PASSING)
    styles = page.evaluate(
        "() => [...document.styleSheets].flatMap(one => [...one.cssRules])"
        ".map(one => one.cssText).join('\\n')"
    )
    values = place.evaluate(
        "one => [...one.querySelectorAll('input, textarea')].map(each => each.value).join('\\n')"
    )
    words = f"{place.inner_text()}\n{values}"
    return {"words": words, "styles": hashlib.sha256(styles.encode()).hexdigest()}


def _with_words(picture: bytes, says: dict[str, str]) -> bytes:
    """Put a chunk with the words before the last one, which ends the picture."""
    body = KIND + KEY + json.dumps(says).encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return picture[:-12] + chunk + picture[-12:]


def _words(picture: bytes) -> dict[str, str]:
    """Read the words of a picture back, chunk by chunk."""
    at = 8
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        if picture[at + 4 : at + 8] == KIND and picture[at + 8 :].startswith(KEY):
            found: dict[str, str] = json.loads(picture[at + 8 + len(KEY) : at + 8 + size])
            return found
        at += size + 12
    pytest.fail("the picture does not say what it shows")
