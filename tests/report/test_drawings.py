"""SVG, DOT, Mermaid and Markdown say what the certificate says, and data stays data."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from constat.diagnostics import ConstatError
from constat.proof.export.account import account_of
from constat.proof.export.document import isolated
from constat.proof.export.drawing import DARK, LIGHT, ROWS_DRAWN, drawing_of
from constat.proof.export.markdown import escaped, to_markdown
from constat.proof.export.pictures import svg_of, to_dot, to_mermaid, to_svg, wrapped
from constat.proof.report.page import to_html
from tests.proof.asking import VIP, Table, analysed, ask, certificate, vip_tables
from tests.report.certificates import PAYLOADS, VERDICTS, chain, good, hostile_everywhere, many, vip

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = " ".join(PAYLOADS)
SVG = "{http://www.w3.org/2000/svg}"
WRITERS = (to_svg, to_dot, to_mermaid, to_markdown)


@pytest.mark.parametrize("name", VERDICTS)
@pytest.mark.parametrize("write", WRITERS)
def test_equal_certificates_give_equal_text(write: Callable[[bytes], str], name: str) -> None:
    assert write(good()[name]) == write(good()[name])


# ---------------------------------------------------------------------- what is drawn


def test_every_step_and_source_is_a_box_and_every_premise_a_line() -> None:
    account = account_of(vip("is_vip(C1)"))
    drawing = drawing_of(account)
    assert len(drawing.figures) == len(account.steps) + len(account.document.sources)
    premises = sum(len(step.premises) + len(step.sources) for step in account.steps)
    assert len(drawing.edges) == premises
    assert [figure.text for figure in drawing.figures if figure.root] == ["C1 is vip"]


@pytest.mark.parametrize("name", VERDICTS)
def test_a_box_says_how_well_completeness_is_founded(name: str) -> None:
    account = account_of(good()[name])
    figures = {figure.name: figure for figure in drawing_of(account).figures}
    levels = {step.name: step.level for step in account.steps}
    assert any(levels.values()) == (name != "unresolved")
    for step, level in levels.items():
        if step in figures:
            assert re.findall(r"\(C[0-4]\)", figures[step].label) == [f"({level})"] * bool(level)


def test_rows_beyond_the_first_are_counted_in_a_box() -> None:
    drawing = drawing_of(account_of(many(1, orders=40)))
    assert sum("order line" in figure.text for figure in drawing.figures) == ROWS_DRAWN + 1
    assert "and 35 more rows" in [figure.text for figure in drawing.figures]


def test_an_undecided_goal_leads_to_what_is_missing() -> None:
    drawing = drawing_of(account_of(good()["unresolved"]))
    assert [figure.kind for figure in drawing.figures[:2]] == ["question", "missing"]
    assert (0, 1) in drawing.edges


def test_assumptions_are_marked_in_words() -> None:
    drawn = to_svg(good()["under"])
    assert "given · assumed" in drawn
    assert "a person&#x27;s word · assumed" in drawn
    assert "assumed" not in to_svg(good()["proved"]).partition("</style>")[2]


# ---------------------------------------------------------------------- SVG


def test_a_drawing_has_a_title_a_description_and_text_that_is_text() -> None:
    root = ET.fromstring(to_svg(good()["proved"]))  # noqa: S314  our own text
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == "PROVED: Is it true that C1 is vip?"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    texts = {"".join(one.itertext()) for one in root.iter(f"{SVG}text")}
    assert {"C1 is vip", "1 · rule 1 of vip"} <= texts


@pytest.mark.parametrize("long", [False, True])
def test_what_a_box_has_no_room_for_is_its_title(*, long: bool) -> None:
    drawing = drawing_of(account_of(hostile_everywhere(ALL) if long else good()["proved"]))
    root = ET.fromstring(svg_of(drawing))  # noqa: S314  our own text
    boxes = [one for one in root.iter(f"{SVG}g") if one.get("transform")]
    assert len(boxes) == len(drawing.figures)
    cut = 0
    for figure, box in zip(drawing.figures, boxes, strict=True):
        shown = " ".join("".join(one.itertext()) for one in box.findall(f"{SVG}text")[1:])
        title = box.findtext(f"{SVG}title")
        assert (title is not None) == shown.endswith("…")
        assert title is None or title.endswith(isolated(figure.text))
        cut += title is not None
    assert cut == (len(boxes) if long else 0)


def test_kinds_differ_in_shape() -> None:
    root = ET.fromstring(to_svg(vip("is_vip(C1)")))  # noqa: S314  our own text
    defs = root.find(f"{SVG}defs")
    assert defs is not None
    shapes = [one.get("d") or one.get("rx") for one in defs if one.get("id", "").startswith("b-")]
    assert len(shapes) == 5
    assert len(set(shapes)) == 5


def test_a_drawing_is_well_formed_and_refers_to_nothing_outside() -> None:
    root = ET.fromstring(to_svg(hostile_everywhere(ALL)))  # noqa: S314  that is the question
    names = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert names - {"svg", "title", "desc", "style", "defs", "marker"} == {
        "rect",
        "path",
        "g",
        "use",
        "text",
    }
    for one in root.iter():
        assert not any(name.startswith("on") for name in one.attrib)
        assert one.get("href", "#").startswith("#")
    assert "url(https" not in "".join(one.text or "" for one in root.iter(f"{SVG}style"))


def test_text_is_broken_at_blanks_and_ends_in_an_ellipsis() -> None:
    assert wrapped("a short text", 200) == ["a short text"]
    lines = wrapped("many words that take more than one line of a box", 120)
    assert len(lines) == 2
    assert all(not line.startswith(" ") for line in lines)
    assert lines[-1].endswith("…")
    assert wrapped("x" * 400, 120)[0] == "x" * len(wrapped("x" * 400, 120)[0])
    assert wrapped("", 100) == [""]


@pytest.mark.parametrize("write", [to_svg, to_mermaid])
def test_a_picture_nobody_could_read_is_refused(write: Callable[[bytes], str]) -> None:
    large = chain(130)
    with pytest.raises(ConstatError) as caught:
        write(large)
    assert [one.code for one in caught.value.diagnostics] == ["C0780"]
    assert to_dot(large).count("->") > 250


def test_colours_of_text_have_contrast_on_their_ground() -> None:
    for colours in (LIGHT, DARK):
        for name in ("good", "warn", "bad", "open", "rule", "fact", "absence", "aggregate"):
            assert contrast(colours[name], colours[f"{name}-ground"]) >= 4.5
        for name in ("ink", "quiet", "link"):
            assert contrast(colours[name], colours["paper"]) >= 4.5
            assert contrast(colours[name], colours["sheet"]) >= 4.5
        for kind in ("rule", "absence", "aggregate", "source", "open", "warn"):
            assert contrast(colours["ink"], colours[f"{kind}-ground"]) >= 4.5


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


HEBREW = "\u05d0\u05d1\u05d2"


def test_words_of_right_to_left_scripts_are_set_apart() -> None:
    content = certificate(
        ask(analysed(VIP), f'is_vip("{HEBREW}")', vip_tables(tier=Table(((HEBREW, "gold"),))))
    )
    for written in (to_svg(content), to_markdown(content), to_html(content)):
        # The certificate itself is shown as it is, in ASCII.
        assert HEBREW in written
        assert written.count(HEBREW) == written.count(f"\u2068{HEBREW}\u2069")
    assert isolated("plain 12") == "plain 12"
    assert isolated(f"{HEBREW} {HEBREW}, 51") == f"\u2068{HEBREW} {HEBREW}\u2069, 51"


# ---------------------------------------------------------------------- DOT and Mermaid


def test_dot_keeps_data_within_its_quotes() -> None:
    lines = to_dot(hostile_everywhere(ALL)).splitlines()
    assert lines[0] == "digraph proof {"
    assert lines[-1] == "}"
    for line in lines[1:-1]:
        outside = re.sub(r'"(\\.|[^"\\])*"', "Q", line)
        assert re.fullmatch(r"[\w\s=;,\[\]>-]*", outside), outside
        assert line.isprintable()


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_mermaid_keeps_data_within_its_labels(payload: str) -> None:
    lines = to_mermaid(hostile_everywhere(payload)).splitlines()
    assert lines[0] == "flowchart LR"
    for line in lines[1:]:
        label = re.fullmatch(r'  n\d+[\[({/>]+"(.*)"[\])}/\\]+', line)
        if label:
            assert re.fullmatch(r"[\w .,'$+\-/=()#;]*", label[1]), line
        else:
            assert re.fullmatch(r"  (n\d+ --> n\d+|classDef .*|class [n\d,]+ \w+)", line), line


# ---------------------------------------------------------------------- Markdown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
        ("[x](y)", r"\[x\](y)"),
        ("<b>&amp;", "&#60;b&#62;&#38;amp;"),
        ("@all #1", "&#64;all &#35;1"),
        ("https://evil.example www.evil.example", "https&#58;//evil.example www&#46;evil.example"),
        ("0.9 of it", "0.9 of it"),
        ("- item", "&#45; item"),
        ("12. item", "&#49;2. item"),
        ("   code", "&#32;  code"),
        ("a\nb", r"a\\nb"),
        ("\u202eb", r"\\u\{202e\}b"),
    ],
)
def test_data_is_text_in_markdown(data: str, shown: str) -> None:
    assert escaped(data) == shown


def test_markdown_says_what_the_first_screen_says_and_numbers_the_steps() -> None:
    text = to_markdown(good()["proved"])
    assert text.startswith("# C1 is vip.\n\n**PROVED**. Question: Is it true that C1 is vip?\n")
    order = [
        "- Goal",
        "- Assumptions: none",
        "## By whose rule",
        ": **nobody approved this rule**",
        "## Rests on",
        "## Steps",
        "## Rules",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "revenue of C1 is 150,060, more than the threshold 100,000" in text
    steps = text[text.index("## Steps") : text.index("## Rules")]
    numbers = re.findall(r"^(\d+)\. ", steps, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


def test_a_rule_that_may_still_give_a_row_is_drawn_as_open() -> None:
    drawn = to_dot(good()["unresolved"])
    assert "rule 1 of vip, not met" in drawn
    assert "rule 2 of vip, open" in drawn
    assert "rule 2 of vip, not met" not in drawn


def test_markdown_lists_what_is_assumed_and_what_is_missing() -> None:
    assert "alice says tier(C3, gold) (confidence 0.9)" in to_markdown(good()["under"])
    missing = (
        "## Missing\n\n- Whether \u2018tier\u2019 holds for c C2 and t gold (`tier(C2, gold)`)"
    )
    assert missing in to_markdown(good()["unresolved"])
    failed = to_markdown(good()["disproved"])
    assert " does not give it: " in failed
    assert "where more than 100,000 is needed" in failed
    assert "?total" not in failed.partition("## Rules")[0]
    # What is certain is not said, and what is not is explained.
    assert "certain" not in to_markdown(good()["proved"])
    assert "- How certain: at least 0.9, where 1 is certain" in to_markdown(good()["under"])


def test_markdown_lists_the_changes_that_were_tried_and_says_that_nothing_proves_them() -> None:
    members = json.loads(good()["disproved"])
    assert "What would change it" not in to_markdown(good()["disproved"])
    text = "amount 200000 in place of 5 in *order_line*"
    members["record"]["changes"] = [{"text": text, "certificate": None}]
    told = to_markdown(json.dumps(members).encode())
    said = told.partition("## What would change it\n\n")[2].partition("\n\n##")[0]
    assert said.startswith("With this change the answer would have been yes.")
    assert "not proved by this certificate" in said
    assert said.endswith("- Amount 200000 in place of 5 in \\*order\\_line\\*.")


def test_markdown_of_hostile_data_has_no_line_of_its_own() -> None:
    text = to_markdown(hostile_everywhere(ALL))
    for line in text.splitlines():
        assert line.isprintable()
    before, _, _ = text.partition("## Rules")
    outside = re.sub(r"(`+).*?\1", "", before)
    assert "<" not in outside
    assert "://" not in outside
