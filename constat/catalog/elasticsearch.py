"""Read Elasticsearch and OpenSearch as a store of documents, by plain HTTP.

In: an address. Out: the documents of an index or alias by a search that scrolls. A condition is
`ids`, `terms` of a field that is indexed as it is, or a `range` of numbers, always as a filter. An
answer of which a part of the index is missing is a failure. Nothing is sent but searches and
questions for names and mappings. Reference: https://opensearch.org/docs/latest/api-reference
"""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from constat.catalog.connection import SourceFailureError
from constat.catalog.stores import Pages, Store, mistake, number, patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.stores import Bound, Condition, Field, Keys
    from constat.project import Database

_PAGE: Final = 1_000
_LARGEST: Final = 1 << 26
_LARGEST_NAMES: Final = 1 << 24
_LONGEST_ID: Final = 512
_LONGEST_TERM: Final = 8_000
_KEPT: Final = "1m"
_BITS: Final = MappingProxyType({"long": 63, "integer": 31, "short": 15, "byte": 7})
_OUTSIDE: Final = MappingProxyType(
    {"=": ("lt", "gt"), "<": ("gt",), "<=": ("gt",), ">": ("lt",), ">=": ("lt",)}
)


class SearchStore(Store):
    """The indices of a server."""

    tried = True
    most_keys = 1_000

    def __init__(self, database: Database, seconds: float) -> None:
        super().__init__()
        self._database = database
        self._longest = seconds
        self._address = database.uri()
        self._client: Any = None
        self._base = ""
        self._mappings: dict[str, list[dict[str, Any]]] = {}

    def _opened(self) -> Any:  # noqa: ANN401  the library is loaded on first use
        if self._client is None:
            import httpx2  # noqa: PLC0415  heavy library, loaded on first use

            try:
                parts = urlsplit(self._address)
                host = parts.netloc.rpartition("@")[2]
                if parts.scheme not in {"http", "https"} or not host or parts.port == 0:
                    raise ValueError  # noqa: TRY301  told below
                signed = (parts.username or "", parts.password or "") if parts.username else None
                waits = httpx2.Timeout(self._longest, connect=patience(self._longest))
                # No proxy of the environment, and no other host that an answer names.
                self._client = httpx2.Client(
                    auth=signed, timeout=waits, trust_env=False, follow_redirects=False
                )
                self._base = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
            except (ValueError, TypeError):
                message = f"the uri of database `{self._database.name}` is not an address of HTTP"
                hint = "write for example `https://reader:${PASSWORD}@host:9200`"
                raise mistake(self._database, message, hint) from None
        return self._client

    def _asked(
        self, method: str, path: str, body: object = None, most: int = _LARGEST
    ) -> dict[str, Any]:
        """Send a request and read its answer, an object of JSON."""
        import httpx2  # noqa: PLC0415  heavy library, loaded on first use

        self.check()
        content = None if body is None else json.dumps(body)
        headers = {"accept": "application/json", "content-type": "application/json"}
        client, read = self._opened(), bytearray()
        try:
            with client.stream(
                method, f"{self._base}{path}", content=content, headers=headers
            ) as answer:
                for piece in answer.iter_bytes():
                    self.check()
                    read += piece
                    if len(read) > most:
                        raise SourceFailureError(f"an answer is larger than {most:,} bytes")
                status = answer.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
            raise SourceFailureError("the server does not answer") from None
        if status in {401, 403}:
            raise SourceFailureError("the server does not let us in")
        if status != 200:  # noqa: PLR2004  of HTTP
            raise SourceFailureError(f"the server cannot answer (status {status})")
        try:
            found: object = json.loads(bytes(read), parse_float=number)
        except (ValueError, RecursionError):
            raise SourceFailureError("the server answers something that is no JSON") from None
        if not isinstance(found, dict):
            raise SourceFailureError("the server answers something that is no search")
        return {str(name): value for name, value in found.items()}

    def collections(self) -> Sequence[str]:
        """Name the indices and their aliases; those of the server itself begin with a dot."""
        found: dict[str, None] = {}
        for name, one in self._asked("GET", "/_alias", most=_LARGEST_NAMES).items():
            aliases = one.get("aliases", {}) if isinstance(one, dict) else {}
            found |= dict.fromkeys(one for one in (name, *aliases) if not one.startswith("."))
        return list(found)

    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give documents, page by page, of the state in which the first page is found."""
        self._check_kept(collection)
        path = f"/{quote(collection, safe='')}/_search?scroll={_KEPT}"
        body = {"size": _PAGE, "sort": ["_doc"], "query": self._query(collection, condition)}
        pages, scroll, seen = Pages(self), "", set[tuple[str, str]]()
        try:
            answer = self._asked("POST", path, body)
            while True:
                scroll = str(answer.get("_scroll_id", ""))
                hits = _hits(answer)
                if not hits:
                    return
                for hit in hits:
                    yield self._document(collection, hit, seen)
                pages.follow(len(seen))
                answer = self._asked(
                    "POST", "/_search/scroll", {"scroll": _KEPT, "scroll_id": scroll}
                )
        finally:
            self._leave(scroll)

    def _document(self, collection: str, hit: object, seen: set[tuple[str, str]]) -> dict[str, Any]:
        if not isinstance(hit, dict) or not isinstance(hit.get("_source"), dict):
            reason = f"the collection {collection} gives a document without its source"
            raise SourceFailureError(reason, "C0541")
        key = str(hit.get("_id"))
        source: dict[str, Any] = hit["_source"]
        name = (str(hit.get("_index")), key)
        if name in seen:
            raise SourceFailureError("its pages lead back to one that was read")
        seen.add(name)
        if source.get("_id", key) != key:
            reason = f"the collection {collection} has a field `_id` that is not its key"
            raise SourceFailureError(reason, "C0541")
        return {"_id": key} | source

    def _leave(self, scroll: str) -> None:
        """Let the server forget a search; that it cannot be told does not matter."""
        if scroll:
            try:
                self._asked("DELETE", "/_search/scroll", {"scroll_id": [scroll]})
            except SourceFailureError:
                return

    # ------------------------------------------------------------- what fields are

    def _mapped(self, collection: str) -> list[dict[str, Any]]:
        """Give the mappings of an index, or of those of an alias."""
        if collection not in self._mappings:
            path = f"/{quote(collection, safe='')}/_mapping"
            told = self._asked("GET", path, most=_LARGEST_NAMES)
            found = [one.get("mappings") for one in told.values() if isinstance(one, dict)]
            self._mappings[collection] = [one for one in found if isinstance(one, dict)]
        return self._mappings[collection]

    def _check_kept(self, collection: str) -> None:
        """Raise where an index does not keep its documents as they came."""
        for one in self._mapped(collection):
            kept = one.get("_source", {})
            if kept.get("enabled") is False or kept.get("excludes") or kept.get("includes"):
                reason = f"the collection {collection} does not keep all fields of its documents"
                raise SourceFailureError(reason, "C0541")

    def _fields(self, collection: str, path: str) -> list[dict[str, Any]]:
        """Give the mapping of a field in each index of a collection; empty where one has none."""
        found = []
        for mapping in self._mapped(collection):
            one: Any = mapping
            for part in path.split("."):
                # Objects that are nested are found by queries of their own.
                nested = isinstance(one, dict) and one.get("type") == "nested"
                inner = one.get("properties") if isinstance(one, dict) and not nested else None
                one = inner.get(part) if isinstance(inner, dict) else None
            if not isinstance(one, dict):
                return []
            found.append(one)
        return found

    def _exact(self, collection: str, field: Field) -> str:
        """Name what is indexed of a field as it is: the field, or a part of it; else nothing."""
        mapped = self._fields(collection, field.path)
        kinds = {str(one.get("type")) for one in mapped}
        if not mapped or any(one.get("index") is False or "null_value" in one for one in mapped):
            return ""
        if field.family == "whole":
            return field.path if kinds <= _BITS.keys() else ""
        if field.family == "text" and kinds == {"keyword"}:
            return field.path
        return ""

    def finds(self, collection: str, field: Field) -> bool:
        """Whether each document with a value is found by it."""
        return field.path == "_id" or bool(self._exact(collection, field))

    def orders(self, collection: str, field: Field) -> bool:
        """Whether numbers of a field are compared: those that the index holds as whole numbers."""
        return field.family == "whole" and bool(self._exact(collection, field))

    def _query(self, collection: str, condition: Condition) -> dict[str, Any]:
        parts = [self._among(collection, one) for one in condition.keys]
        parts += [self._within(collection, one) for one in condition.bounds]
        wanted = [one for one in parts if one]
        return {"bool": {"filter": wanted}} if wanted else {"match_all": {}}

    def _among(self, collection: str, keys: Keys) -> dict[str, Any]:
        path = keys.field.path
        if path == "_id":
            ids = [str(one) for one in keys.values if 0 < len(str(one).encode()) <= _LONGEST_ID]
            return {"ids": {"values": ids}}
        mapped = self._fields(collection, path)
        values: list[str | int] = list(keys.values)
        if keys.field.family == "whole":
            # What does not fit into the field is in no document.
            bits = min(_BITS[str(one["type"])] for one in mapped)
            values = [one for one in values if -(1 << bits) <= int(one) < (1 << bits)]
        else:
            # Longer texts are not indexed, so that no query would find them.
            longest = min(int(one.get("ignore_above", _LONGEST_TERM)) for one in mapped)
            if any(len(str(one).encode()) > min(longest, _LONGEST_TERM) for one in values):
                return {}
        return {"terms": {path: values}}

    def _within(self, collection: str, bound: Bound) -> dict[str, Any]:
        """Leave out what is outside; the index may have cut a fraction off, so one more is kept."""
        path = bound.field.path
        bits = min(_BITS[str(one["type"])] for one in self._fields(collection, path))
        if not -(1 << bits) < bound.value < (1 << bits) - 1:
            return {}
        outside = [
            {"range": {path: {one: math.floor(bound.value) - 1 if one == "lt" else
                              math.ceil(bound.value) + 1}}}
            for one in _OUTSIDE[bound.operator]
        ]  # fmt: skip
        return {"bool": {"must_not": outside}}

    def told(self, collection: str, condition: Condition) -> str:
        """Write the search."""
        query = json.dumps(self._query(collection, condition), ensure_ascii=False)
        return f"POST /{collection}/_search {query}"

    def unique(self, collection: str) -> bool:
        """Whether it is one index; several of an alias may use one `_id` each."""
        return len(self._mapped(collection)) == 1

    def count(self, collection: str) -> int | None:
        """Ask for the count."""
        try:
            return int(self._asked("GET", f"/{quote(collection, safe='')}/_count")["count"])
        except (SourceFailureError, KeyError, TypeError, ValueError):
            return None

    def close(self) -> None:
        """End the connections."""
        client, self._client = self._client, None
        self._mappings.clear()
        if client is not None:
            client.close()


def _hits(answer: Mapping[str, Any]) -> list[Any]:
    """Give the documents of an answer that is whole."""
    shards = answer.get("_shards")
    failed = shards.get("failed") if isinstance(shards, dict) else None
    if answer.get("timed_out") is not False or failed != 0:
        raise SourceFailureError("the server answers from a part of the index only")
    hits = answer.get("hits")
    found = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(found, list):
        raise SourceFailureError("the server answers something that is no search")
    return found
