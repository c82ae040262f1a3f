"""Join the answers of two evaluations of a query, in the second of which words fill null cells.

In: the answers without and with what somebody says of null cells. Out: answers in which each row
is called what `prove` calls it. Invariant: what the first evaluation decides stands, so no word
turns it round (semantics 11 and 26e); of what it leaves open the second one says what it knows.
Example: a box of unknown size is UNRESOLVED as a big one; as eva says that it has 20, it is PROVED
UNDER that.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from constat.engine import told_apart
from constat.evaluation import Verdict
from constat.logic import has_null_cells, row_order
from constat.session.answers import Settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Row
    from constat.session.answers import Answers

MOST_JOINED: Final = 200_000
"""Rows of more answers stay where they were computed: what is open there is asked by itself."""


def joined(first: Answers, second: Answers) -> Answers:
    """Say of each row what the first answers decide, else what the second ones do."""
    if _was_stopped(second) or max(len(first), len(second)) > MOST_JOINED:
        return first
    verdicts = {row: first.weak.get(row, Verdict.PROVED) for row in first.sure}
    later = {row: second.weak.get(row, Verdict.PROVED) for row in second.sure}
    decided = {row for row, verdict in verdicts.items() if verdict is not Verdict.UNRESOLVED}
    closed, left_out = not second.open_shapes, 0
    for row in verdicts.keys() - decided:
        if row in later:
            verdicts[row] = later[row]
        elif closed:
            # No row that may be this one is left.
            del verdicts[row]
            left_out += 1
    if first.open_shapes:
        verdicts = {**later, **verdicts}
    return _with_rows(first, second, verdicts, decided, left_out)


def _was_stopped(answers: Answers) -> bool:
    return answers.stopped not in {"", "settled"}


def _with_rows(
    first: Answers,
    second: Answers,
    verdicts: Mapping[Row, Verdict],
    decided: set[Row],
    left_out: int,
) -> Answers:
    nulls = any(map(has_null_cells, verdicts))
    rows = sorted(verdicts, key=row_order if nulls else None)
    weak = {row: verdicts[row] for row in rows if verdicts[row] is not Verdict.PROVED}
    shapes = second.open_shapes if first.open_shapes else 0
    is_open = bool(shapes) or Verdict.UNRESOLVED in weak.values() or _was_stopped(first)
    excluded = first.excluded + left_out + (second.excluded if first.open_shapes else 0)
    under = Settled.UNDER if weak or excluded else Settled.FOR_CERTAIN
    notes = {row: (first if row in decided else second).notes.get(row) for row in rows}
    return replace(
        second,
        settled=Settled.OPEN if is_open else under,
        assumptions=tuple(dict.fromkeys(chain(first.assumptions, second.assumptions))),
        reasons=(second.reasons or first.reasons) if is_open else (),
        open_shapes=shapes,
        excluded=excluded,
        stopped=first.stopped,
        sure=rows,
        weak=weak,
        notes={row: one for row, one in notes.items() if one is not None},
        in_bulk=first.in_bulk or second.in_bulk,
        recount=None,
        fewest=len(told_apart(dict.fromkeys(rows, 1))) if nulls else len(rows),
    )
