"""Signatures of people and programs under certificates, log heads and snapshots.

In: bytes and keys. Out: DSSE envelopes, and what each signature in a file is worth. Invariants:
pure functions over bytes; a certificate's own bytes never change, signatures lie beside it; no
private key is part of a message, a `repr` or a result. The library of ciphers loads when a key is
made, used or checked. Reference: DSSE v1 and in-toto Statement v1.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.patterns import regex
from constat.proof.encoding import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from constat.project import KeySetting

# Ed25519 keys and their files.

# The reason is a sentence without a capital and without a full stop, for a message of ours; it
# never holds key material. `kind` is `passphrase` where another passphrase would help.


class SigningError(Exception):
    """Something that was to be signed with, read or checked is not what it has to be."""

    def __init__(self, reason: str, kind: str = "form") -> None:
        self.reason = reason
        self.kind = kind
        super().__init__(reason)


# Every key that a generator makes passes.

_P: Final = 2**255 - 19
# The y of the two pairs of points of order 8; each other order below has one y.
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


def refused_point(raw: bytes) -> str:
    """Say why these 32 bytes are no usable public key; an empty text where they are one."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P:
        return "the key is not in its one spelling"
    return "the key is a point of small order, under which anybody can sign" if y in _SMALL else ""


# Reference: RFC 8410 (the algorithm in keys), RFC 7468 (text around PEM), RFC 8032 (Ed25519).

MOST_KEY_BYTES: Final = 16_384
LONGEST_NAME: Final = 200
_ROLE: Final = regex(r"[a-z][a-z0-9-]{0,39}\Z")
# SEQUENCE { SEQUENCE { OID 1.3.101.112 } BIT STRING of 32 bytes }: the only form there is.
_SPKI: Final = bytes.fromhex("302a300506032b6570032100")
_RAW: Final = 32
_BEGIN: Final = regex(rb"^-----BEGIN ([A-Z0-9 ]+)-----[ \t]*$", re.MULTILINE)
_PUBLIC: Final = b"PUBLIC KEY"
_PRIVATE: Final = (b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY")


@frozen
class PublicKey:
    """A public key: 32 bytes."""

    raw: bytes

    @property
    def id(self) -> str:
        """Give `sha256:<hex>` over the DER form of the key."""
        return "sha256:" + hashlib.sha256(_SPKI + self.raw).hexdigest()

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether the owner of this key signed the message."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  heavy library, loaded on first use
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  heavy library, loaded on first use

        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@frozen
class SigningKey:
    """A private key with the role and the name that its owner signs under."""

    role: str
    name: str
    public: PublicKey
    private: Ed25519PrivateKey = field(repr=False, compare=False)

    def sign(self, message: bytes) -> bytes:
        """Sign; the same message gives the same 64 bytes."""
        return self.private.sign(message)


def check_role(role: str) -> None:
    """Raise `SigningError` unless it is a name such as `approver`."""
    if not _ROLE.match(role):
        raise SigningError("a role is lower-case letters, digits and `-`, at most 40 of them")


def check_name(name: str) -> None:
    """Raise `SigningError` unless it is one printable line."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise SigningError(f"a name is one printable line of 1 to {LONGEST_NAME} characters")


def generate_key(role: str, name: str) -> SigningKey:
    """Make a key from the randomness of the system."""
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  heavy library, loaded on first use

    check_role(role)
    check_name(name)
    return _signing_key(ed25519.Ed25519PrivateKey.generate(), role, name)


def _signing_key(private: Ed25519PrivateKey, role: str, name: str) -> SigningKey:
    return SigningKey(role, name, PublicKey(private.public_key().public_bytes_raw()), private)


def write_public_key(key: SigningKey) -> bytes:
    """Write the file of the public key."""
    body = base64.b64encode(_SPKI + key.public.raw).decode()
    return f"{_heading(key)}-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n".encode()


def write_signing_key(key: SigningKey, passphrase: bytes | None) -> bytes:
    """Write the file of the private key, encrypted where there is a passphrase."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  heavy library, loaded on first use

    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase)
    pem = key.private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    return _heading(key).encode() + pem


