"""A join of a table with a collection: the keys of the first go to the store, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench import bench_stores

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import stores


def test_keys_of_a_table_are_sent_to_a_store_in_batches(
    store_server: stores.Served, tmp_path: Path
) -> None:
    bench_stores.fill(store_server, 600)
    found = bench_stores.measure(store_server, tmp_path, 600, 20)
    join, everything = found["join"], found["everything"]
    if not everything[2]:
        pytest.skip(f"the driver of {store_server.kind} goes past the proxy that counts")
    # Twenty of six hundred documents; what else is sent does not grow with the collection.
    assert join[2] * 4 < everything[2]
    assert join[0] <= everything[0] + 20
