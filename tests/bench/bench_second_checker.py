"""How fast both checkers check long proofs of both formats, and how much text the second one is."""

from __future__ import annotations

import gc
import json
import statistics
import sys
from functools import partial
from itertools import pairwise
from typing import Any, Final

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from tests.bench.measuring import Figure, Timing, once, table
from tests.browser.shorten import FOLDER
from tests.check.second import upgraded
from tests.check.writer import Writer, pos, seal
from tests.report.checker.second_checker import evaluate, node

LENGTHS: Final = (10_000, 65_000)
GOAL: Final = 50_000
GOAL_OF_FIRST: Final = 25_000
LARGEST_SCRIPT: Final = 120_000
ROUNDS: Final = 5

TIMED: Final = """
const main = ({ text, rounds }) => {
  const times = [];
  for (let i = 0; i < rounds; i += 1) {
    const start = process.hrtime.bigint();
    const before = process.cpuUsage();
    const report = constatCheck(text, {});
    const { user, system } = process.cpuUsage(before);
    if (!report.accepted) { throw new Error(JSON.stringify(report)); }
    times.push([Number(process.hrtime.bigint() - start) / 1e9, (user + system) / 1e6]);
  }
  return times;
};
"""


def path_of(length: int) -> bytes:
    """Return the certificate of a path, half its nodes edges and half steps of the recursion."""
    writer = Writer()
    writer.outside("edge", "a:symbol b:symbol")
    writer.declare("reach", "a:symbol b:symbol")
    first = writer.rule("first", pos("reach", "a", "b"), pos("edge", "a", "b"))
    step = writer.rule(
        "step", pos("reach", "a", "c"), pos("reach", "a", "b"), pos("edge", "b", "c")
    )
    stops = [f"N{number:06}" for number in range(length // 2 + 1)]
    edges = [[one, other] for one, other in pairwise(stops)]
    writer.facts("edge", edges)
    start, reached = stops[0], 0
    for number, (one, other) in enumerate(edges):
        fact: dict[str, Any] = {"kind": "fact", "fact": ["edge", [one, other]], "facts": 0}
        writer.tree["nodes"].append({**fact, "row": number, "confidence": "1"})
        edge = len(writer.tree["nodes"]) - 1
        if number == 0:
            reached = writer.derived(first, [start, other], {"a": one, "b": other}, [edge])
        else:
            bind = {"a": start, "b": one, "c": other}
            reached = writer.derived(step, [start, other], bind, [reached, edge])
    return writer.conclude("PROVED", "reach", start, stops[-1]).data()


def rate(name: str, length: int, timings: list[Timing], goal: int) -> Figure:
    """Return how many nodes a second are checked; no run is left out, as a page checks once."""
    clock = statistics.median(length / one.clock for one in timings)
    processor = statistics.median(length / one.processor for one in timings)
    shown = [f"{value:,.0f} nodes/s" for value in (clock, processor, goal)]
    return Figure(name, shown[0], shown[1], f"> {shown[2]}", clock >= goal)


def measure() -> list[Figure]:
    """Time both checkers on long paths; without a JavaScript engine there is nothing to time."""
    found: list[Figure] = []
    if node() is None:
        return found
    for length in LENGTHS:
        old = path_of(length)
        for form, data in ("/1", old), ("/2", seal(upgraded(json.loads(old)))):
            times = evaluate(checker_source() + TIMED, {"text": data.decode(), "rounds": ROUNDS})
            size = f"{length:,} nodes of {form} ({len(data) / 1e6:.1f} MB)"
            timings = [Timing(*one) for one in times]
            found.append(rate(f"second checker, {size}", length, timings, GOAL))
            first = [once(partial(check_certificate, data)) for _ in range(ROUNDS)]
            found.append(rate(f"first checker, {size}", length, first, GOAL_OF_FIRST))
    script = (FOLDER / "checker.min.js").stat().st_size
    goal = f"< {LARGEST_SCRIPT:,} B"
    found.append(
        Figure(
            "the second checker as a page holds it",
            f"{script:,} B",
            "",
            goal,
            script < LARGEST_SCRIPT,
        )
    )
    return found


if __name__ == "__main__":
    # As the commands set it, which check one certificate each.
    gc.set_threshold(50_000, 20, 20)
    sys.stdout.write(table(measure()))
