"""What a signature is worth to somebody who trusts some keys for some roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.signing.envelope import (
    MOST_ENVELOPE_BYTES,
    Envelope,
    Signer,
    Statement,
    read_envelope,
    read_statement,
)
from constat.proof.signing.keys import MOST_KEY_BYTES, PublicKey, SigningError, read_public_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.project import KeySetting

VALID: Final = "valid"
NOT_COUNTED: Final = "not counted"
REJECTED: Final = "rejected"
MOST_SIGNATURES: Final = 1_000
MOST_FILE_BYTES: Final = 4 * MOST_ENVELOPE_BYTES
_SHOWN_DIGITS: Final = 16
# Clocks differ; a signature from the day after tomorrow is a mistake or worse.
_AHEAD: Final = timedelta(minutes=5)


@frozen
class TrustedKey:
    """A key and the roles it is trusted for; `None` is every role.

    `expires` is a date: what is signed on it or later does not count. `revoked` is the date on
    which the key was given up; nothing it signed counts any more.
    """

    key: PublicKey
    roles: frozenset[str] | None
    expires: str | None = None
    revoked: str | None = None


@frozen
class Finding:
    """One line of a signature file: `valid`, `not counted` or `rejected`, and why."""

    status: str
    reason: str = ""
    signer: Signer | None = None
    statement: Statement | None = field(default=None, repr=False)


@frozen
class Wanted:
    """What must be there: a signature in each role, and by each key in its role, if it has one.

    Keys are named by their ids. Without `meanings` every meaning will do.
    """

    roles: tuple[str, ...] = ()
    keys: tuple[tuple[str, str | None], ...] = ()
    meanings: tuple[str, ...] = ()


def judge(
    content: bytes,
    trusted: Mapping[str, TrustedKey],
    subject: tuple[str, str, Mapping[str, object]],
    present: str,
) -> tuple[Finding, ...]:
    """Judge each line of a signature file.

    `subject` is the kind, the sha256 (hex) and what a true statement about it says; of what it
    says only the members given are compared. `trusted` is by key id.
    """
    lines = content.split(b"\n")
    if len(content) > MOST_FILE_BYTES or len(lines) - 1 > MOST_SIGNATURES:
        return (Finding(REJECTED, "the file of signatures is too large"),)
    if lines[-1]:
        return (Finding(REJECTED, "the file of signatures does not end with a line end"),)
    if len(set(lines)) != len(lines):
        return (Finding(REJECTED, "a signature stands in the file twice"),)
    return tuple(_judge_line(line, trusted, subject, present) for line in lines[:-1])


def _judge_line(
    line: bytes,
    trusted: Mapping[str, TrustedKey],
    subject: tuple[str, str, Mapping[str, object]],
    present: str,
) -> Finding:
    try:
        envelope = read_envelope(line)
        statement = read_statement(envelope)
    except SigningError as problem:
        return Finding(REJECTED, problem.reason)
    signer = statement.signer
    if wrong := _wrong_subject(statement, subject):
        return Finding(REJECTED, wrong, signer)
    known = trusted.get(envelope.key_id)
    if known is None:
        return Finding(NOT_COUNTED, "nobody here trusts this key", signer)
    if wrong := _wrong_signature(known, envelope):
        return Finding(REJECTED, wrong, signer)
    if doubt := _doubt(known, signer, present):
        return Finding(NOT_COUNTED, doubt, signer)
    return Finding(VALID, "", signer, statement)


def _wrong_subject(statement: Statement, subject: tuple[str, str, Mapping[str, object]]) -> str:
    kind, sha256, says = subject
    if statement.kind != kind:
        return "the statement is not about this kind of thing"
    if sha256 and statement.sha256 != sha256:
        return "the signature is of other bytes"
    for name, value in says.items():
        if statement.says.get(name) != value:
            return f"the signer's {name} is not that of what was signed"
    return ""


def _wrong_signature(known: TrustedKey, envelope: Envelope) -> str:
    if known.key.verifies(envelope.signature, envelope.signed):
        return ""
    return "the signature is not that of its key"


def _doubt(known: TrustedKey, signer: Signer, present: str) -> str:
    if known.revoked is not None:
        return f"the key was revoked on {known.revoked}; whoever has it writes the time"
    if known.expires is not None and signer.time >= known.expires:
        return f"the key has expired: it counts for what was signed before {known.expires}"
    if _moment(signer.time) > _moment(present) + _AHEAD:
        return "the signature is from the future"
    if known.roles is not None and signer.role not in known.roles:
        roles = ", ".join(sorted(known.roles))
        return f"the key is trusted as {roles}, and the signature is as {signer.role}"
    return ""


def _moment(time: str) -> datetime:
    try:
        return datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        # A time that no calendar has is later than any present.
        return datetime.max.replace(tzinfo=UTC) - 2 * _AHEAD


def unmet(findings: Sequence[Finding], wanted: Wanted) -> tuple[str, ...]:
    """Say what is wanted and not there, each in a sentence with the nearest reason."""
    fitting = [
        one.signer
        for one in findings
        if one.status == VALID
        and one.signer is not None
        and (not wanted.meanings or one.signer.meaning in wanted.meanings)
    ]
    missing = [
        f"there is no valid signature as {role}{_meant(wanted)}"
        for role in wanted.roles
        if all(one.role != role for one in fitting)
    ]
    missing += [
        f"there is no valid signature{f' as {role}' if role else ''} by the key {short_id(key)}"
        f"{_meant(wanted)}"
        for key, role in wanted.keys
        if all(one.key != key or role not in {None, one.role} for one in fitting)
    ]
    return tuple(missing)


def _meant(wanted: Wanted) -> str:
    return f" that means {' or '.join(wanted.meanings)}" if wanted.meanings else ""


def short_id(key_id: str) -> str:
    """Give enough of a key's id to tell keys apart."""
    return key_id.removeprefix("sha256:")[:_SHOWN_DIGITS]


# What is said of one key in several places is united, with the narrower bounds; a key that cannot
# be read stops everything, for it might be a revoked one.


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
