"""Keys for tests: made anew in each run, and fixed ones."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives.asymmetric import ed25519

from constat.proof.signing import PublicKey, SigningKey

TIME = "2026-03-01T12:00:00.000000Z"
LATER = "2026-03-02T12:00:00.000000Z"


def key(role: str = "approver", name: str = "Ada", seed: int = 1) -> SigningKey:
    """Make the key of a seed, the same in each run."""
    private = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return SigningKey(role, name, PublicKey(private.public_key().public_bytes_raw()), private)


def with_one_bit_of_the_signature_turned(envelope: str) -> str:
    """Give an envelope whose signature no longer fits; its letters may lack any other letter."""
    document = json.loads(envelope)
    (signed,) = document["signatures"]
    signature = base64.b64decode(signed["sig"])
    signed["sig"] = base64.b64encode(bytes([signature[0] ^ 1]) + signature[1:]).decode()
    return json.dumps(document)
