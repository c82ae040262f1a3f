"""Bytes that messages speak of by digest: images, and whatever is too heavy to be shown.

In: a reference (``sha256:<hex>``) and bytes.  Out: the bytes.  Invariant: a reference names one
content for ever.  ``KeyError`` for a reference that nobody has put there.
"""

from __future__ import annotations

from typing import Protocol


class Attachments(Protocol):
    """Where bytes are kept."""

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes; the same bytes twice change nothing."""
        ...

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        ...


class HeldAttachments:
    """Attachments in memory."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes."""
        self._held[reference] = content

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        return self._held[reference]
