"""The keys that a project trusts, read from their files.

In: the settings of `keys:` in a configuration. Out: `TrustedKey` by key id. Invariant: what is said
of one key in several places is united, with the narrower bounds; a key that cannot be read stops
everything, for it might be a revoked one. Example: a key trusted as approver and as auditor is one
`TrustedKey` with both roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.signing.failure import SigningError
from constat.proof.signing.keys import MOST_KEY_BYTES, read_public_key
from constat.proof.signing.trust import TrustedKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.project import KeySetting


def configured_keys(settings: Iterable[KeySetting]) -> dict[str, TrustedKey]:
    """Read keys of a project. Raises `ConstatError` for one that cannot be read."""
    trusted: dict[str, TrustedKey] = {}
    for setting in settings:
        merge_key(trusted, _configured(setting))
    return trusted


def _configured(setting: KeySetting) -> TrustedKey:
    try:
        with setting.file.open("rb") as stream:
            key = read_public_key(stream.read(MOST_KEY_BYTES + 1))
    except (OSError, SigningError) as problem:
        reason = problem.reason if isinstance(problem, SigningError) else problem.strerror
        message = f"the key `{setting.name}` cannot be read: {reason}"
        raise ConstatError([Diagnostic("C0745", message, setting.span)]) from None
    return TrustedKey(key, frozenset(setting.roles), setting.expires, setting.revoked)


def merge_key(trusted: dict[str, TrustedKey], one: TrustedKey) -> None:
    """Unite what is known of a key: the roles of both, and the narrower bounds."""
    known = trusted.get(one.key.id)
    if known is None:
        trusted[one.key.id] = one
        return
    # A key that was given without a role counts for those that are known of it otherwise.
    roles = one.roles if known.roles is None else known.roles | (one.roles or frozenset())
    trusted[one.key.id] = TrustedKey(
        one.key,
        roles,
        min((day for day in (known.expires, one.expires) if day is not None), default=None),
        min((day for day in (known.revoked, one.revoked) if day is not None), default=None),
    )
