"""Read Redis and Valkey as a store of documents.

In: an address, and perhaps patterns of keys by the names of tables. Out: the keys of a pattern as
documents. Parts of a key stand between colons; a star in a pattern is one part. Without patterns
the parts are names and ids by turns: `user:17` is of `user:*`, `order:5:lines` of `order:*:lines`.
With one star `_id` is what it stands for, else the key, and `_1`, `_2` are the parts. A hash is an
object of texts, a string that is JSON what it says, any other a field `value`; lists, sets and
sorted sets are a list `value`. Nothing is sent but SCAN, TYPE, lengths and reads of keys.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import SourceFailureError
from constat.catalog.stores import Field, Store, driver, mistake, number, patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.stores import Condition
    from constat.project import Database

_AT_ONCE: Final = 500
_SCANNED: Final = 1_000
_MOST_KEYS: Final = 2_000_000
_LARGEST: Final = 1 << 24
_MOST_ENTRIES: Final = 200_000
_LENGTHS: Final = MappingProxyType(
    {
        "string": ("STRLEN",),
        "hash": ("HLEN",),
        "list": ("LLEN",),
        "set": ("SCARD",),
        "zset": ("ZCARD",),
    }
)
_READS: Final[Mapping[str, tuple[str, tuple[int | str, ...]]]] = MappingProxyType(
    {
        "string": ("GET", ()),
        "hash": ("HGETALL", ()),
        "list": ("LRANGE", (0, -1)),
        "set": ("SMEMBERS", ()),
        "zset": ("ZRANGE", (0, -1, "WITHSCORES")),
    }
)
_SPECIAL: Final = re.compile(r"[\\\[\]?^]|\*\*")


class RedisStore(Store):
    """A database of Redis."""

    tried = True
    most_keys = 5_000

    def __init__(self, database: Database, seconds: float) -> None:
        super().__init__()
        self._database = database
        self._seconds_at_most = seconds
        self._driver: Any = driver(database, "redis", "redis", "redis")
        self._address = database.uri()
        self._patterns: dict[str, str] = {}
        self._client: Any = None
        for name, pattern in database.tables.items():
            if _SPECIAL.search(pattern):
                message = f"the pattern of the table `{name}` has letters other than `*` to match"
                raise mistake(database, message, "write for example `user:*`")

    def _opened(self) -> Any:  # noqa: ANN401  the driver is loaded on first use
        if self._client is None:
            try:
                self._client = self._driver.Redis.from_url(
                    self._address,
                    socket_connect_timeout=patience(self._seconds_at_most),
                    socket_timeout=self._seconds_at_most,
                    decode_responses=False,
                    protocol=2,
                    retry=None,
                )
            except (self._driver.RedisError, ValueError, TypeError):
                # A message of the driver's may show the address: none of its text is used.
                name = self._database.name
                message = f"the uri of database `{name}` is not an address of Redis"
                hint = "write for example `redis://:${PASSWORD}@host:6379/0`"
                raise mistake(self._database, message, hint) from None
        return self._client

    def _asked(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send commands together and give their answers."""
        self.check()
        try:
            with self._opened().pipeline(transaction=False) as sent:
                for command in commands:
                    sent.execute_command(*command)
                return list(sent.execute(raise_on_error=True))
        except (self._driver.RedisError, OSError, ValueError) as problem:
            raise self._failure(problem) from None

    def _failure(self, problem: Exception) -> SourceFailureError:
        errors = self._driver.exceptions
        said = str(problem)
        if isinstance(problem, errors.AuthenticationError | errors.NoPermissionError) or any(
            one in said for one in ("NOAUTH", "WRONGPASS", "NOPERM", "invalid username-password")
        ):
            return SourceFailureError("the server does not let us in")
        if isinstance(problem, errors.ConnectionError | errors.TimeoutError | OSError):
            return SourceFailureError("the server does not answer")
        return SourceFailureError(f"the server cannot answer ({type(problem).__name__})")

    def collections(self) -> Sequence[str]:
        """Name the tables of the configuration; without any those that the keys' names tell."""
        if self._database.tables:
            self._patterns = dict(self._database.tables)
            self._asked([("PING",)])
            return list(self._patterns)
        patterns: dict[str, None] = {}
        for key in self._scan("*"):
            with suppress(UnicodeDecodeError):
                patterns[_pattern(key)] = None
        found: dict[str, str] = {}
        for pattern in patterns:
            name = "_".join(one for one in pattern.split(":") if one != "*") or "_"
            if name in found:
                raise SourceFailureError(
                    f"the patterns of keys {found[name]} and {pattern} would need one name; name"
                    " them below `tables`",
                    "C0541",
                )
            found[name] = pattern
        self._patterns = found
        return list(found)

    def _scan(self, pattern: str) -> Iterator[bytes]:
        """Give each key of a pattern once; the server may name one several times."""
        cursor, seen = b"0", set[bytes]()
        while True:
            ((cursor, keys),) = self._asked([("SCAN", cursor, "MATCH", pattern, "COUNT", _SCANNED)])
            for key in keys:
                if key not in seen:
                    seen.add(key)
                    yield key
            if len(seen) > _MOST_KEYS:
                raise SourceFailureError(f"it has more than {_MOST_KEYS:,} keys")
            if int(cursor) == 0:
                return

    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give the keys of a pattern; those of some ids are read by their names."""
        pattern = self._patterns[collection]
        wanted = re.compile("([^:]*)".join(map(re.escape, pattern.split("*"))).encode(), re.DOTALL)
        ids = [one for keys in condition.keys[:1] for one in keys.values]
        named = (pattern.replace("*", str(one), 1).encode() for one in ids)
        keys = named if condition.keys else self._scan(pattern)
        batch: list[tuple[bytes, tuple[bytes, ...]]] = []
        for key in keys:
            found = wanted.fullmatch(key)
            if found is None or (not condition.keys and not self._of(pattern, key)):
                continue
            batch.append((key, found.groups()))
            if len(batch) == _AT_ONCE:
                yield from self._read(collection, batch)
                batch = []
        yield from self._read(collection, batch)

    def _of(self, pattern: str, key: bytes) -> bool:
        """Whether a key is of a pattern that the names of keys tell; each is of one."""
        if self._database.tables:
            return True
        try:
            return _pattern(key) == pattern
        except UnicodeDecodeError:
            return True

    def _read(
        self, collection: str, batch: Sequence[tuple[bytes, tuple[bytes, ...]]]
    ) -> Iterator[dict[str, Any]]:
        if not batch:
            return
        kinds = [one.decode() for one in self._asked([("TYPE", key) for key, _ in batch])]
        there = [(*one, kind) for one, kind in zip(batch, kinds, strict=True) if kind != "none"]
        self._check_lengths(collection, [(key, kind) for key, _, kind in there])
        # One read after the other, so that no more than one large value is waited for.
        for key, parts, kind in there:
            name, more = _READS[kind]
            (value,) = self._asked([(name, key, *more)])
            if value is None or value in ([], {}, set()):
                continue  # it expired meanwhile
            try:
                own, fields = _named(key, parts), _fields(kind, value)
            except UnicodeDecodeError:
                raise _failure(collection, "has a key or a field that is no text") from None
            if not own.keys().isdisjoint(fields):
                raise _failure(collection, "has a field that is named as a part of a key is here")
            yield own | fields

    def _check_lengths(self, collection: str, keys: Sequence[tuple[bytes, str]]) -> None:
        for _, kind in keys:
            if kind not in _READS:
                raise _failure(collection, f"holds a {kind}, which is not read")
        lengths = self._asked([(*_LENGTHS[kind], key) for key, kind in keys]) if keys else []
        for (_, kind), length in zip(keys, lengths, strict=True):
            if length > (_LARGEST if kind == "string" else _MOST_ENTRIES):
                raise _failure(collection, f"holds a {kind} of the length {length:,}")

    def told(self, collection: str, condition: Condition) -> str:
        """Write the commands, with a pattern or with keys."""
        pattern = self._patterns[collection]
        if condition.keys:
            keys = [pattern.replace("*", str(one), 1) for one in condition.keys[0].values]
            return f"reads of the keys {json.dumps(keys, ensure_ascii=False)}"
        return f"SCAN MATCH {json.dumps(pattern, ensure_ascii=False)}, and reads of these keys"

    def finds(self, collection: str, field: Field) -> bool:
        """Whether values of a field are names of keys."""
        return field == _ID and self._patterns[collection].count("*") == 1

    def count(self, collection: str) -> int | None:
        """Ask for the number of all keys."""
        del collection
        try:
            return int(self._asked([("DBSIZE",)])[0])
        except SourceFailureError:
            return None

    def close(self) -> None:
        """End the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


