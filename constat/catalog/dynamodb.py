"""Read DynamoDB as a store of documents.

In: a region or an address, and credentials of the environment. Out: the items of a table by Scan,
by BatchGetItem where a table's key is one attribute, and by Query for each value of its first one.
`_id` is the key; where that has two attributes, both as JSON. Values are sent as typed attributes,
never as a part of an expression. Reads are consistent, of one item at a time.
Reference: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from constat.catalog.connection import SourceFailureError
from constat.catalog.stores import EVERYTHING, Pages, Store, driver, mistake, patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.stores import Condition, Field, Keys
    from constat.project import Database

_REFUSED: Final = frozenset(
    ("AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException")
)
_FAMILIES: Final = MappingProxyType({"text": "S", "whole": "N"})
_LONGEST_KEY: Final = 2_048
_MOST_DIGITS: Final = 38
_BATCH: Final = 100
_MOST_TRIES: Final = 20
_OUTSIDE: Final = MappingProxyType(
    {"=": ("<", ">"), "<": (">=",), "<=": (">",), ">": ("<=",), ">=": ("<",)}
)


class DynamoStore(Store):
    """The tables of a region."""

    tried = True
    most_asked = 5_000

    def __init__(self, database: Database, seconds: float) -> None:
        super().__init__()
        self._database = database
        self._longest = seconds
        self._driver: Any = driver(database, "boto3", "boto3", "dynamodb")
        self._errors: Any = driver(database, "botocore.exceptions", "boto3", "dynamodb")
        self._config: Any = driver(database, "botocore.config", "boto3", "dynamodb")
        self._address = database.uri()
        self._client: Any = None
        self._keys: dict[str, tuple[tuple[str, str], ...]] = {}
        self._counts: dict[str, int] = {}

    def _opened(self) -> Any:  # noqa: ANN401  the driver is loaded on first use
        if self._client is None:
            settings: dict[str, Any] = {}
            try:
                parts = urlsplit(self._address)
                if parts.username is not None:
                    settings["aws_access_key_id"] = parts.username
                    settings["aws_secret_access_key"] = parts.password or ""
                if self._address:
                    host = parts.netloc.rpartition("@")[2]
                    settings["endpoint_url"] = f"{parts.scheme}://{host}"
                self._client = self._driver.client(
                    "dynamodb",
                    region_name=self._region(),
                    config=self._config.Config(
                        connect_timeout=patience(self._longest),
                        read_timeout=self._longest,
                        retries={"total_max_attempts": 2, "mode": "standard"},
                    ),
                    **settings,
                )
            except (self._errors.BotoCoreError, ValueError):
                # A message of the driver's may show the address: none of its text is used.
                message = f"database `{self._database.name}` does not say where DynamoDB is"
                hint = "write `region: eu-west-1`, or its endpoint as `uri`"
                raise mistake(self._database, message, hint) from None
        return self._client

    def _region(self) -> str | None:
        """Name the region; an address by itself needs one for its signatures only."""
        named = self._database.options.get("region")
        if named or not self._address:
            return named
        found = re.match(r"https://dynamodb\.([a-z0-9-]+)\.amazonaws\.com", self._address)
        return found[1] if found else self._driver.Session().region_name or "us-east-1"

    def _asked(self, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401  of AWS
        self.check()
        try:
            found: dict[str, Any] = getattr(self._opened(), operation)(**parameters)
        except self._errors.ClientError as problem:
            code = str(problem.response.get("Error", {}).get("Code", ""))
            if code in _REFUSED:
                raise SourceFailureError("the server does not let us in") from None
            told = code if code.isalnum() else type(problem).__name__
            raise SourceFailureError(f"the server cannot answer ({told[:60]})") from None
        except (self._errors.NoCredentialsError, self._errors.PartialCredentialsError):
            reason = "the environment has no credentials of AWS"
            raise SourceFailureError(reason) from None
        except (self._errors.BotoCoreError, OSError):
            raise SourceFailureError("the server does not answer") from None
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            reason = f"the server answers what DynamoDB does not ({type(problem).__name__})"
            raise SourceFailureError(reason) from None
        return found

    def collections(self) -> Sequence[str]:
        """Name the tables."""
        found: list[str] = []
        start: dict[str, str] = {}
        pages = Pages(self)
        while True:
            answer = self._asked("list_tables", **start)
            found += map(str, answer.get("TableNames", ()))
            last = answer.get("LastEvaluatedTableName")
            if not last:
                return found
            pages.follow(last)
            start = {"ExclusiveStartTableName": last}

    def _key(self, table: str) -> tuple[tuple[str, str], ...]:
        """Give the attributes of a table's key, the first one first, with their types."""
        if table not in self._keys:
            told = self._asked("describe_table", TableName=table).get("Table", {})
            types = {
                one["AttributeName"]: one["AttributeType"]
                for one in told.get("AttributeDefinitions", ())
            }
            schema = sorted(told.get("KeySchema", ()), key=lambda one: one["KeyType"] != "HASH")
            names = [str(one["AttributeName"]) for one in schema]
            if not names:
                raise SourceFailureError("the server does not say what the key of a table is")
            self._keys[table] = tuple((one, str(types.get(one, ""))) for one in names)
            self._counts[table] = int(told.get("ItemCount", 0))
        return self._keys[table]

    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give items, as objects of values of Python."""
        key = self._key(collection)
        keys = next((one for one in condition.keys if self._first(collection, one.field)), None)
        if keys is None:
            items = self._paged("scan", TableName=collection, **_filter(condition))
        elif len(key) == 1:
            items = self._got(collection, key[0], keys)
        else:
            items = self._found(collection, key[0], keys)
        for item in items:
            plain = {str(name): _value(one) for name, one in item.items()}
            own = [plain.get(name) for name, _ in key]
            own_id = own[0] if len(own) == 1 else json.dumps(own, default=str)
            if plain.setdefault("_id", own_id) != own_id:
                reason = f"the collection {collection} has a field `_id` that is not its key"
                raise SourceFailureError(reason, "C0541")
            yield plain

    def _paged(self, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  of AWS
        """Give the items of all pages."""
        pages = Pages(self)
        while True:
            answer = self._asked(operation, ConsistentRead=True, **parameters)
            yield from answer.get("Items", ())
            last = answer.get("LastEvaluatedKey")
            if not last:
                return
            pages.follow(json.dumps(last, sort_keys=True, default=str))
            parameters["ExclusiveStartKey"] = last

    def _got(self, table: str, key: tuple[str, str], keys: Keys) -> Iterator[dict[str, Any]]:
        values = _sendable(key[1], keys)
        for start in range(0, len(values), _BATCH):
            listed = [{key[0]: {key[1]: one}} for one in values[start : start + _BATCH]]
            asked: dict[str, Any] = {table: {"Keys": listed, "ConsistentRead": True}}
            for _ in range(_MOST_TRIES):
                answer = self._asked("batch_get_item", RequestItems=asked)
                yield from answer.get("Responses", {}).get(table, ())
                asked = answer.get("UnprocessedKeys") or {}
                if not asked:
                    break
            else:
                raise SourceFailureError("the server leaves keys unread, again and again")

    def _found(self, table: str, key: tuple[str, str], keys: Keys) -> Iterator[dict[str, Any]]:
        for value in _sendable(key[1], keys):
            yield from self._paged(
                "query",
                TableName=table,
                KeyConditionExpression="#k = :v",
                ExpressionAttributeNames={"#k": key[0]},
                ExpressionAttributeValues={":v": {key[1]: value}},
            )

    def _first(self, table: str, field: Field) -> bool:
        """Whether a field is the first attribute of the key, or the key where that is one."""
        key = self._key(table)
        names = {key[0][0], "_id"} if len(key) == 1 else {key[0][0]}
        return field.path in names and _FAMILIES.get(field.family) == key[0][1]

    def told(self, collection: str, condition: Condition) -> str:
        """Write the requests."""
        for keys in condition.keys:
            if self._first(collection, keys.field):
                name, kind = self._key(collection)[0]
                asked = "BatchGetItem" if len(self._key(collection)) == 1 else "Query"
                return f"{asked} {json.dumps({name: {kind: _sendable(kind, keys)}})}, {collection}"
        return f"Scan {json.dumps({'TableName': collection, **_filter(condition)})}"

    def finds(self, collection: str, field: Field) -> bool:
        """Whether a field is the first of the key."""
        return self._first(collection, field)

    def orders(self, collection: str, field: Field) -> bool:
        """Whether a scan leaves out items by the numbers of a field at the top of them."""
        del collection
        return "." not in field.path and field.path != "_id"

    def keeps_open(self, collection: str, field: Field) -> bool:
        """A key always has a value; others that are no numbers are neither below nor above."""
        del collection, field
        return True

    def count(self, collection: str) -> int | None:
        """Give the count of items of some hours ago."""
        return self._counts.get(collection)

    def close(self) -> None:
        """End the connections."""
        client, self._client = self._client, None
        self._keys.clear()
        if client is not None:
            client.close()


def _sendable(kind: str, keys: Keys) -> list[str]:
    """Give the values that a key can have, as they are sent; no item has another."""
    if kind == "N":
        return [str(one) for one in keys.values if len(str(abs(int(one)))) <= _MOST_DIGITS]
    texts = map(str, keys.values)
    return [one for one in texts if 0 < len(one.encode()) <= _LONGEST_KEY]


def _filter(condition: Condition) -> dict[str, Any]:
    """Write what a scan leaves out: numbers outside of ranges."""
    if condition is EVERYTHING or not condition.bounds:
        return {}
    names, values, parts = {}, {}, []
    for place, bound in enumerate(condition.bounds):
        names[f"#n{place}"] = bound.field.path
        values[f":v{place}"] = {"N": _spelled(bound.value)}
        parts += [f"NOT #n{place} {one} :v{place}" for one in _OUTSIDE[bound.operator]]
    return {
        "FilterExpression": " AND ".join(parts),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def _spelled(value: float) -> str:
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)), "f")


def _value(typed: Mapping[str, Any]) -> Any:  # noqa: ANN401  one for each type
    """Read a typed attribute."""
    ((kind, value),) = typed.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return _read(value)
        case "M":
            return {str(name): _value(one) for name, one in value.items()}
        case "L":
            return [_value(one) for one in value]
        case "NS":
            return sorted(map(_read, value))
        case "SS" | "BS":
            return sorted(value)
        case _:
            return value


def _read(text: str) -> int | Decimal:
    exact = Decimal(text)
    whole = exact.is_finite() and exact == exact.to_integral_value() and exact.adjusted() < 19  # noqa: PLR2004  digits of 64 bits
    return int(exact) if whole else exact
