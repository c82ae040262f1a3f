"""Ed25519 keys and their files."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
_ROLE: Final = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
# SEQUENCE { SEQUENCE { OID 1.3.101.112 } BIT STRING of 32 bytes }: the only form there is.
_SPKI: Final = bytes.fromhex("302a300506032b6570032100")
_RAW: Final = 32
_BEGIN: Final = re.compile(rb"^-----BEGIN ([A-Z0-9 ]+)-----[ \t]*$", re.MULTILINE)
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
