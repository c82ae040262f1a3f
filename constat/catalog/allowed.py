"""What a query may contain: everything else is refused, also what does not exist yet.

Node names are those of sqlglot's syntax tree. Functions read their arguments and nothing else; not
among them are functions that read files, load code, wait, count calls or draw random numbers.
"""

from __future__ import annotations

from typing import Final


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

MAX_TEXT: Final = 64 * 1024
MAX_TOKENS: Final = 10_000
MAX_DEPTH: Final = 60
