"""A proof that is deeper than Python recurses is exported like any other."""

from __future__ import annotations

import itertools
import json
import sys
from functools import cache

import pytest

from constat.check import check_certificate
from constat.proof.formats import FORMATS, format_named, write_format
from tests.check.writer import Writer, pos

DEEP = 1_100
DRAWN = frozenset({"html", "markdown", "pdf", "svg", "dot", "mermaid"})
QUICK = ("csv", "graphml", "lean", "nemo", "openlineage", "prov-n")


@cache
def chain() -> bytes:
    """Return a proof in which each step rests on the one before."""
    w = Writer()
    w.outside("start", "x:number")
    w.outside("next", "x:number y:number")
    w.declare("up", "x:number")
    w.rule("first", pos("up", "x"), pos("start", "x"))
    w.rule("then", pos("up", "y"), pos("up", "x"), pos("next", "x", "y"))
    # Rows stand in the order of their texts, and these have as many digits.
    numbers = [str(number) for number in range(10_000, 10_000 + DEEP + 1)]
    w.facts("start", [[numbers[0]]])
    w.facts("next", [list(pair) for pair in itertools.pairwise(numbers)])
    up = w.derived(0, [numbers[0]], {"x": numbers[0]}, [w.given("start", numbers[0])])
    for here, there in itertools.pairwise(numbers):
        step = w.given("next", here, there)
        up = w.derived(1, [there], {"x": here, "y": there}, [up, step])
    return w.conclude("PROVED", "up", numbers[-1]).data()


def test_the_proof_is_accepted_and_deeper_than_the_stack() -> None:
    assert check_certificate(chain()).accepted
    assert sys.getrecursionlimit() < len(json.loads(chain())["nodes"])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_depth_costs_no_recursion(name: str) -> None:
    assert str(10_000 + DEEP).encode() in write_format(format_named(name), chain())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [one.name for one in FORMATS if one.name not in DRAWN and one.name not in QUICK]
)
def test_depth_costs_no_recursion_in_the_others(name: str) -> None:
    assert write_format(format_named(name), chain())
