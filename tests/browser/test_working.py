"""The explorer's views of longer work in a real browser: everybody, words, rules, history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.finding import AXE
from tests.browser.test_explorer import goal_of, prove, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page, Route

    from tests.browser.pages import Pages, Watched

pytest.importorskip("constat.server", reason="the extra `server` is not installed")

_LOOKS = [(1200, "light"), (380, "dark"), (380, "light"), (1200, "dark")]
RULES = """
.decl person(id: symbol, age: number)
person("Ada", 70). person("Bob", 20). person("Cy", 66). person("<b>Dora</b>", 12).
@[says = "{id} is old"]
.decl old(id: symbol)
@[id = OLD]
old(?p) :- person(?p, ?age), ?age > 65.
"""


@pytest.fixture
def people(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Give a project in which some are old, and the address of its explorer."""
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "rules.dl").write_text(RULES)
    (folder / "constat.yaml").write_text("rules: rules.dl\n")
    with served(folder) as address:
        yield folder, address


@pytest.fixture(params=_LOOKS, ids=lambda one: f"{one[0]}-{one[1]}")
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    width, scheme = request.param
    return {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}


def seen(watched: Watched) -> None:
    """Hold a view against what is asked of each: no violation, nothing beyond the width."""
    if AXE.is_file():
        assert watched.violations() == []
    width = watched.page.evaluate("document.documentElement.clientWidth")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.told == []


def view(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_everybody_is_listed_and_filtered(
    pages: Pages, people: tuple[Path, str], look: dict[str, Any]
) -> None:
    watched = pages.visit(people[1], axe=AXE.is_file(), **look)
    page = watched.page
    view(page, "Everybody")
    page.get_by_role("combobox", name="A goal with variables").fill("old(?p)")
    page.get_by_role("combobox", name="Among whom").fill("person(?p, _)")
    page.keyboard.press("Enter")
    table = page.get_by_role("region", name="Everybody")
    page.get_by_text("4 shown, of 4 read and 4 in all").wait_for()
    assert "<b>Dora</b>" in table.inner_text()
    # Each filter by the keyboard, and what is left is told as it changes.
    page.get_by_label("Verdict", exact=True).focus()
    page.keyboard.type("DIS")
    told = page.get_by_role("status").get_by_text("shown")
    told.get_by_text("2 shown").wait_for()
    assert "Ada" not in table.inner_text()
    page.keyboard.press("Home")
    told.get_by_text("4 shown").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.type("rule OLD s")
    told.get_by_text("2 shown").wait_for()
    because = page.get_by_label("Because of", exact=True)
    assert because.locator("option").all_inner_texts() == [
        *("all reasons", "rule OLD stops at ?age > 65 (2)", "rule OLD (2)")
    ]
    assert because.input_value() == "rule OLD stops at ?age > 65"
    page.keyboard.press("Tab")
    page.keyboard.type("bo")
    told.get_by_text("1 shown").wait_for()
    assert "rule OLD stops at ?age > 65" in table.inner_text()
    seen(watched)
    page.get_by_role("button", name="Why? old(Bob)").click()
    assert "DISPROVED" in watched.verified()


def test_rules_are_checked_while_they_are_written_and_handed_in(
    pages: Pages, people: tuple[Path, str], look: dict[str, Any]
) -> None:
    watched = pages.visit(people[1], axe=AXE.is_file(), **look)
    page = watched.page
    view(page, "Write rules")
    rules = page.get_by_label("Rules", exact=True)
    rules.fill(".decl young(id: symbol)\nyoung(?p) :- prson(?p, ?age), ?age < 30.")
    told = page.locator("#x-wrong")
    told.get_by_text("prson").first.wait_for()
    assert "Edit:" in told.inner_text()
    assert rules.get_attribute("aria-invalid") == "true"
    seen(watched)
    rules.fill(".decl young(id: symbol)\nyoung(?p) :- person(?p, ?age), ?age < 30.")
    told.get_by_text("No mistake; held against young(?v0)").wait_for()
    assert rules.get_attribute("aria-invalid") == "false"
    page.get_by_label("A goal that they are for").fill("young(Bob)")
    page.get_by_label("What they are for, in words").fill("who is young, Bob for one")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=re.compile("^Draft [0-9a-f]+: proposed")).wait_for()
    view(page, "Drafts")
    page.get_by_role("button", name=re.compile(r"^Review ")).wait_for()


