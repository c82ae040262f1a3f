"""Damaged programs are refused with a diagnostic, in both modes: no text makes a run crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.diagnostics import ConstatError, render
from constat.session.running import REFUSED, RunnableProgram, load_runnable
from constat.syntax import Mode
from tests.run.reading import run_cases

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = sorted({case.program for case in run_cases()})
PIECES = (
    *("!", "(", ")", "{", "}", ",", ";", ".", ":-", "=", "<=", "+", "-", "_", "_1", "?", "?x", "x"),
    *("count : ", "sum y : ", "{ p(x) }", "true", "false", "not", "p", "p(", ".decl p(x: number)"),
    *(".input p", ".output p", ".type A", ".number_type B", "as(x, unsigned)", '"a"', "\\", "\n"),
    *("1.5", "4294967295u", "99999999999999999999", "0x1", "match(", "min", "$", "@f(x)", "[x, y]"),
    *("!!", "!(", "input", "eqrel", "choice-domain x", "\0", "\ud800", "é", "//", "/*", '"', "'"),
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 0, 1, 2, 5, 20]))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[start + length :]
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def loaded(
    path: Path, mode: Mode | None, width: int, texts: dict[str, str]
) -> RunnableProgram | ConstatError:
    try:
        return load_runnable(path, mode, width, texts)
    except ConstatError as problem:
        return problem


@settings(max_examples=150)
@given(damaged(), st.sampled_from([None, *Mode]), st.sampled_from([32, 64]))
def test_a_damaged_program_loads_or_is_refused(
    folder: Path, text: str, mode: Mode | None, width: int
) -> None:
    path = folder / "p.dl"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    texts: dict[str, str] = {}
    found = loaded(path, mode, width, texts)
    if isinstance(found, ConstatError):
        assert found.exit_code in {2, REFUSED}
        assert found.diagnostics
        assert render(found.diagnostics, texts, colour=False)
    else:
        assert found.mode is mode or mode is None
        assert found.needed <= set(found.analysed.program.predicates)


@pytest.mark.parametrize("piece", ["!(", "(", "-", "sum x : ", "p(x), !("])
def test_nesting_without_end_is_refused(piece: str, folder: Path) -> None:
    path = folder / "deep.dl"
    text = ".decl p(x: number)\np(1).\n.decl q(x: number)\nq(x) :- " + piece * 5000 + "p(x).\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConstatError):
        load_runnable(path, Mode.SOUFFLE, 32, {})
