"""The guard of the tests refuses every machine but this one."""

from __future__ import annotations

import socket
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.conftest import NetworkBlockedError

# An address that is reserved for documentation: nothing answers there even without the guard.
ELSEWHERE = "192.0.2.1"


def test_a_connection_to_another_machine_is_refused() -> None:
    with socket.socket() as client:
        client.settimeout(1)
        with pytest.raises(NetworkBlockedError, match=ELSEWHERE):
            client.connect((ELSEWHERE, 80))
        with pytest.raises(NetworkBlockedError, match=ELSEWHERE):
            client.connect_ex((ELSEWHERE, 80))


def test_a_name_of_another_machine_is_not_looked_up() -> None:
    with pytest.raises((NetworkBlockedError, URLError), match=r"loopback"):
        urlopen("http://constat.invalid/", timeout=1)


def test_the_loopback_interface_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        # The backlog takes the connection; nobody needs to be accepting yet.
        with socket.create_connection(("localhost", port), timeout=5) as client:
            accepted, address = server.accept()
            accepted.close()
            assert address == client.getsockname()
