"""The assumptions that each step of a proof rests on by itself.

In: a ``Document`` and its steps.  Out: for each step the indices of assumptions, each once.
Invariant: besides the assumption that a row or a rule names, these are those of a nested proof, and
of an absence, an aggregate or a closed set what was declared complete or fell through for it.

Example: the closed set of ``gets_partner_price`` takes that no fact of ``partner`` is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.proof.export.document import Document, Members
    from constat.proof.export.steps import Step


def taken_by(document: Document, steps: Sequence[Step]) -> tuple[tuple[int, ...], ...]:
    """Return for each step the assumptions that it rests on by itself."""
    under = frozenset(document.header["under"])
    accepted = [one for one in document.members["open"] if one["assumption"] in under]
    return tuple(tuple(dict.fromkeys(_taken(document, step, accepted))) for step in steps)


def _taken(document: Document, step: Step, accepted: Sequence[Members]) -> Iterator[int]:
    """Yield the assumptions of one step, those of a nested proof included."""
    if step.assumption is not None:
        yield step.assumption
    if step.kind in {FACT, ROW}:
        for source in step.sources:
            proof = document.sources[source].get("proof")
            yield from proof["assumptions"] if proof else ()
    elif step.kind != RULE:
        yield from _closed(document, step, accepted)


def _closed(document: Document, step: Step, accepted: Sequence[Members]) -> Iterator[int]:
    """Yield what was declared complete or fallen through: open rows that count no more."""
    names: Sequence[str] = (step.predicate,)
    if step.kind == CLOSURE:
        names = document.reads(step.predicate)
    elif step.kind == AGGREGATE:
        node, _, literal = step.name.removeprefix("aggregate").partition("_")
        names = document.literal_predicates(document.nodes[int(node)], int(literal) - 1)
    for one in accepted:
        met = one["predicate"] in names
        if met and (step.kind != ABSENCE or meets(one["row"], step.row)):
            yield one["assumption"]


def meets(row: Sequence[str | None], pattern: Sequence[str | None]) -> bool:
    """Tell whether some row can be of both; ``None`` is any value."""
    return all(
        mine is None or cell is None or mine == cell
        for mine, cell in zip(row, pattern, strict=True)
    )
