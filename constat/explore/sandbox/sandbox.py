"""Start confined Pythons, talk to each step, and end them with everything they have started."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from constat.catalog import QueryMistakeError, SourceFailureError
from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.sandbox.step import (
    LONGEST_CODE,
    Code,
    ErrorKind,
    Level,
    QueryRun,
    Run,
    StepError,
    StepLimits,
    UntrustedError,
    read_error,
    read_notes,
    read_state,
    read_tables,
    safe_text,
)
from constat.explore.sandbox.wire import Frame, WireError, packed, received
from constat.frozen import frozen, slotted
from constat.store.replacing import Scratch
from constat.store.table_forms import encode
from constat.store.table_values import is_name, is_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from constat.explore.sandbox.step import Parameter, Source
    from constat.store.table_values import Scalar

# Which ways of keeping code away from the machine this machine has.
#
# Invariant: a level is offered only after it was tried: programs may be there and be forbidden to
# work.

_SECONDS_TO_TRY: Final = 10.0
STRONG: Final = (Level.BUBBLEWRAP, Level.KERNEL)


def remark(level: Level) -> str:
    """Say what a level leaves open; empty where nothing of the machine can be seen."""
    if level is Level.KERNEL:
        return "names, sizes and times of files can be probed, and none of their content"
    return "nothing keeps code in" if level is Level.NONE else ""


def unavailable(level: Level) -> str:
    """Give the reason why a level cannot be had on this machine; empty where it can."""
    if sys.platform != "linux":
        return "it needs Linux"
    if level is Level.NONE:
        return ""
    # Windows has none of the modules with which a process is confined.
    from constat.explore.sandbox.inside.confining import filters_work, landlock_version  # noqa: PLC0415  loaded when it is used

    if not filters_work():
        return f"this kernel runs no filters of system calls, or {platform.machine()} is not known"
    if level is Level.KERNEL:
        return "" if landlock_version() else "this kernel has no Landlock"
    return _bubblewrap_trouble()


def _bubblewrap_trouble() -> str:
    program = shutil.which("bwrap")
    if program is None:
        return "the program `bwrap` is not installed"
    trial = [program, "--unshare-all", "--ro-bind", "/", "/", "--", program, "--version"]
    try:
        outcome = subprocess.run(  # noqa: S603  our own words
            trial,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_TO_TRY,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "the program `bwrap` does not run"
    return "" if outcome.returncode == 0 else "`bwrap` may not make namespaces here"


def choose_level(
    wished: Level | None = None,
    *,
    allow_none: bool = False,
    missing: Callable[[Level], str] = unavailable,
) -> Level:
    """Choose the wished level, or else the strongest; never none unless that is allowed.

    Raises `ConstatError` where there is no such level, or only none.
    """
    if wished is not None and wished.strong:
        reason = missing(wished)
        if reason:
            message = f"the level `{wished.value}` cannot be had on this machine: {reason}"
            raise ConstatError([Diagnostic("C0911", message)])
        return wished
    reasons = []
    for level in STRONG if wished is None else ():
        reason = missing(level)
        if not reason:
            return level
        reasons.append(f"{level.value}: {reason}")
    if allow_none and not missing(Level.NONE):
        return Level.NONE
    raise ConstatError([_refusal(reasons)])


def _refusal(reasons: list[str]) -> Diagnostic:
    return Diagnostic(
        "C0910",
        "steps of Python code are refused: nothing here keeps them away from the machine",
        note="; ".join(reasons),
        help="install bubblewrap, or allow unconfined code in the configuration and on the command"
        " line (`--allow-unconfined`), where you have read it",
    )


# Start confined Pythons, talk to each step, and end them with everything they have started.

# Of the folder of installed packages only those that steps are offered are there: no project, no
# configuration, no `.pth` file.

_PACKAGES: Final = (
    *("numpy", "pandas", "dateutil", "six.py", "pytz", "tzdata"),
    *("matplotlib", "mpl_toolkits", "contourpy", "cycler", "fontTools", "kiwisolver"),
    *("packaging", "PIL", "pyparsing"),
)
_SYSTEM: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_LOADER: Final = ("/etc/ld.so.cache",)
DEVICES: Final = ("/dev/null", "/dev/urandom")


@frozen
class Places:
    """Where Python is: its program, what is on its path, and everything that may be read."""

    program: str
    path: tuple[str, ...]
    readable: tuple[str, ...]


def python_places() -> Places:
    """Find them."""
    program = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    library = sysconfig.get_path("stdlib")
    dynamic = sysconfig.get_config_var("DESTSHARED") or f"{library}/lib-dynload"
    sites = _sites()
    packages = [str(one) for site in sites for one in _offered(site)]
    shared = sysconfig.get_config_var("LIBDIR") or ""
    own = [library, dynamic, *_shared_libraries(shared)]
    readable = [*own, *packages, *_SYSTEM, *_LOADER]
    return Places(
        program,
        (library, dynamic, *map(str, sites)),
        tuple(dict.fromkeys(one for one in readable if Path(one).exists())),
    )


def _sites() -> list[Path]:
    """Give the folders in which pandas and numpy are installed."""
    found = []
    for name in ("pandas", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            found.append(Path(spec.origin).parents[1])
    return list(dict.fromkeys(found))


def _offered(site: Path) -> list[Path]:
    wanted = [site / name for name in _PACKAGES]
    wanted += [site / f"{name.removesuffix('.py')}.libs" for name in _PACKAGES]
    wanted.append(site / "pillow.libs")
    return [one for one in wanted if one.exists()]


def _shared_libraries(folder: str) -> list[str]:
    # A Python that was built with a shared library finds it there.
    if not folder or folder in _SYSTEM:
        return []
    return [str(one) for one in sorted(Path(folder).glob("libpython*.so*"))]


SECONDS_TO_START: Final = 60.0
_SECONDS_TO_END: Final = 10.0
_SCRATCH_BYTES: Final = 16 << 20
_LARGEST_MESSAGE: Final = 65_536
_CONSTAT: Final = Path(__file__).resolve().parents[2]
_SENT: Final = (
    "constat.frozen",
    "constat.store.table_forms",
    "constat.store.tables_frames",
    "constat.explore.sandbox.wire",
    "constat.explore.sandbox.inside.asking",
    "constat.explore.sandbox.inside.confining",
    "constat.explore.sandbox.inside.holding",
    "constat.explore.sandbox.inside.importing",
    "constat.explore.sandbox.inside.running",
    "constat.explore.sandbox.inside.fork_server",
)
_LAUNCHING_PACKAGES: Final = (
    *("constat", "constat.store", "constat.explore", "constat.explore.sandbox"),
    "constat.explore.sandbox.inside",
)
_ENVIRONMENT: Final = MappingProxyType(
    {
        # Where it is installed, Arrow's own allocator takes 1 GiB of addresses beforehand, which is
        # all that a step may have.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
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


@slotted
class ForkServer:
    """A running one. `namespaces` tells whether it left those of the machine."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    scratch: Scratch
    namespaces: bool

    @classmethod
    def started(cls, level: Level) -> ForkServer:
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

    def begin(self, link: socket.socket, output: int, request: dict[str, object]) -> None:
        """Start a step with its socket and the pipe of its output. Raises `OSError`."""
        self.control.settimeout(SECONDS_TO_START)
        message = json.dumps(request).encode()
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
    packages = tuple((name, "") for name in _LAUNCHING_PACKAGES)
    return (*packages, *((name, _text(name)) for name in _SENT))


