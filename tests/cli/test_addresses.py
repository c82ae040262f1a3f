"""Where a source lies and who may read it is said nowhere but in the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.catalog.schema_worlds import sqlite_file
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "hushhush"
# A source that answers, and sources that are not there: their failures are in the certificate.
ADDRESSES = (
    "sqlite:////{folder}/hushhush/shop.sqlite",
    "sqlite:////{folder}/hushhush/gone.sqlite",
    "duckdb:////{folder}/hushhush/gone.duckdb",
    "postgresql://hushhush-user:hushhush-word@127.0.0.1:1/hushhush-base?application_name=hushhush",
    "mysql+pymysql://hushhush-user:hushhush-word@127.0.0.1:1/hushhush-base",
)
RULES = """
.pragma "constat" "0.1"
.decl orders(id: number, c: symbol)
.input orders(source = "sales", query = "SELECT id, customer_id FROM orders")
.decl buys(c: symbol)
buys(?c) :- orders(?i, ?c), ?i > 0.
"""


@pytest.fixture(params=ADDRESSES, ids=("there", "sqlite", "duckdb", "postgresql", "mysql"))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    far = tmp_path / CANARY
    far.mkdir()
    sqlite_file(far / "shop.sqlite")
    home = tmp_path / "project"
    home.mkdir()
    (home / "r.dl").write_text(RULES, encoding="utf-8")
    address = request.param.format(folder=str(tmp_path).lstrip("/"))
    configured = {"databases": {"sales": {"uri": address}}, "rules": ["r.dl"], "log": "true"}
    (home / "constat.yaml").write_text(json.dumps(configured), encoding="utf-8")
    return home


def told(project: Path) -> Iterator[str]:
    """Give whatever a person, another program or an auditor gets to see."""
    certificate = project.parent / "c.json"
    for command in (
        ("prove", "buys(alice)", "--certificate", certificate, "--trace-calls", "--keep"),
        ("prove", "buys(alice)", "--format", "json", "--log", "--by", "ada"),
        ("query", "buys(?c)", "--format", "json"),
        ("query", "buys(?c)", "--engine", "forward"),
        ("why-not", "buys(bob)"),
        ("missing", "buys(bob)"),
        ("explain-plan", "buys(?c)"),
        ("log", "list"),
        ("log", "show", "1", "--format", "json"),
        ("log", "export", "--to", "jsonl"),
    ):
        ran = run(*command, "--project", project)
        assert ran.code != 70, ran.err
        yield ran.out + ran.err
    yield certificate.read_text()
    for form in (
        "html",
        "csv",
        "markdown",
        "svg",
        "prov-json",
        "openlineage",
        "ro-crate",
        "in-toto",
    ):
        ran = run("export", certificate, "--to", form)
        yield ran.out + ran.err
    for file in (project / ".constat").rglob("*"):
        if file.is_file():
            yield file.read_bytes().decode(errors="replace")


def test_no_address_and_no_account_is_told(project: Path) -> None:
    for text in told(project):
        assert CANARY not in text
