"""One session of a Spark Connect server: statements, files, limits, and what errors mean."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import uuid
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from constat.catalog.interruptible import Deadline, Worker
from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import check_interrupted
from constat.evaluation import ResourceError
from constat.spark.functions import FAILED, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sqlglot import exp

    from constat.evaluation import Resources
    from constat.project.settings import SparkSetting

    _Result = TypeVar("_Result")

# A session is ours alone, so to interrupt all that it runs ends nothing of anybody else. Messages
# of a server quote values, lines and paths; none of that is repeated but what our own statements
# raise.

_PORT: Final = 15002
_SECONDS_TO_CONNECT: Final = 5.0
_SECONDS_TO_END: Final = 2.0
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST: Final = 100


class SparkFailureError(Exception):
    """A statement failed on the server. The text says why, without a value.

    `ours` says that a statement of ours raised it: a value could not be computed exactly.
    """

    def __init__(self, reason: str, *, ours: bool = False) -> None:
        super().__init__(reason)
        self.ours = ours


def unreachable(reason: str, edit: str) -> ConstatError:
    """Give the error for a Spark that nobody can ask."""
    note = "`--engine spark` computes on a Spark Connect server and nowhere else"
    return ConstatError([Diagnostic("C0680", reason, note=note, help=edit)])


class SparkConnection:
    """A session, and the folder in which it keeps what it computes."""

    def __init__(self, setting: SparkSetting, resources: Resources) -> None:
        self._resources = resources
        self._until = resources.running().until
        self._deadline: Deadline | None = None
        self._cancelled = False
        self._interrupted = 0.0
        self._left = False
        self._guard = threading.Lock()
        self._worker = Worker(self.interrupt)
        self._tag = f"constat-{uuid.uuid4().hex[:12]}"
        self.is_near = _is_near(setting.remote)
        self._session = _session(setting.remote)
        self.folder = self._made(setting.folder)

    def _made(self, folder: str) -> str:
        """Name the folder of this evaluation; the server makes it, or we where we see it."""
        if not folder and self.is_near:
            return tempfile.mkdtemp(prefix="constat-spark-")
        if not folder:
            self.close()
            raise _homeless()
        return f"{folder.rstrip('/')}/{self._tag}"

    @property
    def is_shared(self) -> bool:
        """Whether the folder is one that this machine and the server both see."""
        return self.is_near and "://" not in self.folder

    # -------------------------------------------------------------------------------- running

    def rows(self, query: exp.Query) -> list[tuple[object, ...]]:
        """Run a query and give its rows, which are few."""
        text = written(query)
        return self.guarded(lambda: [tuple(one) for one in self._session.sql(text).collect()])

    def save(self, query: exp.Query, path: str, schema: str) -> int:
        """Keep the rows of a query as Parquet, which ends their lineage; give their number."""
        return self.save_written(written(query), path, schema)

    def save_written(self, text: str, path: str, schema: str, mode: str = "overwrite") -> int:
        """As `save`, for a query that is written out already."""

        def work() -> int:
            self._session.sql(text).write.mode(mode).parquet(path)
            return int(self._session.read.schema(schema).parquet(path).count())

        return self.guarded(work)

    def frame(self, read: Callable[[Any], Any], name: str) -> None:
        """Give what a function makes of the session a name that statements read."""
        self.guarded(lambda: read(self._session).createOrReplaceTempView(name))

    def view(self, name: str, paths: Sequence[str], schema: str) -> None:
        """Let statements read some folders of Parquet as one table."""
        self.frame(lambda session: session.read.schema(schema).parquet(*paths), name)

    def types(self, read: Callable[[Any], Any]) -> dict[str, str]:
        """Give the columns of a frame, each with its type as Spark writes it."""
        return self.guarded(lambda: dict(read(self._session).dtypes))

    def arrow(self, query: exp.Query) -> object:
        """Give the rows of a query as a table of Arrow."""
        text = written(query)
        return self.guarded(lambda: self._session.sql(text).toArrow())

    def guarded(self, work: Callable[[], _Result]) -> _Result:
        """Ask the server: bounded in time, interruptible, its errors told as ours."""
        deadline = Deadline(max(self._until - time.monotonic(), 0.0), self._interrupt_server)
        self.check()
        self._deadline = deadline

        def tagged() -> _Result:
            # Tags belong to a thread; they show in the pages of the server what runs for whom.
            self._session.addTag(self._tag)
            return work()

        try:
            with deadline:
                return self._worker.run(tagged)
        except (ConstatError, ResourceError):
            raise
        except Exception as problem:  # noqa: BLE001  whatever the client raises
            if self._cancelled or deadline.late:
                raise self._stopped(deadline) from None
            raise SparkFailureError(meaning(problem), ours=FAILED in str(problem)) from None
        finally:
            with self._guard:
                self._deadline = None

    def check(self) -> None:
        """Raise where the time is up or somebody cancelled."""
        check_interrupted()
        if self._cancelled:
            raise ResourceError("it was cancelled")
        if time.monotonic() > self._until:
            raise ResourceError(self._late, "seconds")

    def interrupt(self) -> None:
        """End what runs and whatever follows; from any thread."""
        with self._guard:
            self._cancelled = True
            if self._deadline is not None:
                self._deadline.cancel()

    def close(self) -> None:
        """End the session, and take away what it kept where this machine sees it."""
        if not self._interrupted:
            with suppress(Exception):
                self._session.stop()
        if getattr(self, "folder", "") and self.is_shared:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._worker.close()

    @property
    def _late(self) -> str:
        return f"it did not finish within {self._resources.seconds:g} s"

    def _interrupt_server(self) -> None:
        """Tell the server to end; where it goes on, nobody listens to it any more."""
        if not self._interrupted:
            self._interrupted = time.monotonic()
            _aside(self._session.interruptAll)
        elif not self._left and time.monotonic() - self._interrupted > _SECONDS_TO_END:
            self._left = True
            _aside(self._session.client.close)

    def _stopped(self, deadline: Deadline) -> ResourceError:
        if deadline.cancelled or self._cancelled:
            return ResourceError("it was cancelled")
        return ResourceError(self._late, "seconds")


def _aside(work: Callable[[], object]) -> None:
    """Ask a server that may be too busy to answer, without waiting for it."""

    def ask() -> None:
        with suppress(Exception):
            work()

    threading.Thread(target=ask, name="spark-end", daemon=True).start()


def meaning(problem: Exception) -> str:
    """Say what an error of the server means; only our own words are taken from it."""
    said = str(problem)
    at = said.find(FAILED)
    if at >= 0:
        own = said[at + len(FAILED) :].splitlines()[0]
        return own.split("'")[0].split('"')[0].strip()[:_LONGEST]
    return f"the server says {type(problem).__name__}"


def _is_near(remote: str) -> bool:
    return (urlsplit(remote).hostname or "") in _LOOPBACK


def _session(remote: str) -> Any:  # noqa: ANN401  the library's own
    address = urlsplit(remote)
    if address.scheme != "sc" or not address.hostname:
        raise unreachable(
            "the address of Spark is none of Spark Connect",
            "write it like `sc://localhost:15002`",
        )
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    builder = _client()
    try:
        port = address.port or _PORT
        # The library would try again for minutes where nobody listens.
        with socket.create_connection((address.hostname, port), _SECONDS_TO_CONNECT):
            pass
        session = builder.remote(remote).create()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set("spark.sql.ansi.enabled", "true")
    except (OSError, ValueError) as problem:
        raise unreachable(
            f"no Spark Connect server answers at {address.hostname}:{address.port or _PORT}"
            if isinstance(problem, OSError)
            else "the address of Spark is none of Spark Connect",
            "start the server, or correct `engines: {spark: {remote: ...}}`",
        ) from None
    except Exception as problem:  # noqa: BLE001  whatever the client raises
        raise unreachable(
            f"the Spark Connect server refuses a session: {type(problem).__name__}",
            "look into the log of the server; a token may be missing in the address",
        ) from None
    return session


def _client() -> Any:  # noqa: ANN401  the library's own
    """Load the client, and give what builds sessions."""
    main = sys.modules["__main__"]
    # Without a file the client takes the program for a test of its own documentation, and exits.
    nameless = not hasattr(main, "__file__")
    if nameless:
        main.__file__ = "<stdin>"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError:
        raise unreachable(
            "the client of Spark is not installed", "install it: `pip install 'constat[spark]'`"
        ) from None
    finally:
        if nameless:
            del main.__file__
    return SparkSession.builder


def _homeless() -> ConstatError:
    return ConstatError(
        [
            Diagnostic(
                "C0684",
                "there is no folder in which Spark keeps what it computes",
                note="rows of each round are kept as Parquet, where all workers read and write",
                help='name one: `engines: {spark: {folder: "s3a://bucket/scratch"}}`',
            )
        ]
    )
