"""The certificates that a certificate carries, because facts of it rest on them (FORMAT.md, 5a).

In: the bytes of certificates that a checker has accepted.  Out: their place among ``proofs``, and
what is taken over from them.  Invariant: each stands there once, byte for byte as it was found.

Example: two facts that two certificates prove make ``proofs`` two elements long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST: Final = 256
MOST_BYTES: Final = 200 << 20


class Nested:
    """Numbers nested certificates."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._read: list[dict[str, Any]] = []

    def add(self, certificate: bytes) -> int:
        """Return the index of a certificate."""
        number = self._numbers.get(certificate)
        if number is None:
            number = self._numbers[certificate] = len(self._numbers)
            self._read.append(json.loads(certificate))
        return number

    def attested(self, certificate: bytes) -> list[set[str]]:
        """Return for each assumption of its verdict what was said by whom, as hashes."""
        read = self._read[self._numbers[certificate]]
        return [set(read["assumptions"][one]["attestations"]) for one in read["header"]["under"]]

    def levels(self) -> list[str | None]:
        """Return the levels of completeness they rest on."""
        return [one["header"]["level"] for one in self._read]

    def check(self) -> None:
        """Raise `ConstatError` where there are more than a checker accepts."""
        count, size = sum(map(_certificates, self._read)), sum(map(len, self._numbers))
        if count > MOST or size > MOST_BYTES:
            message = f"the proof rests on {count} certificates of {size:,} bytes"
            note = f"a certificate holds {MOST} others and {MOST_BYTES >> 20} MiB of them at most"
            hint = "ask for fewer facts at once, or prove a part of the goal by itself"
            raise ConstatError([Diagnostic("C0691", message, note=note, help=hint)])

    def text(self) -> str:
        """Return the member ``proofs`` in canonical form, which the certificates have already."""
        return f"[{','.join(one.decode('ascii').rstrip() for one in self._numbers)}]"


def _certificates(document: Mapping[str, Any]) -> int:
    return 1 + sum(map(_certificates, document["proofs"]))
