"""`why-not`, `what-if` and `missing` on a terminal: texts, exit codes, mistakes, certificates."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.running import Ran, run

if TYPE_CHECKING:
    from collections.abc import Sequence

GOLDEN = Path(__file__).parent / "golden"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def asked(shop: Path, *words: str) -> Ran:
    return run(*words, "--project", shop)


@pytest.mark.parametrize(
    ("name", "words", "code"),
    [
        ("why_not_threshold", ("why-not", "is_vip(C002)"), 5),
        ("why_not_blocked", ("why-not", "is_vip(C004)"), 5),
        ("why_not_open", ("why-not", "is_regular(C001)"), 4),
        ("why_not_closed_by_word", ("why-not", "gets_partner_price(C003)"), 6),
        ("what_if_removed", ("what-if", "is_vip(C004)", "--remove", "blocked(C004)", "-q"), 3),
        (
            "what_if_changed",
            ("what-if", "is_vip(C002)", "--add", "placed_order(C002, 99, 1, 2025-05-05)", "-q"),
            3,
        ),
        ("what_if_same", ("what-if", "is_vip(C001)", "--set", "vip_threshold=100000", "-q"), 0),
        (
            "missing_sets",
            (
                "missing",
                "is_vip(C002)",
                "--abducible",
                "placed_order",
                "--abducible",
                "customer_tier=2",
            ),
            0,
        ),
        ("missing_undeclared", ("missing", "is_vip(C002)"), 5),
    ],
)
def test_the_text_is_the_golden_one(
    still_shop: Path, name: str, words: Sequence[str], code: int
) -> None:
    ran = asked(still_shop, *words)
    assert ran.code == code, ran.err
    text = _TIME.sub("TIME", ran.out)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_reasons_are_ranked_and_bounded(shop: Path) -> None:
    library = shop.parent.parent / "rules" / "customer-value" / "vip.dl"
    text = library.read_text(encoding="utf-8")
    text = text.replace("@[id = VIP1]", '@[id = VIP1]\n@[reasons = "-,-,R10,R20"]')
    text = text.replace("@[id = VIP2]", '@[id = VIP2]\n@[reasons = "R30,R20"]')
    library.write_text(text, encoding="utf-8")
    ran = asked(shop, "why-not", "is_vip(C002)", "--reasons")
    assert ran.code == 5
    assert ran.out.index("1. R10: ") < ran.out.index("2. R30: ")
    told = asked(
        shop, "why-not", "is_vip(C002)", "--reasons", "--most-reasons", "1", "--format", "json"
    )
    (reason,) = told.json["refutation"]["reasons"]
    assert (reason["code"], reason["rule"], reason["literal_number"]) == ("R10", "VIP1", 3)
    assert reason["claim"] == "100000.0 > 100000.0"


def test_a_hypothetical_certificate_says_what_it_supposes(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "supposed.json"
    words = ("what-if", "is_vip(C004)", "--remove", "blocked(C004)", "--certificate", str(file))
    assert asked(still_shop, *words).code == 3
    verified = run("verify", file)
    assert verified.code == 3
    assert "supposed: there is no blocked(C004)" in verified.out
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["header"]["verdict"] == "PROVED_UNDER"


def test_mistakes_are_shown_at_their_place(still_shop: Path) -> None:
    ran = asked(
        still_shop, "what-if", "is_vip(C002)", "--add", "blocked(C1)", "--add", "blokced(C1)"
    )
    assert (ran.code, ran.out) == (2, "")
    assert " --> <add 2>:1:1" in ran.err
    assert "blokced(C1)" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("what-if", "is_vip(C002)", "--set", "vip_threshold"),
        ("what-if", "is_vip(C002)", "--set", "=5"),
        ("what-if", "is_vip(C002)", "--set", "vip_threshold=1", "--set", "vip_threshold=2"),
        ("what-if", "is_vip(C002)", "--rules", "nowhere.dl"),
        ("missing", "is_vip(C002)", "--top-k", "0"),
        ("missing", "is_vip(C002)", "--budget", "0"),
        ("why-not", "is_vip(C002)", "--most", "0"),
        ("why-not", "is_vop(C002)"),
    ],
)
def test_bad_usage_ends_with_2(still_shop: Path, words: Sequence[str]) -> None:
    ran = asked(still_shop, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_an_unfinished_search_does_not_say_that_there_is_nothing(still_shop: Path) -> None:
    ran = asked(
        still_shop, "missing", "controls(C001, C002)", "--removable", "owns", "--format", "json"
    )
    assert (ran.code, ran.json["sets"], ran.json["exhausted"]) == (5, [], True)
    ran = asked(
        still_shop, "missing", "is_vip(C002)", "--abducible", "placed_order", "--budget", "0.000001"
    )
    assert ran.code == 4
    assert "there may be others, at a cost of 0" in ran.out


BOTH = """\
.decl stands(x: number)
.input stands(source = "list", query = "SELECT x FROM stands")
.decl good()
good() :- stands(1), !stands(2).
.decl never()
never() :- stands(1), !stands(1).
"""


def test_missing_proposes_only_what_it_has_tried(tmp_path: Path) -> None:
    (tmp_path / "stands.csv").write_text("x\n2\n3\n")
    (tmp_path / "r.dl").write_text(BOTH)
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {list: {files: {stands: stands.csv}}}\n"
    )
    here = ("--project", tmp_path)
    options = "--abducible stands --removable stands"
    for given in ((), ("--removable", "stands"), ("--abducible", "stands")):
        said = run("missing", "good()", *given, *here).out
        assert f"constat missing 'good()' {options}\n  which finds: add stands(1), remove" in said
    found = run("missing", "good()", *options.split(), *here)
    assert (found.code, "then PROVED" in found.out) == (0, True)
    for given in ((), ("--removable", "stands")):
        said = run("missing", "never()", *given, *here).out
        assert "constat missing" not in said
        assert "constat why-not 'never()'" in said


WIDE: Final = """\
.decl part(id: number, name: symbol, @[null = maybe] size: number, @[null = maybe] price: number,
  @[null = maybe] maker: symbol, @[null = maybe] colour: symbol)
