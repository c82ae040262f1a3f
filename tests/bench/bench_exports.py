"""A proof of 3,000 nodes: how large its certificate and each export of it are, and how long."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from constat import Session
from constat.diagnostics import ConstatError
from constat.proof.formats import FORMATS, Format, write_format
from tests.bench.bench_recursion import write_project
from tests.bench.measuring import Figure, Timing, once

if TYPE_CHECKING:
    from pathlib import Path

EDGES = 1_500
MOST = 600_000
MOST_PACKED = 80_000
# A page with so many boxes is set for minutes; a picture of them is refused.
LEFT_OUT = frozenset({"pdf"})


def measure(folder: Path) -> list[Figure]:
    """Prove a path of 1,500 edges, with a query for each and from a list, and export the proof."""
    write_project(folder)
    with Session(folder) as session:
        asked = session.prove(f"path(0, {EDGES})").certificate
        listed = session.prove(f"listed_path(0, {EDGES})").certificate
    figures = [
        sized("certificate, 3,000 nodes, a query for each edge", asked),
        sized("certificate, 3,000 nodes, edges in a rule file", listed),
    ]
    for form in FORMATS:
        if form.name not in LEFT_OUT:
            figures += exported(form, asked)
    return figures


def sized(name: str, content: bytes) -> Figure:
    """Give the size of a certificate, and packed."""
    packed = len(gzip.compress(content, 9))
    return Figure(
        name,
        f"{len(content) / 1000:,.0f} kB",
        f"{packed / 1000:,.0f} kB packed",
        f"{MOST // 1000} kB, {MOST_PACKED // 1000} kB packed",
        len(content) <= MOST and packed <= MOST_PACKED,
    )


def exported(form: Format, certificate: bytes) -> list[Figure]:
    """Give time and size of an export; nothing for a format that refuses a proof of that size."""
    written: list[bytes] = []

    def write() -> None:
        written.append(write_format(form, certificate))

    try:
        timing: Timing = once(write)
    except ConstatError:
        return []
    size = len(written[0]) / 1000
    name = f"export to {form.name}, {size:,.0f} kB"
    return [
        Figure(
            name,
            f"{timing.clock:.2f} s",
            f"{timing.processor:.2f} s",
            "2 s of processors",
            timing.processor <= 2,
        )
    ]
