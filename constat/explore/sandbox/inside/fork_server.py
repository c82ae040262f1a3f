"""A confined Python that has loaded what steps need, and makes a copy of itself for each of them.

In: on the control socket one message for each step, with the step's own socket and the end of a
pipe for its output. Out: how the step's process ended. Invariants: nothing of a step comes back
here but how it ended, so that no step can change what the next one starts from; a step's process
has no descriptor but its own two; it ends with this one, which ends when the control socket does.
Example: the message `{"memory": 1073741824, "seconds": 30.0}` starts a step.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import math
import os
import select
import signal
import socket
import sys
from typing import Any, Final, NoReturn

from constat.explore.sandbox.inside import confining
from constat.explore.sandbox.inside.running import run_step

_LARGEST_MESSAGE: Final = 65_536
_STEP_SOCKET: Final = 3
_MOST_DESCRIPTORS: Final = 4_096
_SECONDS_OF_GRACE: Final = 2
_LOADED: Final = (
    *("pandas", "numpy", "constat.store.tables_frames"),
    *("bisect", "calendar", "collections", "dataclasses", "datetime", "decimal", "fractions"),
    *("functools", "heapq", "io", "itertools", "json", "math", "operator", "random", "re"),
    *("statistics", "string", "textwrap", "traceback", "zoneinfo"),
)
# Where it is installed pandas takes it for texts, and both import parts of it when they are first
# used, which no step may: files of libraries cannot be opened there.
_ARROW: Final = ("pyarrow", "pyarrow.compute", "pyarrow.pandas_compat", "pyarrow.vendored.version")


def serve(control: int, settings: dict[str, Any]) -> NoReturn:
    """Confine this process, load the libraries, and serve steps until the control socket ends."""
    _detach()
    with socket.socket(fileno=control) as talk:
        try:
            left = _confined(settings)
            for name in _LOADED:
                importlib.import_module(name)
            _load_arrow()
            _confine_files(settings)
        except BaseException as problem:  # noqa: BLE001  the other side is told, and nothing runs
            reason = f"{type(problem).__name__}: {problem}"[:500]
            talk.send(json.dumps({"failed": reason}).encode())
            os._exit(1)
        gc.freeze()
        talk.send(json.dumps({"ready": True, "namespaces": left}).encode())
        with contextlib.suppress(OSError):
            while _served(talk, settings):
                pass
    os._exit(0)


def _load_arrow() -> None:
    """Load all that pandas takes of Arrow, where it is installed, by using it once."""
    with contextlib.suppress(ImportError):
        arrow, *_ = map(importlib.import_module, _ARROW)
        arrow.array(importlib.import_module("pandas").Series(["a"]))


def _detach() -> None:
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _confined(settings: dict[str, Any]) -> bool:
    if settings["level"] == "none":
        return False
    # Bubblewrap has left them already; user namespaces have to come before any thread.
    left = settings["level"] == "bubblewrap" or confining.leave_namespaces()
    confining.give_up_privileges()
    return left


def _confine_files(settings: dict[str, Any]) -> None:
    if settings["level"] != "none" and confining.landlock_version():
        confining.confine_files(settings["readable"], settings["listable"], settings["writable"])
    elif settings["level"] == "landlock":
        raise OSError("this kernel has no Landlock")


def _served(talk: socket.socket, settings: dict[str, Any]) -> bool:
    """Serve one step; `False` when there will be no more."""
    message, descriptors, _, _ = socket.recv_fds(talk, _LARGEST_MESSAGE, 2)
    if not message:
        return False
    if len(descriptors) != 2:  # noqa: PLR2004  a socket and a pipe
        return True  # a request to stop a step that had ended already
    request = json.loads(message)
    for name in request["load"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    own = os.getpid()
    process = os.fork()
    if process == 0:
        _step(descriptors, request, settings, own)
    for descriptor in descriptors:
        os.close(descriptor)
    status = _awaited(process, talk)
    talk.send(json.dumps({"ended": status}).encode())
    return True  # a control socket that has ended says so when it is read next


def _awaited(process: int, talk: socket.socket) -> int:
    """Wait for a step; it is killed when the other side says so or is gone."""
    watch = os.pidfd_open(process)
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        poll.register(talk, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        if watch not in ready:
            talk.recv(_LARGEST_MESSAGE)
            os.kill(process, signal.SIGKILL)
        return os.waitpid(process, 0)[1]
    finally:
        os.close(watch)


def _step(
    descriptors: list[int], request: dict[str, Any], settings: dict[str, Any], parent: int
) -> NoReturn:
    """Become a step: give everything up, run it, and end."""
    try:
        link, output = descriptors
        _keep_only(link, output)
        confining.die_with(parent)
        seconds = float(request["seconds"])
        confining.limit_use(int(request["memory"]), math.ceil(seconds) + _SECONDS_OF_GRACE)
        if settings["level"] != "none":
            if confining.landlock_version():
                confining.confine_files(settings["readable"], settings["listable"])
            # Asked for before the filter, under which no timer can be set.
            signal.setitimer(signal.ITIMER_REAL, seconds)
            confining.filter_calls()
        else:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        run_step(_STEP_SOCKET)
    except BaseException as problem:  # noqa: BLE001  nothing may return into the loop above
        with contextlib.suppress(BaseException):
            os.write(2, f"the step could not be run: {problem}\n".encode())
        os._exit(1)
    os._exit(0)


def _keep_only(link: int, output: int) -> None:
    """Have the socket of the step as 3, its output as 1 and 2, and nothing else open."""
    # Out of the way first: either may be one of the numbers that the others get.
    spare_link, spare_output = (_duplicate(link), _duplicate(output))
    os.dup2(spare_output, 1)
    os.dup2(spare_output, 2)
    os.dup2(spare_link, _STEP_SOCKET)
    os.closerange(_STEP_SOCKET + 1, _MOST_DESCRIPTORS)
    sys.stdout.flush()


def _duplicate(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _MOST_DESCRIPTORS // 64)