def _heading(key: SigningKey) -> str:
    return f"Role: {key.role}\nName: {key.name}\nKey: {key.public.id}\n"


def read_public_key(content: bytes) -> PublicKey:
    """Read the file of a public key; the lines before it are for people and not read."""
    block = _block(content)
    if _BEGIN.search(block)[1] in _PRIVATE:  # type: ignore[index]  # `_block` begins with one
        raise SigningError("this is a private key; give the file of the public one")
    lines = block.decode("ascii", "replace").strip().splitlines()
    if lines[0].strip() != "-----BEGIN PUBLIC KEY-----":
        raise SigningError("this is no public key")
    if lines[-1].strip() != "-----END PUBLIC KEY-----":
        raise SigningError("the key has no end, or something stands behind it")
    written = "".join(line.strip() for line in lines[1:-1])
    try:
        der = base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        raise SigningError("the key is not in base64") from None
    if base64.b64encode(der).decode() != written:
        raise SigningError("the key is not in its one spelling")
    if len(der) != len(_SPKI) + _RAW or not der.startswith(_SPKI):
        raise SigningError("an unknown algorithm or form; only Ed25519 keys are used")
    raw = der[len(_SPKI) :]
    if reason := refused_point(raw):
        raise SigningError(reason)
    return PublicKey(raw)


def read_signing_key(content: bytes, passphrase: bytes | None) -> SigningKey:
    """Read the file of a private key, with the role and the name before it."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  heavy library, loaded on first use
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  heavy library, loaded on first use
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  heavy library, loaded on first use

    block = _block(content)
    label = _BEGIN.search(block)[1]  # type: ignore[index]  # `_block` begins with one
    if label == _PUBLIC:
        raise SigningError("this is a public key; give the file of the private one")
    if label not in _PRIVATE:
        raise SigningError("this is no private key in PKCS #8 form")
    if label == _PRIVATE[1] and not passphrase:
        raise SigningError("the key is encrypted and there is no passphrase", "passphrase")
    try:
        private = serialization.load_pem_private_key(
            block, passphrase if label == _PRIVATE[1] else None
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The library's own words may speak of key material.
        if label == _PRIVATE[1]:
            raise SigningError("the passphrase is not that of the key", "passphrase") from None
        raise SigningError("the private key cannot be read") from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise SigningError("an unknown algorithm; only Ed25519 keys are used")
    role, name = _owner(content[: content.index(b"-----BEGIN ")])
    return _signing_key(private, role, name)


def _owner(heading: bytes) -> tuple[str, str]:
    """Read who signs with a private key."""
    try:
        lines = [line.partition(": ") for line in heading.decode().splitlines()]
    except UnicodeDecodeError:
        raise SigningError("the lines above the key are not UTF-8") from None
    told = {word: text for word, _, text in lines}
    role, name = told.get("Role", ""), told.get("Name", "")
    if not role or not name:
        raise SigningError("the lines `Role: ...` and `Name: ...` are missing above the key")
    check_role(role)
    check_name(name)
    return role, name


def _block(content: bytes) -> bytes:
    """Give the one PEM block of a file."""
    if len(content) > MOST_KEY_BYTES:
        raise SigningError("the file is too large for a key")
    found = list(_BEGIN.finditer(content))
    if not found:
        raise SigningError("there is no key in the file")
    if len(found) > 1:
        raise SigningError("there is more than one key in the file")
    return content[found[0].start() :]


MOST_ENVELOPE_BYTES: Final = 1 << 20
_SIGNATURE_BYTES: Final = 64
_LONGEST_TYPE: Final = 200


@frozen
class Envelope:
    """A payload, its type, and one signature with the id of its key."""

    payload: bytes
    payload_type: str
    key_id: str
    signature: bytes

    @property
    def signed(self) -> bytes:
        """Give the bytes that the signature is over."""
        return pae(self.payload_type, self.payload)


def pae(payload_type: str, payload: bytes) -> bytes:
    """Give the pre-authentication encoding; lengths are decimal counts of bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def write_envelope(envelope: Envelope) -> bytes:
    """Write an envelope as one line, with its end."""
    document = {
        "payload": base64.b64encode(envelope.payload).decode(),
        "payloadType": envelope.payload_type,
        "signatures": [
            {"keyid": envelope.key_id, "sig": base64.b64encode(envelope.signature).decode()}
        ],
    }
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def read_envelope(content: bytes) -> Envelope:
    """Read an envelope; raises `SigningError` for anything that is not exactly one."""
    if len(content) > MOST_ENVELOPE_BYTES:
        raise SigningError("the envelope is too large")
    document = read_object(content, "the envelope")
    members(document, ("payload", "payloadType", "signatures"), "the envelope")
    signatures = document["signatures"]
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise SigningError("the envelope has not exactly one signature; each signer has a line")
    members(signatures[0], ("keyid", "sig"), "the signature")
    kind, key_id = document["payloadType"], signatures[0]["keyid"]
    if not isinstance(kind, str) or not isinstance(key_id, str) or len(kind) > _LONGEST_TYPE:
        raise SigningError("the type or the id of the key is not a text")
    signature = _bytes(signatures[0]["sig"], "the signature")
    if len(signature) != _SIGNATURE_BYTES:
        raise SigningError(f"the signature has not {_SIGNATURE_BYTES} bytes")
    return Envelope(_bytes(document["payload"], "the payload"), kind, key_id, signature)


