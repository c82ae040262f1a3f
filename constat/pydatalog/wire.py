"""A question and its answer as JSON, the only thing that crosses the pipe.

In: a `Question`, or the rows found. Out: bytes, and values back. Invariant: reading builds lists,
texts and integers only, so nothing that a child writes can run in its parent (as a pickle would).
Example: constant 7, the number 3, is `["number", "3"]` at place 7.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, assert_never

from constat.logic import Kind, Row, Value, canonical_float, format_value, parse_value
from constat.pydatalog.translation import (
    Clause,
    Computation,
    Condition,
    Literal,
    Premise,
    Question,
    Same,
    Stage,
    Summary,
)

Listed = list[Any]
"""JSON: lists, texts, integers, truth values."""


def write_question(question: Question) -> bytes:
    """Write a question."""
    return _bytes(
        {
            "constants": [
                [kind.value, format_value(value, kind)] for kind, value in question.constants
            ],
            "arities": question.arities,
            "facts": list(question.facts.items()),
            "clauses": [
                [_literal(one.head), [_literal(inner) for inner in one.body]]
                for one in question.clauses
            ],
            "goal": _literal(question.goal),
            "kinds": [kind.value for kind in question.kinds],
            "stages": [[one.relation, one.members] for one in question.stages],
        }
    )


def read_question(text: bytes) -> Question:
    """Read what `write_question` wrote."""
    found = json.loads(text)
    return Question(
        constants=tuple(
            (Kind(kind), read_value(value, Kind(kind))) for kind, value in found["constants"]
        ),
        arities=tuple(found["arities"]),
        facts={relation: tuple(map(tuple, rows)) for relation, rows in found["facts"]},
        clauses=tuple(
            Clause(_premise(head), tuple(_read_literal(one) for one in body))
            for head, body in found["clauses"]
        ),
        goal=_premise(found["goal"]),
        kinds=tuple(Kind(name) for name in found["kinds"]),
        stages=tuple(
            Stage(relation, tuple(map(tuple, members))) for relation, members in found["stages"]
        ),
    )


def write_rows(rows: Iterable[Row], kinds: Sequence[Kind]) -> bytes:
    """Write an answer."""
    return _bytes(
        {"rows": [[format_value(*pair) for pair in zip(row, kinds, strict=True)] for row in rows]}
    )


def write_reason(reason: str) -> bytes:
    """Write why there is no answer."""
    return _bytes({"reason": reason})


def read_answer(text: bytes, kinds: Sequence[Kind]) -> frozenset[Row] | str:
    """Read an answer: rows, or why there is none."""
    found = json.loads(text)
    if "reason" in found:
        return str(found["reason"])
    return frozenset(
        tuple(read_value(value, kind) for value, kind in zip(row, kinds, strict=True))
        for row in found["rows"]
    )


def read_value(text: str, kind: Kind) -> Value:
    """Read a value in the spelling of `format_value`; floats are hexadecimal there."""
    if kind is Kind.FLOAT:
        return canonical_float(float.fromhex(text))
    return parse_value(text, kind)


def _bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _literal(literal: Literal) -> Listed:
    match literal:
        case Premise(relation, terms, negated):
            return ["not" if negated else "atom", relation, terms]
        case Same(left, right):
            return ["same", left, right]
        case Condition(operator, kind, left, right):
            return ["test", operator, kind.value, left, right]
        case Computation(function, parameters, kind, arguments, result):
            names = [one.value for one in parameters]
            return ["call", function, names, kind.value, arguments, result]
        case Summary():
            kind_name = None if literal.kind is None else literal.kind.value
            head = ["fold", literal.function, kind_name, literal.result_kind.value]
            return [*head, literal.relation, literal.group, literal.local, literal.result]
        case _:
            assert_never(literal)


def _read_literal(listed: Listed) -> Literal:
    match listed:
        case ["atom" | "not", *_]:
            return _premise(listed)
        case ["same", left, right]:
            return Same(left, right)
        case ["test", operator, kind, left, right]:
            return Condition(operator, Kind(kind), left, right)
        case ["call", function, names, kind, arguments, result]:
            parameters = tuple(Kind(name) for name in names)
            return Computation(function, parameters, Kind(kind), tuple(arguments), result)
        case ["fold", function, kind, result_kind, relation, group, local, result]:
            return Summary(
                function=function,
                kind=None if kind is None else Kind(kind),
                result_kind=Kind(result_kind),
                relation=relation,
                group=tuple(group),
                local=local,
                result=result,
            )
        case _:
            raise ValueError("not a literal")


def _premise(listed: Listed) -> Premise:
    sign, relation, terms = listed
    return Premise(relation, tuple(terms), negated=sign == "not")


# Frames on the pipe: eight bytes of length, then the bytes.

LENGTH: Final = struct.Struct(">Q")
SECONDS: Final = struct.Struct(">d")


class Incoming:
    """A frame that is being received."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._received = bytearray()

    def add(self, read: bytes) -> None:
        """Take the next bytes."""
        self._received += read

    @property
    def complete(self) -> bool:
        """Whether all of the frame is there."""
        length = self._length
        return length is not None and len(self._received) >= LENGTH.size + length

    @property
    def too_large(self) -> bool:
        """Whether the frame is, or says it will be, larger than the bound."""
        return (self._length or 0) > self.largest

    @property
    def body(self) -> bytes:
        """The bytes of the frame."""
        return bytes(self._received[LENGTH.size : LENGTH.size + (self._length or 0)])

    @property
    def _length(self) -> int | None:
        if len(self._received) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._received)
        return int(length)
