"""Libraries of rules that others publish: found, checked, renamed, locked, and published.

In: a folder, a wheel, an index of wheels, a distribution that pip installed, or a repository. Out:
the files of one library with its manifest, and copies of them in a project. Nothing of a package is
run, no archive is unpacked and no repository is checked out: files are read one by one, within
bounds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import zipfile
import zlib
from base64 import b64encode
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from html.parser import HTMLParser
from itertools import islice
from netrc import NetrcParseError, netrc
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.frozen import frozen
from constat.library.loading import check_rules
from constat.logic import TypeDefinition
from constat.project.document import printable
from constat.project.packages import (
    MOST_BYTES,
    MOST_FILE,
    SIGNATURES,
    Manifest,
    Package,
    WantedPackage,
    digest_of,
    fits,
    is_name,
    is_part,
    read_folder,
    read_lock,
    read_manifest,
    require_bounds,
    unreadable,
    write_lock,
)
from constat.project.places import MANIFEST, PACKAGES, PACKAGES_LOCK
from constat.store.clock import now
from constat.store.replacing import Scratch, replaced
from constat.syntax.lexer import lex
from constat.syntax.loading import decode_rules
from constat.syntax.parser import parse_file
from constat.syntax.surface import ConstraintText, Declaration, RuleText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from http.client import HTTPMessage
    from typing import IO

    from constat.project import KeySetting
    from constat.proof.signing import SigningKey
    from constat.syntax.lexer import Tokens
    from constat.syntax.surface import SurfaceFile

# Give what a library declares other names, so that two libraries do not clash.

_CASES: Final = "cases/"
_PORTS: Final = frozenset({".input", ".output", ".printsize", ".plan"})
_WORDS: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[A-Za-z][A-Za-z0-9_]*")
_ATTRIBUTE: Final = "@["
# The parts of `expect` that hold goals, and those that hold names of rules and predicates.
_GOALS: Final = frozenset(
    {"proved", "disproved", "unresolved", "proved_under", "disproved_under", "unknown"}
)
_NAMED: Final = frozenset({"by", "uses"})
_WORLD: Final = frozenset({"open", "closed", "unknown", "source"})


@frozen
class NameTable:
    """Names and what they become: of predicates, types, branches, constraints, ids of rules."""

    predicates: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: NameTable) -> NameTable:
        """Give both; what the other says counts."""
        pairs = zip(self.parts, other.parts, strict=True)
        return NameTable(*({**mine, **theirs} for mine, theirs in pairs))

    @property
    def parts(self) -> tuple[Mapping[str, str], ...]:
        """The tables of all kinds."""
        return (self.predicates, self.types, self.branches, self.constraints, self.ids)

    def declared(self) -> frozenset[str]:
        """Everything that is declared, as it is called here. Kinds are told apart."""
        kinds = ("", "type ", "$", "constraint ", "rule ")
        pairs = zip(kinds, self.parts, strict=True)
        return frozenset(f"{kind}{name}" for kind, part in pairs for name in part.values())

    def without(self, prefix: str) -> NameTable:
        """Give the table from the names before they had a prefix."""
        start = f"{prefix}_"
        return NameTable(
            *({one.removeprefix(start): one for one in part.values()} for part in self.parts)
        )


def names_of(files: Mapping[str, bytes], prefix: str) -> NameTable:
    """Give what rule files declare, each with its name under a prefix. Cases declare nothing."""
    start = f"{prefix}_" if prefix else ""
    table: tuple[dict[str, str], ...] = ({}, {}, {}, {}, {})
    for path, content in files.items():
        if path.endswith(".dl") and not path.startswith(_CASES):
            for part, name in _declared(_parsed(path, content)):
                table[part][name] = f"{start}{name}"
    return NameTable(*table)


def _parsed(path: str, content: bytes) -> SurfaceFile:
    mistakes: list[Diagnostic] = []
    found = parse_file(decode_rules(content, path, mistakes), path, mistakes)
    if any(one.severity is Severity.ERROR for one in mistakes):
        raise ConstatError(mistakes)
    return found


def _declared(file: SurfaceFile) -> Iterator[tuple[int, str]]:
    for item in file.items:
        match item:
            case Declaration(name=name):
                yield 0, name
            case TypeDefinition(name=name, branches=branches, form=form):
                yield 1, name
                if form == "algebraic":
                    yield from ((2, one.constructor.removeprefix("$")) for one in branches)
            case ConstraintText(name=name):
                yield 3, name
            case RuleText(notes=notes):
                yield from ((4, one.value) for one in notes.attributes if one.key == "id")


def renamed(files: Mapping[str, bytes], table: NameTable) -> dict[str, bytes]:
    """Give the files with the names of the table. What holds no rules stays as it is."""
    if not any(name != new for part in table.parts for name, new in part.items()):
        return dict(files)
    found = {}
    for path, content in files.items():
        if path.endswith(".dl"):
            mistakes: list[Diagnostic] = []
            text = decode_rules(content, path, mistakes)
            if mistakes:
                raise unreadable(f"`{path}` is not UTF-8")
            found[path] = _Text(lex(text, path, []), table).renamed().encode()
        else:
            found[path] = content
    return found


class _Text:
    """One text that is renamed."""

    def __init__(self, tokens: Tokens, table: NameTable) -> None:
        self.tokens = tokens
        self.table = table
        self.edits: list[tuple[int, int, str]] = []

    def renamed(self) -> str:
        directive, place = "", 0
        kinds = self.tokens.kinds
        while kinds[place] != "end":
            kind = kinds[place]
            if kind == _ATTRIBUTE:
                place = self.attribute(place)
                continue
            if kind == "directive":
                directive = self.tokens.word(place)
            elif kind == ".":
                directive = ""
            elif kind == "name":
                # A directive has no end of its own: a name and a bracket, first on its line, begin
                # a rule behind it.
                if directive and kinds[place + 1] == "(" and self.begins_rule(place, directive):
                    directive = ""
                self.name(place, directive)
            elif kind == "text" and directive == ".pragma" and place > 1:
                self.pragma(place)
            place += 1
        return self.written()

    def begins_rule(self, place: int, directive: str) -> bool:
        before = self.tokens.kinds[place - 1]
        return (
            before not in {"directive", ",", ":"}
            and directive != ".constraint"
            and (self.tokens.begins_line(place))
        )

    def name(self, place: int, directive: str) -> None:
        """Rename a name by what it stands for."""
        kinds, word = self.tokens.kinds, self.tokens.word(place)
        before, after = kinds[place - 1] if place else "", kinds[place + 1]
        if before == "$":
            part = self.table.branches
        elif before == "directive" and directive == ".constraint":
            part = self.table.constraints
        elif directive == ".type" and before != "directive":
            part = self.table.branches if after == "{" else self.table.types
            part = {} if after == ":" else part
        elif directive == ".type" or (before == ":" and directive == ".decl"):
            part = self.table.types
        elif before == "directive" or after == "(" or (directive in _PORTS and before == ","):
            part = self.table.predicates
        elif before == "," and after == ")" and not directive:
            # `as(?x, Type)`: a bare name is nothing else there.
            part = self.table.types
        else:
            return
        self.edit(self.tokens.starts[place], word, part)

    def edit(self, start: int, word: str, part: Mapping[str, str]) -> None:
        if word in part:
            self.edits.append((start, start + len(word), part[word]))

    def pragma(self, place: int) -> None:
        """Rename what a case leaves open or closes."""
        tokens = self.tokens
        if tokens.kinds[place - 1] == "text" and tokens.word(place - 1).strip('"') in _WORLD:
            self.goals(place)

    def attribute(self, place: int) -> int:
        """Rename in `@[id = ...]` and `@[expect(...)]`; give the place behind."""
        tokens = self.tokens
        last = tokens.closer(place) or place
        key = ""
        for at in range(place + 1, last):
            kind = tokens.kinds[at]
            if kind == "name" and tokens.kinds[at + 1] in {"=", "("}:
                key = tokens.word(at)
            elif key in _NAMED and kind == "name":
                self.named(tokens.starts[at], tokens.word(at))
            elif key == "id" and kind in {"name", "text"}:
                start = tokens.starts[at] + (kind == "text")
                self.edit(start, tokens.word(at).strip('"'), self.table.ids)
            elif kind == "text" and key in _GOALS:
                self.goals(at)
            elif kind == "text" and key in _NAMED:
                self.goals(at, ids=True)
        return last + 1

    def goals(self, place: int, *, ids: bool = False) -> None:
        """Rename predicates in a text that holds goals, or names of rules and predicates."""
        start, end = self.tokens.starts[place] + 1, self.tokens.ends[place] - 1
        inner = self.tokens.text[start:end]
        whole = inner.strip()
        # Quotes are escaped inside of a text: what stands between them is a value.
        shown = inner.replace('\\"', ' "')
        for found in _WORDS.finditer(shown):
            word = found[0]
            follows = shown[found.end() : found.end() + 1]
            if word[0] == '"' or shown[found.start() - 1 : found.start()] in {"?", "_"}:
                continue
            branch = shown[found.start() - 1 : found.start()] == "$"
            if branch:
                self.edit(start + found.start(), word, self.table.branches)
            elif ids:
                self.named(start + found.start(), word)
            elif follows == "(" or word == whole:
                self.edit(start + found.start(), word, self.table.predicates)

    def named(self, start: int, word: str) -> None:
        """Rename the id of a rule or a predicate; `R7a` is an alternative of `R7`."""
        for stem in (word, word.rstrip("abcdefghijklmnopqrstuvwxyz")):
            for part in (self.table.ids, self.table.predicates):
                if stem in part:
                    self.edit(start, stem, part)
                    return

    def written(self) -> str:
        text, parts, done = self.tokens.text, [], 0
        for start, end, new in sorted(self.edits):
            parts += [text[done:start], new]
            done = end
        return "".join((*parts, text[done:]))


Files = dict[str, bytes]

IN_WHEELS: Final = "constat_rules"
"""The folder of a wheel whose folders are libraries."""
_SUFFIX: Final = ".whl"
_MOST_ENTRIES: Final = 20_000
_GIT_SECONDS: Final = 180
"""How long all that git does for one library may take."""
# A pack of a repository that is larger is not fetched; blocks of 512 bytes.
_GIT_BLOCKS: Final = 512 << 11
_REF: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}\Z")
_SCHEMES: Final = ("https", "ssh", "file")
_INDEX: Final = "index+"
_MOST_LOOKED_AT: Final = 1_000


@frozen
class Fetched:
    """A library as it was published."""

    manifest: Manifest
    files: Files
    commit: str = ""
    signatures: bytes = b""
    """What `library.dsse` holds: signatures over the hash of the other files."""

    @property
    def digest(self) -> str:
        """The hash of its files."""
        return digest_of(self.files)


def fetch(source: str, base: Path, name: str = "", version: str = "") -> Fetched:
    """Read a library. `base` is the folder of relative paths, `name` which one is wanted, if known.

    `source` is a folder, a wheel (`FILE.whl`, or `FILE.whl#NAME` where it has several), an index
    (`index+https://HOST/simple#NAME`, of which the newest of `version` is taken), a repository
    (`git+https://HOST/PATH@REF#subdirectory=FOLDER`) or the name of a library that pip has
    installed. Raises `ConstatError`.
    """
    if not source.isprintable():
        raise _nowhere("that", "name a folder, a wheel, a repository or what pip installed")
    if source.startswith("git+"):
        return _from_git(source)
    if source.startswith(_INDEX):
        return _from_index(source, name, version)
    path, _, within = source.partition("#")
    place = base / path if path else None
    if place is not None and path.endswith(_SUFFIX):
        return _from_wheel(place, source, within or name)
    try:
        there = place is not None and place.is_dir()
    except OSError:
        there = False
    if place is not None and there:
        return _fetched(read_folder(place), source, near=_libraries_below(place))
    if source.startswith(("http://", "https://")):
        hint = "`git+` before the address of a repository, `index+` before that of an index"
        raise _nowhere(source, f"write {hint}; or download the wheel and give its path")
    return _from_installed(source or name)


def _fetched(everything: Files, source: str, commit: str = "", near: Sequence[str] = ()) -> Fetched:
    files = {path: content for path, content in everything.items() if path != SIGNATURES}
    if MANIFEST not in files:
        hint = "write one: `library: NAME`, `version: 1.0.0`, `licence: MIT`, `owners: [WHO]`"
        if near:
            joint = "#subdirectory=" if source.startswith("git+") else "/"
            more = f" (or one of {len(near) - 1:,} more)" if near[1:] else ""
            hint = f"name the folder within: `{printable(f'{source}{joint}{near[0]}', 300)}`{more}"
        elif not any(one.endswith(".dl") for one in files):
            hint = "name another folder"
        raise unreadable(f"`{printable(source)}` has no `{MANIFEST}`", hint)
    manifest = read_manifest(files[MANIFEST])
    if not any(one.endswith(".dl") and "/" not in one for one in files):
        raise unreadable(f"`{manifest.name}` holds no rule files")
    return Fetched(manifest, files, commit, everything.get(SIGNATURES, b""))


def _libraries_below(place: Path) -> tuple[str, ...]:
    """Name the folders of a folder that are libraries, the first few."""
    with suppress(OSError):
        inside = islice(place.iterdir(), _MOST_LOOKED_AT)
        return tuple(sorted(one.name for one in inside if (one / MANIFEST).is_file()))
    return ()


# ---------------------------------------------------------------------- wheels, installed ones


def _from_wheel(path: Path, source: str, name: str) -> Fetched:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise unreadable(f"`{printable(source)}` is larger than {MOST_BYTES >> 20} MiB")
        with zipfile.ZipFile(path) as archive:
            libraries = _in_wheel(archive.infolist())
            chosen = _chosen(sorted(libraries), name, source)
            return _fetched(_unzipped(archive, libraries[chosen]), source)
    except FileNotFoundError:
        raise _nowhere(source, "name a file that is there") from None
    except (OSError, ValueError, RuntimeError, NotImplementedError, EOFError) as problem:
        raise unreadable(f"`{printable(source)}` is no wheel ({type(problem).__name__})") from None
    except (zipfile.BadZipFile, zlib.error):
        raise unreadable(f"`{printable(source)}` is no wheel, or is damaged") from None


def _from_index(source: str, name: str, version: str) -> Fetched:
    """Read the newest wheel of an index, as if somebody had downloaded it."""
    address, _, fragment = source.removeprefix(_INDEX).partition("#")
    plain = (fragment or name).lower().replace("_", "-").removeprefix("constat-rules-")
    if not is_name(plain):
        raise _nowhere(source, "say which library: `index+https://HOST/simple#NAME`")
    listed, content = newest(address, plain, version)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / listed.file
        path.write_bytes(content)
        found = _from_wheel(path, source, plain)
    if found.manifest.version != listed.version:
        said = f"the manifest in it says {found.manifest.version}"
        raise unreadable(f"the index lists version {printable(listed.version)}, and {said}")
    return found


def _in_wheel(entries: Sequence[zipfile.ZipInfo]) -> dict[str, dict[str, zipfile.ZipInfo]]:
    """Give the entries of each library by their paths below it; nothing else is looked at."""
    if len(entries) > _MOST_ENTRIES:
        raise unreadable(f"it has more than {_MOST_ENTRIES:,} entries")
    found: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for one in entries:
        head, _, rest = one.filename.partition("/")
        name, _, path = rest.partition("/")
        if head != IN_WHEELS or not is_name(name) or not is_part(path):
            continue
        if stat.S_ISLNK(one.external_attr >> 16):
            raise unreadable(f"`{printable(path)}` is a link")
        if path in found.setdefault(name, {}):
            raise unreadable(f"`{printable(path)}` is in it twice")
        found[name][path] = one
    return found


def _chosen(names: Sequence[str], wanted: str, source: str) -> str:
    if wanted in names:
        return wanted
    if len(names) == 1 and not wanted:
        return names[0]
    if not names:
        raise unreadable(f"`{printable(source)}` holds no folder `{IN_WHEELS}/NAME`")
    listed = ", ".join(f"`{one}`" for one in names[:5])
    path = source.partition("#")[0]
    hint = f"name one: `{printable(path)}#{nearest(wanted, names) or names[0]}`"
    raise unreadable(f"`{printable(source)}` holds {listed}", hint)


def _unzipped(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> Files:
    """Read entries; what they say of their size is not believed."""
    files: Files = {}
    size = 0
    for path, one in entries.items():
        with archive.open(one) as stream:
            files[path] = stream.read(MOST_FILE + 1)
        size += len(files[path])
        require_bounds(path, files, size)
    return files


def _from_installed(name: str) -> Fetched:
    from importlib.metadata import distributions  # noqa: PLC0415  heavy library, loaded on first use

    plain = name.lower().replace("_", "-").removeprefix("constat-rules-")
    if is_name(plain):
        for one in distributions():
            for file in one.files or ():
                if file.parts == (IN_WHEELS, plain, MANIFEST):
                    found = _fetched(read_folder(Path(str(one.locate_file(file))).parent), name)
                    _require_honest(found.manifest, one.version)
                    return found
        # Those that come with Constat are in its wheel, or beside it in a checkout.
        home = Path(__file__).parents[1]
        for own in (home / "shipped" / "rules" / plain, home.parent / "rules" / plain):
            if (own / MANIFEST).is_file():
                return _fetched(read_folder(own), name)
    hint = (
        "give its folder, its wheel, an index (`index+https://HOST/simple#NAME`), or `pip install "
    )
    raise _nowhere(name, f"{hint}constat-rules-{plain if is_name(plain) else 'NAME'}`")


def _require_honest(manifest: Manifest, version: str) -> None:
    if manifest.version != version:
        message = f"pip installed version {printable(version)}"
        raise unreadable(f"its manifest says version {manifest.version}, and {message}")


def _nowhere(source: str, hint: str) -> ConstatError:
    message = f"there is no package at `{printable(source)}`"
    return ConstatError([Diagnostic("C0595", message, help=hint)])


# ---------------------------------------------------------------------- repositories


def _from_git(source: str) -> Fetched:
    """Read a library of a repository without checking it out: no hook, link or filter is met."""
    address, ref, folder = _parts_of(source)
    with tempfile.TemporaryDirectory() as place:
        git = partial(_git, place, monotonic() + _GIT_SECONDS)
        git("init", "--quiet", "--bare")
        git("fetch", "--quiet", "--depth", "1", "--no-tags", "--", address, ref)
        commit = git("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        listed = git("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        near = () if folder else _libraries_in(listed)
        files: Files = {}
        size = 0
        for path, blob in _blobs(listed, folder):
            files[path] = git("cat-file", "blob", blob)
            size += len(files[path])
            require_bounds(path, files, size)
        return _fetched(files, source, commit, near)


def _libraries_in(listed: bytes) -> tuple[str, ...]:
    """Name the folders of a repository that have a manifest."""
    ending = f"/{MANIFEST}".encode()
    paths = (line.partition(b"\t")[2] for line in listed.split(b"\0"))
    found = (
        one.removesuffix(ending).decode("utf-8", "replace") for one in paths if one.endswith(ending)
    )
    return tuple(sorted(found))


def _parts_of(source: str) -> tuple[str, str, str]:
    """Give address, reference and folder of a repository."""
    written, _, fragment = source.removeprefix("git+").partition("#")
    form = "write `git+https://HOST/PATH@REF#subdirectory=FOLDER`"
    try:
        parts = urlsplit(written)
        secret = parts.password is not None or (parts.username and parts.scheme == "https")
    except ValueError:
        raise _nowhere("that address", form) from None
    if parts.scheme not in _SCHEMES:
        raise _nowhere(source, f"{form}; known are {', '.join(_SCHEMES)}")
    if secret:
        # The address goes into constat.yaml and the lock.
        hint = "leave name and password out: git asks its credential helper, or use ssh"
        raise ConstatError([Diagnostic("C0595", "the address holds a password", help=hint)])
    path, mark, ref = parts.path.rpartition("@")
    folder = fragment.removeprefix("subdirectory=")
    if (mark and not _REF.match(ref)) or ".." in PurePosixPath(folder).parts:
        raise _nowhere(source, form)
    plain = parts._replace(path=path if mark else parts.path)
    return plain.geturl(), ref if mark else "HEAD", folder.strip("/")


def _blobs(listed: bytes, folder: str) -> Iterator[tuple[str, str]]:
    """Yield path and object of each file that belongs to the library in a folder."""
    root = f"{folder}/" if folder else ""
    for line in listed.split(b"\0"):
        described, _, raw = line.partition(b"\t")
        path = raw.decode("utf-8", "replace")
        inner = path.removeprefix(root)
        if not path.startswith(root) or not is_part(inner):
            continue
        mode, kind, blob, size = described.decode().split()
        if kind != "blob" or mode == "120000":
            raise unreadable(f"`{printable(inner)}` is a link")
        if int(size) > MOST_FILE:
            raise unreadable(f"`{printable(inner)}` is larger than {MOST_FILE >> 20} MiB")
        yield inner, blob


def _git(place: str, until: float, *arguments: str) -> bytes:
    """Run git in a folder of its own, bounded in what it writes, and in time with all it starts.

    What is fetched is one pack, so that the bound of a file is one of all that is fetched. No
    terminal is there to ask for a password.
    """
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": ":".join(_SCHEMES),
        "GIT_DIR": place,
        "LC_ALL": "C",
    }
    bounded = ("sh", "-c", f'ulimit -f {_GIT_BLOCKS}; exec "$@"', "git", "git")
    settings = ("core.hooksPath=/dev/null", "fetch.recurseSubmodules=false", "fetch.unpackLimit=1")
    options = (word for one in settings for word in ("-c", one))
    try:
        started = subprocess.Popen(  # noqa: S603  the words after `git` are ours, or checked and behind `--`
            (*bounded, *options, *arguments),
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError:
        raise unreadable("git cannot be started", "install git, or give a folder") from None
    with started:
        try:
            found, told = started.communicate(timeout=max(0.0, until - monotonic()))
        except BaseException as problem:
            # What git has started would go on without it, and keep its pipes open.
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            if isinstance(problem, subprocess.TimeoutExpired):
                raise unreadable(f"git was not done within {_GIT_SECONDS} seconds") from None
            raise
    if started.returncode:
        # What git says may quote the address's server; its first line names the reason.
        said = printable(told.decode("utf-8", "replace").partition("\n")[0], 160)
        hint = "try `git ls-remote` with this address, and name a branch, a tag or a commit"
        raise unreadable(f"git {arguments[0]} failed: {said}", hint)
    return found


# ---------------------------------------------------------------------- into a project


@frozen
class Locked:
    """What a project has after its packages were locked: each with whether it is another one."""

    packages: Mapping[str, Package]
    changed: tuple[str, ...]


@frozen
class _Copy:
    """A package on its way into a project."""

    package: Package
    files: Files
    names: NameTable
    """The names that it declares, as they were published, and as they are here."""
    fresh: bool


def present_packages(folder: Path) -> dict[str, Package]:
    """Give the lock of a project. Raises `ConstatError` where it cannot be read."""
    mistakes: list[Diagnostic] = []
    found = read_lock(folder, mistakes)
    if mistakes:
        raise ConstatError(mistakes)
    return found


def prepare(
    folder: Path,
    wanted: Mapping[str, WantedPackage],
    names: Iterable[str] | None = None,
    keys: Iterable[KeySetting] = (),
) -> dict[str, _Copy]:
    """Fetch packages and make their copies; the others, and those none depend on, stay.

    Without `names` all are fetched. `keys` are those that the project trusts. Nothing is written.
    Raises `ConstatError`.
    """
    present = present_packages(folder)
    asked = set(wanted) if names is None else set(names)
    stale = {one for one in wanted if one not in present}
    again = {one for one in present if asked & present[one].requires.keys()}
    fetched: dict[str, Fetched] = {}
    for name in sorted((asked | stale | again) & wanted.keys()):
        fetched[name] = fetch(wanted[name].source, folder, name, wanted[name].version)
        _require_wanted(wanted[name], fetched[name].manifest)
    requires = {name: dict(one.manifest.requires) for name, one in fetched.items()}
    kept = {name: present[name] for name in wanted if name not in fetched}
    requires |= {name: dict(one.requires) for name, one in kept.items()}
    made: dict[str, _Copy] = {}
    for name in _in_order(requires):
        if name in kept:
            files = read_folder(folder / PACKAGES / name)
            made[name] = _Copy(kept[name], files, _published(files, kept[name].prefix), fresh=False)
        else:
            copy = _copied(wanted[name], fetched[name], made)
            signer = signer_of(fetched[name], wanted[name], keys)
            package = replace(copy.package, role=wanted[name].signed, signer=signer)
            made[name] = replace(copy, package=package)
    return made


def told_of_change(before: Package | None, after: Package) -> str:
    """Say what no new version explains: other files under one version, or an older one."""
    if before is None or (before.version, before.digest) == (after.version, after.digest):
        return ""
    if before.version == after.version:
        return f"`{after.name}` {after.version} has other files than it had under this version"
    newer = fits(before.version, f">{after.version}")
    return f"`{after.name}` {after.version} is older than {before.version}" if newer else ""


def require_locked(folder: Path, made: Mapping[str, _Copy]) -> None:
    """Refuse what a source has put under a version that is locked, and older versions.

    Whoever locks anew wants what was locked, or what is newer; anything else has to be asked for.
    """
    present = present_packages(folder)
    for name, copy in made.items():
        said = told_of_change(present.get(name), copy.package)
        if said:
            take = f"constat rules add {quoted_source(copy)}"
            hint = f"look with `constat rules diff {name}`; `{take}` takes it"
            raise ConstatError([Diagnostic("C0598", said, note="nothing was changed", help=hint)])


def quoted_source(copy: _Copy) -> str:
    """Write the source of a package for a shell."""
    return shlex.quote(copy.package.source or copy.package.name)


def edited_copies(folder: Path) -> list[str]:
    """Name the packages whose copy has other files than the lock says, or none."""
    found = []
    for name, one in present_packages(folder).items():
        try:
            same = digest_of(read_folder(folder / PACKAGES / name)) == one.copy
        except ConstatError:
            same = False
        found += [] if same else [name]
    return found


def _require_wanted(wanted: WantedPackage, manifest: Manifest) -> None:
    if manifest.name != wanted.name:
        message = f"`{wanted.name}` is wanted, and the library there is `{manifest.name}`"
        hint = f"name it `{manifest.name}` in constat.yaml"
        raise ConstatError([Diagnostic("C0595", message, wanted.span, help=hint)])
    if not fits(manifest.version, wanted.version, wanted.span):
        message = f"version {manifest.version} of `{wanted.name}` is there, not {wanted.version}"
        hint = "fetch another version, or change `version:` in constat.yaml"
        raise ConstatError([Diagnostic("C0599", message, wanted.span, help=hint)])


def signed_library(fetched: Fetched, key: SigningKey, at: str) -> Fetched:
    """Give a library with a signature under its files, by the owner of a key."""
    from constat.proof import signing  # noqa: PLC0415  loaded when it is used

    kind, digest, says = _signed_of(fetched)
    signer = signing.Signer(key.role, key.name, "published", key.public.id, at)
    statement = signing.Statement(kind, digest, signer, says)
    return replace(
        fetched, signatures=signing.write_envelope(signing.sign_statement(statement, key))
    )


def signer_of(fetched: Fetched, wanted: WantedPackage, keys: Iterable[KeySetting]) -> str:
    """Say who signed a library in the role that is wanted; nothing where none is.

    Raises `ConstatError` where nobody did whose key is trusted for that role, or a signature in the
    library is of other files.
    """
    if not wanted.signed:
        return ""
    from constat.proof import signing  # noqa: PLC0415  loaded when it is used

    trusted = signing.configured_keys(keys)
    found = (
        signing.judge(fetched.signatures, trusted, _signed_of(fetched), now())
        if (fetched.signatures)
        else ()
    )
    reasons = [one.reason for one in found if one.status == signing.REJECTED]
    requirements = signing.SignatureRequirements(roles=(wanted.signed,))
    lacking = [*reasons, *signing.unmet(found, requirements)]
    if lacking:
        name = fetched.manifest.name
        message = f"`{name}` is not signed as wanted: {lacking[0]}"
        note = "" if fetched.signatures else f"`{name}` carries no signature ({SIGNATURES})"
        hint = "trust the publisher's key under `keys:` in that role, or ask who published it"
        raise ConstatError([Diagnostic("C0599", message, wanted.span, note=note, help=hint)])
    signers = [one.signer for one in found if one.status == signing.VALID and one.signer]
    signer = next(one for one in signers if one.role == wanted.signed)
    return f"{signer.name} as {signer.role} (key {signing.short_id(signer.key)})"


def _signed_of(fetched: Fetched) -> tuple[str, str, dict[str, object]]:
    """Give what a signature under a library is about."""
    from constat.proof import signing  # noqa: PLC0415  loaded when it is used

    manifest = fetched.manifest
    says: dict[str, object] = {"library": manifest.name, "version": manifest.version}
    return signing.LIBRARY_TYPE, fetched.digest.removeprefix("sha256:"), says


def _in_order(requires: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Sort packages so that each comes after what it requires."""
    done: dict[str, None] = {}
    while len(done) < len(requires):
        ready = [
            name
            for name, needs in sorted(requires.items())
            if name not in done and all(one in done or one not in requires for one in needs)
        ]
        if not ready:
            names = ", ".join(f"`{one}`" for one in sorted(requires.keys() - done.keys()))
            message = f"these packages require each other: {names}"
            hint = "a library may only require libraries that do not require it"
            raise ConstatError([Diagnostic("C0599", message, help=hint)])
        done |= dict.fromkeys(ready)
    return list(done)


