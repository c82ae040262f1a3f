"""What a shell offers when the tab key is pressed, and the script that makes it ask."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from constat.cli.groups import PlainCommand
from constat.cli.output import write
from constat.syntax.printing import MOST_UNNAMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.project import Project

# Afterwards no such module can be imported by others, so nothing is ever run in this state. It
# takes a fifth of the time of a full load.

# Besides what prints: tables of names that options offer, which load nothing themselves.
_LOADED_IN_FULL: Final = (
    *("constat.cli", "constat.diagnostics"),
    *("constat.logic.locales", "constat.proof.formats"),
)
_ROOT: Final = Path(__file__).parents[2]


class Nothing:
    """Stands for any value while a module is loaded."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Nothing:
        """Give itself."""
        return self

    def __getitem__(self, key: object) -> Nothing:
        return self

    def __iter__(self) -> Iterator[Nothing]:
        return iter(())

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


class _Empty(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _Finder(MetaPathFinder, Loader):
    """Finds empty modules in place of ours."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the protocol's
        target: ModuleType | None = None,  # noqa: ARG002  the protocol's
    ) -> ModuleSpec | None:
        """Take the packages that are not loaded in full."""
        ours = fullname.startswith("constat.")
        if not ours or fullname.startswith(_LOADED_IN_FULL):
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        # A module that is loaded in full is found in its empty package.
        spec.submodule_search_locations = [str(_ROOT.joinpath(*fullname.split(".")))]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module."""
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""


@contextmanager
def shallow_loading() -> Iterator[None]:
    """Load the modules of commands without their work, and forget them at the end."""
    before = dict(sys.modules)
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.startswith("constat.")]:
            if name not in before:
                del sys.modules[name]
        _unlink(before)


def _unlink(before: dict[str, ModuleType]) -> None:
    # `import constat.session` also sets an attribute of `constat`, which outlives `sys.modules`.
    for name in ("constat", "constat.cli"):
        package = before.get(name)
        for key, value in list(vars(package).items()) if package else ():
            if isinstance(value, ModuleType) and before.get(value.__name__) is not value:
                delattr(package, key)


VARIABLE: Final = "_CONSTAT_COMPLETE"
_OPENING: Final = ("'", '"')
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9_@%+=:,./-]")
_VARIABLE_OF_GOAL: Final = re.compile(r"\?([A-Za-z][A-Za-z0-9_]*)")
_FILES: Final = re.compile(r"FILE|CERT|PATH")


class Offer(NamedTuple):
    """One thing to offer; `kind` is `plain`, `file` or `dir`."""

    kind: str
    value: str = ""
    text: str = ""


def complete(environ: Mapping[str, str], command: click.Command) -> int:
    """Write what fits; the exit code is always 0."""
    shell = environ.get(VARIABLE, "")
    # A shell in the middle of a line must not show a warning or a traceback.
    with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123  a stream, not a path
        errors, sys.stderr = sys.stderr, nothing
        try:
            lines = list(_lines(environ, shell, command))
        except Exception:  # noqa: BLE001  no offer is the answer to every mistake
            lines = []
        finally:
            sys.stderr = errors
    sys.stdout.write("".join(line + "\n" for line in lines))
    return 0


def _lines(environ: Mapping[str, str], shell: str, command: click.Command) -> Iterator[str]:
    words = [unquoted(word) for word in environ.get("COMP_WORDS", "").split("\n")[1:]]
    raw = environ.get("COMP_CURRENT", "")
    if raw == "=":
        raw = ""
    for offer in offers(command, _joined(words), unquoted(raw)):
        value = offer.value
        if shell == "bash" and not raw.startswith(_OPENING) and _SPECIAL.search(value):
            # Bash inserts what it is given: brackets outside quotes would be its own syntax.
            value = f'"{value}"'
        yield f"{offer.kind}\t{value}\t{offer.text}".replace("\n", " ")


def _joined(words: list[str]) -> list[str]:
    """Drop the `=` that bash makes a word of its own in `--format=json`."""
    return [word for place, word in enumerate(words) if word != "=" or not place]


def unquoted(word: str) -> str:
    """Give what a word of a shell means, also where its quote is still open."""
    found: list[str] = []
    quote = ""
    characters = iter(word)
    for one in characters:
        if quote == one:
            quote = ""
        elif not quote and one in _OPENING:
            quote = one
        elif one == "\\" and quote != "'":
            found.append(next(characters, ""))
        else:
            found.append(one)
    return "".join(found)


