"""Functions, comparisons, spellings and patterns of the second checker are those of the first."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any, Final

import pytest

from constat.check import functions, pattern, values
from constat.proof.report.markup import checker_parts
from tests.check import tables
from tests.report.checker import function_cases as drawn
from tests.report.checker import structure_cases
from tests.report.checker.second_checker import evaluate, node

pytestmark = pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")

MAIN: Final = """
const orNull = (found) => (found === ERROR ? null : found);
const main = (given) => ({
  calls: given.calls.map(([name, from, to, args]) => orNull(callFunction(name, to, from, args))),
  comparisons: given.comparisons.map((one) => orNull(comparisonHolds(...one, () => {}))),
  patterns: given.patterns.map((one) => orNull(fullMatch(...one))),
  spellings: given.spellings.map((one) => isSpelled(...one)),
  signatures: given.signatures.map((one) => signatureHolds(...one)),
  operators: given.operators.map((one) => operatorHolds(...one)),
  hashes: given.hashes.map((pieces) => sha256Of(pieces)),
  orders: given.orders.map((pair) => Math.sign(compareText(...pair))),
  forms: given.forms.map(canonicalForm),
  lengths: given.forms.map(byteLength),
});
"""
NOTHING: Final[dict[str, list[Any]]] = {
    "calls": [],
    "comparisons": [],
    "patterns": [],
    "spellings": [],
    "signatures": [],
    "operators": [],
    "hashes": [],
    "orders": [],
    "forms": [],
}


def answers(**asked: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = evaluate(checker_parts() + MAIN, {**NOTHING, **asked})
    return found


@pytest.mark.laws
def test_the_tables_hold() -> None:
    found = answers(
        calls=[case[:4] for case in tables.FUNCTIONS],
        comparisons=[case[:4] for case in tables.COMPARISONS],
        patterns=[case[:2] for case in tables.PATTERNS],
        spellings=[*tables.SPELLED, *_written(tables.MISSPELLED)],
        signatures=[*(case[:3] for case in tables.FUNCTIONS), *tables.NO_SIGNATURES],
        operators=[*tables.OPERATORS, *tables.NO_OPERATORS],
    )
    assert found["calls"] == [case[4] for case in tables.FUNCTIONS]
    assert found["comparisons"] == [case[4] for case in tables.COMPARISONS]
    assert found["patterns"] == [case[2] for case in tables.PATTERNS]
    spelled = [True] * len(tables.SPELLED)
    assert found["spellings"] == spelled + [False] * len(_written(tables.MISSPELLED))
    known = [True] * len(tables.FUNCTIONS)
    assert found["signatures"] == known + [False] * len(tables.NO_SIGNATURES)
    operators = [True] * len(tables.OPERATORS) + [False] * len(tables.NO_OPERATORS)
    assert found["operators"] == operators


def _written(spellings: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return those without NUL and lone surrogates, which the reader rejects before."""
    return [
        (kind, text)
        for kind, text in spellings
        if "\0" not in text and text.encode("utf-8", "replace").decode() == text
    ]


def check_random(seed: str, rounds: int) -> None:
    rng = random.Random(seed)
    calls = [*drawn.calls(rng, rounds), *structure_cases.calls(rng, 20 * rounds)]
    comparisons = list(drawn.comparisons(rng, rounds))
    patterns = list(drawn.patterns(rng, 20 * rounds))
    spellings = list(drawn.spellings(rng, 5 * rounds))
    spellings += structure_cases.spellings(rng, 20 * rounds)
    found = answers(calls=calls, comparisons=comparisons, patterns=patterns, spellings=spellings)
    for (name, kinds, result, args), other in zip(calls, found["calls"], strict=True):
        first = functions.call(name, tuple(kinds), result, tuple(args))
        assert first == other, (name, kinds, result, args)
    for comparison, truth in zip(comparisons, found["comparisons"], strict=True):
        assert functions.compare(*comparison) is truth, comparison
    for one, matches in zip(patterns, found["patterns"], strict=True):
        assert pattern.full_match(*one) is matches, one
    for spelling, fits in zip(spellings, found["spellings"], strict=True):
        assert values.is_spelled(*spelling) is fits, spelling


def test_random_calls_give_the_same() -> None:
    check_random("few", 6)


@pytest.mark.slow
def test_many_random_calls_give_the_same() -> None:
    for seed in range(10):
        check_random(f"many {seed}", 300)


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_hashes_are_those_of_the_standard(length: int) -> None:
    text = "".join(chr(32 + i % 90) for i in range(length))
    found = answers(hashes=[[text], [text[:7], text[7:]]])["hashes"]
    assert found == ["sha256:" + hashlib.sha256(text.encode()).hexdigest()] * 2


def test_texts_are_ordered_by_code_point_and_written_as_python_does() -> None:
    texts = [
        "",
        "a",
        "\x7f",
        "é",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "a\uffff",
        "a\U0010ffff",
    ]
    found = answers(orders=[[one, two] for one in texts for two in texts], forms=texts)
    assert found["orders"] == [(one > two) - (one < two) for one in texts for two in texts]
    assert found["lengths"] == [len(text.encode()) for text in texts]
    assert found["forms"] == [json.dumps(text, ensure_ascii=True) for text in texts]
