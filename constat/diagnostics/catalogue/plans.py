"""The codes of plans that compute whole relations: C0640 to C0649.

In: nothing. Out: `ENTRIES`. Example: C0640 is a plan that memory, disk or time was too small for.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0640",
        "a plan that was not run to its end",
        "`explain-plan --analyze` computes everything that it shows. The memory, the disk or the "
        "time was not enough; nothing is left behind. Without `--analyze` nothing is computed.",
        wrong='constat explain-plan "path(?x, ?y)" --analyze',
        right='constat explain-plan "path(?x, ?y)"',
        kind="text",
    ),
)
