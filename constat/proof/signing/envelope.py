"""DSSE envelopes and in-toto statements: who says what about which bytes, and when."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from constat.frozen import frozen
from constat.proof.encoding import canonical
from constat.proof.signing.keys import SigningError, SigningKey, check_name, check_role

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
MEANINGS: Final = ("produced", "approved", "reviewed", "audited")
_SUBJECTS: Final = (
    (CERTIFICATE_TYPE, "certificate", MEANINGS),
    (LOG_HEAD_TYPE, "log-head", ("anchored",)),
    (SNAPSHOT_TYPE, "snapshot", ("committed",)),
    (RULE_TYPE, "rule", ("approved",)),
    (FOLDER_TYPE, "folder", MEANINGS),
)
_HEX: Final = re.compile(r"[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)


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
