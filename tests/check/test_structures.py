"""Functions of structures: the checker gives what the engine gives, and opens what it made."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from constat.check import functions, values
from constat.logic.functors import implementation
from constat.logic.values import EvaluationError, Kind, format_value, is_structure, parse_value
from tests.check.structure_tables import LARGEST
from tests.report.checker import structure_cases as drawn


def by_the_engine(name: str, kinds: list[str], result: str, args: list[str]) -> str | None:
    """Return what the engine gives for spelled values, spelled; ``None`` for an error."""
    parameters = tuple(map(Kind, kinds))
    given = [
        float.fromhex(text) if kind is Kind.FLOAT else parse_value(text, kind)
        for text, kind in zip(args, parameters, strict=True)
    ]
    try:
        found = implementation(name, parameters, Kind(result))(*given)
    except EvaluationError:
        return None
    return format_value(found, Kind(result))


def check_random(seed: str, rounds: int) -> None:
    rng = random.Random(seed)
    for name, kinds, result, args in drawn.calls(rng, rounds):
        assert functions.signature_holds(name, tuple(kinds), result)
        found = functions.call(name, tuple(kinds), result, tuple(args))
        assert found is None or values.is_spelled(result, found), (name, args)
        assert found == by_the_engine(name, kinds, result, args), (name, kinds, result, args)
    for kind, text in drawn.spellings(rng, rounds):
        assert values.is_spelled(kind, text) is is_structure(text), text


def test_the_checker_gives_what_the_engine_gives() -> None:
    check_random("few", 500)


@pytest.mark.slow
def test_the_checker_gives_what_the_engine_gives_many_times() -> None:
    check_random("many", 50_000)


def test_what_is_made_is_taken_apart_again() -> None:
    rng = random.Random("apart")
    for _ in range(500):
        name, kinds, args = drawn.made(rng)
        text = functions.call(name, tuple(kinds), "structure", tuple(args))
        assert text == drawn.written(name, kinds, args)
        indicator = functions.call("constructor_of", ("structure",), "symbol", (text,))
        assert indicator == f"{name}/{len(args)}"
        for place, (kind, value) in enumerate(zip(kinds, args, strict=True)):
            given = (text, str(place))
            assert functions.call("field_of", ("structure", "number"), kind, given) == value


def test_different_fields_make_different_structures() -> None:
    rng = random.Random("injective")
    seen: dict[str, tuple[str, list[str]]] = {}
    for _ in range(3000):
        name, kinds, args = drawn.made(rng, 1)
        assert seen.setdefault(drawn.written(name, kinds, args), (name, args)) == (name, args)
    assert len(seen) > 1000


def test_whatever_the_kind_there_is_a_value() -> None:
    rng = random.Random("total")
    for _ in range(2000):
        text, place = (
            drawn.value_of(rng, "structure"),
            rng.choice([-(2**63), -1, 0, 1, 2, 2**63 - 1]),
        )
        for kind in drawn.KINDS:
            found = functions.call("field_of", ("structure", "number"), kind, (text, str(place)))
            assert found is not None
            assert values.is_spelled(kind, found)


LONG: Final[Mapping[str, Callable[[int], str]]] = {
    "open": lambda size: "[" * size,
    "nested": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "branches": lambda size: "$A(" * (size // 4),
    "list": lambda size: "[1, " * (size // 5) + "nil" + "]" * (size // 5),
    "texts": lambda size: "[" + ", ".join(['"\\""'] * (size // 7)) + "]",
    "escapes": lambda size: '["' + "\\\\" * (size // 2),
    "digits": lambda size: "[" + "1" * (size - 2) + "]",
    "numbers": lambda size: "[" + ", ".join(["-0.5"] * (size // 6)) + "]",
    "name": lambda size: "$" + "a" * (size - 1),
}


def read(text: str) -> None:
    found = values.read_structure(values.Structures(), text)
    assert (found is not None) == values.is_spelled("structure", text)
    if found is not None:
        assert found.indicator


@pytest.mark.laws
@pytest.mark.sampled(8, "laws")
@pytest.mark.parametrize("shape", LONG)
def test_a_megabyte_is_read(shape: str) -> None:
    read(LONG[shape](LARGEST))


@pytest.mark.laws
@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("shape", LONG)
def test_a_text_of_twice_the_length_takes_twice_the_steps(shape: str) -> None:
    once, twice = (steps(LONG[shape](size)) for size in (20_000, 40_000))
    assert twice < 2.1 * once + 100


def steps(text: str) -> int:
    """Count the calls that reading a text takes, which is no matter of the machine."""
    calls = 0

    def count(_frame: object, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read(text)
    finally:
        sys.setprofile(before)
    return calls
