"""Packages of rules: what `constat.yaml` wants, what the lock says, what lies in the project.

A package is a library of rules that others publish. Its files are copied into `packages/NAME`, with
a prefix before its names where one is wanted, and the lock has their hashes: what a project reads
is what somebody looked at. Nothing is fetched when a project is loaded; `constat rules` does that.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.frozen import frozen
from constat.project.document import (
    MAX_BYTES,
    Listing,
    Node,
    Table,
    Text,
    printable,
    read_document,
)
from constat.project.places import CONFIGURATION, MANIFEST, PACKAGES, PACKAGES_LOCK
from constat.project.reading import Sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MOST_FILES: Final = 2_000
MOST_FILE: Final = 4 << 20
MOST_BYTES: Final = 32 << 20
NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
PREFIX: Final = re.compile(r"[a-z][a-z0-9_]{0,30}\Z")
_LONGEST_NAME: Final = 60
ROLE: Final = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
SIGNATURES: Final = "library.dsse"
"""Who published a library says so in this file of it; it is none of the files that it is about."""
_WANTED_KEYS: Final = ("from", "prefix", "version", "signed")
_LOCK_KEYS: Final = (
    *("version", "from", "wanted", "prefix", "commit", "role", "signer"),
    *("requires", "files", "copy"),
)
# What belongs to a library: anything else beside it is left where it is.
_NOWHERE: Final = Text("", Span(MANIFEST, 1, 1, 1, 1))
_PART: Final = re.compile(
    r"(?:(?:cases/)?[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.dl|library\.yaml|library\.dsse|README\.md|LICEN[CS]E(?:\.[a-z]+)?)\Z"
)


@frozen
class WantedPackage:
    """A library that others publish: `from` is a folder, a wheel, an index or a repository.

    Without `from` it is what pip has installed under this name. `prefix` stands before its names,
    `version` is a range such as `>=1.0,<2`. `signed` is a role: somebody whose key the project
    trusts for it has to have signed the library.
    """

    name: str
    source: str = ""
    prefix: str = ""
    version: str = ""
    signed: str = ""
    span: Span | None = None


@frozen
class Package:
    """An entry of the lock.

    `digest` is the hash of the files as they were published, `copy` that of those in the project,
    which differ where there is a prefix. `commit` is that of a repository, `requires` names other
    packages and their versions. `signer` says who signed it in the role that is wanted.
    """

    name: str
    version: str
    source: str
    wanted: str
    prefix: str
    commit: str
    requires: Mapping[str, str]
    digest: str
    copy: str
    role: str = ""
    signer: str = ""

    @property
    def told(self) -> str:
        """What a certificate says of it."""
        copied = f", as {self.prefix}_ {self.copy}" if self.prefix else ""
        signed = f", published by {self.signer}" if self.signer else ""
        return f"{self.name} {self.version} {self.digest}{copied}{signed}"


def is_name(name: str) -> bool:
    """Whether a text can name a library: small letters, digits and hyphens."""
    return len(name) <= _LONGEST_NAME and NAME.match(name) is not None


def is_part(path: str) -> bool:
    """Whether a path below the folder of a library belongs to it."""
    return _PART.match(path) is not None


def digest_of(files: Mapping[str, bytes]) -> str:
    """Give the hash of files by their paths: names and contents, in the order of the names."""
    lines = (f"{path} {hashlib.sha256(files[path]).hexdigest()}\n" for path in sorted(files))
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files of a library in a folder, by their paths below it.

    Raises `ConstatError` for what leads out of the folder, is no plain file, or is too large.
    """
    found: dict[str, bytes] = {}
    size = 0
    for path in _parts(folder):
        name = path.relative_to(folder).as_posix()
        try:
            within = path.resolve().is_relative_to(folder.resolve())
            if not within or not path.is_file():
                raise unreadable(f"`{printable(name)}` leads out of the library, or is no file")
            with path.open("rb") as stream:
                found[name] = stream.read(MOST_FILE + 1)
        except (OSError, RuntimeError) as problem:
            reason = f"`{printable(name)}` cannot be read ({type(problem).__name__})"
            raise unreadable(reason) from None
        size += len(found[name])
        require_bounds(name, found, size)
    return found


