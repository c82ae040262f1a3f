"""Signals that end a command: Ctrl-C, SIGTERM, and the end of its terminal.

A library in whose callback the exception is raised may swallow or replace it. So the handler
remembers the signal, and `check_interrupted` raises it again: before a source is asked, before
anything is written, and at the end. While a module loads nothing is raised, since libraries in C
abort the process then, nor while an object is finalized, where it would be printed and swallowed:
the signal is sent again a moment later. Where a library's function that
nothing can stop still runs at the end, the process tidies up and ends at once: see `leave`.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakSet, finalize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_NUMBERS: Final = tuple(
    # Windows has no terminal that ends.
    one
    for one in signal.Signals
    if one.name in {"SIGINT", "SIGTERM", "SIGHUP"}
)
_KILLED: Final = 128
_MOMENT: Final = 0.02
"""Seconds after which a signal is sent again that met what would swallow it."""

_MOST_MOMENTS: Final = 250
"""So often a signal is sent again; then it is raised wherever the program stands."""

LEFT_BEHIND: Final = "left behind"
"""The name of a thread whose work did not end when it was told to."""

_LOADER: Final = "<frozen importlib._bootstrap>"
_SWALLOWING: Final = frozenset(
    {_LOADER, *(one.__init__.__code__.co_filename for one in (WeakSet, finalize))}
)
"""Files whose functions cannot be left by an exception: it is swallowed there, or worse."""


class SignalError(KeyboardInterrupt):
    """A signal, whichever it was: all that cleans up after Ctrl-C cleans up after it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class StoppedError(KeyboardInterrupt):
    """Another thread has ended this work: all that cleans up after Ctrl-C cleans up after it."""


class Interruption:
    """The handler of the signals; tells which one has come."""

    def __init__(self) -> None:
        self.number = 0
        self._holds = 0
        self._settled = False
        self._postponed = 0
        self._moments = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise the signal where the program stands, unless it comes too late."""
        if self._settled or (self._holds and number == signal.SIGINT):
            return
        self.number = number
        if self._moments < _MOST_MOMENTS and _would_swallow(frame):
            self._postponed = number
            self._moments += 1
            timer = threading.Timer(_MOMENT, self._send_again)
            timer.daemon = True
            timer.start()
        else:
            self.raise_again()

    def _send_again(self) -> None:
        """Send the signal that was postponed, unless it has been raised or forgotten since."""
        if self._postponed and not self._settled:
            os.kill(os.getpid(), self._postponed)

    def raise_again(self) -> None:
        """Raise the signal that has come, if there was one, and nothing is being committed."""
        if self.number and not self._holds and not self._settled:
            self._postponed = 0
            raise SignalError(self.number)

    def hold(self) -> None:
        """Ignore signals until `release`, but for the ones that end the program."""
        self._holds += 1

    def release(self) -> None:
        """Listen again, and raise a signal that ends the program."""
        self._holds -= 1
        self.raise_again()

    def forget(self) -> None:
        """Go on as if no signal had come."""
        self.number = self._postponed = 0

    def settle(self) -> None:
        """Ignore signals from now on: how the command ends is decided."""
        self._settled = True


def listen() -> Interruption:
    """Have signals handled in the main thread from now on; what is ignored stays ignored."""
    known = _listening()
    if known is not None and not known._settled:  # noqa: SLF001  of this module
        return known
    found = Interruption()
    if threading.current_thread() is threading.main_thread():
        for number in _NUMBERS:
            # nohup, and shells that start a program in the background, have signals ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, found)
    return found


@contextmanager
def listening() -> Iterator[Interruption]:
    """Handle signals in a block, in its main thread; then as before."""
    if threading.current_thread() is not threading.main_thread():
        yield Interruption()
        return
    before = {number: signal.getsignal(number) for number in _NUMBERS}
    try:
        yield listen()
    finally:
        for number, handler in before.items():
            # `None` is a handler that C has installed; Python cannot give it back.
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def check_interrupted() -> None:
    """Raise a signal that came and was swallowed; not in a thread, nor while it is being raised."""
    if threading.current_thread() is not threading.main_thread():
        # This is asked very often, and a server works beside its main thread: there, looking up
        # who handles signals would cost a sixth of a proof.
        return
    found = _listening()
    if found is not None and found.number and not _under_way():
        found.raise_again()


@contextmanager
def committing(*, last: bool = False) -> Iterator[None]:
    """Do something as a whole or not at all: a signal stops it before, and is too late within.

    It is too late afterwards as well where this was the last thing that the command had to do.
    """
    check_interrupted()
    found = _listening()
    if found is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    found.hold()
    try:
        yield
        if last:
            found.settle()
    finally:
        found.release()


def heard(problem: KeyboardInterrupt) -> None:
    """Go on after Ctrl-C, as a prompt does; a signal that ends the program is raised again."""
    if isinstance(problem, SignalError) and problem.number != signal.SIGINT:
        raise problem
    found = _listening()
    if found is not None:
        found.forget()


def exit_code(number: int) -> int:
    """Give the code with which a command ends that a signal has ended: 130 for Ctrl-C."""
    return _KILLED + number


def leave(code: int) -> int:
    """End the process with a code where a thread was left behind; else give the code."""
    if any(one.name == LEFT_BEHIND for one in threading.enumerate()):
        atexit._run_exitfuncs()  # noqa: SLF001  nothing else runs them; they remove our own files
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    return code


def _listening() -> Interruption | None:
    for number in _NUMBERS:
        handler = signal.getsignal(number)
        if isinstance(handler, Interruption):
            return handler
    return None


def _would_swallow(frame: FrameType | None) -> bool:
    """Tell whether a module is being loaded, or an object finalized, where a signal came."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _SWALLOWING or code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _under_way() -> bool:
    problem = sys.exc_info()[1]
    while problem is not None:
        if isinstance(problem, KeyboardInterrupt):
            return True
        problem = problem.__context__
    return False


# The bounds a child puts on itself before it reads anything.

_PR_SET_PDEATHSIG: Final = 1
_GRACE: Final = 2.0
"""Seconds after the parent's own limit: the parent should be the one that ends the child."""


def bind_process(memory: int, parent: int) -> None:
    """Bound memory, files and core dumps, and end with the parent."""
    import resource  # noqa: PLC0415  a browser has none

    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # A lower hard limit of the machine stays.
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except ValueError:
            # macOS knows the name of the bound and does not keep it; the clock still holds.
            if sys.platform != "darwin":
                raise
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # The parent may have gone before the line above.
    if os.getppid() != parent:
        os._exit(0)


def bind_time(seconds: float) -> None:
    """Let the kernel end this process some time after the limit, whatever code is running then."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)


def unbind_time() -> None:
    """Take that back."""
    signal.setitimer(signal.ITIMER_REAL, 0)
