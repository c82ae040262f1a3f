"""Keys, names under certificates, and signed snapshots of relations."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.cli.folders import ANSWER, POPULATION, REJECTED, checked_folder
from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, read_file, write, write_file, write_json
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.project import find_project, load_project
from constat.proof.signing import (
    MEANINGS,
    MOST_FILE_BYTES,
    MOST_KEY_BYTES,
    SigningError,
    SigningKey,
    generate_key,
    write_public_key,
    write_signing_key,
)
from constat.session import Session
from constat.session.signing import (
    SOURCE,
    SUFFIX,
    GivenKey,
    add_signature,
    open_signing_key,
    sign_certificate,
    sign_folder,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.project import Project

PASSPHRASE: Final = "CONSTAT_KEY_PASSPHRASE"  # noqa: S105  the name of a variable
_WITH_ROLE: Final = re.compile(r"([a-z][a-z0-9-]{0,39})=(.+)\Z", re.DOTALL)


def private_key(path: str) -> SigningKey:
    """Read a private key, asking for its passphrase where that is needed and somebody is there."""
    content = read_file(path, MOST_KEY_BYTES)
    passphrase = environment_passphrase()
    try:
        return open_signing_key(content, passphrase, path)
    except ConstatError as problem:
        asked = passphrase is None and problem.diagnostics[0].code == "C0741"
        if not (asked and sys.stdin.isatty()):
            if asked:
                raise _without_passphrase(path) from None
            raise
    typed = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
    return open_signing_key(content, typed.encode(), path)


def environment_passphrase() -> bytes | None:
    """Give the passphrase of the environment; an empty one is none."""
    given = os.environ.get("CONSTAT_KEY_PASSPHRASE")
    return os.fsencode(given) if given else None


def _without_passphrase(path: str) -> ConstatError:
    message = f"`{path}` is encrypted and there is no passphrase"
    hint = f"put it into the environment variable `{PASSPHRASE}`"
    return ConstatError([Diagnostic("C0741", message, help=hint)])


def given_keys(written: Sequence[str]) -> list[GivenKey]:
    """Read public keys, each as `FILE` or `ROLE=FILE`."""
    found = []
    for one in written:
        parts = _WITH_ROLE.match(one)
        role, path = (parts[1], parts[2]) if parts else (None, one)
        found.append(GivenKey(read_file(path, MOST_KEY_BYTES), path, role))
    return found


def project_of_keys(folder: str | None) -> Project | None:
    """Give the project whose keys count; `None` where none was named and none is here."""
    try:
        place = find_project(None if folder is None else Path(folder))
    except ConstatError:
        if folder is not None:
            raise
        return None
    return load_project(place)


@click.command(name="keygen", cls=PlainCommand)
@click.option("--role", required=True, help="What its owner signs as, such as approver or engine.")
@click.option("--name", required=True, help="Whose key it is.")
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the private key goes.")
@format_option
def keygen_command(role: str, name: str, *, output: str, form: str) -> None:
    """Make an Ed25519 key; the public half goes into a file beside it.

    The private key is readable by you alone, and no file is ever written over. It is encrypted
    with the passphrase in CONSTAT_KEY_PASSPHRASE, or with the one that is typed at a terminal.
    Hand out the public key only, and by a way that others cannot change.

    Examples:
      constat keygen --role approver --name "Ada Lovelace" -o ada.pem
      constat keygen --role engine --name "nightly run" -o engine.pem --format json

    Exit codes: 0 made, 2 bad usage, or a file is there already.
    """
    private, public = Path(output), public_path(output)
    for path in (private, public):
        if path.exists() or path.is_symlink():
            raise _there(path)
    passphrase = _passphrase()
    try:
        key = generate_key(role, name)
    except SigningError as problem:
        raise ConstatError([Diagnostic("C0743", problem.reason)]) from None
    _write_new(private, write_signing_key(key, passphrase), 0o600)
    _write_new(public, write_public_key(key), 0o644)
    if form == "json":
        write_json(_json(key, private, public, encrypted=passphrase is not None))
        return
    write(f"private key: {private}{' (encrypted)' if passphrase else ''}")
    write(f"public key: {public}")
    write(f"{key.name} signs as {key.role}, key {key.public.id}")
    if passphrase is None:
        note(f"note: the private key is not encrypted; {PASSPHRASE} gives a passphrase")


def public_path(private: str) -> Path:
    """Give where the public half of a key goes: `ada.pem` has `ada.pub.pem` beside it."""
    return Path(f"{private.removesuffix('.pem')}.pub.pem")


def _passphrase() -> bytes | None:
    given = environment_passphrase()
    if given is not None or not sys.stdin.isatty():
        return given
    typed: str = click.prompt(
        "Passphrase (empty for none)",
        default="",
        show_default=False,
        hide_input=True,
        confirmation_prompt=True,
        err=True,
    )
    return typed.encode() or None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that must not be there, with its rights from the first byte on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(path, flags, mode)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise _there(path) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "this is no file name"
        message = f"`{path}` cannot be written: {reason}"
        raise ConstatError([Diagnostic("C0402", message)]) from None


def _there(path: Path) -> ConstatError:
    message = f"`{path}` is there already; a key is never written over"
    return ConstatError([Diagnostic("C0742", message, help="name another file with `-o`")])


def _json(key: SigningKey, private: Path, public: Path, *, encrypted: bool) -> dict[str, object]:
    return {
        "private_key": str(private),
        "public_key": str(public),
        "encrypted": encrypted,
        "role": key.role,
        "name": key.name,
        "key": key.public.id,
    }


_INDEXES: Final = (POPULATION, ANSWER)


def _accepted_index(folder: Path) -> tuple[Path, bytes]:
    """Give the index of a folder that is accepted; raises `ConstatError` for another one."""
    code, told, _ = checked_folder(folder)
    if code == REJECTED or told["state"] != "passed":
        message = f"the folder is not accepted: {told['why']}"
        raise ConstatError([Diagnostic("C0746", message, note="`constat verify` says more")])
    index = next(folder / name for name in _INDEXES if (folder / name).exists())
    content = read_file(str(index), MAX_BYTES)
    # What is signed is what was checked, whoever writes there meanwhile.
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != told.get("index", told.get("answer")):
        message = "the folder was changed while it was checked"
        raise ConstatError([Diagnostic("C0746", message, help="sign it again")])
    return index, content


@click.command(name="sign", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option("--key", metavar="FILE", required=True, help="The private key.")
@click.option(
    "--meaning",
    type=click.Choice(MEANINGS),
    required=True,
    help="What the signature says of the certificate.",
)
@click.option("--signature", metavar="FILE", help="Where the signature goes; by default CERT.dsse.")
@format_option
def sign_command(
    certificate: str, *, key: str, meaning: str, signature: str | None, form: str
) -> None:
    """Sign CERT with a key: who, in which role, meaning what, and when.

    The certificate itself does not change. Its signatures lie beside it, each signer's on a line
    of its own (a DSSE envelope around an in-toto statement); others add theirs to the same file.
    What the checker rejects is not signed. CERT may be a folder that `query --bulk` or `prove
    --population` wrote: what is signed is its index, which names every file by its hash, so one
    signature is under all of it.

    Examples:
      constat sign c001.json --key key.pem --meaning approved
      constat sign c001.json --key key.pem --meaning reviewed --format json
      constat sign vips --key key.pem --meaning audited

    Exit codes: 0 signed, 2 bad usage, or the key or the certificate cannot be used.
    """
    owner = private_key(key)
    if Path(certificate).is_dir():
        index, content = _accepted_index(Path(certificate))
        certificate, line = str(index), sign_folder(content, owner, meaning)
    else:
        content = read_file(certificate, MAX_BYTES)
        line = sign_certificate(content, owner, meaning)
    target = signature or f"{certificate}{SUFFIX}"
    place = Path(os.path.realpath(target))
    add_signature(Path(certificate), place, line, hashlib.sha256(content).hexdigest())
    if form == "json":
        write_json(
            {
                "signature": target,
                "role": owner.role,
                "name": owner.name,
                "meaning": meaning,
                "key": owner.public.id,
            }
        )
        return
    write(f"{meaning} by {owner.name} as {owner.role}: {target}")


@click.command(name="snapshot", cls=PlainCommand)
@click.argument("predicate")
@click.option("--key", metavar="FILE", required=True, help="The private key of the source's owner.")
@click.option(
    "--sorted-by",
    "first",
    metavar="COLUMNS",
    default="",
    help="The columns to sort by first, with commas; a key of these can be shown to be complete.",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the statement goes.")
@click.option("--log", is_flag=True, help="Note it in the project's log of decisions.")
@click.option("--by", metavar="NAME", help="With the log: who commits; by default you.")
@format_option
@project_option
def snapshot_command(  # noqa: PLR0913  each option has a name
    predicate: str,
    *,
    key: str,
    first: str,
    output: str,
    log: bool,
    by: str | None,
    form: str,
    project: str | None,
) -> None:
    """Read PREDICATE whole from its source and sign the root of its rows.

    The statement holds a Merkle root, the count, the order and the query, and no row. Whoever has
    it can check offline that a certificate shows the rows of the source, and all of a key. That is
    worth as much as the signer: let the owner of the source sign, not who makes certificates.
    Where the project keeps a log of decisions, it is noted there, so that `constat verify` can
    tell an older snapshot from the newest.

    Examples:
      constat snapshot placed_order --key source.pem -o placed_order.dsse
      constat snapshot placed_order --sorted-by order --key source.pem -o o.dsse --format json

    Exit codes: 0 signed, 2 bad usage, or not all rows of the relation are known.
    """
    owner = private_key(key)
    if owner.role != SOURCE:
        message = f"a snapshot is signed as {SOURCE}, and the key signs as {owner.role}"
        hint = f"`constat keygen --role {SOURCE}` makes a key for the owner of the source"
        raise ConstatError([Diagnostic("C0743", message, help=hint)])
    # What is kept for a while is no snapshot: the source itself is read.
    with Session(project, cache=False) as session, asked(session):
        columns = [one.strip() for one in first.split(",") if one.strip()]
        signed = session.snapshot(predicate, owner, columns)
        session.decisions.write_snapshot(signed, asked=log, by=by)
    write_file(output, signed.line)
    says = signed.snapshot.says
    if form == "json":
        write_json({"statement": output, "root": signed.snapshot.tree.root, **says})
        return
    size = signed.snapshot.tree.size
    write(f"{predicate}: {counted(size, 'row')}, root {signed.snapshot.tree.root}")
    write(f"signed by {owner.name} as {owner.role}: {output}")


@click.command(name="openings", cls=PlainCommand)
@click.argument("certificate", metavar="CERT")
@click.option(
    "--snapshot",
    "snapshots",
    metavar="FILE",
    multiple=True,
    required=True,
    help="A signed snapshot of a predicate.",
)
@click.option(
    "--inside",
    is_flag=True,
    help="Write the certificate again with the openings in it (at most 64 kB of them).",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the openings go.")
@project_option
def openings_command(
    certificate: str,
    *,
    snapshots: tuple[str, ...],
    inside: bool,
    output: str,
    project: str | None,
) -> None:
    """Write the rows that CERT shows, each with its neighbours and its path to a signed root.

    The source is read again and must still have the rows of the snapshot. What is written shows
    rows of the source: those of the certificate, and one beside each key. With --inside it is
    another certificate of the same conclusion, at level C2 where every key was opened; `verify`
    checks it, and with --snapshot also whose roots they are.

    Examples:
      constat openings c001.json --snapshot orders.dsse -o c001.openings
      constat openings c001.json --snapshot orders.dsse --inside -o c001.opened.json

    Exit codes: 0 written, 2 bad usage, or the source has changed since the snapshot.
    """
    content = read_file(certificate, MAX_BYTES)
    report = check_certificate(content)
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="`constat verify` says more")])
    signed = [(read_file(path, MOST_FILE_BYTES), path) for path in snapshots]
    with Session(project, cache=False) as session, asked(session):
        write_file(output, session.openings(content, signed, inside=inside))
    note(f"{'certificate' if inside else 'openings'} written to {output}")
