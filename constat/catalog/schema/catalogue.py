"""The catalog of a project: what its sources hold, kept between runs, and searched by words.

In: a project, an index, and the predicates and rules to find beside tables. Out: tables, columns,
relationships, search results; operations of APIs are listed like tables. Invariants: a source is
opened once in the life of a manager, and its tables are read only where its fingerprint has
changed; where it does not answer, what was seen last is given and said to be old; nothing of a row
is read here but by `sampling` and `checking`.
Example: `SchemaManager(project, index).table("sales.orders").key`.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, wraps
from itertools import islice, repeat
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeAlias, TypeVar, cast

from constat.catalog.drivers import KeptOpen
from constat.catalog.schema.checking import check
from constat.catalog.schema.described import (
    OF_DOCUMENTS,
    OPERATION,
    DatabaseSummary,
    Link,
    Refreshed,
    SearchResult,
    changes,
    from_json,
    loosened,
    to_json,
)
from constat.catalog.schema.introspection import across, look_at
from constat.catalog.schema.samples import find_column, sample
from constat.catalog.schema.search import (
    column_hits,
    entries_of,
    hits,
    kept_tables,
    learned_synonyms,
    merged,
    namings_of,
    ordered,
    stems,
)
from constat.catalog.schema.words import is_abbreviation, singular, synonyms, words_of
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.project import Database
from constat.project.documents import DocumentsSetting
from constat.store.catalog import CatalogFileError, Entry, KeptSource
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.catalog.schema.checking import Checked
    from constat.catalog.schema.described import Sample, TableSchema
    from constat.catalog.schema.introspection import Look
    from constat.catalog.schema.search import Naming
    from constat.project import Project
    from constat.project.apis import ApiSetting
    from constat.store.catalog import CatalogIndex, KeptTable

KINDS: Final = ("table", "operation", "column", "predicate", "rule")
RULES: Final = "<rules>"
"""Under which name the predicates and rules of the project are kept beside the sources."""
_EVERYTHING: Final = frozenset(KINDS) - {"column"}
_FORM: Final = "2"
_TABLES_FOR_COLUMNS: Final = 40
_MOST_NAMES: Final = 5_000
_MOST_LISTED: Final = 8
_MOST_AT_ONCE: Final = 8
_MOST_NOUNS: Final = 40
_MOST_CHANGES: Final = 50


_Source: TypeAlias = "Database | ApiSetting | DocumentsSetting"
_Given = ParamSpec("_Given")
_Gives = TypeVar("_Gives")
_Method: TypeAlias = "Callable[Concatenate[SchemaManager, _Given], _Gives]"


def _surely(method: _Method[_Given, _Gives]) -> _Method[_Given, _Gives]:
    """Have a question asked anew, of an index in memory, where the file cannot be used any more."""

    @wraps(method)
    def asked(catalog: SchemaManager, *given: _Given.args, **named: _Given.kwargs) -> _Gives:
        try:
            return method(catalog, *given, **named)
        except CatalogFileError as problem:
            catalog.turn_to_memory(str(problem))
            return method(catalog, *given, **named)

    return cast("_Method[_Given, _Gives]", asked)


class SchemaManager:
    """Knows the tables of every database of a project; used by one thread at a time.

    `vocabulary` gives the entries of predicates and rules, `namings` what they call the tables that
    they read; both are asked when somebody searches. `declared` gives the state of the declarations
    over each table, by its path in lower case.
    """

    def __init__(
        self,
        project: Project,
        index: CatalogIndex,
        vocabulary: Callable[[], Iterable[Entry]] = tuple,
        namings: Callable[[], Iterable[Naming]] = tuple,
        declared: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.project = project
        self._index = index
        self._vocabulary = vocabulary
        self._namings = namings
        self._declared = declared
        self._looked: dict[str, Refreshed] = {}
        self._read_rules = False

    @contextmanager
    def loading_once(self) -> Iterator[Project]:
        """Load each file once while several things are looked up; give the project for that."""
        before, kept = self.project, KeptOpen()
        self.project = kept.of(before)
        try:
            yield self.project
        finally:
            self.project = before
            kept.close()

    @property
    def trouble(self) -> str:
        """Why the kept catalog cannot be used, so that sources are read anew by each program."""
        return self._index.trouble

    @property
    def _sources(self) -> Mapping[str, _Source]:
        return {**self.project.databases, **self.project.apis, **self.project.documents}

    @_surely
    def databases(self) -> tuple[DatabaseSummary, ...]:
        """Describe every database of the project, every API, and documents of each name."""
        self._all_current()
        found = []
        for name, source in self._sources.items():
            looked = self._current(name)
            kept = self._index.source(name)
            found.append(
                DatabaseSummary(
                    name,
                    _kind(source),
                    looked.tables,
                    kept.seen_at if kept else "",
                    looked.failure,
                    looked.problems,
                )
            )
        return tuple(found)

    @_surely
    def tables(self, database: str | None = None) -> tuple[KeptTable, ...]:
        """List the tables of one database, or of all; `document` is left empty."""
        names = [self._known(database)] if database else list(self._sources)
        if database:
            self._current(database)
        else:
            self._all_current()
        return tuple(table for name in names for table in self._index.tables(name))

    @_surely
    def table(self, name: str) -> TableSchema:
        """Describe a table: `orders`, `sales.orders` or `sales.schema.orders`, in any case.

        Raises `ConstatError` (C0840) where no table, or more than one, has that name.
        """
        self._all_current()
        found = self._index.documents(name)
        # A spelling that is exactly right decides between names that differ in case only.
        exact = [one for one in found if name in {one.label, f"{one.source}.{one.label}"}]
        fitting = exact or found
        if len(fitting) == 1:
            return from_json(json.loads(fitting[0].document))
        raise ConstatError([self._unknown(name, fitting)])

    @_surely
    def all_tables(self) -> tuple[TableSchema, ...]:
        """Describe all tables."""
        documents = [self._index.document(one.source, one.label) for one in self.tables()]
        return tuple(from_json(json.loads(one)) for one in documents if one is not None)

    @_surely
    def relationships(self, name: str) -> tuple[Link, ...]:
        """Give what a table points to, and what points to it, by names also in other sources."""
        table = self.table(name)
        links = [_link(table, place) for place in range(len(table.relationships))]
        for label in self._index.pointing_to(table.database, table.label):
            document = self._index.document(table.database, label)
            if label == table.label or document is None:
                continue
            other = from_json(json.loads(document))
            links += [
                _link(other, place)
                for place, one in enumerate(other.relationships)
                if one.target == table.label
            ]
        return (*links, *self._across(table))

    def _across(self, table: TableSchema) -> Iterator[Link]:
        """Look at the tables of other sources whose names go with those of a table."""
        if len(self._sources) == 1 or table.kind == OPERATION:
            return
        nouns = {words[-2:-1] for one in table.columns if len(words := words_of(one.name)) > 1}
        looks = [singular(words_of(table.name)), *sorted(nouns)[:_MOST_NOUNS]]
        found = dict.fromkeys(
            (one.source, one.label)
            for words in looks
            for one in self._index.search(words, ("table",), _TABLES_FOR_COLUMNS)
            if one.source != table.database
        )
        documents = (self._index.document(*one) for one in found)
        others = [from_json(json.loads(one)) for one in documents if one is not None]
        for one, target, told in across(table, others):
            source, label, evidence = target.database, target.label, told.evidence
            columns, there = told.columns, told.target_columns
            yield Link(one.database, one.label, columns, label, there, False, evidence, source)  # noqa: FBT003  nobody declares it

    @_surely
    def search(self, text: str, kinds: Sequence[str] = KINDS, most: int = 20) -> SearchResult:
        """Find tables, columns, predicates and rules by the words of their names and comments.

        Where no name has all the words, others count that name the same: those of the thesaurus,
        those that comments use, and the tables that a predicate of that name reads.
        """
        self._all_current()
        self._keep_rules()
        words = words_of(text)
        wanted = tuple(kind for kind in kinds if kind != "column")
        # Columns are looked for in the tables that fit best, so one look at the index is enough.
        enough = max(most, _TABLES_FOR_COLUMNS) if "column" in kinds else most
        asked = (*wanted, "table") if "column" in kinds and "table" not in wanted else wanted
        alike: dict[str, Sequence[str]] = {}
        vocabulary = cache(self._index.vocabulary)

        def synonyms_of(word: str) -> Sequence[str]:
            return alike.setdefault(word, self._alike(word, vocabulary))

        every = () if _EVERYTHING.issubset(asked) else asked
        found = ordered(words, self._index.search(words, every, enough, synonyms_of), alike)
        given = hits(one for one in found if one.kind in wanted)[:most]
        if "column" in kinds:
            tables = [one for one in found if one.kind == "table"]
            lines = ((one.source, one.label, self._index.lines(one)) for one in tables)
            given = merged(given, column_hits(words, lines, most, alike), most)
        return SearchResult(tuple(given), () if given else self._meant(words))

    def _alike(self, word: str, vocabulary: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
        """Give other words for what a word names, and what names of this catalog make of them."""
        learned = (other for one in stems((word,)) for other in self._index.synonyms(one))
        others = dict.fromkeys((*learned, *synonyms(word)))
        for one in (word, *others):
            others |= dict.fromkeys(n for n in vocabulary(one[0]) if is_abbreviation(n, one))
        return tuple(others)

    def sample(
        self, name: str, columns: Sequence[str] = (), *, most: int = 5, allowed: bool = False
    ) -> tuple[Sample, ...]:
        """Give values of a table's columns, where the project or the person who asks allows it."""
        table = self.table(name)
        _refuse_operation(table)
        return sample(self.project, table, columns, most=most, allowed=allowed)

    def check(self, name: str, columns: Sequence[str] = (), *, thorough: bool = True) -> Checked:
        """Hold what a table declares against what it stores."""
        table = self.table(name)
        _refuse_operation(table)
        if table.kind == OF_DOCUMENTS:
            message = f"`{table.path}` is what documents say, who declare nothing"
            hint = "`constat doctor` holds declarations against what they say"
            raise ConstatError([Diagnostic("C0842", message, help=hint)])
        chosen = [find_column(table, column) for column in columns]
        labels = dict.fromkeys(one.target for one in table.relationships)
        found = ((label, self._index.document(table.database, label)) for label in labels)
        targets = {label: from_json(json.loads(one)) for label, one in found if one is not None}
        return check(self.project, table, chosen, targets=targets, thorough=thorough)

    @_surely
    def refresh(self, database: str | None = None) -> tuple[Refreshed, ...]:
        """Look at the sources again now, and read everything that they say."""
        names = [self._known(database)] if database else list(self._sources)
        for name in names:
            self._looked[name] = self._look(name, known="", anew=True)
        if database is None:
            self._index.keep_only([*self._sources, RULES])
        return tuple(self._looked[name] for name in names)

    @_surely
    def outgrown(self, database: str) -> tuple[tuple[TableSchema, tuple[str, ...]], ...]:
        """Tell what constraints have changed since tables were declared, as the source is now.

        It is told until the declarations over a table are other ones, or the table is as it was.
        """
        known = self._known_fingerprint(database)
        look = look_at(self._sources[database], self.project, known)
        kept = self._kept_tables(database) if known else {}
        after = kept if look.schema is None else {one.label: one for one in look.schema.tables}
        before = self._outgrown(database, kept, after)
        told = ((after[label], tuple(loosened(one, after[label]))) for label, one in before.items())
        return tuple(one for one in told if one[1])

    def _outgrown(
        self,
        database: str,
        kept: Mapping[str, TableSchema],
        after: Mapping[str, TableSchema],
        *,
        read: bool = False,
    ) -> dict[str, TableSchema]:
        """Give tables as they were when they were declared, where they have changed since.

        What is found is kept. Declarations that are other ones now were made for the table as it is
        `read` now: then a change is looked for from there on.
        """
        known = self._index.outgrown(database)
        changed = [n for n in after if n in kept and any(loosened(kept[n], after[n]))]
        if not known and not changed:
            return {}
        declared, found = self._declared(), dict(known)
        for label in {*known, *changed} & after.keys():
            state = declared.get(after[label].path.casefold(), "")
            if label not in known and state:
                found[label] = json.dumps(to_json(kept[label])), state
            elif label in known and known[label][1] != state and read:
                del found[label]
        if found != known:
            self._index.put_outgrown(database, found)
        states = {label: declared.get(one.path.casefold()) for label, one in after.items()}
        return {
            label: from_json(json.loads(document))
            for label, (document, state) in found.items()
            if states.get(label) == state
        }

    def _kept_tables(self, database: str) -> dict[str, TableSchema]:
        documents = (
            self._index.document(one.source, one.label) for one in self._index.tables(database)
        )
        tables = [from_json(json.loads(one)) for one in documents if one is not None]
        return {one.label: one for one in tables}

    def turn_to_memory(self, reason: str) -> None:
        """Go on without the kept file; every source is looked at anew."""
        self._index.turn_to_memory(reason)
        self._looked.clear()
        self._read_rules = False

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def _all_current(self) -> None:
        """Look at all sources, at the same time: one that does not answer keeps none waiting."""
        names = [name for name in self._sources if name not in self._looked]
        if len(names) > 1:
            known = [self._known_fingerprint(name) for name in names]
            sources = [self._sources[name] for name in names]
            with ThreadPoolExecutor(_MOST_AT_ONCE, "catalog") as threads:
                looks = threads.map(look_at, sources, repeat(self.project), known)
                for name, look in zip(names, looks, strict=True):
                    self._looked[name] = self._taken(name, look)
        for name in names:
            self._current(name)

    def _current(self, name: str) -> Refreshed:
        """Look at a source for the first time in this program."""
        if name not in self._looked:
            self._looked[name] = self._look(name, self._known_fingerprint(name))
        return self._looked[name]

    def _known_fingerprint(self, name: str) -> str:
        kept = self._index.source(name)
        same = kept is not None and kept.setting == self._setting(self._sources[name])
        return kept.fingerprint if kept and same else ""

    def _look(self, name: str, known: str, *, anew: bool = False) -> Refreshed:
        return self._taken(name, look_at(self._sources[name], self.project, known, anew=anew))

    def _taken(self, name: str, look: Look) -> Refreshed:
        """Keep what a look has found."""
        source = self._sources[name]
        kept = self._index.source(name)
        if look.schema is None:
            problems = tuple(json.loads(kept.problems)) if kept else ()
            count = len(self._index.tables(name))
            return Refreshed(name, False, count, look.failure, problems)  # noqa: FBT003  nothing has changed
        changed = kept is None or kept.fingerprint != look.fingerprint
        # Stores of documents have no state to name: what they hold is held against what is kept.
        compared = kept is not None and (changed or not look.fingerprint)
        told = self._differing(kept, look) if kept is not None and compared else look.changes
        changed = changed or (not look.fingerprint and bool(told))
        same = kept is not None and kept.setting == self._setting(source)
        if compared and same and isinstance(source, Database):
            after = {one.label: one for one in look.schema.tables}
            self._outgrown(name, self._kept_tables(name), after, read=True)
        self._keep(source, look)
        problems = (*look.schema.problems, *told)
        return Refreshed(name, changed, len(look.schema.tables), "", problems)

    def _differing(self, kept: KeptSource, look: Look) -> tuple[str, ...]:
        """Tell how a source differs from what was read of it before, by the same configuration.

        An API tells it of a description that was asked for anew.
        """
        if look.schema is None or look.changes:
            return look.changes
        if kept.setting != self._setting(self._sources[kept.name]):
            return ()
        before = self._kept_tables(kept.name).values()
        told = tuple(islice(changes(before, look.schema.tables), _MOST_CHANGES + 1))
        return told if len(told) <= _MOST_CHANGES else (*told[:_MOST_CHANGES], "and more changes")

    def _keep(self, read: _Source, look: Look) -> None:
        if look.schema is None:
            return
        problems = json.dumps(look.schema.problems)
        setting = self._setting(read)
        source = KeptSource(read.name, setting, look.fingerprint, now(), problems)
        learned = learned_synonyms(namings_of(look.schema))
        self._index.replace(source, kept_tables(look.schema), entries_of(look.schema), learned)

    def _setting(self, source: _Source) -> str:
        """Name what decides how a source is read, without its address, which may be a secret."""
        hidden = sorted(self.project.catalog.hidden)
        if isinstance(source, Database):
            files = [(name, one.identity) for name, one in source.files.items()]
            said: tuple[object, ...] = (_FORM, source.kind, sorted(files), hidden)
        elif isinstance(source, DocumentsSetting):
            said = (_FORM, source, hidden)
        else:
            said = (_FORM, source.kind, sorted(source.safe), hidden)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]

    def _keep_rules(self) -> None:
        """Put the predicates and rules beside the tables, where they have changed."""
        if self._read_rules:
            return
        self._read_rules = True
        entries = tuple(self._vocabulary())
        learned = learned_synonyms(self._namings())
        said = repr((entries, learned)).encode("utf-8", "replace")
        fingerprint = hashlib.sha256(said).hexdigest()[:32]
        kept = self._index.source(RULES)
        if kept is None or kept.fingerprint != fingerprint:
            source = KeptSource(RULES, _FORM, fingerprint, now(), "[]")
            self._index.replace(source, (), entries, learned)

    def _meant(self, words: Sequence[str]) -> tuple[str, ...]:
        meant = (nearest(word, self._index.vocabulary(word[:1])) for word in words)
        return tuple(dict.fromkeys(word for word in meant if word))

    def _known(self, database: str) -> str:
        if database in self._sources:
            return database
        near = nearest(database, self._sources)
        known = ", ".join(self._sources) or "none"
        raise ConstatError(
            [
                Diagnostic(
                    "C0840",
                    f"the project has no database `{database[:80]}`",
                    note=f"it has: {known}"[:400],
                    help=f"write `{near}`" if near else "`constat catalog list` shows them",
                )
            ]
        )

    def _unknown(self, name: str, fitting: Sequence[KeptTable]) -> Diagnostic:
        if fitting:
            paths = ", ".join(f"`{one.source}.{one.label}`" for one in fitting[:8])
            message = f"`{name[:80]}` may be more than one table"
            return Diagnostic("C0840", message, note=f"there are {paths}", help="name one of them")
        if name in self._sources:
            return self._whole(name)
        tables = self._index.tables()[:_MOST_NAMES]
        names = [one.label for one in tables] + [f"{one.source}.{one.label}" for one in tables]
        near = nearest(name, names)
        failed = [one.name for one in self._looked.values() if one.failure]
        note = f"not reached, so perhaps there: {', '.join(failed)}" if failed else ""
        hint = f"write `{near}`" if near else "`constat catalog search WORDS` finds tables"
        return Diagnostic("C0840", f"there is no table `{name[:80]}`", note=note, help=hint)

    def _whole(self, name: str) -> Diagnostic:
        """Say what a database holds whose name stands in the place of a table's."""
        tables = self._index.tables(name)
        listed = ", ".join(f"`{name}.{one.label}`" for one in tables[:_MOST_LISTED])
        more = f" and {len(tables) - _MOST_LISTED:,} more" if len(tables) > _MOST_LISTED else ""
        return Diagnostic(
            "C0840",
            f"`{name[:80]}` is a database, and no table",
            note=f"it has {listed}{more}" if tables else "no table of it is known",
            help=f"name one of them; `constat catalog list {name[:80]}` shows all",
        )


def _kind(source: _Source) -> str:
    if isinstance(source, Database):
        return "files" if source.kind == "files" else "sql"
    return "documents" if isinstance(source, DocumentsSetting) else source.kind


def _refuse_operation(table: TableSchema) -> None:
    """Raise `ConstatError` for an operation: an API is asked for a goal, and for nothing else."""
    if table.kind == OPERATION:
        message = f"`{table.path}` is an operation of an API, which has no rows of its own"
        hint = f"`constat catalog draft {table.path}` drafts a predicate that asks it"
        raise ConstatError([Diagnostic("C0842", message, help=hint)])


def _link(table: TableSchema, place: int) -> Link:
    one = table.relationships[place]
    return Link(
        table.database,
        table.label,
        one.columns,
        one.target,
        one.target_columns,
        one.declared,
        one.evidence,
    )
