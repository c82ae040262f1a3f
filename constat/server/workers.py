"""Several processes that serve one project at one address, and what they tell each other.

In: a listening socket, and what each process does with it. Out: processes that end together; one
that is killed is begun anew. Invariants: what a caller may expect of one process holds for all: a
reference or a cursor that one has given is answered by each, a request with a key is done once, and
the turns of a caller are counted in one place. They speak through sockets in a folder that is this
user's alone; what comes there is believed.

Example: `Workers(2).run(lambda peers: serve(peers))`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import mmap
import os
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

try:
    import fcntl
except ImportError:  # Windows, where one process answers
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from constat.diagnostics.diagnostic import JsonObject
    from constat.service import Bounds

Message = dict[str, Any]
_LENGTH: Final = struct.Struct("!Q")
_LONGEST: Final = 64 << 20
_CALLERS: Final = 1 << 14
_TURN: Final = struct.Struct("dd")
_REST_SECONDS: Final = 0.5
_YOUNG_SECONDS: Final = 5.0
_READ_SECONDS: Final = 10.0
_ENDS: Final[tuple[int, ...]] = (signal.SIGTERM, signal.SIGINT)


class PeerGoneError(Exception):
    """Another process of the server does not answer; it may be begun anew at the moment."""


class Peers:
    """The other processes of a server, for the one with a number of 0 to `count` - 1."""

    def __init__(self, number: int, count: int, folder: Path) -> None:
        self.number = number
        self.count = count
        self.folder = folder

    @property
    def others(self) -> Iterable[int]:
        """The numbers of the others."""
        return (one for one in range(self.count) if one != self.number)

    def of(self, *place: str) -> int:
        """Give whose a place is: always the same process's."""
        digest = hashlib.sha256("\0".join(place).encode()).digest()
        return int.from_bytes(digest[:4], "big") % self.count

    async def serve(
        self, answer: Callable[[Message], Awaitable[JsonObject | None]]
    ) -> asyncio.Server:
        """Answer what the others ask, until the server that is given is closed."""

        async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                told = await answer(await _received(reader))
                await _sent(writer, told)
            writer.close()

        place = self._place(self.number)
        place.unlink(missing_ok=True)
        return await asyncio.start_unix_server(one, place)

    async def ask(self, number: int, message: Message, seconds: float = _READ_SECONDS) -> Any:  # noqa: ANN401  JSON
        """Ask another process; raises `PeerGoneError` where it does not answer."""
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_unix_connection(self._place(number))
                try:
                    await _sent(writer, message)
                    return await _received(reader)
                finally:
                    writer.close()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            raise PeerGoneError from None

    async def first(self, message: Message) -> Any:  # noqa: ANN401  JSON
        """Give the first answer of the others that is not null; null where none has one."""
        for number in self.others:
            with suppress(PeerGoneError):
                if (found := await self.ask(number, message)) is not None:
                    return found
        return None

    def _place(self, number: int) -> Path:
        return self.folder / f"{number}.sock"


async def _sent(writer: asyncio.StreamWriter, message: object) -> None:
    content = json.dumps(message, default=str).encode()
    writer.write(_LENGTH.pack(len(content)) + content)
    await writer.drain()


async def _received(reader: asyncio.StreamReader) -> Any:  # noqa: ANN401  JSON
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > _LONGEST:
        raise ValueError("too long")
    return json.loads(await reader.readexactly(length))


class SharedTurns:
    """Counts what callers ask, as `Turns` does, for all processes: in memory that they share.

    Of many callers two may have one place by chance; then they share their turns.
    """

    def __init__(self, bounds: Bounds, file: Path) -> None:
        self._bounds = bounds
        self._lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._lock, _CALLERS * _TURN.size)
        self._memory = mmap.mmap(self._lock, _CALLERS * _TURN.size)

    def take(self, name: str) -> bool:
        """Take a turn; false where the caller has none left."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        place = int.from_bytes(digest[:4], "big") % _CALLERS * _TURN.size
        # The clock is that of the machine, and the same for all.
        now = time.monotonic()
        fcntl.lockf(self._lock, fcntl.LOCK_EX, _TURN.size, place)
        try:
            spent, before = _TURN.unpack_from(self._memory, place)
            # What nobody has written is nothing spent.
            spent = max(0.0, spent - max(0.0, now - before) * self._bounds.rate) + 1
            allowed = spent <= self._bounds.burst
            _TURN.pack_into(self._memory, place, min(spent, self._bounds.burst + 1.0), now)
            return bool(allowed)
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN, _TURN.size, place)


def _end_with(alive: int) -> None:
    """End this process where the first one is gone, of which nobody would hear otherwise."""
    os.read(alive, 1)
    os.kill(os.getpid(), signal.SIGTERM)


class Workers:
    """Begins processes and waits for them; what ends this process ends them first."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._began: dict[int, tuple[int, float]] = {}
        self._ending = 0
        self._alive = (-1, -1)

    def run(self, work: Callable[[Peers], None]) -> int:
        """Do the work in each process, until all have ended; gives the exit code."""
        folder = Path(tempfile.mkdtemp(prefix="constat-workers-"))
        self._alive = os.pipe()
        before = {one: signal.signal(one, self._end) for one in _ENDS}
        try:
            for number in range(self._count):
                self._begin(number, folder, work)
            return self._wait(folder, work)
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            for one in self._alive:
                os.close(one)
            shutil.rmtree(folder, ignore_errors=True)

    def _end(self, number: int, _: object) -> None:
        self._ending = number
        for process in self._began:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def _begin(self, number: int, folder: Path, work: Callable[[Peers], None]) -> None:
        process = os.fork()
        if process:
            self._began[process] = (number, time.monotonic())
            if self._ending:
                os.kill(process, signal.SIGTERM)
            return
        # The process that was begun goes on here, and never leaves this method.
        code = 1
        try:
            # A terminal interrupts the first process alone, which ends the others in order.
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.close(self._alive[1])
            threading.Thread(target=_end_with, args=(self._alive[0],), daemon=True).start()
            work(Peers(number, self._count, folder))
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException as problem:  # noqa: BLE001  its text may hold values
            sys.stderr.write(f"a process of the server failed ({type(problem).__name__})\n")
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _wait(self, folder: Path, work: Callable[[Peers], None]) -> int:
        worst = 0
        while self._began:
            process, status = os.wait()
            if process not in self._began:
                continue
            number, began = self._began.pop(process)
            code = os.waitstatus_to_exitcode(status)
            if self._ending:
                continue
            young = time.monotonic() - began < _YOUNG_SECONDS
            if code >= 0 or young:
                # It did not begin, and would not the next time.
                worst = max(worst, abs(code)) or 1
                self._end(signal.SIGTERM, None)
                continue
            sys.stderr.write(f"process {number} of the server was killed, and is begun anew\n")
            time.sleep(_REST_SECONDS)
            self._begin(number, folder, work)
        return worst or (128 + self._ending if self._ending else 0)
