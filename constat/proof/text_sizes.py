"""Whether a proof over structures has more text than a certificate may.

In: a proof.  Out: a truth.  Invariant: nothing is encoded to find out, so that what is too large is
left open before it fills the memory.  A structure stands in full in each row that has it: a walk
down a list of n cells shows n tails, whose texts grow with the square of n.

Example: the length of a list of 1,000 numbers takes 20 MB, of 10,000 it is too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.logic import Kind
from constat.proof.canonical import canonical
from constat.proof.notation import SharedValues, structures_in
from constat.proof.proofs import RuleNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.proof.proofs import Proof

# A checker reads 256 MiB (FORMAT.md, section 1); what is not counted here is small beside it.
MOST_TEXT: Final = 200_000_000
_SHORT: Final = 64


def is_too_long(proof: Proof) -> bool:
    """Tell whether the texts of a proof are longer than can be written down and checked."""
    predicates = proof.reading.program.program.predicates.values()
    if not any(Kind.STRUCTURE in one.kinds for one in predicates):
        return False
    left = MOST_TEXT
    for row in _rows(proof):
        left -= sum(_length(cell) for cell in row if isinstance(cell, str))
        if left < 0:
            # Most of it may be lists whose rest is another cell, which is written once.
            return _shared_length(proof) > MOST_TEXT
    return False


def _shared_length(proof: Proof) -> int:
    cells = structures_in(proof)
    shared = SharedValues(cells)
    alone = sum(_length(text) for text in cells if text not in shared.places)
    return alone + sum(len(canonical(entry)) for entry in shared.entries)


def _rows(proof: Proof) -> Iterator[Iterable[object]]:
    for node in proof.nodes.values():
        yield node.row
        if isinstance(node, RuleNode):
            yield node.values
    inside = proof.slice.inside
    for rows in inside.shown_rows().values():
        yield from rows
    for entry in inside.entries.values():
        yield from entry.keys


def _length(text: str) -> int:
    return len(text) if len(text) < _SHORT else len(canonical(text))
