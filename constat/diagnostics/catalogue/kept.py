"""The codes about kept answers and certificates: C0560 to C0569.

In: nothing. Out: `ENTRIES`. Invariant: none of them changes a verdict; what is kept is a copy.
Example: C0561 says that the file of kept answers is locked, and the sources were asked instead.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0560",
        "a max_age that means nothing",
        "`max_age` of an `.input` says how old an answer of its source may be when another program "
        "uses it: a number of seconds, or one with `s`, `m`, `h` or `d`, above 0 and at most "
        "3650d. Without it nothing is kept. The configuration is read each time and takes none.",
        wrong='.decl tier(c: symbol, t: symbol)\n.input tier(source="sales", max_age="soon", '
        'query="SELECT id, tier FROM accounts")',
        right='.decl tier(c: symbol, t: symbol)\n.input tier(source="sales", max_age="10m", '
        'query="SELECT id, tier FROM accounts")',
        kind="text",
    ),
    Entry(
        "C0561",
        "the file of kept answers cannot be used",
        "It is damaged, locked, full, or not a file of Constat. The sources were asked instead, so "
        "the verdict is what it would be without it; nothing was kept. Stated facts are in another "
        "file and not affected.",
        wrong="echo x > .constat/answers.sqlite\nconstat prove ...",
        right="constat cache clear\nconstat prove ...",
        kind="text",
    ),
    Entry(
        "C0562",
        "a kept answer that does not fit",
        "An answer in the file is not what was written there, or a value in it is not of its "
        "column's type. It was not used; the source was asked, and its answer takes the place.",
        wrong='sqlite3 .constat/answers.sqlite "UPDATE answers SET body = ..."',
        right="constat cache clear tier",
        kind="text",
    ),
    Entry(
        "C0563",
        "a certificate that cannot be kept",
        "`--keep` writes into the folder `certificates` of the project's state folder, which must "
        "be writable. The verdict was printed before; `--certificate FILE` writes elsewhere.",
        wrong="chmod a-w .constat\nconstat prove GOAL --keep",
        right="chmod u+w .constat\nconstat prove GOAL --keep",
        kind="text",
    ),
)
