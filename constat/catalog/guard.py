"""Let through one SELECT over tables that exist, and nothing else."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import QueryMistakeError
from constat.catalog.keyed import origins
from constat.catalog.plain_query import recognised
from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

# Node names are those of sqlglot's syntax tree. Functions read their arguments and nothing else;
# not among them are functions that read files, load code, wait, count calls or draw random
# numbers.


@frozen
class Words:
    """What a query of one dialect may contain."""

    nodes: frozenset[str]
    function_nodes: frozenset[str]
    function_names: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NODES: Final = _words("""
    Add Alias Between BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift Boolean CTE
    Column DPipe DataType DataTypeParam Distinct Div EQ Escape Except Filter From GT GTE Glob Group
    Having Identifier In Intersect Is JSONPath JSONPathKey JSONPathRoot JSONPathSubscript Join LT
    LTE Like Limit Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Order Ordered
    Paren Select Star Sub Subquery Table TableAlias Tuple Union Values Var Where Window WindowSpec
    With
""")

# The nodes that sqlglot has for functions and operators that it knows by meaning.
FUNCTION_NODES: Final = _words("""
    Abs And Avg Case Cast Ceil Coalesce Collate Concat Count CumeDist CurrentDate CurrentTimestamp
    Date DenseRank Exists Exp FirstValue Floor Format Greatest GroupConcat Hex If JSONExtract
    JSONExtractScalar Lag LastValue Lead Least Length Ln Log Lower Max Min NthValue Ntile Nullif Or
    PercentRank Pow Rank Replace Round RowNumber Sign Sqrt StrPosition Substring Sum TimeToStr Trim
    TsOrDsToTimestamp TsOrDsToDate Typeof Unicode Upper
""")

# By name: for functions that sqlglot does not know, and for what the database itself reports.
FUNCTION_NAMES: Final = _words("""
    abs avg ceil ceiling char coalesce concat count cume_dist current_date current_time
    current_timestamp date datetime dense_rank exp first_value floor format glob group_concat hex
    ifnull iif instr julianday json_extract json_array_length json_type -> ->> lag last_value lead
    length like ln log log10 log2 lower ltrim max min mod nth_value ntile nullif percent_rank
    pow power printf quote rank replace round row_number rtrim sign sqrt strftime string_agg substr
    substring sum time total trim trunc typeof unicode unixepoch upper