def _copied(wanted: WantedPackage, fetched: Fetched, made: Mapping[str, _Copy]) -> _Copy:
    manifest = fetched.manifest
    foreign = NameTable()
    for name, version in manifest.requires.items():
        there = made.get(name)
        if there is None or not fits(there.package.version, version):
            have = "is not here" if there is None else f"is here as {there.package.version}"
            asked = f"{name} {version}".strip()
            message = f"`{manifest.name}` requires {asked}, which {have}"
            hint = f"first `constat rules add` with the folder, wheel or address of `{name}`"
            raise ConstatError([Diagnostic("C0599", message, wanted.span, help=hint)])
        foreign |= there.names
    own = names_of(fetched.files, wanted.prefix)
    files = renamed(fetched.files, foreign | own)
    if names_of(files, "").declared() != own.declared():
        raise unreadable(f"the names of `{manifest.name}` cannot be given the prefix")
    package = Package(
        name=manifest.name,
        version=manifest.version,
        source=wanted.source,
        wanted=wanted.version,
        prefix=wanted.prefix,
        commit=fetched.commit,
        requires=manifest.requires,
        digest=fetched.digest,
        copy=digest_of(files),
    )
    return _Copy(package, files, own, fresh=True)


def _published(files: Files, prefix: str) -> NameTable:
    """Give the names of a copy under those that they were published by."""
    here = names_of(files, "")
    return here.without(prefix) if prefix else here


