"""Run steps, each in a process of its own that has given everything up.

In: `Code`. Out: `Run`. Invariants: a step ends within its time, with everything that it has
started; what comes from it is read within bounds, and is checked before it is believed; the next
one begins after its process is known to have ended; queries run out here, and the step sees their
rows only. Example: `with Sandbox() as box: box.run(Code("store.put('n', 1)")).state` is `{"n": 1}`.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from typing import TYPE_CHECKING, Final, Self

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.sandbox.conversation import Conversation
from constat.explore.sandbox.launching import Zygote
from constat.explore.sandbox.levels import choose_level
from constat.explore.sandbox.step import (
    LONGEST_CODE,
    Code,
    Level,
    Run,
    StepLimits,
)
from constat.store.tables_checking import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from constat.explore.sandbox.step import Source

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
        self._zygote: Zygote | None = None

    def run(self, code: Code, *, limits: StepLimits | None = None) -> Run:
        """Run a step. Its own failure is in the result.

        Raises `ConstatError` where it cannot be started, or asks for what there is not.
        """
        bounds = limits or self.limits
        self._check(code, bounds)
        conversation = Conversation(code, bounds, self._sources)
        zygote = self._running()
        started = time.monotonic()
        status = self._run_in(zygote, conversation, bounds)
        seconds = time.monotonic() - started
        if status is None and not zygote.alive:
            self.close()
        digest = hashlib.sha256(code.text.encode()).hexdigest()
        return conversation.outcome(digest, self.level, seconds, status)

    def _run_in(self, zygote: Zygote, conversation: Conversation, bounds: StepLimits) -> int | None:
        """Run a step; gives how its process ended, `None` where it had to be killed."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            with ours:
                try:
                    zygote.begin(theirs, writing, self._wish(conversation.code, bounds))
                except OSError:
                    raise ConstatError(
                        [Diagnostic("C0912", "the sandbox has ended by itself; try again")]
                    ) from None
                finally:
                    theirs.close()
                    os.close(writing)
                finished = conversation.hold(ours, reading)
            status = zygote.ended(_SECONDS_TO_DIE) if finished else None
            if status is None and not zygote.stop():
                # A Python whose step cannot be stopped is not asked again.
                zygote.end()
        except BaseException:
            # Interrupted: the step may still be running.
            zygote.end()
            raise
        else:
            return status
        finally:
            os.close(reading)

    @staticmethod
    def _wish(code: Code, bounds: StepLimits) -> dict[str, object]:
        load = [_PICTURES] if "matplotlib" in code.text else []
        return {"memory": bounds.memory, "seconds": bounds.seconds, "load": load}

    def _running(self) -> Zygote:
        if self._zygote is not None and not self._zygote.alive:
            self.close()
        if self._zygote is None:
            self._zygote = Zygote.started(self.level)
        return self._zygote

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
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.end()

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
