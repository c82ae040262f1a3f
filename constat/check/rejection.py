"""How the checker says no: a reason code, a sentence, and the place in the certificate.

In: nothing.  Out: ``Rejected``, the only exception by which one pass stops the whole check, and
``each``, which runs a step on every element of a list and completes the place.  Invariant: the
place is built from inside out while the exception travels, so a check that passes pays nothing.

Example: ``Rejected("premise", "...")`` raised for node 7 ends as place ``nodes[7]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Element = TypeVar("Element")
Result = TypeVar("Result")


class Rejected(Exception):  # noqa: N818  a verdict on the certificate, not an error of the checker
    """The certificate is not accepted; ``code`` names the reason, ``place`` where."""

    def __init__(self, code: str, reason: str, place: str = "") -> None:
        super().__init__(code, reason, place)
        self.code = code
        self.reason = reason
        self.place = place

    def within(self, outer: str) -> None:
        """Put the place inside ``outer``: ``row`` within ``facts[2]`` is ``facts[2].row``."""
        joint = "." if self.place and not self.place.startswith("[") else ""
        self.place = outer + joint + self.place


def each(name: str, elements: Iterable[Element], step: Callable[[Element], Result]) -> list[Result]:
    """Return ``step`` of every element; a rejection is placed at ``name[index]``."""
    results: list[Result] = []
    try:
        for element in elements:
            results.append(step(element))  # noqa: PERF401  the length is the place of a failure
    except Rejected as rejected:
        rejected.within(f"{name}[{len(results)}]")
        raise
    return results


def inside(name: str, value: Element, step: Callable[[Element], Result]) -> Result:
    """Return ``step`` of the value; a rejection is placed at ``name``."""
    try:
        return step(value)
    except Rejected as rejected:
        rejected.within(name)
        raise
