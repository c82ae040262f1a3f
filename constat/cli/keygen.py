"""`constat keygen`: a pair of keys to sign with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.cli.signing_keys import PASSPHRASE, environment_passphrase
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.signing import (
    SigningError,
    SigningKey,
    generate_key,
    write_public_key,
    write_signing_key,
)


@click.command(name="keygen", cls=PlainCommand)
@click.option("--role", required=True, help="What its owner signs as, such as approver or engine.")
@click.option("--name", required=True, help="Whose key it is.")
@click.option("--output", "-o", metavar="FILE", required=True, help="Where the private key goes.")
@format_option
def command(role: str, name: str, *, output: str, form: str) -> None:
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
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
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
