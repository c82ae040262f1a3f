"""What people read when a run fails: the golden texts name rule, file, line, column and type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.run.places import Place

GOLDEN = Path(__file__).parent / "golden"
SALES = ".decl sale(id: number, amount: number)\n.input sale\n"
TEXTS = ".decl sale(id: number, amount: symbol)\n.input sale\n"
OLD = ".number_type Id\n.decl sale(id: Id) input\n.decl big(id: Id) output\n"
PROGRAMS = {
    "wrong_cell": (
        '.decl sale(id: number, amount: number)\n.input sale(delimiter=",")\n.output sale\n',
        "1,10\n2,ten\n",
    ),
    "empty_cell": (
        ".decl sale(customer: symbol, amount: float)\n.input sale\n.output sale\n",
        "ann\t1.5\nbob\t\n",
    ),
    "too_few_cells": (
        ".decl sale(id: number, amount: number)\n.input sale\n.output sale\n",
        "1;10\n",
    ),
    "no_file": (".decl tier(c: symbol)\n.input tier\n.output tier\n", ""),
    "division": (
        SALES
        + ".decl share(i: number, s: number)\nshare(i, 100 / a) :- sale(i, a).\n.output share\n",
        "1\t10\n2\t0\n",
    ),
    "conversion": (
        TEXTS + ".decl t(n: number)\nt(to_number(a)) :- sale(_, a).\n.output t\n",
        "1\tten\n",
    ),
    "record": (".type Pair = [x: number, x: number]\n.decl p(x: Pair)\n.output p\n", ""),
    "type_of_ours": (".decl p(x: Decimal)\n.output p\n", ""),
    "database": (
        '.decl sale(id: number)\n.input sale(IO=sqlite, filename="s.db")\n.output sale\n',
        "",
    ),
    "columns": (
        '.decl sale(id: number, amount: number)\n.input sale(columns="0:0")\n.output sale\n',
        "1\t10\n",
    ),
    "outside": (
        '.decl sale(id: number)\n.input sale(filename="../sale.facts")\n.output sale\n',
        "",
    ),
    "old_style": (
        OLD + "big(x) :- sale(x), x > 1, y = 2.\n",
        "1\n2\n",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_message_is_the_golden_one(name: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    program, facts = PROGRAMS[name]
    if facts:
        place.fact("sale.facts", facts)
    said = place.run(program).err
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")
    assert str(tmp_path) not in said


def test_a_failure_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.fact("sale.facts", "1,ten\n")
    ran = place.run(PROGRAMS["wrong_cell"][0], "--format", "json")
    assert ran.code == 2
    assert not ran.out
    assert '"code": "C0600"' in ran.err
    assert '"line": 1' in ran.err


def test_warnings_can_be_silenced(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.fact("sale.facts", "1\n2\n")
    ran = place.run(PROGRAMS["old_style"][0], "-w")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
