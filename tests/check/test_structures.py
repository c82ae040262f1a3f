"""Functions of structures: the checker gives what the engine gives, and opens what it made."""

from __future__ import annotations

import random
import time
from typing import Final

import pytest

from constat.check import functions, structures, values
from constat.logic.failure import EvaluationError
from constat.logic.functors import implementation
from constat.logic.structure_text import is_structure
from constat.logic.values import Kind, format_value, parse_value
from tests.check.structure_tables import LARGEST
from tests.report.checker import structure_cases as drawn

SECONDS: Final = 60.0


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


@pytest.mark.parametrize(
    "text",
    [
        "[" * LARGEST,
        "[" * (LARGEST // 2) + "]" * (LARGEST // 2),
        "$A(" * 250_000,
        "[1, " * 200_000 + "nil" + "]" * 200_000,
        "[" + ", ".join(['"\\""'] * 150_000) + "]",
        '["' + "\\\\" * 500_000,
        "[" + "1" * (LARGEST - 2) + "]",
        "[" + ", ".join(["-0.5"] * 170_000) + "]",
        "$" + "a" * (LARGEST - 1),
    ],
    ids=["open", "nested", "branches", "list", "texts", "escapes", "digits", "numbers", "name"],
)
def test_a_megabyte_takes_bounded_time(text: str) -> None:
    begin = time.process_time()
    found = values.read_structure(structures.Structures(), text)
    assert (found is not None) == values.is_spelled("structure", text)
    if found is not None:
        assert found.indicator
    assert time.process_time() - begin < SECONDS
