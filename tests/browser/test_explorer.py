"""The explorer of a server in a real browser: who is let in, what is asked, what data cannot do."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from constat.check import check_certificate
from tests.browser.finding import AXE, HOW
from tests.report.certificates import PAYLOADS
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.pages import Pages, Watched

access = pytest.importorskip("constat.service")
pytest.importorskip("constat.server", reason="the extra `server` is not installed")

_STRANGE = " ".join(PAYLOADS)
_LOOKS = [(1200, "light"), (1200, "dark"), (380, "light"), (380, "dark")]


@contextmanager
def served(project: Path, *more: str) -> Iterator[str]:
    """Serve a project by the command; gives the address of the explorer."""
    port = free_port()
    command = [sys.executable, "-m", "constat", "serve", "--port", str(port), *more]
    process = subprocess.Popen(
        [*command, "--project", str(project)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        assert "serving" in process.stderr.readline()
        yield f"http://127.0.0.1:{port}/explore"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.fixture(scope="module")
def open_shop(still_shop: Path) -> Iterator[str]:
    """Give the explorer of the shop, on loopback and without tokens."""
    with served(still_shop) as address:
        yield address


def goal_of(page: Page) -> Any:  # noqa: ANN401  a locator
    return page.get_by_role("combobox", name="A goal")


def prove(watched: Watched, goal: str) -> str:
    """Ask for a proof by the keyboard alone; gives what its own check says."""
    goal_of(watched.page).fill(goal)
    watched.page.keyboard.press("Enter")
    watched.page.locator("#question").wait_for()
    return watched.verified()


def own(watched: Watched) -> set[str]:
    """Give the hosts that a page asked."""
    return {one.split("/")[2] for one in watched.requests if not one.startswith("blob:")}


# ---------------------------------------------------------------------- who is let in


def test_a_token_lets_in_and_stands_in_no_address(
    pages: Pages, still_shop: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.txt"
    token = access.new_token(tokens, "alice", "viewer")
    with served(still_shop, "--tokens", str(tokens)) as address:
        watched = pages.visit(address)
        page = watched.page
        page.get_by_label("Token").fill("of-nobody")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("nobody has this token").wait_for()
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        assert "verified in this page: PROVED" in prove(watched, "is_vip(C001)")
        assert page.inner_text("#x-caller") == "alice, viewer"
        assert not any(token in one for one in [page.url, *watched.requests])
        page.reload()
        goal_of(page).wait_for()
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Token").wait_for()
        assert page.evaluate("sessionStorage.length + localStorage.length") == 0
        assert page.context.cookies() == []


# ---------------------------------------------------------------------- what is asked


def test_a_goal_is_completed_proved_and_verified_by_keyboard(pages: Pages, open_shop: str) -> None:
    watched = pages.visit(open_shop)
    page = watched.page
    goal_of(page).press_sequentially("vip")
    page.get_by_role("option", name="is_vip").wait_for()
    options = page.get_by_role("option").all_inner_texts()
    assert options[0].startswith("vip_threshold(amount: Decimal)")
    assert "{customer} is a VIP" in "".join(options)
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.locator("[aria-selected=true]").inner_text().startswith("is_vip")
    page.keyboard.press("Enter")
    page.keyboard.type("C001")
    assert goal_of(page).input_value() == "is_vip(C001)"
    assert "verified in this page: PROVED" in prove(watched, "is_vip(C001)")
    assert page.evaluate("document.activeElement.id") == "question"
    watched.unfold_audit()
    text = page.inner_text("#x-view")
    for said in (
        "Is it true that C001 is a VIP?",
        "Revenue ($150,000) exceeds the VIP threshold",
        "SELECT id FROM customers",
        "sales (database)",
        "Picture",
    ):
        assert said in text
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the certificate").click()
    assert check_certificate(waiting.value.path().read_bytes()).verdict == "PROVED"
    # One report after the other: what listened for the first one is gone.
    assert "verified in this page: DISPROVED" in prove(watched, "is_vip(C002)")
    assert (watched.told, own(watched)) == ([], {open_shop.split("/")[2]})


def test_a_mistake_is_told_with_code_place_why_and_edit(pages: Pages, open_shop: str) -> None:
    page = pages.visit(open_shop).page
    goal_of(page).fill("is_vp(C001)")
    page.keyboard.press("Enter")
    told = page.locator(".mistakes")
    told.wait_for()
    assert told.locator("pre").inner_text() == "is_vp(C001)\n^^^^^ "
    text = told.inner_text()
    for said in ("C0181 there is no predicate", "at <goal>, line 1, column 1", "Why: ", "is_vip"):
        assert said in text


def test_many_answers_come_page_by_page_and_each_has_a_proof(pages: Pages, tmp_path: Path) -> None:
    rules = "".join(f"n({number}).\n" for number in range(250))
    (tmp_path / "rules.dl").write_text(f".decl n(x: number)\n{rules}")
    (tmp_path / "constat.yaml").write_text("project: many\nrules: [rules.dl]\n")
    with served(tmp_path) as address:
        watched = pages.visit(address)
        page = watched.page
        goal_of(page).fill("n(?x)")
        page.get_by_role("button", name="All answers").click()
        page.get_by_text("100 of 250 answers").wait_for()
        for shown in ("200 of 250 answers", "250 of 250 answers"):
            page.get_by_role("button", name="More rows").click()
            page.get_by_text(shown).wait_for()
        assert page.get_by_role("button", name="More rows").count() == 0
        page.get_by_role("button", name="Why? n(249)").click()
        assert "PROVED" in watched.verified()


# ---------------------------------------------------------------------- what data cannot do


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Return a project whose database holds what would run, if it were taken for markup."""
    with sqlite3.connect(tmp_path / "words.sqlite") as database:
        database.execute("CREATE TABLE word (word TEXT)")
        database.execute("INSERT INTO word VALUES (?)", (_STRANGE,))
    database.close()
    (tmp_path / "rules.dl").write_text(
        '@[says = "the word {word} is there"]\n.decl word(word: symbol)\n'
        '.input word(source = "words", query = "SELECT word FROM word")\n'
        f'@[says = "{_PLAIN}"]\n.decl said(word: symbol)\n'
        '@[id = S1]\n@[says = "{w} is said"]\nsaid(?w) :- word(?w).\n'
    )
    databases = "databases: {words: {uri: 'sqlite:///words.sqlite'}}\n"
    (tmp_path / "constat.yaml").write_text(f"project: strange\nrules: [rules.dl]\n{databases}")
    return tmp_path


