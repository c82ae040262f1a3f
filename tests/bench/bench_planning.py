"""How long it takes to plan many rules, all of them needed, from parsed text to stages.

In: nothing. Out: a table. Run it with `python -m tests.bench.bench_planning`; the figures are in
README.md beside it.
"""

from __future__ import annotations

import sys

from constat.analysis import analyse
from constat.diagnostics import Diagnostic
from constat.logic import Atom, Variable
from constat.plan.forward import PlanOptions, Sizes, plan_forward
from constat.syntax import parse_text
from tests.bench.measuring import Figure, figure, several, table

ROUNDS = 7
# A goal of `design/performance.md`, in milliseconds by the number of rules.
GOALS = {100: 30, 2_000: 300}
SHAPES = (
    "r{0}(?a, ?b) :- r{1}(?a, ?b), ?a != {0}.",
    "r{0}(?a, ?b) :- r{1}(?a, ?b), !r{2}(?b, ?a).",
    "r{0}(?a, ?b) :- r{1}(?a, ?c), r0(?c, ?b).",
)


def chain(count: int) -> str:
    """Write a program whose last predicate needs all of its rules."""
    lines = [".decl r0(a: number, b: number)", '.input r0(source="t", query="q")']
    for number in range(1, count + 1):
        rule = SHAPES[number % len(SHAPES)].format(number, number - 1, max(number - 2, 0))
        lines += [f".decl r{number}(a: number, b: number)", rule]
    return "\n".join(lines) + "\n"


def planned(count: int) -> Figure:
    """Time the planning of so many rules."""
    found: list[Diagnostic] = []
    program = analyse(parse_text(chain(count), "chain.dl", found), found)
    if program is None or found:
        raise AssertionError(found)
    goal = Atom(f"r{count}", (Variable("a"), Variable("b")))

    def run() -> None:
        plan = plan_forward(program, [goal], Sizes({}), PlanOptions())
        assert len(plan.stages) >= count // 2

    name = f"planning {count:,} rules"
    return figure(name, several(run, ROUNDS), GOALS[count] / 1000, milliseconds=True)


def measure() -> list[Figure]:
    """Take the figures."""
    return [planned(count) for count in GOALS]


def main() -> int:
    """Print the table."""
    sys.stdout.write(table(measure()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
