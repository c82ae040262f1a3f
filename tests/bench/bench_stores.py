"""Keys of one source that are sent to a store of documents: round trips and bytes on the line.

In: a kind of store whose server `make stores` has fetched, and numbers of documents and of keys.
Out: what a goal over a table of SQLite and a collection takes, beside a plan that reads the
collection whole; the first look, at the first documents, is counted apart. Everything goes through
a proxy that counts. Example: `python -m tests.bench.bench_stores dynamodb 5000 100`.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from constat import Session
from tests.servers import stores

RULES: Final = """
.decl picked(c: symbol)
.input picked(source = "here", query = "SELECT id FROM picked")
.decl customer(c: symbol, name: symbol)
.input customer(source = "shop", query = "SELECT _id, name FROM customers")
.decl known(c: symbol, name: symbol)
known(?c, ?n) :- picked(?c), customer(?c, ?n).
"""
SAMPLE: Final = 100
_PART: Final = 1 << 16
_SECONDS: Final = 10.0


@dataclass
class Line:
    """What has gone over a line: round trips, and bytes in both directions."""

    trips: int = 0
    sent: int = 0
    received: int = 0
    _asking: bool = False

    def note(self, size: int, *, asking: bool) -> None:
        """Count what one side said; a trip begins where it is the client's turn again."""
        self.trips += asking and not self._asking
        self._asking = asking
        if asking:
            self.sent += size
        else:
            self.received += size

    def taken(self) -> tuple[int, int, int]:
        """Give trips, bytes sent and bytes received since the last time."""
        told = self.trips, self.sent, self.received
        self.trips = self.sent = self.received = 0
        return told


@contextmanager
def counted(port: int) -> Iterator[tuple[int, Line]]:
    """Give a port that leads to another one of this machine, and what goes over it."""
    line = Line()
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []
    running: list[threading.Thread] = []

    def pump(source: socket.socket, target: socket.socket, *, asking: bool) -> None:
        with suppress(OSError):
            while part := source.recv(_PART):
                line.note(len(part), asking=asking)
                target.sendall(part)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                opened.extend((client, server))
                for pair, asking in (((client, server), True), ((server, client), False)):
                    thread = threading.Thread(
                        target=pump, args=pair, kwargs={"asking": asking}, daemon=True
                    )
                    running.append(thread)
                    thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1], line
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(_SECONDS)
        for one in opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in running:
            thread.join(_SECONDS)
        for one in opened:
            one.close()


def project(folder: Path, setting: str, keys: int, step: int) -> Path:
    """Write a project: every `step`-th customer is picked in SQLite, all are in the store."""
    with closing(sqlite3.connect(folder / "here.sqlite")) as connection:
        connection.execute("CREATE TABLE picked (id TEXT)")
        rows = [(f"c{number * step}",) for number in range(keys)]
        connection.executemany("INSERT INTO picked VALUES (?)", rows)
        connection.commit()
    (folder / "a.dl").write_text(RULES)
    (folder / "constat.yaml").write_text(
        "project: p\nrules: [a.dl]\nlimits: {seconds: 600, query_seconds: 600}\n"
        f"databases:\n  here: {{uri: 'sqlite:///here.sqlite'}}\n"
        f"  shop: {{{setting}, sample: {SAMPLE}}}\n"
    )
    return folder


def fill(server: stores.Served, documents: int) -> None:
    """Write the customers."""
    told = ({"_id": f"c{n}", "name": f"Name {n}", "note": "x" * 200} for n in range(documents))
    server.fill("customers", list(told))


def measure(
    server: stores.Served, folder: Path, documents: int, keys: int
) -> dict[str, tuple[int, int, int]]:
    """Give what a look, a join and a plan that reads everything take, each with its rows right."""
    port = int("".join(filter(str.isdigit, server.setting.rpartition("127.0.0.1:")[2][:6])))
    step = documents // keys
    with counted(port) as (other, line):
        setting = server.setting.replace(f"127.0.0.1:{port}", f"127.0.0.1:{other}")
        with Session(project(folder, setting, keys, step)) as session:
            found = {}
            session.prove(f'known("c{step}", "Name {step}")')
            line.taken()
            session.prove("known(c0, ?n)")
            found["one key"] = line.taken()
            rows = {(row["c"], row["n"]) for row in session.query("known(?c, ?n)")}
            found["join"] = line.taken()
            assert rows == {(f"c{n * step}", f"Name {n * step}") for n in range(keys)}
            assert len(list(session.query("customer(?c, ?n)"))) == documents
            found["everything"] = line.taken()
    return found


def main() -> None:
    """Print the figures."""
    kind, documents, keys = (*sys.argv[1:], "dynamodb", "5000", "100")[:3]
    if reason := stores.missing(kind):
        sys.exit(reason)
    with stores.served(kind) as server, tempfile.TemporaryDirectory() as folder:
        fill(server, int(documents))
        for name, told in measure(server, Path(folder), int(documents), int(keys)).items():
            sys.stdout.write(f"{name:<12}" + "".join(f"{one:>12,}" for one in told) + "\n")


if __name__ == "__main__":
    main()
