from __future__ import annotations

import click
import pytest

from constat.cli.run import MemorySize


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("500MB", 500_000_000),
        ("2GB", 2_000_000_000),
        ("1.5GiB", 1_610_612_736),
        ("64mb", 64_000_000),
        (" 3 gb ", 3_000_000_000),
    ],
)
def test_a_size_is_read_with_its_unit(written: str, size: int) -> None:
    assert MemorySize().convert(written, None, None) == size


@pytest.mark.parametrize("written", ["", "2", "GB", "-1GB", "1e3GB", "2 GBs", "1.2345GB"])
def test_what_is_no_size_is_answered_with_an_example(written: str) -> None:
    with pytest.raises(click.BadParameter, match="write `500MB` or `2GB`"):
        MemorySize().convert(written, None, None)


def test_too_little_to_start_with_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="64MB"):
        MemorySize().convert("1MB", None, None)