_PLAIN = "<img src=x onerror=globalThis.struck=20> {word}"


def test_values_and_words_are_texts_and_nothing_else(pages: Pages, strange: Path) -> None:
    with served(strange) as address:
        watched = pages.visit(address)
        page = watched.page
        goal_of(page).press_sequentially("sai")
        page.get_by_role("option", name="said").wait_for()
        goal_of(page).fill("said(?w)")
        page.get_by_role("button", name="All answers").click()
        page.get_by_role("region", name="Answers").wait_for()
        assert "<script>globalThis.struck=1</script>" in page.inner_text("td")
        page.get_by_role("button", name="Why?").click()
        assert "PROVED" in watched.verified()
        assert page.evaluate("globalThis.struck") is None
        assert own(watched) == {address.split("/")[2]}
        strangers = "#x-view :is(img, iframe, object, base, link, meta, style, form form)"
        assert page.locator(strangers).count() == 0
        assert watched.told == []


_STRIKES = {
    "inline": "(() => { const one = document.createElement('script');"
    " one.textContent = 'globalThis.struck = 1'; document.body.append(one); })()",
    "markup": "document.body.innerHTML = '<img src=x onerror=\"globalThis.struck = 1\">'",
    "policy": "trustedTypes.createPolicy('another', {createHTML: text => text})",
    "text": "setTimeout('globalThis.struck = 1', 0)",
    "elsewhere": "fetch('http://localhost:9/').then(() => { globalThis.struck = 1; })",
}


