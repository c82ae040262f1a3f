"""`store` of a step: what earlier steps left for it, and what it leaves.

In: tables as bytes, and state variables. Out: the tables, values and notes that were put.
Invariant: nothing is shared with another step but through here, and what is put counts only when
the step ends well. Example: `store.put("top", frame)`, `store.get("sales")`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from constat.store.table_forms import Table, TableError, decode
from constat.store.tables_frames import from_frame, to_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST_VALUE: Final = 1 << 20


class MissingTableError(KeyError):
    """There is no table or state variable of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnfitResultError(ValueError):
    """What is put is none of the things that can be kept."""


class Store:
    """What a step may read, and where it leaves what it made."""

    def __init__(self, tables: Mapping[str, bytes], state: Mapping[str, Any]) -> None:
        self._given = dict(tables)
        self._state = dict(state)
        self._put: dict[str, Table] = {}
        self._set: dict[str, Any] = {}
        self._notes: list[str] = []

    def get(self, name: str) -> Any:  # noqa: ANN401  a data frame, or the value of a variable
        """Give a table as a data frame of its own, or the value of a state variable."""
        if name in self._put:
            return to_frame(self._put[name])
        if name in self._given:
            return to_frame(decode(self._given[name]))
        for values in (self._set, self._state):
            if name in values:
                return json.loads(json.dumps(values[name]))
        known = ", ".join(sorted({*self._given, *self._put, *self._state, *self._set})) or "nothing"
        raise MissingTableError(f"the store has no `{name}`; it has: {known}")

    def put(self, name: str, value: object) -> None:
        """Leave a data frame as a table, or a plain value as a state variable."""
        if not isinstance(name, str) or not name.isidentifier():
            raise UnfitResultError("a name is letters, digits and `_`, not beginning with a digit")
        table = as_table(name, value)
        plain = None if table is not None else as_json(name, value)
        # The last one of a name counts, whichever it is.
        self._put.pop(name, None)
        self._set.pop(name, None)
        if table is not None:
            self._put[name] = table
        else:
            self._set[name] = plain

    def note(self, text: object) -> None:
        """Write a line into the scratchpad."""
        self._notes.append(str(text)[:10_000])

    def tables(self) -> list[str]:
        """Name the tables that there are."""
        return sorted({*self._given, *self._put})

    def state(self) -> dict[str, Any]:
        """Give the state variables."""
        copied: dict[str, Any] = json.loads(json.dumps({**self._state, **self._set}))
        return copied

    def save_dataframe(
        self,
        name: str,
        df: object,
        step: int | None = None,  # noqa: ARG002  the number is known outside
        description: str = "",  # noqa: ARG002  as above
    ) -> None:
        """Leave a data frame."""
        self.put(name, df)

    def load_dataframe(self, name: str) -> Any:  # noqa: ANN401  a data frame
        """Give a table as a data frame."""
        return self.get(name)

    def set_state(self, name: str, value: object, step: int | None = None) -> None:  # noqa: ARG002
        """Leave a state variable."""
        self.put(name, value)

    def get_state(self, name: str) -> Any:  # noqa: ANN401  a plain value
        """Give a state variable."""
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return any(name in one for one in (self._given, self._put, self._state, self._set))

    def __repr__(self) -> str:
        return f"<store: tables {self.tables()}>"

    @property
    def left(self) -> tuple[dict[str, Table], dict[str, Any], list[str]]:
        """What was put: tables, state variables, notes."""
        return self._put, self._set, self._notes


def as_table(name: str, value: object) -> Table | None:
    """Give what is a data frame or series as a table."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(value, pd.Series):
        value = value.to_frame(name if value.name is None else value.name)
    if not isinstance(value, pd.DataFrame):
        return None
    try:
        return from_frame(value)
    except TableError as problem:
        raise UnfitResultError(f"`{name}` cannot be kept: {problem}") from None


def as_json(name: str, value: object) -> Any:  # noqa: ANN401  whatever JSON has
    """Give a plain value as JSON has it; numbers of numpy become numbers."""
    try:
        text = json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        kind = type(value).__name__
        message = f"`{name}` is a {kind}; put a data frame, a text, a number, a list or a dict"
        raise UnfitResultError(message) from None
    if len(text) > _LARGEST_VALUE:
        raise UnfitResultError(f"`{name}` is larger than {_LARGEST_VALUE >> 20} MiB; put a table")
    return json.loads(text)


def _plain(value: Any) -> Any:  # noqa: ANN401  whatever JSON lacks
    for method in ("item", "tolist", "isoformat"):
        if hasattr(value, method):
            found = getattr(value, method)()
            if isinstance(found, float) and not math.isfinite(found):
                raise ValueError
            return found
    if isinstance(value, set | frozenset):
        return sorted(value)
    # Decimals keep their digits.
    if type(value).__name__ == "Decimal":
        return str(value)
    raise TypeError