def _text(module: str) -> str:
    parts = module.split(".")[1:]
    return (_CONSTAT.joinpath(*parts).with_suffix(".py")).read_text(encoding="utf-8")


def _failure(reason: str) -> ConstatError:
    shown = "".join(one if one.isprintable() else "?" for one in reason)[:300]
    return ConstatError([Diagnostic("C0912", f"the sandbox cannot be started: {shown}")])


_SECONDS_OF_GRACE: Final = 1.0
_CHUNK: Final = 1 << 16
_LONGEST_QUERY: Final = 64 << 10
_MOST_PARAMETERS: Final = 1_000
_LONGEST_PARAMETER: Final = 1 << 20


class _BrokenError(Exception):
    """The step did not keep to what was agreed."""


class Conversation:
    """The conversation with one step."""

    def __init__(self, code: Code, limits: StepLimits, sources: Mapping[str, Source]) -> None:
        self.code = code
        self._limits = limits
        self._sources = sources
        self._until = 0.0
        self._output = bytearray()
        self._cut = 0
        self._queries: list[QueryRun] = []
        self._result: Frame | None = None
        self._broken = ""
        self._late = False

    def hold(self, link: socket.socket, output: int) -> bool:
        """Talk until the step ends; `False` where it has to be killed."""
        self._until = time.monotonic() + self._limits.seconds + _SECONDS_OF_GRACE
        try:
            self._send(link, self._first())
            self._listen(link, output)
        except (WireError, _BrokenError) as problem:
            self._broken = str(problem)
            return False
        except TimeoutError:
            self._late = True
            return False
        except OSError:
            # The step has closed its end: how it ended is told by its process.
            self._drain(output)
        return True

    def _first(self) -> bytes:
        tables = [encode(table) for table in self.code.inputs.values()]
        told = {
            "code": self.code.text,
            "names": list(self.code.inputs),
            "lengths": [len(one) for one in tables],
            "state": dict(self.code.state),
            "outputs": list(self.code.outputs),
            "databases": list(self.code.databases),
            "plots": self._limits.plots,
        }
        return packed("step", told, b"".join(tables))

    def _listen(self, link: socket.socket, output: int) -> None:
        waiting: list[Any] = [link, output]
        while waiting:
            ready, _, _ = select.select(waiting, [], [], self._left())
            if not ready:
                raise TimeoutError
            if output in ready and not self._read_output(output):
                waiting.remove(output)
            if link in ready and not self._read_frame(link):
                waiting.remove(link)

    def _read_output(self, output: int) -> bool:
        part = os.read(output, _CHUNK)
        room = self._limits.output - len(self._output)
        self._output += part[:room]
        self._cut += len(part) - len(part[:room])
        return bool(part)

    def _drain(self, output: int) -> None:
        os.set_blocking(output, False)
        try:
            while self._read_output(output) and self._left() > 0:
                pass
        except BlockingIOError:
            pass

    def _read_frame(self, link: socket.socket) -> bool:
        def exactly(count: int) -> bytes:
            parts = []
            while count:
                link.settimeout(self._left())
                part = link.recv(min(count, 1 << 20))
                if not part:
                    break
                parts.append(part)
                count -= len(part)
            return b"".join(parts)

        frame = received(exactly, self._limits.bytes)
        if frame is None:
            return False
        if frame.kind == "query" and self._result is None:
            self._send(link, self._answer(frame))
        elif frame.kind == "result" and self._result is None:
            self._result = frame
        else:
            raise _BrokenError("the step sent what was not agreed")
        return True

    def _send(self, link: socket.socket, content: bytes) -> None:
        link.settimeout(self._left())
        link.sendall(content)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _answer(self, frame: Frame) -> bytes:
        """Run a query and spell its answer."""
        database, text, parameters = self._query(frame.told)
        if len(self._queries) >= self._limits.queries:
            raise _BrokenError(f"the step asked more than {self._limits.queries} queries")
        started = time.monotonic()
        rows, digest, body, error = 0, "", b"", ("", "")
        try:
            table = self._sources[database](text, parameters, self._left())
            body = encode(table)
            rows, digest = table.rows, table.sha256
            if rows > self._limits.rows or len(body) > self._limits.bytes:
                error = ("query", f"it gives more than {self._limits.rows} rows, or too many bytes")
        except QueryMistakeError as problem:
            error = ("query", f"{problem.reason}{f'; {problem.help}' if problem.help else ''}")
        except SourceFailureError as problem:
            error = ("connection", problem.reason)
        except ConstatError as problem:
            error = ("query", str(problem))
        seconds = time.monotonic() - started
        self._queries.append(QueryRun(database, text, parameters, rows, digest, seconds, error[1]))
        if error[0]:
            return packed("rows", {"error": error[0], "message": error[1]})
        return packed("rows", {}, body)

    def _query(self, told: dict[str, Any]) -> tuple[str, str, tuple[Parameter, ...]]:
        database, text, parameters = (
            told.get("database"),
            told.get("text"),
            told.get("parameters"),
        )
        named = isinstance(database, str) and database in self.code.databases
        worded = isinstance(text, str) and len(text) <= _LONGEST_QUERY
        if not named or not worded or not _are_parameters(parameters):
            raise _BrokenError("the step asked for what it may not have")
        return str(database), str(text), tuple(parameters or ())

    def outcome(self, code: str, level: Level, seconds: float, status: int | None) -> Run:
        """Give the result; `status` is how the process ended, `None` where it was killed."""
        shown = safe_text(self._output.decode("utf-8", "replace"), self._limits.output)
        if self._cut:
            shown += f"\n[... {self._cut} more bytes of output were cut]\n"
        run = Run(code, level, seconds, output=shown, queries=tuple(self._queries))
        result = self._result
        if self._broken:
            return _failed(run, ErrorKind.PROTOCOL, self._broken)
        if self._late:
            message = f"it did not end within {self._limits.seconds:g} s"
            return _failed(run, ErrorKind.TIMEOUT, message)
        if status is None:
            return _failed(run, ErrorKind.KILLED, "it said no more, and had to be ended")
        if result is None or status:
            return _failed(run, *_ending(status))
        if "error" in result.told:
            error = read_error(
                result.told["error"], retry_connections=self._limits.retry_connections
            )
            return _with_error(run, error)
        try:
            return self._succeeded(run, result)
        except UntrustedError as problem:
            return _failed(run, ErrorKind.RESULT, str(problem))

    def _succeeded(self, run: Run, result: Frame) -> Run:
        tables, plots = read_tables(result.told, result.body, self._limits)
        state = read_state(result.told.get("state"))
        for name in self.code.outputs:
            if name not in tables and name not in state:
                raise UntrustedError(f"the step did not leave `{name}`")
        scalars: dict[str, Scalar] = {
            name: state[name]
            for name in self.code.outputs
            if name in state and is_scalar(state[name])
        }
        return Run(
            *(run.code, run.level, run.seconds, tables, state, scalars),
            notes=read_notes(result.told.get("notes")),
            output=run.output,
            plots=plots,
            queries=run.queries,
        )


