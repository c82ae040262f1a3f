"""`constat sign CERT`: put one's name under a certificate."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import click

from constat.check.canonical import MAX_BYTES
from constat.cli.files import read_file
from constat.cli.helping import PlainCommand, format_option
from constat.cli.output import write, write_json
from constat.cli.signing_keys import private_key
from constat.proof.signing import MEANINGS
from constat.session.signing import SUFFIX, add_signature, sign_certificate


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
def command(certificate: str, *, key: str, meaning: str, signature: str | None, form: str) -> None:
    """Sign CERT with a key: who, in which role, meaning what, and when.

    The certificate itself does not change. Its signatures lie beside it, each signer's on a line
    of its own (a DSSE envelope around an in-toto statement); others add theirs to the same file.
    What the checker rejects is not signed.

    Examples:
      constat sign c001.json --key key.pem --meaning approved
      constat sign c001.json --key key.pem --meaning reviewed --format json

    Exit codes: 0 signed, 2 bad usage, or the key or the certificate cannot be used.
    """
    content = read_file(certificate, MAX_BYTES)
    owner = private_key(key)
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
