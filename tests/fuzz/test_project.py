"""Random configurations: a project or diagnostics, never another exception.

`CONSTAT_FUZZ_ROUNDS` says how many inputs are tried.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.project import load_project

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS: Final = int(os.environ.get("CONSTAT_FUZZ_ROUNDS", "400"))

GOOD: Final = """\
project: shop
rules: [rules/a.dl]
databases:
  sales: {uri: "sqlite:///${SHOP}/shop.sqlite", seconds: 5, rows: 10}
facts:
  vip_threshold: 150000
  rate: [[north, 0.1], {region: south, rate: "${RATE}"}]
closed: {blocked: compliance}
tiers:
  crm: {factory: "acme.tiers:crm", after: database, cost: 50, predicates: [tier]}
limits: {seconds: 10, query_rows: 1000}
state: .constat
"""
PIECES: Final = (
    *"{}[],:-?&*!|>'\"%@`#\\\n\t $~",
    *("${", "${A}", "<<: *a", "---\n", "...\n", "!!binary ", "\x00", "\ud800", "\u2028", "\ufeff"),
    *(
        "null",
        "yes",
        "1e999",
        "../..",
        "/etc/passwd",
        "facts:",
        "  ",
        "- ",
        ": ",
        "é",
        "💥",
        "\x85",
    ),
)


def mutated(generator: random.Random) -> bytes:
    text = list(GOOD)
    for _ in range(generator.randint(1, 8)):
        place = generator.randrange(len(text) + 1)
        match generator.randrange(4):
            case 0:
                text[place:place] = generator.choice(PIECES)
            case 1:
                del text[place : place + generator.randint(1, 20)]
            case 2:
                end = place + generator.randint(1, 60)
                text[place:place] = text[place:end] * generator.randint(1, 5)
            case _:
                text[place : place + 1] = generator.choice(PIECES) * generator.randint(1, 40)
    content = "".join(text).encode("utf-8", "surrogatepass")
    if generator.random() < 0.1:
        cut = generator.randrange(len(content) + 1)
        content = content[:cut] + generator.randbytes(3) + content[cut:]
    return content


def complaint(folder: Path) -> ConstatError | None:
    try:
        load_project(folder, environment={"SHOP": "hunter2", "RATE": "0.2"})
    except ConstatError as problem:
        return problem
    return None


def test_a_mutated_configuration_is_loaded_or_explained(tmp_path: Path) -> None:
    generator = random.Random(20_261_121)
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "a.dl").write_text("")
    loaded = 0
    for number in range(ROUNDS):
        content = mutated(generator)
        (tmp_path / "constat.yaml").write_bytes(content)
        problem = complaint(tmp_path)
        if problem is None:
            loaded += 1
            continue
        assert problem.diagnostics, number
        assert all(one.code.startswith("C05") for one in problem.diagnostics), content
        assert "hunter2" not in str(problem), content
    # Both sides are met, so the test can fail on either.
    assert 0 < loaded < ROUNDS
