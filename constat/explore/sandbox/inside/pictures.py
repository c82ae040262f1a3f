"""The pictures that a step draws with matplotlib, as PNG.

In: the figures that are open when a step ends, and those that it saves under a name. Out: names and
bytes. Invariant: nothing is written to a file; a step without pictures does not load matplotlib.
Example: `plt.savefig("chart.png")` leaves a picture `chart`.
"""

from __future__ import annotations

import io
import sys
from pathlib import PurePath
from typing import Any, Final

_DOTS: Final = 110


class Pictures:
    """Collects the pictures of a step."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._saved: dict[str, bytes] = {}
        self._figures: set[int] = set()

    def catch(self) -> None:
        """Have `savefig` with a name keep the picture here."""
        figures: Any = sys.modules.get("matplotlib.figure")
        if figures is None:
            return
        original = figures.Figure.savefig
        saved, shown = self._saved, self._figures

        def savefig(figure: Any, fname: Any = "picture", **options: Any) -> None:  # noqa: ANN401
            if hasattr(fname, "write"):
                original(figure, fname, **options)
                return
            drawn = io.BytesIO()
            wished = {key: one for key, one in options.items() if key in {"dpi", "bbox_inches"}}
            original(figure, drawn, **{"dpi": _DOTS, **wished, "format": "png"})
            saved[PurePath(str(fname)).stem or "picture"] = drawn.getvalue()
            shown.add(id(figure))

        figures.Figure.savefig = savefig

    def all(self) -> list[tuple[str, bytes]]:
        """Give the pictures: those that were saved, and the figures that are still open."""
        plot: Any = sys.modules.get("matplotlib.pyplot")
        for number in plot.get_fignums() if plot is not None else ():
            figure = plot.figure(number)
            if id(figure) not in self._figures:
                figure.savefig(f"figure_{number}")
        return list(self._saved.items())[: self._most]
