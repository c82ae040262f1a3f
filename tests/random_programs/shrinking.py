"""Makes a program smaller as long as two ways of evaluating it still differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.random_programs.drawing import RandomProgram

MOST_TRIES = 400


def smallest(drawn: RandomProgram, differs: Callable[[RandomProgram], bool]) -> RandomProgram:
    """Leave out rules, rows, heads and literals, one at a time, until nothing can be left out."""
    tries = 0
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(drawn):
            tries += 1
            if tries > MOST_TRIES:
                return drawn
            if differs(smaller):
                drawn, progress = smaller, True
                break
    return drawn


def _smaller(drawn: RandomProgram) -> Iterator[RandomProgram]:
    rules = drawn.rules
    for place in range(len(rules)):
        yield replace(drawn, rules=rules[:place] + rules[place + 1 :])
    for place, rule in enumerate(rules):
        for part in ("heads", "body"):
            pieces = getattr(rule, part)
            for cut in range(len(pieces)):
                kept = pieces[:cut] + pieces[cut + 1 :]
                if kept or part == "body":
                    shorter = replace(rule, **{part: kept})
                    yield replace(drawn, rules=(*rules[:place], shorter, *rules[place + 1 :]))
    for name, rows in drawn.rows.items():
        for place in range(len(rows)):
            fewer = {**drawn.rows, name: rows[:place] + rows[place + 1 :]}
            yield replace(drawn, rows=fewer)
