"""What a signature is worth: roles, other subjects, expired and revoked keys, files of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.proof.signing import (
    CERTIFICATE_TYPE,
    LOG_HEAD_TYPE,
    MOST_FILE_BYTES,
    MOST_SIGNATURES,
    NOT_COUNTED,
    REJECTED,
    VALID,
    Envelope,
    SignatureRequirements,
    Signer,
    SigningKey,
    Statement,
    TrustedKey,
    judge,
    read_envelope,
    sign_statement,
    unmet,
    write_envelope,
)
from tests.signing.keys import LATER, TIME, key

if TYPE_CHECKING:
    from collections.abc import Mapping

ADA = key("approver", "Ada", 1)
BOB = key("auditor", "Bob", 2)
DIGEST = "a" * 64
SAYS = {"verdict": "PROVED", "goal": "sha256:" + "1" * 64}
SUBJECT = (CERTIFICATE_TYPE, DIGEST, SAYS)


def line(
    owner: SigningKey = ADA,
    *,
    role: str | None = None,
    meaning: str = "approved",
    time: str = TIME,
    digest: str = DIGEST,
    kind: str = CERTIFICATE_TYPE,
    says: Mapping[str, object] | None = None,
) -> bytes:
    signer = Signer(role or owner.role, owner.name, meaning, owner.public.id, time)
    said = Statement(kind, digest, signer, SAYS if says is None else says)
    return write_envelope(sign_statement(said, owner))


def trusted(*keys: TrustedKey) -> dict[str, TrustedKey]:
    return {one.key.id: one for one in keys}


def only(owner: SigningKey, **bounds: str) -> dict[str, TrustedKey]:
    return trusted(TrustedKey(owner.public, frozenset({owner.role}), **bounds))


def status(content: bytes, keys: dict[str, TrustedKey] | None = None) -> tuple[str, str]:
    (finding,) = judge(content, only(ADA) if keys is None else keys, SUBJECT, LATER)
    return finding.status, finding.reason


def test_a_trusted_signature_counts() -> None:
    assert status(line()) == (VALID, "")


def test_the_role_is_the_one_that_was_signed_and_the_one_that_is_trusted() -> None:
    # Ada's key is trusted as approver; she says that she audits.
    wrong = line(role="auditor")
    assert status(wrong)[0] == NOT_COUNTED
    assert "trusted as approver" in status(wrong)[1]
    assert status(wrong, trusted(TrustedKey(ADA.public, None)))[0] == VALID


def test_a_key_that_nobody_knows_does_not_count() -> None:
    assert status(line(BOB)) == (NOT_COUNTED, "nobody here trusts this key")


def test_a_signature_of_something_else_rejects_the_file() -> None:
    assert status(line(digest="b" * 64)) == (REJECTED, "the signature is of other bytes")
    assert status(line(says=SAYS | {"verdict": "DISPROVED"}))[0] == REJECTED
    assert status(line(says={}))[0] == REJECTED
    anchored = line(kind=LOG_HEAD_TYPE, meaning="anchored")
    assert "kind of thing" in status(anchored)[1]


def test_another_keys_signature_under_a_trusted_name_rejects_the_file() -> None:
    mine = read_envelope(line())
    theirs = Envelope(mine.payload, mine.payload_type, mine.key_id, BOB.sign(mine.signed))
    assert status(write_envelope(theirs)) == (REJECTED, "the signature is not that of its key")


def test_expiry_counts_by_the_day_it_was_signed() -> None:
    assert status(line(), only(ADA, expires="2026-03-02"))[0] == VALID
    # A day begins at midnight, and a key does not outlive its last moment.
    midnight = line(time="2026-03-01T00:00:00.000000Z")
    assert "expired" in status(midnight, only(ADA, expires="2026-03-01"))[1]
    for expires in ("2026-03-01", "2026-02-28"):
        assert "expired" in status(line(), only(ADA, expires=expires))[1]


def test_nothing_that_a_revoked_key_signed_counts_whatever_time_it_says() -> None:
    keys = only(ADA, revoked="2026-12-31")
    assert status(line(time="2020-01-01T00:00:00.000000Z"), keys)[0] == NOT_COUNTED
    assert "revoked" in status(line(), keys)[1]


def test_a_signature_from_the_future_does_not_count() -> None:
    assert status(line(time="2026-03-02T12:05:00.000000Z"))[0] == VALID
    for time in ("2026-03-02T12:06:00.000000Z", "9999-12-31T23:59:59.999999Z"):
        assert "future" in status(line(time=time))[1]
    assert "future" in status(line(time="2026-99-99T99:99:99.000000Z"))[1]


def test_several_signers_have_a_line_each() -> None:
    keys = only(ADA) | only(BOB)
    findings = judge(line() + line(BOB, meaning="audited"), keys, SUBJECT, LATER)
    assert [one.status for one in findings] == [VALID, VALID]
    assert (
        unmet(findings, SignatureRequirements(("approver", "auditor"), ((ADA.public.id, None),)))
        == ()
    )
    assert "as engine" in unmet(findings, SignatureRequirements(("approver", "engine")))[0]
    assert unmet(findings, SignatureRequirements(("auditor",), meanings=("approved",)))
    assert (
        unmet(findings, SignatureRequirements(("auditor",), meanings=("approved", "audited"))) == ()
    )


def test_a_named_key_must_have_signed_itself() -> None:
    carol = key("approver", "Carol", 3)
    findings = judge(line(), only(ADA) | only(carol), SUBJECT, LATER)
    wanted = SignatureRequirements(("approver",), ((carol.public.id, "approver"),))
    (reason,) = unmet(findings, wanted)
    assert reason.startswith("there is no valid signature as approver by the key ")
    assert unmet(findings, SignatureRequirements((), ((ADA.public.id, "approver"),))) == ()
    assert unmet(findings, SignatureRequirements((), ((ADA.public.id, "auditor"),)))


@pytest.mark.parametrize(
    "content",
    [
        line()[:-1],
        line() + line(),
        line() + b"\n",
        line() + b"{}\n",
        b"\n",
        b"x",
        b"\n" * (MOST_SIGNATURES + 1),
    ],
    ids=range(7),
)
def test_a_file_that_is_no_list_of_signatures_is_rejected(content: bytes) -> None:
    findings = judge(content, only(ADA), SUBJECT, LATER)
    assert REJECTED in {one.status for one in findings}


def test_a_file_of_more_signatures_or_bytes_than_are_read_is_rejected_at_once() -> None:
    for content in (b"x\n" * (MOST_SIGNATURES + 1), b"x" * MOST_FILE_BYTES + b"\n"):
        (finding,) = judge(content, only(ADA), SUBJECT, LATER)
        assert (finding.status, finding.reason.endswith("too large")) == (REJECTED, True)
    many = b"".join(b"%d\n" % number for number in range(MOST_SIGNATURES))
    assert len(judge(many, only(ADA), SUBJECT, LATER)) == MOST_SIGNATURES


def test_what_is_missing_is_said_with_the_role_and_the_meaning() -> None:
    key_id = ADA.public.id
    assert unmet(
        (), SignatureRequirements(("approver",), ((key_id, None), (key_id, "engine")), ("audited",))
    ) == (
        "there is no valid signature as approver that means audited",
        f"there is no valid signature by the key {key_id[7:23]} that means audited",
        f"there is no valid signature as engine by the key {key_id[7:23]} that means audited",
    )
    assert unmet((), SignatureRequirements(("approver",))) == (
        "there is no valid signature as approver",
    )


def test_an_empty_file_has_no_signatures() -> None:
    assert judge(b"", only(ADA), SUBJECT, LATER) == ()
    assert unmet((), SignatureRequirements(("approver",)))


WHOLE = line()


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_no_byte_of_a_signature_can_be_changed(place: int, byte: int) -> None:
    changed = WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :]
    findings = judge(changed, only(ADA), SUBJECT, LATER)
    counts = [one for one in findings if one.status == VALID]
    if changed == WHOLE:
        assert len(counts) == 1
    elif read_quietly(changed) != read_envelope(WHOLE):
        # The id of the key is a hint that is signed, too; white space between members is not.
        assert counts == []


def read_quietly(content: bytes) -> Envelope | None:
    from constat.proof.signing import SigningError

    try:
        return read_envelope(content)
    except SigningError:
        return None
