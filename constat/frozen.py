"""Classes of values that never change: `@frozen` is a quick `@dataclass(frozen=True, slots=True)`.

`constat prove` makes some three hundred such classes and calls a few methods of each. The standard
decorator writes and compiles six methods for every class, 0.4 ms in all: a quarter of the command's
time. Here the standard decorator compiles them when one is first looked up, and what they do is the
same.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Class = TypeVar("_Class", bound=type)
# What the standard decorator is told, to compile one method and no other.
_COMPILED: Final[Mapping[str, Mapping[str, bool]]] = MappingProxyType(
    {
        "__init__": {"frozen": True, "repr": False, "eq": False},
        "__repr__": {"init": False, "eq": False},
        "__eq__": {"init": False, "repr": False},
        "__hash__": {"init": False, "repr": False, "eq": False, "unsafe_hash": True},
    }
)
_SHARED: Final = ("__setattr__", "__delattr__", "__getstate__", "__setstate__")


@overload
def frozen(made: _Class, /) -> _Class: ...
@overload
def frozen(*, eq: bool) -> Callable[[_Class], _Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(
    made: _Class | None = None, /, *, eq: bool = True
) -> _Class | Callable[[_Class], _Class]:
    """Make a class a frozen dataclass with slots; the methods that it defines itself stay.

    Without `eq` a value equals itself only, or what the class says.
    """
    names = tuple(_COMPILED) if eq else ("__init__", "__repr__")
    return partial(_frozen, names=names) if made is None else _frozen(made, names)


def _frozen(made: _Class, names: Sequence[str]) -> _Class:
    own = made.__dict__
    found: Any = dataclass(init=False, repr=False, eq=False, slots=True)(made)
    for name in names:
        # Python itself adds a `__hash__` of `None` to a class that defines `__eq__`.
        if own.get(name) is None:
            setattr(found, name, _Later(found, name))
    for name in _SHARED:
        if name not in own:
            setattr(found, name, _Unchanging.__dict__[name])
    return cast("_Class", found)


class _Unchanging:
    """The methods that do not depend on the fields of a class."""

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[object]:
        return [getattr(self, one.name) for one in fields(self)]  # type: ignore[arg-type]  # of the class that has it

    def __setstate__(self, state: list[object]) -> None:
        for one, value in zip(fields(self), state, strict=True):  # type: ignore[arg-type]  # as above
            object.__setattr__(self, one.name, value)


class _Later:
    """A method of a class that is compiled when it is first looked up."""

    __slots__ = ("_made", "_name")

    def __init__(self, made: type, name: str) -> None:
        self._made = made
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401  a method
        method = _compiled(self._made, self._name)
        setattr(self._made, self._name, method)
        return method.__get__(instance, owner)


def _compiled(made: type, name: str) -> Any:  # noqa: ANN401  as above
    """Give the method that the standard decorator compiles for the fields of a class."""
    listed = fields(made)
    body: dict[str, object] = {one.name: one for one in listed}
    body["__annotations__"] = {one.name: one.type for one in listed}
    for taken in ("__module__", "__qualname__", "__doc__", "__post_init__"):
        if hasattr(made, taken):
            body[taken] = getattr(made, taken)
    return dataclass(**_COMPILED[name])(type(made.__name__, (), body)).__dict__[name]
