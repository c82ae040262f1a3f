"""The codes about reports and pictures of proofs: C0780 to C0789.

In: nothing. Out: `ENTRIES`. Invariant: a picture is whole or refused, never cut off silently.
Example: C0780 says that a proof has too many boxes to be read as a picture.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0780",
        "a proof too large for a picture",
        "A picture of more than 250 boxes (150 in Mermaid) cannot be read, so none is drawn. The "
        "report has an outline of any length, and Graphviz draws what it is given.",
        wrong="constat export large.json --to svg -o large.svg",
        right="constat export large.json --to html -o large.html",
        kind="text",
    ),
)
