"""No attempt to get out of the sandbox gets anything, at either of the strong levels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from constat.explore.sandbox import Code, Level
from constat.explore.sandbox.sandbox import remark
from tests.explore.sandbox.conftest import CANARY_SONG, box_of, signal_until_gone
from tests.explore.sandbox.escapes import CATEGORIES, CONTROLS, EVERYTHING, PRELUDE

if TYPE_CHECKING:
    from constat.explore.sandbox import Run, Sandbox
    from tests.explore.sandbox.conftest import World

MOST_AT_ONCE = 12
NAMES = sorted(EVERYTHING)
PARTS = [NAMES[start : start + MOST_AT_ONCE] for start in range(0, len(NAMES), MOST_AT_ONCE)]


def got_something(run: Run) -> bool:
    return "escaped" in run.state or "ESCAPED" in run.output or CANARY_SONG in repr(run)


def attempted(box: Sandbox, world: World, name: str) -> Run:
    return box.run(Code(world.filled(EVERYTHING[name])))


def test_there_are_many_attempts_of_every_kind() -> None:
    assert len(EVERYTHING) >= 60
    for kind, names in CATEGORIES.items():
        assert len(names) >= 3, kind
        assert set(names) <= set(EVERYTHING), kind
        # Of each kind there is one that is seen to succeed where nothing confines it.
        assert set(names) & set(CONTROLS), kind


@pytest.mark.parametrize("names", PARTS, ids=lambda names: names[0])
def test_no_attempt_succeeds(
    box: Sandbox, world: World, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONSTAT_CANARY", CANARY_SONG)
    for name in names:
        run = attempted(box, world, name)
        assert not got_something(run), f"{name}: {run.output}"
        assert run.level is box.level
    assert world.unharmed()


def test_what_a_level_leaves_open_is_said(box: Sandbox, world: World) -> None:
    probe = "store.put('size', os.stat('@canary@').st_size)"
    run = box.run(Code(world.filled(PRELUDE + probe)))
    # Where a level hides no names, `constat doctor` and README say so.
    assert (run.state.get("size") == len(CANARY_SONG)) == ("probed" in remark(box.level))


def test_the_same_attempts_succeed_where_nothing_confines_them(
    world: World, boxes: dict[Level, Sandbox]
) -> None:
    # The control: attempts that could never succeed would prove nothing.
    box = box_of(Level.NONE, boxes)
    runs = {name: attempted(box, world, name) for name in CONTROLS}
    assert [name for name, run in runs.items() if not got_something(run)] == []
    assert {run.level for run in runs.values()} == {Level.NONE}
    assert not world.unharmed()
    (world.folder / "new").unlink()
    world.canary.write_text(CANARY_SONG)
    assert box._fork_server is not None
    process = box._fork_server.process.pid
    os.killpg(process, 0)
    box.close()
    with pytest.raises(ProcessLookupError):
        signal_until_gone(process)
