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
    Entry(
        "C0420",
        "a rule that pyDatalog cannot take over",
        "A proposed rule, or one with a confidence below 1, is an assumption. pyDatalog knows true "
        "and false only, so its answer would hide what it rests on. Constat's own engine lists the "
        "assumption.",
        wrong='constat prove --engine pydatalog "may_leave(C001)"',
        right='constat prove "may_leave(C001)"',
        kind="text",
    ),
    Entry(
        "C0421",
        "an input that pyDatalog cannot ask",
        "pyDatalog is handed complete tables before it starts. An input with `required` columns "
        "answers for given values only, so there is no complete table.",
        wrong='constat prove --engine pydatalog "credit_ok(C001)"',
        right='constat prove "credit_ok(C001)"',
        kind="text",
    ),
    Entry(
        "C0422",
        "facts that are not closed",
        "pyDatalog takes what it is not told for false. A source that failed, a predicate that "
        "nobody declared complete and facts on somebody's word are therefore refused, and there is "
        "no answer. Constat's own engine decides what can be decided all the same.",
        wrong='constat prove --engine pydatalog "is_strategic(C001)"',
        right='constat prove "is_strategic(C001)"',
        kind="text",
    ),
    Entry(
        "C0430",
        "a query that cannot be read",
        "A query is an atom, or several with commas between: `!` denies an atom, and a comparison "
        "chooses among values that an atom gives. Sums, functions and alternatives are for rules: "
        "write one and ask for its head.",
        wrong='constat query "?r > 100000"',
        right='constat query "customer_revenue(?c, ?r), ?r > 100000"',
        kind="text",
    ),
    Entry(
        "C0431",
        "a column that the answers do not have",
        "The columns of the answers are the variables of the query; `--order` and `--columns` name "
        "them. `:desc` behind a column of `--order` turns it round.",
        wrong='constat query "is_vip(?c)" --order customer',
        right='constat query "is_vip(?c)" --order c:desc',
        kind="text",
    ),
    Entry(
        "C0432",
        "an output that the options do not allow",
        "Parquet is not text, so it is written to a file only, and an Arrow stream to a file or a "
        "pipe; `--spreadsheet` is about CSV.",
        wrong='constat query "is_vip(?c)" --format parquet',
        right='constat query "is_vip(?c)" --format parquet --output vips.parquet',
        kind="text",
    ),
    Entry(
        "C0433",
        "decimals that do not fit one column",
        "A column of a Parquet file has one number of places. Values that need more than 38 digits "
        "together, before and behind the point, would have to be rounded; nothing is rounded here.",
        wrong='constat query "measure(?x)" --format parquet --output x.parquet',
        right='constat query "measure(?x)" --format csv --output x.csv',
        kind="text",
    ),
    Entry(
        "C0434",
        "a library for this format is not installed",
        "Arrow streams are written by nanoarrow, which comes with the extra `arrow`.",
        wrong='constat query "is_vip(?c)" --format arrow --output vips.arrow',
        right='constat query "is_vip(?c)" --format parquet --output vips.parquet',
        kind="text",
    ),
    Entry(
        "C0435",
        "a schema that does not exist",
        "A command that prints results as JSON has a schema of its name; `error` is the form of "
        "failures. `constat schema` lists them.",
        wrong="constat schema prof",
        right="constat schema prove",
        kind="text",
    ),
    Entry(
        "C0436",
        "a topic that does not exist",
        "`constat help` lists the topics; the help of a command is `constat COMMAND --help`.",
        wrong="constat help codes",
        right="constat help exit-codes",
        kind="text",
    ),
    Entry(
        "C0460",
        "a file that is not Python",
        "Rules are imported from files in pyDatalog's syntax, which is Python's. The file is "
        "parsed and never run; one that is nested too deep or too large is not read.",
        wrong="p(X) <= q(X",
        right="p(X) <= q(X)",
        kind="text",
    ),
    Entry(
        "C0461",
        "a construct without a counterpart in rules",
        "The file cannot be translated as a whole, and rules that are silently missing would give "
        "other answers. Write facts and rules out instead of making them in a loop; put each "
        "comparison of a body in parentheses.",
        wrong="for name in names:\n    + customer(name)",
        right='+ customer("C001")\n+ customer("C002")',
        kind="text",
    ),
    Entry(
        "C0462",
        "two types meet in one column",
        "pyDatalog compares any values, and takes True, 1 and 1.0 for one. Here a column has one "
        "type, found from the constants that reach it.",
        wrong='+ age("C001", 30)\n+ age("C002", "thirty")',
        right='+ age("C001", 30)\n+ age("C002", 31)',
        kind="text",
    ),
    Entry(
        "C0463",
        "a meaning that differs a little",
        "The rules were translated; what is named here is not quite the same in both languages. A "
        "function has one value there, and may have several here; division rounds down there, and "
        "towards zero here; a query is no rule.",
        wrong="half(X, Y) <= size(X, N) & (Y == N // 2)",
        right="half(X, Y) <= size(X, N) & (N >= 0) & (Y == N // 2)",
        kind="text",
    ),
)