""")

# What a dialect has besides. Only what reads its arguments and gives one value: no function of
# files, settings, sequences, chance or the machine, and none that gives tables or lists.
NODES_OF: Final = MappingProxyType(
    {
        "duckdb": _words("""
            All Any AtTimeZone BitwiseXor Bracket Cube GroupingSets ILike IgnoreNulls IntDiv
            Interval IntervalSpan Lateral Qualify RawString RespectNulls Rollup SimilarTo
        """),
        "mysql": _words("""
            All Any BitwiseXor IntDiv Interval Lateral
        """),
        "postgres": _words("""
            All Any Array AtTimeZone BitwiseXor ByteString Cube Fetch GroupingSets ILike IntDiv
            Interval IntervalSpan Lateral LimitOptions RawString Rollup SimilarTo WithinGroup
        """),
    }
)

FUNCTION_NODES_OF: Final = MappingProxyType(
    {
        "duckdb": _words("""
            Acos AnyValue ArgMax ArgMin Ascii Asin Atan Atan2 BitwiseCount Cbrt Chr ConcatWs
            Contains Corr Cos CountIf CovarPop CovarSamp CurrentTime DateAdd DateDiff DateFromParts
            DateSub DateTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Degrees
            EndsWith Extract Factorial First Grouping Hour Initcap IsInf IsNan JSONBExtract Last
            LastDay Left Levenshtein LogicalAnd LogicalOr MD5 Median Minute Mode Month Monthname
            Pad PercentileCont PercentileDisc Pi Quantile Quarter Radians RegexpExtract
            RegexpFullMatch RegexpLike RegexpReplace Reverse Right SHA2 Second Sin SplitPart
            StartsWith Stddev StddevPop StddevSamp StrToDate StrToTime Tan TimeToUnix TimestampAdd
            TimestampDiff TimestampSub TimestampTrunc Translate Trunc TryCast TsOrDsDiff UnixMicros
            UnixMillis UnixSeconds UnixToTime Variance VariancePop Week WeekOfYear Xor Year
            YearOfWeek
        """),
        "mysql": _words("""
            Acos AnyValue Ascii Asin Atan Atan2 BitwiseAndAgg BitwiseCount BitwiseOrAgg
            BitwiseXorAgg Chr ConcatWs Cos CurrentTime DateAdd DateDiff DateSub Day DayOfMonth
            DayOfWeek DayOfYear Dayname Degrees Extract Hour IsNullValue LastDay Left LogicalAnd
            LogicalOr Minute Month Monthname Pad Pi Quarter Radians RegexpLike Reverse Right SHA
            SHA2 MD5 Second Sin Stddev StddevPop StddevSamp StrToDate SubstringIndex Tan
            TimestampAdd TimestampDiff Trunc TsOrDsAdd TsOrDsDiff UnixToTime Variance VariancePop
            Week WeekOfYear Year
        """),
        "postgres": _words("""
            Acos AnyValue Array ArrayAgg ArrayContainsAll Ascii Asin Atan Atan2 Cbrt Chr ConcatWs
            Corr Cos CovarPop CovarSamp CurrentTime CurrentTimestampLTZ DateAdd DateDiff
            DateFromParts DateSub Degrees Exp Extract Grouping Initcap IntDiv JSONBContains
            JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBExtract JSONBExtractScalar LastDay
            Left Localtime Localtimestamp LogicalAnd LogicalOr MD5 MakeInterval Mode Overlay Pad
            PercentileCont PercentileDisc Pi Radians RegexpILike RegexpLike RegexpReplace
            Reverse Right SHA2 Sin SplitPart StartsWith Stddev StddevPop StddevSamp StrToDate
            StrToTime StrToUnix Tan TimestampTrunc TimeToUnix ToNumber Translate Trunc UnixToTime
            Variance VariancePop WidthBucket
        """),
    }
)

FUNCTION_NAMES_OF: Final = MappingProxyType(
    {
        "duckdb": _words("""
            age any_value arg_max arg_min ascii bit_count bool_and bool_or cbrt chr concat_ws
            contains corr count_if date_add date_diff date_part date_sub date_trunc day dayname
            dayofmonth dayofweek dayofyear decade degrees ends_with epoch epoch_ms epoch_us era even
            factorial favg fdiv first fmod fsum gcd hour isfinite isinf isnan isodow isoyear
            json_extract_string json_valid last last_day lcm left levenshtein make_date
            make_timestamp max_by md5 median microsecond millisecond min_by minute mode month
            monthname nfc_normalize now ord pi position prefix product quantile_cont quantile_disc
            quarter radians regexp_extract regexp_full_match regexp_matches regexp_replace
            reverse right round_even second sha256 split_part starts_with stddev stddev_pop
            stddev_samp strip_accents strlen strptime suffix timezone to_days to_hours to_minutes
            to_months to_seconds to_timestamp to_weeks to_years today translate try_strptime
            var_pop var_samp variance week weekday weekofyear year yearweek
        """),
        "mysql": _words("""
            adddate addtime ascii bin bit_length char_length character_length concat_ws conv cot
            crc32 curdate curtime date_add date_format date_sub datediff day dayname dayofmonth
            dayofweek dayofyear degrees elt extract field find_in_set from_days from_unixtime hour
            insert isnull json_extract json_unquote json_value json_length last_day lcase left
            locate lpad makedate maketime md5 microsecond mid minute month monthname now oct
            octet_length ord period_add period_diff pi position quarter radians regexp_replace
            regexp_substr reverse right rpad sec_to_time second sha1 sha2 stddev stddev_pop
            stddev_samp str_to_date strcmp subdate substring_index time_format time_to_sec timediff
            timestamp timestampadd timestampdiff to_days to_seconds truncate ucase unhex
            unix_timestamp utc_date utc_timestamp var_pop var_samp variance week weekday weekofyear
            year yearweek
        """),
        "postgres": _words("""
            age array_length array_position array_to_string ascii bit_length bool_and bool_or btrim
            cardinality cbrt char_length character_length chr concat_ws corr date_bin date_part
            date_trunc degrees div every format gcd initcap isfinite json_array_length
            json_extract_path_text json_typeof jsonb_array_length jsonb_extract_path
            jsonb_extract_path_text jsonb_typeof justify_days justify_hours justify_interval lcm
            left localtimestamp lpad make_date make_interval make_time make_timestamp
            make_timestamptz md5 mode now num_nonnulls num_nulls octet_length overlay
            percentile_cont percentile_disc pi position radians regexp_count regexp_instr
            regexp_like regexp_match regexp_replace regexp_substr regr_slope reverse right rpad
            scale sha256 split_part starts_with stddev stddev_pop stddev_samp strpos timezone
            to_char to_date to_hex to_number to_timestamp translate trim_scale unistr var_pop
            var_samp variance width_bucket
        """),
    }
)

MAX_TEXT: Final = 64 * 1024
MAX_TOKENS: Final = 10_000
MAX_DEPTH: Final = 60
MAX_REPLACED: Final = 1_000_000
_COLUMN_LETTERS: Final = 100
MAX_WIDTH: Final = 1_000


def allowed_words(dialect: str) -> Words:
    """Give what every dialect has and what this one has besides."""
    nothing: frozenset[str] = frozenset()
    return Words(
        NODES | NODES_OF.get(dialect, nothing),
        FUNCTION_NODES | FUNCTION_NODES_OF.get(dialect, nothing),
        FUNCTION_NAMES | FUNCTION_NAMES_OF.get(dialect, nothing),
    )


_OPENING: Final = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE", "CASE"})
_CLOSING: Final = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE", "END"})
# A run of these makes a recursive parser go one level deeper each.
_PREFIX: Final = frozenset({"NOT", "DASH", "PLUS", "TILDE", "INTERVAL", "DISTINCT", "EXISTS"})

_RUNNING_COMMENT: Final = re.compile(r"/\*(?:M?!|\+)", re.IGNORECASE)
_SHORT_COMMENT: Final = re.compile(r"--(?![ \t\r\n]|\Z)")

_WIDE: Final = re.compile(r"[0-9]{4}|\*")
_SYSTEM_SCHEMAS: Final = frozenset(
    {"information_schema", "pg_catalog", "pg_toast", "sys", "mysql", "performance_schema"}
    | {"system", "temp"}
)


@frozen
class Output:
    """Where an output column comes from: one of these tables has the column as it is."""

    tables: tuple[str, ...]
    column: str


@frozen
class Guarded:
    """A query that may run. `outputs` has `None` for what is no plain column of a table.

    `outputs` itself is `None` where a star hides the columns; `joined` with several tables.
    """

    text: str
    dialect: str
    tables: frozenset[str]
    outputs: tuple[Output | None, ...] | None
    joined: bool
    origins: tuple[str, ...] = ()
    """What `base_columns.origins` says of the outputs."""
    unread: frozenset[int] = frozenset()
    """The outputs that nobody reads: NULL is selected in their place."""


def guard(query: str, dialect: str) -> Guarded:
    """Check a query. Raises `QueryMistakeError` with the reason, which quotes no value."""
    _check_text(query)
    plain = recognised(query)
    if plain is not None:
        outputs = tuple(Output((plain.table,), one) for one in plain.columns)
        reasons = ("",) * len(outputs)
        return Guarded(plain.text, dialect, frozenset({plain.table}), outputs, False, reasons)  # noqa: FBT003  one table
    return parsed(query, dialect)


def parsed(query: str, dialect: str) -> Guarded:
    """Check a query with a parser, however plain it is."""
    with _quiet_parser():
        tokens = _tokens(query, dialect)
        if dialect == "mysql":
            _check_comments(query, tokens)
        text = _single_statement(query, tokens)
        root = _parse(text, dialect)
    tables: set[str] = set()
    words = allowed_words(dialect)
    for node in root.walk():
        _check_node(node, dialect, words)
        name = _table_name(node)
        if name is not None:
            tables.add(name)
    joined = len(_sources(root)) != 1
    return Guarded(text, dialect, frozenset(tables), _outputs(root), joined, origins(root))


def _check_text(query: str) -> None:
    if len(query) > MAX_TEXT:
        raise QueryMistakeError(f"the query is longer than {MAX_TEXT} characters", "C0516")
    if "\0" in query or (not query.isprintable() and any(_is_control(one) for one in query)):
        raise QueryMistakeError("the query holds a control character", "C0516")
    try:
        query.encode()
    except UnicodeEncodeError:
        raise QueryMistakeError("the query holds half a surrogate pair", "C0516") from None


def _check_comments(query: str, tokens: list[Any]) -> None:
    """Refuse what MySQL runs and the parser takes for a comment, and the other way round.

    Up to the first such place both read the same words; so what stands within the backticks of a
    name there is no comment to either.
    """
    rest = list(query)
    for token in tokens:
        if query[token.start] == "`":
            rest[token.start : token.end + 1] = "`" * (token.end + 1 - token.start)
    shown = "".join(rest)
    if _RUNNING_COMMENT.search(shown):
        raise QueryMistakeError("a comment that the server would run or obey", "C0516")
    if _SHORT_COMMENT.search(shown):
        raise QueryMistakeError("`--` begins a comment only before a blank", "C0516")


def _is_control(letter: str) -> bool:
    return letter < " " and letter not in "\t\r\n"


@contextmanager
def _quiet_parser() -> Iterator[None]:
    """Keep the parser from writing parts of a query to the log."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _tokens(query: str, dialect: str) -> list[Any]:
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot.errors import SqlglotError  # noqa: PLC0415  heavy library, loaded on first use

    try:
        tokens: list[Any] = list(sqlglot.tokenize(query, read=dialect))
    except SqlglotError:
        raise QueryMistakeError("the query is not SQL: a quote or comment is not closed") from None
    if len(tokens) > MAX_TOKENS:
        raise QueryMistakeError(f"the query has more than {MAX_TOKENS} words", "C0516")
    depth = run = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind in _OPENING) - (kind in _CLOSING)
        run = run + 1 if kind in _PREFIX else 0
        if depth + run > MAX_DEPTH:
            raise QueryMistakeError(f"the query is nested more than {MAX_DEPTH} deep", "C0516")
    return tokens


