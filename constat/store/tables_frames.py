"""Tables as pandas data frames, and back.

In: a `Table` or a data frame. Out: the other one. Invariants: no value changes: integers stay
integers beside missing ones, decimals are `Decimal` objects, times keep microseconds in UTC; what
a table has no kind for is an error that names the column. A column of days is `datetime64[s]`,
which comes back as days. Also runs inside the sandbox. Example:
`from_frame(to_frame(table)) == table` for tables without floats that are infinite.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from constat.store.table_forms import (
    FIXED,
    Column,
    Table,
    TableError,
    check_name,
    checked,
    column_of,
    column_values,
    missing_mask,
    spelled_decimal,
    text_column,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

_NULLABLE: Final = MappingProxyType({"number": "Int64", "unsigned": "UInt64", "Bool": "boolean"})
_PLAIN: Final = MappingProxyType({"number": "int64", "unsigned": "uint64", "Bool": "bool"})
_DAY_SECONDS: Final = 86_400
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def to_frame(table: Table) -> pd.DataFrame:
    """Give a table as a data frame."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    columns = {one.name: _series(one, table.rows) for one in table.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(table.rows))


def from_frame(frame: pd.DataFrame) -> Table:
    """Give a data frame as a table; named levels of its index become columns."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    columns = []
    for place, label in enumerate(frame.columns):
        name = _name(label)
        try:
            columns.append(_column(name, frame.iloc[:, place]))
        except (TableError, ValueError, TypeError, OverflowError) as problem:
            reason = str(problem) if isinstance(problem, TableError) else "a cell is of no kind"
            raise TableError(f"column `{name}`: {reason}") from None
    if isinstance(frame.columns, pd.MultiIndex) and len({one.name for one in columns}) < len(
        columns
    ):
        raise TableError("two columns have one name; give them flat names")
    return checked(Table(tuple(columns), len(frame)))


def _name(label: object) -> str:
    if isinstance(label, tuple):
        return check_name("_".join(str(part) for part in label if part != ""))
    return check_name(str(label))


def _series(column: Column, rows: int) -> pd.Series[Any]:
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    missing = missing_mask(column, rows)
    holes = bool(missing.any())
    match column.kind:
        case "symbol" | "structure":
            return pd.Series(column_values(column, rows), dtype="str")
        case "Decimal":
            return pd.Series(column_values(column, rows), dtype="object")
    cells = np.frombuffer(column.data, FIXED[column.kind])
    match column.kind:
        case "float":
            floats = cells.copy()
            floats[missing] = np.nan
            return pd.Series(floats)
        case "Date" | "Timestamp":
            unit = "s" if column.kind == "Date" else "us"
            factor = _DAY_SECONDS if column.kind == "Date" else 1
            times = (cells.astype("<i8") * factor).view(f"<M8[{unit}]")
            times[missing] = np.array("NaT", f"<M8[{unit}]")
            return pd.Series(times)
        case _ if not holes:
            return pd.Series(cells.astype(_PLAIN[column.kind]))
        case _:
            plain: Any = pd.Series(cells.astype(_PLAIN[column.kind]))
            found: pd.Series[Any] = plain.astype(_NULLABLE[column.kind]).mask(missing)
            return found


def _column(name: str, series: pd.Series[Any]) -> Column:
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    dtype = series.dtype
    missing: Flags = series.isna().to_numpy(np.bool_)
    types = pd.api.types
    if types.is_bool_dtype(dtype):
        return _filled(name, "Bool", series, missing, fill=False)
    if types.is_unsigned_integer_dtype(dtype):
        return _unsigned(name, series, missing)
    if types.is_integer_dtype(dtype):
        return _filled(name, "number", series, missing, fill=0)
    if types.is_float_dtype(dtype):
        return _floats(name, series, missing)
    if types.is_datetime64_any_dtype(dtype):
        return _times(name, series, missing)
    if isinstance(dtype, pd.CategoricalDtype):
        return _column(name, series.astype(dtype.categories.dtype))
    if isinstance(dtype, pd.PeriodDtype):
        return _objects(name, [None if gone else str(one) for one, gone in _cells(series, missing)])
    if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        return _objects(name, [None if gone else one for one, gone in _cells(series, missing)])
    raise TableError(f"its type, {str(dtype)[:40]}, is none of a table; convert it first")


def _cells(series: pd.Series[Any], missing: Flags) -> zip[tuple[Any, bool]]:
    return zip(series.tolist(), missing.tolist(), strict=True)


def _filled(
    name: str, kind: str, series: pd.Series[Any], missing: Flags, *, fill: int | bool
) -> Column:
    plain = series.to_numpy(dtype=_PLAIN[kind], na_value=fill) if missing.any() else series
    return column_of(name, kind, np.asarray(plain).astype(FIXED[kind]).tobytes(), missing)


def _unsigned(name: str, series: pd.Series[Any], missing: Flags) -> Column:
    """Counts are signed numbers for rules, unless they do not fit."""
    plain = series.to_numpy(dtype="uint64", na_value=0) if missing.any() else series
    cells = np.asarray(plain).astype("<u8")
    kind = "unsigned" if bool((cells >> 63).any()) else "number"
    return column_of(name, kind, cells.astype(FIXED[kind]).tobytes(), missing)


def _floats(name: str, series: pd.Series[Any], missing: Flags) -> Column:
    cells = series.to_numpy(dtype="float64", na_value=np.nan).astype("<f8").copy()
    cells[missing] = 0.0
    if not bool(np.isfinite(cells).all()):
        raise TableError("a number is infinite; replace it or leave it out")
    return column_of(name, "float", cells.tobytes(), missing)


def _times(name: str, series: pd.Series[Any], missing: Flags) -> Column:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    cells = series.to_numpy().copy()
    cells[missing] = np.datetime64(0, "s")
    unit = np.datetime_data(cells.dtype)[0]
    if unit == "s":
        seconds = cells.astype("<i8")
        if not bool((seconds % _DAY_SECONDS).any()):
            days = (seconds // _DAY_SECONDS).astype(FIXED["Date"])
            return column_of(name, "Date", days.tobytes(), missing)
    microseconds = cells.astype("<M8[us]")
    if unit in {"ns", "ps", "fs", "as"} and bool((microseconds.astype(cells.dtype) != cells).any()):
        raise TableError("a time has less than a microsecond; round it first")
    return column_of(name, "Timestamp", microseconds.view("<i8").tobytes(), missing)


def _objects(name: str, cells: list[Any]) -> Column:
    """Make a column of Python objects that are all of one kind."""
    types = {type(_unwrapped(cell)) for cell in cells if cell is not None}
    if types <= {str}:
        return text_column(name, "symbol", cells)
    if all(issubclass(one, datetime) for one in types):
        times = [None if one is None else _microseconds(one) for one in cells]
        return _converted(name, "Timestamp", times)
    for wanted, kind, spell in _CONVERSIONS:
        if types <= wanted:
            plain = [None if one is None else spell(_unwrapped(one)) for one in cells]
            return _converted(name, kind, plain)
    names = ", ".join(sorted(one.__name__[:30] for one in types))
    raise TableError(f"its cells are of several types, or of one that no table has: {names[:200]}")


def _unwrapped(cell: Any) -> Any:  # noqa: ANN401  any cell
    return cell.item() if isinstance(cell, np.generic) else cell


def _converted(name: str, kind: str, cells: list[Any]) -> Column:
    if kind in {"symbol", "Decimal"}:
        return text_column(name, kind, cells)
    missing = np.fromiter((cell is None for cell in cells), np.bool_, len(cells))
    data = np.array([0 if cell is None else cell for cell in cells], FIXED[kind]).tobytes()
    return column_of(name, kind, data, missing)


def _finite(cell: float) -> float:
    if not np.isfinite(cell):
        raise TableError("a number is infinite; replace it or leave it out")
    return float(cell)


def _microseconds(cell: datetime) -> int:
    # A pandas time has nanoseconds besides.
    if getattr(cell, "nanosecond", 0):
        raise TableError("a time has less than a microsecond; round it first")
    plain = datetime(*cell.timetuple()[:6], cell.microsecond)  # noqa: DTZ001  in UTC throughout
    offset = cell.utcoffset()
    found = (plain if offset is None else plain - offset) - datetime(1970, 1, 1)  # noqa: DTZ001
    return (found.days * _DAY_SECONDS + found.seconds) * 1_000_000 + found.microseconds


def _days(cell: date) -> int:
    return cell.toordinal() - date(1970, 1, 1).toordinal()


_CONVERSIONS: Final[tuple[tuple[frozenset[type], str, Callable[[Any], Any]], ...]] = (
    (frozenset({bool}), "Bool", int),
    (frozenset({int}), "number", int),
    (frozenset({int, float}), "float", _finite),
    (frozenset({int, Decimal}), "Decimal", lambda cell: spelled_decimal(Decimal(cell))),
    (frozenset({date}), "Date", _days),
)
