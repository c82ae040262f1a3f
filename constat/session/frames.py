"""Answers as a pandas data frame with exact types.

In: columns, rows and what is known of each. Out: a frame with one column for each variable, then
`verdict`, and `confidence` where it was asked for. Invariant: no value changes: integers stay
integers, decimals `Decimal` objects, times keep microseconds and UTC, and nothing is guessed from
what the values look like.
"""

from __future__ import annotations

from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Kind, NullCell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    import pandas as pd

    from constat.logic import Row, Value

_DTYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "Int64",
        Kind.UNSIGNED: "UInt64",
        Kind.FLOAT: "Float64",
        Kind.SYMBOL: "string",
        Kind.STRUCTURE: "string",
        Kind.BOOL: "boolean",
        Kind.TIMESTAMP: "datetime64[us, UTC]",
        Kind.DATE: "object",
        Kind.DECIMAL: "object",
    }
)


def data_frame(
    kinds: Mapping[str, Kind],
    rows: Sequence[Row],
    verdicts: Sequence[str],
    confidences: Sequence[Decimal | None] | None,
) -> pd.DataFrame:
    """Make the frame; `kinds` names the columns, `confidences` is `None` where nobody asked."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    columns: dict[str, pd.Series] = {}
    for place, (name, kind) in enumerate(kinds.items()):
        columns[name] = _series([row[place] for row in rows], kind)
    taken = set(columns)
    columns[free_name("verdict", taken)] = pd.Series(list(verdicts), dtype="string")
    if confidences is not None:
        columns[free_name("confidence", taken)] = pd.Series(list(confidences), dtype="object")
    return pd.DataFrame(columns)


def free_name(name: str, taken: set[str]) -> str:
    """Give a column's name that no variable of the query has."""
    while name in taken:
        name += "_"
    return name


def _series(values: Sequence[Value | NullCell], kind: Kind) -> pd.Series:
    """Make a column; a value that nobody knows is missing."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    known = [None if isinstance(value, NullCell) else value for value in values]
    match kind:
        case Kind.BOOL:
            cells = [None if value is None else value == "true" for value in known]
            return pd.Series(cells, dtype="boolean")
        case Kind.DATE:
            days = [None if value is None else date.fromisoformat(str(value)) for value in known]
            return pd.Series(days, dtype="object")
        case _:
            return pd.Series(known, dtype=_DTYPES[kind])
