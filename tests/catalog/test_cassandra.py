"""Cassandra: a small server of ours that speaks its protocol, for want of one of others."""

from __future__ import annotations

import json
import socketserver
import struct
import threading
import uuid
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from constat.catalog.schema import introspection

if find_spec("cassandra") is None:
    pytest.skip("the extra `cassandra` is not installed", allow_module_level=True)
pytestmark = pytest.mark.stores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TEXT, BIGINT, INT, INET, UUID = 0x0D, 0x02, 0x09, 0x10, 0x0C
RULES = """
.decl ordered(order: symbol, customer: symbol, n: number) @[null = skip]
.input ordered(source = "shop", query = "SELECT id, customer, n FROM orders")
.decl price(order: symbol, amount: number)
.input price(source = "shop", query = "SELECT _id, n FROM orders")
"""
ORDERS = [(f"o{n}", f"c{n % 5}", n) for n in range(40)]
SCHEMA = [
    ("orders", "id", "partition_key", 0, "text"),
    ("orders", "customer", "regular", -1, "text"),
    ("orders", "n", "regular", -1, "bigint"),
    ("stock", "shop", "partition_key", 0, "text"),
    ("stock", "sku", "clustering", 0, "text"),
]
Columns = list[tuple[str, int]]


def text(words: str) -> bytes:
    return struct.pack(">H", len(words.encode())) + words.encode()


def cell(value: Any, kind: int) -> bytes:  # noqa: ANN401  a cell of any type
    if value is None:
        return struct.pack(">i", -1)
    raw: bytes = value
    if kind == TEXT:
        raw = str(value).encode()
    elif kind in {BIGINT, INT}:
        raw = struct.pack(">q" if kind == BIGINT else ">i", value)
    return struct.pack(">i", len(raw)) + raw


def specified(columns: Columns) -> bytes:
    return text("shop") + text("t") + b"".join(text(x) + struct.pack(">H", t) for x, t in columns)


def rows_of(columns: Columns, rows: Sequence[Sequence[Any]], more: bytes = b"") -> bytes:
    """Write rows; `more` is the mark of a further page."""
    flags = 0x01 | (0x02 if more else 0)
    paging = struct.pack(">i", len(more)) + more if more else b""
    head = struct.pack(">iii", 2, flags, len(columns)) + paging + specified(columns)
    kinds = [kind for _, kind in columns]
    body = b"".join(cell(x, t) for row in rows for x, t in zip(row, kinds, strict=True))
    return head + struct.pack(">i", len(rows)) + body


LOCAL: Columns = [
    ("key", TEXT), ("cluster_name", TEXT), ("data_center", TEXT), ("rack", TEXT),
    ("release_version", TEXT), ("partitioner", TEXT), ("rpc_address", INET),
    ("broadcast_address", INET), ("host_id", UUID), ("schema_version", UUID),
]  # fmt: skip
KNOWN: Columns = [("id", TEXT), ("customer", TEXT), ("n", BIGINT)]
DESCRIBED: Columns = [
    ("table_name", TEXT), ("column_name", TEXT), ("kind", TEXT), ("position", INT), ("type", TEXT),
]  # fmt: skip


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    endless = False
    pages = 10

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []

    def answer(self, query: str, page: bytes) -> bytes:
        self.asked.append(query)
        here = bytes([127, 0, 0, 1])
        if "system.local" in query:
            named = ("local", "c", "d", "r", "4.0.0", "x", here, here)
            return rows_of(LOCAL, [(*named, uuid.uuid4().bytes, uuid.UUID(int=7).bytes)])
        if "system.peers" in query:
            return rows_of(LOCAL, [])
        if "system_schema.columns" in query:
            return rows_of(DESCRIBED, SCHEMA)
        begun = int(page or b"0")
        end = begun + self.pages
        if self.endless:
            end = begun
        more = str(end).encode() if end < len(ORDERS) else b""
        return rows_of(KNOWN, ORDERS[begun : begun + self.pages], more)


class Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        while head := self.rfile.read(9):
            version, _, stream, opcode, length = struct.unpack(">BBhBi", head)
            body = self.rfile.read(length)
            kind, told = self._told(version, opcode, body)
            self.wfile.write(struct.pack(">BBhBi", 0x84, 0, stream, kind, len(told)) + told)

    def _told(self, version: int, opcode: int, body: bytes) -> tuple[int, bytes]:
        if version != 4:
            return 0x00, struct.pack(">i", 0x0A) + text("Invalid or unsupported protocol version")
        match opcode:
            case 0x05:
                versions = text("CQL_VERSION") + struct.pack(">H", 1) + text("3.4.4")
                packing = text("COMPRESSION") + struct.pack(">H", 0)
                return 0x06, struct.pack(">H", 2) + versions + packing
            case 0x01 | 0x0B:
                return 0x02, b""
            case 0x09:
                wanted = struct.pack(">iiiH", 1, 1, 1, 0) + specified([("id", TEXT)])
                given = struct.pack(">ii", 1, len(KNOWN)) + specified(KNOWN)
                return 0x08, struct.pack(">i", 4) + text("q1") + wanted + given
            case 0x0A:
                at = 2 + struct.unpack(">H", body[:2])[0] + 3
                (count,) = struct.unpack(">H", body[at : at + 2])
                (size,) = struct.unpack(">i", body[at + 2 : at + 6])
                value = body[at + 6 : at + 6 + size].decode()
                self.server.asked.append(f"executed {count} {value}")
                return 0x08, rows_of(KNOWN, [one for one in ORDERS if one[0] == value])
        (size,) = struct.unpack(">i", body[:4])
        query, rest = body[4 : 4 + size].decode(), body[4 + size :]
        page = rest[-4:] if rest[2] & 0x08 else b""
        return 0x08, self.server.answer(query, _mark(rest) if page else b"")


def _mark(rest: bytes) -> bytes:
    """Give the mark of a page behind consistency, flags and the size of pages."""
    at = 3 + 4
    (size,) = struct.unpack(">i", rest[at : at + 4])
    return rest[at + 4 : at + 4 + size]


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def project(folder: Path, server: Server, more: str = "") -> Path:
    uri = f"cassandra://127.0.0.1:{server.server_address[1]}/shop"
    setting = f"databases: {{shop: {{type: cassandra, uri: '{uri}'{more}}}}}"
    (folder / "constat.yaml").write_text(f"project: p\nrules: [r.dl]\n{setting}\n")
    (folder / "r.dl").write_text(RULES)
    return folder


def test_rows_come_page_by_page_and_by_their_key(tmp_path: Path) -> None:
    with serving() as server:
        with Session(project(tmp_path, server, ", sample: 5")) as session:
            found = session.prove('ordered("o39", "c4", 39)')
            assert found.verdict is Verdict.PROVED
            assert session.prove('price("o7", 8)').verdict is Verdict.DISPROVED
        assert "executed 1 o39" in server.asked
        assert "executed 1 o7" in server.asked
        with Session(project(tmp_path, server)) as session:
            assert len(list(session.query("ordered(?o, ?c, ?n)"))) == len(ORDERS)
    assert "WHERE" in json.dumps(str(found.certificate))


def test_the_catalog_says_that_it_is_unverified(tmp_path: Path) -> None:
    with serving() as server, Session(project(tmp_path, server)) as session:
        look = introspection.look_at(session.project.databases["shop"], session.project, "")
    assert look.schema is not None
    told = {one.name: one for one in look.schema.tables}
    assert "unverified" in str(told["orders"].comment)
    assert told["orders"].key == ("_id",)


def test_pages_without_end_are_a_failure(tmp_path: Path) -> None:
    with serving() as server:
        server.endless = True
        server.pages = 0
        with Session(project(tmp_path, server, ", seconds: 1")) as session:
            assert session.prove('ordered("o39", "c4", 39)').verdict is Verdict.UNRESOLVED
