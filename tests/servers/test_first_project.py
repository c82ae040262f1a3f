"""A newcomer's way on a real server: init, the first goal, doctor, and every catalog command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.running import run
from tests.servers.test_schema import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.servers.leasing import ServedDatabase


def test_a_project_begins_with_the_address_of_a_server(
    source: ServedDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.run(*TABLES)
    folder, secret = tmp_path / "new", source.server.password
    begun = run("init", source.uri, "--directory", folder)
    assert begun.code == 0, begun
    written = "".join(
        path.read_text() for path in folder.rglob("*") if path.suffix in {".dl", ".yaml"}
    )
    assert secret not in written + begun.out + begun.err
    (variable,) = re.findall(r"write `(\w+)=...` into", begun.out)
    (goal,) = re.findall(r'next: constat prove "(.*)" --project', begun.out)
    # Without the password the doctor says what to set.
    told = run("doctor", "--project", folder)
    assert (told.code, variable in told.out) == (2, True)
    # A file beside the configuration sets it as well as the environment does.
    (folder / ".env").write_text(f"{variable}={secret}\n")
    assert run("doctor", "--project", folder).code == 0
    (folder / ".env").unlink()
    monkeypatch.setenv(variable, secret)
    assert run("doctor", "--project", folder).code == 0
    proved = run("prove", goal, "--project", folder)
    assert (proved.code, proved.out.partition(":")[0]) == (0, "PROVED")


def test_the_catalog_commands_tell_of_a_server(source: ServedDatabase, tmp_path: Path) -> None:
    source.run(*TABLES)
    text = f'databases: {{sales: {{uri: "{source.uri}"}}}}\n'
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")

    def told(*words: str) -> str:
        ran = run("catalog", *words, "--project", tmp_path)
        assert ran.code == 0, ran
        return ran.out

    assert "sales.orders" in told("list", "sales")
    assert "customer_id" in told("show", "orders")
    assert "sales.orders.amount" in told("search", "amount")
    assert "Ada" in told("sample", "customers", "name", "--allow")
    assert "3 tables" in told("refresh")
    draft = " ".join(told("draft", "orders", "customers").split())
    assert "@[key = id]" in draft
    assert "@[null = maybe] customer_id: number" in draft
    assert ".input orders(" in draft
    assert "@[says" in draft


def test_a_constant_that_a_server_has_not_is_named_with_the_nearest(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run(
        "CREATE TABLE person (id integer PRIMARY KEY, city varchar(20) NOT NULL)",
        "INSERT INTO person VALUES (1, 'Rome'), (2, 'QUICK')",
    )
    begun = run("init", source.uri, "--directory", tmp_path)
    (variable,) = re.findall(r"write `(\w+)=...` into", begun.out)
    (tmp_path / ".env").write_text(f"{variable}={source.server.password}\n")
    ran = run("prove", "person(id = 2, city = quick)", "--project", tmp_path)
    assert ran.code == 5
    assert 'there is "QUICK": write "QUICK"' in ran.err
