"""The codes of evaluation (C04): what a command is given to work on, and cannot.

Codes never change meaning. C03, planning, has no codes yet: whatever the analysis accepts can be
planned, and limits end in UNRESOLVED.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0401",
        "a file cannot be read",
        "The file that a command was told to read is missing, is a folder, or may not be read. "
        "Nothing was done.",
        wrong="constat verify no-such-file.json",
        right='constat prove "is_vip(C001)" --certificate c001.json\nconstat verify c001.json',
        kind="text",
    ),
    Entry(
        "C0402",
        "a file cannot be written",
        "The folder is missing, may not be written to, or the disk is full. A file that was there "
        "before is unchanged, and the verdict was printed; only the file is missing.",
        wrong='constat prove "is_vip(C001)" --certificate no-such-folder/c001.json',
        right='constat prove "is_vip(C001)" --certificate c001.json',
        kind="text",
    ),
    Entry(
        "C0403",
        "a certificate is rejected",
        "The checker does not accept the certificate, so it is not exported: a picture of a proof "
        "that does not hold would look like a proof.",
        wrong="constat export changed.json --to graphml",
        right="constat verify c001.json\nconstat export c001.json --to graphml",
        kind="text",
    ),
    Entry(
        "C0404",
        "an unknown code",
        "Codes are a `C` and four digits, as they stand in the brackets of a message.",
        wrong="constat explain 203",
        right="constat explain C0203",
        kind="text",
    ),
    Entry(
        "C0405",
        "no rule files",
        "A path names no rule file and no folder that holds one. Rule files end in `.dl`.",
        wrong="constat rules check rules.txt",
        right="constat rules check rules/customer-value",
        kind="text",
    ),
    Entry(
        "C0406",
        "nobody has stated this fact",
        "Only a fact that somebody has stated and that still stands can be taken back. Facts of a "
        "database or of the configuration are changed there.",
        wrong='constat facts retract "customer_tier(C001, silver)" --by bob',
        right='constat facts add "customer_tier(C009, gold)" --by alice\n'
        'constat facts retract "customer_tier(C009, gold)" --by bob',
        kind="text",
    ),
    Entry(
        "C0407",
        "a derived predicate cannot be stated",
        "What rules derive has a proof or has none; a person's word would hide that. State what "
        "the rules rest on: the conclusion then holds under that assumption.",
        wrong='constat facts add "is_vip(C009)" --by alice',
        right='constat facts add "customer_tier(C009, gold)" --by alice',
        kind="text",
    ),
)
