"""Copies of bulk evaluation on tape do what they do without one; all: `make mutants`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.reaching import tree_of, watched_text

pytestmark = pytest.mark.laws

ROOT = Path(__file__).parents[2]
COMPARING = """
import sys
from functools import partial
from pathlib import Path
from tests.mutation import recount
from tests.mutation.copies import noticed
from tests.mutation.reaching import reached

breaks = recount.chosen(8_000, 3)
known = recount.make_corpus(12, 50_000, Path(sys.argv[1]))
corpus = recount.prepared(known)
untaped = recount.Corpus(known, [None] * len(known), corpus.runs)
meets = reached(breaks, corpus.runs)
harmful = 0
# Which copies are drawn changes with the code: sixteen, and on until one does harm.
for number, one in enumerate(one for one in breaks if 0 < len(meets[one.name]) < len(known)):
    if number >= 16 and harmful:
        break
    found = noticed("", None, partial(recount.harm, corpus, one, meets[one.name]), 60)
    whole = noticed("", None, partial(recount.harm, untaped, one, range(len(known))), 60)
    assert found == whole, f"{one.name}: {found}, without tape {whole}"
    harmful += found is not None
never = [one for one in breaks if not meets[one.name]][:4]
for one in never:
    assert noticed("", None, partial(recount.harm, untaped, one, range(len(known))), 60) is None
print(harmful, len(never))
"""


def test_a_copy_on_tape_is_judged_as_one_without(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", COMPARING, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    harmful, never = map(int, ran.stdout.split())
    assert harmful > 0
    assert never == 4


def test_a_log_is_gone_on_with(tmp_path: Path) -> None:
    log = tmp_path / "log"
    # Each meets one program, and when all have, the other one.
    words = ["--count", "6", "--size", "2", "--turn", "1", "--log", str(log)]
    lines: list[str] = []
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-m", "tests.mutation.recount", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert ran.returncode == 0, ran.stderr
        before, lines = lines, log.read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        assert not any({one["name"]: one["left"] for one in entries}.values())
        assert sum(not one["left"] for one in entries) == 6
        assert before in ([], lines)


def test_statements_and_conditions_are_watched(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("def f(a):\n    if a:\n        return 1\n    return 2\n")
    seen: list[tuple[int, object]] = []

    def held(_: str, number: int, value: object) -> object:
        seen.append((number, value))
        return value

    space: dict[str, Any] = {
        "__constat_ran__": lambda _, number: seen.append((number, None)),
        "__constat_held__": held,
    }
    exec(watched_text("m", tree_of(path)), space)  # noqa: S102  the text above
    assert space["f"](0) == 2
    assert [value for _, value in seen] == [None, 0, None]