def offers(command: click.Command, words: Sequence[str], current: str) -> Iterator[Offer]:
    """Give what fits after these words of a command, beginning with the current one."""
    with shallow_loading():
        place = _Place(command, words)
    for offer in place.offers(current):
        if offer.kind in {"file", "dir"} or offer.value.startswith(current):
            yield offer


class _Place:
    """Where in a command line the cursor is: the command, its arguments so far, an open option."""

    def __init__(self, command: click.Command, words: Sequence[str]) -> None:
        self.command = command
        self.context = click.Context(self.command, info_name="constat")
        self.given: list[str] = []
        self.options: dict[str, str] = {}
        self.waiting: click.Option | None = None
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.waiting is not None:
            self.options[self.waiting.name or ""] = word
            self.waiting = None
        elif word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = next((one for one in self._options() if name in one.opts), None)
            if option is not None and equals:
                self.options[option.name or ""] = value
            elif option is not None and not option.is_flag:
                self.waiting = option
        elif isinstance(self.command, click.Group):
            found = self.command.get_command(self.context, word)
            if found is None:
                raise LookupError(word)
            self.command = found
            self.context = click.Context(found, info_name=word, parent=self.context)
        else:
            self.given.append(word)

    def _options(self) -> list[click.Option]:
        return [
            one
            for one in self.command.get_params(self.context)
            if isinstance(one, click.Option) and not one.hidden
        ]

    def offers(self, current: str) -> Iterable[Offer]:
        """Give what may stand here."""
        if self.waiting is not None:
            return self._values(self.waiting, current)
        if current.startswith("-"):
            return self._option_names()
        if isinstance(self.command, click.Group):
            return self._names(self.command)
        argument = self._argument()
        return self._option_names() if argument is None else self._values(argument, current)

    def _names(self, group: click.Group) -> Iterator[Offer]:
        summaries = getattr(group, "summaries", None)
        if summaries is not None:
            return (Offer("plain", name, text) for name, text in summaries())
        found = (
            (one, group.get_command(self.context, one)) for one in group.list_commands(self.context)
        )
        return (Offer("plain", name, one.get_short_help_str(80)) for name, one in found if one)

    def _option_names(self) -> Iterator[Offer]:
        for option in self._options():
            if option.multiple or option.name not in self.options:
                for name in option.opts:
                    if name.startswith("--"):
                        yield Offer("plain", name, (option.help or "").partition(";")[0])

    def _argument(self) -> click.Argument | None:
        arguments = [one for one in self.command.params if isinstance(one, click.Argument)]
        taken = len(self.given)
        for one in arguments:
            if one.nargs == -1 or taken < one.nargs:
                return one
            taken -= one.nargs
        return None

    def _values(self, parameter: click.Parameter, current: str) -> Iterable[Offer]:
        if isinstance(parameter.type, click.Choice):
            return [Offer("plain", str(one)) for one in parameter.type.choices]
        name = parameter.name or ""
        if name in {"order", "columns"}:
            return self._variables(current, ordered=name == "order")
        words = known(name, current, project=self.options.get("project"), given=tuple(self.given))
        if words is not None:
            return words
        metavar = parameter.metavar or ""
        if metavar == "DIR":
            return [Offer("dir")]
        is_file = _FILES.search(metavar) or name in {"file", "certificate", "paths", "path"}
        return [Offer("file")] if is_file else []

    def _variables(self, current: str, *, ordered: bool) -> Iterator[Offer]:
        """Give the variables of the goal that was typed before."""
        before, comma, _ = current.rpartition(",")
        text = " ".join(self.given)
        for name in dict.fromkeys(_VARIABLE_OF_GOAL.findall(text)):
            yield Offer("plain", f"{before}{comma}{name}")
            if ordered:
                yield Offer("plain", f"{before}{comma}{name}:desc")


# Rule files are only searched for declarations, not read as rules: a file with a mistake still
# offers the rest. Files are bounded as in loading.

_DECLARED: Final = re.compile(r"^[ \t]*\.decl\s+([A-Za-z]\w*)\s*\(([^()]*)\)", re.MULTILINE)
_CONSTRAINT: Final = re.compile(r"^[ \t]*\.constraint\s+([A-Za-z]\w*)\s*:", re.MULTILINE)
_IDENTIFIER: Final = re.compile(r"^[ \t]*@\[\s*id\s*=\s*\"?([\w.:-]+)", re.MULTILINE)
_LAST_NAME: Final = re.compile(r"(?:[A-Za-z]\w*)?\Z")
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[][(),]')
_ROLES: Final = ("engine", "approver", "reviewer", "auditor", "source")
_MOST_BYTES: Final = 4 << 20
_MOST_FILES: Final = 500


