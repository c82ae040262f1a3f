"""The codes about what sources hold, new projects and their health: C0840 to C0859.

In: nothing. Out: `ENTRIES`. Invariant: no message of these codes quotes a value or an address.
Example: C0846 says that a column holds values that are not of its declared type.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0840",
        "a table or database that is not there",
        "A table is named as `orders`, or as `sales.orders` where several databases have one. What "
        "is in a database that does not answer now is known only if it was seen before.",
        wrong="constat catalog show oders",
        right="constat catalog show sales.orders",
        kind="text",
    ),
    Entry(
        "C0841",
        "a name in `catalog:` that is none of the project's",
        "`samples` and `hidden` name a database, `database.table` or `database.table.column`. A "
        "slip in them would show too little, or hide nothing, so that it is an error.",
        wrong="databases: {sales: 'sqlite:///data/shop.sqlite'}\n"
        "catalog: {hidden: [sale.customers]}",
        right="databases: {sales: 'sqlite:///data/shop.sqlite'}\n"
        "catalog: {hidden: [sales.customers]}",
        kind="project",
    ),
    Entry(
        "C0842",
        "values that may not be shown",
        "Names and types of tables are shown to whoever may read the project, and to a language "
        "model that it asks. Values of rows are not, unless `samples` of `catalog:` names their "
        "database, table or column, or a person says `--allow`.",
        wrong="constat catalog sample customers",
        right="constat catalog sample customers country --allow",
        kind="text",
    ),
    Entry(
        "C0843",
        "a column that is not there",
        "The table has no column of that name, or it is hidden by `catalog:`.",
        wrong="constat catalog sample accounts teir --allow",
        right="constat catalog sample accounts tier --allow",
        kind="text",
    ),
    Entry(
        "C0844",
        "a source that did not answer about a table",
        "It could not be opened, took too long or refused a question of the catalog's. What would "
        "have been found is not known; the table is not taken to be empty or sound.",
        wrong="database `sales` could not be asked about `orders`: it did not finish within 10 s",
        right="catalog: {seconds: 60}",
        kind="text",
    ),
    Entry(
        "C0845",
        "a file that is there already",
        "New files never take the place of others: somebody may have worked on them.",
        wrong="constat catalog draft orders --output sources.dl",
        right="constat catalog draft orders --output orders.dl",
        kind="text",
    ),
    Entry(
        "C0846",
        "values that are not what the column is declared to hold",
        "Some sources store any value in any column. The stored values count: declare the kind "
        "that they are, cast them in the query, or mend the data. A value that cannot be read "
        "makes what depends on it unknown, never false.",
        wrong="CREATE TABLE readings (id INTEGER, level INTEGER); -- level holds 'n/a'",
        right='.input level(source="lab", query="SELECT id, CAST(level AS TEXT) FROM readings")',
        kind="text",
    ),
    Entry(
        "C0847",
        "a key that is none",
        "Rows repeat what is declared to be a key, or have NULL in it. A predicate with that key "
        "would have two rows for one key: none of them would be certain.",
        wrong="@[key = code] .decl country(code: symbol, name: symbol)",
        right=".decl country(code: symbol, name: symbol)",
        kind="text",
    ),
    Entry(
        "C0848",
        "rows that point nowhere",
        "Values of a column are not in the column that it is declared to point to, or that its "
        "name suggests. Rules that join the two find nothing for those rows.",
        wrong="orders.customer_id holds numbers that customers.id has not",
        right="constat catalog show orders --check",
        kind="text",
    ),
    Entry(
        "C0849",
        "rows that are equal",
        "Rows of a predicate are a set: equal ones merge. A query that would merge any is an "
        "error, because a sum over it would be silently wrong, unless it says `distinct`.",
        wrong='.input tag(source="crm", query="SELECT name FROM tags")',
        right='.input tag(source="crm", query="SELECT name FROM tags", distinct="true")',
        kind="text",
    ),
    Entry(
        "C0850",
        "tables that cannot be drafted",
        "The tables of one draft are of one database, columns are chosen for one table at a time, "
        "and at least one column has to hold something else than bytes.",
        wrong="constat catalog draft sales.orders stock.parts",
        right="constat catalog draft sales.orders",
        kind="text",
    ),
    Entry(
        "C0851",
        "a folder that has a project already",
        "`constat init` begins a project and never changes one.",
        wrong="constat init sqlite:///shop.sqlite  # beside a constat.yaml",
        right="constat init sqlite:///shop.sqlite --directory shop",
        kind="text",
    ),
    Entry(
        "C0852",
        "a database that no project can begin with",
        "The address names nothing that can be read: no such file, a kind of file that is not "
        "known, a server that does not answer, or a database without a table that can be read.",
        wrong="constat init shop.docx",
        right="constat init sqlite:///data/shop.sqlite",
        kind="text",
    ),
)
