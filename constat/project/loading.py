"""Read a project folder's configuration.

In: a folder with a `constat.yaml`. Out: a `Project`; every mistake is reported at once. Invariant:
rule files and the state folder are resolved through links and lie where the project allows.
Example: `load_project(Path("examples/vip")).name == "vip"`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import LOCALES, find_locale
from constat.project.authoring_sections import read_authoring, read_sub_plans
from constat.project.catalog_setting import CatalogSetting, read_catalog
from constat.project.configured_facts import read_closed, read_facts
from constat.project.data_files import read_files
from constat.project.document import MAX_BYTES, Node, Table, Text, printable, read_document
from constat.project.explore import read_explore
from constat.project.memory_setting import read_memory
from constat.project.models_section import read_models
from constat.project.places import CONFIGURATION, files_at, folder_at, inside
from constat.project.project import (
    BUILT_IN_TIERS,
    CONFLICTS,
    Bounds,
    CustomTier,
    Database,
    Project,
)
from constat.project.record_sections import read_keys, read_log
from constat.project.recorded_sources import RecordSetting, read_record
from constat.project.review_section import read_review
from constat.project.sections import Sections
from constat.project.suggesting import suggestion
from constat.project.variables import expand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KEYS: Final = (
    "project",
    "rules",
    "libraries",
    "databases",
    "facts",
    "closed",
    "conflicts",
    "tiers",
    "limits",
    "state",
    "keys",
    "log",
    "record",
    "locale",
    "models",
    "authoring",
    "sub_plans",
    "review",
    "catalog",
    "explore",
    "memory",
)
_DATABASE_OPTIONS: Final = ("database", "region")
_DATABASE_KEYS: Final = (
    *("uri", "type", "files", "seconds", "rows", "immutable"),
    *_DATABASE_OPTIONS,
)
_TIER_KEYS: Final = ("factory", "after", "cost", "predicates", "options")
_BOUNDS: Final = Bounds()
_RULE_SUFFIX: Final = ".dl"


def load_project(
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    libraries: Sequence[Path] = (),
) -> Project:
    """Read `constat.yaml` of the folder. `libraries` are further folders rules may lie in.

    Raises `ConstatError` with all mistakes of the file, each with its place.
    """
    diagnostics: list[Diagnostic] = []
    document = read_document(_content(Path(folder)), CONFIGURATION, diagnostics)
    if document is None:
        raise ConstatError(diagnostics)
    variables = os.environ if environment is None else environment
    project = _Loading(Path(folder).resolve(), Sections(diagnostics), variables).project(
        document, tuple(libraries)
    )
    if diagnostics:
        raise ConstatError(diagnostics)
    return project


def _content(folder: Path) -> bytes:
    try:
        with (folder / CONFIGURATION).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        message = f"{CONFIGURATION} cannot be read ({type(problem).__name__})"
        raise ConstatError([Diagnostic("C0500", message)]) from None


class _Loading:
    """One reading of one file."""

    def __init__(self, folder: Path, sections: Sections, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.sections = sections
        self.environment = environment
        self.rule_folders: dict[Path, None] = {}

    def project(self, document: Node, given: tuple[Path, ...]) -> Project:
        top = self.sections.table(document, CONFIGURATION, _KEYS)
        keys = read_keys(top.get("keys", Table((), document.span)), self.folder, self.sections)
        empty = Table((), document.span)
        roots = (self.folder, *given, *self._libraries(top.get("libraries")))
        return Project(
            folder=self.folder,
            name=self.sections.text(top.get("project"), "`project`", self.folder.name),
            databases={
                key.text: self._database(key, value)
                for key, value in self.sections.entries(top.get("databases", empty), "`databases`")
            },
            rules=self._rules(top.get("rules"), roots),
            rule_roots=roots,
            facts=read_facts(top.get("facts", empty), self.environment, self.sections),
            closed=read_closed(top.get("closed", empty), self.sections, CONFIGURATION),
            conflicts=self._conflicts(top.get("conflicts")),
            tiers=self._tiers(top.get("tiers", empty)),
            limits=self._limits(top.get("limits", empty)),
            state=self._state(top.get("state")),
            keys=keys,
            review=read_review(top.get("review"), keys, self.sections),
            log=read_log(top.get("log"), self.folder, self.sections),
            record=self._record(top),
            locale=self._locale(top.get("locale")),
            models=read_models(top.get("models"), self.folder, self.environment, self.sections),
            authoring=read_authoring(top.get("authoring"), self.sections),
            catalog=self._catalog(top),
            sub_plans=read_sub_plans(top.get("sub_plans"), self.sections),
            explore=read_explore(top.get("explore"), self.environment, self.sections),
            memory=read_memory(top.get("memory"), self.folder, self.sections),
            rule_folders=tuple(self.rule_folders),
            config_name=CONFIGURATION,
        )

    def _conflicts(self, node: Node | None) -> str:
        """Which of different values for one key counts."""
        name = self.sections.text(node, "`conflicts`", CONFLICTS[0])
        if name not in CONFLICTS and node is not None:
            hint = suggestion(name, CONFLICTS) or f"write `conflicts: {CONFLICTS[0]}`"
            message = f"`conflicts` is {', '.join(CONFLICTS[:-1])} or {CONFLICTS[-1]}"
            self.sections.complain("C0504", message, node, hint=hint)
        return name

    def _locale(self, node: Node | None) -> str:
        """The locale of sentences, in its own spelling; empty where none is named."""
        name = self.sections.text(node, "`locale`")
        if not name or node is None:
            return ""
        found = find_locale(name)
        if found is None:
            hint = suggestion(name, [one.name for one in LOCALES]) or "write `locale: de_DE`"
            self.sections.complain("C0790", "this locale is not known", node, hint=hint)
        return found.name if found is not None else ""

    def _record(self, top: Mapping[str, Node]) -> RecordSetting:
        empty: tuple[tuple[Text, Node], ...] = ()
        named = [
            key.text
            for name in ("databases", "tiers")
            for key, _ in (self.sections.entries(top[name], f"`{name}`") if name in top else empty)
        ]
        return read_record(top.get("record"), named, self.sections)

    def _catalog(self, top: Mapping[str, Node]) -> CatalogSetting:
        if "catalog" not in top:
            return CatalogSetting()
        named = top.get("databases", Table((), top["catalog"].span))
        names = [key.text for key, _ in self.sections.entries(named, "`databases`")]
        return read_catalog(top["catalog"], names, self.sections)

    def _libraries(self, node: Node | None) -> tuple[Path, ...]:
        """Libraries are the one kind of folder that may lie outside: they are named for that."""
        folders = []
        for named in self.sections.texts(node, "`libraries`"):
            folder = folder_at(self.folder, named.text)
            if folder is None:
                self.sections.complain("C0505", "there is no such library folder", named)
            else:
                folders.append(folder)
        return tuple(folders)

    def _rules(self, node: Node | None, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        files: dict[Path, None] = {}
        for named in self.sections.texts(node, "`rules`"):
            found = inside(named.text, self.folder, roots)
            if found is None:
                self.sections.complain(
                    "C0505",
                    "this path leads out of the project",
                    named,
                    note="rules lie in the project's folder or in one of `libraries`",
                )
                continue
            listed = files_at(found, _RULE_SUFFIX)
            if listed is None:
                self._missing_rules(named, found)
            else:
                files.update(dict.fromkeys(listed))
                if found.is_dir():
                    self.rule_folders[found] = None
        return tuple(files)

    def _missing_rules(self, named: Text, found: Path) -> None:
        siblings = [one.name for one in files_at(found.parent, _RULE_SUFFIX) or ()]
        hint = suggestion(found.name, siblings)
        self.sections.complain("C0505", "there is no such rule file", named, hint=hint)

    def _database(self, key: Text, node: Node) -> Database:
        what = f"database `{printable(key.text)}`"
        named = self.sections
        if isinstance(node, Text):
            entries: Mapping[str, Node] = {"uri": node}
        else:
            entries = named.table(node, what, _DATABASE_KEYS)
        address = expand(named.text(entries.get("uri"), f"the uri of {what}"), self.environment)
        if address.malformed:
            named.complain("C0504", "a `${` that is not followed by a name and `}`", node)
        self._check_whole(entries, what, node)
        seconds, rows = entries.get("seconds"), entries.get("rows")
        return Database(
            name=key.text,
            kind=named.text(
                entries.get("type"), f"the type of {what}", "files" if "files" in entries else "sql"
            ),
            address=address,
            files=read_files(entries.get("files"), what, named),
            seconds=named.seconds(seconds, "`seconds`", 1.0) if seconds else None,
            rows=named.integer(rows, "`rows`", 1) if rows else None,
            immutable=named.flag(entries.get("immutable"), "`immutable`"),
            options={
                option: named.text(entries[option], f"`{option}`")
                for option in _DATABASE_OPTIONS
                if option in entries
            },
            span=key.span,
        )

    def _check_whole(self, entries: Mapping[str, Node], what: str, node: Node) -> None:
        """A database is either an address or a folder's files."""
        kind = entries.get("type")
        files = isinstance(kind, Text) and kind.text == "files"
        if files and "files" not in entries:
            hint = "write `files: {orders: data/orders.csv}`"
            self.sections.complain("C0504", f"{what} names no `files`", node, hint=hint)
        elif not {"uri", "type", "files"} & entries.keys():
            self.sections.complain("C0504", f"{what} has no `uri`", node)
        elif "files" in entries and ("uri" in entries or (kind is not None and not files)):
            self.sections.complain("C0504", f"{what} has `files` beside `uri` or a `type`", node)

    def _tiers(self, node: Node) -> dict[str, CustomTier]:
        entries = self.sections.entries(node, "`tiers`")
        names = [key.text for key, _ in entries]
        return {key.text: self._tier(key, value, names) for key, value in entries}

    def _tier(self, key: Text, node: Node, names: list[str]) -> CustomTier:
        what, named = f"tier `{printable(key.text)}`", self.sections
        if key.text in {*BUILT_IN_TIERS, "user"}:
            named.complain("C0504", f"{what} is built in and takes no settings here", key)
        entries = named.table(node, what, _TIER_KEYS)
        after = named.text(entries.get("after"), "`after`", "database")
        known = [*BUILT_IN_TIERS, *(name for name in names if name != key.text)]
        if after not in known:
            hint = suggestion(after, known)
            named.complain("C0504", "`after` names no tier", entries["after"], hint=hint)
        listed = entries.get("predicates")
        predicates = tuple(one.text for one in named.texts(listed, "`predicates`"))
        options = named.entries(entries.get("options", Table((), key.span)), "`options`")
        return CustomTier(
            name=key.text,
            factory=named.text(entries.get("factory"), "`factory`"),
            after=after,
            cost=named.integer(entries.get("cost"), "`cost`", 100),
            predicates=None if listed is None else predicates,
            options={option.text: named.text(value, "an option") for option, value in options},
            span=key.span,
        )

    def _limits(self, node: Node) -> Bounds:
        named = self.sections
        keys = ("seconds", "rows", "calls", "query_seconds", "query_rows")
        found = named.table(node, "`limits`", keys)
        return Bounds(
            named.seconds(found.get("seconds"), "`seconds`", _BOUNDS.seconds),
            named.integer(found.get("rows"), "`rows`", _BOUNDS.rows),
            named.integer(found.get("calls"), "`calls`", _BOUNDS.calls),
            named.seconds(found.get("query_seconds"), "`query_seconds`", _BOUNDS.query_seconds),
            named.integer(found.get("query_rows"), "`query_rows`", _BOUNDS.query_rows),
        )

    def _state(self, node: Node | None) -> Path:
        written = self.sections.text(node, "`state`", ".constat")
        found = inside(written, self.folder)
        if found is None or found == self.folder:
            if node is not None:
                self.sections.complain("C0505", "`state` is not a folder inside the project", node)
            return self.folder / ".constat"
        return found
