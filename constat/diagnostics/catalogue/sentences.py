"""The codes about sentences: C0790 to C0799.

In: nothing. Out: `ENTRIES`. Invariant: none of them changes a verdict; they are about what people
read. Example: C0791 says that a sentence leaves out a threshold.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0790",
        "a locale that is not known",
        "`locale` in constat.yaml, or `--locale`, says how sentences write numbers and days, and "
        "which language of their templates is taken. The locale of the machine plays no part. "
        "A wrong name lists those that are known.",
        wrong="locale: de_XX",
        right="locale: de_DE",
        kind="text",
    ),
    Entry(
        "C0791",
        "a sentence that leaves out a value",
        "The sentence of a predicate names every column; that of a rule names everything that its "
        "comparisons compare, constants with it. Who reads a proof would otherwise not learn of "
        "the threshold. `constat rules check` reports it and exits with 1; nothing else does.",
        wrong='@[says = "revenue is high"]\nis_vip(?c) :- revenue(?c, ?total), ?total > 1000.',
        right='@[says = "the revenue {total} is more than 1,000"]\n'
        "is_vip(?c) :- revenue(?c, ?total), ?total > 1000.",
        kind="text",
    ),
    Entry(
        "C0792",
        "a sentence in no language",
        "`@[says(de = ...)]` is the sentence in German: a language is its code of two or three "
        "small letters. It is taken where the locale has that language, `@[says = ...]` elsewhere.",
        wrong='@[says(German = "{c} ist gesperrt")]\n.decl blocked(c: symbol)',
        right='@[says(de = "{c} ist gesperrt")]\n.decl blocked(c: symbol)',
        kind="text",
    ),
)
