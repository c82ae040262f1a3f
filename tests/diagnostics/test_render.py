"""Diagnostics as people read them: the place, the mark, and nothing a terminal would obey."""

from __future__ import annotations

import json
import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import (
    ConstatError,
    Diagnostic,
    Related,
    Severity,
    Span,
    nearest,
    render,
    to_json,
)
from constat.memory.view import BudgetError


def at(line: int, column: int, end: int, source: str = "a.dl") -> Span:
    return Span(source, line, column, line, end)


def shown(text: str, span: Span, label: str = "") -> list[str]:
    one = Diagnostic("C0130", "wrong", span, label=label)
    return render([one], {"a.dl": text}, colour=False).split("\n")


def test_an_error_reaches_another_process_as_it_is() -> None:
    first = ConstatError(
        [Diagnostic("C0203", "wrong", at(14, 21, 26), note="so", help="do", about="x")],
        exit_code=78,
    )
    second = BudgetError(9, 3, ["message:1"])
    for problem in (first, second):
        again = pickle.loads(pickle.dumps(problem))  # noqa: S301  our own
        assert type(again) is type(problem)
        assert (again.args, vars(again)) == (problem.args, vars(problem))
        assert again.diagnostics == problem.diagnostics


def test_the_form_is_that_of_the_style_guide() -> None:
    text = "\n" * 13 + "discount(?customer, ?rate) :- customer(?customer), !banned(?customer)."
    one = Diagnostic(
        "C0203",
        "variable `?rate` in the head is never bound",
        at(14, 21, 26, "rules/pricing.dl"),
        label="used only here",
        note="every head variable must occur in a positive body atom",
        help="bind it, for example with `tier_rate(?customer, ?rate)`",
    )
    assert render([one], {"rules/pricing.dl": text}, colour=False) == (
        "error[C0203]: variable `?rate` in the head is never bound\n"
        "  --> rules/pricing.dl:14:21\n"
        "14 | discount(?customer, ?rate) :- customer(?customer), !banned(?customer).\n"
        "   |                     ^^^^^ used only here\n"
        "   = note: every head variable must occur in a positive body atom\n"
        "   = help: bind it, for example with `tier_rate(?customer, ?rate)`;"
        " more: `constat explain C0203`\n"
        "\n"
        "1 error\n"
    )


@pytest.mark.parametrize(
    ("text", "column", "end", "line", "mark"),
    [
        ("p(x).", 3, 4, "p(x).", "  ^"),
        ("\tp(x).", 4, 5, "    p(x).", "      ^"),
        ("p(x\ty).", 3, 6, "p(x    y).", "  ^^^^^^"),
        ('p("日本", x).', 9, 10, 'p("日本", x).', "          ^"),
        ('p("日本").', 4, 6, 'p("日本").', "   ^^^^"),
        ("p(e\u0301, x).", 7, 8, "p(e\u0301, x).", "     ^"),
        ("p(\x1b[31m).", 3, 4, "p(\\x1b[31m).", "  ^^^^"),
        ("p(\u202ex).", 4, 5, "p(\\u{202e}x).", "          ^"),
        ("p(\u00a0x).", 3, 4, "p(\\u{a0}x).", "  ^^^^^^"),
        ("p(x).", 6, 6, "p(x).", "     ^"),
        ("p(x).", 9, 12, "p(x).", "     ^"),
        ("", 1, 1, "", "^"),
    ],
)
def test_the_mark_stands_under_what_it_means(
    text: str, column: int, end: int, line: str, mark: str
) -> None:
    found = shown(text, at(1, column, end))
    assert found[2] == f"1 | {line}".rstrip()
    assert found[3] == f"  | {mark}"


@pytest.mark.parametrize("column", [1, 60, 500, 990])
def test_a_long_line_is_cut_around_the_mark(column: int) -> None:
    text = "".join(chr(ord("a") + place % 26) for place in range(1_000))
    _, _, line, mark, *_ = shown(text, at(1, column, column + 3))
    assert len(line) < 120
    start = mark.index("^")
    assert line[start : start + 3] == text[column - 1 : column + 2]
    assert ("…" in line[:6]) == (column > 100 or column == 60)
    assert line.endswith("…") == (column < 900)


def test_a_mark_over_several_lines_stays_on_the_first() -> None:
    text = "p(?x) :-\n  q(?x).\n"
    _, _, line, mark, *_ = shown(text, Span("a.dl", 1, 7, 2, 8))
    assert (line, mark) == ("1 | p(?x) :-", "  |       ^^")


def test_a_text_that_is_not_there_leaves_the_place() -> None:
    found = shown("", at(7, 1, 2, "other.dl"), label="here")
    assert found[1:3] == [" --> other.dl:7:1", "  = here"]
    assert shown("one line", at(7, 1, 2))[1] == " --> a.dl:7:1"