def require_bounds(name: str, found: Mapping[str, bytes], size: int) -> None:
    """Raise `ConstatError` where a library is larger than any that people write."""
    if len(found[name]) > MOST_FILE:
        raise unreadable(f"`{printable(name)}` is larger than {MOST_FILE >> 20} MiB")
    if len(found) > MOST_FILES or size > MOST_BYTES:
        raise unreadable(f"it has more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB")


def unreadable(reason: str, hint: str = "") -> ConstatError:
    """Say why the files of a package cannot be read."""
    message = f"the package cannot be read: {reason}"
    return ConstatError([Diagnostic("C0595", message, help=hint)])


def _parts(folder: Path) -> Iterator[Path]:
    try:
        for place in (folder, folder / "cases"):
            listed = sorted(place.iterdir()) if place.is_dir() else []
            yield from (one for one in listed if is_part(one.relative_to(folder).as_posix()))
    except (OSError, RuntimeError) as problem:
        raise unreadable(f"its folder cannot be listed ({type(problem).__name__})") from None


# A manifest may say anything: what it says is a name, a version and plain lines, or it is refused.

_MANIFEST_KEYS: Final = (
    *("library", "version", "licence", "owners", "description", "requires", "constat"),
)
_LONGEST_LINE: Final = 300
_LICENCE: Final = re.compile(r"[A-Za-z0-9.+() -]{1,200}\Z")


@frozen
class Manifest:
    """What a library says of itself in `library.yaml`.

    `requires` gives for other libraries which versions will do, such as `>=1.0,<2`; `engine` says
    so of Constat. `licence` is an expression of SPDX.
    """

    name: str
    version: str
    licence: str
    owners: tuple[str, ...]
    description: str = ""
    requires: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""


def read_manifest(content: bytes) -> Manifest:
    """Read a manifest. Raises `ConstatError` with all its mistakes, each with its place."""
    mistakes: list[Diagnostic] = []
    document = read_document(content, MANIFEST, mistakes)
    if document is None:
        raise ConstatError(mistakes)
    sections = Sections(mistakes)
    found = sections.table(document, MANIFEST, _MANIFEST_KEYS)
    for key, example in (
        *(("library", "customer-value"), ("version", "1.0.0"), ("licence", "Apache-2.0")),
        ("owners", "[customer care]"),
    ):
        if key not in found:
            hint = f"write `{key}: {example}`"
            sections.complain("C0595", f"{MANIFEST} has no `{key}`", document, hint=hint)
    name = sections.text(found.get("library"), "`library`")
    if name and not is_name(name):
        hint = "use small letters, digits and hyphens: `library: customer-value`"
        sections.complain("C0595", "this is no name of a library", found["library"], hint=hint)
    licence = _line(found.get("licence"), "`licence`", sections)
    if licence and not _LICENCE.match(licence):
        hint = "write one of SPDX, such as `Apache-2.0`, or `LicenseRef-Internal`"
        sections.complain("C0595", "this is no licence expression", found["licence"], hint=hint)
    manifest = Manifest(
        name=name,
        version=_version(found.get("version"), sections),
        licence=licence,
        owners=tuple(
            _line(one, "`owners`", sections)
            for one in sections.texts(found.get("owners"), "`owners`")
        ),
        description=_line(found.get("description"), "`description`", sections),
        requires=_requires(found.get("requires"), name, sections),
        engine=_specifier(found.get("constat"), "`constat`", sections),
    )
    if not mistakes and not fits(_engine_version(), manifest.engine):
        message = f"`{name}` wants Constat {manifest.engine}, and this is {_engine_version()}"
        hint = "install such a version, or fetch another version of the library"
        sections.complain("C0599", message, found["constat"], hint=hint)
    if mistakes:
        raise ConstatError(mistakes)
    return manifest


