"""Reports in a real browser: they verify themselves, fetch nothing, run no data, and are usable."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.proof.report.page import to_html
from constat.session.options import PopulationOptions
from tests.browser.finding import AXE, HOW
from tests.proof.asking import Table, analysed, ask, certificate
from tests.report.certificates import (
    PAYLOADS,
    VERDICTS,
    chain,
    deep,
    good,
    hostile_everywhere,
    hostile_values,
    many,
    structures,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import Pages, Watched

_SLOW = pytest.mark.slow
_FURTHER = ("under", "disproved", "answers", "structures_disproved")


@cache
def certificates() -> dict[str, bytes]:
    refuted = structures("DISPROVED")
    more = {"structures": structures(), "structures_disproved": refuted}
    return {**good(), "hostile": hostile_values(), **more}


@cache
def report(name: str) -> str:
    return to_html(certificates()[name])


def altered(content: bytes) -> bytes:
    """Change a value in the middle of a certificate."""
    return content.replace(b"150000", b"150001", 1)


# ---------------------------------------------------------------------- verification


@pytest.mark.parametrize(
    "name",
    [
        *("proved", "disproved_under", "unresolved", "hostile", "structures"),
        *(pytest.param(name, marks=_SLOW) for name in _FURTHER),
    ],
)
def test_a_report_verifies_itself_and_fetches_nothing(pages: Pages, name: str) -> None:
    watched = pages.open(report(name))
    verdict = json.loads(certificates()[name])["header"]["verdict"].replace("_", " ")
    assert f"verified in this page: {verdict}" in watched.verified()
    assert watched.left() == []
    assert watched.told == []
    marks = watched.page.locator(".tree .m, #audit .m").all_text_contents()
    assert set(marks) <= {"✓ checked", "✓ as recorded", "▲ assumed"}
    assert ("▲ assumed" in marks) == name.endswith("under")


@pytest.mark.parametrize("name", ["proved", "structures"])
def test_an_altered_certificate_is_rejected_in_the_page(pages: Pages, name: str) -> None:
    watched = pages.open(to_html(altered(certificates()[name])))
    said = watched.verified()
    assert "REJECTED" in said
    assert "Do not rely on this page" in said
    assert "✓" not in "".join(watched.page.locator(".tree .m").all_text_contents())


@_SLOW
def test_a_large_certificate_is_verified_when_somebody_asks(pages: Pages) -> None:
    page = pages.open(to_html(deep(12_000))).page
    assert "not verified here" in page.inner_text("#state")
    page.click("#state button")
    page.locator("#state", has_text="REJECTED").wait_for(timeout=120_000)


def test_without_a_checker_a_report_says_that_it_is_not_verified(pages: Pages) -> None:
    html = report("proved")
    begin = html.index("<script>")
    end = html.index("<script>", begin + 1)
    said = pages.open(html[:begin] + html[end:]).verified()
    assert "not verified here" in said
    assert "constat verify FILE" in said


def test_a_script_that_is_not_ours_does_not_run(pages: Pages) -> None:
    html = report("proved").replace("</main>", "</main><script>globalThis.struck = 1</script>")
    watched = pages.open(html)
    assert watched.page.evaluate("globalThis.struck") is None
    assert any("Content Security Policy" in one for one in watched.told)


def test_the_saved_certificate_is_the_certificate(pages: Pages) -> None:
    watched = pages.open(report("hostile"))
    with watched.page.expect_download() as waiting:
        watched.page.click("#save")
    assert waiting.value.path().read_bytes() == certificates()["hostile"]
    assert waiting.value.suggested_filename == "certificate.json"


# ---------------------------------------------------------------------- hostile data


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(" ".join(PAYLOADS), id="all"),
        *(pytest.param(one, id=str(at), marks=_SLOW) for at, one in enumerate(PAYLOADS)),
    ],
)
def test_data_never_becomes_markup_or_script(pages: Pages, payload: str) -> None:
    watched = pages.open(to_html(hostile_everywhere(payload)))
    watched.verified()
    assert watched.page.evaluate("globalThis.struck") is None
    assert watched.left() == []
    assert watched.told == []
    strange = "script:not([src]), img, iframe, object, embed, base, link, form, input"
    assert watched.page.locator(strange).count() == 2
    assert watched.page.locator("meta[http-equiv=refresh], style").count() == 1
    hidden = "[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u2028\u2029\ufeff\x01\x1b\x85]"
    seen = "t => new RegExp(t).test(document.body.innerText) || new RegExp(t).test(document.title)"
    assert watched.page.evaluate(seen, hidden) is False


_PLACES = """name => {
  const cell = Array.from(document.querySelectorAll('#audit td'))
    .map(one => one.firstChild).find(one => one && (one.data || '').includes(name));
  const at = word => {
    const range = document.createRange(), start = cell.data.indexOf(word);
    range.setStart(cell, start); range.setEnd(cell, start + word.length);
    return range.getBoundingClientRect().left;
  };
  return [at('tier'), at(name), at('777')];
}"""


@_SLOW
def test_a_figure_behind_a_hebrew_name_is_shown_behind_it(pages: Pages) -> None:
    name = "\u05d0\u05d1\u05d2"
    rules = analysed('.decl tier(a: symbol, n: number)\n.input tier(source = "s", query = "q")\n')
    content = certificate(ask(rules, "tier(?a, ?n)", {"tier": Table(((name, 777),))}))
    places = pages.open(to_html(content)).page.evaluate(_PLACES, name)
    assert places == sorted(places)


# ---------------------------------------------------------------------- reading


def seen(watched: Watched) -> str:
    return watched.page.inner_text("body")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_report_reads_with_scripts_and_without(pages: Pages, *, scripts: bool) -> None:
    watched = pages.open(report("proved"), scripts=scripts)
    assert "SELECT * FROM order_line" not in seen(watched)
    watched.unfold_audit()
    text = seen(watched)
    for said in (
        "Is it true that C1 is vip?",
        "PROVED",
        "Nobody approved this rule.",
        "sales (database)",
        "revenue of C1 is 150,060, more than the threshold 100,000.",
        "SELECT * FROM order_line",
        "No step rests on anybody's word",
        ":- revenue(?c, ?total), threshold(?x), ?total > ?x, !blocked(?c).",
    ):
        assert said in text
    assert watched.page.locator("#theme").is_visible() is scripts


@pytest.mark.parametrize("shape", ["chain", "shared"])
def test_what_is_folded_is_counted(pages: Pages, shape: str) -> None:
    content = chain(9) if shape == "chain" else many(3)
    page = pages.open(to_html(content), scripts=False).page
    hidden = page.locator(".tree li[id]:not(:visible)").count()
    assert hidden > 0
    assert f"{hidden} of them folded" in page.inner_text("#counts")
    page = pages.open(to_html(content)).page
    before = page.inner_text("#counts")
    hidden = page.locator(".tree li[id]:not(:visible)").count()
    assert hidden > 0
    assert f"{hidden} of them folded" in before
    page.click("#unfold")
    page.locator("#counts", has_text=" 0 of them folded").wait_for()
    page.click("#fold")
    page.locator("#counts", has_not_text=" 0 of them folded").wait_for()
    shown = page.locator(".tree li[id]:visible").count()
    total = page.locator(".tree li[id]").count()
    assert f"{total} steps, {total - shown} of them folded." == page.inner_text("#counts")


def test_a_link_into_what_is_folded_unfolds_it(pages: Pages) -> None:
    watched = pages.open(to_html(chain(9)))
    page = watched.page
    page.click("#fold")
    watched.unfold_audit()
    last = page.locator("#audit tr[id^=a]").last
    last.locator("a").first.click()
    target = page.evaluate("location.hash.slice(1)")
    page.locator(f"#{target}").wait_for(state="visible")


def test_colours_follow_the_system_and_the_button(pages: Pages) -> None:
    page = pages.open(report("proved"), color_scheme="dark").page
    ground = "getComputedStyle(document.querySelector('.opening')).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert light != dark
    page.click("#theme")
    assert page.evaluate(ground) == dark
    assert page.inner_text("#theme") == "Colours: dark"


def test_print_shows_what_is_folded(pages: Pages) -> None:
    page = pages.open(to_html(chain(9))).page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".tree li[id]:not(:visible)").count() == 0
    assert page.locator("nav").is_visible() is False


def test_a_narrow_screen_needs_no_sideways_scrolling(pages: Pages) -> None:
    page = pages.open(report("hostile"), viewport={"width": 320, "height": 640}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_entry_of_a_decision_fits_a_narrow_screen(pages: Pages) -> None:
    members = json.loads(certificates()["proved"])
    members["header"] |= {"asked_by": "j.doe", "decision": f"entry 3, after sha256:{'5a' * 32}"}
    written = to_html(json.dumps(members).encode())
    page = pages.open(written, viewport={"width": 320, "height": 640}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_picture_fits_its_page_and_is_zoomed_and_dragged(pages: Pages) -> None:
    page = pages.open(to_html(many(1, orders=40)), viewport={"width": 700, "height": 900}).page
    wide = "document.querySelector('.drawing svg').getBoundingClientRect().width"
    room = page.evaluate("document.querySelector('.drawing').clientWidth")
    natural = page.evaluate("document.querySelector('.drawing svg').viewBox.baseVal.width")
    begun = page.evaluate(wide)
    assert begun == pytest.approx(max(min(room - 2, natural), natural / 2), abs=1)
    page.click("text=Larger")
    assert page.evaluate(wide) == pytest.approx(begun * 1.25, rel=0.01)
    page.focus(".drawing")
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("-")
    assert page.evaluate(wide) == pytest.approx(begun * 1.25**2, rel=0.01)
    assert page.inner_text(".zoom output") == f"{round(page.evaluate(wide) / natural * 100)} %"
    page.keyboard.press("0")
    assert page.evaluate(wide) <= room
    for _ in range(9):
        page.click("text=Larger")
    scrolled = "document.querySelector('.drawing').scrollLeft"
    page.evaluate(f"{scrolled} = 200")
    page.locator(".drawing").scroll_into_view_if_needed()
    box = page.locator(".drawing").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] - 20, box["y"] + 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 50, y)
    page.mouse.up()
    page.mouse.move(x - 90, y)
    assert page.evaluate(scrolled) == pytest.approx(250, abs=2)


# ---------------------------------------------------------------------- access


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("under", "dark"),
        *(
            pytest.param(name, scheme, marks=_SLOW)
            for name in (*VERDICTS, "hostile")
            for scheme in ("light", "dark")
        ),
    ],
)
def test_axe_finds_no_violation(pages: Pages, name: str, scheme: Any) -> None:  # noqa: ANN401  a literal
    if not AXE.is_file():
        pytest.skip(f"axe-core was not fetched: {HOW}")
    watched = pages.open(report(name), axe=True, color_scheme=scheme)
    watched.verified()
    assert watched.violations() == []


_FOCUSABLE = """() => Array.from(document.querySelectorAll(
  'a[href], button, summary, [tabindex="0"]')).filter(e => e.checkVisibility()).length"""
_FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  return {name: e.tagName, outline: parseFloat(style.outlineWidth), shown: style.outlineStyle,
          wide: box.width > 0 && box.height > 0, body: e === document.body,
          mark: (e.dataset.seen = (e.dataset.seen || '') + 'x')};
}"""


