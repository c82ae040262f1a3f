"""How large a report is and how long it takes, and the layout of a picture.

In: nothing.  Out: figures.  Sizes stand where times stand elsewhere; the goal is beside each.
"""

from __future__ import annotations

import gzip
import random
from typing import TYPE_CHECKING, Final

from constat.proof.export.pictures import BOX, MOST_DRAWN, layered, to_svg
from constat.proof.report.page import to_html
from constat.proof.report.pdf import to_pdf
from tests.bench.measuring import Figure, figure, several
from tests.browser.shorten import FOLDER
from tests.report.certificates import chain, deep, many

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.measuring import Timing

MOST_BYTES: Final = 300_000
ROUNDS: Final = 5


def measure() -> list[Figure]:
    """Measure reports of 200 nodes and of 3,000, two PDFs and a layout of 250 boxes."""
    path, sums, long, drawn = chain(100), many(66), deep(1_500), chain(60)
    mixed = many(34)
    edges = _graph(MOST_DRAWN)
    shipped = (FOLDER / "checker.min.js").read_text(encoding="utf-8")
    return [
        _size("report of 200 nodes: a path of 100 steps", to_html(path), MOST_BYTES),
        _size("report of 199 steps of all kinds, with a picture", to_html(mixed), MOST_BYTES),
        _size("report of 196 nodes: 66 sums, 66 negations (464 steps)", to_html(sums), MOST_BYTES),
        _size("... of it the second checker", shipped, 120_000),
        figure("report of 200 nodes", _timed(lambda: to_html(path)), 0.5),
        figure("report of 3,000 nodes", _timed(lambda: to_html(long)), 5.0),
        figure("picture of 180 boxes", _timed(lambda: to_svg(drawn)), 1.0),
        figure("layout of 250 boxes, 500 edges", _timed(lambda: layered(250, edges, BOX)), 1.0),
        figure("PDF of 200 nodes", several(lambda: to_pdf(path), 1), 10.0),
        figure("PDF of 5,000 nodes", several(lambda: to_pdf(deep(2_500)), 1), 20.0),
    ]


def _timed(run: Callable[[], object]) -> list[Timing]:
    return several(run, ROUNDS)


def _graph(count: int) -> list[tuple[int, int]]:
    """Return a graph that is as tangled as a proof hardly is."""
    chance = random.Random(7)
    pairs = ((chance.randrange(count), chance.randrange(count)) for _ in range(2 * count))
    return sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})


def _size(name: str, text: str, goal: int) -> Figure:
    length = len(text.encode())
    packed = len(gzip.compress(text.encode(), mtime=0))
    shown = f"{length / 1_000:,.1f} kB, {packed / 1_000:,.1f} kB packed"
    return Figure(name, shown, "", f"<= {goal // 1_000} kB", length <= goal)
