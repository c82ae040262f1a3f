"""Operations of APIs, and what documents hold, as the catalog shows them; drafts of both.

An operation is listed like a table: what it is asked with comes first, as its key, then the fields
of its answers by their paths. Of documents each relation is a table: tables with the same headings,
lines `key: value`, sections, and the documents themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.apis import Api, ApiError, drift, until_of
from constat.apis.operations import (
    DAY,
    DECIMAL,
    LIST,
    MOMENT,
    NUMBER,
    TABLE,
    TRUTH,
    Operation,
    Parameter,
)
from constat.apis.shapes import (
    ENTRIES,
    Field,
    LeftOut,
    Listed,
    PathError,
    path_text,
    read_path,
)
from constat.catalog.connection import SourceFailureError
from constat.catalog.schema.described import (
    LONGEST_NAME,
    OF_DOCUMENTS,
    OPERATION,
    ColumnSchema,
    Sample,
    SourceSchema,
    TableSchema,
    shortened,
)
from constat.catalog.schema.words import identifier
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.frozen import frozen
from constat.syntax.formatting import format_text

if TYPE_CHECKING:
    from constat.apis import Description
    from constat.documents import Collection, Document, Relation
    from constat.project import Project
    from constat.project.apis import ApiSetting
    from constat.project.documents import DocumentsSetting

_MOST_OPERATIONS: Final = 20_000
_MOST_COLUMNS: Final = 40
_MOST_SHOWN: Final = 1_000
_MOST_DEEP: Final = 3
_KINDS: Final = (
    (NUMBER, "number"),
    (DECIMAL, "Decimal"),
    (TRUTH, "Bool"),
    (DAY, "Date"),
    (MOMENT, "Timestamp"),
)
_LETTERS: Final = re.compile(r"[^a-z]")
_AROUND_LISTS: Final = frozenset(
    {
        *("total", "totalcount", "totalresults", "totalitems", "totalpages", "totalsize", "count"),
        *("next", "nextcursor", "nextpage", "nextpagetoken", "nexttoken", "cursor", "continuation"),
        *("prev", "previous", "first", "last", "self", "hasmore", "hasnext", "more", "lastpage"),
        *("page", "pages", "pagesize", "perpage", "size", "limit", "offset", "start", "pageinfo"),
        *("paging", "pagination", "links", "meta", "metadata", "url", "href", "etag", "kind"),
        *("object", "ok", "success", "status", "took", "version", "requestid", "message"),
        *("incompleteresults", "responsemetadata", "currentpage", "pagenumber"),
    }
)
"""What an answer that is a list has around it. Whatever has more is a thing with a list in it."""
_UNSAID: Final = re.compile(r"[,={}\x00-\x1f]")
"""What a field cannot have in its name where `columns` names it."""
_COMMENT_END: Final = re.compile(r"[\r\n]+")
_HEADER: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once

// Drafted by `constat catalog draft` from what the API `{0}` says of itself. Columns of `required`
// are what it is asked with; the others are fields. One that may be missing has a value or none.
"""


def look_at_api(
    setting: ApiSetting, project: Project, known: str, *, anew: bool = False
) -> tuple[str, SourceSchema | None, tuple[str, ...]]:
    """Give the state of a description, its operations where it is another one, and what changed.

    Raises `SourceFailureError`.
    """
    api = Api(setting, project.folder, project.state)
    until = until_of(project.catalog.seconds)
    changes: tuple[str, ...] = ()
    try:
        if anew:
            before, found = api.fresh(until)
            changes = tuple(drift(before, found))
        else:
            found = api.description(until)
        state = f"{found.digest} {sorted(setting.safe)}"
        if state == known and not anew:
            return state, None, changes
        return state, _schema(setting.name, found), changes
    except ApiError as problem:
        raise SourceFailureError(problem.reason, problem.code) from None
    finally:
        api.close()


def _schema(name: str, description: Description) -> SourceSchema:
    operations = sorted(description.operations.values(), key=lambda one: one.name)
    tables = tuple(_table(name, one, description) for one in operations[:_MOST_OPERATIONS])
    return SourceSchema(name, "api", tables)


