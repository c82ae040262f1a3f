"""What can go wrong between Constat and a server that it reads (C0552 to C0555)."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0552",
        "a driver that is not installed",
        "The uri of a database names a kind of server whose driver cannot be loaded. Drivers of "
        "servers are extras, because most projects read files.",
        wrong="databases: {crm: {uri: 'postgresql://reader:${PGPASSWORD}@db.example/crm'}}",
        right="pip install 'constat[postgresql]'",
        kind="text",
    ),
    Entry(
        "C0553",
        "a server that is not reached",
        "The server did not answer, or had no connection to spare. Address and account are never "
        "shown. What it would have said is unknown; it is never taken for no rows.",
        wrong="database crm: the server cannot be reached [C0553]",
        right="start the server or mend the uri, and prove again",
        kind="text",
    ),
    Entry(
        "C0554",
        "an account that may not read",
        "The server does not accept the account or the password, or the account may not read a "
        "table of the query. An account that may only SELECT is enough, and safest.",
        wrong="database crm: the account may not read what the query reads [C0554]",
        right="GRANT SELECT ON accounts TO reader",
        kind="text",
    ),
    Entry(
        "C0555",
        "a connection that was lost",
        "The server or the network ended the connection while one state was being read. All that "
        "was still to be read from it stays unknown in this evaluation, because a new connection "
        "would read another state. The next evaluation opens a new one.",
        wrong="database crm: the connection was lost while its state was read [C0555]",
        right="prove again",
        kind="text",
    ),
)