_ID: Final = Field("_id", "text")


def _pattern(key: bytes) -> str:
    """Give the pattern of a key: its parts are names and ids by turns."""
    parts = key.split(b":")
    names = [one.decode() if place % 2 == 0 else "*" for place, one in enumerate(parts)]
    return ":".join(one.replace("*", "?") if one != "*" else one for one in names)


def _named(key: bytes, parts: tuple[bytes, ...]) -> dict[str, Any]:
    """Give the fields that the name of a key says."""
    if len(parts) == 1:
        return {"_id": parts[0].decode()}
    return {"_id": key.decode()} | {f"_{n}": one.decode() for n, one in enumerate(parts, 1)}


def _fields(kind: str, value: Any) -> dict[str, Any]:  # noqa: ANN401  what a command answers
    match kind:
        case "hash":
            pairs = value.items() if isinstance(value, dict) else _pairs(value)
            return {name.decode(): _text(one) for name, one in pairs}
        case "string":
            return _said(value)
        case "zset":
            pairs = value if value and isinstance(value[0], tuple | list) else _pairs(value)
            return {
                "value": [{"member": _text(one), "score": float(score)} for one, score in pairs]
            }
        case "set":
            return {"value": sorted(map(_text, value), key=repr)}
    return {"value": [_text(one) for one in value]}


def _pairs(flat: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _said(value: bytes) -> dict[str, Any]:
    """Read a string: an object or a list in JSON, or else its text."""
    if value.lstrip()[:1] in {b"{", b"["}:
        with suppress(ValueError, RecursionError):
            read = json.loads(value, parse_float=number)
            return read if isinstance(read, dict) else {"value": read}
    return {"value": _text(value)}


def _failure(collection: str, reason: str) -> SourceFailureError:
    return SourceFailureError(f"the collection {collection} {reason}", "C0541")
