"""Fixtures that give a fresh database on a real server, or skip where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests import extras
from tests.servers import keeper, stores
from tests.servers.leasing import ServedDatabase, Server, leased

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _place(factory: pytest.TempPathFactory) -> Path:
    """Give a folder that all processes of one test run share."""
    base = factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "servers"


def _server(kind: str, factory: pytest.TempPathFactory) -> Iterator[Server]:
    extras.need("postgres" if kind == "postgresql" else kind)
    reason = keeper.missing(kind)
    if reason:
        pytest.skip(reason)
    with leased(kind, _place(factory)) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server("postgresql", tmp_path_factory)


@pytest.fixture(scope="session")
def mariadb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server("mariadb", tmp_path_factory)


@pytest.fixture
def postgresql(postgresql_server: Server) -> Iterator[ServedDatabase]:
    with postgresql_server.fresh() as database:
        yield database


@pytest.fixture
def mariadb(mariadb_server: Server) -> Iterator[ServedDatabase]:
    with mariadb_server.fresh() as database:
        yield database


@pytest.fixture(params=["postgresql", "mariadb"])
def source(request: pytest.FixtureRequest) -> Iterator[ServedDatabase]:
    """Give a database of each kind of server in turn."""
    server: Server = request.getfixturevalue(f"{request.param}_server")
    with server.fresh() as database:
        yield database


@pytest.fixture(scope="session", params=stores.BUCKETS)
def object_server(request: pytest.FixtureRequest) -> Iterator[stores.Served]:
    """Give a server of each kind of objects in turn; its setting is its address."""
    extras.need("stores")
    kind: str = request.param
    reason = stores.missing(kind)
    if reason:
        pytest.skip(reason)
    with stores.served(kind) as server:
        yield server


@pytest.fixture(scope="session", params=stores.KINDS)
def store_server(request: pytest.FixtureRequest) -> Iterator[stores.Served]:
    """Give a server of each kind of document store in turn."""
    extras.need("stores")
    kind: str = request.param
    reason = stores.missing(kind)
    if reason:
        pytest.skip(reason)
    with stores.served(kind) as server:
        yield server
