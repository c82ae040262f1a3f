"""An amount of memory as people write it: `500MB`, `2GB`, `1.5GiB`.

In: a text of an option. Out: bytes. Invariant: decimal units are powers of 1,000, binary ones of
1,024, as in DuckDB's settings.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click import Context, Parameter

_WRITTEN: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([kmgt]i?b)\Z", re.IGNORECASE)
_UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
        **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
    }
)
_LEAST: Final = 64 * 1000**2


class MemorySize(click.ParamType[int]):
    """The type of an option that bounds memory; gives bytes."""

    name = "size"

    def convert(self, value: str | int, param: Parameter | None, ctx: Context | None) -> int:
        """Read a size; a mistake is said with an example."""
        if isinstance(value, int):
            return value
        found = _WRITTEN.match(value.strip())
        if found is None:
            self.fail(f"`{value[:20]}` is no size; write `500MB` or `2GB`", param, ctx)
        size = round(float(found[1]) * _UNITS[found[2].lower()])
        if size < _LEAST:
            self.fail("less than 64MB is not enough to start with", param, ctx)
        return size
