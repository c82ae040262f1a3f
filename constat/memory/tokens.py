"""How many tokens texts and messages take, and long texts cut to fewer."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from constat.memory.messages import Call, Image, Opaque, Result, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from constat.memory.messages import Block, Message

# The weights were fitted to the dearest of three public tokenizers (o200k, cl100k, Claude 2) on
# JSON, tables, code, logs, prose and eleven scripts: from 5 % below it to 33 % above.  Letters
# that make no words are counted too low.  What a provider reports teaches `Calibration` the rest.

# Longer runs of letters and digits are hashes and encoded bytes; looking ahead is bounded, so that
# a long text without digits is not read again from each of its letters.
_PIECES: Final = re.compile(
    r"(?P<dense>(?=[A-Za-z+]{0,40}[0-9])(?=[0-9+]{0,40}[A-Za-z])[A-Za-z0-9+=]{16,})"
    r"|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits>[0-9]+)"
    r"|(?P<line>[ \t]*[\r\n][ \t\r\n]*|[ \t]{2,})|(?P<blank>[ \t])"
    r"|(?P<marks>[!-/:-@\[-`{-~]+|[\x00-\x1f\x7f])"
    r"|(?P<latin>[\u0080-\u036f]+)|(?P<greek>[\u0370-\u058f]+)|(?P<semitic>[\u0590-\u08ff]+)"
    r"|(?P<indic>[\u0900-\u0dff]+)|(?P<thai>[\u0e00-\u1fff]+)|(?P<symbol>[\u2000-\u2bff\ufe00-\ufe0f]+)"
    r"|(?P<cjk>[\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef]+)|(?P<hangul>[\uac00-\ud7ff]+)"
    r"|(?P<astral>[\U00010000-\U0010ffff]+)|(?P<other>[^\x00-\x7f])"
)
_WHOLE: Final = re.compile(re.sub(r"\(\?P<\w+>", "(?:", _PIECES.pattern))
# Hundredths of a token for each unit of a class.
_WEIGHTS: Final = MappingProxyType(
    {
        "dense": 73,
        "capitals": 90,
        "word": 90,
        "long": 105,
        "digits": 140,
        "line": 10,
        "marks": 103,
        "repeats": 10,
        "changes": 70,
        "latin": 202,
        "greek": 45,
        "semitic": 108,
        "indic": 128,
        "thai": 191,
        "symbol": 82,
        "cjk": 115,
        "hangul": 155,
        "astral": 361,
        "other": 100,
    }
)
_LETTERS_IN_ONE: Final = 6
_CAPITALS_IN_ONE: Final = 5
_DIGITS_IN_ONE: Final = 3
# The weights are those of the dearest tokenizer; the cheapest counts two thirds of that.
_LEAST: Final = 0.65
_MOST: Final = 2.0
_TRUST: Final = 0.25


def composition(text: str) -> Mapping[str, int]:
    """Count the units of each class: words, letters beyond the sixth, digits by threes, ..."""
    found: Counter[str] = Counter()
    # The same words come again and again; each is looked at once.
    for piece, times in Counter(_WHOLE.findall(text)).items():
        for kind, units in _units(piece):
            found[kind] += units * times
    return found


def _units(piece: str) -> Iterator[tuple[str, int]]:
    """Yield the units of one piece; its class is seen in the piece alone."""
    if piece.isascii() and piece.isalpha():
        kind = "word" if piece[-1].islower() else "capitals"
    else:
        whole = _PIECES.fullmatch(piece)
        kind = (whole.lastgroup if whole else None) or "other"
    length = len(piece)
    match kind:
        case "blank":
            pass
        case "word":
            yield "word", 1
            yield "long", (length - 1) // _LETTERS_IN_ONE
        case "capitals":
            yield "capitals", 1
            yield "long", (length - 1) // _CAPITALS_IN_ONE
        case "digits":
            yield "digits", -(-length // _DIGITS_IN_ONE)
        case "line":
            yield "line", 1
        case "marks":
            changes = _changes(piece)
            yield "marks", 1
            yield "changes", changes
            yield "repeats", length - 1 - changes
        case _:
            yield kind, length


def estimate(text: str) -> int:
    """Return how many tokens a text has, about; 0 for an empty one."""
    return -(-hundredths(text) // 100)


def hundredths(text: str) -> int:
    """Return the estimate in hundredths of a token, which add up without being rounded."""
    return sum(_cost(piece) * times for piece, times in Counter(_WHOLE.findall(text)).items())


def _cost(piece: str) -> int:
    # Nearly all pieces are a word or a number, and are told apart without being read again.
    if piece.isascii():
        if piece.isalpha():
            word = piece[-1].islower()
            more = (len(piece) - 1) // (_LETTERS_IN_ONE if word else _CAPITALS_IN_ONE)
            return _WEIGHTS["word" if word else "capitals"] + _WEIGHTS["long"] * more
        if piece.isdigit():
            return _WEIGHTS["digits"] * -(-len(piece) // _DIGITS_IN_ONE)
    return sum(_WEIGHTS[kind] * units for kind, units in _units(piece))


def _changes(marks: str) -> int:
    return sum(one != other for one, other in pairwise(marks))


class Calibration:
    """What a provider's own counts say about the estimates of one model.

    Each report moves the factor a quarter of the way; it stays from 0.65 to 2, so that one wrong
    report cannot make a window overflow for ever.
    """

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def learn(self, estimated: int, reported: int) -> None:
        """Take over a report; ``estimated`` is what ``estimate`` said, without a factor."""
        if estimated <= 0 or reported <= 0:
            return
        moved = self.factor + _TRUST * (reported / estimated - self.factor)
        self.factor = min(_MOST, max(_LEAST, moved))

    def applied(self, estimated: int) -> int:
        """Return an estimate with the factor."""
        return -int(-estimated * self.factor // 1)


# The count of messages is the sum over them, so that it can be kept up to date message by message.

ROLE_TOKENS: Final = 2
# An image costs by its size, which a digest does not tell; providers scale it down to about this.
_IMAGE_TOKENS: Final = 1_600


def message_tokens(message: Message, counted: Callable[[str], int] = estimate) -> int:
    """Return about how many tokens a message takes."""
    return ROLE_TOKENS + sum(_block(block, counted) for block in message.blocks)


def messages_tokens(messages: Iterable[Message], counted: Callable[[str], int] = estimate) -> int:
    """Return about how many tokens messages take together."""
    return sum(message_tokens(message, counted) for message in messages)


def _block(block: Block, counted: Callable[[str], int]) -> int:
    match block:
        case Text(text) | Thinking(text):
            return counted(text)
        case Call(_, name, arguments):
            return counted(name) + counted(arguments)
        case Result(_, parts):
            return sum(_block(part, counted) for part in parts)
        case Image():
            return _IMAGE_TOKENS
        case Opaque(_, content):
            return counted(content)
        case _:
            assert_never(block)


_GAP: Final = "\n[... {left:,} characters ...]\n"
_ENDS: Final = (re.compile(r"\n+"), re.compile(r"[.!?]['\")\]]*\s+"), re.compile(r"\s+"))


def sandwich(text: str, characters: int) -> str:
    """Return a text's head, a piece from its middle, and its tail, together so long at most."""
    if len(text) <= characters:
        return text
    gap = len(_GAP.format(left=len(text)))
    part = (characters - 2 * gap) // 3
    if part < 1:
        return text[:characters]
    middle = (len(text) - part) // 2
    first, second = middle - part, len(text) - 2 * part - middle
    return "".join(
        (
            text[:part],
            _GAP.format(left=first),
            text[middle : middle + part],
            _GAP.format(left=second),
            text[len(text) - part :],
        )
    )


def ends(text: str, characters: int, gap: str) -> str:
    """Return the first and the last characters of a text, with a gap between them."""
    if len(text) <= 2 * characters:
        return text
    return f"{text[:characters]}{gap}{text[len(text) - characters :]}"


def chunks(text: str, characters: int) -> Iterator[str]:
    """Yield a text in pieces that end where something ends."""
    if characters < 1:
        raise ValueError("a chunk has at least one character")
    start = 0
    while start < len(text):
        end = _cut(text, start, start + characters)
        yield text[start:end]
        start = end


def _cut(text: str, start: int, most: int) -> int:
    """Return where a piece ends: behind the last line, sentence or word of its second half."""
    if most >= len(text):
        return len(text)
    half = start + (most - start) // 2
    for kind in _ENDS:
        found = [one.end() for one in kind.finditer(text, half, most)]
        if found:
            return found[-1]
    # Before the half any word's end will do: a piece that is too short is better than half a word.
    found = [one.end() for one in _ENDS[-1].finditer(text, start, most)]
    return found[-1] if found else most
