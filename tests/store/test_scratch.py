"""Folders for what is spilled: there while they are used, gone afterwards, whatever happened."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, signal, sys
from pathlib import Path
from constat.store.replacing import Scratch
scratch = Scratch(Path(sys.argv[1]))
(scratch.path / "spilled").write_text("rows")
os.kill(os.getpid(), signal.SIGKILL)
"""

KILLED_WHILE_IT_REMOVES = """
import os, signal, sys
from pathlib import Path
from constat.store.replacing import Scratch
left = int(sys.argv[2])
scratch = Scratch(Path(sys.argv[1]))
for name in "abcdef":
    (scratch.path / name).write_text("rows")
(scratch.path / "deep").mkdir()
(scratch.path / "deep" / "g").write_text("rows")

def hook(event, _):
    global left
    if event in {"os.remove", "os.rmdir"}:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
scratch.close()
"""


def test_a_folder_goes_when_it_is_closed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "deep" / "below")
    (scratch.path / "spilled").write_text("rows", encoding="utf-8")
    scratch.close()
    scratch.close()
    assert list((tmp_path / "deep" / "below").iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    assert (left[0] / "spilled").exists()
    scratch = Scratch(tmp_path)
    assert list(tmp_path.iterdir()) == [scratch.path]
    scratch.close()


@pytest.mark.parametrize("step", range(10))
def test_who_is_killed_while_it_removes_leaves_nothing_either(tmp_path: Path, step: int) -> None:
    command = [sys.executable, "-c", KILLED_WHILE_IT_REMOVES, str(tmp_path), str(step)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    Scratch(tmp_path).close()
    # Only one that is empty waits for a minute: it may be new.
    assert not left.exists() or (step == 9 and not list(left.iterdir()))


def test_a_folder_in_use_and_what_is_not_ours_stay(tmp_path: Path) -> None:
    used = Scratch(tmp_path)
    other = tmp_path / "constat-of-somebody"
    other.mkdir()
    (other / "kept").write_text("text", encoding="utf-8")
    target = tmp_path / "target"
    target.mkdir()
    (target / "in-use").touch()
    (tmp_path / "constat-link").symlink_to(target)
    later = Scratch(tmp_path)
    assert used.path.exists()
    assert (other / "kept").exists()
    assert (target / "in-use").exists()
    for one in (used, later):
        one.close()