.input part(source = "list", query = "SELECT id, name, size, price, maker, colour FROM part")
.decl large(id: number)
@[id = LARGE]
large(?id) :- part(id = ?id, size = ?size, price = ?price), ?size > ?price.
.decl worth(total: number)
@[id = WORTH]
worth(?total) :- ?total = sum ?price : { part(id = _, size = _, price = ?price) }.
"""


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    (tmp_path / "part.csv").write_text("id,name,size,price,maker,colour\n1,,,5,,\n2,b,3,,,\n")
    (tmp_path / "r.dl").write_text(WIDE)
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {list: {files: {part: part.csv}}}\n"
    )
    return tmp_path


def test_an_open_answer_names_the_columns_that_are_read_and_not_known(wide: Path) -> None:
    ran = run("prove", "large(1)", "--certificate", wide / "c.json", "--project", wide)
    assert "part(id = 1, size = ?size, price = 5)" in ran.out
    told = run("export", wide / "c.json", "--to", "markdown").out
    missing = told.partition("## Missing")[2].partition("##")[0]
    assert "(`part(id = 1, size = ?size, price = 5)`)" in missing
    assert not re.search("name|maker|colour", missing)


def test_a_total_that_is_not_known_is_said_in_words(wide: Path) -> None:
    ran = run("prove", "worth(?total)", "--project", wide)
    assert "It would, if the sum of price over part were known" in ran.out


def test_beside_what_is_allowed_only_what_is_needed_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "stands.csv").write_text("x\n2\n3\n")
    (tmp_path / "falls.csv").write_text("x\n1\n")
    (tmp_path / "r.dl").write_text(
        '.decl stands(x: number)\n.input stands(source = "list", query = "SELECT x FROM stands")\n'
        '.decl falls(x: number)\n.input falls(source = "list", query = "SELECT x FROM falls")\n'
        ".decl good()\ngood() :- stands(1), falls(1), !stands(2).\n"
    )
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {list: {files: {stands: stands.csv, falls: falls.csv}}}\n"
    )
    here = ("--project", tmp_path)
    options = "--abducible stands --removable stands"
    said = run("missing", "good()", "--removable", "stands", *here).out
    assert f"constat missing 'good()' {options}\n  which finds: add stands(1), remove" in said
    assert "then PROVED" in run("missing", "good()", *options.split(), *here).out
