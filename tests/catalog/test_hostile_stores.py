"""Servers of stores that lie, loop, hang or give too much: each is bounded, none is believed."""

from __future__ import annotations

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from constat.catalog import elasticsearch, redis, stores
from constat.catalog.connection import SourceFailureError
from constat.project import Database, load_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Answer = Callable[[str, str], tuple[int, bytes]]

HITS = [{"_index": "c", "_id": str(n), "_source": {"n": n}} for n in range(3)]


def page(hits: Sequence[object], **more: object) -> bytes:
    told = {"timed_out": False, "_shards": {"failed": 0}, "_scroll_id": "s", "hits": {"hits": hits}}
    return json.dumps(told | more).encode()


def as_search(found: bytes, after: bytes | None = None) -> Answer:
    def answer(method: str, path: str) -> tuple[int, bytes]:
        if path == "/_alias":
            return 200, b'{"c": {"aliases": {}}}'
        if path.endswith("_mapping"):
            return 200, b'{"c": {"mappings": {"properties": {"n": {"type": "long"}}}}}'
        if "scroll" in path and "_search/scroll" in path:
            return 200, page([]) if after is None else after
        return 200, found

    return answer


@contextmanager
def http(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, body = answer(self.command, self.path)
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815  names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://reader:canary@127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def database(folder: Path, kind: str, uri: str, more: str = "") -> Database:
    setting = f"{{type: {kind}, uri: '{uri}'{more}}}"
    (folder / "constat.yaml").write_text(f"project: p\ndatabases: {{shop: {setting}}}\n")
    return load_project(folder).databases["shop"]


def documents(store: stores.Store, seconds: float = 5) -> list[Mapping[str, Any]]:
    store.start(seconds)
    try:
        store.collections()
        return list(store.documents("c", stores.EVERYTHING))
    finally:
        store.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (as_search(page(HITS), page(HITS)), "lead back"),
        (as_search(page(HITS, timed_out=True)), "a part of the index"),
        (as_search(page(HITS, _shards={"failed": 1})), "a part of the index"),
        (as_search(json.dumps({"hits": {"hits": HITS}}).encode()), "a part of the index"),
        (as_search(page([{"_id": "1"}])), "without its source"),
        (as_search(page([{"_id": "1", "_source": {"_id": "2"}}])), "not its key"),
        (as_search(b"<html>Welcome</html>"), "no JSON"),
        (as_search(b"[" * 100_000), "no JSON"),
        (as_search(b"[]"), "no search"),
        (lambda *_: (302, b""), "status 302"),
        (lambda *_: (500, b"canary"), "status 500"),
        (lambda *_: (401, b""), "let us in"),
    ],
)
def test_what_is_no_whole_search_is_a_failure(tmp_path: Path, answer: Answer, reason: str) -> None:
    with http(answer) as address:
        store = elasticsearch.SearchStore(database(tmp_path, "elasticsearch", address), 5)
        with pytest.raises(SourceFailureError, match=reason) as caught:
            documents(store)
    assert "canary" not in str(caught.value)


def test_an_answer_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elasticsearch, "_LARGEST", 10_000)
    with http(as_search(page([{"_id": "1", "_source": {"a": "x" * 20_000}}]))) as address:
        store = elasticsearch.SearchStore(database(tmp_path, "opensearch", address), 5)
        store.start(5)
        with pytest.raises(SourceFailureError, match="larger than"):
            store._asked("POST", "/c/_search", {}, most=10_000)
        store.close()


def test_an_index_that_keeps_a_part_of_its_documents_is_refused(tmp_path: Path) -> None:
    def answer(_: str, path: str) -> tuple[int, bytes]:
        if path == "/_alias":
            return 200, b'{"c": {}}'
        return 200, b'{"c": {"mappings": {"_source": {"excludes": ["secret"]}}}}'

    with http(answer) as address:
        store = elasticsearch.SearchStore(database(tmp_path, "elasticsearch", address), 5)
        with pytest.raises(SourceFailureError, match="does not keep all fields"):
            documents(store)


