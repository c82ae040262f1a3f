"""The codes of answers in bulk and of materialised results: C0660 to C0679, C0970.

In: nothing. Out: `ENTRIES`. Invariant: none of them leaves a partial result that looks whole.
Example: C0671 says that a result is open and therefore not kept.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0660",
        "a bulk evaluation reached a bound",
        "Time, memory, rows, or the disk for intermediate results did not suffice. What was "
        "computed so far is not shown, because it would look like all there is: the query is open "
        "with this reason, and a materialisation keeps nothing. A cross product of two large "
        "relations is the usual cause: a rule whose atoms share no variable.",
        wrong='pair(?a, ?b) :- customer(?a), customer(?b).\nconstat query "pair(?a, ?b)"',
        right="pair(?a, ?b) :- customer(?a), related(?a, ?b).\n"
        "or, in constat.yaml:\nlimits:\n  seconds: 600",
        kind="text",
    ),
    Entry(
        "C0661",
        "rows that cannot be put in order",
        "All answers are known, and memory or disk do not suffice to sort them for writing. "
        "`--limit` needs little of either.",
        wrong='constat query "pair(?a, ?b)" --format csv',
        right='constat query "pair(?a, ?b)" --format csv --limit 1000000',
        kind="text",
    ),
    Entry(
        "C0970",
        "an unknown value that is joined in several places, over many rows",
        "Over more than 200,000 rows, a value that a source does not know is followed as far as "
        "one open row goes, and what it is joined with is left open. Nothing is decided wrongly; "
        "a row that is told as unresolved, or an open shape, may still be decided by itself.",
        wrong='constat query "reach(?a, ?b)"',
        right='constat prove "reach(7, 9)"\n'
        'or, where it may take long:\nconstat query "reach(?a, ?b)" --engine reference',
        kind="text",
    ),
    Entry(
        "C0665",
        "a row to explain that cannot be read",
        "`--explain-row` takes a value for each variable of the query, in the order in which they "
        "are first written, spelled as in goals: texts with spaces or commas in quotes.",
        wrong='constat query "customer_revenue(?c, ?r)" --explain-row C001',
        right='constat query "customer_revenue(?c, ?r)" --explain-row "C001, 150"',
        kind="text",
    ),
    Entry(
        "C0662",
        "a frame that cannot be loaded",
        "A data frame or Arrow object holds values that no column of the bulk engine can hold "
        "exactly, mostly decimals with more than twelve places.",
        wrong='evaluate(program, [goal], {"rate": Frame(frame)})',
        right='evaluate(program, [goal], {"rate": Rows(list(frame.itertuples(index=False)))})',
        kind="text",
    ),
    Entry(
        "C0670",
        "a kept result that cannot be read or written",
        "The file is damaged, not a result of this version of Constat, or the disk is full. "
        "Nothing was changed: a result is written beside the old one and takes its place whole.",
        wrong="echo x > .constat/materialized/0123.sqlite\nconstat query ... --materialized",
        right='constat materialize "is_vip(?c)"',
        kind="text",
    ),
    Entry(
        "C0671",
        "answers that are not settled are not kept",
        "Only a set of answers that is settled for certain may be kept: of anything else, a later "
        "look could not tell an answer that is missing from one that is not there.",
        wrong='constat materialize "is_strategic(?c)"',
        right='constat query "is_strategic(?c)"\nconstat materialize "is_vip(?c)"',
        kind="text",
    ),
    Entry(
        "C0672",
        "a source that cannot tell when it changes",
        "A kept result is refused once a source has changed. Where a source has no state with a "
        "name (a project's own tier, some servers), nobody could tell, so nothing is kept.",
        wrong='constat materialize "from_my_tier(?c)"',
        right='constat query "from_my_tier(?c)"',
        kind="text",
    ),
    Entry(
        "C0673",
        "a kept result that is out of date",
        "Rules, configuration, stated facts or a source have changed since it was computed. It is "
        "not used, whether or not the change would make a difference.",
        wrong='constat facts add "tier(C009, gold)"\nconstat query "is_vip(C009)" --materialized',
        right='constat materialize "is_vip(?c)"\nconstat query "is_vip(C009)" --materialized',
        kind="text",
    ),
    Entry(
        "C0674",
        "nothing is kept for a query",
        "`--materialized` answers from the result of the same query, or from that of all rows of "
        "its predicate.",
        wrong='constat query "is_vip(C001)" --materialized',
        right='constat materialize is_vip\nconstat query "is_vip(C001)" --materialized',
        kind="text",
    ),
)
