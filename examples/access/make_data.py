"""Build the example's database: accounts, roles and grants, the same rows on every machine.

In: nothing.  Out: `data/directory.sqlite` beside this file, or the path given as the only argument.
Invariant: the rows depend on the seed alone; the file appears complete or not at all.

    python examples/access/make_data.py
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

SEED: Final = 359
ACCOUNTS: Final = 120
REQUESTS: Final = 80
LAST_DAY: Final = date(2026, 6, 30)
SECOND_ROLE: Final = 0.3
GONE: Final = 0.08
OFF: Final = 0.1

SCHEMA: Final = """
CREATE TABLE accounts (id TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL, last_login TEXT);
CREATE TABLE staff (account_id TEXT NOT NULL, left_on TEXT);
CREATE TABLE roles (id TEXT PRIMARY KEY NOT NULL);
CREATE TABLE role_hierarchy (senior_id TEXT NOT NULL, junior_id TEXT NOT NULL);
CREATE TABLE role_permissions (
    role_id TEXT NOT NULL, operation TEXT NOT NULL, object TEXT NOT NULL
);
CREATE TABLE assignments (
    account_id TEXT NOT NULL, role_id TEXT NOT NULL, PRIMARY KEY (account_id, role_id)
);
CREATE TABLE direct_permissions (
    account_id TEXT NOT NULL, operation TEXT NOT NULL, object TEXT NOT NULL
);
CREATE TABLE prohibitions (
    account_id TEXT, role_id TEXT, operation TEXT NOT NULL, object TEXT NOT NULL
);
CREATE TABLE delegations (
    lender_id TEXT NOT NULL, borrower_id TEXT NOT NULL, role_id TEXT NOT NULL,
    first_day TEXT NOT NULL, last_day TEXT NOT NULL
);
CREATE TABLE usage_log (
    account_id TEXT NOT NULL, operation TEXT NOT NULL, object TEXT NOT NULL, day TEXT NOT NULL
);
CREATE TABLE accepted_risks (
    account_id TEXT NOT NULL, rule_name TEXT NOT NULL, approver_id TEXT NOT NULL,
    last_day TEXT NOT NULL
);
CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, account_id TEXT NOT NULL);
CREATE TABLE session_roles (session_id TEXT NOT NULL, role_id TEXT NOT NULL);
CREATE TABLE requests (
    id TEXT PRIMARY KEY NOT NULL, requester_id TEXT NOT NULL, object TEXT NOT NULL
);
CREATE TABLE approvals (request_id TEXT NOT NULL, approver_id TEXT NOT NULL);
"""

HIERARCHY: Final = (
    ("team_lead", "payment_clerk"),
    ("payment_clerk", "payment_creator"),
    ("payment_clerk", "reader"),
    ("controller", "payment_approver"),
    ("controller", "reader"),
    ("treasurer", "cash_keeper"),
    ("head_of_finance", "team_lead"),
    ("head_of_finance", "controller"),
    ("buyer", "requester"),
    ("warehouse", "receiver"),
    ("accountant", "ledger_keeper"),
)
PLAIN_ROLES: Final = ("vendor_desk", "archivist")
ROLE_PERMISSIONS: Final = (
    ("payment_creator", "create", "payment"),
    ("payment_approver", "approve", "payment"),
    ("reader", "read", "ledger"),
    ("ledger_keeper", "write", "ledger"),
    ("cash_keeper", "open", "safe"),
    ("vendor_desk", "create", "vendor"),
    ("requester", "create", "purchase"),
    ("receiver", "confirm", "delivery"),
)
# These accounts are part of the documentation; their rows are not left to chance.
TOLD_ACCOUNTS: Final = (
    ("anna", "on", "2026-06-29"),
    ("boris", "on", "2026-06-30"),
    ("chen", "on", "2026-04-01"),
    ("diego", "on", "2026-03-31"),
    ("elif", "off", "2025-11-30"),
    ("farid", "on", "2026-06-28"),
    ("batch7", "on", "2026-06-30"),
)
TOLD_STAFF: Final = ("anna", "boris", "chen", "diego", "farid")
TOLD_ASSIGNMENTS: Final = (
    # Anna comes to both sides of a payment, each by a chain of roles of its own.
    ("anna", "team_lead"),
    ("anna", "controller"),
    ("boris", "controller"),
    ("boris", "vendor_desk"),
    ("chen", "payment_clerk"),
    ("chen", "reader"),
    ("diego", "treasurer"),
    ("elif", "accountant"),
    # Farid asks for goods, receives them and creates the payment: three of the limited set.
    ("farid", "buyer"),
    ("farid", "warehouse"),
    ("farid", "payment_clerk"),
)
TOLD_DIRECT: Final = (("chen", "read", "ledger"), ("diego", "write", "ledger"))
TOLD_PROHIBITIONS: Final = (
    ("boris", None, "create", "vendor"),
    (None, "archivist", "open", "safe"),
)
TOLD_DELEGATIONS: Final = (
    ("boris", "chen", "payment_approver", "2026-06-15", "2026-06-30"),
    ("boris", "diego", "payment_approver", "2026-06-01", "2026-06-29"),
    ("chen", "diego", "treasurer", "2026-06-01", "2026-07-31"),
)
TOLD_RISKS: Final = (("anna", "four eyes on payments", "boris", "2026-06-29"),)
TOLD_SESSIONS: Final = (("S1", "anna"), ("S2", "diego"))
TOLD_SESSION_ROLES: Final = (("S1", "team_lead"), ("S2", "controller"))
TOLD_REQUESTS: Final = (("R001", "anna", "payment"), ("R002", "chen", "payment"))
TOLD_APPROVALS: Final = (("R001", "anna"), ("R002", "boris"))


def roles() -> list[str]:
    """Give every role once, in a fixed order."""
    return list(dict.fromkeys([*(one for pair in HIERARCHY for one in pair), *PLAIN_ROLES]))


def accounts(chance: random.Random, most: int) -> list[tuple[str, str, str | None]]:
    """Give accounts; some are off, some nobody has used for long."""
    rows: list[tuple[str, str, str | None]] = list(TOLD_ACCOUNTS)
    for number in range(1, most + 1):
        state = "off" if chance.random() < OFF else "on"
        last = LAST_DAY - timedelta(days=chance.randrange(120))
        rows.append((f"u{number:03d}", state, last.isoformat()))
    return rows


def staff(chance: random.Random, most: int) -> list[tuple[str, str | None]]:
    """Give who works here; some have left, and their accounts are still there."""
    rows: list[tuple[str, str | None]] = [(name, None) for name in TOLD_STAFF]
    for number in range(1, most + 1):
        left = "2026-05-31" if chance.random() < GONE else None
        rows.append((f"u{number:03d}", left))
    return rows


def assignments(chance: random.Random, most: int) -> list[tuple[str, str]]:
    """Give one role to each account, and to some a second one."""
    rows = list(TOLD_ASSIGNMENTS)
    given = [one for one in roles() if one != "archivist"]
    for number in range(1, most + 1):
        count = 2 if chance.random() < SECOND_ROLE else 1
        rows += [(f"u{number:03d}", one) for one in sorted(chance.sample(given, count))]
    return rows


def requests(
    chance: random.Random, most: int
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """Give requests and who approved them: mostly somebody else, sometimes nobody."""
    made = list(TOLD_REQUESTS)
    approved = list(TOLD_APPROVALS)
    for number in range(len(made) + 1, most * REQUESTS // ACCOUNTS + 1):
        requester = f"u{chance.randint(1, most):03d}"
        made.append((f"R{number:03d}", requester, "payment"))
        approver = f"u{chance.randint(1, most):03d}"
        if chance.random() < SECOND_ROLE:
            approved.append((f"R{number:03d}", approver))
    return made, approved


def used(chance: random.Random, most: int) -> list[tuple[str, str, str, str]]:
    """Give what was done; the log holds the same thing twice on some days."""
    rows = [
        ("anna", "create", "payment", "2026-03-02"),
        ("anna", "create", "payment", "2026-03-02"),
    ]
    for _ in range(most * 2):
        day = LAST_DAY - timedelta(days=chance.randrange(365))
        _, operation, thing = chance.choice(ROLE_PERMISSIONS)
        user = f"u{chance.randint(1, most):03d}"
        rows.append((user, operation, thing, day.isoformat()))
    return rows


def fill(connection: sqlite3.Connection, most: int) -> None:
    """Write all rows."""
    chance = random.Random(SEED)
    write = connection.executemany
    write("INSERT INTO accounts VALUES (?, ?, ?)", accounts(chance, most))
    write("INSERT INTO staff VALUES (?, ?)", staff(chance, most))
    write("INSERT INTO roles VALUES (?)", [(one,) for one in roles()])
    write("INSERT INTO role_hierarchy VALUES (?, ?)", HIERARCHY)
    write("INSERT INTO role_permissions VALUES (?, ?, ?)", ROLE_PERMISSIONS)
    write("INSERT INTO assignments VALUES (?, ?)", assignments(chance, most))
    write("INSERT INTO direct_permissions VALUES (?, ?, ?)", TOLD_DIRECT)
    write("INSERT INTO prohibitions VALUES (?, ?, ?, ?)", TOLD_PROHIBITIONS)
    write("INSERT INTO delegations VALUES (?, ?, ?, ?, ?)", TOLD_DELEGATIONS)
    write("INSERT INTO accepted_risks VALUES (?, ?, ?, ?)", TOLD_RISKS)
    write("INSERT INTO sessions VALUES (?, ?)", TOLD_SESSIONS)
    write("INSERT INTO session_roles VALUES (?, ?)", TOLD_SESSION_ROLES)
    made, approved = requests(chance, most)
    write("INSERT INTO requests VALUES (?, ?, ?)", made)
    write("INSERT INTO approvals VALUES (?, ?)", approved)
    write("INSERT INTO usage_log VALUES (?, ?, ?, ?)", used(chance, most))


def build(path: Path, accounts_made: int = ACCOUNTS) -> None:
    """Write the database; an older file is replaced in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            fill(connection, accounts_made)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    chosen = sys.argv[1:2] or [str(Path(__file__).resolve().parent / "data" / "directory.sqlite")]
    build(Path(chosen[0]))
    print(f"wrote {Path(chosen[0]).name}")


if __name__ == "__main__":
    main()