def read_required(path: Path) -> tuple[str, ...]:
    """Give the libraries that a manifest requires; one that cannot be read names none."""
    try:
        with path.open("rb") as stream:
            return tuple(read_manifest(stream.read(MOST_FILE)).requires)
    except (OSError, ConstatError):
        return ()


def _engine_version() -> str:
    from constat import __version__  # noqa: PLC0415  loaded when it is used

    return __version__


def _line(node: Node | None, what: str, sections: Sections) -> str:
    text = sections.text(node, what)
    if node is not None and text and (not text.isprintable() or len(text) > _LONGEST_LINE):
        hint = f"write one line of at most {_LONGEST_LINE} characters"
        sections.complain("C0595", f"{what} is no plain line", node, hint=hint)
        return ""
    return text


def _version(node: Node | None, sections: Sections) -> str:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415  heavy library, loaded on first use

    text = sections.text(node, "`version`")
    try:
        return str(Version(text)) if text else ""
    except InvalidVersion:
        hint = "write numbers with points: `version: 1.0.0`"
        sections.complain("C0595", "this is no version", node or _NOWHERE, hint=hint)
        return ""


def _specifier(node: Node | None, what: str, sections: Sections) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415  heavy library, loaded on first use

    text = "" if isinstance(node, Text) and not node.text else sections.text(node, what)
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier:
        hint = 'write comparisons with commas: `">=1.0,<2"`'
        sections.complain("C0595", f"{what} is no range of versions", node or _NOWHERE, hint=hint)
        return ""


def _requires(node: Node | None, own: str, sections: Sections) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in sections.entries(node, "`requires`") if node is not None else ():
        if not is_name(key.text) or key.text == own:
            hint = 'name another library: `requires: {customer-value: ">=1.0"}`'
            sections.complain("C0595", "no library has that name", key, hint=hint)
        else:
            found[key.text] = _specifier(value, f"`{key.text}`", sections)
    return found


