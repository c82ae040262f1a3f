"""Signatures of people and programs under certificates, log heads and snapshots.

In: bytes and keys. Out: DSSE envelopes, and what each signature in a file is worth. Invariants:
pure functions over bytes; a certificate's own bytes never change, signatures lie beside it; no
private key is part of a message, a `repr` or a result. The library of ciphers loads when a key is
made, used or checked. Reference: DSSE v1 and in-toto Statement v1.
"""

from __future__ import annotations

from constat.proof.signing.envelope import (
    CERTIFICATE_TYPE,
    FOLDER_TYPE,
    LOG_HEAD_TYPE,
    MEANINGS,
    RULE_TYPE,
    SNAPSHOT_TYPE,
    Envelope,
    Signer,
    Statement,
    pae,
    read_envelope,
    read_statement,
    sign_statement,
    write_envelope,
)
from constat.proof.signing.keys import (
    PublicKey,
    SigningError,
    SigningKey,
    check_role,
    generate_key,
    read_public_key,
    read_signing_key,
    write_public_key,
    write_signing_key,
)
from constat.proof.signing.trust import Finding, TrustedKey, Wanted, judge, unmet

__all__ = [
    "CERTIFICATE_TYPE",
    "FOLDER_TYPE",
    "LOG_HEAD_TYPE",
    "MEANINGS",
    "RULE_TYPE",
    "SNAPSHOT_TYPE",
    "Envelope",
    "Finding",
    "PublicKey",
    "Signer",
    "SigningError",
    "SigningKey",
    "Statement",
    "TrustedKey",
    "Wanted",
    "check_role",
    "generate_key",
    "judge",
    "pae",
    "read_envelope",
    "read_public_key",
    "read_signing_key",
    "read_statement",
    "sign_statement",
    "unmet",
    "write_envelope",
    "write_public_key",
    "write_signing_key",
]