# ---------------------------------------------------------------------------------- Redis


def bulk(*texts: bytes) -> bytes:
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(x), x) for x in texts)


@contextmanager
def lying_redis(replies: Mapping[bytes, bytes]) -> Iterator[str]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                parts = []
                for _ in range(int(line[1:])):
                    size = int(self.rfile.readline()[1:])
                    parts.append(self.rfile.read(size + 2)[:-2])
                self.wfile.write(replies.get(parts[0].upper(), b"+OK\r\n"))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"redis://:canary@127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def scan(cursor: bytes, *keys: bytes) -> bytes:
    return b"*2\r\n$%d\r\n%s\r\n" % (len(cursor), cursor) + bulk(*keys)


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ({b"SCAN": scan(b"7", b"c:1")}, "did not finish"),
        ({b"SCAN": b"-NOPERM no access\r\n"}, "let us in"),
        ({b"SCAN": b"-ERR canary\r\n"}, "cannot answer"),
        ({b"SCAN": b"garbage canary\r\n"}, "does not answer|cannot answer"),
        ({b"SCAN": scan(b"0", b"c:1"), b"TYPE": b"+stream\r\n"}, "holds a stream"),
        (
            {b"SCAN": scan(b"0", b"c:1"), b"TYPE": b"+string\r\n", b"STRLEN": b":99999999\r\n"},
            "length 99,999,999",
        ),
        (
            {
                b"SCAN": scan(b"0", b"c:1"),
                b"TYPE": b"+hash\r\n",
                b"HLEN": b":1\r\n",
                b"HGETALL": bulk(b"_id", b"other"),
            },
            "named as a part of a key",
        ),
    ],
)
def test_a_redis_that_lies_is_a_failure(
    tmp_path: Path, replies: Mapping[bytes, bytes], reason: str
) -> None:
    with lying_redis(replies) as address:
        store = redis.RedisStore(database(tmp_path, "redis", address, ", seconds: 1"), 1)
        with pytest.raises(SourceFailureError, match=reason) as caught:
            documents(store, seconds=1)
    assert "canary" not in str(caught.value)


def test_keys_and_values_of_redis_that_are_no_text(tmp_path: Path) -> None:
    replies = {b"SCAN": scan(b"0", b"\xff", b"c:1"), b"TYPE": b"+string\r\n"}
    replies |= {b"STRLEN": b":2\r\n", b"GET": b"$2\r\n\xff\xfe\r\n"}
    with lying_redis(replies) as address:
        found = documents(redis.RedisStore(database(tmp_path, "redis", address), 5))
    assert found == [{"_id": "1", "value": b"\xff\xfe"}]


# ---------------------------------------------------------------------------------- any store


class Endless(stores.Store):
    """A store that never stops, with documents of 1,500 fields."""

    def collections(self) -> Sequence[str]:
        return ["c"]

    def documents(
        self, collection: str, condition: stores.Condition
    ) -> Iterator[Mapping[str, Any]]:
        number = 0
        while True:
            yield {"_id": number} | {f"field {place}": number for place in range(1_500)}
            number += 1

    def told(self, collection: str, condition: stores.Condition) -> str:
        return "everything\nDROP TABLE x" + "y" * 10_000


def endless(folder: Path, seconds: float = 5, sample: int = 20) -> stores.StoreConnection:
    setting = database(folder, "mongodb", "mongodb://127.0.0.1:1", f", sample: {sample}")
    return stores.StoreConnection(Endless(), setting, seconds)


def test_a_store_without_end_has_columns_and_no_rows(tmp_path: Path) -> None:
    from constat.catalog.connection import Question, ReadBounds

    connection = endless(tmp_path, seconds=2)
    connection.begin()
    assert connection.columns('SELECT "field 1499" FROM c') == ("field 1499",)
    question = Question("SELECT _id FROM c", tables=frozenset({"c"}))
    with pytest.raises(SourceFailureError, match=r"did not finish|letters"):
        list(connection.read(question, ReadBounds(1, 10)))
    connection.close()


