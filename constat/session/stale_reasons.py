"""Say why a leaf that is not as it was makes a conclusion stale.

In: a `Leaf` of a certificate that was read again. Out: a `Reason`, or none where it is the same.
Invariant: "the source did not answer" is a kind of its own, because nothing follows from it.
Example: a configured value that is gone is of kind `configuration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constat.session.rereading import Leaf


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a conclusion does not simply stand.

    `kind` is `rejected`, `rules`, `configuration`, `retracted`, `stated`, `source`, `age`, or
    `unreached` where a source did not answer.
    """

    kind: str
    text: str


def reason_of(leaf: Leaf) -> Reason | None:
    """Give the reason that a leaf is, if it is one."""
    if leaf.status == "same":
        return None
    if not leaf.reached:
        return Reason("unreached", f"{leaf.text}: {leaf.detail}")
    if leaf.status not in {"gone", "new"}:
        said = f": {leaf.detail}" if leaf.detail else ""
        return Reason("source", f"{leaf.text} has changed{said}")
    gone = leaf.status == "gone"
    kind, word = "source", "there"
    if leaf.origin == "CONFIG":
        kind, word = "configuration", "configured"
    elif leaf.origin == "USER_PROVIDED":
        kind, word = ("retracted" if gone else "stated"), "stated"
    return Reason(kind, f"{leaf.text} is {f'not {word} any more' if gone else f'{word} now'}")