def known(
    name: str, current: str, *, project: str | None, given: tuple[str, ...]
) -> Iterable[Offer] | None:
    """Give what fits a parameter of this name."""
    match name:
        case "goal" | "fact" | "query" | "add" | "remove":
            return goals(current, declarations(project))
        case "predicate" | "predicates" | "abducible" | "removable":
            return [
                Offer("plain", one, ", ".join(columns)) for one, columns in declarations(project)
            ]
        case "names" | "rule" | "rule_id" | "rule_ids" | "id" | "ids" | "drafts":
            return _rules(name, project)
        case (
            "database"
            | "databases"
            | "source_name"
            | "retention"
            | "role"
            | "roles"
            | "exploration"
            | "table"
            | "tables"
        ):
            return [Offer("plain", one) for one in _configured(name, _project(project))]
        case "code":
            from constat.diagnostics.catalogue import catalogue  # noqa: PLC0415  loaded when it is used

            entries = catalogue()
            return [Offer("plain", code, entry.title) for code, entry in entries.items()]
        case "words":
            return _schemas(given)
        case "topic":
            from constat.cli.help import TOPICS  # noqa: PLC0415  loaded when it is used

            topics = TOPICS
            return [Offer("plain", one, title) for one, title in topics]
        case _:
            return None


def _tables(project: Project) -> Iterable[str]:
    """Give the tables that the catalog has kept; no source is opened for a completion."""
    path = project.state / "catalog.sqlite"
    if not path.is_file():
        return ()
    from constat.store.catalog import CatalogIndex  # noqa: PLC0415  loaded when it is used

    index = CatalogIndex(path)
    try:
        return [f"{one.source}.{one.label}" for one in index.tables()]
    finally:
        index.close()


def _configured(name: str, project: Project) -> Iterable[str]:
    """Give the words of `constat.yaml`, or of the catalog, for a parameter."""
    if name.startswith("table"):
        return _tables(project)
    if name == "exploration":
        from constat.store.explored import ExploredStore  # noqa: PLC0415  loaded when it is used

        return [one.identity for one in reversed(ExploredStore(project.state).list())]
    if name == "retention":
        return ("kept", *project.log.classes)
    if name.startswith("role"):
        return dict.fromkeys([*(r for one in project.keys.values() for r in one.roles), *_ROLES])
    return project.databases


