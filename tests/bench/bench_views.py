"""How long a view with hidden values takes, how large it is, and how long its check.

`python -m tests.bench.bench_views` prints the figures: the names of a path are hidden.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from constat.check import check_certificate
from constat.session.redacting import Hiding, make_view
from tests.bench.bench_second_checker import path_of
from tests.bench.measuring import Figure, figure, several, table
from tests.check.second import upgraded
from tests.check.writer import seal

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES: Final = 2_000
ROUNDS: Final = 5
SECRET: Final = b"b" * 32


def measure() -> Iterator[Figure]:
    """Measure making and checking."""
    whole = seal(upgraded(json.loads(path_of(NODES))))
    hiding = Hiding(("edge.a", "edge.b"))
    view = make_view(whole, hiding, SECRET)
    assert check_certificate(view).accepted
    yield figure(
        f"make a view of {NODES:,} nodes, all names hidden",
        several(lambda: make_view(whole, hiding, SECRET), ROUNDS),
        10.0,
    )
    yield figure("check it", several(lambda: check_certificate(view), ROUNDS), 1.0)
    yield figure("check the whole", several(lambda: check_certificate(whole), ROUNDS), 1.0)
    size = len(view) / len(whole)
    yield Figure("size of the view against the whole", f"{size:.1f}x", "", "<= 8x", size <= 8)


if __name__ == "__main__":
    sys.stdout.write(table(list(measure())))