def read_object(content: bytes, what: str) -> dict[str, Any]:
    """Read a JSON object without duplicate members; raises `SigningError`."""
    try:
        value = json.loads(content, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise SigningError(f"{what} is not JSON, or has a member twice") from None
    if not isinstance(value, dict):
        raise SigningError(f"{what} is not a JSON object")
    return value


def members(value: object, names: tuple[str, ...], what: str) -> None:
    """Raise `SigningError` unless it is an object with these members and no other."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise SigningError(f"{what} has not exactly the members {', '.join(names)}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member twice")
    return found


def _refuse(name: str) -> None:
    raise ValueError(name)


def _bytes(text: object, what: str) -> bytes:
    if not isinstance(text, str):
        raise SigningError(f"{what} is not a text")
    try:
        found = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise SigningError(f"{what} is not in base64") from None
    # Unused bits at the end, or line ends, would be other spellings of the same bytes.
    if base64.b64encode(found).decode() != text:
        raise SigningError(f"{what} is not in the one spelling of base64")
    return found


STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
CERTIFICATE_TYPE: Final = "constat:signature/v1"
LOG_HEAD_TYPE: Final = "constat:log-head/v1"
SNAPSHOT_TYPE: Final = "constat:snapshot/v1"
RULE_TYPE: Final = "constat:rule-approval/v1"
FOLDER_TYPE: Final = "constat:folder/v1"
LIBRARY_TYPE: Final = "constat:library/v1"
MEANINGS: Final = ("produced", "approved", "reviewed", "audited")
_SUBJECTS: Final = (
    (CERTIFICATE_TYPE, "certificate", MEANINGS),
    (LOG_HEAD_TYPE, "log-head", ("anchored",)),
    (SNAPSHOT_TYPE, "snapshot", ("committed",)),
    (RULE_TYPE, "rule", ("approved",)),
    (FOLDER_TYPE, "folder", MEANINGS),
    (LIBRARY_TYPE, "library", ("published",)),
)
_HEX: Final = regex(r"[0-9a-f]{64}\Z")
_TIME: Final = regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)


@frozen
class Signer:
    """Who signs, in which role, and what the signature means."""

    role: str
    name: str
    meaning: str
    key: str
    time: str


@frozen
class Statement:
    """What is said about the bytes with this sha256 (hex); `says` depends on the kind."""

    kind: str
    sha256: str
    signer: Signer
    says: Mapping[str, object] = field(hash=False)


def meanings_of(kind: str) -> tuple[str, ...]:
    """Give what a signature may mean under a statement of this kind; none where it is unknown."""
    return next((meanings for one, _, meanings in _SUBJECTS if one == kind), ())


def sign_statement(statement: Statement, key: SigningKey) -> Envelope:
    """Sign a statement whose signer is the owner of the key."""
    payload = _payload(statement)
    unsigned = Envelope(payload, PAYLOAD_TYPE, key.public.id, b"")
    signature = key.sign(unsigned.signed)
    # What is written is read first: nothing leaves that the reader would refuse.
    read_statement(Envelope(payload, PAYLOAD_TYPE, key.public.id, signature))
    return Envelope(payload, PAYLOAD_TYPE, key.public.id, signature)


def read_statement(envelope: Envelope) -> Statement:
    """Read what an envelope says, whether or not the signature is good; raises `SigningError`."""
    if envelope.payload_type != PAYLOAD_TYPE:
        raise SigningError("the payload is no in-toto statement")
    document = read_object(envelope.payload, "the statement")
    members(document, ("_type", "subject", "predicateType", "predicate"), "the statement")
    if document["_type"] != STATEMENT_TYPE:
        raise SigningError("the payload is no in-toto statement of version 1")
    kind, predicate = document["predicateType"], document["predicate"]
    if not meanings_of(str(kind)):
        raise SigningError("the statement is of a kind that is not known here")
    members(predicate, ("signer", "says"), "what the statement says")
    members(predicate["signer"], ("role", "name", "meaning", "key", "time"), "the signer")
    if not isinstance(predicate["says"], dict):
        raise SigningError("what the statement says is not an object")
    signer = _signer(predicate["signer"], kind)
    if signer.key != envelope.key_id:
        raise SigningError("the statement names another key than the envelope")
    statement = Statement(kind, _subject(document["subject"], kind), signer, predicate["says"])
    if _payload(statement) != envelope.payload:
        raise SigningError("the statement is not in canonical form")
    return statement


def _payload(statement: Statement) -> bytes:
    name = next(name for kind, name, _ in _SUBJECTS if kind == statement.kind)
    signer = statement.signer
    document = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": statement.sha256}}],
        "predicateType": statement.kind,
        "predicate": {
            "signer": {
                "role": signer.role,
                "name": signer.name,
                "meaning": signer.meaning,
                "key": signer.key,
                "time": signer.time,
            },
            "says": dict(statement.says),
        },
    }
    return canonical(document).encode()


def _signer(told: Mapping[str, object], kind: str) -> Signer:
    texts = [told[name] for name in ("role", "name", "meaning", "key", "time")]
    role, name, meaning, key, time = (one if isinstance(one, str) else "" for one in texts)
    check_role(role)
    check_name(name)
    if meaning not in meanings_of(kind):
        raise SigningError("the signature has no meaning that is known here")
    if not _TIME.match(time):
        raise SigningError("the time of the signature is not spelled as a time")
    return Signer(role, name, meaning, key, time)


def _subject(subjects: object, kind: str) -> str:
    if not isinstance(subjects, list) or len(subjects) != 1:
        raise SigningError("the statement has not exactly one subject")
    members(subjects[0], ("name", "digest"), "the subject")
    members(subjects[0]["digest"], ("sha256",), "the digest")
    found = subjects[0]["digest"]["sha256"]
    if not isinstance(found, str) or not _HEX.match(found):
        raise SigningError("the digest of the subject is no sha256")
    if not any(one == kind and subjects[0]["name"] == name for one, name, _ in _SUBJECTS):
        raise SigningError("the subject is not of the kind that the statement is about")
    return found


# What a signature is worth to somebody who trusts some keys for some roles.

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
class SignatureRequirements:
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


def unmet(findings: Sequence[Finding], wanted: SignatureRequirements) -> tuple[str, ...]:
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


def _meant(wanted: SignatureRequirements) -> str:
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
