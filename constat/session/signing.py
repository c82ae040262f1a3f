"""Signing certificates, and judging what is signed: the glue between files, keys and projects.

In: the bytes of certificates, keys and signature files. Out: a line to add to the file beside a
certificate, or a `SignatureReport`. Invariants: only what the checker accepts is signed; the
certificate's own bytes never change; each signer has a line of their own, because role, meaning and
time are part of what is signed. Example: `sign_certificate(content, key, "approved")`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.encoding import canonical, sha256
from constat.proof.signing import (
    CERTIFICATE_TYPE,
    FOLDER_TYPE,
    MOST_FILE_BYTES,
    REJECTED,
    VALID,
    SignatureRequirements,
    Signer,
    SigningError,
    Statement,
    TrustedKey,
    check_role,
    configured_keys,
    judge,
    merge_key,
    read_envelope,
    read_public_key,
    read_signing_key,
    read_statement,
    short_id,
    sign_statement,
    unmet,
    write_envelope,
)
from constat.store.clock import now
from constat.store.replacing import replaced
from constat.store.state_file import alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.project import Project
    from constat.proof.signing import Finding, PublicKey, SigningKey

SUFFIX: Final = ".dsse"
SOURCE: Final = "source"
"""The role in which the owner of a source signs snapshots."""
_SIGNATURE_RIGHTS: Final = 0o644


@frozen
class GivenKey:
    """A public key that somebody names: the content of its file, its name, and the role, if any."""

    content: bytes
    shown: str
    role: str | None = None


@frozen
class SignatureReport:
    """What each signature is worth, and what is wanted and not there."""

    findings: tuple[Finding, ...]
    missing: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Say why the signatures do not satisfy; an empty text where they do."""
        for one in self.findings:
            if one.status == REJECTED:
                return one.reason
        return "; ".join(self.missing)

    def to_lines(self) -> list[str]:
        """Give the report for people."""
        valid = sum(one.status == VALID for one in self.findings)
        lines = [f"signatures: {valid} valid of {len(self.findings)}"]
        for one in self.findings:
            reason = f": {one.reason}" if one.reason else ""
            lines.append(f"  {one.status}: {said(one)}{reason}")
        return lines

    def to_json(self) -> dict[str, object]:
        """Give the report as a JSON object."""
        return {
            "accepted": not self.reason,
            "missing": list(self.missing),
            "found": [
                {
                    "status": one.status,
                    "reason": one.reason,
                    "role": one.signer and one.signer.role,
                    "name": one.signer and one.signer.name,
                    "meaning": one.signer and one.signer.meaning,
                    "time": one.signer and one.signer.time,
                    "key": one.signer and one.signer.key,
                }
                for one in self.findings
            ],
        }


def said(finding: Finding) -> str:
    """Say who signed, as what, and when."""
    signer = finding.signer
    if signer is None:
        return "a line of the file"
    when = f"{signer.time[:19]}Z"
    return (
        f"{signer.meaning} by {signer.name} as {signer.role} at {when} (key {short_id(signer.key)})"
    )


def open_signing_key(content: bytes, passphrase: bytes | None, shown: str) -> SigningKey:
    """Read a private key; raises `ConstatError` without a byte of it."""
    try:
        return read_signing_key(content, passphrase)
    except SigningError as problem:
        code = "C0741" if problem.kind == "passphrase" else "C0740"
        raise ConstatError([Diagnostic(code, f"`{shown}`: {problem.reason}")]) from None


def subject_of(certificate: bytes) -> tuple[str, str, dict[str, object]]:
    """Give what a signature under a certificate is about; the certificate has been accepted."""
    document = json.loads(certificate)
    header = document["header"]
    says: dict[str, object] = {
        "goal": sha256(canonical(header["goal"])),
        "identity": document["identity"],
        "program": header["program"],
        "verdict": header["verdict"],
    }
    return CERTIFICATE_TYPE, hashlib.sha256(certificate).hexdigest(), says


def sign_certificate(certificate: bytes, key: SigningKey, meaning: str) -> bytes:
    """Sign a certificate that the checker accepts; gives a line for the file beside it."""
    from constat.check import check_certificate  # noqa: PLC0415  loaded when it is used

    report = check_certificate(certificate)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0746", message, note="`constat verify` says more")])
    kind, digest, says = subject_of(certificate)
    return signed_line(key, meaning, kind, digest, says)


def folder_subject(index: bytes) -> tuple[str, str, dict[str, object]]:
    """Give what a signature under a folder is about: its index, which names all other files."""
    about = json.loads(index)
    says: dict[str, object] = {"format": about["format"], "goal": sha256(canonical(about["goal"]))}
    return FOLDER_TYPE, hashlib.sha256(index).hexdigest(), says


