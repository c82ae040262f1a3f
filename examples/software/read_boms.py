"""Read software bills of materials into a database: SPDX 2.3 and CycloneDX 1.4 to 1.6, as JSON.

In: a folder of `*.spdx.json` and `*.cdx.json`.  Out: tables of an SQLite database, the same for
both formats.  Invariant: a bill that is no such document, is larger than a bound or refers to what
it does not list is refused as a whole, with its name and place; nothing is guessed.  A licence that
nobody asserts is a NULL, one that is `NONE` is no row.

    python examples/software/read_boms.py FOLDER DATABASE
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES: Final = 50_000_000
MOST_CHOICES: Final = 64
MOST_TOKENS: Final = 1_000

SCHEMA: Final = """
CREATE TABLE products (id TEXT PRIMARY KEY NOT NULL, root TEXT NOT NULL, licence TEXT);
CREATE TABLE listed (product_id TEXT NOT NULL, component_id TEXT NOT NULL);
CREATE TABLE components (
    id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, version TEXT, rank TEXT, package TEXT,
    supplier TEXT, digest TEXT
);
CREATE TABLE dependencies (component_id TEXT NOT NULL, other_id TEXT NOT NULL);
CREATE INDEX dependencies_of_components ON dependencies (component_id);
CREATE TABLE licences (component_id TEXT NOT NULL, choice INTEGER NOT NULL, licence TEXT);
"""


class BillError(Exception):
    """A bill of materials that is not one, with its name and what is wrong."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component as both formats tell it; `licences` are the choices, `None` where unknown."""

    id: str
    name: str
    version: str | None = None
    package: str | None = None
    supplier: str | None = None
    digest: str | None = None
    licences: tuple[frozenset[str] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Bill:
    """A bill: its product, the component it begins with, all components, who needs what."""

    product: str
    root: str
    components: dict[str, Component]
    needs: frozenset[tuple[str, str]]
    licence: str | None = field(default=None)
    judged: bool = False
    """Whether it also says which vulnerabilities there are; that is not read."""


def read_bill(path: Path) -> Bill:
    """Read one bill. Raises `BillError`."""
    try:
        return _checked(_document(path))
    except (OSError, ValueError, RecursionError, BillError) as problem:
        message = f"{path.name}: {problem}"
        raise BillError(message) from problem
    except (KeyError, TypeError, AttributeError) as problem:
        message = f"{path.name}: a member is missing or of another type ({problem!r:.80})"
        raise BillError(message) from problem


def _document(path: Path) -> Bill:
    if path.stat().st_size > MOST_BYTES:
        message = f"more than {MOST_BYTES} bytes"
        raise BillError(message)
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        message = "no JSON object"
        raise BillError(message)
    if str(document.get("spdxVersion", "")).startswith("SPDX-2."):
        return _spdx(document)
    if document.get("bomFormat") == "CycloneDX":
        return _cyclonedx(document)
    message = "neither SPDX 2 nor CycloneDX"
    raise BillError(message)


def _checked(bill: Bill) -> Bill:
    for one in {bill.root, *(end for pair in bill.needs for end in pair)} - bill.components.keys():
        message = f"{one!r:.80} is referred to and not listed"
        raise BillError(message)
    return bill


def _identity(name: str, version: str | None, purl: str | None) -> str:
    return _text(purl) if purl else f"{_text(name)}@{version or '?'}"


def _named(names: dict[str, str], reference: str) -> str:
    if reference not in names:
        message = f"{reference!r:.80} is referred to and not listed"
        raise BillError(message)
    return names[reference]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        message = f"{value!r:.80} is no text"
        raise BillError(message)
    return value


def _package(purl: str | None) -> str | None:
    return None if not purl else re.split(r"[@?#]", purl.removeprefix("pkg:"), maxsplit=1)[0]


# ------------------------------------------------------------------------------------------ SPDX


def _spdx(document: dict[str, Any]) -> Bill:
    names: dict[str, str] = {}
    components: dict[str, Component] = {}
    for package in document["packages"]:
        purls = [
            one["referenceLocator"]
            for one in package.get("externalRefs", ())
            if one["referenceType"] == "purl"
        ]
        purl = purls[0] if purls else None
        version = package.get("versionInfo")
        identity = _identity(package["name"], version, purl)
        supplier = package.get("supplier", "NOASSERTION")
        licence = package.get("licenseConcluded", "NOASSERTION")
        if licence == "NOASSERTION":
            licence = package.get("licenseDeclared", "NOASSERTION")
        hashes = {one["algorithm"]: one["checksumValue"] for one in package.get("checksums", ())}
        names[_text(package["SPDXID"])] = identity
        components[identity] = Component(
            identity,
            package["name"],
            version,
            _package(purl),
            None if supplier == "NOASSERTION" else supplier.partition(": ")[2] or supplier,
            hashes.get("SHA256"),
            choices(licence),
        )
    (root,) = {
        one["relatedSpdxElement"]
        for one in document["relationships"]
        if one["relationshipType"] == "DESCRIBES"
    }
    needs = set()
    for one in document["relationships"]:
        ends = (one["spdxElementId"], one["relatedSpdxElement"])
        if one["relationshipType"] == "DEPENDS_ON":
            needs.add((_named(names, ends[0]), _named(names, ends[1])))
        elif one["relationshipType"] == "DEPENDENCY_OF":
            needs.add((_named(names, ends[1]), _named(names, ends[0])))
    licence = next(iter(components[names[root]].licences), None)
    outbound = " AND ".join(sorted(licence)) if licence else None
    return Bill(_text(document["name"]), names[root], components, frozenset(needs), outbound)


# ------------------------------------------------------------------------------------- CycloneDX


def _cyclonedx(document: dict[str, Any]) -> Bill:
    first = document["metadata"]["component"]
    names: dict[str, str] = {}
    components: dict[str, Component] = {}
    for one in [first, *_nested(document.get("components", []))]:
        identity = _identity(one["name"], one.get("version"), one.get("purl"))
        names[_text(one.get("bom-ref", identity))] = identity
        hashes = {entry["alg"]: entry["content"] for entry in one.get("hashes", ())}
        components[identity] = Component(
            identity,
            one["name"],
            one.get("version"),
            _package(one.get("purl")),
            (one.get("supplier") or {}).get("name") or one.get("publisher"),
            hashes.get("SHA-256"),
            _cyclonedx_licences(one.get("licenses")),
        )
    needs = {
        (_named(names, one["ref"]), _named(names, other))
        for one in document.get("dependencies", ())
        for other in one.get("dependsOn", ())
    }
    root = _identity(first["name"], first.get("version"), first.get("purl"))
    licence = next(iter(components[root].licences), None)
    outbound = " AND ".join(sorted(licence)) if licence else None
    judged = bool(document.get("vulnerabilities"))
    return Bill(_text(first["name"]), root, components, frozenset(needs), outbound, judged)


def _nested(components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    waiting = list(reversed(components))
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.get("components", []))


def _cyclonedx_licences(entries: list[dict[str, Any]] | None) -> tuple[frozenset[str] | None, ...]:
    if not entries:
        return (None,)
    if "expression" in entries[0]:
        return choices(entries[0]["expression"])
    # Several licences without an expression all apply; one that nobody asserts leaves all open.
    found = [_text(one["license"].get("id") or one["license"]["name"]) for one in entries]
    named = frozenset(found) - {"NONE"}
    if "NOASSERTION" in named:
        return (None,)
    return (named,) if named else ()


# --------------------------------------------------------------------------- licence expressions

_TOKEN: Final = re.compile(r"\s*(\(|\)|[A-Za-z0-9.+:-]+)")


def choices(expression: str) -> tuple[frozenset[str] | None, ...]:
    """Give the choices of an SPDX licence expression, each a set of licences that all apply.

    `A WITH b` is one licence.  `NOASSERTION` is one unknown choice, `NONE` no choice.
    """
    if expression in {"NOASSERTION", "NONE"}:
        return (None,) if expression == "NOASSERTION" else ()
    tokens, at = [], 0
    while at < len(expression.rstrip()):
        found = _TOKEN.match(expression, at)
        if found is None or len(tokens) >= MOST_TOKENS:
            message = f"{expression!r:.80} is no licence expression"
            raise BillError(message)
        tokens.append(found[1])
        at = found.end()
    try:
        told = _Expression(tokens).whole()
    except (IndexError, RecursionError):
        told = ()
    if not told:
        message = f"{expression!r:.80} is no licence expression"
        raise BillError(message)
    return tuple(sorted(set(told), key=sorted))


class _Expression:
    """A licence expression, read from its tokens as sets of licences."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def whole(self) -> tuple[frozenset[str], ...]:
        found = self.either()
        return found if self.at == len(self.tokens) else ()

    def either(self) -> tuple[frozenset[str], ...]:
        found = self.both()
        while self._next("OR"):
            found += self.both()
            self._bound(found)
        return found

    def both(self) -> tuple[frozenset[str], ...]:
        found = self.one()
        while self._next("AND"):
            other = self.one()
            found = tuple(one | two for one in found for two in other)
            self._bound(found)
        return found

    def one(self) -> tuple[frozenset[str], ...]:
        word = self._take()
        if word == "(":
            found = self.either()
            return found if self._take() == ")" else ()
        if word in {")", "AND", "OR", "WITH"}:
            raise IndexError
        return (frozenset({f"{word} WITH {self._take()}" if self._next("WITH") else word}),)

    def _next(self, word: str) -> bool:
        if self.tokens[self.at : self.at + 1] != [word]:
            return False
        self.at += 1
        return True

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def _bound(self, found: tuple[frozenset[str], ...]) -> None:
        if len(found) > MOST_CHOICES:
            message = f"a licence expression with more than {MOST_CHOICES} choices"
            raise BillError(message)


def rank(version: str) -> str | None:
    """Write a version as a text that is ordered as versions are, or give none.

    Numbers have eight places; a pre-release such as `1.0.0-rc.1` comes before its release.
    """
    found = re.fullmatch(
        r"v?(\d{1,8}(?:\.\d{1,8}){0,5})(?:[-.]?(a|b|rc|alpha|beta|dev)[.]?(\d{0,8}))?(?:\+.*)?",
        version,
    )
    if found is None:
        return None
    numbers = [int(one) for one in found[1].split(".")]
    padded = ".".join(f"{one:08d}" for one in [*numbers, *[0] * (6 - len(numbers))])
    stages = {"dev": "0", "a": "1", "alpha": "1", "b": "2", "beta": "2", "rc": "3", None: "9"}
    return f"{padded}.{stages[found[2]]}{int(found[3] or 0):08d}"


# ----------------------------------------------------------------------------------- the database


def store(bills: list[Bill], connection: sqlite3.Connection) -> None:
    """Write bills into empty tables. Raises `BillError` where two say different of a component."""
    connection.executescript(SCHEMA)
    known: dict[str, Component] = {}
    needs: set[tuple[str, str]] = set()
    for bill in bills:
        row = (bill.product, bill.root, bill.licence)
        connection.execute("INSERT INTO products VALUES (?, ?, ?)", row)
        listed = [(bill.product, one) for one in sorted(bill.components)]
        connection.executemany("INSERT INTO listed VALUES (?, ?)", listed)
        needs |= bill.needs
        for identity, one in bill.components.items():
            if known.setdefault(identity, one) != one:
                message = f"{bill.product}: another bill says otherwise of {identity!r:.80}"
                raise BillError(message)
    for identity in sorted(known):
        one = known[identity]
        place = None if one.version is None else rank(one.version)
        told = (identity, one.name, one.version, place, one.package, one.supplier, one.digest)
        connection.execute("INSERT INTO components VALUES (?, ?, ?, ?, ?, ?, ?)", told)
        for number, licences in enumerate(one.licences, 1):
            rows = [(identity, number, name) for name in sorted(licences or ())]
            rows = rows or [(identity, number, None)]  # type: ignore[list-item]  # nobody asserts it
            connection.executemany("INSERT INTO licences VALUES (?, ?, ?)", rows)
    connection.executemany("INSERT INTO dependencies VALUES (?, ?)", sorted(needs))


def read_folder(folder: Path) -> list[Bill]:
    """Read all bills of a folder, in the order of their names. Raises `BillError`."""
    paths = sorted([*folder.glob("*.spdx.json"), *folder.glob("*.cdx.json")])
    return [read_bill(one) for one in paths]


def main() -> int:
    """Read a folder into a new database; 1 where a bill is refused, and then there is none."""
    parser = argparse.ArgumentParser(description="Read bills of materials into a new database.")
    parser.add_argument("folder", type=Path, help="where *.spdx.json and *.cdx.json lie")
    parser.add_argument("database", type=Path, help="the SQLite file that is made")
    given = parser.parse_args()
    if given.database.exists():
        print(f"refused: {given.database.name} is there already", file=sys.stderr)
        return 1
    growing = given.database.with_name(f"{given.database.name}.{os.getpid()}.new")
    try:
        bills = read_folder(given.folder)
        with closing(sqlite3.connect(growing)) as connection, connection:
            store(bills, connection)
        growing.replace(given.database)
    except (BillError, OSError, sqlite3.Error) as problem:
        print(f"refused: {problem}", file=sys.stderr)
        return 1
    finally:
        growing.unlink(missing_ok=True)
    for name in (one.product for one in bills if one.judged):
        print(f"{name}: its `vulnerabilities` were not read", file=sys.stderr)
    print(f"read {len(bills)} bill{'' if len(bills) == 1 else 's'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
