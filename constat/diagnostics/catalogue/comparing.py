"""The codes about proofs held against each other, made again, or of the past: C0720 to C0739.

In: nothing. Out: `ENTRIES`. Invariant: what is not recorded is never made up. Example: C0724 says
that a time lies in the future.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0720",
        "a certificate that the checker rejects",
        "Only certificates that hold are compared or made again: of one that does not, nothing "
        "follows. The exit code is 1, as that of `constat verify`.",
        wrong="sed s/C001/C002/ c001.json > c002.json\nconstat diff c001.json c002.json",
        right='constat prove "is_vip(C002)" --certificate c002.json\n'
        "constat diff c001.json c002.json",
        kind="text",
    ),
    Entry(
        "C0721",
        "a certificate of a goal that the project does not have",
        "To hold a certificate against the present its goal is proved again, which takes the rules "
        "that declare its predicate with the same columns. Two certificates can be compared "
        "anywhere.",
        wrong="constat diff c001.json --project examples/access",
        right="constat diff c001.json --project examples/vip",
        kind="text",
    ),
    Entry(
        "C0722",
        "an identity under which no certificate is kept",
        "`constat prove GOAL --keep` keeps a certificate under the identity of its proof, in the "
        "state folder of the project; a certificate in a file is named by its path.",
        wrong=f"constat replay sha256:{64 * '0'}",
        right='constat prove "is_vip(C001)" --keep\nconstat replay sha256:<what it says>',
        kind="text",
    ),
    Entry(
        "C0723",
        "a time that is none",
        "`--as-of` takes a date, which means its start, or a time, in the form of ISO 8601; "
        "without a zone it is UTC.",
        wrong='constat prove "is_vip(C001)" --as-of yesterday',
        right='constat prove "is_vip(C001)" --as-of 2026-11-20T18:00:00Z',
        kind="text",
    ),
    Entry(
        "C0724",
        "a time in the future",
        "Facts as of a time are those that had been recorded by then. Nothing is recorded of what "
        "is still to come; `constat what-if` answers what would be.",
        wrong='constat prove "is_vip(C001)" --as-of 2999-01-01',
        right='constat prove "is_vip(C001)"',
        kind="text",
    ),
    Entry(
        "C0725",
        "a `record:` that means nothing",
        "`record:` in constat.yaml is true, or names sources: databases, tiers, or `config` for "
        "configured facts. As a table it has `sources` and `keep`, after how many days records "
        "leave.",
        wrong="record: {sources: [shoop], keep: long}",
        right="record: {sources: [shop, config], keep: 3650d}",
        kind="text",
    ),
    Entry(
        "C0726",
        "the record cannot be used",
        "The file `recorded.sqlite` in the state folder is damaged, locked, full, or not a file of "
        "Constat. A proof of the present is what it would be without it, only nothing was "
        "recorded; a goal as of a time cannot be answered without it.",
        wrong="echo x > .constat/recorded.sqlite\nconstat prove GOAL --as-of 2026-11-20",
        right="mv .constat/recorded.sqlite damaged.sqlite\nconstat prove GOAL --keep",
        kind="text",
    ),
)
