"""A Spark Connect server on the loopback interface: Sail, in a process of its own.

`CONSTAT_SPARK` names another one that runs already, as one of the JVM, for the same tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import pytest

from constat.project.settings import SparkSetting

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVER: Final = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def _served() -> Iterator[str]:
    """Start a server, and end it whatever it does."""
    if find_spec("pysail") is None or find_spec("pyspark") is None:
        pytest.skip("Spark's client and Sail are not installed (`make spark`)")
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdout is not None
        yield f"sc://127.0.0.1:{int(child.stdout.readline())}"
    finally:
        child.kill()
        child.communicate()


@pytest.fixture(scope="session")
def spark_server() -> Iterator[str]:
    """Give the address of a server; without the wheels its tests are skipped."""
    if "CONSTAT_SPARK" in os.environ:
        yield os.environ["CONSTAT_SPARK"]
        return
    with _served() as address:
        yield address


@pytest.fixture
def busy_server() -> Iterator[str]:
    """Give the address of a server for one test, which may leave it busy."""
    with _served() as address:
        yield address


@pytest.fixture
def spark(spark_server: str) -> SparkSetting:
    """Give what a project says of the server."""
    return SparkSetting(spark_server)