def test_a_second_place_is_shown_with_its_label() -> None:
    one = Diagnostic(
        "C0127", "twice", at(12, 1, 4), related=(Related(at(2, 1, 4), "declared here first"),)
    )
    text = render([one], {"a.dl": "one\ntwo\n" + "\n" * 9 + "twelve"}, colour=False)
    assert "12 | twelve\n   | ^^^\n  ::: a.dl:2:1\n 2 | two\n   | --- declared here first\n" in text


def test_lines_of_a_note_stand_under_each_other() -> None:
    one = Diagnostic("C0210", "a cycle", at(1, 1, 2), note="the path:\n  p -> q\n  q -> p")
    text = render([one], {"a.dl": "p"}, colour=False)
    assert "  = note: the path:\n            p -> q\n            q -> p\n" in text


def test_diagnostics_are_sorted_and_counted() -> None:
    found = [
        Diagnostic("C0203", "second", at(2, 1, 2)),
        Diagnostic("C0156", "last", severity=Severity.NOTE),
        Diagnostic("C0201", "first", at(1, 1, 2)),
        Diagnostic("C0202", "doubtful", at(3, 1, 2), severity=Severity.WARNING),
    ]
    text = render(found, {}, colour=False)
    heads = [line.split("]")[0] for line in text.split("\n") if "[C0" in line]
    assert heads == ["error[C0201", "error[C0203", "warning[C0202", "note[C0156"]
    assert text.endswith("\n\n2 errors, 1 warning, 1 note\n")
    assert render([], {}, colour=False) == ""


def test_colour_changes_nothing_but_colour() -> None:
    one = Diagnostic("C0130", "wrong", at(1, 3, 4), label="here", note="why", help="do this")
    plain = render([one], {"a.dl": "p(x)."}, colour=False)
    painted = render([one], {"a.dl": "p(x)."}, colour=True)
    assert painted != plain
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;34m"):
        assert code in painted
        painted = painted.replace(code, "")
    assert painted == plain


def test_a_message_from_outside_cannot_write_to_the_terminal() -> None:
    wicked = "\x1b[2J\x07\x9b\u202e\ud800"
    one = Diagnostic(
        "C0130",
        wicked,
        at(1, 1, 2, f"{wicked}.dl"),
        label=wicked,
        note=wicked,
        help=wicked,
        related=(Related(at(1, 1, 2), wicked),),
    )
    text = render([one], {f"{wicked}.dl": wicked, "a.dl": wicked}, colour=False)
    assert all(letter == "\n" or letter.isprintable() for letter in text)


@given(st.text(), st.integers(1, 50), st.integers(0, 50))
def test_any_line_with_any_mark_is_rendered(text: str, column: int, length: int) -> None:
    found = render(
        [Diagnostic("C0130", text, at(1, column, column + length), label=text)],
        {"a.dl": text},
        colour=False,
    )
    assert not {unicodedata.category(letter) for letter in found} - {"Cc"} & {"Cf", "Cs"}
    assert all(letter == "\n" or letter.isprintable() for letter in found)


def test_json_has_every_part() -> None:
    one = Diagnostic(
        "C0127",
        "twice",
        at(2, 3, 4),
        label="here",
        note="why",
        help="do this",
        related=(Related(at(1, 1, 2), "first"),),
    )
    place = {"source": "a.dl", "line": 2, "column": 3, "end_line": 2, "end_column": 4}
    first = {"source": "a.dl", "line": 1, "column": 1, "end_line": 1, "end_column": 2}
    assert to_json([one, Diagnostic("C0501", "no place")]) == [
        {
            "code": "C0127",
            "severity": "error",
            "message": "twice",
            "span": place,
            "label": "here",
            "note": "why",
            "help": "do this",
            "related": [{"span": first, "label": "first"}],
        },
        {
            "code": "C0501",
            "severity": "error",
            "message": "no place",
            "span": None,
            "label": "",
            "note": "",
            "help": "",
            "related": [],
        },
    ]
    assert json.loads(json.dumps(to_json([one]))) == to_json([one])


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("custmer", ["customer", "order"], "customer"),
        ("ordre", ["customer", "order"], "order"),
        ("CUSTOMER", ["customer"], "customer"),
        ("tier", ["tire", "time"], "tire"),
        ("a", ["b", "A"], "A"),
        ("customer", ["customer"], None),
        ("revenue", ["customer", "order"], None),
        ("x" * 10_000, ["x"], None),
        ("p", [], None),
    ],
)
def test_the_nearest_name_is_found(name: str, known: list[str], found: str | None) -> None:
    assert nearest(name, known) == found
    assert nearest(name, reversed(known)) == found
