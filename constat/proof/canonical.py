"""The canonical form of certificates, and the rows in it (FORMAT.md, sections 1 and 2).

In: JSON values.  Out: text with one spelling only, and its sha256.  Invariant: equal content gives
equal bytes.  Written apart from the checker's reader on purpose: they share no code.

Example: ``canonical({"b": 1, "a": None}) == '{"a":null,"b":1}'``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, TypeAlias

from constat.logic import Kind, NullCell, Open, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from constat.logic import Slot

Json: TypeAlias = "str | int | Sequence[Json] | Mapping[str, Json] | None"
Cell: TypeAlias = "str | int | tuple[str] | tuple[str, int] | None"
TextRow: TypeAlias = "tuple[Cell, ...]"
"""A row in a certificate: texts, places of shared structures, null cells, ``None`` for ⋆."""

_TEXTS = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
_FORMS = ("none", "maybe", "unknown")
_ENCODER = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def canonical(value: object) -> str:
    """Return the canonical form, without a newline at the end."""
    return _ENCODER.encode(value)


def sha256(text: str) -> str:
    """Return ``sha256:<hex>`` of a text."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def object_form(parts: Mapping[str, str], leave_out: frozenset[str] = frozenset()) -> str:
    """Return the canonical form of an object whose members are in canonical form already."""
    members = (f'"{name}":{parts[name]}' for name in sorted(parts) if name not in leave_out)
    return "{" + ",".join(members) + "}"


def clean(text: str) -> str:
    """Return text a certificate may hold: NUL and lone surrogates replaced."""
    if "\0" in text:
        text = text.replace("\0", "�")
    return text if text.isascii() else text.encode(errors="replace").decode()


def speller(kinds: Sequence[Kind]) -> Callable[[Sequence[Slot]], TextRow]:
    """Return the function that spells a row as its source gave it; what is no value is ``None``."""
    plain = all(kind in _TEXTS for kind in kinds)

    def spell(row: Sequence[Slot]) -> TextRow:
        return tuple(
            [
                None if isinstance(slot, Open | NullCell) else format_value(slot, kind)
                for slot, kind in zip(row, kinds, strict=True)
            ]
        )

    def spell_texts(row: Sequence[Slot]) -> TextRow:
        return tuple([slot if isinstance(slot, str) else None for slot in row])

    return spell_texts if plain else spell


def sort_key(row: TextRow) -> tuple[tuple[int, int, str], ...]:
    """Order rows by their cells: ``None``, null cells, places in the table, texts."""
    return tuple(map(_cell_order, row))


def _cell_order(cell: Cell) -> tuple[int, int, str]:
    if isinstance(cell, str):
        return (5, 0, cell)
    if isinstance(cell, int):
        return (4, cell, "")
    if cell is None:
        return (0, 0, "")
    return (1 + _FORMS.index(cell[0]), cell[1] if len(cell) > 1 else 0, "")


def sorted_rows(rows: Iterable[TextRow]) -> list[TextRow]:
    """Return distinct rows in order."""
    distinct = set(rows)
    if all(type(cell) is str for row in distinct for cell in row):
        return sorted(distinct)
    return sorted(distinct, key=sort_key)


def rows_hash(rows: Iterable[TextRow]) -> str:
    """Return the hash of rows: sorted, each in canonical form and followed by a newline."""
    ordered = sorted(rows, key=sort_key)
    return sha256("".join(canonical(list(row)) + "\n" for row in ordered))
