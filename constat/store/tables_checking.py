"""What may be kept: names, sizes, and values that JSON can spell.

In: what a step leaves. Out: nothing, or `ConstatError` with C0917. Invariant: what passes can be
read back as it was, from each kind of database. Example: a state variable that is not a number is
refused, because JSON has no word for it.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.tables_format import TableError, checked
from constat.store.tables_values import ARTIFACT_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.store.tables_backends import Transaction
    from constat.store.tables_values import Json, NewArtifact, StepResult

_NAME: Final = re.compile(r"[^\W\d]\w{0,99}\Z")
_LARGEST_STATE: Final = 1 << 20
_LARGEST_ARTIFACT: Final = 64 << 20
_LONGEST_NOTE: Final = 10_000
_LONGEST_TITLE: Final = 200
_DEEPEST: Final = 50
_MOST: Final = 1_000
_LARGEST_STEP: Final = 1 << 40
_RULE: Final = "letters, digits and `_`, not beginning with a digit, at most 100"


def check_result(result: StepResult) -> None:
    """Refuse what cannot be kept."""
    if type(result.step) is not int or not 0 <= result.step <= _LARGEST_STEP:
        raise _refusal("the number of a step is no whole number from 0 on")
    if not _is_title(result.name, empty=True):
        raise _refusal("the name of a step holds a control character, or is too long")
    counts = (result.tables, result.state, result.notes, result.artifacts)
    if any(len(one) > _MOST for one in counts):
        raise _refusal(f"a step leaves more than {_MOST} of one kind")
    for name in (*result.tables, *result.state):
        if not is_name(name):
            raise _refusal("the name of a table or state variable is not one", _RULE)
    _check_contents(result)


def is_name(text: str) -> bool:
    """Tell whether a text may name a table or a state variable."""
    return bool(_NAME.match(text))


def _check_contents(result: StepResult) -> None:
    for table in result.tables.values():
        try:
            checked(table)
        except TableError as problem:
            raise _refusal(f"a table cannot be kept: {problem}") from None
    for value in result.state.values():
        json_text(value)
    for note in result.notes:
        if len(note) > _LONGEST_NOTE or not _is_text(note):
            raise _refusal("a note is too long, or holds half a surrogate pair")
    for artifact in result.artifacts:
        _check_artifact(artifact)


def _check_artifact(artifact: NewArtifact) -> None:
    if artifact.kind not in ARTIFACT_KINDS:
        raise _refusal("an artifact is of no known kind", ", ".join(ARTIFACT_KINDS))
    if not _is_title(artifact.name, empty=True) or not _is_title(artifact.media):
        raise _refusal("the name or media type of an artifact holds a control character")
    if len(artifact.content) > _LARGEST_ARTIFACT:
        raise _refusal(f"an artifact is larger than {_LARGEST_ARTIFACT >> 20} MiB")


def json_text(value: Json) -> str:
    """Spell a value; raises `ConstatError` for one that JSON has no word for."""
    if not is_json(value):
        raise _refusal("a state variable is no text, number, truth value, list or table of these")
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(text) > _LARGEST_STATE:
        raise _refusal(f"a state variable is larger than {_LARGEST_STATE >> 20} MiB")
    return text


def is_json(value: object) -> bool:
    """Tell whether a value can be spelled and read back as it was, without recursion."""
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if depth > _DEEPEST:
            return False
        if isinstance(one, list):
            pending += [(inner, depth + 1) for inner in one]
        elif isinstance(one, dict):
            if not all(isinstance(key, str) for key in one):
                return False
            pending += [(inner, depth + 1) for inner in one.values()]
        elif not is_scalar(one):
            return False
    return True


def is_scalar(value: object) -> bool:
    """Tell whether a value is a single one that JSON has a word for."""
    if isinstance(value, bool | str) or value is None:
        return True
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 64
    return isinstance(value, float) and math.isfinite(value)


def next_numbers(transaction: Transaction, table: str, session: str) -> Callable[[str], int]:
    """Give what tells the next version of a name; the transaction is the only one that writes."""

    def following(name: str) -> int:
        statement = f"SELECT max(version) FROM {table} WHERE session = ? AND name = ?"  # noqa: S608  our names
        return int(transaction.rows(statement, (session, name))[0][0] or 0) + 1

    return following


def _is_title(text: str, *, empty: bool = False) -> bool:
    return (bool(text) or empty) and len(text) <= _LONGEST_TITLE and text.isprintable()


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(message: str, hint: str = "") -> ConstatError:
    note = f"allowed are {hint}" if hint else ""
    return ConstatError([Diagnostic("C0917", message, note=note)])
