"""A sandbox of each level for the tests of a module, and a world that it has to leave alone."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.explore.sandbox import Level, Sandbox, StepLimits, choose_level, unavailable
from constat.store.table_forms import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CANARY_SONG = "the canary sings at dawn"
STRONG = (Level.BUBBLEWRAP, Level.KERNEL)
LIMITS = StepLimits(seconds=10.0, memory=1 << 30, bytes=64 << 20)


def sales(text: str, parameters: Sequence[int | str], seconds: float) -> Table:
    """Answer the queries of steps: their parameters, or a failure that they ask for."""
    assert seconds > 0
    if "nowhere" in text:
        raise QueryMistakeError("there is no such table")
    if "down" in text:
        raise SourceFailureError("the server did not answer")
    return table_of([("n", "number")], [[*map(int, parameters)]])


@pytest.fixture(scope="session")
def boxes() -> Iterator[dict[Level, Sandbox]]:
    """One sandbox of each level, for all tests: no step changes what the next sees."""
    found: dict[Level, Sandbox] = {}
    yield found
    for one in found.values():
        one.close()


def box_of(level: Level, boxes: dict[Level, Sandbox]) -> Sandbox:
    """Give a sandbox, or skip the test with the reason why there is none."""
    reason = unavailable(level)
    if reason:
        pytest.skip(f"{level.value}: {reason}")
    if level not in boxes:
        sources = {"sales": sales, "docs": sales}
        boxes[level] = Sandbox(level, LIMITS, sources=sources, allow_none=True)
    return boxes[level]


@pytest.fixture(params=STRONG, ids=lambda level: level.value)
def box(request: pytest.FixtureRequest, boxes: dict[Level, Sandbox]) -> Sandbox:
    """Give the sandbox of each strong level in turn."""
    return box_of(request.param, boxes)


@pytest.fixture
def steps(boxes: dict[Level, Sandbox]) -> Sandbox:
    """Give the strongest sandbox: what steps may do is the same in each."""
    return box_of(choose_level(allow_none=True), boxes)


def signal_until_gone(group: int) -> None:
    """Look for the group; what was killed is gone a little later."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        os.killpg(group, 0)
        time.sleep(0.01)


@dataclass(frozen=True)
class World:
    """What a step must not reach: a file, a server, and the process that started it."""

    folder: Path
    listener: socket.socket

    @property
    def canary(self) -> Path:
        return self.folder / "canary.txt"

    def filled(self, text: str) -> str:
        """Put the names of the world into the text of an attempt."""
        values = {
            "canary": str(self.canary),
            "folder": str(self.folder),
            "project": str(self.folder / "constat.yaml"),
            "port": str(self.listener.getsockname()[1]),
            "pid": str(os.getpid()),
            "secret": CANARY_SONG,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text

    def unharmed(self) -> bool:
        names = sorted(path.name for path in self.folder.iterdir())
        same = names == ["canary.txt", "constat.yaml"] and self.canary.read_text() == CANARY_SONG
        self.listener.settimeout(0)
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return same
        return False


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = World(folder, listener)
        made.canary.write_text(CANARY_SONG)
        (folder / "constat.yaml").write_text(f"databases: {CANARY_SONG}")
        yield made
