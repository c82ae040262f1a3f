"""Load rule files and everything they include.

In: paths, the roots they must stay in, a list for diagnostics. Out: a `Program`. Invariant: after
links are resolved no file outside the roots is opened; sizes and numbers are bounded; each file
is read at most once, so an include in a circle ends. `constat/prelude.dl` is built in. No message
repeats what a file holds.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from constat.diagnostics import Diagnostic, Severity, Span, nearest
from constat.frozen import frozen, slotted
from constat.logic import Predicate, Program
from constat.syntax.cursor import Mode, mode_of
from constat.syntax.lowering import PartialFacts, lower
from constat.syntax.mistakes import spelling
from constat.syntax.mistakes.spelling import shown
from constat.syntax.parser import parse_file
from constat.syntax.printing import PRELUDE_NAME
from constat.syntax.surface import Include, Port, SurfaceFile, SurfaceItem

# Mistakes with files and includes. Codes C0150 to C0155. No message repeats what a file holds.

MAX_FILES = 1_000


def missing(span: Span | None, name: str, near: str | None) -> Diagnostic:
    """A file that is not there."""
    edit = f'write `.include "{near}"`' if near else "correct the name, or create the file"
    return Diagnostic(
        "C0150",
        f"there is no rule file `{shown(name)}`",
        span,
        note="names are relative to the including file, then to the roots of the project; "
        "`constat/prelude.dl` is built in",
        help=edit,
    )


def cycle(span: Span, path: list[str]) -> Diagnostic:
    """A file that includes itself, directly or not."""
    return Diagnostic(
        "C0151",
        "this file includes itself",
        span,
        label=" -> ".join(f"`{shown(name)}`" for name in path),
        note="without `.once` an include in a circle never ends",
        help="write `.once` at the top of the included file",
    )


def outside(span: Span | None, name: str) -> Diagnostic:
    """A file outside the roots."""
    return Diagnostic(
        "C0152",
        f"the rule file `{shown(name)}` lies outside the project",
        span,
        note="with links resolved, a rule file lies inside the project, the library or a folder "
        "that was named",
        help="copy the file into the project, or name its folder on the command line",
    )


def too_many(span: Span | None) -> Diagnostic:
    """More files than anyone needs."""
    return Diagnostic(
        "C0153",
        f"more than {MAX_FILES} rule files are included",
        span,
        note="the limit keeps generated includes from filling the memory",
        help="join small files",
    )


def twice(span: Span, name: str) -> Diagnostic:
    """A file included twice."""
    return Diagnostic(
        "C0154",
        f"`{shown(name)}` is included a second time",
        span,
        note="everything in it would be declared twice",
        help="write `.once` at the top of that file",
    )


def unreadable(span: Span | None, name: str, reason: str) -> Diagnostic:
    """A file that the system does not give."""
    return Diagnostic(
        "C0155",
        f"the rule file `{shown(name)}` cannot be read: {reason}",
        span,
        note="a rule file is an ordinary file that this user may read",
        help="check the name and the permissions",
    )


MAX_FILE: Final = 4 << 20
MAX_TOTAL: Final = 16 << 20


def load_program(  # noqa: PLR0913  what is read, and what is told of it
    paths: Sequence[Path],
    roots: Sequence[Path],
    diagnostics: list[Diagnostic],
    *,
    texts: dict[str, str] | None = None,
    places: dict[str, Path] | None = None,
    known: Mapping[str, Predicate] | None = None,
    partial: PartialFacts | None = None,
) -> Program:
    """Read rule files as one program.

    `texts` receives every text by source name, for rendering, `places` the files by these names;
    arguments of `known` predicates may be named as those of declared ones. Facts of the file that
    `partial` names may leave columns out.
    """
    loading = _Loading(
        [root.resolve() for root in roots], diagnostics, {} if texts is None else texts
    )
    loading.listed = {path.resolve() for path in paths}
    for path in paths:
        loading.enter_listed(path)
    if places is not None:
        places.update({loading.names[path]: path for path in loading.seen if path in loading.names})
    return lower(loading.items, diagnostics, known=known or {}, partial=partial)


def parse_text(
    text: str,
    source_name: str,
    diagnostics: list[Diagnostic],
    known: Mapping[str, Predicate] | None = None,
) -> Program:
    """Read one text as a program; it may include nothing but the prelude.

    Arguments of `known` predicates may be named as those of declared ones.
    """
    loading = _Loading([], diagnostics, {})
    if len(text) > MAX_FILE:
        diagnostics.append(spelling.too_large(Span(source_name, 1, 1, 1, 1), "4 MiB"))
    else:
        loading.walk(parse_file(text, source_name, diagnostics), None)
    return lower(loading.items, diagnostics, known=known or {})


@frozen
class LoadedRun:
    """A program to run as a whole: what it declares, reads and writes, in the order of the text."""

    program: Program
    ports: tuple[Port, ...]
    mode: Mode


def load_run(
    path: Path,
    roots: Sequence[Path],
    diagnostics: list[Diagnostic],
    *,
    mode: Mode | None = None,
    texts: dict[str, str] | None = None,
) -> LoadedRun:
    """Read one program and what it includes. Without a mode the file's own pragma decides."""
    loading = _Loading(
        [root.resolve() for root in roots], diagnostics, {} if texts is None else texts, mode
    )
    loading.listed = {path.resolve()}
    loading.enter_listed(path)
    chosen = loading.mode or Mode.STRICT
    program = lower(loading.items, diagnostics, chosen)
    ports = tuple(item for item in loading.items if isinstance(item, Port))
    return LoadedRun(program, ports, chosen)


