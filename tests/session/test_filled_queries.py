"""A stated fact that fills a null cell: every row of a query is called what proving it says."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.evaluation import Verdict
from constat.session.answers import Computed, RowVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES = """
.pragma "constat" "0.1"
@[key = id]
.decl box(id: symbol, @[null = {size}] size: number, @[null = {colour}] colour: symbol)
.input box(source = "lists", query = "SELECT id, size, colour FROM box")
.decl big(id: symbol)
big(?b) :- box(?b, ?s, _), ?s > 5.
.decl other(id: symbol)
other(?b) :- box(?b, _, _), !big(?b).
.decl alike(a: symbol, b: symbol)
alike(?a, ?b) :- box(?a, ?s, _), box(?b, ?s, _), ?a < ?b.
.decl red(id: symbol)
red(?b) :- box(?b, _, "red").
red(?b) :- big(?b), !alike(?b, "c").
.decl how_many(n: number)
how_many(?n) :- ?n = count : {{ big(_b) }}.
"""
QUERIES = (
    "big(?b)", "other(?b)", "alike(?a, ?b)", "red(?b)", "how_many(?n)", "box(?b, ?s, ?c)",
    "big(?b), red(?b)",
)  # fmt: skip
HELD: dict[RowVerdict, Verdict] = {
    Computed.CERTAIN: Verdict.PROVED,
    Computed.UNDER: Verdict.PROVED_UNDER,
}
FOUND = {Verdict.PROVED, Verdict.PROVED_UNDER}


def filled(folder: Path, seed: int) -> Path:
    """Make a project with boxes whose cells are partly null, and facts that fill some of them."""
    draw = random.Random(seed)
    words = [draw.choice(["unknown", "maybe", "none"]) for _ in range(2)]
    (folder / "r.dl").write_text(RULES.format(size=words[0], colour=words[1]))
    (folder / "constat.yaml").write_text(
        "project: f\nrules: [r.dl]\ndatabases:\n  lists: {files: {box: box.csv}}\n"
    )
    rows = [(name, draw.choice(["", "2", "9"]), draw.choice(["", "red", "blue"])) for name in "abc"]
    lines = ["id,size,colour", *map(",".join, rows)]
    (folder / "box.csv").write_text("\n".join(lines) + "\n")
    with Session(folder) as session:
        for fact, author in what_is_said(draw, rows):
            session.facts.add(fact, author=author)
    return folder


def what_is_said(
    draw: random.Random, rows: list[tuple[str, str, str]]
) -> Iterator[tuple[str, str]]:
    """Draw what people say of rows with null cells: a whole row, or each one cell of it."""
    for name, size, colour in rows:
        if (size and colour) or draw.random() < 0.3:
            continue
        known = size or draw.choice("29"), colour or draw.choice(["red", "blue"])
        if draw.random() < 0.5:
            yield f'box("{name}", {known[0]}, "{known[1]}")', "eva"
            continue
        if draw.random() < 0.7:
            yield f'box(id = "{name}", size = {known[0]})', "eva"
        if draw.random() < 0.7:
            yield f'box(colour = "{known[1]}", id = "{name}")', draw.choice(["eva", "ivo"])


@pytest.mark.sampled(8, "laws")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("engine", ["reference", "forward", "auto"])
def test_every_row_is_called_what_proving_it_says(tmp_path: Path, seed: int, engine: str) -> None:
    with Session(filled(tmp_path, seed)) as session:
        for query in QUERIES:
            answers = session.query(query, engine=engine)
            for row in answers:
                verdict = session.prove(", ".join(row.goals)).verdict
                assert HELD.get(row.verdict) is verdict or row.verdict is verdict, (query, row)


@pytest.mark.sampled(8, "laws")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("engine", ["reference", "forward"])
def test_no_row_that_is_proved_is_left_out(tmp_path: Path, seed: int, engine: str) -> None:
    with Session(filled(tmp_path, seed)) as session:
        for query in ("big", "other", "red"):
            answers = session.query(f"{query}(?b)", engine=engine)
            listed = {row.values for row in answers}
            for name in "abc":
                verdict = session.prove(f'{query}("{name}")').verdict
                assert verdict not in FOUND or (name,) in listed, (query, name)
                if answers.exit_code != 4:
                    assert verdict is not Verdict.UNRESOLVED or (name,) in listed


def test_what_is_stated_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "r.dl").write_text(RULES.format(size="unknown", colour="unknown"))
    (tmp_path / "constat.yaml").write_text(
        "project: f\nrules: [r.dl]\ndatabases:\n  lists: {files: {box: box.csv}}\n"
    )
    (tmp_path / "box.csv").write_text("id,size,colour\na,10,red\nb,,red\nc,,red\n")
    with Session(tmp_path) as session:
        session.facts.add('box("b", 20, "red")', author="eva")
        answers = session.query("big(?b)")
    verdicts = {row.values: row.verdict for row in answers}
    assert verdicts == {
        ("a",): Verdict.PROVED,
        ("b",): Verdict.PROVED_UNDER,
        ("c",): Verdict.UNRESOLVED,
    }
    assert all("(b" not in one.goal for one in answers.reasons)


GOALS = (
    *(f'{name}("{box}")' for name in ("big", "other", "red") for box in "abc"),
    *(f'alike("{one}", "{two}")' for one, two in ("ab", "ac", "bc")),
    *(f"how_many({count})" for count in range(4)),
)


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("seed", range(8))
def test_no_word_turns_round_what_was_decided(tmp_path: Path, seed: int) -> None:
    with Session(filled(tmp_path, seed)) as session:
        stated = [(session.facts.show(one), one.author) for one in session.facts.list()]
        after = [session.prove(goal).verdict for goal in GOALS]
        for fact, author in stated:
            session.facts.retract(fact, by=author, author=author)
        before = [session.prove(goal).verdict for goal in GOALS]
    decided = {Verdict.PROVED, Verdict.DISPROVED}
    for goal, one, other in zip(GOALS, before, after, strict=True):
        assert one not in decided or other is one, goal
        # And nobody's word decides without being named.
        assert other not in decided or one is other, goal