@pytest.mark.parametrize("strike", _STRIKES)
def test_the_policy_of_the_page_stops_what_gets_in(
    pages: Pages, open_shop: str, strike: str
) -> None:
    watched = pages.visit(open_shop)
    goal_of(watched.page).wait_for()
    told = watched.page.evaluate(
        f"async () => {{ try {{ await ({_STRIKES[strike]}); }}"
        " catch (problem) { return String(problem); } }"
    )
    watched.page.wait_for_timeout(100)
    assert watched.page.evaluate("globalThis.struck") is None
    assert told or any("Content Security Policy" in one for one in watched.told)


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(("width", "scheme"), _LOOKS)
def test_it_can_be_used_by_everybody_at_any_width(
    pages: Pages, open_shop: str, width: int, scheme: str
) -> None:
    if not AXE.is_file():
        pytest.skip(f"axe-core was not found: {HOW}")
    size: Any = {"width": width, "height": 900}
    watched = pages.visit(open_shop, axe=True, viewport=size, color_scheme=scheme)
    page = watched.page
    goal_of(page).press_sequentially("v")
    page.get_by_role("option").first.wait_for()
    found = [watched.violations()]
    prove(watched, "is_vip(C001)")
    found.append(watched.violations())
    goal_of(page).fill("is_vp(C001)")
    page.keyboard.press("Enter")
    page.locator(".mistakes").wait_for()
    found.append(watched.violations())
    goal_of(page).fill("is_vip(?c)")
    page.get_by_role("button", name="All answers").click()
    page.get_by_role("region", name="Answers").wait_for()
    found.append(watched.violations())
    assert found == [[], [], [], []]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_stands_the_report_alone(pages: Pages, open_shop: str) -> None:
    watched = pages.visit(open_shop)
    prove(watched, "is_vip(C001)")
    watched.page.emulate_media(media="print")
    assert not goal_of(watched.page).is_visible()
    assert watched.page.locator("#question").is_visible()


# ---------------------------------------------------------------------- other worlds and views


def test_a_value_is_turned_and_what_would_change_is_shown(pages: Pages, open_shop: str) -> None:
    watched = pages.visit(open_shop, axe=AXE.is_file())
    page = watched.page
    goal_of(page).fill("is_vip(C002)")
    page.get_by_role("button", name="Why not?").click()
    page.get_by_text("distance: 0").wait_for()
    page.get_by_text("What if", exact=False).first.click()
    slider = page.get_by_label("vip_threshold, by a slider")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("heading", name="What would change").wait_for()
    assert "PROVED UNDER" in page.inner_text("#x-view")
    assert "vip_threshold(0)" in page.inner_text("#x-view")
    assert "verified in this page" in watched.verified()
    if AXE.is_file():
        assert watched.violations() == []


def test_a_draft_is_reviewed_and_approved_by_who_may(
    pages: Pages, shop: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens.txt"
    shown = {role: access.new_token(tokens, role, role) for role in ("analyst", "approver")}
    with served(shop, "--tokens", str(tokens)) as address:
        for role, token in shown.items():
            watched = pages.visit(
                address, axe=AXE.is_file(), viewport={"width": 380, "height": 900}
            )
            page = watched.page
            page.get_by_label("Token").fill(token)
            page.keyboard.press("Enter")
            for view in ("Rules", "Catalog", "Drafts"):
                page.get_by_role("button", name=view, exact=True).click()
                if view == "Catalog":
                    page.get_by_role("button", name="Describe").click()
                    page.get_by_text("sales.orders").wait_for()
                if AXE.is_file():
                    page.get_by_role("heading", level=2).first.wait_for()
                    assert watched.violations() == []
            page.get_by_role("button", name="Review DRAFT1").click()
            page.get_by_text("What it changes at present").wait_for()
            assert "may_leave" in page.get_by_role("region", name="Effects").inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= 380
            # Nothing of the table lies beyond its edge, and no word is one letter wide.
            effects = page.get_by_role("region", name="Effects")
            assert effects.evaluate("one => one.scrollWidth <= one.clientWidth")
            assert "It requires that the customer has the gold tier" in page.inner_text("#x-view")
            assert "It rests on customer_tier, customer" in page.inner_text("#x-view")
            may = page.get_by_role("button", name="Approve").count()
            assert may == (role == "approver")
            if not may:
                continue
            page.get_by_role("button", name="Approve").click()
            assert page.evaluate("document.activeElement.id") == "x-reason"
            page.keyboard.type("as the contract says")
            page.get_by_role("button", name="Approve").click()
            page.get_by_role("heading", name="DRAFT1: approved").wait_for()
