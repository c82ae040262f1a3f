"""Run pieces of work in children of a process that has loaded everything already.

In: a function, a folder for temporary files, and what to do to the child at which moment. Out: how
it ended, what it had acknowledged until then, what it printed. A command costs a twentieth of what
it does in a new interpreter, so it can be killed some hundred times. What a child leaves running is
adopted here and can be seen.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST: Final = 300.0
"""Seconds after which a child is stuck; the machine may be busy."""
PATIENCE: Final = 60.0
_SUBREAPER: Final = 36
_BROKEN: Final = 99
_LOADED: Final = (
    *("duckdb", "numpy", "sqlalchemy", "sqlglot", "yaml", "pandas"),
    *("constat.cli", "constat.session", "constat.forward", "constat.columnar", "constat.recount"),
    *("constat.explore", "constat.memory", "constat.engine", "constat.check", "constat.proof"),
)


def warm_up() -> None:
    """Load what commands load, and adopt what they leave running."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


@dataclass(slots=True)
class Ended:
    """How a child ended: its code (a signal's number, negative), and what it said."""

    code: int
    told: list[str]
    printed: str
    seconds: float

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it."""
        return self.code < 0


@dataclass(slots=True)
class Child:
    """A piece of work that runs."""

    pid: int
    begun: float
    pipe: int
    output: Path
    _heard: bytearray = field(default_factory=bytearray)

    def send(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def end(self, seconds: float = LONGEST) -> Ended:
        """Wait for the end; raises `TimeoutError` where it does not come."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left < 0:
                self.send(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                message = f"a child did not end within {seconds:.0f} s"
                raise TimeoutError(message)
            if not select.select([self.pipe], [], [], min(left, 0.05))[0]:
                # What it left running may hold the pipe.
                if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break
                continue
            piece = os.read(self.pipe, 1 << 16)
            if not piece:
                break
            self._heard += piece
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        lines = bytes(self._heard).decode().split("\n")[:-1]
        printed = self.output.read_text("utf-8", "replace")
        return Ended(code, lines, printed, time.monotonic() - self.begun)

    def end_at(self, moment: float, number: int) -> Ended:
        """Let it run for so many seconds, then send a signal, then wait for the end."""
        left = self.begun + moment - time.monotonic()
        while left > 0:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(min(left, 0.01))
            left = self.begun + moment - time.monotonic()
        self.send(number)
        return self.end()


def start(
    work: Callable[[Callable[[str], None]], int],
    temporary: Path,
    before: Callable[[], None] | None = None,
    output: Path | None = None,
) -> Child:
    """Start a piece of work; it is ready when this returns. `before` runs in the child first.

    What it prints goes into the file `output`, by default beside the temporary files.
    """
    temporary.mkdir(exist_ok=True)
    output = output or temporary.parent / "printed"
    reading, writing = os.pipe()
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.close(ready)
        _work(work, before, (writing, go), output, temporary)
    os.close(writing)
    os.close(go)
    os.read(ready, 1)
    os.close(ready)
    return Child(child, time.monotonic(), reading, output)


def _work(
    work: Callable[[Callable[[str], None]], int],
    before: Callable[[], None] | None,
    pipes: tuple[int, int],
    output: Path,
    temporary: Path,
) -> None:
    code = _BROKEN
    _own_end()
    try:
        printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((nothing, 0), (printed, 1), (printed, 2)):
            os.dup2(number, target)
        os.environ["TMPDIR"], tempfile.tempdir = str(temporary), str(temporary)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if before is not None:
            before()
        told, go = pipes
        os.write(go, b"!")
        os.close(go)
        code = work(lambda line: _tell(told, line))
    except SystemExit as problem:
        code = int(problem.code or 0)
    except KeyboardInterrupt:
        # It came when the work was done already, or where nobody listens to it.
        code = code if code != _BROKEN else -_BROKEN % 256
    except BaseException:  # noqa: BLE001  it is printed, and the harness sees the code
        traceback.print_exc()
    finally:
        # As an interpreter does at its end.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _own_end() -> None:
    """Forget what the parent wants to do at its end; what is begun from here on is still done."""
    finalize: Any = weakref.finalize
    finalize._registry.clear()
    finalize._registered_with_atexit = False
    atexit._clear()


def _tell(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def command(words: Sequence[str]) -> int:
    """Run a command as `python -m constat` does, with its signals."""
    main = importlib.import_module("constat.__main__").main
    sys.argv = ["constat", *words]
    return int(main())


def children() -> set[int]:
    """Give the processes below this one that still run."""
    found = set()
    own = str(os.getpid())
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == own and fields[0] not in {"Z", "X"}:
            found.add(int(entry.name))
    return found


def survivors(before: set[int], seconds: float = PATIENCE) -> set[int]:
    """Give what commands left running and what does not end by itself; it is killed then."""
    until = time.monotonic() + seconds
    while (left := children() - before) and time.monotonic() < until:
        time.sleep(0.02)
    for one in left:
        os.kill(one, signal.SIGKILL)
    # What has ended is no longer anybody's.
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    return left