def check_copies(
    made: Mapping[str, _Copy], own: Mapping[str, bytes], others: Sequence[Path] = ()
) -> None:
    """Check that copies are right, and that no two declare a name. `own` are the project's files.

    Raises `ConstatError`.
    """
    taken: dict[str, str] = dict.fromkeys(
        names_of(own, "").declared(), "a rule file of the project"
    )
    # What is there already keeps its names.
    for name, copy in sorted(made.items(), key=lambda one: one[1].fresh):
        twice = sorted(copy.names.declared() & taken.keys())
        if twice:
            raise _clash(copy.package, twice, taken[twice[0]])
        taken |= dict.fromkeys(copy.names.declared(), f"`{name}`")
    with Scratch() as place:
        for name, copy in made.items():
            write_files(place.path / name, copy.files)
        for name, copy in made.items():
            if copy.fresh:
                needed = [place.path / one for one in _all_required(made, name)]
                _check(name, [place.path / name, *needed], others)


def _clash(package: Package, names: Sequence[str], whose: str) -> ConstatError:
    shown = ", ".join(f"`{one}`" for one in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004  three are shown
    name = package.name
    message = f"`{name}` declares {shown}{more}, and so does {whose}"
    initials = "".join(part[0] for part in name.split("-"))
    prefix = f"{initials}2" if package.prefix == initials else initials
    note = "with a prefix its names are others: `is_vip` becomes `cv_is_vip`"
    hint = f"add `--prefix {prefix}`, or `prefix: {prefix}` in constat.yaml"
    return ConstatError([Diagnostic("C0597", message, note=note, help=hint)])


def _all_required(made: Mapping[str, _Copy], name: str) -> dict[str, None]:
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        for one in made[waiting.pop()].package.requires:
            if one in made and one not in found:
                found[one] = None
                waiting.append(one)
    return found


def _check(name: str, paths: Sequence[Path], roots: Sequence[Path]) -> None:
    checked = check_rules(paths, roots)
    if checked.errors:
        first = checked.errors[0]
        place = f"{first.span.source}:{first.span.line}: " if first.span else ""
        message = f"the rules of `{name}` are wrong: {place}{first.message}"
        hint = "what it uses and does not declare, its manifest names under `requires:`"
        raise ConstatError([Diagnostic("C0595", message, note=first.note, help=hint)])


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def install(folder: Path, made: Mapping[str, _Copy]) -> Locked:
    """Write copies and lock; what is no longer wanted goes. Words of approval stay."""
    before = present_packages(folder)
    packages = {name: copy.package for name, copy in made.items()}
    changed = tuple(name for name in packages if before.get(name) != packages[name])
    try:
        for name in sorted(before.keys() | packages.keys()):
            place = folder / PACKAGES / name
            if name not in packages:
                if is_name(name):
                    shutil.rmtree(place, ignore_errors=True)
            elif made[name].fresh:
                place.mkdir(parents=True, exist_ok=True)
                for path in read_names(place):
                    if path not in made[name].files:
                        (place / path).unlink()
                for path, content in made[name].files.items():
                    (place / path).parent.mkdir(exist_ok=True)
                    with replaced(place / path, 0o644) as stream:
                        stream.write(content)
        if packages:
            with replaced(folder / PACKAGES_LOCK, 0o644) as stream:
                stream.write(write_lock(packages))
        else:
            (folder / PACKAGES_LOCK).unlink(missing_ok=True)
    except OSError as problem:
        message = f"the packages cannot be written: {problem.strerror or type(problem).__name__}"
        hint = "make the folder writable, and run `constat rules lock`"
        raise ConstatError([Diagnostic("C0598", message, help=hint)]) from None
    return Locked(packages, changed)


def read_names(folder: Path) -> list[str]:
    """List the paths of a copy that belong to its library, links too."""
    places = (folder, folder / "cases")
    listed = [one for place in places if place.is_dir() for one in place.iterdir()]
    found = [one.relative_to(folder).as_posix() for one in listed if not one.is_dir()]
    return [one for one in found if is_part(one)]


# ---------------------------------------------------------------------- publishing


def build_wheel(fetched: Fetched) -> tuple[str, bytes]:
    """Give name and bytes of a wheel that carries a library; the same files give the same bytes."""
    manifest = fetched.manifest
    stem = f"constat_rules_{manifest.name.replace('-', '_')}-{manifest.version}"
    info = f"{stem}.dist-info"
    signed = {SIGNATURES: fetched.signatures} if fetched.signatures else {}
    files = {**fetched.files, **signed}
    entries = {f"{IN_WHEELS}/{manifest.name}/{path}": one for path, one in files.items()}
    entries[f"{info}/METADATA"] = _metadata(fetched)
    entries[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: constat\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(
        f"{path},sha256={_record_hash(one)},{len(one)}\n" for path, one in sorted(entries.items())
    )
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with tempfile.SpooledTemporaryFile() as target:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(entries):
                entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, entries[path])
        target.seek(0)
        return f"{stem}-py3-none-any{_SUFFIX}", target.read()


def _record_hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _metadata(fetched: Fetched) -> bytes:
    manifest = fetched.manifest
    lines = [
        "Metadata-Version: 2.4",
        f"Name: constat-rules-{manifest.name}",
        f"Version: {manifest.version}",
        f"Summary: {manifest.description}",
        f"License-Expression: {manifest.licence}",
        f"Author: {', '.join(manifest.owners)}",
        *(f"Requires-Dist: constat-rules-{one}{v}" for one, v in manifest.requires.items()),
    ]
    readme = fetched.files.get("README.md", b"").decode("utf-8", "replace")
    if readme:
        lines += ["Description-Content-Type: text/markdown", "", readme]
    return ("\n".join(lines) + "\n").encode()


def check_library(folder: Path) -> Fetched:
    """Check a library that is to be published, beside what it requires. Raises `ConstatError`.

    Required libraries are looked for beside its folder, then among what pip installed.
    """
    fetched = fetch(str(folder), Path())
    libraries = {fetched.manifest.name: fetched}
    waiting = [fetched.manifest]
    while waiting:
        for name in waiting.pop().requires:
            if name not in libraries:
                beside = folder.resolve().parent / name
                libraries[name] = fetch(str(beside) if beside.is_dir() else "", Path(), name)
                waiting.append(libraries[name].manifest)
    copies: dict[str, _Copy] = {}
    for name in _in_order({name: one.manifest.requires for name, one in libraries.items()}):
        copy = _copied(WantedPackage(name), libraries[name], copies)
        copies[name] = replace(copy, fresh=name == fetched.manifest.name)
    check_copies(copies, {})
    return fetched


# The newest wheel of a library in an index, by the simple API (PEP 503 and PEP 691).

PREFIX: Final = "constat-rules-"
"""What stands before the name of a library in the name of its distribution."""
_ACCEPTS: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_MOST_PAGE: Final = 16 << 20
_SILENT_SECONDS: Final = 30
_SECONDS: Final = 180
_BLOCK: Final = 1 << 16
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = (401, 403)
_MOST_CREDENTIALS: Final = 1 << 20
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_WHEEL: Final = re.compile(r"([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)-py3-none-any\.whl\Z")


@frozen
class Listed:
    """A wheel that an index lists: its file name, version, address, and hash if it names one."""

    file: str
    version: str
    address: str
    sha256: str = ""


def newest(index: str, name: str, wanted: str = "") -> tuple[Listed, bytes]:
    """Fetch the newest wheel of a library whose version is wanted. Raises `ConstatError`."""
    page = f"{index.rstrip('/')}/{PREFIX}{name}/"
    _require_safe(page)
    kind, content = _read(page, _MOST_PAGE)
    found = [one for one in _listed(kind, content, page) if _is_of(one, name)]
    if not found:
        raise _missing(f"the index lists no wheel of `{name}`")
    chosen = _newest(found, wanted)
    if chosen is None:
        there = ", ".join(dict.fromkeys(one.version for one in found[-5:]))
        message = f"the index has {there} of `{name}`, not {wanted}"
        hint = "change `version:` in constat.yaml, or give another `--version`"
        raise ConstatError([Diagnostic("C0599", message, help=hint)])
    _require_safe(chosen.address)
    _, wheel = _read(chosen.address, MOST_BYTES)
    if chosen.sha256 and hashlib.sha256(wheel).hexdigest() != chosen.sha256:
        raise unreadable(f"`{printable(chosen.file)}` has another hash than the index names")
    return chosen, wheel


def _is_of(one: Listed, name: str) -> bool:
    shape = _WHEEL.match(one.file)
    named = "" if shape is None else re.sub(r"[._-]+", "-", shape[1]).lower()
    return named == f"{PREFIX}{name}"


def _newest(found: list[Listed], wanted: str) -> Listed | None:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415  heavy library, loaded on first use

    fitting: dict[Version, Listed] = {}
    for one in found:
        try:
            version = Version(one.version)
        except InvalidVersion:
            continue
        if fits(one.version, wanted):
            fitting[version] = one
    released = [one for one in fitting if not one.is_prerelease]
    return fitting[max(released or fitting)] if fitting else None


# ---------------------------------------------------------------------- what an index lists


def _listed(kind: str, content: bytes, page: str) -> Iterator[Listed]:
    """Yield what a page lists and its owner has not taken back."""
    text = content.decode("utf-8", "replace")
    if "json" in kind:
        try:
            files = json.loads(text)["files"]
            told = [(str(one["filename"]), str(one["url"]), one) for one in files]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise unreadable("the index answers with something that is no list of files") from None
        for file, address, one in told:
            hashes = one.get("hashes")
            digest = hashes.get("sha256", "") if isinstance(hashes, dict) else ""
            if not one.get("yanked"):
                yield _made(file, urljoin(page, address), digest if isinstance(digest, str) else "")
        return
    links = _Links()
    links.feed(text)
    for file, address in links.found:
        plain, _, fragment = address.partition("#")
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        yield _made(file or plain.rpartition("/")[2], urljoin(page, plain), digest)


def _made(file: str, address: str, digest: str) -> Listed:
    shape = _WHEEL.match(file)
    return Listed(file, shape[2] if shape else "", urldefrag(address).url, digest.lower())


class _Links(HTMLParser):
    """Collects the links of a page, with the words that they stand under."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a link, unless it was taken back."""
        named = dict(attrs)
        if tag == "a" and "data-yanked" not in named:
            self.open = named.get("href") or ""

    def handle_data(self, data: str) -> None:
        """Take the words of a link."""
        if self.open:
            self.found.append((data.strip(), self.open))
            self.open = ""


# ---------------------------------------------------------------------- asking


def _require_safe(address: str) -> None:
    """Refuse addresses that others on the way could answer, and those that hold a password."""
    form = "write `index+https://HOST/simple#NAME`"
    try:
        parts = urlsplit(address)
        host, secret = parts.hostname or "", parts.username or parts.password
    except ValueError:
        raise _missing("that address cannot be read", form) from None
    if secret:
        # The address goes into constat.yaml and the lock.
        hint = "leave it out, and write `machine HOST login NAME password TOKEN` into ~/.netrc"
        raise _missing("the address holds a name or a password", hint)
    if not host or (parts.scheme != "https" and not (parts.scheme == "http" and host in _HERE)):
        raise _missing(f"`{printable(address)}` is no address over https", form)


class _Redirecting(HTTPRedirectHandler):
    """Follows a redirect where the first address could have led as well."""

    def redirect_request(  # noqa: PLR0917  as the library calls it
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Check where it goes."""
        _require_safe(newurl)
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        return None if following is None else _with_credentials(following)


def _with_credentials(request: Request) -> Request:
    """Add what `.netrc` says for the host of a request; a redirect does not carry it on."""
    place = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    host = (urlsplit(request.full_url).hostname or "").lower()
    try:
        # The entry `default` names no host: it would go to whomever an index sends us to.
        known = netrc(place).hosts if place.stat().st_size <= _MOST_CREDENTIALS else {}
    except FileNotFoundError:
        return request
    except (NetrcParseError, UnicodeDecodeError, OSError):
        # What the library says of a mistake quotes the file.
        hint = "each line is `machine HOST login NAME password TOKEN`"
        raise unreadable(f"`{place.name}` with the passwords cannot be read", hint) from None
    entry = known.get(host) if host != "default" else None
    if entry is not None:
        login, _, password = entry
        said = b64encode(f"{login}:{password}".encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {said}")
    return request


def _read(address: str, most: int) -> tuple[str, bytes]:
    """Give the type and bytes of an answer."""
    until = monotonic() + _SECONDS
    request = Request(address, headers={"Accept": _ACCEPTS, "User-Agent": "constat"})  # noqa: S310  `_require_safe` was asked
    try:
        asked = _with_credentials(request)
        with build_opener(_Redirecting).open(asked, timeout=_SILENT_SECONDS) as answer:
            return answer.headers.get_content_type(), _bounded(answer, most, until)
    except HTTPError as problem:
        with problem:
            if problem.code == _NOT_FOUND:
                raise _missing(f"the index has no `{printable(address)}`") from None
            if problem.code in _NOT_ALLOWED:
                hint = "write `machine HOST login NAME password TOKEN` into ~/.netrc, for its host"
                message = f"the index wants a name and a password ({problem.code})"
                raise unreadable(message, hint) from None
            raise unreadable(f"the index answers with {problem.code}") from None
    except (OSError, URLError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        said = printable(str(reason) or type(problem).__name__, 160)
        hint = "give a wheel, or work with the copy in `packages/`, which needs no index"
        raise unreadable(f"the index cannot be asked: {said}", hint) from None


def _bounded(answer: Any, most: int, until: float) -> bytes:  # noqa: ANN401  what urllib gives
    """Read an answer within size and time, however slowly it drips."""
    parts: list[bytes] = []
    size = 0
    while block := answer.read1(_BLOCK):
        parts.append(block)
        size += len(block)
        if size > most:
            raise unreadable(f"what the index sends is larger than {most >> 20} MiB")
        if monotonic() > until:
            raise unreadable(f"the index was not done within {_SECONDS} seconds")
    return b"".join(parts)


def _missing(message: str, hint: str = "name another index or library") -> ConstatError:
    return ConstatError([Diagnostic("C0595", message, help=hint)])
