"""The curves of retention over ratio as a picture.

In: rows. Out: SVG, one panel for each kind of data. Invariant: the axis of ratios is logarithmic,
1x to 100x; that of retention goes from 0 to 100 %.
"""

from __future__ import annotations

import math
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.memory.measure import Row

WIDTH: Final = 360
HEIGHT: Final = 260
EDGE: Final = 40


def curves(rows: Iterable[Row]) -> str:
    """Draw the panels side by side."""
    ordered = sorted(rows, key=lambda one: one.kind)
    panels = [(kind, list(group)) for kind, group in groupby(ordered, key=lambda one: one.kind)]
    drawn = "".join(_panel(at * WIDTH, kind, group) for at, (kind, group) in enumerate(panels))
    size = f'width="{WIDTH * len(panels)}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">{drawn}</svg>\n'
    )


def _panel(left: int, kind: str, rows: Sequence[Row]) -> str:
    parts = [f'<g transform="translate({left} 0)"><text x="{EDGE}" y="16">{escape(kind)}</text>']
    parts += [_grid(ratio) for ratio in (1, 2, 5, 10, 20, 50, 100)]
    for kept in (0, 50, 90, 100):
        x, y = _place(1, kept / 100)
        parts.append(f'<text x="{x - 32}" y="{y + 4}" font-size="10">{kept} %</text>')
    ours = sorted((one.ratio, one.retention) for one in rows if one.method.startswith("memory, 1/"))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(*one) for one in ours))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1a5fb4" stroke-width="2"/>')
    for one in rows:
        if "search" not in one.method:
            x, y = _place(one.ratio, one.retention)
            color = "#1a5fb4" if one.method.startswith("memory, 1/") else "#c01c28"
            title = f"<title>{escape(one.method)}: {one.ratio:.1f}x, {one.retention:.1%}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}">{title}</circle>')
    return "".join(parts) + "</g>"


def _grid(ratio: int) -> str:
    x, bottom = _place(ratio, 0)
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{EDGE}" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{x - 8:.1f}" y="{bottom + 14}" font-size="10">{ratio}x</text>'
    )


def _place(ratio: float, kept: float) -> tuple[float, float]:
    across = math.log(min(max(ratio, 1), 100)) / math.log(100)
    return EDGE + across * (WIDTH - 2 * EDGE), EDGE + (1 - kept) * (HEIGHT - 2 * EDGE)
