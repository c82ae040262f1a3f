"""A goal of several literals means what the rule with that body means, null cells or not."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from pathlib import Path

    from constat.session import Answers

POLICIES: Final = ("", "@[null = none] ", "@[null = unknown] ", "@[null = maybe] ")
COLUMNS: Final = ("a", "b", "c", "d")
VALUES: Final = (0, 1, 2)
BODIES: Final = 8


@dataclass
class Drawing:
    """Draws bodies over `t` and `u`, each of four columns of which the last three may be null."""

    random: random.Random
    bound: list[str] = field(default_factory=list)

    def body(self) -> str:
        self.bound = []
        literals = [self.atom() for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.4:
            literals.append(f"!{self.atom(bind=False)}")
        if self.bound and self.random.random() < 0.4:
            literals.append(f"{self.random.choice(self.bound)} < {self.random.choice(VALUES)}")
        if self.random.random() < 0.4:
            literals += self.more()
            self.random.shuffle(literals)
        return ", ".join(literals)

    def more(self) -> list[str]:
        """Draw what goals share with rules alone: aggregates and functions."""
        if self.bound and self.random.random() < 0.4:
            one = self.random.choice(self.bound)
            return [f"{one} + 1 > {self.random.choice(VALUES)}", f"t({one} * 1, _, _, _)"]
        outer = self.random.choice((*self.bound, *map(str, VALUES), "_"))
        total, read = self.random.choice((("count", "_"), ("sum ?v", "?v"), ("max ?v", "?v")))
        found = f"?n = {total} : {{ {self.random.choice('tu')}({outer}, {read}, _, _) }}"
        return [found, *([f"?n {self.random.choice('<>')} 1"] * self.random.randint(0, 1))]

    def atom(self, *, bind: bool = True) -> str:
        name, by_name = self.random.choice("tu"), self.random.random() < 0.4
        if not by_name:
            return f"{name}({', '.join(self.term(bind=bind) for _ in COLUMNS)})"
        chosen = [one for one in COLUMNS if self.random.random() < 0.5] or ["a"]
        return f"{name}({', '.join(f'{one} = {self.term(bind=bind)}' for one in chosen)})"

    def term(self, *, bind: bool) -> str:
        drawn = self.random.random()
        if drawn < 0.45:
            return "_"
        if drawn < 0.6:
            return str(self.random.choice(VALUES))
        name = self.random.choice(("?x", "?y", "?z"))
        if bind:
            self.bound.append(name)
            return name
        return self.random.choice(self.bound) if self.bound else "_"


def draw(seed: int, folder: Path) -> list[str]:
    """Write a project; give the bodies, of which the n-th is that of the rule for `rule_n`."""
    drawing = Drawing(random.Random(seed))
    bodies = [drawing.body() for _ in range(BODIES)]
    policies = [drawing.random.choice(POLICIES) for _ in COLUMNS[1:]]
    declared = ", ".join(
        f"{policy}{one}: number" for policy, one in zip(("", *policies), COLUMNS, strict=True)
    )
    lines = ['.pragma "constat" "0.1"']
    for name in "tu":
        lines += [
            f".decl {name}({declared})",
            f'.input {name}(source = "s", query = "SELECT a, b, c, d FROM {name}")',
        ]
        rows = [",".join(COLUMNS)]
        for number in VALUES:
            cells = [
                "" if policy and drawing.random.random() < 0.4 else drawing.random.choice("012")
                for policy in policies
            ]
            rows.append(",".join((str(number), *cells)))
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    for number, body in enumerate(bodies):
        names = columns_of(body)
        typed = ", ".join(f"{one[1:]}: number" for one in names)
        lines += [f".decl rule_{number}({typed})"]
        lines += [f"rule_{number}({', '.join(names)}) :- {body}."]
    (folder / "r.dl").write_text("\n".join(lines) + "\n")
    files = "{type: files, files: {t: t.csv, u: u.csv}}"
    (folder / "constat.yaml").write_text(f"project: p\nrules: [r.dl]\ndatabases: {{s: {files}}}\n")
    return bodies


def columns_of(body: str) -> list[str]:
    return [one for one in ("?x", "?y", "?z", "?n") if one in body]


def rows_of(answers: Answers) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in answers.rows:
        cells = dict(zip((one.name for one in answers.columns), map(str, row.values), strict=True))
        found[json.dumps([cells, row.verdict.value], sort_keys=True)] += 1
    return found


@pytest.mark.laws
@pytest.mark.sampled(10, "laws")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_goals_are_answered_as_the_rules_with_their_bodies_are(tmp_path: Path, seed: int) -> None:
    bodies = draw(seed, tmp_path)
    with Session(tmp_path) as session:
        for number, body in enumerate(bodies):
            names = columns_of(body)
            rule = f"rule_{number}({', '.join(names)})"
            for engine in ("reference", "forward"):
                answers = session.query(body, engine=engine)
                expected = session.query(rule, engine=engine)
                assert rows_of(answers) == rows_of(expected), body
                assert answers.settled == expected.settled, body
            result = session.prove(body)
            assert session.verify(result.certificate).accepted, body
            assert result.verdict is session.prove(rule).verdict, body


BARE: Final = {
    "count : { t(_, _, _, _) } > 2": "PROVED",
    "count : { t(_, _, _, _) } > 3": "DISPROVED",
    "3 = count : { t(_, _, _, _) }": "PROVED",
    "sum ?a : { t(?a, _, _, _) } = 3": "PROVED",
    "max ?a : { t(?a, _, _, _) } < 2": "DISPROVED",
    "!t(7, _, _, _), count : { t(_, _, _, _) } = 3": "PROVED",
    "min(?a, 5) + 1 = 3, t(?a, _, _, _)": "PROVED",
    "t(1 + 1, _, _, _)": "PROVED",
    "t(1 + 2, _, _, _)": "DISPROVED",
}


@pytest.mark.parametrize("goal", BARE)
def test_a_goal_may_begin_with_an_aggregate_or_a_function(tmp_path: Path, goal: str) -> None:
    draw(0, tmp_path)
    with Session(tmp_path) as session:
        result = session.prove(goal)
        assert result.verdict.value == BARE[goal]
        assert session.verify(result.certificate).accepted
        assert not session.verify_source(result.certificate).drift
        answers = session.query(goal)
        assert bool(answers.rows) == (BARE[goal] == "PROVED")


def test_bare_words_are_texts_beside_functions_and_aggregates_too(tmp_path: Path) -> None:
    (tmp_path / "r.dl").write_text(
        '.pragma "constat" "0.1"\n.decl paid(who: symbol, cents: number)\n'
        'paid("ann", 3). paid("bob", 4). paid("b\\"o", 5).\n'
    )
    (tmp_path / "constat.yaml").write_text("project: p\nrules: [r.dl]\n")
    with Session(tmp_path) as session:
        assert session.prove("paid(ann, ?s), ?s * 2 = 6").verdict.value == "PROVED"
        assert session.prove("count : { paid(ann, _) } = 1, paid(bob, 4)").verdict.value == "PROVED"
        assert session.prove('paid("b\\"o", ?s), ?s * 2 = 10').verdict.value == "PROVED"
        assert [row.values for row in session.query("paid(bob, ?s), ?t = ?s + 1").rows] == [(4, 5)]
        with pytest.raises(ConstatError):
            session.prove("count : { paid(ann, _) = 1")
