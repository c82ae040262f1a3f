"""What the commands print about sources, caches and new projects."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, TypedDict

from constat.cli.schemas.forms import Count, Ordinal, Result
from constat.cli.schemas.parts import Diagnostic


class CacheClearResult(TypedDict):
    """What was removed."""

    cleared: Annotated[Count, "How many answers were removed."]
    file_removed: Annotated[bool, "Whether the file was damaged and was removed as a whole."]


class CachedAnswer(TypedDict):
    """A cached answer."""

    predicate: Annotated[str, "The predicate that the answer is about."]
    bound: Annotated[
        list[str], "The columns that the question had bound; empty where all rows were asked for."
    ]
    keys: Annotated[Count, "How many keys the answer speaks for."]
    rows: Annotated[Count, "How many rows it has."]
    source: Annotated[str, "The database or tier of the project that it was asked of."]
    fetched_at: Annotated[str, "When the oldest part of it was fetched, UTC."]
    age_seconds: Annotated[Count, "Its age in whole seconds."]
    expires_in_seconds: Annotated[Count, "How long it may be served still; 0 where it has expired."]
    served: Annotated[Count, "How often a program has loaded it."]
    bytes: Annotated[Count, "How much room it takes."]
    current: Annotated[
        bool,
        ("False where the declaration or the configuration has changed, so that it is not served."),
    ]


class CacheShowResult(TypedDict):
    """The answers of sources that are kept, in the order of predicates and age."""

    answers: Annotated[list[CachedAnswer], "One object for each kept answer."]


class CachedPredicate(TypedDict):
    """A cached predicate."""

    predicate: Annotated[str, "The predicate."]
    entries: Annotated[Count, "How many answers are kept."]
    rows: Annotated[Count, "How many rows they have."]
    bytes: Annotated[Count, "How much room they take."]
    hits: Annotated[Count, "How many keys were served."]
    misses: Annotated[Count, "How many keys had to be asked for."]


class CacheStatsResult(TypedDict):
    """How much is kept, and how often it served."""

    entries: Annotated[Count, "How many answers are kept."]
    bytes: Annotated[Count, "How much room they take."]
    hits: Annotated[Count, "How many keys were served."]
    misses: Annotated[
        Count, "How many keys had to be asked for, of predicates whose answers are kept."
    ]
    most_bytes: Annotated[
        Count, "How much room there is; beyond it what was not used for the longest time leaves."
    ]
    predicates: Annotated[list[CachedPredicate], "The same figures for each predicate."]


class CatalogDraftResult(TypedDict):
    """Declarations for tables."""

    database: Annotated[str, "The database that the predicates read."]
    predicates: Annotated[list[str], "The predicates with their columns and kinds."]
    findings: Annotated[list[str], "What the tables declare and is not so."]
    text: Annotated[str, "The rule file."]
    output: Annotated[str | None, "The file that was written; null where none was asked for."]
    hints: Annotated[list[str], "What may be said of files, or mended in rows; without values."]
    problems: Annotated[
        list[Diagnostic], "Tables of a database that were left out, with the reasons."
    ]


class CatalogDatabase(TypedDict):
    """A catalog database."""

    name: Annotated[str, "Its name in constat.yaml."]
    kind: Annotated[
        Literal["sql", "files", "openapi", "graphql"],
        "Whether it is a database, a folder of files, or an API.",
    ]
    tables: Annotated[Count, "How many tables are known."]
    seen_at: Annotated[str, "When they were read, UTC; empty where that never succeeded."]
    failure: Annotated[str, "Why it does not answer now; empty where it does."]
    problems: Annotated[list[str], "What is left out."]


class CatalogTable(TypedDict):
    """A catalog table."""

    database: Annotated[str, "The database."]
    table: Annotated[str, "The table's name within it."]
    kind: Annotated[str, "`table`, `view`, `file` or `operation`."]
    rows: Annotated[Count | None, "How many rows it has, about; null where that is not known."]
    columns: Annotated[Count, "How many columns it has."]
    comment: Annotated[str, "The beginning of its comment."]


class CatalogListResult(TypedDict):
    """Databases of the project and the tables that are known of them."""

    databases: Annotated[list[CatalogDatabase], "The databases."]
    tables: Annotated[list[CatalogTable], "The tables, in the order of databases and names."]


class RefreshedDatabase(TypedDict):
    """A refreshed database."""

    name: Annotated[str, "Its name in constat.yaml."]
    tables: Annotated[Count, "How many tables are known."]
    changed: Annotated[bool, "Whether its tables were others before."]
    failure: Annotated[str, "Why it does not answer; empty where it does."]
    problems: Annotated[list[str], "What is left out."]


class CatalogRefreshResult(TypedDict):
    """What a look at the sources found."""

    databases: Annotated[list[RefreshedDatabase], "The databases."]


class SampledValue(TypedDict):
    """A sampled value."""

    value: Annotated[str, "The value as text, cut where it is long."]
    count: Annotated[Ordinal, "In how many of the rows looked at it stands."]


class SampledColumn(TypedDict):
    """A sampled column."""

    column: Annotated[str, "The column."]
    values: Annotated[list[SampledValue], "The values, the most frequent first."]
    cut: Annotated[bool, "Whether there are more."]


class CatalogSampleResult(TypedDict):
    """Values of columns, the most frequent among the first rows."""

    columns: Annotated[list[SampledColumn], "The columns."]


class SearchHit(TypedDict):
    """A search hit."""

    kind: Annotated[Literal["table", "operation", "column", "predicate", "rule"], "What it is."]
    name: Annotated[str, "Its name; a predicate with its columns, a rule's id."]
    place: Annotated[str, "Its database, or the file of a rule or predicate."]
    about: Annotated[str, "A comment, a description or a sentence."]


class CatalogSearchResult(TypedDict):
    """What fits some words, the best first."""

    hits: Annotated[list[SearchHit], "The hits."]
    meant: Annotated[list[str], "Where nothing fits: words of the catalog that were perhaps meant."]


class CatalogColumn(TypedDict):
    """A catalog column."""

    name: Annotated[str, "Its name as the source spells it."]
    declared: Annotated[str, "Its type in the source's words; empty where it has none."]
    nullable: Annotated[bool, "Whether NULL may stand in it."]
    computed: Annotated[bool, "Whether the source computes it."]
    comment: Annotated[str, "Its comment."]


class Relationship(TypedDict):
    """A relationship."""

    table: Annotated[str, "The table that points."]
    columns: Annotated[list[str], "Its columns."]
    target: Annotated[str, "The table that is pointed to."]
    target_columns: Annotated[list[str], "Its columns."]
    declared: Annotated[bool, "Whether the source declares it; else it is inferred."]
    evidence: Annotated[str, "What it was inferred from; empty where it is declared."]


class CatalogShowResult(TypedDict):
    """A table of a source."""

    database: Annotated[str, "The database."]
    table: Annotated[str, "The table's name within it."]
    kind: Annotated[str, "`table`, `view`, `file` or `operation`."]
    rows: Annotated[Count | None, "How many rows it has; null where that is not known."]
    counted: Annotated[bool, "Whether the rows were counted; else their number is an estimate."]
    comment: Annotated[str, "Its comment."]
    columns: Annotated[list[CatalogColumn], "The columns, in their order."]
    key: Annotated[list[str], "The columns of the primary key."]
    unique: Annotated[list[list[str]], "What else is declared to be a key."]
    relationships: Annotated[list[Relationship], "What the table points to, and what points to it."]
    problems: Annotated[list[str], "What could not be found out."]
    checked: Annotated[bool, "Whether rows were read, with --check."]
    findings: Annotated[
        list[Diagnostic], "What is declared and not so, as diagnostics; empty without --check."
    ]
    remarks: Annotated[list[str], "What a draft says of its columns."]


class DoctorFinding(TypedDict):
    """A doctor finding."""

    check: Annotated[str, "What was looked at: `configuration`, `rules`, `database sales`, ..."]
    state: Annotated[Literal["ok", "note", "warning", "error"], "How it is."]
    message: Annotated[str, "What was found."]
    help: Annotated[
        str, "An edit or a command that mends it; empty where there is nothing to mend."
    ]
    code: Annotated[str, "The code to explain it; empty where there is none."]


class DoctorResult(TypedDict):
    """What was looked at, and what was found."""

    findings: Annotated[list[DoctorFinding], "In the order in which they were looked at."]
    errors: Annotated[Count, "How many errors there are."]
    warnings: Annotated[Count, "How many warnings there are."]


class InitResult(TypedDict):
    """A new project."""

    folder: Annotated[str, "The project's folder."]
    files: Annotated[list[str], "The files that were written, relative to it."]
    database: Annotated[str, "The name of the database or API in constat.yaml."]
    tables: Annotated[list[str], "The tables or operations that have predicates."]
    left_out: Annotated[Count, "How many of them were left out."]
    predicates: Annotated[list[str], "The predicates with their columns."]
    goal: Annotated[str, "The first goal; empty for an API."]
    verdict: Annotated[str, "What became of it when it was tried; empty for an API."]
    variables: Annotated[
        list[str], "Environment variables that have to be set: what was secret in the address."
    ]
    hints: Annotated[list[str], "What looks like a key, and the rows that keep it from being one."]


class CheckedKey(TypedDict):
    """A key that is broken, and what proves it."""

    text: Annotated[str, "What is wrong, in words."]
    certificate: Annotated[str | None, "The file of its certificate, if it has one."]
    why_none: Annotated[str, "Why it has none; empty where it has one."]


class CheckedData(TypedDict):
    """A constraint or a key, and what breaks it."""

    name: Annotated[str, "The constraint, or `key of` and a predicate."]
    kind: Annotated[Literal["constraint", "key"], "Which of both it is."]
    text: Annotated[str, "What it demands, in words; empty where nobody said it."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "Whether it holds for all rows.",
    ]
    broken: Annotated[Count, "How many rows, or keys, break it."]
    possible: Annotated[Count, "How many more rows, or shapes of rows, may break it."]
    columns: Annotated[list[str], "The columns of the rows."]
    rows: Annotated[list[list[str]], "The first rows that break it."]
    possible_rows: Annotated[list[list[str]], "The first rows that may break it."]
    goals: Annotated[list[str], "For each row of a constraint the goal that is proved."]
    certificates: Annotated[list[str | None], "The file of each goal, with `--certificates`."]
    reasons: Annotated[list[str], "Why more may break it."]
    keys: Annotated[list[CheckedKey], "Of a key that is broken, with `--certificates`."]


class NearKeyFound(TypedDict):
    """A column that nearly is a key, of a predicate of which no key is declared."""

    predicate: Annotated[str, "The predicate."]
    column: Annotated[str, "The column."]
    text: Annotated[str, "How many rows keep it from being a key."]
    examples: Annotated[str, "Values that several rows share; empty where rows have none."]
    help: Annotated[str, "The edit that has these rows checked."]


class CheckDataResult(TypedDict):
    """What breaks the constraints and keys of a project."""

    exit_code: Annotated[
        Literal[0, 3, 4, 5, 6],
        "0 all hold, 3 under assumptions, 4 some are not known, 5 some are broken, 6 broken under "
        "assumptions.",
    ]
    checks: Annotated[list[CheckedData], "One object for each constraint and key."]
    nearly_keys: Annotated[list[NearKeyFound], "What looks like a key and is not declared."]


class ListedDocument(TypedDict):
    """A document of a project."""

    source: Annotated[str, "Its name in `documents:`; empty where one document is shown."]
    document: Annotated[str, "Its path in the project."]
    kind: Annotated[str, "Its format: text, markdown, html, pdf, docx or mail."]
    bytes: Annotated[Count, "Its size."]
    hash: Annotated[str, "The hash of its bytes; empty where they cannot be read."]
    title: Annotated[str, "Its title, or its first words."]
    sections: Annotated[Count, "How many sections it has."]
    tables: Annotated[Count, "How many tables it has."]
    reader: Annotated[str, "What made a text of it; empty where the text is the file itself."]
    failure: Annotated[str, "Why it cannot be read; empty where it can."]


class DocumentsListResult(TypedDict):
    """The documents of a project."""

    documents: Annotated[list[ListedDocument], "One object for each document."]


class DocumentPart(TypedDict):
    """A section, a table or a field of a document."""

    kind: Annotated[Literal["section", "table", "field"], "What it is."]
    line: Annotated[Count, "The line that it begins in."]
    words: Annotated[list[str], "Its title; its headings; its key and its value."]


class DocumentsShowResult(TypedDict):
    """A document."""

    document: ListedDocument
    text: Annotated[str, "The text that is read of it, or of a section."]
    parts: Annotated[list[DocumentPart], "What was found in it."]


class FoundPassage(TypedDict):
    """A paragraph that holds some of the words."""

    source: Annotated[str, "The name in `documents:`."]
    document: Annotated[str, "The path of the document."]
    section: Annotated[str, "The innermost section; may be empty."]
    line: Annotated[Count, "The line that it begins in."]
    text: Annotated[str, "The paragraph; of a long one the beginning."]
    score: Annotated[float, "How well it fits; the first fits best."]


class DocumentsSearchResult(TypedDict):
    """The paragraphs that hold some words, the best first."""

    passages: Annotated[list[FoundPassage], "One object for each paragraph."]


RESULTS: Final = MappingProxyType(
    {
        "cache-clear": Result(CacheClearResult),
        "cache-show": Result(CacheShowResult),
        "cache-stats": Result(CacheStatsResult),
        "catalog-draft": Result(CatalogDraftResult),
        "catalog-list": Result(CatalogListResult),
        "catalog-refresh": Result(CatalogRefreshResult),
        "catalog-sample": Result(CatalogSampleResult),
        "catalog-search": Result(CatalogSearchResult),
        "catalog-show": Result(CatalogShowResult),
        "check-data": Result(CheckDataResult),
        "doctor": Result(DoctorResult),
        "documents-list": Result(DocumentsListResult),
        "documents-search": Result(DocumentsSearchResult),
        "documents-show": Result(DocumentsShowResult),
        "init": Result(InitResult),
    }
)
