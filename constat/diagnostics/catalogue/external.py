"""The codes of what lies outside the rules (C05): project, sources, tiers, stated facts.

C050x are about `constat.yaml`, C051x about sources and their queries, C052x about what a source
gave or did not give (they stand in brackets in the reasons of UNRESOLVED), C053x about a project's
own tiers, C055x about the facts that people state. Codes never change meaning.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.catalogue import columnar, kept, servers
from constat.diagnostics.entry import Entry

_INPUT: Final = '.decl tier(c: symbol, t: symbol)\n.input tier(source="sales", query="{}")'


_SOLD: Final = (
    ".decl sold(o: number, @[null = {}] t: symbol)\n"
    '.input sold(source = "sales", query = "SELECT o.id, a.tier FROM orders o'
    ' LEFT JOIN accounts a ON a.id = o.customer_id")'
)


def _input(query: str) -> str:
    return _INPUT.format(query)


_PROJECT: Final = (
    Entry(
        "C0500",
        "no project",
        "A project is a folder with a `constat.yaml`. It is looked for in the working folder and "
        "above it; a `pyproject.toml` on the way may name it: `[tool.constat]` with "
        '`project = "examples/vip"`, a folder below that file.',
        wrong='cd /\nconstat prove "is_vip(C001)"',
        right='cd my-project\nconstat prove "is_vip(C001)"',
        kind="text",
    ),
    Entry(
        "C0501",
        "the configuration cannot be read",
        "`constat.yaml` is plain YAML in UTF-8: tables, lists and texts, at most 1 MiB, at most 16 "
        "levels deep, one document. Anchors, aliases and tags are refused: they make a small file "
        "stand for a huge one, or for code.",
        wrong="facts: &f\n  a: 1\nmore: *f\n",
        right="facts:\n  a: 1\n",
        kind="project",
    ),
    Entry(
        "C0502",
        "a key twice",
        "A table has the same key twice, or a key that is not a text. Most YAML readers take the "
        "last one in silence; here neither is taken.",
        wrong="facts:\n  vip_threshold: 100000\n  vip_threshold: 150000\n",
        right="facts:\n  vip_threshold: 150000\n",
        kind="project",
    ),
    Entry(
        "C0503",
        "an unknown key",
        "The configuration has a key that means nothing here. Usually it is misspelled, and what "
        "it should have set would silently keep its default.",
        wrong="fact:\n  vip_threshold: 150000\n",
        right="facts:\n  vip_threshold: 150000\n",
        kind="project",
    ),
    Entry(
        "C0504",
        "a value that does not fit its key",
        "The value has another form than the key asks for: a text, a number above zero, a list, a "
        "table. An empty text among `facts` is written with quotes.",
        wrong="limits:\n  seconds: soon\n",
        right="limits:\n  seconds: 30\n",
        kind="project",
    ),
    Entry(
        "C0505",
        "a path outside the project, or none",
        "`rules` and `state` lie inside the project, after links have been followed. Rules may "
        "also lie in a folder that `libraries` names. The file or folder must be there.",
        wrong="rules: [../../elsewhere.dl]\n",
        right="rules: []\n",
        kind="project",
    ),
    Entry(
        "C0506",
        "a name that is no predicate with facts",
        "`facts`, `closed` and the `predicates` of a tier name predicates that are declared and "
        "that no rule derives. A predicate with rules follows from other facts. What only `facts` "
        "has declares itself, unless its name is nearly that of a predicate without facts.",
        wrong=".decl vip_threshold(x: Decimal)\n// constat.yaml: facts: {vip_treshold: 150000}",
        right=".decl vip_threshold(x: Decimal)\n// constat.yaml: facts: {vip_threshold: 150000}",
        kind="text",
    ),
    Entry(
        "C0507",
        "a configured fact that does not fit its declaration",
        "Values in `facts` are texts until the declaration says what they are: `no` is a text, "
        "never a truth value. A row has a value for each column, in their order or by name.",
        wrong=".decl rate(r: symbol, x: Decimal)\n// constat.yaml: facts: {rate: [[north, high]]}",
        right=".decl rate(r: symbol, x: Decimal)\n// constat.yaml: facts: {rate: [[north, 0.1]]}",
        kind="text",
    ),
    Entry(
        "C0508",
        "configured facts whose values disagree",
        "What `facts` has and no rule file declares is declared by its values: whole numbers, "
        "decimals, dates, timestamps, truth values or texts, all of one type in each column. "
        "Digits such as `007` are a text.",
        wrong="// constat.yaml: facts: {rate: [[north, 0.1], [south, high]]}",
        right=".decl rate(region: symbol, rate: symbol)\n"
        "// constat.yaml: facts: {rate: [[north, 0.1], [south, high]]}",
        kind="text",
    ),
)

_SOURCES: Final = (
    Entry(
        "C0510",
        "an unknown source",
        "`.input` names a source that is neither `config`, nor a database, nor a tier of the "
        "project.",
        wrong='.decl t(c: symbol)\n.input t(source="sale", query="SELECT id FROM t")\n'
        "// constat.yaml: databases: {sales: {uri: sqlite:///shop.sqlite}}",
        right='.decl t(c: symbol)\n.input t(source="sales", query="SELECT id FROM t")\n'
        "// constat.yaml: databases: {sales: {uri: sqlite:///shop.sqlite}}",
        kind="text",
    ),
    Entry(
        "C0511",
        "a connection needs an environment variable",
        "The uri of a database has `${NAME}`, and NAME is not set. It is asked for only when the "
        "database is needed, and its value is never shown.",
        wrong="databases: {sales: {uri: 'sqlite:///${SHOP}/shop.sqlite'}}",
        right="export SHOP=data\ndatabases: {sales: {uri: 'sqlite:///${SHOP}/shop.sqlite'}}",
        kind="text",
    ),
    Entry(
        "C0512",
        "a connection that cannot be used",
        "The uri is not one that this version reads. An SQLite file is `sqlite:///` and a path "
        "relative to the project, inside it; with a fourth slash the path is absolute. A server "
        "is for example `postgresql://user:${PASSWORD}@host/name`, `mysql://` or `mariadb://`.",
        wrong="databases: {sales: {uri: 'sqlite:///../shop.sqlite'}}",
        right="databases: {sales: {uri: 'sqlite:///data/shop.sqlite'}}",
        kind="text",
    ),
    Entry(
        "C0513",
        "an `.input` or key that says something unknown",
        "An `.input` with a database as its source has a `query`, and may have `null`, `distinct` "
        "and `max_age`; with `config` it may have `key`. `null` is `error`, `skip` or `unknown`. "
        "The `@[key = ...]` of a predicate names its columns.",
        wrong='.decl t(c: symbol)\n.input t(source="sales", quey="SELECT id FROM t")',
        right='.decl t(c: symbol)\n.input t(source="sales", query="SELECT id FROM t")',
        kind="text",
    ),
    Entry(
        "C0515",
        "a query that cannot run",
        "The query is no SQL of its source, or names a column that is not there.",
        wrong=_input("SELECT id tier FROM"),
        right=_input("SELECT id, tier FROM accounts"),
        kind="text",
    ),
    Entry(
        "C0516",
        "a query that is not allowed",
        "A query is one SELECT over tables of its source. It does not write, lock or attach, takes "
        "no parameters, uses only functions that compute from their arguments, and is of bounded "
        "size and depth. What is not known to be harmless is refused.",
        wrong=_input("DELETE FROM accounts"),
        right=_input("SELECT id, tier FROM accounts"),
        kind="text",
    ),
    Entry(
        "C0517",
        "an unknown table",
        "The query reads a table or view that the source does not have.",
        wrong=_input("SELECT id, tier FROM acounts"),
        right=_input("SELECT id, tier FROM accounts"),
        kind="text",
    ),
    Entry(
        "C0518",
        "another number of columns than declared",
        "Columns are taken by position, so a query gives exactly the declared columns in their "
        "order. Their names in the source do not matter.",
        wrong=_input("SELECT id, name, tier FROM accounts"),
        right=_input("SELECT id, tier FROM accounts"),
        kind="text",
    ),
    Entry(
        "C0519",
        "a null that the query makes",
        "`maybe` and `unknown` speak of one cell of a source. Where the query merges rows, "
        "computes the column, or joins a table that need not have a partner, a NULL is none of "
        "those: say what it means, `none` or `skip`, or select the column of a table as it is.",
        wrong=_SOLD.format("maybe"),
        right=_SOLD.format("none"),
        kind="text",
    ),
)

_ANSWERS: Final = (
    Entry(
        "C0520",
        "a source that does not answer",
        "The file is missing, locked, damaged or not a database. What it would have said is "
        "unknown, so the goal may stay UNRESOLVED; it is never taken for no rows.",
        wrong="database sales: SQLite says: database is locked [C0520]",
        right="end the program that writes the database, and prove again",
        kind="text",
    ),
    Entry(
        "C0521",
        "a query that takes too long",
        "The query was stopped at its limit, `query_seconds` under `limits`, or `seconds` of the "
        "database. What it had not given yet is unknown.",
        wrong="limits: {query_seconds: 1}",
        right="limits: {query_seconds: 60}",
        kind="text",
    ),
    Entry(
        "C0522",
        "a query that gives too many rows",
        "The query was stopped at its limit, `query_rows` under `limits`, or `rows` of the "
        "database. What it had not given yet is unknown. Often a join lacks its condition.",
        wrong=_input("SELECT a.id, b.tier FROM accounts a, accounts b"),
        right=_input("SELECT id, tier FROM accounts"),
        kind="text",
    ),
    Entry(
        "C0523",
        "equal rows",
        "A relation is a set. Where a query gives equal rows they would become one, and a sum "
        "over them would be wrong without a word. Select the row's own key too, or say "
        "`distinct` where repetition means nothing.",
        wrong='.decl paid(c: symbol, x: Decimal)\n.input paid(source="sales", query='
        '"SELECT customer_id, amount FROM orders")',
        right='.decl paid(c: symbol, o: symbol, x: Decimal)\n.input paid(source="sales", query='
        '"SELECT customer_id, id, amount FROM orders")',
        kind="text",
    ),
    Entry(
        "C0524",
        "NULL where a value is expected",
        'NULL is never a value. `null = "skip"` leaves such rows out. Under the others the row '
        'stays: `"none"` says that there is no value, `"unknown"` that nobody knows it, `"maybe"` '
        "leaves that open. A column's `@[null = ...]` beats that of its `.input`.",
        wrong=_input("SELECT id, tier FROM accounts"),
        right=_input("SELECT id, tier FROM accounts").replace(
            'accounts")', 'accounts", null="maybe")'
        ),
        kind="text",
    ),
    Entry(
        "C0525",
        "a cell that is no value of its column",
        "The source holds something that is not exactly of the declared type: text in a number "
        "column, a fraction for an integer, a time of day in a Date, bytes, a text that is no "
        "value of a record or an algebraic data type.",
        wrong=".decl born(c: symbol, d: Date)\n// the source has 1990-05-01 10:30:00",
        right=".decl born(c: symbol, d: Timestamp)\n// the source has 1990-05-01 10:30:00",
        kind="text",
    ),
    Entry(
        "C0530",
        "a tier that cannot be used",
        "A project's own tier is named by `factory`, a module that can be imported and a callable "
        "in it, or by an entry point of the group `constat.tiers`. The callable takes "
        "`TierSettings` and gives an object with `name`, `cost`, `configured` and `answer`.",
        wrong="tiers: {crm: {factory: acme.tiers}}",
        right='tiers: {crm: {factory: "acme.tiers:crm"}}',
        kind="text",
    ),
    Entry(
        "C0550",
        "the file of stated facts cannot be used",
        "It is damaged, locked, not writable, or not a file of Constat. Nothing was changed or "
        "deleted; mend the file, or put a copy in its place.",
        wrong="echo x > .constat/facts.sqlite\nconstat facts list",
        right="mv .constat/facts.sqlite damaged.sqlite\nconstat facts list",
        kind="text",
    ),
    Entry(
        "C0551",
        "a fact that cannot be kept",
        "Whoever states a fact has a name, and texts hold neither NUL nor half characters.",
        wrong='constat facts add "tier(C009, gold)" --by ""',
        right='constat facts add "tier(C009, gold)" --by alice',
        kind="text",
    ),
)

ENTRIES: Final = (
    *_PROJECT,
    *_SOURCES,
    *_ANSWERS,
    *kept.ENTRIES,
    *servers.ENTRIES,
    *columnar.ENTRIES,
)
