"""Classes of values: `@frozen` is a quick `@dataclass(frozen=True, slots=True)`.

`constat prove` makes some three hundred such classes and calls a few methods of each. The standard
decorator writes and compiles six methods for every class, 0.4 ms in all: a quarter of the command's
time. Here a method is compiled when it is first looked up, and what it does is the same. Most of
what is looked up is `__init__`; the standard decorator compiles two more methods with it, so here
it is written for itself. `@slotted` is `@dataclass(slots=True)` in the same way.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    NoReturn,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Class = TypeVar("_Class", bound=type)
# What the standard decorator is told, to compile one method and no other.
_COMPILED: Final[Mapping[str, Mapping[str, bool]]] = MappingProxyType(
    {
        "__repr__": {"init": False, "eq": False},
        "__eq__": {"init": False, "repr": False},
        "__hash__": {"init": False, "repr": False, "eq": False, "unsafe_hash": True},
    }
)
_METHODS: Final = ("__init__", "__repr__", "__eq__", "__hash__")
_SHARED: Final = ("__setattr__", "__delattr__", "__getstate__", "__setstate__")


class OfSession:
    """A value that holds what its session made: a copy is the value itself, and none is pickled.

    A pickle of it would have rules and sources in it, and no certificate that somebody can check.
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        """Give itself: nobody changes it."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Give itself: nobody changes it."""
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise `TypeError`, which says what to keep or to send in its place."""
        known = {*dir(type(self)), *getattr(self, "__dataclass_fields__", ())}
        found = " or ".join(f"`.{one}`" for one in _INSTEAD if one.rstrip("()") in known)
        told = f"keep or send {found}"
        raise TypeError(f"{type(self).__name__} belongs to its session and is not pickled: {told}")


_INSTEAD: Final = ("certificate", "to_pandas()", "result", "values", "sets")


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
    names = _METHODS if eq else _METHODS[:2]
    return partial(_frozen, names=names) if made is None else _frozen(made, names)


@dataclass_transform(field_specifiers=(field,))
def slotted(made: _Class, /) -> _Class:
    """Make a class a dataclass with slots; the methods that it defines itself stay."""
    own = made.__dict__
    found = _with_fields(made, _METHODS[:3])
    if "__hash__" not in own:
        # What is equal now may differ later.
        found.__hash__ = None
    return cast("_Class", found)


def _frozen(made: _Class, names: Sequence[str]) -> _Class:
    own = made.__dict__
    found = _with_fields(made, names)
    for name in _SHARED:
        if name not in own:
            setattr(found, name, _Unchanging.__dict__[name])
    return cast("_Class", found)


def _with_fields(made: type, names: Sequence[str]) -> Any:  # noqa: ANN401  a class with more than `type` knows
    """Make a class a dataclass with slots that compiles the named methods later."""
    own = made.__dict__
    if made.__doc__ is None:
        # The standard decorator would write a signature there, and parse text for that.
        made.__doc__ = made.__name__
    found: Any = dataclass(init=False, repr=False, eq=False, slots=True)(made)
    for name in names:
        # Python itself adds a `__hash__` of `None` to a class that defines `__eq__`.
        if own.get(name) is None:
            setattr(found, name, _Later(found, name))
    return found


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
        compiled = _initializer if self._name == "__init__" else partial(_compiled, name=self._name)
        method = compiled(self._made)
        setattr(self._made, self._name, method)
        return method.__get__(instance, owner)


class _Factory:
    """Stands in a signature for a default that is made for each value."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


def _initializer(made: Any) -> Any:  # noqa: ANN401  a class with fields; its method
    """Write and compile `__init__`; where attributes never change it sets slots themselves."""
    changes = made.__setattr__ is object.__setattr__
    known: dict[str, object] = {"_FACTORY": _FACTORY}
    parameters, lines = ["self"], []
    for one in fields(made):
        name, parameter, value = one.name, one.name, one.name
        if one.default_factory is not MISSING:
            known[f"__new_{name}"] = one.default_factory
            parameter, value = f"{name}=_FACTORY", f"__new_{name}()"
            value += f" if {name} is _FACTORY else {name}" if one.init else ""
        elif one.default is not MISSING:
            known[f"__default_{name}"] = one.default
            parameter = f"{name}=__default_{name}"
            value = name if one.init else f"__default_{name}"
        elif not one.init:
            continue
        if one.init:
            parameters.append(parameter)
        if changes:
            lines.append(f"self.{name} = {value}")
        else:
            known[f"__set_{name}"] = getattr(made, name).__set__
            lines.append(f"__set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}): {'; '.join(lines) or 'pass'}", known)  # noqa: S102  names of fields
    method: Any = known["__init__"]
    method.__module__, method.__qualname__ = made.__module__, f"{made.__qualname__}.__init__"
    method.__annotations__ = {one.name: one.type for one in fields(made) if one.init}
    method.__annotations__["return"] = None
    return method


def _compiled(made: type, name: str) -> Any:  # noqa: ANN401  as above
    """Give the method that the standard decorator compiles for the fields of a class."""
    listed = fields(made)
    body: dict[str, object] = {one.name: one for one in listed}
    body["__annotations__"] = {one.name: one.type for one in listed}
    for taken in ("__module__", "__qualname__", "__doc__"):
        body[taken] = getattr(made, taken)
    return dataclass(**_COMPILED[name])(type(made.__name__, (), body)).__dict__[name]
