"""Read what somebody begins a project with: an address, a file, or a folder of files.

In: the word of the command line, and the folder of the new project. Out: a `Beginning`: the entry
of `databases:` and the secrets that were taken out of it. Invariants: a password never gets into a
file: its place is taken by `${NAME}`; the file of an address is named relative to the project
where it lies in it, else absolutely; no server is asked, and nothing is read. Example:
`postgresql://reader:pw@host/crm` becomes `postgresql://reader:${CRM_PASSWORD}@host/crm`.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog import SourceFailureError, SqliteConnection
from constat.catalog.alchemy_addresses import sql_of
from constat.catalog.duck_session import DuckSession
from constat.catalog.schema.words import words_of
from constat.diagnostics import ConstatError, Diagnostic
from constat.project.data_files import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACCOUNT: Final = re.compile(r"([a-z][a-z0-9+.-]*://[^:/@?#]*):([^/?#]*)@", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"([?&](?:[a-z_]*(?:password|passwd|pwd|secret|token|api_?key)[a-z_]*)=)([^&#]+)", re.IGNORECASE
)
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}\Z")
_DUCKDB_ENDINGS: Final = frozenset({".duckdb", ".ddb"})
_MOST_FILES: Final = 200
_LONGEST: Final = 30


@dataclass(frozen=True, slots=True)
class Beginning:
    """A database for `constat.yaml`. `address` is written there, `files` are in its place.

    `secrets` are the values of the variables that stand in the address.
    """

    name: str
    address: str = ""
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    secrets: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)


def beginning(written: str, folder: Path, here: Path) -> Beginning:
    """Read an address or a path; `here` is where relative paths begin. Raises `ConstatError`."""
    if not written or not written.isprintable():
        raise _refused("this is no address and no path")
    scheme, separator, rest = written.partition("://")
    if not separator:
        return _from_path(here / written, folder)
    kind = scheme.partition("+")[0].lower()
    if kind in {"sqlite", "duckdb"} and scheme.lower() == kind:
        return _from_file(kind, here / rest.removeprefix("/"), folder)
    if not sql_of(scheme.lower()):
        raise _refused("the address begins with a name that is not known here")
    return _from_server(written)


def _from_path(path: Path, folder: Path) -> Beginning:
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if _is_data(one))[:_MOST_FILES]
        if not found:
            raise _refused(f"`{path.name}` holds no file that can be read")
        return _from_data(found, path.name or "files", folder)
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`")
    if _is_data(path):
        return _from_data([path], path.stem, folder)
    kind = _kind_of(path)
    if not kind:
        raise _refused(f"`{path.name}` is of a kind that cannot be read")
    return _from_file(kind, path, folder)


def _kind_of(path: Path) -> str:
    """Have the libraries say what a file is.

    Opening it here would drop locks of other sessions of this process (see `sqlite_state`).
    """
    if not path.stat().st_size:
        return ""
    for kind, look in (("sqlite", _look_with_sqlite), ("duckdb", _look_with_duckdb)):
        try:
            look(path)
        except SourceFailureError as problem:
            if "not a database" in problem.reason:
                continue
            if "locked" in problem.reason or "open for writing" in problem.reason:
                # Whoever writes it keeps both libraries from looking: its name has to do.
                return "duckdb" if path.suffix.lower() in _DUCKDB_ENDINGS else "sqlite"
        return kind
    return ""


def _look_with_sqlite(path: Path) -> None:
    with closing(SqliteConnection(path, wait_seconds=0.5)) as connection:
        connection.begin()


def _look_with_duckdb(path: Path) -> None:
    DuckSession(path).close()


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in ENDINGS


def _from_file(kind: str, path: Path, folder: Path) -> Beginning:
    if not path.is_file():
        raise _refused(f"there is no file `{path.name}`")
    return Beginning(_name(path.stem), f"{kind}:///{_escaped(_within(path, folder))}")


def _from_data(paths: list[Path], name: str, folder: Path) -> Beginning:
    files: dict[str, str] = {}
    for path in paths:
        relative = _within(path, folder)
        if Path(relative).is_absolute():
            raise _refused(f"`{path.name}` lies outside the project; data files lie in its folder")
        files[_other(_name(path.stem), files)] = relative
    return Beginning(_name(name), files=files)


def _other(name: str, taken: Mapping[str, str]) -> str:
    """Give a name that no file has yet: `orders.csv` and `orders.json` are two tables."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _within(path: Path, folder: Path) -> str:
    """Name a file relative to the project where it lies in it, else absolutely."""
    found = path.resolve()
    inner = folder.resolve()
    return str(found.relative_to(inner)) if found.is_relative_to(inner) else str(found)


def _from_server(address: str) -> Beginning:
    tail = re.split(r"[?#]", address.partition("://")[2])[0].rpartition("/")[2]
    name = _name(tail.rpartition("@")[2])
    secrets: dict[str, str] = {}

    def hidden(found: re.Match[str], ending: str) -> str:
        if _VARIABLE.match(found[2]):
            return found[0]
        variable = f"{name}_PASSWORD".upper()
        while variable in secrets:
            variable += "_2"
        secrets[variable] = found[2]
        return f"{found[1]}{':' if ending == '@' else ''}${{{variable}}}{ending}"

    shown = _ACCOUNT.sub(lambda found: hidden(found, "@"), address, count=1)
    shown = _SECRET.sub(lambda found: hidden(found, ""), shown)
    return Beginning(name, shown, secrets=MappingProxyType(secrets))


def _name(text: str) -> str:
    """Give a plain word for the configuration."""
    words = [word for word in words_of(text) if word.isascii()]
    name = "_".join(words)[:_LONGEST].strip("_")
    return name if name and name[0].isalpha() else f"data_{name}".rstrip("_")


def _escaped(path: str) -> str:
    """Keep `${` of a path from being read as a variable."""
    return path.replace("${", "$${")


def _refused(message: str) -> ConstatError:
    hint = (
        "name a file such as `shop.sqlite`, `shop.duckdb` or `orders.csv`, or an address such as"
        " `postgresql://reader:PASSWORD@host/name`"
    )
    return ConstatError([Diagnostic("C0852", message, help=hint)])
