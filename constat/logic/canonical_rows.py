r"""Many rows at once in the canonical form of certificates: sorted lines, and their bytes.

In: rows without placeholders and their kinds. Out: one text for each row, in which NUL stands
between the values, so that texts sort as rows do; and the bytes that are hashed. Invariant: equal
to the JSON of each row by itself, whatever its texts hold; only faster, by working on columns.
Example: the rows `(2, "b")` and `(1, "a")` give the lines `1\0a` and `2\0b`.
"""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from constat.logic.values import Kind, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from constat.logic.values import Row, Value

_BETWEEN_VALUES: Final = "\0"
_BETWEEN_ROWS: Final = "\x80"
_TEXTS: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
# The encoder of a block holds a few copies of it.
_BLOCK: Final = 65_536


def canonical_lines(rows: Collection[Row], kinds: Sequence[Kind]) -> list[str]:
    """Write each row as one text, in the order of the rows."""
    if not kinds:
        return [""] * len(rows)
    if all(kind in _TEXTS for kind in kinds):
        return list(map(_BETWEEN_VALUES.join, rows))  # type: ignore[arg-type]  # all texts
    columns = (map(_speller(kind), map(itemgetter(n), rows)) for n, kind in enumerate(kinds))
    return list(map(_BETWEEN_VALUES.join, zip(*columns, strict=True)))


def _speller(kind: Kind) -> Callable[[Value], str]:
    if kind in _TEXTS or kind in _WHOLE:
        return str
    if kind is Kind.FLOAT:
        return lambda value: format_value(value, kind)
    return "{:f}".format


def canonical_bytes(lines: Sequence[str], width: int) -> Iterable[bytes]:
    """Give the bytes of lines: each the JSON array of its values, and a newline."""
    for start in range(0, len(lines), _BLOCK):
        yield _block(lines[start : start + _BLOCK], width)


def _block(lines: Sequence[str], width: int) -> bytes:
    joined = _BETWEEN_ROWS.join(lines)
    # With other letters, or with backslashes, what is looked for below could be part of a value.
    if not width or "\\" in joined or not all(map(str.isascii, lines)):
        return "".join(f"{_array(line, width)}\n" for line in lines).encode()
    written = json.dumps(joined).replace("\\u0000", '","').replace("\\u0080", '"]\n["')
    return f"[{written}]\n".encode()


def _array(line: str, width: int) -> str:
    values = line.split(_BETWEEN_VALUES) if width else []
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))
