"""Break what computes in bulk in one place, at random, and see whether counting again notices.

In: how many copies of `plan.forward`, `forward`, `sql` and `columnar`, and a corpus of random
programs whose right rows are known. A copy does harm where it calls closed what is not the right
set of rows. Out: how many copies do, and what the check said of the first wrong answer of each: it
has to differ, or at least not to pass. Run it with `python -m tests.mutation.recount --count 100`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from constat.recount import Bounds, Claim, recount
from tests.mutation.copies import folder_of, forget, noticed
from tests.mutation.operators import Mutant, changes, silent
from tests.oracle import naive
from tests.property.coverage import under
from tests.property.tables import tables
from tests.random_programs.drawing import draw
from tests.random_programs.judging import read_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.logic import Atom, Row
    from tests.random_programs.judging import Read

PACKAGES: Final = (*("constat.plan.forward", "constat.forward", "constat.sql", "constat.columnar"),)
SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Known:
    """A question, the rows that are right, and how a copy is to compute them."""

    seed: int
    read: Read
    goal: Atom
    rows: frozenset[Row]
    strategy: str | None
    magic: bool | None


def corpus(size: int, first: int) -> Iterator[Known]:
    """Give so many random programs in which nothing is open, and one question to each."""
    made, seed = 0, first
    names = [one.name for one in importlib.import_module("constat.plan.forward").Strategy]
    while made < size:
        read, seed = read_program(draw(seed)), seed + 1
        if read is None:
            continue
        random = Random(seed)
        goal = random.choice([read.goal, *read.wanted])
        truth = naive.evaluate(read.program, read.world, accepted=False)
        if not all(sure for rows in truth.values() for sure in rows.values()):
            continue
        rows: Any = frozenset(under(goal, truth[goal.predicate]))
        strategy = random.choice([None, *names])
        made += 1
        yield Known(seed, read, goal, rows, strategy, random.choice([None, True, False]))


def answered(one: Known) -> list[Row] | None:
    """Let the copy that is imported now answer; nothing where it calls nothing closed."""
    forward: Any = importlib.import_module("constat.forward")
    strategies: Any = importlib.import_module("constat.plan.forward").Strategy
    running: Any = importlib.import_module("constat.evaluation").Resources
    inputs = {
        name: forward.Outside(found)
        for name, found in tables(one.read.program, one.read.world).items()
    }
    strategy = None if one.strategy is None else strategies[one.strategy]
    resources = running(seconds=20.0, memory=256 << 20, threads=1)
    options = forward.Options(resources, strategy=strategy, magic=one.magic, graded=True)
    with forward.evaluate(one.read.program, [one.goal], inputs, options) as results:
        if not results.is_closed(0):
            return None
        return [row for batch in results.batches(0) for row in batch]


def harm(known: list[Known]) -> str | None:
    """Say what the check says of the first wrong answer; nothing where none is wrong."""
    forget(*PACKAGES, "constat.plan")
    for one in known:
        try:
            rows = answered(one)
        except Exception:  # noqa: BLE001, S112  what ends with an error calls no row proved
            continue
        if rows is None or (len(rows) == len(one.rows) and set(rows) == one.rows):
            continue
        claim = Claim(one.goal, tuple(range(len(one.goal.terms))), rows)
        found = recount(
            one.read.program, claim, tables(one.read.program, one.read.world), Bounds(threads=1)
        )
        return f"{found.state.value} | seed {one.seed}: {found.why}"
    return None


def chosen(count: int, seed: int) -> Iterator[tuple[str, Mutant]]:
    """Choose so many breaks at random over all places, each made when its turn comes."""
    places: list[tuple[str, Path, int]] = []
    for package in PACKAGES:
        importlib.import_module(package)
        for path in sorted(folder_of(package).glob("*.py")):
            if path.name != "__init__.py":
                places += [(package, path, n) for n in range(sum(1 for _ in _breaks(_tree(path))))]
    sys.stderr.write(f"{len(places):,} places\n")
    for package, path, number in Random(seed).sample(places, min(count, len(places))):
        tree = _tree(path)
        node, what, change = next(islice(_breaks(tree), number, None))
        line = getattr(node, "lineno", 0)
        change(node)
        ast.fix_missing_locations(tree)
        yield package, Mutant(path.stem, line, what, tree)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _breaks(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Callable[[ast.AST], None]]]:
    """Yield every place of a tree and a way to break it there, as `mutants_of` finds them."""
    nodes = list(ast.walk(tree))
    skipped = {id(inner) for node in nodes for part in silent(node) for inner in ast.walk(part)}
    for node in nodes:
        if id(node) not in skipped:
            for what, change in changes(node):
                yield node, what, change


def main() -> int:
    """Break and count; 1 where a wrong answer passed."""
    parser = argparse.ArgumentParser(description="Break bulk evaluation; see if the check notices.")
    parser.add_argument("--count", type=int, default=100, help="broken copies")
    parser.add_argument("--size", type=int, default=60, help="programs of the corpus")
    parser.add_argument("--first", type=int, default=50_000, help="the first seed of the corpus")
    parser.add_argument("--seed", type=int, default=1, help="which copies")
    given = parser.parse_args()
    known = list(corpus(given.size, given.first))
    wrong = harm(known)
    if wrong is not None:
        sys.stderr.write(f"the unbroken code is wrong: {wrong}\n")
        return 1
    told: Counter[str] = Counter()
    begun = time.monotonic()
    for package, mutant in chosen(given.count, given.seed):
        found = noticed(package, mutant, lambda: harm(known), SECONDS)
        kind = (found or "no wrong answer").partition(" |")[0]
        known_kinds = {"no wrong answer", "differs", "passed", "not checked"}
        told[kind if kind in known_kinds else "the copy does not run"] += 1
        sys.stderr.write(f"{time.monotonic() - begun:.0f}s {package} {mutant} | {found}\n")
    sys.stdout.write(f"{given.count} copies: {dict(told)}\n")
    return int(told["passed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
