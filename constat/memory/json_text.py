"""JSON as adapters keep it: texts of what they do not read, and errors that say where.

In: values of a provider's log.  Out: compact JSON texts, and values that were checked for their
type.  Invariants: reading what was written gives the same value; members keep their order; what
only one provider knows is never sent to another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from constat.memory.messages import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping


ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
_PROVIDERS: Final = frozenset({ANTHROPIC, OPENAI})


def text_of(value: object) -> str:
    """Return a value as compact JSON; raises ``MessageFormatError`` for what JSON cannot say."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise MessageFormatError("a log holds a value that JSON cannot say") from None


def value_of(text: str) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a text that ``text_of`` has written."""
    return json.loads(text)


def rest_of(provider: str, members: Mapping[str, object], *known: str) -> str:
    """Return the members that are not known, with whose they are; empty where there are none."""
    rest = {name: value for name, value in members.items() if name not in known}
    return text_of({provider: rest}) if rest else ""


def own_rest(provider: str, extra: str) -> dict[str, Any]:
    """Return the members that ``rest_of`` has put aside for a provider, not those of another."""
    rest: dict[str, Any] = value_of(extra) if extra else {}
    # Members without an owner are from an archive of before they had one.
    found: dict[str, Any] = rest.get(provider, {}) if rest.keys() <= _PROVIDERS else rest
    return found


def with_rest(provider: str, members: dict[str, Any], extra: str) -> dict[str, Any]:
    """Return members together with those that are the provider's own."""
    return {**members, **own_rest(provider, extra)}


def member(members: Mapping[str, object], name: str, kind: type, where: str) -> Any:  # noqa: ANN401
    """Return a member of that type; raises ``MessageFormatError`` where it is missing."""
    found = members.get(name)
    if not isinstance(found, kind):
        raise MessageFormatError(f"{where}: `{name}` is missing or has another type")
    return found


def an_object(value: object, where: str) -> Mapping[str, object]:
    """Return a value that has to be an object; raises ``MessageFormatError``."""
    if not isinstance(value, dict):
        raise MessageFormatError(f"{where} is not an object")
    return value
