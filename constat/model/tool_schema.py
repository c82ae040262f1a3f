"""Whether the arguments of a call fit the schema of its tool.

In: the text of the arguments, and the tool. Out: the arguments as values, or `ValueError` with the
path to what does not fit. Invariants: work and depth are those of the schema, which is ours, never
those of the text; what does not fit is refused and never bent to fit. Example:
`arguments_of('{"n": "3"}', tool)` is refused where `n` is an integer.
Reference: JSON Schema 2020-12, the keywords type, enum, const, anyOf, properties, required,
additionalProperties, items, minItems, maxItems, minLength, maxLength, minimum, maximum.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.model.prompts import Json, Tool

_MOST_CHARACTERS: Final = 4 << 20
_LONGEST_NAME: Final = 60
_DEEPEST: Final = 64
_TYPES: Final = MappingProxyType(
    {
        "object": (dict,),
        "array": (list,),
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "null": (type(None),),
    }
)


def arguments_of(text: str, tool: Tool) -> Json:
    """Read the arguments of a call; raises `ValueError`."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("are larger than anybody needs")
    try:
        found = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError("are not one JSON object, or are cut short") from None
    if not isinstance(found, dict):
        raise ValueError("are not a JSON object")  # noqa: TRY004  callers catch one type
    if _depth(found) > _DEEPEST:
        raise ValueError(f"are nested more than {_DEEPEST} levels deep")
    for problem in _misfits(found, tool.parameters, ""):
        raise ValueError(problem)
    return found


def _depth(value: object) -> int:
    """Give how deep a value is nested, without recursion: whoever sends it back writes it so."""
    depth, level = 0, [value]
    while level:
        level = [inner for one in level for inner in _parts(one)]
        depth += 1
    return depth


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Two readers would see two different calls.
        raise ValueError("a member occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _misfits(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield what does not fit, the first one first."""
    at = f"at `{path[:200]}`" if path else "as a whole"
    if "anyOf" in schema and all(next(_misfits(value, one, path), "") for one in schema["anyOf"]):
        yield f"fit none of the allowed forms {at}"
    kinds = schema.get("type", ())
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if names and not any(_is(value, name) for name in names):
        yield f"are no {' or '.join(names)} {at}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"are none of the allowed values {at}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"are not the allowed value {at}"
    match value:
        case dict():
            yield from _object_misfits(value, schema, path, at)
        case list():
            yield from _array_misfits(value, schema, path, at)
        case str():
            yield from _size_misfits(len(value), schema, ("minLength", "maxLength"), at)
        case int() | float() if not isinstance(value, bool):
            yield from _size_misfits(value, schema, ("minimum", "maximum"), at)


def _object_misfits(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str, at: str
) -> Iterator[str]:
    members: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"have no `{name}` {at}"
    for name, one in value.items():
        inner = members.get(name, schema.get("additionalProperties", True))
        if inner is False:
            yield f"have an unknown member `{_shown(name)}` {at}"
        elif inner is not True:
            yield from _misfits(one, inner, f"{path}.{_shown(name)}".lstrip("."))


def _array_misfits(
    value: Sequence[Any], schema: Mapping[str, Any], path: str, at: str
) -> Iterator[str]:
    yield from _size_misfits(len(value), schema, ("minItems", "maxItems"), at)
    if "items" in schema:
        for place, one in enumerate(value):
            yield from _misfits(one, schema["items"], f"{path}[{place}]")


def _size_misfits(
    size: float, schema: Mapping[str, Any], names: tuple[str, str], at: str
) -> Iterator[str]:
    least, most = (schema.get(name) for name in names)
    if (least is not None and size < least) or (most is not None and size > most):
        yield f"are too small or too large {at}"


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float) and name == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _same(one: object, other: object) -> bool:
    # 1 and True are equal in Python.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(name: str) -> str:
    return "".join(letter for letter in name[:_LONGEST_NAME] if letter.isprintable())