def test_what_is_sent_stays_on_one_line(tmp_path: Path) -> None:
    connection = endless(tmp_path)
    connection.begin()
    said = connection._sentence("c", stores.EVERYTHING)
    assert "\n" not in said
    assert len(said) < 3_000
    connection.close()


def test_who_cancels_does_not_wait_for_a_store(tmp_path: Path) -> None:
    from constat.catalog.connection import Question, ReadBounds

    connection = endless(tmp_path, seconds=60)
    connection.begin()
    connection.columns("SELECT _id FROM c")
    later = threading.Timer(0.3, connection.cancel)
    later.start()
    question = Question("SELECT _id FROM c", tables=frozenset({"c"}))
    with pytest.raises(SourceFailureError, match="cancelled"):
        list(connection.read(question, ReadBounds(60, 10)))
    later.join()
    connection.close()


class Changing(Endless):
    """A store whose later documents hold what its first ones do not."""

    def documents(
        self, collection: str, condition: stores.Condition
    ) -> Iterator[Mapping[str, Any]]:
        yield from ({"_id": n, "price": n, "name": f"n{n}"} for n in range(50))
        yield {"_id": 50, "price": "7", "name": "n50", "new": 1}


def test_a_value_of_another_kind_spoils_its_column_alone(tmp_path: Path) -> None:
    from constat.catalog.connection import Question, ReadBounds

    setting = database(tmp_path, "mongodb", "mongodb://127.0.0.1:1", ", sample: 10")
    connection = stores.StoreConnection(Changing(), setting, 5)
    connection.begin()
    connection.columns("SELECT price FROM c")
    bounds = ReadBounds(5, 1_000)
    named = Question("SELECT name FROM c", tables=frozenset({"c"}))
    assert sum(map(len, connection.read(named, bounds))) == 51
    priced = Question("SELECT price FROM c", tables=frozenset({"c"}))
    with pytest.raises(SourceFailureError, match="holds in price a value of the kind text"):
        list(connection.read(priced, bounds))
    connection.close()


@pytest.mark.parametrize(
    ("kind", "uri"),
    [
        ("mongodb", "mongodb://u:canary@127.0.0.1:1/x"),
        ("redis", "redis://:canary@127.0.0.1:1"),
        ("elasticsearch", "http://u:canary@127.0.0.1:1"),
        ("dynamodb", "http://key:canary@127.0.0.1:1"),
    ],
)
def test_a_server_that_is_not_there_is_told_soon(tmp_path: Path, kind: str, uri: str) -> None:
    database(tmp_path, kind, uri, ", region: eu-west-1, seconds: 60")
    with (tmp_path / "constat.yaml").open("a") as settings:
        settings.write("rules: [r.dl]\n")
    query = 'query = "SELECT _id FROM c"'
    (tmp_path / "r.dl").write_text(f'.decl p(x: symbol)\n.input p(source = "shop", {query})\n')
    with Session(tmp_path) as session:
        answer = session.prove('p("x")')
    assert answer.verdict is Verdict.UNRESOLVED
    assert "canary" not in str(answer)
    # The wait for a server does not grow with what a query may take.
    assert stores.patience(60) < 5


@pytest.mark.parametrize(
    ("kind", "uri"),
    [
        ("mongodb", "canary"),
        ("redis", "canary"),
        ("elasticsearch", "canary"),
        ("dynamodb", "http://canary:port"),
    ],
)
def test_an_address_that_is_none_is_not_shown(tmp_path: Path, kind: str, uri: str) -> None:
    from constat.diagnostics import ConstatError

    database(tmp_path, kind, uri)
    with (tmp_path / "constat.yaml").open("a") as settings:
        settings.write("rules: [r.dl]\n")
    query = 'query = "SELECT _id FROM c"'
    (tmp_path / "r.dl").write_text(f'.decl p(x: symbol)\n.input p(source = "shop", {query})\n')
    with Session(tmp_path) as session, pytest.raises(ConstatError) as caught:
        session.prove('p("x")')
    assert "canary" not in str(caught.value.diagnostics)
