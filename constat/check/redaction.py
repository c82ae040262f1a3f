"""Hidden values: commitments, what is opened of them, and what is told about them.

In: the member ``redaction``.  Out: a `Redaction`, which answers what a check asks about hidden
values.  Invariant: a hidden value equals itself and nothing else; whatever more is said of one that
is not opened is the writer's word, and the verdict rests on an assumption that says so.
FORMAT.md, section 5c.

Example: with the hidden cell h for an amount, ``h > 100000`` holds only where it was told.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

from . import values as shapes
from .canonical import Json, Rejected, canonical, each, inside, sha256
from .values import HIDDEN, KINDS, Hole, Known, Value, is_hidden, is_spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .records import Assumption

SAYS: Final = "hidden: "
"""How the text of the assumption begins that a verdict over hidden values rests on."""
VIEWS: Final = ("subject", "authority", "auditor")
_SALT: Final = 32
_HEX: Final = frozenset("0123456789abcdef")
_MEMBERS: Final = ("of", "assumption", "columns", "view", "sources", "opened", "told")


def commitment(salt: str, kind: str, text: str) -> str:
    """Return what stands in place of a value."""
    return sha256(canonical([salt, kind, text]))


class Redaction:
    """``opened`` are values by their hidden cell, ``told`` answers by the canonical question."""

    def __init__(self, value: Json, assumptions: Sequence[Assumption], sources: int) -> None:
        parts = dict(zip(_MEMBERS, shapes.members(value, _MEMBERS), strict=True))
        self.of = inside("of", parts["of"], shapes.sha)
        self.assumption = shapes.index(parts["assumption"], len(assumptions))
        assumed = assumptions[self.assumption]
        if assumed.kind != "fact" or not assumed.text.startswith(SAYS):
            raise Rejected("redaction", "the assumption does not say that values are hidden")
        named = shapes.array(parts["columns"])
        self.columns = tuple(each("columns", named, _column))
        _check_ascending(self.columns, "columns")
        self.view = None if parts["view"] is None else shapes.one_of(parts["view"], VIEWS)
        listed = shapes.array(parts["sources"])
        self.sources = tuple(shapes.index(one, sources) for one in listed)
        _check_ascending(self.sources, "sources")
        self.kinds: dict[str, str] = {}
        self.opened: dict[str, tuple[str, str]] = {}
        self.tokens: dict[tuple[str, str], str] = {}
        opened = shapes.array(parts["opened"])
        salts = each("opened", opened, self._open)
        _check_ascending(list(self.opened), "opened")
        if len(set(salts)) < len(salts):
            raise Rejected("redaction", "one salt hides two values", "opened")
        self.questions = shapes.array(parts["told"])
        self.told: dict[str, Json] = {}
        self.answers: dict[str, Value] = {}
        self.seen: dict[str, set[str]] = {}

    def _open(self, value: Json) -> str:
        found, salt, kind, text = (shapes.text(one) for one in shapes.array(value, 4))
        if len(salt) != _SALT or not set(salt) <= _HEX:
            raise Rejected("schema", "a salt is 32 hexadecimal digits")
        if kind not in KINDS or not is_spelled(kind, text):
            raise Rejected("value", "what is opened is not the spelling of its kind")
        if commitment(salt, kind, text) != shapes.sha(found):
            raise Rejected("redaction", "what is opened is not what was hidden")
        if (kind, text) in self.tokens:
            raise Rejected("redaction", "one value is hidden in two ways")
        self.opened[HIDDEN + found] = (kind, text)
        self.tokens[kind, text] = HIDDEN + found
        return salt

    def hidden(self, kind: str, value: Json) -> str:
        """Return the hidden value that a cell is; it has one kind."""
        match value:
            case ["hidden", str(found)]:
                token = HIDDEN + shapes.sha(found)
            case _:
                raise Rejected("schema", "this is no cell of a row")
        if self.kinds.setdefault(token, kind) != kind:
            raise Rejected("kind", "a hidden value has two kinds")
        return token

    def read_told(self, read: Callable[[str, Json], Known]) -> None:
        """Read what is told about hidden values: sorted by the question, each asked once."""

        def one(entry: Json) -> None:
            question, answer = shapes.array(entry, 2)
            form, function, kind, *_ = (*shapes.array(question), None, None, None)
            key = canonical(question)
            if shapes.text(form) == "?":
                self.answers[key] = Hole.STAR
                shapes.one_of(answer, ("true", "false"))
            else:
                shapes.one_of(form, ("a", "f"))
                shapes.text(function)
                found = Hole.ERROR if answer is None else read(shapes.one_of(kind, KINDS), answer)
                self.answers[key] = found
            self.told[key] = answer

        each("told", self.questions, one)
        _check_ascending(list(self.told), "told")
        if len(self.told) < len(self.questions):
            raise Rejected("order", "what is told is sorted and distinct", "told")

    def check(self, seen: dict[str, set[str]]) -> None:
        """Reject what is opened and stands nowhere, or stands openly as well."""
        self.seen = seen
        for token, (kind, text) in self.opened.items():
            if self.kinds.get(token) != kind:
                raise Rejected("redaction", "what is opened is no value here", "opened")
            if text in seen[kind]:
                raise Rejected("redaction", "a hidden value stands openly as well", "opened")

    @property
    def closed(self) -> int:
        """How many values are hidden and not opened."""
        return len(self.kinds.keys() - self.opened.keys())

    # What a check asks.  Where every hidden value in the question is opened it is computed.

    def truth(
        self,
        operator: str,
        kind: str,
        sides: tuple[str, str],
        compute: Callable[[str, str], bool | None],
    ) -> bool | Hole:
        """Return whether a comparison holds in which a value is hidden."""
        if operator in {"=", "!="}:
            return (sides[0] == sides[1]) == (operator == "=")
        if sides[0] == sides[1] and is_hidden(sides[0]) and operator in {"<", "<=", ">", ">="}:
            return operator in {"<=", ">="}
        question: Json = ["?", operator, kind, *map(spelled, sides)]
        real = self._real(sides)
        if real is None:
            told = self.told.get(canonical(question))
            return Hole.STAR if told is None else told == "true"
        found = compute(*real)
        self.note(question, found if found is None else str(found).lower())
        return Hole.ERROR if found is None else found

    def value(
        self,
        question: list[Json],
        values: Sequence[str],
        compute: Callable[[Sequence[str]], str | None],
    ) -> Value:
        """Return what a function or an aggregate makes of values of which some are hidden."""
        real = self._real(values)
        if real is None:
            return self.answers.get(canonical(question), Hole.STAR)
        result = compute(real)
        if result is None:
            self.note(question, None)
            return Hole.ERROR
        kind = str(question[2])
        told = self.answers.get(canonical(question))
        if is_hidden(told) and (kind, result) not in self.tokens and told not in self.opened:
            # Other questions name it so, and the value itself is not opened.
            return cast("Value", told)
        found = self.result(kind, result)
        self.note(question, spelled(found))
        return found

    def _real(self, values: Sequence[str]) -> list[str] | None:
        if any(is_hidden(one) and one not in self.opened for one in values):
            return None
        return [self.opened[one][1] if is_hidden(one) else one for one in values]

    def result(self, kind: str, text: str) -> str:
        """Return a computed value as it stands here."""
        return self.tokens.get((kind, text), text)

    def note(self, question: Json, answer: Json) -> None:
        """Take notice of what was computed from opened values; a check needs none."""


def spelled(value: Value) -> Json:
    """Return a value as it stands in a question."""
    text = str(value)
    return ["hidden", text[len(HIDDEN) :]] if is_hidden(text) else text


def _column(value: Json) -> tuple[str, int]:
    predicate, column = shapes.array(value, 2)
    return shapes.text(predicate), shapes.index(column)


def _check_ascending(found: Sequence[object], place: str) -> None:
    if any(left >= right for left, right in pairwise(found)):  # type: ignore[operator]  # alike
        raise Rejected("order", "sorted and distinct", place)


def read_redaction(
    value: Json, assumptions: Sequence[Assumption], sources: int
) -> Redaction | None:
    """Read the member ``redaction``; ``None`` where nothing is hidden."""
    if value is None:
        return None
    return inside("redaction", value, lambda found: Redaction(found, assumptions, sources))


class Writing(Redaction):
    """What a writer of a view asks: all is opened to it, and what a check will ask is noted.

    ``commit`` gives the commitment of a value that stands in no cell; ``made`` are the results of
    functions, by kind.
    """

    def __init__(
        self,
        read: Redaction,
        values: dict[str, tuple[str, str]],
        commit: Callable[[str, str], str],
    ) -> None:
        self.__dict__.update(read.__dict__)
        self.opened = dict(values)
        self.tokens = {value: token for token, value in values.items()}
        self.commit = commit
        self.noted: dict[str, tuple[Json, Json]] = {}
        self.made: set[tuple[str, str]] = set()

    @property
    def closed(self) -> int:
        """How many values a reader of the view finds hidden."""
        return len(self.kinds)

    def result(self, kind: str, text: str) -> str:
        """Return a computed value as it stands here; one that stands nowhere is hidden."""
        if (kind, text) not in self.tokens and text not in self.seen[kind]:
            token = HIDDEN + self.commit(kind, text)
            self.tokens[kind, text] = token
            self.opened[token] = (kind, text)
            self.kinds[token] = kind
        return super().result(kind, text)

    def note(self, question: Json, answer: Json) -> None:
        """Keep a question and its answer."""
        self.noted[canonical(question)] = (question, answer)
        if isinstance(question, list) and question[0] == "f" and isinstance(answer, str):
            self.made.add((str(question[2]), answer))
