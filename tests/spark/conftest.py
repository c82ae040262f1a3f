"""A Spark Connect server on the loopback interface: Sail, in this process.

`CONSTAT_SPARK` names another one that runs already, as one of the JVM, for the same tests.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import pytest

from constat.project.settings import SparkSetting

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def spark_server() -> Iterator[str]:
    """Give the address of a server; without the wheels its tests are skipped."""
    if "CONSTAT_SPARK" in os.environ:
        yield os.environ["CONSTAT_SPARK"]
        return
    reason = "Spark's client and Sail are not installed (`make spark`)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pysail = pytest.importorskip("pysail.spark", reason=reason)
        pytest.importorskip("pyspark", reason=reason)
    server = pysail.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield f"sc://127.0.0.1:{server.listening_address[1]}"
    server.stop()


@pytest.fixture
def spark(spark_server: str) -> SparkSetting:
    """Give what a project says of the server."""
    return SparkSetting(spark_server)
