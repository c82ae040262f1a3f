"""No file of the repository names a place that exists on one machine only."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.architecture.sources import ROOT

# Written in pieces, so that this file passes its own test.
_PLACES = ("work", "tmp/bash_jobs", "farm", "root", "home/[a-z]+", "opt/pypi")
MACHINE_PATH = re.compile(rf"(?<![\w.*:/-])/(?:{'|'.join(_PLACES)})/")
REGISTRY = re.compile(r"index-url|https?://|file:|^-f |--find-links", re.MULTILINE)


def tracked_files() -> list[str]:
    outcome = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in outcome.stdout.split("\0") if (ROOT / name).is_file()]


def test_no_file_names_a_place_on_one_machine() -> None:
    found = []
    for name in tracked_files():
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        found += [
            f"{name}: {line.strip()}" for line in text.splitlines() if MACHINE_PATH.search(line)
        ]
    assert found == []


def test_the_lock_names_versions_and_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not REGISTRY.search(lock)
    pins = [line for line in lock.splitlines() if line and not line.lstrip().startswith("#")]
    assert [line for line in pins if "==" not in line] == []


@pytest.mark.parametrize("place", ["work/main", "tmp/bash_jobs/3", "farm/x", "home/ada/notes"])
def test_the_search_for_places_finds(place: str) -> None:
    assert MACHINE_PATH.search(f"open('/{place}/file')")
    assert not MACHINE_PATH.search(f"https://example.org/{place}/file")