def _table(name: str, operation: Operation, description: Description) -> TableSchema:
    columns = [_asked(one) for one in operation.parameters]
    listed = description.fields(operation)
    columns += [
        ColumnSchema(
            path_text(one.path),
            one.kind,
            one.nullable,
            shortened(one.description),
            kind="" if one.kind in {LIST, TABLE} else _type(one.kind),
        )
        for one in listed.fields
    ]
    problems = [] if operation.safe else ["it may change something, and is not asked"]
    problems += ["it is deprecated"] if operation.deprecated else []
    problems += _unasked(operation)
    problems += _unread(listed.left_out)
    if listed.open and len(listed.fields) > _MOST_SHOWN:
        problems.append(f"it may have more fields than these {len(listed.fields):,}")
    about = " ".join(filter(None, (operation.form, operation.summary)))
    return TableSchema(
        name,
        operation.name,
        kind=OPERATION,
        columns=tuple(columns),
        key=tuple(one.name for one in operation.parameters if one.required),
        comment=shortened(about),
        problems=tuple(problems),
    )


def _unasked(operation: Operation) -> list[str]:
    """Say which parameters no column of a declaration can give."""
    of_tables = (one for one in operation.parameters if one.required and one.kind == TABLE)
    return [
        f"it is asked with the object `{one.name}`, which no column can give" for one in of_tables
    ]


def _unread(left_out: Sequence[LeftOut]) -> list[str]:
    """Say what an answer has and no column can read."""
    said = [f"`{path_text(one.path)}` is not read: {one.why}" for one in left_out[:_MOST_NAMED]]
    more = len(left_out) - _MOST_NAMED
    return said + ([f"and {more:,} more fields are not read"] if more > 0 else [])


def _asked(one: Parameter) -> ColumnSchema:
    declared = f"{one.place} {one.type_text or one.kind}"
    about = shortened(one.description)
    return ColumnSchema(one.name, declared, not one.required, about, kind=_type(one.kind))


# ------------------------------------------------------------------------------ drafting


@frozen
class DraftedOperations:
    """The text of a rule file, and the predicates in it."""

    database: str
    text: str
    signatures: tuple[str, ...]


@frozen
class _Relation:
    """Rows of an answer: where they stand, and their columns as name, type and path.

    `left_out` are fields that no declaration can name, and those beyond the bound of a draft;
    `unread` says of others why no column reads them.
    """

    name: str
    rows: str
    sent: tuple[tuple[str, str, str], ...]
    columns: tuple[tuple[str, str, str, bool], ...]
    left_out: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def draft_operations(
    project: Project, setting: ApiSetting, names: Sequence[str], taken: Iterable[str]
) -> DraftedOperations:
    """Draft a declaration for each operation, and for the lists inside its answers.

    `taken` are names of predicates that exist. Raises `ConstatError`: C0572 for an operation that
    is not there or not asked, C0844 where the API does not answer.
    """
    api = Api(setting, project.folder, project.state)
    try:
        description = api.description(until_of(project.catalog.seconds))
        chosen = [_chosen(setting, description, name) for name in dict.fromkeys(names)]
        relations: list[tuple[Operation, _Relation]] = []
        used = set(taken)
        for operation in chosen:
            for one in _relations(description, operation, used):
                used.add(one.name)
                relations.append((operation, one))
    except ApiError as problem:
        message = f"API {setting.name}: {problem.reason}"
        raise ConstatError([Diagnostic("C0844", message, setting.span)]) from None
    finally:
        api.close()
    blocks = [_HEADER.format(setting.name)]
    blocks += [_block(setting.name, operation, one) for operation, one in relations]
    found: list[Diagnostic] = []
    text = format_text("\n".join(blocks), "<draft>", found)
    if text is None:
        raise ConstatError(found)
    return DraftedOperations(setting.name, text, tuple(_signature(one) for _, one in relations))


def _chosen(setting: ApiSetting, description: Description, name: str) -> Operation:
    operation = description.operations.get(name)
    if operation is None:
        near = nearest(name, description.operations)
        hint = f"write `{near}`" if near else f"`constat catalog list {setting.name}` names them"
        message = f"API {setting.name} has no operation `{name[:80]}`"
        raise ConstatError([Diagnostic("C0572", message, setting.span, help=hint)])
    if not operation.safe:
        hint = f"if it only reads, write `safe: [{name}]` below the API"
        message = f"`{operation.form}` may change something, and is not asked"
        raise ConstatError([Diagnostic("C0572", message, setting.span, help=hint)])
    return operation