def sign_folder(index: bytes, key: SigningKey, meaning: str) -> bytes:
    """Sign the index of a folder that was accepted; gives a line for the file beside it."""
    kind, digest, says = folder_subject(index)
    return signed_line(key, meaning, kind, digest, says)


def signed_line(
    key: SigningKey, meaning: str, kind: str, digest: str, says: Mapping[str, object]
) -> bytes:
    """Sign a statement in the name of the key's owner, now."""
    signer = Signer(key.role, key.name, meaning, key.public.id, now())
    return write_envelope(sign_statement(Statement(kind, digest, signer, says), key))


def add_signature(certificate: Path, target: Path, line: bytes, digest: str) -> None:
    """Add a line to a file of signatures, which is the old one or the new one at every moment.

    `certificate` is locked meanwhile, so that two signers do not lose each other's lines.
    """
    try:
        with alone(certificate, _unfit("another program is adding to it")):
            content = _present(target)
            _require_signatures(content, digest)
            with replaced(target, _SIGNATURE_RIGHTS) as stream:
                stream.write(content + line)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        message = f"`{target}` cannot be written: {reason}"
        raise ConstatError([Diagnostic("C0402", message)]) from None


def _present(target: Path) -> bytes:
    """Read the signatures that are there; a byte more than there may be shows too large a file."""
    if not target.exists():
        return b""
    with target.open("rb") as stream:
        return stream.read(MOST_FILE_BYTES + 1)


def _require_signatures(content: bytes, digest: str) -> None:
    """Raise `ConstatError` unless each line is a signature of what has this digest."""
    if content and not content.endswith(b"\n"):
        raise _unfit("it does not end with a line end")
    if len(content) > MOST_FILE_BYTES:
        raise _unfit("it is too large")
    for line in content.split(b"\n")[:-1]:
        try:
            statement = read_statement(read_envelope(line))
        except SigningError as problem:
            raise _unfit(problem.reason) from None
        if statement.sha256 != digest:
            raise _unfit("a signature in it is of other bytes")


def _unfit(reason: str) -> ConstatError:
    message = f"the file of signatures cannot be added to: {reason}"
    return ConstatError([Diagnostic("C0747", message, help="move it away, or name another file")])


def check_signatures(
    subject: tuple[str, str, Mapping[str, object]],
    content: bytes,
    trusted: Mapping[str, TrustedKey],
    wanted: SignatureRequirements,
) -> SignatureReport:
    """Judge the signatures of an accepted certificate or folder; see `subject_of`."""
    findings = judge(content, trusted, subject, now())
    return SignatureReport(findings, unmet(findings, wanted))


def trust(
    given: Sequence[GivenKey], roles: Sequence[str], project: Project | None
) -> tuple[dict[str, TrustedKey], SignatureRequirements]:
    """Say which keys count for which roles, and which signatures are wanted.

    A key that is given without a role counts for the one role that is asked for, or where none is
    for those that the project gives it, or else for every role. Keys of the project count for the
    roles of its configuration.
    """
    bare = [one for one in given if one.role is None]
    if bare and len(set(roles)) > 1:
        message = f"it is not clear for which role the key `{bare[0].shown}` counts"
        hint = f"write `--key {roles[0]}={bare[0].shown}`"
        raise ConstatError([Diagnostic("C0744", message, help=hint)])
    trusted: dict[str, TrustedKey] = {}
    pairs: dict[tuple[str, str | None], None] = {}
    for one in given:
        role = one.role or (roles[0] if roles else None)
        key = _public(one.content, f"`{one.shown}`")
        pairs[key.id, role] = None
        merge_key(trusted, TrustedKey(key, None if role is None else frozenset({role})))
    for found in () if project is None else configured_keys(project.keys.values()).values():
        merge_key(trusted, found)
    covered = {role for _, role in pairs}
    for role in {*roles, *covered} - {None}:
        _require_trusted(str(role), trusted.values())
    missing = dict.fromkeys(role for role in roles if role not in covered)
    return trusted, SignatureRequirements(tuple(missing), tuple(pairs))


def _require_trusted(role: str, trusted: Iterable[TrustedKey]) -> None:
    try:
        check_role(role)
    except SigningError as problem:
        raise ConstatError([Diagnostic("C0743", f"`{role}`: {problem.reason}")]) from None
    if all(one.roles is not None and role not in one.roles for one in trusted):
        hint = f"name the key with `--key {role}=FILE`, or under `keys:` in constat.yaml"
        raise ConstatError([Diagnostic("C0744", f"no key is trusted as {role}", help=hint)])


def _public(content: bytes, shown: str) -> PublicKey:
    try:
        return read_public_key(content)
    except SigningError as problem:
        raise ConstatError([Diagnostic("C0740", f"{shown}: {problem.reason}")]) from None