def fits(version: str, wanted: str, span: Span | None = None) -> bool:
    """Whether a version is among those wanted. Raises `ConstatError` for what is no range."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415  heavy library, loaded on first use

    try:
        return SpecifierSet(wanted).contains(version, prereleases=True)
    except InvalidSpecifier:
        hint = 'write comparisons with commas: `">=1.0,<2"`'
        message = "`version` is no range of versions"
        raise ConstatError([Diagnostic("C0599", message, span, help=hint)]) from None


# What is wanted, and whether it is what is there.


def read_wanted(node: Node, sections: Sections) -> dict[str, WantedPackage]:
    """Read `packages:`, a table by names of libraries."""
    found: dict[str, WantedPackage] = {}
    for key, value in sections.entries(node, "`packages`"):
        what = f"package `{printable(key.text)}`"
        if not is_name(key.text):
            hint = "write it as its manifest does, such as `customer-value`"
            sections.complain("C0504", f"{what} is no name of a library", key, hint=hint)
            continue
        empty = isinstance(value, Text) and value.bare and not value.text
        parts = {} if empty else sections.table(value, what, _WANTED_KEYS)
        prefix = sections.text(parts.get("prefix"), "`prefix`")
        if prefix and not PREFIX.match(prefix):
            hint = "use small letters, digits and `_`, with a letter first: `prefix: cv`"
            sections.complain("C0504", "`prefix` is none", parts["prefix"], hint=hint)
        source = sections.text(parts.get("from"), "`from`")
        version = sections.text(parts.get("version"), "`version`")
        signed = sections.text(parts.get("signed"), "`signed`")
        if signed and not ROLE.match(signed):
            hint = "name the role of a key under `keys:`, such as `signed: publisher`"
            sections.complain("C0504", "`signed` is no role", parts["signed"], hint=hint)
        found[key.text] = WantedPackage(key.text, source, prefix, version, signed, key.span)
    return found


def read_lock(folder: Path, diagnostics: list[Diagnostic]) -> dict[str, Package]:
    """Read the lock of a project; without one nothing is locked."""
    try:
        with (folder / PACKAGES_LOCK).open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as problem:
        message = f"{PACKAGES_LOCK} cannot be read ({type(problem).__name__})"
        diagnostics.append(Diagnostic("C0598", message))
        return {}
    mistakes: list[Diagnostic] = []
    document = read_document(content, PACKAGES_LOCK, mistakes)
    sections = Sections(mistakes)
    found = {}
    empty = Table((), Span(PACKAGES_LOCK, 1, 1, 1, 1))
    for key, value in sections.entries(document or empty, PACKAGES_LOCK):
        parts = sections.table(value, f"package `{printable(key.text)}`", _LOCK_KEYS)
        texts = {name: one.text for name, one in parts.items() if isinstance(one, Text)}
        requires = parts.get("requires")
        needs = requires.entries if isinstance(requires, Table) else ()
        found[key.text] = Package(
            name=key.text,
            version=texts.get("version", ""),
            source=texts.get("from", ""),
            wanted=texts.get("wanted", ""),
            prefix=texts.get("prefix", ""),
            commit=texts.get("commit", ""),
            requires={name.text: one.text for name, one in needs if isinstance(one, Text)},
            digest=texts.get("files", ""),
            copy=texts.get("copy", ""),
            role=texts.get("role", ""),
            signer=texts.get("signer", ""),
        )
    diagnostics += mistakes
    return found


def write_lock(packages: Mapping[str, Package]) -> bytes:
    """Write a lock: one entry for each package, by name."""
    lines = [f"# Written by `constat rules lock`; the files are in {PACKAGES}/. Edit neither.\n"]
    for name in sorted(packages):
        one = packages[name]
        texts = (
            *(one.version, one.source, one.wanted, one.prefix, one.commit),
            *(one.role, one.signer),
        )
        lines.append(f"{name}:\n")
        for key, text in zip(_LOCK_KEYS[:7], texts, strict=True):
            lines += [f"  {key}: {quoted(text)}\n"] if text else []
        if one.requires:
            needs = ", ".join(f"{key}: {quoted(one.requires[key])}" for key in sorted(one.requires))
            lines.append(f"  requires: {{{needs}}}\n")
        lines.append(f"  files: {one.digest}\n  copy: {one.copy}\n")
    return "".join(lines).encode()


def quoted(text: str) -> str:
    """Write a text for YAML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def locked_packages(
    folder: Path, wanted: Mapping[str, WantedPackage], sections: Sections
) -> tuple[Package, ...]:
    """Give the packages of a project that are as the lock says; what is not is reported."""
    locked = read_lock(folder, sections.diagnostics)
    found = []
    for name, one in wanted.items():
        problem = problem_of(folder, one, locked.get(name))
        if problem:
            message = f"the package `{name}` {problem}"
            note = "rules that nobody has locked are not read"
            hint = "`constat rules lock` fetches what constat.yaml names, and locks it"
            sections.diagnostics.append(
                Diagnostic("C0598", message, one.span, note=note, help=hint)
            )
        else:
            found.append(locked[name])
    for name in locked.keys() - wanted.keys():
        message = f"the package `{printable(name)}` is locked and no longer in constat.yaml"
        hint = f"`constat rules remove {printable(name)}`, or name it under `packages:`"
        sections.diagnostics.append(Diagnostic("C0598", message, help=hint))
    return tuple(found)


