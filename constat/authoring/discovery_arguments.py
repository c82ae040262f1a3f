"""The arguments of a tool: their JSON Schema, and what a model has made of it.

In: parameters, and the object a model has written. Out: arguments of those types, or what is wrong
with them in words for the model. Invariant: nothing but declared names and types gets through;
texts are bounded. Example: `{"tabel": "orders"}` is answered with the names there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST: Final = 20_000
_LARGEST: Final = 1 << 31
_TYPES: Final = MappingProxyType({"string": str, "integer": int})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool; `kind` is `string` or `integer`."""

    name: str
    kind: str
    about: str = ""
    required: bool = True


def parameters_schema(parameters: Sequence[Parameter]) -> Mapping[str, Any]:
    """Give the JSON Schema of the object that holds the arguments, in few words.

    What else an object could hold is refused by `arguments_of`, so the schema need not say so.
    """
    required = [one.name for one in parameters if one.required]
    return {
        "type": "object",
        "properties": {one.name: _schema(one) for one in parameters},
        **({"required": required} if required else {}),
    }


def _schema(parameter: Parameter) -> Mapping[str, str]:
    described = {"description": parameter.about} if parameter.about else {}
    return {"type": parameter.kind, **described}


def arguments_of(given: object, parameters: Sequence[Parameter]) -> dict[str, Any] | str:
    """Give the arguments, or what is wrong with them."""
    known = {one.name: one for one in parameters}
    names = ", ".join(known) or "none"
    if not hasattr(given, "items"):
        return f"the arguments are no object; its members would be: {names}"
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            return f"an argument is not known; there are: {names}"
        kind = known[name].kind
        if isinstance(value, bool) or not isinstance(value, _TYPES[kind]):
            if value is None and not known[name].required:
                continue
            return f"`{name}` is not of type {kind}"
        if isinstance(value, str) and len(value) > _LONGEST:
            return f"`{name}` is longer than {_LONGEST:,} characters"
        if isinstance(value, int) and abs(value) > _LARGEST:
            return f"`{name}` is too large"
        found[name] = value
    missing = [one.name for one in parameters if one.required and one.name not in found]
    return f"`{missing[0]}` is missing" if missing else found
