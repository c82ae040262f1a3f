"""Who is asking a model the same at this moment: one program sends, the others wait for its reply.

In: a folder, the hash of a request, the seconds one may wait. Out: whether the request is ours to
send, and what a program left behind that ended in the middle. Invariants: at most one program and
one thread has a request at a time; a program that dies gives it up at once, whatever killed it,
because the kernel holds the lock and no clock and no process number is trusted; where the folder
cannot be written nobody waits. Example: `with in_flight(folder, "sha256:...", 30.0) as flight: ...`
sends where `flight.ours`. Reference: flock(2).
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final

from constat.store.clock import now
from constat.store.locking import locked_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER_NAME: Final = "in_flight"
_DIGITS: Final = 32
_MOST_NOTE: Final = 64


@dataclass(frozen=True, slots=True)
class Flight:
    """Whether a request is ours to send, after how many seconds of waiting for another program.

    `left` is when a program sent the same that ended before its reply was kept; empty where none.
    """

    ours: bool
    waited: float = 0.0
    left: str = ""


@contextmanager
def in_flight(folder: Path, prompt: str, seconds: float) -> Iterator[Flight]:
    """Have a request to oneself, once whoever has it is done; wait so many seconds at most."""
    path = folder / FOLDER_NAME / prompt.rpartition(":")[2][:_DIGITS]
    waited = 0.0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = locked_file(path, 0.0)
        if descriptor is None and seconds > 0:
            started = monotonic()
            descriptor = locked_file(path, seconds)
            waited = monotonic() - started
    except OSError:
        # Such a folder keeps no reply either, which is said where one is kept.
        yield Flight(ours=True)
        return
    if descriptor is None:
        yield Flight(ours=False, waited=waited)
        return
    try:
        yield Flight(ours=True, waited=waited, left=_signed(descriptor))
    finally:
        # Removed while it is locked: whoever waits for it finds that it is gone, and begins anew.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _signed(descriptor: int) -> str:
    """Write down when we begin; give when somebody began who did not come to an end."""
    left = os.pread(descriptor, _MOST_NOTE, 0).decode("ascii", "replace")
    with suppress(OSError):
        os.pwrite(descriptor, now().encode(), 0)
    return "".join(one for one in left if one.isprintable())