def problem_of(folder: Path, wanted: WantedPackage, locked: Package | None) -> str:
    """Say how a package differs from its lock; nothing where it does not."""
    if locked is None:
        return f"is not in {PACKAGES_LOCK}"
    now = (wanted.source, wanted.prefix, wanted.version, wanted.signed)
    if now != (locked.source, locked.prefix, locked.wanted, locked.role):
        return f"is wanted in another way than {PACKAGES_LOCK} says"
    try:
        files = read_folder(folder / PACKAGES / wanted.name)
    except ConstatError as problem:
        return problem.diagnostics[0].message.removeprefix("the package ")
    if not files:
        return f"is not in {PACKAGES}/{wanted.name}"
    return "" if digest_of(files) == locked.copy else f"has other files than {PACKAGES_LOCK} says"


# `constat.yaml` is people's: an entry is put in or taken out line by line, and everything else
# stays as it was written.


def with_entry(content: bytes, name: str, wanted: WantedPackage | None) -> bytes:
    """Give `constat.yaml` with an entry of `packages:`, or without it where none is wanted.

    Raises `ConstatError` where the file is written in a way that cannot be edited line by line.
    """
    text = content.decode("utf-8")
    lines = text.split("\n")
    top = _read(content)
    packages = next((pair for pair in top.entries if pair[0].text == "packages"), None)
    entry = "" if wanted is None else f"{name}: {{{_flow(wanted)}}}"
    if packages is None:
        added = [*([""] if lines[-1:] != [""] else []), "packages:", f"  {entry}", ""]
        lines = [*(lines[:-1] if lines[-1:] == [""] else lines), *added] if entry else lines
    else:
        key, node = packages
        present = node.entries if isinstance(node, Table) else ()
        first = next((one for one, _ in present), None)
        if first is not None and first.span.line == key.span.line:
            raise _by_hand(entry or f"no `{name}`")
        column = first.span.column if first is not None else key.span.column + 2
        old = next((one.span.line for one, _ in present if one.text == name), None)
        start = key.span.line if old is None else old - 1
        stop = start if old is None else _end_of(lines, old, column)
        lines[start:stop] = [f"{' ' * (column - 1)}{entry}"] if entry else []
        if not entry and len(present) == 1 and old is not None:
            del lines[key.span.line - 1]
    changed = "\n".join(lines).encode()
    if _others(_read(changed)) != _others(top) or _entry(_read(changed), name) != wanted:
        raise _by_hand(entry or f"no `{name}`")
    return changed


def _read(content: bytes) -> Table:
    mistakes: list[Diagnostic] = []
    found = read_document(content, CONFIGURATION, mistakes)
    if not isinstance(found, Table):
        raise ConstatError(mistakes or [Diagnostic("C0501", "it is no table of keys")])
    return found


def _flow(wanted: WantedPackage) -> str:
    parts = (
        *(("from", wanted.source), ("prefix", wanted.prefix), ("version", wanted.version)),
        ("signed", wanted.signed),
    )
    return ", ".join(f"{key}: {quoted(text)}" for key, text in parts if text)


def _end_of(lines: list[str], line: int, column: int) -> int:
    """Give the line behind an entry: its own lines are empty or indented further."""
    end = line
    for number in range(line, len(lines)):
        inner = lines[number].lstrip(" ")
        if inner and not inner.startswith("#"):
            if len(lines[number]) - len(inner) < column:
                break
            end = number + 1
    return end


def _entry(top: Table, name: str) -> WantedPackage | None:
    node = next((value for key, value in top.entries if key.text == "packages"), None)
    found = read_wanted(node, Sections([])).get(name) if node is not None else None
    return None if found is None else replace(found, span=None)


def _others(node: Node) -> object:
    match node:
        case Table(entries=entries):
            return {key.text: _others(one) for key, one in entries if key.text != "packages"}
        case Listing(entries=listed):
            return [_others(one) for one in listed]
        case Text(text=text):
            return text


def _by_hand(entry: str) -> ConstatError:
    message = "`packages:` in constat.yaml cannot be edited line by line"
    hint = f"write below it, on a line of its own: `{entry}`; then `constat rules lock`"
    return ConstatError([Diagnostic("C0598", message, help=hint)])
