"""Fetch servers and bubblewrap for the tests that need them: `make servers`, `make stores`.

In: Debian's or Ubuntu's package client, set up as it is. Out: the folder `mariadb` and the program
`bin/bwrap` of the environment, and with `stores` the
folder `stores`; nothing is installed into the system, and no account of an
administrator is needed. Never fails: where the packages cannot be had it says so in one line, and
the tests that need them are skipped with the reason. Nothing of it is shipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.servers import keeper, stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The server, what its installer runs, and libraries that few machines have; their names differ.
_NEEDED: Final = ("mariadb-server-core", "mariadb-client-core")
_PERHAPS: Final = ("libaio1", "libaio1t64", "liburing2", "libnuma1")
_REDIS: Final = ("redis-server", "redis-tools")
_REDIS_PERHAPS: Final = ("libjemalloc2", "liblzf1", "libhiredis0.14", "liblua5.1-0", "libatomic1")
_BWRAP: Final = Path(sys.prefix) / "bin" / "bwrap"
_PATIENCE: Final = 300
# Without a network this fails soon.
_QUICKLY: Final = ("Acquire::Retries=0", "Acquire::http::Timeout=10", "Acquire::https::Timeout=10")
# Texts for HELP, which take longest to load and which no test reads.
_EMPTIED: Final = "usr/share/mysql/fill_help_tables.sql"


def main(which: str = "") -> int:
    """Fetch what is missing; the servers of document stores where they are asked for."""
    if which == "stores":
        if stores.missing("redis"):
            _try("Redis", _fetch_redis)
        if any(map(stores.missing, ("valkey", "mongodb", "dynamodb", "opensearch", "gs"))):
            _try("servers of document stores", _fetch_stores)
        if stores.missing("dynalite"):
            _try("Dynalite", _fetch_dynalite)
        return 0
    if keeper.missing("mariadb"):
        _try("MariaDB", _fetch_mariadb)
    if shutil.which("bwrap") is None and not _BWRAP.exists():
        _try("bubblewrap", _fetch_bubblewrap)
    return 0


def _try(name: str, fetch: Callable[[], None]) -> None:
    try:
        fetch()
    except (OSError, subprocess.SubprocessError) as problem:
        late = isinstance(problem, subprocess.TimeoutExpired)
        said = "" if late else getattr(problem, "stderr", None)
        said = said or str(problem)
        reason = said.strip().splitlines()[-1] if said.strip() else type(problem).__name__
        sys.stderr.write(f"No {name} for the tests: {reason[:200]}\n")


def _fetch_mariadb() -> None:
    with _unpacked(_NEEDED, _PERHAPS) as whole:
        (whole / _EMPTIED).write_text("")
        found = keeper.Programs(whole / "usr" / "sbin", whole)
        # Fails where a library is still missing.
        _run([str(found.folder / "mariadbd"), "--version"], whole, found.environment)
        shutil.rmtree(keeper.FETCHED, ignore_errors=True)
        whole.rename(keeper.FETCHED)


def _fetch_redis() -> None:
    with _unpacked(_REDIS, _REDIS_PERHAPS) as whole:
        found = keeper.Programs(whole / "usr" / "bin", whole)
        _run([str(found.folder / "redis-server"), "--version"], whole, found.environment)
        stores.FETCHED.mkdir(exist_ok=True)
        shutil.rmtree(stores.FETCHED / "redis", ignore_errors=True)
        whole.rename(stores.FETCHED / "redis")


def _fetch_stores() -> None:
    folder = stores.FETCHED
    _run([sys.executable, "-m", "venv", str(folder)], folder.parent)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    _run([*pip, *stores.PACKAGES], folder)


def _fetch_dynalite() -> None:
    client = shutil.which("npm")
    if client is None:
        raise OSError("npm is not there")
    folder = stores.FETCHED / "node"
    folder.mkdir(parents=True, exist_ok=True)
    # Without the compiled part it keeps its data in memory.
    _run([client, "install", "--silent", "--ignore-scripts", *stores.NPM], folder)


def _fetch_bubblewrap() -> None:
    with _unpacked(("bubblewrap",)) as whole:
        found = whole / "usr" / "bin" / "bwrap"
        _run([str(found), "--version"], whole)
        found.rename(_BWRAP)


@contextmanager
def _unpacked(needed: Sequence[str], perhaps: Sequence[str] = ()) -> Iterator[Path]:
    """Give a folder with the files of packages, for as long as it is used."""
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
        for package in (*needed, *perhaps):
            _run([*client_command, "download", package], folder, needed=package in needed)
        for archive in sorted(folder.glob("*.deb")):
            _run([unpack, "-x", str(archive), str(whole)], folder)
        yield whole


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
    sys.exit(main(*sys.argv[1:2]))
