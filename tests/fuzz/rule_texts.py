"""Rule files: whatever they hold, a program and diagnostics; what is right prints and reads back.

In: damaged rule files, heaps of tokens, nesting, any text, any bytes.  A text without errors is
analysed as well, so that what the parser lets through meets its next reader.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Severity
from constat.syntax import load_program, parse_text, print_program
from constat.syntax.words import RESERVED
from tests.fuzz.damage import (
    NUMBERS,
    STRANGE,
    any_text,
    damaged_bytes,
    damaged_text,
    nested,
    rearranged,
    soup,
)
from tests.fuzz.reading import check_diagnostics, check_places

if TYPE_CHECKING:
    from random import Random

    from constat.diagnostics import Diagnostic
    from tests.fuzz.reading import Input

SAMPLES: Final = (
    """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.type CustomerId <: symbol
.type Any = CustomerId | symbol
/// Who orders.
@[says = "customer {c} ordered {a}"] @[key = c]
.decl order(c: CustomerId, a: Decimal, @[null = skip] d: Date) brie
.input order(source="shop", query="SELECT 1", max_age=3600)
@[expect(proved = "C001")] .output total(IO=stdout)
.decl total(c: CustomerId, t: Decimal)
@[id = R1] @[confidence = 0.9] @[approved(by = "J. Doe", on = "2026-01-31")]
total(?c, ?t) :- order(?c, _, _), ?t = sum ?a : { order(?c, ?a, ?d), ?d >= "2025-01-01" }.
""",
    """\
.type List = [head: number, tail: List]
.type Expr = Number { x: Decimal } | Add { l: Expr, r: Expr } | Of { s: symbol, l: List } | Zero {}
.decl list(l: List) .decl expr(e: Expr, n: unsigned)
.decl eval(e: Expr, d: Decimal) .decl heads(h: number, n: number)
list([1, [-2, nil]]). list([?h, nil]) :- list([?h, _]).
expr($Add($Number(1.5), $Of("a\\n\\"b", [1, nil])), 18446744073709551615u). expr($Zero, 0).
eval(?e, ?d) :- expr(?e, _), ?e = $Number(?d), $Zero != ?e, !expr($Add(?e, $Zero), 1).
eval(?e, ?a + ?b) :- expr(?e, _), $Add(?l, ?r) = ?e, eval(?l, ?a), eval(?r, ?b).
heads(?h, ?n) :- list([?h, [_, ?t]]), ?t = nil, ?n = count : { list([?h, ?u]), ?u != ?t }.
""",
    """\
p(?x), q(?x) :- (r(?x, -5); !s(?x, 10.50)), ?x * (2 + 1) % 3 != -?x, match("a.*", "b").
p(as(?x, number)) :- t(?x), ?n > count : { t(_) } - max ?y : { t(?y) }, !contains("a", "b").
flag(). p("a\\n\\"b", 0x1F, 5u, 1.5e300). .plan 0: (1, 2)
.comp C { .decl a(x: number) } #define X
p(X) :- not q(x), ?x == 'y' && ?z is 2024-01-01 or r(.5) % comment
/* open
""",
)
PIECES: Final = (
    *sorted(RESERVED),
    *"()[]{}.,;:?_!@#$%^&*-+=/\\|<>'\"`~ \t\n\r\0",
    *("nil", "[1, ", ", nil]", "[?h, ?t]", "$A", "$A(", "$Add(?l, _)", "$ ", " = [x: number]"),
    *(".type T = ", "A { x: T } | ", "B {}", " | ", "[?h | ?t]", "(1, 2)", "{x: 1}"),
    *(":-", "@[", "@![", "<=", "!=", "//", "/*", "*/", "///", "--", ".decl ", ".type ", "..", "''"),
    *("?x", "_x", "_1", "?_x", "p(?x)", "p(", "sum ?x : {", ".input p(", 'query="', "@[null = "),
    *NUMBERS,
    *STRANGE,
    *("(" * 300, "cat(" * 300, "a" * 3_000),
)
_BRACKETS: Final = (
    *(("(", ")"), ("cat(", ', "")'), ("-", ""), ("!", ""), ("p(", ")"), ("{", "}"), ("[", "]")),
    *(("[1, ", "]"), ("$A(", ")"), ("[", ", nil]"), ("$A(1, [", "])")),
    *(("count : { ", " }"), ("/*", "*/"), (".comp C { ", " }"), ("(1 + ", ")"), ('"', '"')),
)
_TESTS: Final = Path(__file__).parents[1]


@cache
def samples() -> tuple[str, ...]:
    """Give good texts: two of this module, the literate cases, the rules that come along."""
    cases = [
        rules
        for path in sorted((_TESTS / "language").glob("*.md"))
        for rules in re.findall(r"```rules\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    ]
    root = _TESTS.parent
    files = [*root.glob("rules/*/*.dl"), *root.glob("examples/*/*.dl")]
    return (*SAMPLES, *SAMPLES, *cases, *(path.read_text("utf-8") for path in sorted(files)))


class RuleTexts:
    """Reads rules given as text or as a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "fuzz.dl"

    def make(self, chance: Random) -> Input:
        match chance.randrange(16):
            case 0:
                return any_text(chance, 200)
            case 1:
                return chance.randbytes(chance.randrange(200)).decode("latin-1")
            case 2 | 3 | 4:
                return soup(chance, PIECES)
            case 5:
                text = nested(chance, _BRACKETS)
                return f"p(?x) :- q(?x), {text}.\np({text}).\n"
            case 6:
                return damaged_bytes(self._sample(chance).encode(), chance)
            case 7 | 8 | 9 | 10 | 11:
                return rearranged(self._sample(chance), chance)
            case _:
                return damaged_text(self._sample(chance), chance, PIECES)

    @staticmethod
    def _sample(chance: Random) -> str:
        text = chance.choice(samples())
        if len(text) < 1_500:
            return text
        # From the start of a line on: rules that are whole, without what declares their names.
        start = text.rfind("\n", 0, chance.randrange(len(text) - 1_000)) + 1
        return text[start : start + 1_000]

    def check(self, given: Input) -> str:
        if isinstance(given, bytes):
            return self._check_file(given)
        assert isinstance(given, str)
        return check_text(given)

    def _check_file(self, content: bytes) -> str:
        self._file.write_bytes(content)
        found: list[Diagnostic] = []
        texts: dict[str, str] = {}
        load_program([self._file], [self._file.parent], found, texts=texts)
        # A file that is no UTF-8 is read up to there; the place is one of the whole file.
        whole = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
        check_diagnostics(found, texts)
        check_places(found, dict.fromkeys(texts, whole))
        return _became(found)


def check_text(text: str) -> str:
    """Check that a text gives a program and diagnostics, and nothing else."""
    found: list[Diagnostic] = []
    program = parse_text(text, "fuzz.dl", found)
    check_diagnostics(found, {"fuzz.dl": text})
    check_places(found, {"fuzz.dl": text})
    assert all(one.note and one.help for one in found)
    if any(one.severity is Severity.ERROR for one in found):
        return "refused"
    again: list[Diagnostic] = []
    assert parse_text(print_program(program), "again.dl", again) == program
    assert again == []
    analysed: list[Diagnostic] = []
    try:
        analyse(program, analysed)
    except ConstatError as problem:
        analysed.extend(problem.diagnostics)
    check_diagnostics(analysed, {"fuzz.dl": text})
    check_places(analysed, {"fuzz.dl": text})
    return "read, then " + _became(analysed)


def _became(found: list[Diagnostic]) -> str:
    return "refused" if any(one.severity is Severity.ERROR for one in found) else "read"
