"""Key files and passphrases on the command line.

In: the names of files. Out: keys. Invariants: a passphrase comes from the environment or a
terminal, never from an argument, which others can see; no message holds a byte of a key. Example:
`--key approver=ada.pub.pem` is a public key that counts for the role approver.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.files import read_file
from constat.diagnostics import ConstatError, Diagnostic
from constat.project import find_project, load_project
from constat.proof.signing.keys import MOST_KEY_BYTES
from constat.session.signing import GivenKey, open_signing_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.project import Project
    from constat.proof.signing import SigningKey

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
