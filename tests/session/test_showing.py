"""What results look like in a program: short, escaped, readable without colour."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from constat import Answers, Result, Session

if TYPE_CHECKING:
    from pathlib import Path

MANY = ".decl p(x: number)\n" + "".join(f"p({n}).\n" for n in range(250))
HOSTILE = '.decl p(x: symbol)\np("<script>alert(1)</script>").\np("\x1b[31mred").\n'


class Outline(HTMLParser):
    """Collects texts and elements; each element that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_result_is_one_short_line(still_shop: Path) -> None:
    with Session(still_shop) as session:
        assert repr(session.prove("is_vip(C001)")) == "<PROVED: is_vip(C001), confidence 1>"
        under = session.prove("may_leave(C005)")
        missing = session.prove("is_strategic(C009)")
    assert repr(under).endswith("confidence 1, under 1 assumption>")
    assert repr(missing).startswith("<UNRESOLVED: is_strategic(C009), confidence 0, ")


def test_a_proof_is_folded_and_marked_as_checked(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    found = Outline(result._repr_html_())
    text = " ".join(" ".join(found.texts).split())
    assert found.elements.count("details") >= 4
    assert text.startswith("PROVED is_vip(C001)")
    assert "✓ certificate" in text
    assert "C001 placed order 2 of $60,000 on 2025-01-01" in text
    assert "rule VIP1" in text
    assert "script" not in found.elements
    assert "style" not in found.elements


def test_a_forged_certificate_is_called_rejected(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    vars(result)["certificate"] = result.certificate.replace(b"150000", b"160000")
    assert "✗ rejected by the checker" in result._repr_html_()
    assert "✓" not in result._repr_html_()


def test_what_does_not_hold_says_why(still_shop: Path) -> None:
    with Session(still_shop) as session:
        html = session.prove("is_vip(C002)")._repr_html_()
        why = session.why_not("is_vip(C002)")
        what = session.what_if("is_vip(C002)", settings={"vip_threshold": "5"})
        missing = session.missing_facts("is_vip(C002)", abducible={"placed_order": "1"})
    assert "stopped at: Customer revenue of C002 is 100,000, not more than the vip" in html
    assert "distance: 0" in " ".join(Outline(why._repr_html_()).texts)
    assert repr(why) == "<DISPROVED: is_vip(C002), confidence 1>"
    assert repr(what).startswith("<PROVED UNDER assumptions: is_vip(C002)")
    assert "DISPROVED without: " in repr(what)
    assert "without it: DISPROVED" in " ".join(Outline(what._repr_html_()).texts)
    assert "placed_order(C002" in repr(missing)
    assert "placed_order(C002" in " ".join(Outline(missing._repr_html_()).texts)


def test_many_answers_are_shown_by_the_first_ones() -> None:
    with Session(rules=MANY) as session:
        answers = session.query("p(?x)")
    shown = repr(answers).splitlines()
    assert shown[:3] == ["<250 rows of p(?x), 10 shown: SETTLED>", "x  verdict", "0  PROVED"]
    assert len(shown) == 12
    assert Outline(answers._repr_html_()).elements.count("tr") == 11
    assert repr(answers.rows[240:]).startswith("<10 rows of p(?x): SETTLED>")
    assert "240" in answers.rows[240:]._repr_html_()


def test_no_value_is_run_or_written_to_the_terminal_as_it_is() -> None:
    with Session(rules=HOSTILE) as session:
        answers = session.query("p(?x)")
        results = [session.prove(row.goals[0]) for row in answers]
    shown: list[Answers | Result] = [answers, *results]
    for one in shown:
        assert "<script" not in one._repr_html_()
        assert "\x1b" not in one._repr_html_() + repr(one)
        Outline(one._repr_html_())


def test_explaining_is_what_the_command_prints(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    assert result.explain().startswith("PROVED: is_vip(C001)\n\n")
    assert "placed_order" in result.explain()
    assert "placed_order" not in result.explain(depth=0)


def test_answers_become_frames() -> None:
    pl = pytest.importorskip("polars", reason="the extra `polars` is not installed")
    with Session(rules='.decl p(x: number, d: Date)\np(1, "2025-01-31").\n') as session:
        answers = session.query("p(?x, ?d)")
        frame, other = answers.to_pandas(), answers.to_polars()
        assert frame["x"].tolist() == other["x"].to_list() == [1]
        assert other.schema["d"] == pl.Date
        # What came out goes in again.
        again = {"q": other.drop("verdict"), "r": frame.astype({"d": "string"})}
        with Session(rules=".decl s(x: number)\ns(?x) :- q(?x, _).\n", facts=again) as second:
            assert [row["x"] for row in second.query("s(?x)")] == [1]


def test_a_frame_of_nothing_is_a_relation_without_rows() -> None:
    frame = pd.DataFrame({"x": pd.Series([], dtype="int64")})
    with Session(rules=".decl s(x: number)\ns(?x) :- q(?x).\n", facts={"q": frame}) as session:
        assert len(session.query("s(?x)")) == 0
        assert repr(session.query("s(?x)")) == "<0 rows of s(?x): SETTLED>"
