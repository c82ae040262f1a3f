"""The script that sits in a page: what it is made of, and what hostile bytes do to it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat.check import check_certificate
from constat.proof.report import markup
from tests.check.catalog import good
from tests.check.writer import Writer, agg, canonical, cmp, con, pos, rows_hash, seal
from tests.report.checker.second_checker import SecondChecker, evaluate, node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.check.writer import Tree

needs_node = pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")
FOLDER: Final = Path(markup.__file__).parent / "checker"
FORBIDDEN: Final = (
    r"\beval\b|\bFunction\(|\bimport\b|\brequire\(|\bprocess\b|\bdocument\.|\bwindow\b|\bfetch\("
    r"|XMLHttpRequest|\bcrypto\b|\bDate\(|Math\.random|localeCompare|</|<!--"
)
LARGEST: Final = 190_000


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    checker = SecondChecker(markup.checker_source())
    yield checker
    checker.close()


def sources() -> list[tuple[str, str]]:
    return [(path.name, path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.js")]


def test_every_file_is_part_of_the_script() -> None:
    assert sorted(name for name, _ in sources()) == sorted(markup.CHECKER_FILES)


def test_the_script_holds_no_network_no_document_and_no_end_of_a_page() -> None:
    script = markup.checker_source()
    assert re.findall(FORBIDDEN, script) == []
    assert script.isascii()
    assert len(script) < LARGEST


def test_files_and_functions_keep_their_budgets() -> None:
    for name, text in sources():
        assert text.startswith("/*\n * "), name
        assert text.count("\n") <= 450, name
        for begin in re.finditer(r"^( *)(?:function |[a-zA-Z]+\(.*\) \{$)", text, re.MULTILINE):
            end = text.index(f"\n{begin[1]}}}\n", begin.start())
            assert text.count("\n", begin.start(), end) < 50, (name, begin[0])


def test_comments_are_left_out_and_nothing_else() -> None:
    files = dict(sources())
    kept = markup.checker_parts()
    for text in files.values():
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        lines = [line.strip() for line in bare.splitlines()]
        shown = [line for line in lines if line and not line.startswith("//")]
        assert "\n".join(shown) in kept


@needs_node
def test_it_defines_one_name_and_changes_no_other() -> None:
    script = (
        "const before = Object.getOwnPropertyNames(globalThis).length;\n"
        + markup.checker_source()
        + "const main = (text) => {\n"
        + "  const report = constatCheck(text, {});\n"
        + "  const names = Object.getOwnPropertyNames(globalThis).slice(before);\n"
        + "  return [report.accepted, names, Object.keys({}), ({}).accepted === undefined];\n"
        + "};\n"
    )
    text = good("vip_proved").data().decode()
    assert evaluate(script, text) == [True, ["constatCheck"], [], True]


@needs_node
@pytest.mark.parametrize("name", ["__proto__", "constructor", "hasOwnProperty", "toString"])
def test_names_of_the_language_are_names_like_others(second: SecondChecker, name: str) -> None:
    text = canonical(good("vip_proved").tree)
    for old in ("blocked", "o", "threshold"):
        tree = json.loads(text.replace(f'"{old}"', f'"{name}"'))
        data = seal(_sorted(tree))
        report = second.check(data)
        assert report["accepted"], report
        assert check_certificate(data).accepted


def _sorted(tree: Any) -> Any:  # noqa: ANN401  any JSON
    for group in tree["facts"]:
        group["rows"].sort()
    tree["closure"]["rows"].sort()
    return tree


@needs_node
def test_members_of_the_language_are_unknown_members(second: SecondChecker) -> None:
    for place in ((), ("header",), ("record",), ("facts", 0)):
        for name in ("__proto__", "constructor", "toString"):
            tree = good("vip_proved").tree
            inner: Any = tree
            for step in place:
                inner = inner[step]
            inner[name] = {"accepted": None}
            assert second.check(seal(tree))["reasonCode"] == "schema"


HOSTILE: Final = {
    "nothing": (b"", "json"),
    "a word": (b"null\n", "schema"),
    "no newline": (b"{}", "canonical"),
    "two objects": (b"{}{}\n", "json"),
    "spaces": (b"{ }\n", "canonical"),
    "a deep array": (b"[" * 200_000, "depth"),
    "a deep object": (b'{"a":' * 200_000, "depth"),
    "a long number": (b"9" * 1_000_000, "number"),
    "a long string": (b'"' + b"a" * 1_000_000, "json"),
    "a NUL": (b'{"a":"\\u0000"}\n', "text"),
    "a lone surrogate": (b'{"a":"\\ud800"}\n', "text"),
    "two members of one name": (b'{"a":1,"a":1}\n', "canonical"),
    "an escape too many": (b'{"a":"\\u0041"}\n', "canonical"),
    "a capital escape": (b'{"a":"\\u00E9"}\n', "canonical"),
    "an escaped slash": (b'{"a":"\\/"}\n', "canonical"),
    "latin 1": ('{"a":"é"}\n'.encode("latin-1"), "canonical"),
    "UTF-8": ('{"a":"é"}\n'.encode(), "canonical"),
    "a byte order mark": (b"\xef\xbb\xbf{}\n", "json"),
    "not UTF-8": (b'{"a":"\xff"}\n', "canonical"),
}


@needs_node
@pytest.mark.parametrize("name", HOSTILE)
def test_bytes_that_are_no_certificate_are_rejected(second: SecondChecker, name: str) -> None:
    data, code = HOSTILE[name]
    report = second.check(data)
    assert (report["accepted"], report["exitCode"], report["verdict"]) == (False, 1, None)
    assert report["reasonCode"] == code
    assert not check_certificate(data).accepted


@needs_node
def test_any_changed_byte_is_rejected(second: SecondChecker) -> None:
    data = good("gold_by_user").data()
    for place in range(0, len(data), 61):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert not second.check(changed)["accepted"], place


@needs_node
def test_text_is_checked_like_bytes(second: SecondChecker) -> None:
    data = good("hostile_texts").data()
    assert second.check(data, plain=True) == second.check(data)
    assert second.check(data)["accepted"]


@needs_node
def test_a_pin_names_the_rules(second: SecondChecker) -> None:
    data = good("vip_proved").data()
    program = second.check(data)["program"]
    assert second.check(data, pin=program)["accepted"]
    for other in ("", program + "0"):
        assert second.check(data, pin=other)["reasonCode"] == "pin"
    # Trust is for nested certificates; it is no second pin.
    assert second.check(data, pin="", trusted=[program])["reasonCode"] == "pin"


@needs_node
def test_of_a_rejected_certificate_the_report_says_which_nodes_were_passed(
    second: SecondChecker,
) -> None:
    tree = good("vip_proved").tree
    last = len(tree["nodes"]) - 1
    tree["nodes"][last]["confidence"] = "0.5"
    report = second.check(seal(tree))
    assert (report["reasonCode"], report["place"]) == ("confidence", f"nodes[{last}]")
    assert [one["ok"] for one in report["nodes"]] == [True] * last + [False]
    assert report["confidence"] is None


@needs_node
def test_what_was_not_checked_is_said(second: SecondChecker) -> None:
    report = second.check(good("summary_proved").data())
    assert "leaves were not re-read" in report["notes"][0]
    (summary,) = report["summaries"]
    assert any(str(summary["count"]) in note for note in report["notes"])
    under = second.check(good("gold_by_user").data())
    assert [one["kind"] for one in under["assumptions"]] == ["fact"]


@needs_node
def test_texts_of_the_report_are_printable(second: SecondChecker) -> None:
    tree = good("gold_by_user").tree
    tree["assumptions"][0]["text"] = "\x1b[31mred\u202e\u2028\x07 \U000e0001"
    (shown,) = second.check(seal(tree))["assumptions"]
    assert shown["text"] == "\\u001b[31mred\\u202e\\u2028\\u0007 \\u{e0001}"


@needs_node
def test_too_much_work_is_refused(second: SecondChecker) -> None:
    """Each of three texts takes ten million tests of the pattern, four of which are a step."""
    w = Writer()
    w.outside("word", "x:symbol")
    w.declare("fits", "n:number")
    pattern = con("symbol", "(a{100}){100}")
    body = agg("count", "n", None, pos("word", "x"), cmp("match", pattern, "x"))
    w.rule("fits", pos("fits", "n"), body, n="number")
    w.facts("word", [[letter * 990] for letter in "bcd"], covers=([], [[]]))
    w.derived(0, ["0"], {"n": "0"}, [None])
    data = w.conclude("PROVED", "fits", "0").data()
    assert second.check(data)["reasonCode"] == check_certificate(data).code == "limit"
    assert second.check(seal(_without_a_word(w.tree)))["accepted"]


def _without_a_word(tree: Tree) -> Tree:
    group = tree["facts"][0]
    del group["rows"][0]
    tree["sources"][0].update(rows=2, hash=rows_hash(group["rows"]))
    return tree
