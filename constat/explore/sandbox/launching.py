"""Start a confined Python that waits for steps, and end it with everything that it has started.

In: a level. Out: `Zygote`. Invariants: it has an empty environment, no descriptor but the control
socket, and none of this program's memory; it ends with this program, however that ends; after
`end` none of its processes is left. Example: `Zygote.started(Level.KERNEL).begin(...)`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.sandbox.places import DEVICES, Places, python_places
from constat.explore.sandbox.step import Level
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS_TO_START: Final = 60.0
_SECONDS_TO_END: Final = 10.0
_SCRATCH_BYTES: Final = 16 << 20
_LARGEST_MESSAGE: Final = 65_536
_CONSTAT: Final = Path(__file__).resolve().parents[2]
_SENT: Final = (
    "constat.store.tables_decimals",
    "constat.store.tables_format",
    "constat.store.tables_frames",
    "constat.explore.sandbox.wire",
    "constat.explore.sandbox.inside.asking",
    "constat.explore.sandbox.inside.confining",
    "constat.explore.sandbox.inside.filters",
    "constat.explore.sandbox.inside.holding",
    "constat.explore.sandbox.inside.importing",
    "constat.explore.sandbox.inside.pictures",
    "constat.explore.sandbox.inside.running",
    "constat.explore.sandbox.inside.telling",
    "constat.explore.sandbox.inside.zygote",
)
_PACKAGES: Final = (
    *("constat", "constat.store", "constat.explore", "constat.explore.sandbox"),
    "constat.explore.sandbox.inside",
)
_ENVIRONMENT: Final = MappingProxyType(
    {
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        # One thread: a step may start none.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "TZ": "UTC",
    }
)


@dataclass(slots=True)
class Zygote:
    """A running one. `namespaces` tells whether it left those of the machine."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    scratch: Scratch
    namespaces: bool

    @classmethod
    def started(cls, level: Level) -> Zygote:
        """Start one; raises `ConstatError` where it cannot be confined."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        scratch = Scratch()
        # The code of steps has a folder in it, and not the lock.
        place = scratch.path / "writable"
        place.mkdir()
        places = python_places()
        try:
            command = _command(level, places, theirs.fileno())
            process = subprocess.Popen(  # noqa: S603  our own words
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(level, str(place)),
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as problem:
            ours.close()
            scratch.close()
            raise _failure(problem.strerror or type(problem).__name__) from None
        finally:
            theirs.close()
        made = cls(process, ours, scratch, namespaces=False)
        try:
            made.namespaces = made._greeted(level, places)
        except BaseException:
            made.end()
            raise
        return made

    def _greeted(self, level: Level, places: Places) -> bool:
        """Send what it runs, and wait until it is confined."""
        told = {
            "path": list(places.path),
            "sources": dict(_sources()),
            "settings": {
                "level": level.value,
                "readable": [*places.readable, *DEVICES],
                "listable": list(places.path),
                "writable": [_scratch_path(level, str(self.scratch.path / "writable"))],
            },
        }
        if self.process.stdin is None:
            raise _failure("it has no input")
        with suppress(BrokenPipeError), self.process.stdin as stream:
            stream.write(json.dumps(told).encode())
        answer = self._answer(SECONDS_TO_START)
        if answer is None or not answer.get("ready"):
            reason = str((answer or {}).get("failed", "it ended before it was confined"))
            raise _failure(reason)
        return bool(answer.get("namespaces"))

    def begin(self, link: socket.socket, output: int, wish: dict[str, object]) -> None:
        """Start a step with its socket and the pipe of its output. Raises `OSError`."""
        self.control.settimeout(SECONDS_TO_START)
        message = json.dumps(wish).encode()
        socket.send_fds(self.control, [message], [link.fileno(), output])

    def ended(self, seconds: float) -> int | None:
        """Give how the step's process ended; `None` where it did not within that time."""
        answer = self._answer(seconds)
        status = (answer or {}).get("ended")
        return status if isinstance(status, int) else None

    def stop(self) -> bool:
        """Kill the step that runs; tells whether its process is known to have ended."""
        try:
            self.control.send(b"stop")
        except OSError:
            return False
        return self.ended(_SECONDS_TO_END) is not None

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        self.control.settimeout(max(seconds, 0.001))
        try:
            message = self.control.recv(_LARGEST_MESSAGE)
            found = json.loads(message) if message else None
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def alive(self) -> bool:
        """Whether it is still there."""
        return self.process.poll() is None

    def end(self) -> None:
        """End it and everything that it has started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        self.control.close()
        self.scratch.close()


def _command(level: Level, places: Places, control: int) -> list[str]:
    # `-S` and `-P`: no `.pth` file runs, and no folder of the machine is on the path.
    python = [places.program, "-S", "-s", "-P", "-B", "-c", _boot(), str(control)]
    if level is not Level.BUBBLEWRAP:
        return python
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError(2, "the program `bwrap` is not installed")
    return [program, *_bubblewrap_options(places), "--", *python]


def _bubblewrap_options(places: Places) -> list[str]:
    options = [
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--uid", "65534", "--gid", "65534", "--hostname", "sandbox"),
        *("--dir", "/dev", "--size", str(_SCRATCH_BYTES), "--tmpfs", "/tmp"),  # noqa: S108  its own
    ]
    for device in DEVICES:
        options += ["--dev-bind", device, device]
    for path in _outermost([places.program, *places.readable]):
        link = Path(path)
        if link.is_symlink():
            # /lib is a link to /usr/lib on most systems.
            options += ["--symlink", os.fspath(link.readlink()), path]
        else:
            options += ["--ro-bind", path, path]
    return [*options, "--remount-ro", "/", "--chdir", "/"]


def _outermost(paths: Sequence[str]) -> list[str]:
    """Leave out what lies in a folder that is there anyway."""
    known = set(paths)
    return [
        path
        for path in dict.fromkeys(paths)
        if not any(str(parent) in known for parent in Path(path).parents)
    ]


def _scratch_path(level: Level, own: str) -> str:
    return "/tmp" if level is Level.BUBBLEWRAP else own  # noqa: S108  that of the sandbox


def _environment(level: Level, scratch: str) -> dict[str, str]:
    place = _scratch_path(level, scratch)
    return {**_ENVIRONMENT, "MPLCONFIGDIR": place, "TMPDIR": place}


def _boot() -> str:
    return _text("constat.explore.sandbox.inside.boot")


def _sources() -> tuple[tuple[str, str], ...]:
    packages = tuple((name, "") for name in _PACKAGES)
    return (*packages, *((name, _text(name)) for name in _SENT))


def _text(module: str) -> str:
    parts = module.split(".")[1:]
    return (_CONSTAT.joinpath(*parts).with_suffix(".py")).read_text(encoding="utf-8")


def _failure(reason: str) -> ConstatError:
    shown = "".join(one if one.isprintable() else "?" for one in reason)[:300]
    return ConstatError([Diagnostic("C0912", f"the sandbox cannot be started: {shown}")])