def _single_statement(query: str, tokens: list[Any]) -> str:
    """Cut closing semicolons off, so that the text can stand between parentheses."""
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    if not tokens:
        raise QueryMistakeError("the query is empty")
    if any(token.token_type.name == "SEMICOLON" for token in tokens):
        raise QueryMistakeError("the query has more than one statement", "C0516")
    return query[: tokens[-1].end + 1]


def _parse(text: str, dialect: str) -> exp.Query:
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot.errors import ParseError, SqlglotError  # noqa: PLC0415  heavy library, loaded on first use

    try:
        statements = sqlglot.parse(text, read=dialect)
    except ParseError as problem:
        place = problem.errors[0] if problem.errors else {}
        where = f" in line {place.get('line')}, column {place.get('col')}" if place else ""
        raise QueryMistakeError(f"the query is not SQL{where}") from None
    except (SqlglotError, RecursionError, ValueError):
        raise QueryMistakeError("the query is not SQL") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryMistakeError("the query is not a SELECT", "C0516")
    return statements[0]


def _check_node(node: exp.Expr, dialect: str, words: Words) -> None:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    name = type(node).__name__
    if isinstance(node, exp.Func):
        _check_function(node, dialect, words)
    elif name not in words.nodes:
        raise QueryMistakeError(f"`{name}` may not stand in a query", "C0516")
    elif isinstance(node, exp.Identifier) and not node.args.get("quoted") and "$" in node.name:
        # sqlglot takes `$name` for a column, SQLite for a parameter.
        raise QueryMistakeError("a parameter may not stand in a query", "C0516")
    elif isinstance(node, exp.Column) and _is_session_word(node, dialect):
        raise QueryMistakeError(_refused_function(node.name), "C0516")
    elif isinstance(node, exp.Table):
        _check_table(node, dialect)
    elif isinstance(node, exp.Select) and (node.args.get("into") or node.args.get("locks")):
        raise QueryMistakeError("a query may not write or lock", "C0516")


