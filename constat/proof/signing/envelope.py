"""DSSE v1 envelopes: bytes with a type and a signature over both.

In: a payload and its type. Out: one line of JSON. Invariants: what is signed is the pre-
authentication encoding, so type and payload cannot be told apart in two ways; an envelope has one
reading: no duplicate member, base64 in its one spelling, one signature. Example:
`pae("t", b"ab") == b"DSSEv1 1 t 2 ab"`. Reference: Dead Simple Signing Envelope, protocol v1.0.0.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Final

from constat.proof.signing.failure import SigningError

MOST_ENVELOPE_BYTES: Final = 1 << 20
_SIGNATURE_BYTES: Final = 64
_LONGEST_TYPE: Final = 200


@dataclass(frozen=True, slots=True)
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
