"""The codes about exports of certificates: C0770 to C0779.

In: nothing. Out: `ENTRIES`. Invariant: an export is refused or whole; nothing is left out silently.
Example: C0771 says that a proof is outside what the checker in Lean knows.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0770",
        "a format whose package is not installed",
        "Most formats need nothing but Constat. Those that do not are written by a package that "
        "comes with an extra; `constat export --list` names it.",
        wrong="pip install constat\nconstat export c001.json --to turtle",
        right="pip install 'constat[rdf]'\nconstat export c001.json --to turtle",
        kind="text",
    ),
    Entry(
        "C0771",
        "a proof outside the fragment of the checker in Lean",
        "That checker is verified for rules of plain atoms over variables and constants, and for "
        "what is proved. Negation, aggregates, comparisons and computed values have no form in its "
        "input, and a proof without them would be another proof. `constat verify` checks all.",
        wrong='constat prove "is_vip(C001)" --certificate c.json  # compares and negates\n'
        "constat export c.json --to lean",
        right='constat prove "reach(Oslo, Rome)" --certificate c.json  # atoms only\n'
        "constat export c.json --to lean",
        kind="text",
    ),
    Entry(
        "C0772",
        "a proof that is too large for the format",
        "A worksheet has at most 1,048,576 rows. Nothing is cut off silently; another format holds "
        "the whole proof.",
        wrong="constat export large.json --to xlsx -o large.xlsx",
        right="constat export large.json --to csv -o large.csv",
        kind="text",
    ),
    Entry(
        "C0773",
        "an export that is no text, for a terminal",
        "Workbooks, archives and PDF are bytes, which a terminal would obey or garble. They are "
        "written to a file, or into a pipe.",
        wrong="constat export c001.json --to xlsx",
        right="constat export c001.json --to xlsx --output c001.xlsx",
        kind="text",
    ),
)
