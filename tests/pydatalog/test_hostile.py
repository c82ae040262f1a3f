"""Texts of programs and sources never become Python: pyDatalog sees integers and `p3` only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.logic import (
    Atom,
    Column,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Source,
    Variable,
)
from constat.pydatalog.translation import translate
from constat.pydatalog.wire import write_question
from tests.oracle.naive import World
from tests.property.strategies import analysed
from tests.property.tables import tables
from tests.pydatalog.asking import LIMITS

if TYPE_CHECKING:
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.pydatalog import PyDatalogEngine

TEXTS = (
    "__import__('os').system('touch {mark}')",
    "+ p('a')",
    "p(X) <= q(X)",
    "print(ask('p(X)'))",
    "X",
    "_pyD_class",
    "p0",
    "1",
    "True",
    "None",
    "quote \" and ' and \\ and \n line",
    "\x1b[31m",
    "é\u202e",
    "",
)
NAMES = (
    "__import__('os').system('touch {mark}')",
    "==",
    "<",
    "~p",
    "p0",
    "_pyD_query1",
    "_pyD_in",
    "a.b[X]==",
    "with \" and ' inside",
    "os.system",
    "p0/1",
)


def copied(name: str) -> AnalysedProgram:
    """Give a program in which one predicate of that name has rows and another is copied from it."""
    columns = (Column("c", "symbol", Kind.SYMBOL),)
    x = Variable("x")
    rules = (
        Rule("copy", Atom("copy", (x,)), (Positive(Atom(name, (x,))),)),
        Rule(
            "lack",
            Atom("lack", (x,)),
            (Positive(Atom("copy", (x,))), Negative(Atom(name, (Constant("zz", Kind.SYMBOL),)))),
        ),
    )
    predicates = {
        name: Predicate(name, columns, Source({"source": "memory"})),
        "copy": Predicate("copy", columns),
        "lack": Predicate("lack", columns),
    }
    return analysed(Program(predicates, rules))


@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_text_is_a_value_like_any_other(
    engine: PyDatalogEngine, tmp_path: Path, text: str
) -> None:
    mark = tmp_path / "mark"
    value = text.format(mark=mark) if "{mark}" in text else text
    program = copied("given")
    outside = tables(program, World({"given": (((value,), None), (("other",), None))}))
    everything = engine.answers(program, Atom("lack", (Variable("v"),)), outside, LIMITS)
    assert everything.rows == {(value,), ("other",)}
    goal = Atom("lack", (Constant(value, Kind.SYMBOL),))
    assert engine.answers(program, goal, outside, LIMITS).rows == {(value,)}
    assert not mark.exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_a_predicate_like_any_other(
    engine: PyDatalogEngine, tmp_path: Path, name: str
) -> None:
    mark = tmp_path / "mark"
    name = name.format(mark=mark) if "{mark}" in name else name
    program = copied(name)
    outside = tables(program, World({name: ((("a",), None),)}))
    for predicate in (name, "copy", "lack"):
        goal = Atom(predicate, (Variable("X) & __import__('os"),))
        assert engine.answers(program, goal, outside, LIMITS).rows == {("a",)}
    assert not mark.exists()


def test_no_name_of_a_predicate_crosses_the_pipe() -> None:
    program = copied("secret_predicate")
    goal = Atom("lack", (Variable("x"),))
    sent = write_question(translate(program, goal, {"secret_predicate": [("text",)]}))
    assert b"secret_predicate" not in sent
    assert b'["symbol","text"]' in sent