def test_a_proof_is_compared_with_what_is_true_later(
    pages: Pages, people: tuple[Path, str], look: dict[str, Any]
) -> None:
    folder, address = people
    watched = pages.visit(address, axe=AXE.is_file(), **look)
    page = watched.page
    prove(watched, "old(Cy)")
    view(page, "History")
    page.get_by_role("button", name="Compare with now: old(Cy)").click()
    page.get_by_text("Nothing but when and where they were made.").wait_for()
    (folder / "rules.dl").write_text(RULES.replace("> 65", "> 69"))
    page.get_by_role("button", name="Compare with now: old(Cy)").click()
    differences = page.get_by_role("region", name="Differences")
    differences.wait_for()
    assert "verdict" in differences.inner_text()
    seen(watched)
    view(page, "Ask")
    prove(watched, "old(Cy)")
    view(page, "History")
    page.get_by_role("button", name="With the one before: old(Cy)").click()
    differences.wait_for()


def test_a_question_is_solved_and_its_progress_told(
    pages: Pages, shop: Path, look: dict[str, Any]
) -> None:
    """The tape of the example holds replies that people wrote, so no model is asked."""
    with served(shop) as address:
        watched = pages.visit(address, axe=AXE.is_file(), **look)
        page = watched.page
        view(page, "In words")
        page.get_by_label("A question in words").fill("Is customer C001 a VIP?")
        page.evaluate(
            """() => new MutationObserver(() => {
                const log = document.querySelector("[role=log]");
                if (log) globalThis.toldMeanwhile = log.innerText;
            }).observe(document.body, {subtree: true, childList: true})"""
        )
        page.get_by_role("button", name="As one goal").click()
        page.get_by_text("nobody has confirmed").wait_for()
        assert "is_vip(C001)" in page.inner_text("#x-view")
        assert "call 1" in page.evaluate("globalThis.toldMeanwhile")
        seen(watched)

        def as_of_then(route: Route) -> None:
            # The reply on the tape was written for this day.
            sent = route.request.post_data or ""
            then = sent.replace(
                "question: $question", 'question: $question, today: \\"2025-11-21\\"'
            )
            route.continue_(post_data=then)

        page.route("**/graphql", as_of_then)
        question = "What are the top 5 customers by revenue this quarter?"
        page.get_by_label("A question in words").fill(question)
        page.get_by_label("A question in words").press("Tab")
        page.keyboard.press("Enter")
        answer = page.get_by_role("region", name="Answer", exact=True)
        answer.wait_for()
        assert "C175" in answer.inner_text()
        told = page.evaluate("globalThis.toldMeanwhile")
        assert "a plan of" in told
        assert "step 1" in told
        assert "C175" not in told
        seen(watched)
        page.unroute("**/graphql")
        page.get_by_label("A question in words").fill("What is nowhere on the tape?")
        page.get_by_role("button", name="Solve step by step").click()
        page.get_by_role("alert").wait_for()
        seen(watched)


def test_every_view_is_reached_by_the_keyboard(pages: Pages, people: tuple[Path, str]) -> None:
    watched = pages.visit(people[1])
    page = watched.page
    goal_of(page).wait_for()
    reached: set[str] = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent"))
    names = page.locator("#x-views button").all_inner_texts()
    assert names == [
        *("Ask", "In words", "Everybody", "Rules", "Catalog", "Write rules", "Drafts", "History")
    ]
    assert set(names) <= reached
