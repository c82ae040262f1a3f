"""Fetch the programs of MariaDB for the tests of servers: `make servers`.

In: Debian's or Ubuntu's package client, set up as it is. Out: files in the environment's folder
`mariadb`; nothing is installed into the system, and no account of an administrator is needed. Never
fails: where the packages cannot be had it says so in one line, and the tests that need the server
are skipped with the reason. Nothing of it is shipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.servers import keeper

# The server, what its installer runs, and libraries that few machines have; their names differ.
_NEEDED: Final = ("mariadb-server-core", "mariadb-client-core")
_PERHAPS: Final = ("libaio1", "libaio1t64", "liburing2", "libnuma1")
_PATIENCE: Final = 120
# Without a network this fails soon.
_QUICKLY: Final = ("Acquire::Retries=0", "Acquire::http::Timeout=10", "Acquire::https::Timeout=10")
# Texts for HELP, which take longest to load and which no test reads.
_EMPTIED: Final = "usr/share/mysql/fill_help_tables.sql"


def main() -> int:
    """Fetch what is missing."""
    if not keeper.missing("mariadb"):
        return 0
    try:
        _fetch()
    except (OSError, subprocess.SubprocessError) as problem:
        said = getattr(problem, "stderr", None) or str(problem)
        reason = said.strip().splitlines()[-1] if said.strip() else type(problem).__name__
        sys.stderr.write(f"No MariaDB for the tests of servers: {reason[:200]}\n")
    return 0


def _fetch() -> None:
    client, unpack = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if client is None or unpack is None:
        raise OSError("the package client of Debian is not there")
    # Beside its final place, so that it can be put there at once.
    with tempfile.TemporaryDirectory(dir=keeper.FETCHED.parent) as named:
        folder = Path(named)
        whole = folder / "whole"
        own = [f"Dir::State::lists={folder / 'lists'}", f"Dir::Cache={folder / 'cache'}", *_QUICKLY]
        client_command = [client, "-qq", *(part for one in own for part in ("-o", one))]
        # Lists of our own, because those of a new machine are empty or old.
        (folder / "lists" / "partial").mkdir(parents=True)
        (folder / "cache" / "archives" / "partial").mkdir(parents=True)
        _run([*client_command, "update"], folder)
        for package in (*_NEEDED, *_PERHAPS):
            _run([*client_command, "download", package], folder, needed=package in _NEEDED)
        for archive in sorted(folder.glob("*.deb")):
            _run([unpack, "-x", str(archive), str(whole)], folder)
        (whole / _EMPTIED).write_text("")
        found = keeper.Programs(whole / "usr" / "sbin", whole)
        # Fails where a library is still missing.
        _run([str(found.folder / "mariadbd"), "--version"], whole, found.environment)
        shutil.rmtree(keeper.FETCHED, ignore_errors=True)
        whole.rename(keeper.FETCHED)


def _run(
    command: list[str],
    folder: Path,
    environment: dict[str, str] | None = None,
    *,
    needed: bool = True,
) -> None:
    subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=needed,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
    )


if __name__ == "__main__":
    sys.exit(main())