def _relations(
    description: Description, operation: Operation, taken: Iterable[str]
) -> Iterator[_Relation]:
    """Yield the rows of an answer, then those of each list inside of them."""
    listed = description.fields(operation)
    fields = listed.fields
    main = _main_rows(description.rows(operation), fields)
    used = set(taken)
    sent_names: set[str] = set()
    sent = []
    for one in operation.parameters:
        if one.required:
            column = identifier(one.name, sent_names, "c")
            sent_names.add(column)
            sent.append((column, _type(one.kind), one.name))
    for rows in [main, *_inner_lists(main, fields)]:
        around = None if rows == main else _around(main, rows, fields)
        columns, left_out = _columns(rows, listed, set(sent_names), around)
        if len(columns) > len(around or ()) or rows == main:
            name = identifier(_noun(operation.name, main, rows), used, "p")
            used.add(name)
            unread = _unread(listed.left_out) if rows == main else ()
            found = tuple(columns), tuple(left_out), tuple(unread)
            yield _Relation(name, path_text(rows), tuple(sent), *found)


def _main_rows(default: str, fields: Sequence[Field]) -> tuple[str, ...]:
    """Give where the rows stand: in the answer, or in the one list of tables that it wraps."""
    if default:
        return (ENTRIES,)
    outer = {one.path[: one.path.index(ENTRIES) + 1] for one in fields if ENTRIES in one.path}
    lists = [path for path in outer if any(one.path[:-1] == path for one in fields)]
    own = {_LETTERS.sub("", one.path[0].lower()) for one in fields}
    inside = {_LETTERS.sub("", path[0].lower()) for path in lists}
    return lists[0] if len(lists) == 1 and own <= inside | _AROUND_LISTS else ()


def _inner_lists(main: tuple[str, ...], fields: Sequence[Field]) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for one in fields:
        if one.path[: len(main)] != main:
            continue
        rest = one.path[len(main) :]
        for place, step in enumerate(rest):
            if step == ENTRIES:
                found[(*main, *rest[: place + 1])] = None
    return list(found)


def _noun(operation: str, main: tuple[str, ...], rows: tuple[str, ...]) -> str:
    named = [one for one in rows[len(main) :] if one != ENTRIES]
    return " ".join([operation, *named])


_Column = tuple[str, str, str, bool]
"""Name, type and path of a column, and whether its value may be missing."""


def _around(main: tuple[str, ...], rows: tuple[str, ...], fields: Sequence[Field]) -> list[_Column]:
    """Give what tells the rows of an inner list apart: a key around them, and all their places."""
    found: list[_Column] = [
        (" ".join(["of", *one.path[-1:]]), _type(one.kind), path_text(one.path), one.nullable)
        for one in _keys_around(main, rows, fields)
    ]
    ends = [n + 1 for n in range(len(main), len(rows) - 1) if rows[n] == ENTRIES]
    for end in ends:
        named = [one for one in rows[:end] if one != ENTRIES][-1:]
        found.append((" ".join(["place of", *named]), "number", f"{path_text(rows[:end])}#", False))
    return [*found, ("place", "number", "#", False)]


def _keys_around(
    main: tuple[str, ...], rows: tuple[str, ...], fields: Sequence[Field]
) -> list[Field]:
    """Give the fields by which the rows of an inner list name the row that they lie in."""
    if ENTRIES not in main:
        return []
    plain = ("id", "code", "key", "number", "name")
    only, between, _ = rows[len(main)].lower().partition("__")
    names = (*plain, *(f"{only}__{name}" for name in plain if between))
    direct = {one.path[-1].lower(): one for one in fields if one.path[:-1] == main}
    return [direct[name] for name in names if name in direct][:1]


def _columns(
    rows: tuple[str, ...],
    listed: Listed,
    taken: set[str],
    around: Sequence[_Column] | None,
) -> tuple[list[_Column], list[str]]:
    """Give the columns, those of `around` first, and fields that are left out."""
    found: list[_Column] = []
    left_out: list[str] = []
    for wanted, kind, path, nullable in around or ():
        column = identifier(wanted, taken, "c")
        taken.add(column)
        found.append((column, kind, path, nullable))
    for one in listed.fields:
        rest = one.path[len(rows) :]
        inside = one.path[: len(rows)] == rows and ENTRIES not in rest
        if not inside or one.kind in {LIST, TABLE} or len(rest) > _MOST_DEEP:
            continue
        if len(found) >= _MOST_COLUMNS or not all(map(_is_spelt, rest)):
            left_out.append(path_text(rest))
            continue
        column = identifier(" ".join(rest) or "value", taken, "c")
        taken.add(column)
        missing = listed.may_lack(one, rows)
        found.append((column, _type(one.kind), ".".join(rest) or ".", missing))
    return found, left_out


def _is_spelt(name: str) -> bool:
    """Tell whether the `columns` of a declaration can name a field."""
    try:
        return read_path(name).steps == (name,) and not _UNSAID.search(name)
    except PathError:
        return False


def _type(kind: str) -> str:
    return dict(_KINDS).get(kind, "symbol")


