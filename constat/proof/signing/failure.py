"""Why a key, an envelope or a statement cannot be used.

The reason is a sentence without a capital and without a full stop, for a message of ours; it never
holds key material. `kind` is `passphrase` where another passphrase would help.
"""

from __future__ import annotations


class SigningError(Exception):
    """Something that was to be signed with, read or checked is not what it has to be."""

    def __init__(self, reason: str, kind: str = "form") -> None:
        self.reason = reason
        self.kind = kind
        super().__init__(reason)
