"""What a query may contain: everything else is refused, also what does not exist yet.

Node names are those of sqlglot's syntax tree. Functions read their arguments and nothing else; not
among them are functions that read files, load code, wait, count calls or draw random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
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
MAX_WIDTH: Final = 1_000


def allowed_words(dialect: str) -> Words:
    """Give what every dialect has and what this one has besides."""
    nothing: frozenset[str] = frozenset()
    return Words(
        NODES | NODES_OF.get(dialect, nothing),
        FUNCTION_NODES | FUNCTION_NODES_OF.get(dialect, nothing),
        FUNCTION_NAMES | FUNCTION_NAMES_OF.get(dialect, nothing),
    )
