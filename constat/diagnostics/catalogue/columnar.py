"""The codes C0540 to C0544: DuckDB files, and CSV, Parquet and JSON lines."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_INPUT: Final = '.decl at(c: symbol, d: symbol)\n.input at(source="shop", query="{}")'

ENTRIES: Final = (
    Entry(
        "C0540",
        "a column of a type that no declared kind can hold",
        "A query of DuckDB gives a list, a structure, JSON, a time of day, an interval or bits. "
        "Take the part that is meant, or say by a cast how it is to be written as text.",
        wrong=_INPUT.format("SELECT id, opens FROM shops"),
        right=_INPUT.format("SELECT id, CAST(opens AS VARCHAR) FROM shops"),
        kind="text",
    ),
    Entry(
        "C0541",
        "a table without its files",
        "A file named under `files` is not there, no file matches its pattern, or a link leads "
        "out of the project. What it would have said is unknown, never no rows.",
        wrong='databases: {shop: {files: {orders: "data/oders-*.csv"}}}',
        right='databases: {shop: {files: {orders: "data/orders-*.csv"}}}',
        kind="text",
    ),
    Entry(
        "C0542",
        "a file that changed while it was read",
        "All that one evaluation reads of a source is of one state. A file was written or replaced "
        "in the middle of it, so what was read of it may be of two. Prove again; where files are "
        "replaced often, write a new one and rename it into its place.",
        wrong="database shop: a file of the table orders changed while it was read [C0542]",
        right="mv data/orders.new data/orders.csv\nprove again",
        kind="text",
    ),
    Entry(
        "C0543",
        "a damaged file",
        "A line has more or fewer fields than the first line names, a quote is not closed, a line "
        "is no JSON object, text is not UTF-8, a Parquet file is cut off, or the files of one "
        "table have different columns. Nothing of such a table is used.",
        wrong="id,name\nC001,Ann\nC002",
        right="id,name\nC001,Ann\nC002,Bob",
        kind="text",
    ),
    Entry(
        "C0544",
        "a value that a query cannot convert or compute",
        "A cast or a function of the query failed for some value. The value is not shown. "
        "`TRY_CAST` gives NULL instead, which the null policy then decides about.",
        wrong=_INPUT.format("SELECT id, day::DATE FROM visits"),
        right=_INPUT.format("SELECT id, TRY_CAST(day AS DATE) FROM visits"),
        kind="text",
    ),
)