def _are_parameters(told: object) -> bool:
    if not isinstance(told, list) or len(told) > _MOST_PARAMETERS:
        return False
    return all(
        type(one) is int or (isinstance(one, str) and len(one) <= _LONGEST_PARAMETER)
        for one in told
    )


def _ending(status: int) -> tuple[ErrorKind, str]:
    """Say what a process that left no result died of."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in {signal.SIGXCPU, signal.SIGALRM}:
            return ErrorKind.TIMEOUT, "it used up its time"
        return ErrorKind.KILLED, f"it was ended by the signal {signal.Signals(number).name}"
    return ErrorKind.KILLED, "it ended without a result"


def _failed(run: Run, kind: ErrorKind, message: str) -> Run:
    return _with_error(run, StepError(kind, message))


def _with_error(run: Run, error: StepError) -> Run:
    return Run(
        run.code, run.level, run.seconds, output=run.output, queries=run.queries, error=error
    )


_SECONDS_TO_DIE: Final = 1.0
_PICTURES: Final = "matplotlib.pyplot"


class Sandbox:
    """Where steps run. Nothing is started before the first one; used by one thread at a time.

    Without a `level` it is the strongest that the machine has; `Level.NONE` has to be allowed.
    `sources` are the databases that steps may be given.
    """

    def __init__(
        self,
        level: Level | None = None,
        limits: StepLimits | None = None,
        *,
        sources: Mapping[str, Source] | None = None,
        allow_none: bool = False,
    ) -> None:
        self.level = choose_level(level, allow_none=allow_none)
        self.limits = limits or StepLimits()
        self._sources = dict(sources or {})
        self._fork_server: ForkServer | None = None

    def run(self, code: Code, *, limits: StepLimits | None = None) -> Run:
        """Run a step. Its own failure is in the result.

        Raises `ConstatError` where it cannot be started, or asks for what there is not.
        """
        bounds = limits or self.limits
        self._check(code, bounds)
        conversation = Conversation(code, bounds, self._sources)
        fork_server = self._running()
        started = time.monotonic()
        status = self._run_in(fork_server, conversation, bounds)
        seconds = time.monotonic() - started
        if status is None and not fork_server.alive:
            self.close()
        digest = hashlib.sha256(code.text.encode()).hexdigest()
        return conversation.outcome(digest, self.level, seconds, status)

    def _run_in(
        self, fork_server: ForkServer, conversation: Conversation, bounds: StepLimits
    ) -> int | None:
        """Run a step; gives how its process ended, `None` where it had to be killed."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            with ours:
                try:
                    fork_server.begin(theirs, writing, self._request(conversation.code, bounds))
                except OSError:
                    raise ConstatError(
                        [Diagnostic("C0912", "the sandbox has ended by itself; try again")]
                    ) from None
                finally:
                    theirs.close()
                    os.close(writing)
                finished = conversation.hold(ours, reading)
            status = fork_server.ended(_SECONDS_TO_DIE) if finished else None
            if status is None and not fork_server.stop():
                # A Python whose step cannot be stopped is not asked again.
                fork_server.end()
        except BaseException:
            # Interrupted: the step may still be running.
            fork_server.end()
            raise
        else:
            return status
        finally:
            os.close(reading)

    @staticmethod
    def _request(code: Code, bounds: StepLimits) -> dict[str, object]:
        load = [_PICTURES] if "matplotlib" in code.text else []
        return {"memory": bounds.memory, "seconds": bounds.seconds, "load": load}

    def _running(self) -> ForkServer:
        if self._fork_server is not None and not self._fork_server.alive:
            self.close()
        if self._fork_server is None:
            self._fork_server = ForkServer.started(self.level)
        return self._fork_server

    def _check(self, code: Code, bounds: StepLimits) -> None:
        problem = ""
        names = (*code.inputs, *code.state, *code.outputs, *code.databases)
        if len(code.text) > LONGEST_CODE or "\0" in code.text or not _is_text(code.text):
            problem = f"a step is text of at most {LONGEST_CODE >> 10} KiB without NUL"
        elif not all(map(is_name, names)):
            problem = "a name of a step's tables, variables or databases is not one"
        elif not set(code.databases) <= self._sources.keys():
            problem = "a step asks for a database that it is not given"
        elif sum(table.size for table in code.inputs.values()) > bounds.bytes:
            problem = f"the tables of a step are larger than {bounds.bytes >> 20} MiB"
        if problem:
            raise ConstatError([Diagnostic("C0913", problem)])

    def close(self) -> None:
        """End everything that was started."""
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            fork_server.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