def _signature(one: _Relation) -> str:
    columns = [f"{name}: {kind}" for name, kind, _ in one.sent]
    columns += [f"{name}: {kind}" for name, kind, _, _ in one.columns]
    return f"{one.name}({', '.join(columns)})"


def _block(api: str, operation: Operation, one: _Relation) -> str:
    """Write the declaration of a relation and its `.input`."""
    columns = [f"    {name}: {kind}" for name, kind, _ in one.sent]
    columns += [
        f"    {'@[null = maybe] ' if nullable else ''}{name}: {kind}"
        for name, kind, _, nullable in one.columns
    ]
    told = [f'source = "{api}"', f'operation = "{_quoted(operation.name)}"']
    if one.rows:
        told.append(f'rows = "{_quoted(one.rows)}"')
    if one.sent:
        told.append(f'required = "{", ".join(name for name, _, _ in one.sent)}"')
    mapped = [f"{name} = {{{other}}}" for name, _, other in one.sent if name != other]
    mapped += [f"{name} = {path}" for name, _, path, _ in one.columns if name != path]
    if mapped:
        told.append(f'columns = "{_quoted(", ".join(mapped))}"')
    about = _COMMENT_END.sub(" ", operation.summary)[:160]
    head = f"// {operation.form}{f': {about}' if about else ''}\n"
    head += "".join(f"// It has no answers: {problem}.\n" for problem in _unasked(operation))
    head += "".join(f"// Left out: {_COMMENT_END.sub(' ', said)[:300]}.\n" for said in one.unread)
    if one.left_out:
        listed = ", ".join(
            json.dumps(name, ensure_ascii=False) for name in one.left_out[:_MOST_DEEP]
        )
        rest = len(one.left_out) - _MOST_DEEP
        more = f" and {rest:,} more" if rest > 0 else ""
        said = f"a draft has {_MOST_COLUMNS} columns, with names that a path can have"
        head += f"// Left out, for {said}: {_COMMENT_END.sub(' ', listed)[:300]}{more}\n"
    declared = ",\n".join(columns)
    return f"{head}.decl {one.name}(\n{declared}\n)\n.input {one.name}({', '.join(told)})\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ------------------------------------------------------------------------------ documents

_SECONDS: Final = 60.0
_MOST_NAMED: Final = 8
_LONGEST_VALUE: Final = 80
_FOUND_IN: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once