def _check_function(function: exp.Func, dialect: str, words: Words) -> None:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(function, exp.Anonymous):
        name = str(function.this)
        known = name.lower() in words.function_names
    else:
        name = type(function).__name__
        known = name in words.function_nodes
    if not known:
        raise QueryMistakeError(_refused_function(name), "C0516")
    if isinstance(function, exp.Pad):
        _check_padding(function)
    elif isinstance(function, exp.Replace) and dialect == "mysql":
        _check_replacing(function)
    elif isinstance(function, exp.Format) or name.lower() in {"format", "printf"}:
        _check_format(function)


def _is_session_word(column: exp.Column, dialect: str) -> bool:
    """Tell whether what looks like a column is PostgreSQL's word for the account."""
    if dialect != "postgres" or column.table or column.this.args.get("quoted"):
        return False
    return column.name.lower() in {"user", "current_role", "system_user"}


def _check_padding(pad: exp.Pad) -> None:
    """A database fills up to the length it is told, and may not be told a billion."""
    width = str(pad.expression.name) if pad.expression.is_int else ""
    if not width.isdigit() or len(width) >= len(str(MAX_WIDTH)):
        reason = f"`lpad` and `rpad` take a length that is written out, below {MAX_WIDTH}"
        raise QueryMistakeError(reason, "C0516")