def goals(current: str, declared: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[Offer]:
    """Offer atoms with a variable for each column, or the rest of an atom."""
    open_atom = typed_arguments(current)
    if open_atom is not None:
        place, written = open_atom
        yield from _rest(current, current[:place], written, dict(declared))
        return
    before = current[: _last_name(current)]
    if before.rstrip() and not before.rstrip().endswith((",", "!")):
        return
    for name, columns in declared:
        yield Offer("plain", f"{before}{whole_atom(name, columns)}", ", ".join(columns))


def whole_atom(name: str, columns: Sequence[str]) -> str:
    """Write an atom with a variable for each column, with names where there are many."""
    named = len(columns) > MOST_UNNAMED
    parts = (f"{column} = ?{column}" if named else f"?{column}" for column in columns)
    return f"{name}({', '.join(parts)})"


def columns_by_name(columns: Sequence[str], written: Sequence[str]) -> list[str] | None:
    """Name the columns that can be written next by name; `None` where places are written.

    `written` are the arguments so far, the last one unfinished.
    """
    names = [text.partition("=")[0].strip() for text in written if "=" in text]
    begun = written[-1].strip()
    left = [one for one in columns if one not in names and one.startswith(begun)]
    first = len(written) == 1 and len(columns) > MOST_UNNAMED and left
    if not names and not first:
        return None
    return [] if "=" in begun else left


def typed_arguments(text: str) -> tuple[int, list[str]] | None:
    """Where the bracket of the atom stands that is not closed yet, and its arguments so far.

    Inside a structure or a text there are none, for nothing can be offered there.
    """
    openers: list[int] = []
    commas: list[int] = []
    for found in _PIECE.finditer(text):
        if found[0] in {"(", "["}:
            openers.append(found.start())
        elif found[0] in {")", "]"}:
            del openers[-1:]
        elif found[0] == "," and len(openers) == 1:
            commas.append(found.start())
        if not openers:
            commas.clear()
    if not openers:
        return None
    starts = [openers[0], *commas]
    ends = [*commas, len(text)]
    parts = [text[start + 1 : end] for start, end in zip(starts, ends, strict=True)]
    return openers[0], parts if len(openers) == 1 else []


def _last_name(text: str) -> int:
    found = _LAST_NAME.search(text)
    return found.start() if found else len(text)


def _rest(
    current: str, opened: str, written: list[str], declared: dict[str, tuple[str, ...]]
) -> Iterator[Offer]:
    """Offer variables for the columns that an atom still lacks."""
    name = opened[_last_name(opened) :]
    columns = declared.get(name, ())
    if not 1 <= len(written) <= len(columns):
        return
    done, last = len(written) - 1, written[-1]
    start = current[: len(current) - len(last)]
    gap = " " if done else ""
    named = columns_by_name(columns, written)
    if named is not None:
        whole = [] if done else [whole_atom(name, columns).partition("(")[2]]
        for text in (*whole, *(f"{column} = ?{column}" for column in named)):
            yield Offer("plain", f"{start}{gap}{text}")
        if "=" in last:
            yield Offer("plain", f"{current.rstrip()})")
        return
    wanted = [f"?{column}" for column in columns[done:]]
    bare = last.strip()
    if bare and not wanted[0].startswith(bare):
        # A value was typed: only what comes behind it is missing.
        wanted = wanted[1:]
        yield Offer("plain", ", ".join([current.rstrip(), *wanted]) + ")")
        return
    yield Offer("plain", f"{start}{gap}{', '.join(wanted)})")


def declarations(project: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """List the declared predicates of a project with their columns, by name."""
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(project):
        for name, columns in _DECLARED.findall(text):
            names = (column.partition(":")[0].strip() for column in columns.split(","))
            found.setdefault(name, tuple(one for one in names if one))
    return sorted(found.items())


def rule_ids(project: str | None) -> list[str]:
    """List the ids that rules of a project are given."""
    return sorted({one for text in _texts(project) for one in _IDENTIFIER.findall(text)})


def _rules(name: str, folder: str | None) -> list[Offer]:
    """Give the rules of files, the drafts that wait, both, or the constraints (`names`)."""
    if name == "names":
        found = (_CONSTRAINT.findall(text) for text in _texts(folder))
        return [Offer("plain", one) for names in found for one in names]
    ids = [] if name == "drafts" else [Offer("plain", one) for one in rule_ids(folder)]
    return [*(_drafts(folder) if name in {"drafts", "rule_id"} else ()), *ids]


def _drafts(folder: str | None) -> list[Offer]:
    """Offer the drafts that wait for a decision, with the question behind each."""
    from constat.store.drafts import DraftStore  # noqa: PLC0415  loaded when it is used

    waiting = DraftStore(_project(folder).state).list("proposed")
    return [Offer("plain", one.short, " ".join(one.purpose.split())) for one in waiting]


def _project(folder: str | None) -> Project:
    from constat.project import find_project, load_project  # noqa: PLC0415  loaded when it is used

    start = None if folder is None else Path(folder).expanduser()
    found: Project = load_project(find_project(start))
    return found


def _texts(folder: str | None) -> Iterator[str]:
    project = _project(folder)
    files = (
        file
        for path in project.rules
        for file in (sorted(path.rglob("*.dl")) if path.is_dir() else [path])
    )
    for _, file in zip(range(_MOST_FILES), dict.fromkeys(files), strict=False):
        if file.stat().st_size <= _MOST_BYTES:
            yield file.read_text(encoding="utf-8", errors="replace")


def _schemas(given: tuple[str, ...]) -> list[Offer]:
    from constat.cli.help import schema_names  # noqa: PLC0415  loaded when it is used

    start = "".join(f"{word}-" for word in given)
    names = [name.removeprefix(start) for name in schema_names() if name.startswith(start)]
    return [Offer("plain", name) for name in names]


# The scripts only pass words on: what is offered is decided by `completing`.

_SCRIPTS: Final = Path(__file__).with_name("scripts")


@click.command(name="completion", cls=PlainCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell: bash 4.4, zsh 5 or fish 3.4 and newer.

    Completed are commands, options, their values, the predicates of the project in goals (with a
    variable for each column), rule ids, codes, databases and files. In bash a goal is best begun
    with a quote; without one it is put in quotes.

    Examples:
      constat completion bash > ~/.local/share/bash-completion/completions/constat
      constat completion zsh > ~/.zfunc/_constat
      constat completion fish > ~/.config/fish/completions/constat.fish
      eval "$(constat completion bash)"

    Exit codes: 0 printed, 2 bad usage.

    Files: ~/.zfunc stands for any folder of zsh's `fpath`.
    """
    write((_SCRIPTS / f"completion.{shell}").read_text(encoding="utf-8").rstrip("\n"))