def test_the_keyboard_reaches_everything_and_shows_where_it_is(pages: Pages) -> None:
    watched = pages.open(report("unresolved"))
    watched.verified()
    page = watched.page
    wanted = page.evaluate(_FOCUSABLE)
    assert wanted > 10
    for _ in range(wanted):
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        assert focused["mark"] == "x", "the focus went round before it was everywhere"
        assert focused["body"] is False
        assert focused["shown"] != "none"
        assert focused["outline"] >= 2, focused
        assert focused["wide"]


# ------------------------------------------------------------------------ about everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_about_everybody_is_usable_and_runs_no_data(
    pages: Pages,
    tmp_path: Path,
    scheme: Any,  # noqa: ANN401  a literal
) -> None:
    names = ["anna", "<img src=x onerror=alert(1)>", "a" * 300, "</td><script>alert(2)</script>"]
    listed = "".join(f"n({json.dumps(name)}).\nm({json.dumps(name)}).\n" for name in names)
    (tmp_path / "rules.dl").write_text(
        '.pragma "constat" "0.1"\n.decl n(x: symbol)\n.decl m(x: symbol)\n.decl far(x: symbol)\n'
        'far(?x) :- n(?x), ?x != "anna".\n' + listed
    )
    (tmp_path / "constat.yaml").write_text("rules: [rules.dl]\n")
    with Session(tmp_path) as session:
        session.population("far(?x)", tmp_path / "out", PopulationOptions(4, among="m(?x)"))
    text = (tmp_path / "out" / "index.html").read_text()
    narrow = {"width": 360, "height": 640}
    watched = pages.open(text, axe=AXE.is_file(), color_scheme=scheme, viewport=narrow)
    assert watched.told == []
    assert watched.requests == [watched.address]
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert watched.page.locator("table").last.locator("tr").count() == 5
    if AXE.is_file():
        assert watched.violations() == []