def decode_rules(content: bytes, name: str, diagnostics: list[Diagnostic]) -> str:
    """Decode the bytes of a rule file; report the first byte that is not UTF-8 and give nothing."""
    plain = content.removeprefix(codecs.BOM_UTF8)
    try:
        return plain.decode()
    except UnicodeDecodeError as error:
        text = plain[: error.start].decode()
        line, column = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
        diagnostics.append(spelling.not_utf8(Span(name, line, column, line, column + 1)))
        return ""


def prelude_text() -> str:
    """The built-in prelude, for export to other engines."""
    return Path(__file__).with_name("prelude.dl").read_text(encoding="utf-8")


@slotted
class _Open:
    """A file being read: its path, its name, and how far its items have been walked."""

    path: Path | None
    name: str
    file: SurfaceFile
    next_item: int = 0


@slotted
class _Loading:
    """What has been read so far."""

    roots: list[Path]
    diagnostics: list[Diagnostic]
    texts: dict[str, str]
    mode: Mode | None = Mode.STRICT
    items: list[SurfaceItem] = field(default_factory=list)
    seen: dict[Path, bool] = field(default_factory=dict)
    listed: set[Path] = field(default_factory=set)
    names: dict[Path, str] = field(default_factory=dict)
    total: int = 0

    def enter_listed(self, path: Path) -> None:
        """Read a file that was named by the caller."""
        found = path.resolve()
        if found in self.seen:
            return
        if self.root_of(found) is None:
            self.diagnostics.append(outside(None, path.name))
            return
        name = self.name(found)
        file = self.read(found, name, None)
        if file is not None:
            self.walk(file, found)

    def walk(self, file: SurfaceFile, path: Path | None) -> None:
        """Take over the items of a file and of what it includes, on a stack of open files."""
        stack = [_Open(path, self.name(path) if path else "", file)]
        while stack:
            current = stack[-1]
            if current.next_item == len(current.file.items):
                stack.pop()
                continue
            item = current.file.items[current.next_item]
            current.next_item += 1
            if not isinstance(item, Include):
                self.items.append(item)
            else:
                prelude = item.name == PRELUDE_NAME
                inner = self.prelude() if prelude else self.include(item, stack)
                if inner is not None:
                    stack.append(inner)

    def prelude(self) -> _Open | None:
        """The built-in prelude, which says nothing new but to Souffle, and that once."""
        place = Path(PRELUDE_NAME)
        if self.mode is not Mode.SOUFFLE or place in self.seen:
            return None
        self.seen[place] = True
        file = parse_file(prelude_text(), PRELUDE_NAME, self.diagnostics, self.mode)
        return _Open(None, PRELUDE_NAME, file)

    def include(self, item: Include, stack: list[_Open]) -> _Open | None:
        """Find and read an included file, unless it has been read."""
        found = self.find(item, stack[-1].path)
        if found is None:
            return None
        name = self.name(found)
        if found in self.seen:
            self.read_again(item, found, name, stack)
            return None
        if len(self.seen) >= MAX_FILES:
            self.diagnostics.append(too_many(item.span))
            return None
        file = self.read(found, name, item.span)
        return None if file is None else _Open(found, name, file)

    def read_again(self, item: Include, found: Path, name: str, stack: list[_Open]) -> None:
        """A file included a second time: fine with `.once`, or where the caller listed it too."""
        if self.seen[found]:
            return
        open_names = [one.name for one in stack if one.path is not None]
        if any(one.path == found for one in stack):
            path = [*open_names[open_names.index(name) :], name]
            self.diagnostics.append(cycle(item.span, path))
        elif found not in self.listed:
            self.diagnostics.append(twice(item.span, name))

    def find(self, item: Include, including: Path | None) -> Path | None:
        """The file an include names: beside the including file, or below a root."""
        folders = ([including.parent] if including else []) + self.roots
        found_outside = False
        for folder in folders:
            found = _resolve(folder, item.name)
            if found is None:
                continue
            if self.root_of(found) is not None:
                return found
            found_outside = True
        if found_outside:
            self.diagnostics.append(outside(item.span, item.name))
        else:
            near = self.nearest_file(item.name, folders)
            self.diagnostics.append(missing(item.span, item.name, near))
        return None

    def nearest_file(self, name: str, folders: list[Path]) -> str | None:
        """A file of a similar name in the folders where it was looked for."""
        known = {PRELUDE_NAME}
        for folder in folders:
            if self.root_of(folder.resolve()) is not None:
                known.update(
                    path.name for _, path in zip(range(500), folder.glob("*.dl"), strict=False)
                )
        return nearest(name, sorted(known))

    def root_of(self, found: Path) -> Path | None:
        """The root that holds a resolved path."""
        return next((root for root in self.roots if found.is_relative_to(root)), None)

    def name(self, found: Path) -> str:
        """The name people know a file by."""
        if found in self.names:
            return self.names[found]
        root = self.root_of(found)
        inner = found.name if root is None or found == root else found.relative_to(root).as_posix()
        name = inner.encode("utf-8", "replace").decode()
        # Two roots may hold files of one name: a place must still say which of them it means.
        while name in self.names.values():
            name = f"{found.parent.name if root is None else root.name}/{name}"
        self.names[found] = name
        return name

    def read(self, found: Path, name: str, span: Span | None) -> SurfaceFile | None:
        """Read one file within the limits."""
        self.seen[found] = False
        start = Span(name, 1, 1, 1, 1)
        try:
            content = _read_bytes(found)
        except FileNotFoundError:
            self.diagnostics.append(missing(span, name, None))
            return None
        except OSError as error:
            reason = error.strerror or "the system refused it"
            self.diagnostics.append(unreadable(span, name, reason.lower()))
            return None
        self.total += len(content)
        if len(content) > MAX_FILE or self.total > MAX_TOTAL:
            limit = "4 MiB" if len(content) > MAX_FILE else "16 MiB"
            self.diagnostics.append(spelling.too_large(span or start, limit))
            return None
        text = decode_rules(content, name, self.diagnostics)
        self.texts[name] = text
        before = len(self.diagnostics)
        # The program's own file decides for all that it includes.
        self.mode = self.mode or mode_of(text, name)
        file = parse_file(text, name, self.diagnostics, self.mode)
        broken = any(one.severity is Severity.ERROR for one in self.diagnostics[before:])
        self.seen[found] = file.once or (broken and _says_once(text))
        return file


def _says_once(text: str) -> bool:
    return text.lstrip().startswith(".once")


def _resolve(folder: Path, name: str) -> Path | None:
    """An existing file, with links resolved; nothing where the name cannot be one."""
    try:
        found = (folder / name).resolve()
        return found if found.exists() else None
    except (OSError, ValueError, RuntimeError):
        # NUL bytes, names too long for the system, links in a circle.
        return None


def _read_bytes(path: Path) -> bytes:
    if not path.is_file():
        # A pipe or a device would block or never end.
        raise OSError(0, "it is not a file") if path.exists() else FileNotFoundError
    with path.open("rb") as stream:
        return stream.read(MAX_FILE + 1)
