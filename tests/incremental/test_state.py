"""What is kept current survives its process, also one that is killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from constat.incremental import Fact, Maintained, StateFile
from tests.incremental.test_maintaining import PATHS, SALES, come, go, program

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Row

_WRITER = """
import sys
from pathlib import Path
from constat.incremental import Fact, Maintained, StateFile
from tests.incremental.test_maintaining import PATHS, program
kept = Maintained(program(PATHS), ["path"], {"edge": [(0, 1)]})
state = StateFile(Path(sys.argv[1]))
state.save(kept, {"last": 1})
print("begun", flush=True)
for n in range(1, 100_000):
    kept.update([Fact("edge", (n % 50, n % 7)), Fact("edge", (n % 11, n % 5), gone=True)])
    state.append(kept, {"last": n})
"""


def restored(path: Path, text: str, wanted: list[str]) -> Maintained:
    kept = Maintained(program(text), wanted)
    with closing(StateFile(path)) as state:
        assert state.load(kept)
    return kept


def test_another_process_goes_on_where_the_first_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    rows: dict[str, list[Row]] = {
        "sale": [(1, "a", 5), (2, "b", 7)],
        "shop": [("a",), ("b",)],
        "closed": [],
    }
    kept = Maintained(program(SALES), ["total", "sales"], rows)
    with closing(StateFile(path)) as state:
        state.save(kept, {"rules": "1"})
        kept.update([come("sale", 3, "c", 1), come("shop", "c"), go("sale", 1, "a", 5)])
        state.append(kept, {"rules": "2"})
        assert state.about() == {"rules": "2"}
    again = restored(path, SALES, ["total", "sales"])
    assert {n: set(one) for n, one in again.relations.items()} == {
        n: set(one) for n, one in kept.relations.items()
    }
    again.update([go("shop", "c")])
    assert set(again.rows("total")) == {("a", 0), ("b", 7)}


def test_the_rounds_of_rows_are_kept_over_random_updates(tmp_path: Path) -> None:
    path, random = tmp_path / "a.duckdb", Random(3)
    kept = Maintained(program(PATHS), ["path"], {"edge": [(n, n + 1) for n in range(8)]})
    with closing(StateFile(path)) as state:
        state.save(kept, {})
        for _ in range(60):
            edge = (random.randrange(9), random.randrange(9))
            kept.update([Fact("edge", edge, gone=random.random() < 0.5)])
            state.append(kept, {})
    again = restored(path, PATHS, ["path"])
    path_of = kept.relations["path"]
    assert {row: again.relations["path"].mark(row) for row in again.rows("path")} == {
        row: path_of.mark(row) for row in path_of
    }


def test_a_file_of_other_rules_or_none_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    kept = Maintained(program(PATHS), ["path"])
    with closing(StateFile(path)) as state:
        assert not state.load(kept)
    path.write_bytes(b"no database")
    with closing(StateFile(path)) as state:
        assert state.about() is None
        state.save(Maintained(program(PATHS), ["path"], {"edge": [(1, 2)]}), {"a": 1})
        assert state.about() == {"a": 1}
    with closing(StateFile(path)) as state:
        assert not state.load(Maintained(program(SALES), ["total"]))


@pytest.mark.faults
def test_a_writer_that_is_killed_leaves_a_whole_update(tmp_path: Path) -> None:
    for number in range(4):
        path = tmp_path / f"{number}.duckdb"
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        time.sleep(0.2 + 0.3 * number)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        again = restored(path, PATHS, ["path"])
        anew = Maintained(program(PATHS), ["path"], {"edge": again.rows("edge")})
        assert set(again.rows("path")) == set(anew.rows("path"))
