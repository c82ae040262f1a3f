"""DSSE envelopes: what is signed, what other programs make of it, and one spelling only."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer._key import SSlibKey

from constat.proof.signing import (
    CERTIFICATE_TYPE,
    Envelope,
    PublicKey,
    Signer,
    SigningError,
    Statement,
    pae,
    read_envelope,
    read_statement,
    refused_point,
    sign_statement,
    write_envelope,
)
from tests.signing.keys import TIME, key

KEY = key()
SAYS = {"identity": "sha256:" + "1" * 64, "verdict": "PROVED"}
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def statement(**changes: Any) -> Statement:  # noqa: ANN401  members of the signer
    told = {"role": "approver", "name": "Ada", "meaning": "approved", "time": TIME} | changes
    signer = Signer(key=KEY.public.id, **told)
    return Statement(CERTIFICATE_TYPE, "0" * 64, signer, SAYS)


LINE = write_envelope(sign_statement(statement(), KEY))


def test_the_encoding_is_that_of_the_protocol() -> None:
    # The example of the protocol's own text.
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(st.text(max_size=20), st.binary(max_size=40))
def test_another_implementation_encodes_the_same_bytes(kind: str, payload: bytes) -> None:
    assert pae(kind, payload) == OtherEnvelope(payload, kind, {}).pae()


@given(
    st.tuples(st.text(max_size=6), st.binary(max_size=6)),
    st.tuples(st.text(max_size=6), st.binary(max_size=6)),
)
def test_two_contents_never_have_one_encoding(
    first: tuple[str, bytes], second: tuple[str, bytes]
) -> None:
    assert (pae(*first) == pae(*second)) == (first == second)


def test_another_implementation_accepts_the_signature_and_refuses_a_changed_one() -> None:
    from securesystemslib.exceptions import VerificationError

    public = SSlibKey(KEY.public.id, "ed25519", "ed25519", {"public": KEY.public.raw.hex()})
    document = json.loads(LINE)
    assert OtherEnvelope.from_dict(json.loads(LINE)).verify([public], 1)
    payload = base64.b64decode(document["payload"]).replace(b"PROVED", b"PROVEN")
    document["payload"] = base64.b64encode(payload).decode()
    with pytest.raises(VerificationError):
        OtherEnvelope.from_dict(document).verify([public], 1)


def test_an_envelope_reads_as_it_was_written() -> None:
    envelope = read_envelope(LINE)
    assert write_envelope(envelope) == LINE
    assert KEY.public.verifies(envelope.signature, envelope.signed)
    assert read_statement(envelope) == statement()


def test_the_payload_is_an_in_toto_statement() -> None:
    document = json.loads(base64.b64decode(json.loads(LINE)["payload"]))
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["subject"] == [{"name": "certificate", "digest": {"sha256": "0" * 64}}]
    assert json.loads(LINE)["payloadType"] == "application/vnd.in-toto+json"


def other_spellings() -> list[bytes]:
    """Write the same envelope in ways that lenient readers take for it."""
    document = json.loads(LINE)
    sig, payload = document["signatures"][0]["sig"], document["payload"]
    last = sig[-3]
    spare = sig[:-3] + chr(ord(last) + 1) + "=="

    def changed(**members: object) -> bytes:
        return json.dumps(document | members).encode()

    def signed(**members: object) -> bytes:
        return changed(signatures=[document["signatures"][0] | members])

    return [
        signed(sig=sig.rstrip("=")),
        signed(sig=sig + "\n"),
        signed(sig=spare),
        signed(sig=sig.replace("+", "-").replace("/", "_") + "="),
        signed(sig=base64.b64encode(base64.b64decode(sig) + b"\0").decode()),
        signed(sig=None),
        signed(keyid=7),
        signed(more=1),
        changed(payload=payload + "="),
        changed(payload=payload[:8] + " " + payload[8:]),
        changed(payload=payload + "é"),
        changed(signatures=[]),
        changed(signatures=document["signatures"] * 2),
        changed(signatures={}),
        changed(payloadType=None),
        changed(extra=""),
        LINE.replace(b'{"payload"', b'{"payload":"","payload"', 1),
        b"[]",
        b"",
        b"{" * 100_000,
        b"\xff",
        b'{"a":NaN}',
        b" " * (2 << 20),
    ]


@pytest.mark.parametrize("number", range(23))
def test_every_other_spelling_is_refused(number: int) -> None:
    spellings = other_spellings()
    assert len(spellings) == 23
    assert read_envelope(LINE).key_id == KEY.public.id
    with pytest.raises(SigningError):
        read_envelope(spellings[number])


def resigned(payload: bytes, kind: str = "application/vnd.in-toto+json") -> Envelope:
    """Sign any payload with a good key, as a signer with another program might."""
    return Envelope(payload, kind, KEY.public.id, KEY.sign(pae(kind, payload)))


PAYLOAD = read_envelope(LINE).payload


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"approver"', b'"Approver"'),
        (b'"approver"', b"7"),
        (b'"approved"', b'"blessed"'),
        (b'"approved"', b'"anchored"'),
        (b'"Ada"', b'""'),
        (b'"Ada"', b'"A\\nda"'),
        (b'"Ada"', b'"\\u202eadA"'),
        (b'"Ada"', b'"\\u0041da"'),
        (b"12:00", b"12h00"),
        (b"constat:signature/v1", b"constat:signature/v2"),
        (b"constat:signature/v1", b"constat:log-head/v1"),
        (b'"certificate"', b'"snapshot"'),
        (b"Statement/v1", b"Statement/v0.1"),
        (b'"sha256"', b'"sha1"'),
        (b"0000", b"00"),
        (b'{"_type"', b'{ "_type"'),
        (b'{"_type"', b'{"_type":"","_type"'),
        (b'"says":{', b'"more":1,"says":{'),
        (KEY.public.id.encode(), b"sha256:" + b"0" * 64),
    ],
)
def test_a_statement_of_another_form_is_refused_though_it_is_signed(old: bytes, new: bytes) -> None:
    changed = PAYLOAD.replace(old, new, 1)
    assert changed != PAYLOAD
    with pytest.raises(SigningError):
        read_statement(resigned(changed))


def test_a_payload_of_another_type_is_refused_though_it_is_signed() -> None:
    with pytest.raises(SigningError, match="in-toto"):
        read_statement(resigned(PAYLOAD, "application/json"))


def test_what_the_reader_refuses_is_not_signed() -> None:
    for wrong in ({"meaning": "blessed"}, {"name": ""}, {"role": "Head of Risk"}, {"time": "now"}):
        with pytest.raises(SigningError):
            sign_statement(statement(**wrong), KEY)


def added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Add two points of edwards25519, by the formulas of RFC 8032."""
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def x_of(y: int) -> int | None:
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    for root in (x, x * pow(2, (P - 1) // 4, P) % P):
        if root * root % P == square:
            return root
    return None


def small(y: int) -> bool:
    x = x_of(y)
    assert x is not None
    point = (x, y)
    for _ in range(3):
        point = added(point, point)
    return point == (0, 1)


def test_points_of_small_order_are_refused_and_no_other() -> None:
    order_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
    for y in (0, 1, P - 1, order_8, P - order_8):
        assert small(y)
        for sign in (0, 1 << 255):
            assert "small order" in refused_point((y | sign).to_bytes(32, "little"))
    assert not refused_point(KEY.public.raw)
    assert not small(int.from_bytes(KEY.public.raw, "little") & (2**255 - 1))
    for y in (P, P + 1, 2**255 - 1):
        assert "spelling" in refused_point(y.to_bytes(32, "little"))


def test_a_signature_is_bound_to_its_one_form() -> None:
    envelope = read_envelope(LINE)
    order = 2**252 + 27742317777372353535851937790883648493
    number = int.from_bytes(envelope.signature[32:], "little") + order
    # The same equation holds with s + L; a lenient reader would take both.
    other = envelope.signature[:32] + number.to_bytes(32, "little")
    assert not KEY.public.verifies(other, envelope.signed)
    assert not PublicKey(bytes(32)).verifies(envelope.signature, envelope.signed)
