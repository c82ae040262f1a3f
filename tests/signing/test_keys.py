"""Key files: written once, read strictly, and nothing of a private key anywhere else."""

from __future__ import annotations

import base64
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from hypothesis import given
from hypothesis import strategies as st

from constat.proof.signing import (
    SigningError,
    generate_key,
    read_public_key,
    read_signing_key,
    write_public_key,
    write_signing_key,
)
from tests.signing.keys import key

KEY = key(name="Ada Lövelace")
PUBLIC = write_public_key(KEY)
PRIVATE = write_signing_key(KEY, None)
SEED = KEY.private.private_bytes_raw()


def test_a_key_reads_as_it_was_written() -> None:
    assert read_public_key(PUBLIC) == KEY.public
    assert read_signing_key(PRIVATE, None) == KEY
    # A passphrase in the environment does not matter to a key without one.
    assert read_signing_key(PRIVATE, b"any") == KEY
    encrypted = write_signing_key(KEY, b"secret words")
    assert b"ENCRYPTED" in encrypted
    assert SEED not in base64.b64decode(b"".join(encrypted.split(b"-----")[2].split()))
    assert read_signing_key(encrypted, b"secret words") == KEY


def test_the_id_is_the_hash_of_the_key_as_openssl_writes_it() -> None:
    told = subprocess.run(
        ["openssl", "pkey", "-pubin", "-outform", "DER"],
        input=PUBLIC,
        capture_output=True,
        check=True,
    ).stdout
    from hashlib import sha256

    assert KEY.public.id == "sha256:" + sha256(told).hexdigest()


def test_made_keys_differ_and_sign() -> None:
    first, second = (generate_key("engine", "run") for _ in range(2))
    assert first.public != second.public
    assert first.public.verifies(first.sign(b"x"), b"x")
    assert not first.public.verifies(second.sign(b"x"), b"x")


@pytest.mark.parametrize("role", ["", "Approver", "a b", "é", "1a", "a" * 41, "a\n"])
def test_a_role_is_a_plain_word(role: str) -> None:
    with pytest.raises(SigningError, match="role"):
        generate_key(role, "Ada")


@pytest.mark.parametrize("name", ["", "  ", "A\nRole: auditor", "A\x1b[31m", "\u202eA", "A" * 201])
def test_a_name_is_a_printable_line(name: str) -> None:
    with pytest.raises(SigningError, match="name"):
        generate_key("approver", name)


def test_a_private_key_is_in_no_repr_and_no_message() -> None:
    shown = [repr(KEY), str(KEY)]
    encrypted = write_signing_key(KEY, b"secret words")
    for content, passphrase in (
        (encrypted, b"other"),
        (encrypted, None),
        (PRIVATE[:-40], None),
        (PRIVATE.replace(b"MC4", b"MC5"), None),
        (PRIVATE + PRIVATE, None),
    ):
        with pytest.raises(SigningError) as caught:
            read_signing_key(content, passphrase)
        shown += [str(caught.value), repr(caught.value.__context__ and "")]
        assert caught.value.__cause__ is None
    body = PRIVATE.split(b"-----")[2].split()[0].decode()
    for text in shown:
        assert SEED.hex() not in text
        assert body[:16] not in text
        assert "secret" not in text


def test_a_wrong_passphrase_is_told_from_a_damaged_key() -> None:
    encrypted = write_signing_key(KEY, b"secret words")
    for passphrase in (None, b"", b"other"):
        with pytest.raises(SigningError) as caught:
            read_signing_key(encrypted, passphrase)
        assert caught.value.kind == "passphrase"
    with pytest.raises(SigningError) as caught:
        read_signing_key(PRIVATE[:-40], None)
    assert caught.value.kind == "form"


def elliptic() -> tuple[bytes, bytes]:
    private = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    return (
        private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def test_another_algorithm_is_named_as_such() -> None:
    private, public = elliptic()
    with pytest.raises(SigningError, match="algorithm"):
        read_signing_key(private, None)
    with pytest.raises(SigningError, match="algorithm"):
        read_public_key(public)


def test_the_two_halves_are_told_apart() -> None:
    with pytest.raises(SigningError, match="private key; give"):
        read_public_key(PRIVATE)
    with pytest.raises(SigningError, match="public key; give"):
        read_signing_key(PUBLIC, None)


def test_a_private_key_without_an_owner_is_refused() -> None:
    bare = PRIVATE[PRIVATE.index(b"-----") :]
    for heading in (b"", b"Role: approver\n", b"Name: Ada\n", b"Role: A B\nName: Ada\n", b"\xff\n"):
        with pytest.raises(SigningError):
            read_signing_key(heading + bare, None)


def test_a_public_key_has_one_spelling() -> None:
    lines = PUBLIC.decode().splitlines()
    body = lines[4]
    der = base64.b64decode(body)
    for wrong in (
        body.rstrip("="),
        body[:-2] + chr(ord(body[-2]) + 1) + "=",
        body[:10] + " " + body[10:],
        base64.b64encode(der + b"\0").decode(),
        base64.b64encode(der[:-1]).decode(),
        base64.b64encode(der[:-32] + bytes(32)).decode(),
        "",
        "é",
    ):
        text = "\n".join([*lines[:4], wrong, *lines[5:]]) + "\n"
        with pytest.raises(SigningError):
            read_public_key(text.encode())
    for more in (PUBLIC + b"x", PUBLIC * 2, b"", b"hello", PUBLIC[:-10], b"x" * 20_000 + PUBLIC):
        with pytest.raises(SigningError):
            read_public_key(more)


@given(st.binary(min_size=32, max_size=32))
def test_every_key_that_can_be_made_is_accepted(seed: bytes) -> None:
    private = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    pem = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert read_public_key(pem).raw == private.public_key().public_bytes_raw()