// Drafted by `constat catalog draft` from what the documents `{0}` say. Each fact is the word
// of a document; what no document says is unknown.
"""


def look_at_documents(
    setting: DocumentsSetting, project: Project, known: str
) -> tuple[str, SourceSchema | None]:
    """Give the state of documents, and what they hold where that is another one."""
    collection = _collection(setting, project)
    state = hashlib.sha256(repr((collection.state(), setting)).encode()).hexdigest()
    if state == known:
        return state, None
    from constat.documents import unnamed  # noqa: PLC0415  loaded when it is used

    documents = _read(collection)
    failed = [f"{one.name}: {one.failure}" for one in documents if one.failure]
    failed += unnamed(documents)
    more = [f"and {len(failed) - _MOST_NAMED:,} more that cannot be read"]
    problems = (*failed[:_MOST_NAMED], *(more if len(failed) > _MOST_NAMED else ()))
    tables = tuple(_held(setting, label, one) for label, one in _labelled(documents))
    return state, SourceSchema(setting.name, "documents", tables, problems)


def sample_documents(
    project: Project, table: TableSchema, columns: Sequence[ColumnSchema], most: int
) -> tuple[Sample, ...]:
    """Count the values of columns of a relation that documents hold."""
    relation = _relation(project, table)
    found = []
    for column in columns:
        place = relation.heads.index(column.name)
        cells = Counter(cells[place] for cells in relation.cells if cells[place])
        listed = sorted(cells.items(), key=lambda one: (-one[1], str(one[0])))
        values = tuple((shortened(value, _LONGEST_VALUE), times) for value, times in listed[:most])
        found.append(Sample(column.name, values, cut=len(listed) > most))
    return tuple(found)


def draft_documents(
    project: Project,
    tables: Sequence[TableSchema],
    columns: Sequence[str],
    taken: Iterable[str],
) -> DraftedOperations:
    """Draft declarations of what documents hold; of lines `key: value` one for each key."""
    source, used = tables[0].database, set(taken)
    locale = project.documents[source].locale
    blocks, signatures = [_FOUND_IN.format(source)], []
    for table in tables:
        relation = _relation(project, table)
        for name, told, listed in _declared(table, relation, columns, locale, used):
            signatures.append(f"{name}({', '.join(one.rpartition('] ')[2] for one in listed)})")
            said = (f"// Left out: {_COMMENT_END.sub(' ', one)}.\n" for one in _unnamed(relation))
            head = f"{''.join(said)}.decl {name}({', '.join(listed)})"
            blocks.append(f'{head}\n.input {name}(source = "{source}", {told})\n')
    problems: list[Diagnostic] = []
    text = format_text("\n".join(blocks), "<draft>", problems)
    if text is None:
        raise ConstatError(problems)
    return DraftedOperations(source, text, tuple(signatures))


def _declared(
    table: TableSchema,
    relation: Relation,
    columns: Sequence[str],
    locale: str,
    used: set[str],
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield predicates: name, what its `.input` says, and its columns."""
    from constat.documents.extraction import FIELDS, PLACES, TABLE  # noqa: PLC0415  loaded when it is used

    kinds = dict(zip(relation.heads, relation.kinds(locale), strict=True))
    lacking = {
        head
        for place, head in enumerate(relation.heads)
        if any(cells[place] is None for cells in relation.cells)
    }
    chosen = [one for one in relation.heads[relation.places :] if not columns or one in columns]
    where = ["document: symbol", "line: number"]
    if relation.rows == FIELDS:
        for key in chosen:
            name = identifier(key, used, "p")
            used.add(name)
            column = identifier(key, PLACES, "c")
            told = f'pattern = "{key}: {{{column}}}"'
            yield name, told, [*where, f"{column}: {kinds[key].value}"]
        return
    name = identifier(table.name, used, "p")
    used.add(name)
    if relation.rows != TABLE:
        listed = [f"{one}: {kinds[one].value}" for one in chosen]
        yield name, f'rows = "{relation.rows}"', ["line: number", *listed]
        return
    known, pairs, listed = set(PLACES), [], []
    for head in chosen:
        column = identifier(head, known, "c")
        known.add(column)
        pairs.append(f"{column} = {head}")
        missing = "@[null = maybe] " if head in lacking else ""
        listed.append(f"{missing}{column}: {kinds[head].value}")
    yield name, f'rows = "table", columns = "{", ".join(pairs)}"', [*where, *listed]


def _held(setting: DocumentsSetting, label: str, relation: Relation) -> TableSchema:
    columns, kinds = [], relation.kinds(setting.locale)
    for place, head in enumerate(relation.heads):
        missing = any(cells[place] is None for cells in relation.cells)
        name, kind = shortened(head, LONGEST_NAME), kinds[place].value
        columns.append(ColumnSchema(name, "text", missing, kind=kind))
    return TableSchema(
        setting.name,
        label,
        kind=OF_DOCUMENTS,
        columns=tuple(columns),
        rows=len(relation.cells),
        counted=True,
        comment=shortened(relation.about),
        problems=tuple(_unnamed(relation)),
    )


def _unnamed(relation: Relation) -> Iterator[str]:
    """Say which columns a table of documents has that no declaration can name."""
    for one, times in islice(Counter(relation.left_out).items(), _MOST_NAMED):
        why = f", which stands over {times} columns" if times > 1 else ""
        heading = json.dumps(one[:_LONGEST_VALUE], ensure_ascii=False)
        yield f"no declaration can name the heading {heading}{why}"


def _relation(project: Project, table: TableSchema) -> Relation:
    """Read again what a table of the catalog stands for; raises `ConstatError` (C0844)."""
    documents = _read(_collection(project.documents[table.database], project))
    found = dict(_labelled(documents)).get(table.name)
    if found is None or {one.name for one in table.columns} - set(found.heads):
        message = f"what the documents `{table.database}` hold has changed meanwhile"
        hint = f"`constat catalog refresh {table.database}` reads them again"
        raise ConstatError([Diagnostic("C0844", message, help=hint)])
    return found


def _labelled(documents: Sequence[Document]) -> list[tuple[str, Relation]]:
    """Name relations by words of the language, each by another one, in their order."""
    from constat.documents import relations  # noqa: PLC0415  loaded when it is used

    found: dict[str, Relation] = {}
    for one in reversed(relations(documents)):
        found[identifier(one.name, found, "t")] = one
    return sorted(found.items())


def _collection(setting: DocumentsSetting, project: Project) -> Collection:
    from constat.documents import Collection  # noqa: PLC0415  loaded when it is used

    return Collection(setting, project.folder, project.state)


def _read(collection: Collection) -> tuple[Document, ...]:
    return collection.documents(time.monotonic() + _SECONDS)
