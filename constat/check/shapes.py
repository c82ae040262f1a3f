"""Reading JSON strictly: every object has exactly its members, every value its type.

In: parsed JSON.  Out: the same, typed, or ``Rejected`` with code ``schema``.  Invariant: nothing is
ignored; a member that this version does not know is an error, so nothing can hide in one.

Example: ``members({"a": 1}, ("a",)) == [1]``; one more member, or one less, is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .canonical import MAX_INTEGER, Json
from .rejection import Rejected
from .values import is_decimal, is_spelled

if TYPE_CHECKING:
    from collections.abc import Iterable

MILLION: Final = 1_000_000
_LONGEST_CONFIDENCE: Final = len("0.123456")
_HEX: Final = frozenset("0123456789abcdef")
_SHA256: Final = "sha256:"


def members(value: Json, names: tuple[str, ...]) -> list[Json]:
    """Return the members of an object in the order of ``names``."""
    if not isinstance(value, dict):
        raise Rejected("schema", "an object is expected")
    if value.keys() != set(names):
        odd = sorted(value.keys() ^ set(names))
        raise Rejected("schema", f"missing or unknown members: {', '.join(map(repr, odd[:5]))}")
    return [value[name] for name in names]


def array(value: Json, length: int | None = None) -> list[Json]:
    """Return the elements of an array, of ``length`` elements where one is given."""
    if not isinstance(value, list):
        raise Rejected("schema", "an array is expected")
    if length is not None and len(value) != length:
        raise Rejected("schema", f"an array of {length} is expected")
    return value


def text(value: Json) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise Rejected("schema", "a string is expected")
    return value


def text_or_null(value: Json) -> str | None:
    """Return a string or ``None``."""
    return None if value is None else text(value)


def index(value: Json, below: int = MAX_INTEGER + 1) -> int:
    """Return an integer from 0 to ``below`` - 1."""
    # A truth value is an `int` in Python, and no index.
    if type(value) is not int or not 0 <= value < below:
        raise Rejected("schema", f"an integer from 0 to {below - 1} is expected")
    return value


def index_or_null(value: Json, below: int) -> int | None:
    """Return an integer below ``below``, or ``None``."""
    return None if value is None else index(value, below)


def one_of(value: Json, allowed: Iterable[str]) -> str:
    """Return one of the allowed strings."""
    found = text(value)
    if found not in allowed:
        raise Rejected("schema", f"{found[:40]!r} is not allowed here")
    return found


def sha(value: Json) -> str:
    """Return a ``sha256:`` reference."""
    found = text(value)
    if not (found.startswith(_SHA256) and len(found) == len(_SHA256) + 64):
        raise Rejected("schema", "sha256:<64 digits> is expected")
    if not set(found[len(_SHA256) :]) <= _HEX:
        raise Rejected("schema", "sha256: is followed by lower-case hexadecimal digits")
    return found


def sha_or_null(value: Json) -> str | None:
    """Return a ``sha256:`` reference or ``None``."""
    return None if value is None else sha(value)


def nothing(values: Iterable[Json]) -> None:
    """Reject a value where the format has none yet."""
    if any(value is not None for value in values):
        raise Rejected("schema", "this is null until a later version says what it means")


def confidence(value: Json) -> int:
    """Return a confidence in millionths, 0 to 1,000,000."""
    if value == "1":
        return MILLION
    found = text(value)
    if len(found) > _LONGEST_CONFIDENCE or not is_decimal(found):
        raise Rejected("schema", "a confidence is a decimal with at most 6 places")
    whole, _, places = found.partition(".")
    millionths = int(whole) * MILLION + int(places.ljust(6, "0"))
    if not 0 <= millionths <= MILLION or show_confidence(millionths) != found:
        raise Rejected("schema", "a confidence lies between 0 and 1 and has one spelling")
    return millionths


def show_confidence(millionths: int) -> str:
    """Return the spelling of a confidence in millionths."""
    whole, places = divmod(millionths, MILLION)
    return f"{whole}.{places:06}".rstrip("0").rstrip(".")


def moment(value: Json) -> str:
    """Return a time in UTC."""
    found = text(value)
    if not is_spelled("Timestamp", found):
        raise Rejected("value", "a time is spelled YYYY-MM-DDTHH:MM:SS.ffffffZ")
    return found
