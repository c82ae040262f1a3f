"""`@frozen` does what `@dataclass(frozen=True, slots=True)` does; only when it does it differs."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import constat
from constat.frozen import frozen, slotted
from constat.patterns import regex

standard = dataclass(frozen=True, slots=True)
Made = type[Any]
Decorator = Callable[[Made], Made]


@frozen
class Point:
    """Two numbers, and a note that nothing compares."""

    x: int
    y: int = 0
    note: str = field(default="", compare=False, repr=False)
    made: ClassVar[list[str]] = []


@frozen
class Named(Point):
    """A point with a name that is checked."""

    name: str = "p"
    tags: tuple[str, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


def with_parts(decorated: Decorator) -> Made:
    @decorated
    class Found:
        """A class with a bit of everything."""

        x: int
        y: int = 0
        note: str = field(default="", compare=False, repr=False)
        more: list[int] = field(default_factory=list, hash=False)

    return Found


def with_own(decorated: Decorator) -> Made:
    @decorated
    class Found:
        """A class that says itself what is equal and how it is shown."""

        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.x % 2 == other.x % 2

        def __hash__(self) -> int:
            return self.x % 2

        def __repr__(self) -> str:
            return f"<{self.x}>"

    return Found


def with_own_equality(decorated: Decorator) -> Made:
    @decorated
    class Found:  # noqa: PLW1641  that is what is tried
        """A class that says itself what is equal and leaves the hash to the decorator."""

        x: int

        def __eq__(self, other: object) -> bool:
            return True

    return Found


@pytest.mark.parametrize("make", [with_parts, with_own, with_own_equality])
def test_methods_are_those_of_the_standard_decorator(make: Callable[[Decorator], Made]) -> None:
    ours, theirs = make(frozen), make(standard)
    for one, other in ((ours, theirs), (theirs, ours)):
        assert one(1) == one(1)
        assert (one(1) == one(2), one(1) == one(3)) == (other(1) == other(2), other(1) == other(3))
        assert one(1) != other(1) or make is with_own_equality
        assert hash(one(7)) == hash(other(7))
        assert repr(one(7)) == repr(other(7))
        assert str(inspect.signature(one)) == str(inspect.signature(other))
        assert one.__match_args__ == other.__match_args__
        assert one.__slots__ == other.__slots__
        assert [each.name for each in fields(one)] == [each.name for each in fields(other)]
    told = []
    for one in (ours, theirs):
        with pytest.raises(TypeError) as problem:
            one(1, 2, "", [], 5)
        told.append(str(problem.value))
    assert told[0] == told[1]


def test_values_never_change() -> None:
    point = Named(1, name="a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]  # that is what is tried
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'y'"):
        del point.y
    with pytest.raises((AttributeError, TypeError)):
        point.other = 1  # type: ignore[attr-defined]  # as above
    assert point == Named(1, name="a")


def test_a_subclass_has_the_fields_of_its_base_first() -> None:
    assert repr(Named(1, 2, "n", "a", ("t",))) == "Named(x=1, y=2, name='a', tags=('t',))"
    assert Named(1) != Point(1)
    assert replace(Named(1), y=5, note="new") == Named(1, 5)
    with pytest.raises(ValueError, match="no name"):
        Named(1, name="")
    match Named(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def _sent(point: Named) -> Named:
    found: Named = pickle.loads(pickle.dumps(point))  # noqa: S301  written a moment ago
    return found


def test_copies_are_equal() -> None:
    point = Named(1, 2, "n", "a", ("t",))
    for copied in (copy.copy(point), copy.deepcopy(point), _sent(point)):
        assert (copied, copied.note) == (point, "n")


def test_without_equality_a_value_equals_itself_only() -> None:
    @frozen(eq=False)
    class Found:
        """A value with an identity."""

        x: int

    assert Found(1) != Found(1)
    assert len({Found(1), Found(1)}) == 2
    assert repr(Found(1)).endswith("Found(x=1)")


def test_a_method_is_compiled_when_it_is_looked_up_and_not_before() -> None:
    @frozen
    class Found:
        """A value."""

        x: int

    before = type(vars(Found)["__eq__"])
    assert type(vars(Found)["__init__"]) is before
    assert Found(1).x == 1
    assert inspect.isfunction(vars(Found)["__init__"])
    assert type(vars(Found)["__eq__"]) is before


def test_many_threads_may_be_the_first() -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            made = with_parts(frozen)
            assert list(pool.map(made, [1] * 8)) == [made(1)] * 8


def test_what_is_slotted_may_change_and_has_no_hash() -> None:
    def made_by(decorated: Decorator) -> Made:
        @decorated
        class Found:
            """A class whose values change."""

            x: int
            seen: list[int] = field(default_factory=list)
            made: int = field(default=3, init=False)

        return Found

    ours, theirs = made_by(slotted), made_by(dataclass(slots=True))
    for one in (ours, theirs):
        value = one(1)
        value.x = 2
        assert (value.x, value.seen, value.made, one(1).seen is value.seen) == (2, [], 3, False)
        assert value == one(2)
        assert value != one(1)
        assert one.__slots__ == ("x", "seen", "made")
        with pytest.raises(AttributeError):
            value.other = 1
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
    assert repr(ours(1, [2])) == repr(theirs(1, [2]))
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))


def test_a_default_is_made_for_each_value_and_taken_when_it_is_given() -> None:
    given: list[int] = []
    one, other = with_parts(frozen)(1), with_parts(frozen)(1)
    assert one.more is not other.more
    assert with_parts(frozen)(1, more=given).more is given


def test_a_pattern_is_that_of_the_library() -> None:
    ours, theirs = regex("(a)b*", re.IGNORECASE), re.compile("(a)b*", re.IGNORECASE)
    assert ours.sub(r"\1", "ABBB ab c") == theirs.sub(r"\1", "ABBB ab c") == "A a c"
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)
    assert ours.fullmatch("abc") is None
    broken = regex("(")
    with pytest.raises(re.error):
        broken.match("a")


def test_every_pattern_of_the_product_compiles() -> None:
    root = Path(constat.__file__).parent
    tried = 0
    for file in root.rglob("*.py"):
        if "patterns import regex" in file.read_text(encoding="utf-8"):
            name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            for value in vars(importlib.import_module(name)).values():
                if type(value).__name__ == "_Later":
                    assert value.groups >= 0
                    tried += 1
    assert tried > 100