def _check_replacing(function: exp.Replace) -> None:
    """MariaDB and MySQL cannot be stopped within `replace`, whose time grows with the square.

    What is stored, or made by an inner query, is taken for a text of a hundred letters.
    """
    if _letters(function) > MAX_REPLACED:
        reason = f"`replace` within `replace` may make more than {MAX_REPLACED:,} letters of a text"
        raise QueryMistakeError(reason, "C0516")


def _letters(node: exp.Expr) -> int:
    """Bound the letters of a text: each place of a `replace` may become all that is put there."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(node, exp.Literal):
        return len(node.name)
    if isinstance(node, exp.Column | exp.Query):
        return _COLUMN_LETTERS
    if isinstance(node, exp.Replace):
        put = node.args.get("replacement")
        return _letters(node.this) * max(1, _letters(put) if put is not None else 0)
    return sum(map(_letters, node.iter_expressions()))


def _check_format(function: exp.Func) -> None:
    """The same width can stand in a format."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    written = next(function.iter_expressions(), None)
    if not isinstance(written, exp.Literal) or _WIDE.search(written.name):
        reason = (
            f"`printf` and `format` take a format that is written out, widths below {MAX_WIDTH}"
        )
        raise QueryMistakeError(reason, "C0516")


def _refused_function(name: str) -> str:
    shown = name if name.isidentifier() and len(name) <= 40 else "..."  # noqa: PLR2004  a word
    return f"the function `{shown}` may not be used in a query"


def _check_table(table: exp.Table, dialect: str) -> None:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if not isinstance(table.this, exp.Identifier):
        raise QueryMistakeError("a query reads tables, not functions that give tables", "C0516")
    # SQLite's other schemas are other files. Elsewhere they are the source's own, but for those
    # that tell about it.
    schema = table.db.lower()
    foreign = schema not in {"", "main"} if dialect == "sqlite" else schema in _SYSTEM_SCHEMAS
    if table.args.get("catalog") or foreign:
        raise QueryMistakeError("a query reads the tables of its own source only", "C0516")


def _common_names(root: exp.Query) -> frozenset[str]:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return frozenset(common.alias.lower() for common in root.find_all(exp.CTE))


def _table_name(node: exp.Expr) -> str | None:
    """Give the name in lower case of a table that is no common table expression."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if not isinstance(node, exp.Table):
        return None
    name, schema = node.name.lower(), node.db.lower()
    if schema not in {"", "main"}:
        return f"{schema}.{name}"
    return name if schema or not _is_common(node, name) else None


def _is_common(table: exp.Table, name: str) -> bool:
    """Tell whether a name is that of a common table expression where it stands.

    One inside the expression of that name is the table, unless the expression is recursive.
    """
    below: exp.Expr = table
    node = table.parent
    while node is not None:
        listed = node.args.get("with_")
        if listed is not None:
            for common in listed.expressions:
                inside = below is listed and _stands_in(table, common)
                if common.alias.lower() == name and (not inside or listed.args.get("recursive")):
                    return True
        below, node = node, node.parent
    return False


def _stands_in(node: exp.Expr, outer: exp.Expr) -> bool:
    found: exp.Expr | None = node
    while found is not None and found is not outer:
        found = found.parent
    return found is outer


def _sources(root: exp.Query) -> list[exp.Expr]:
    """Give what the outermost SELECT reads from; nothing for a union."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    first = root.args.get("from_")
    if not isinstance(root, exp.Select) or first is None:
        return []
    return [first.this, *(join.this for join in root.args.get("joins") or ())]


def _outputs(root: exp.Query) -> tuple[Output | None, ...] | None:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    # A union has no single column behind an output, and SQLite leaves its affinity open.
    if not isinstance(root, exp.Select) or root.is_star:
        return None
    own_names = _common_names(root)
    sources = _sources(root)
    tables = {
        one.alias_or_name.lower(): one.name.lower()
        for one in sources
        if isinstance(one, exp.Table) and one.name.lower() not in own_names
    }
    complete = len(tables) == len(sources)
    return tuple(_output(column.unalias(), tables, complete) for column in root.selects)


def _output(column: exp.Expr, tables: dict[str, str], complete: bool) -> Output | None:  # noqa: FBT001  a fact, no switch
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if not isinstance(column, exp.Column) or column.args.get("db"):
        return None
    if column.table:
        named = tables.get(column.table.lower())
        return Output((named,), column.name.lower()) if named else None
    # Without a qualifier any source could have the column: all of them must be tables.
    return Output(tuple(tables.values()), column.name.lower()) if complete else None
