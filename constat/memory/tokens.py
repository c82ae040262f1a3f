"""How many tokens texts and messages take, and long texts cut to fewer."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from constat.memory.messages import Call, Image, Opaque, Result, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from constat.memory.messages import Block, Message

# The weights were fitted to three public tokenizers (o200k, cl100k, Claude 2) and to the dearest of
# them, on 37 kinds of text: JSON, tables, code, logs, ids, prose and nineteen languages.  From 6 %
# below to 35 % above each with its own weights; one number for all cannot do, for a text in Thai
# takes five times as many tokens in one as in another.  Letters that make no words are counted too
# low.  What a provider reports teaches `Calibration` the rest.

# Longer runs of letters and digits are hashes and encoded bytes; looking ahead is bounded, so that
# a long text without digits is not read again from each of its letters.
_PIECES: Final = re.compile(
    r"(?P<dense>(?=[A-Za-z+]{0,40}[0-9])(?=[0-9+]{0,40}[A-Za-z])[A-Za-z0-9+=]{16,})"
    r"|(?P<code>(?=[A-Z]{0,15}[0-9])(?=[0-9]{0,15}[A-Z])[A-Z0-9]{4,15})"
    r"|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits>[ ]?[0-9]+)"
    r"|(?P<line>[ \t]*[\r\n][ \t\r\n]*)|(?P<run>[ \t]{2,})|(?P<blank>[ \t])"
    r"|(?P<marks>[!-/:-@\[-`{-~]+|[\x00-\x1f\x7f])"
    r"|(?P<latin>[\u0080-\u00ff]+)|(?P<eastern>[\u0100-\u036f]+)|(?P<greek>[\u0370-\u03ff\u1f00-\u1fff]+)"
    r"|(?P<cyrillic>[\u0410-\u044f]+|[\u0400-\u040f\u0450-\u058f]+)|(?P<semitic>[\u0590-\u08ff]+)"
    r"|(?P<indic>[\u0900-\u0dff]+)|(?P<accents>[\u1e00-\u1eff]+)|(?P<thai>[\u0e00-\u1dff]+)|(?P<symbol>[\u2000-\u2bff\ufe00-\ufe0f]+)"
    r"|(?P<cjk>[\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef]+)|(?P<hangul>[\uac00-\ud7ff]+)"
    r"|(?P<astral>[\U00010000-\U0010ffff]+)|(?P<other>[^\x00-\x7f])"
)
_WHOLE: Final = re.compile(re.sub(r"\(\?P<\w+>", "(?:", _PIECES.pattern))
# Hundredths of a token for each unit of a class: the dearest, o200k, cl100k, Claude 2.
DEAREST: Final = "dearest"
FAMILIES: Final = (DEAREST, "o200k", "cl100k", "claude")
_FITTED: Final = MappingProxyType(
    {
        "accents": (132, 10, 21, 116),
        "astral": (447, 283, 413, 430),
        "capitals": (50, 50, 50, 50),
        "changes": (70, 75, 76, 70),
        "cjk": (120, 82, 120, 108),
        "code": (76, 82, 86, 72),
        "cyrillic": (198, 102, 122, 198),
        "cyrillic on": (36, 16, 43, 35),
        "dense": (73, 70, 73, 73),
        "digits": (137, 102, 107, 135),
        "eastern": (314, 104, 213, 327),
        "greek": (352, 66, 220, 352),
        "greek on": (97, 43, 90, 97),
        "hangul": (177, 77, 145, 177),
        "indent": (38, 46, 40, 33),
        "indic": (138, 38, 123, 138),
        "latin": (160, 8, 150, 164),
        "line": (22, 8, 7, 17),
        "long": (221, 231, 150, 193),
        "long capitals": (175, 168, 118, 154),
        "marks": (96, 104, 102, 99),
        "other": (100, 100, 100, 100),
        "repeats": (12, 10, 10, 12),
        "run": (264, 264, 264, 105),
        "semitic": (124, 46, 108, 119),
        "spaced": (120, 190, 130, 110),
        "symbol": (68, 66, 71, 77),
        "thai": (207, 41, 114, 207),
        "word": (84, 72, 86, 86),
    }
)
_WEIGHTS_OF: Final = MappingProxyType(
    {
        family: MappingProxyType({kind: weights[at] for kind, weights in _FITTED.items()})
        for at, family in enumerate(FAMILIES)
    }
)
# Models by how their names begin; the tokenizers of later models of Anthropic are not public, so
# that for these the dearest counts until a provider reports.
_MODELS: Final = (
    ("o200k", ("gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4", "chatgpt-4o")),
    ("cl100k", ("gpt-4", "gpt-3.5", "text-embedding-")),
    ("claude", ("claude-2", "claude-instant")),
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
            yield "long capitals", (length - 1) // _CAPITALS_IN_ONE
        case "digits":
            spaced = piece[0] == " "
            yield "spaced", int(spaced)
            yield "digits", -(-(length - spaced) // _DIGITS_IN_ONE)
        case "line":
            yield "line", 1
            yield "indent", int(piece[-2:].isspace() and "\n" not in piece[-2:])
        case "run":
            yield "run", 1
        case "cyrillic" | "greek":
            # A word has a beginning, and then goes on.
            yield kind, 1
            yield f"{kind} on", length - 1
        case "marks":
            changes = _changes(piece)
            yield "marks", 1
            yield "changes", changes
            yield "repeats", length - 1 - changes
        case _:
            yield kind, length


def family_of(model: str) -> str:
    """Return whose weights count for a model: the dearest for one that is not known."""
    for family, beginnings in _MODELS:
        if model.startswith(beginnings):
            return family
    return DEAREST


def estimate(text: str, family: str = DEAREST) -> int:
    """Return how many tokens a text has, about; 0 for an empty one."""
    return -(-hundredths(text, family) // 100)


def hundredths(text: str, family: str = DEAREST) -> int:
    """Return the estimate in hundredths of a token, which add up without being rounded."""
    weights = _WEIGHTS_OF[family]
    pieces = Counter(_WHOLE.findall(text)).items()
    return sum(_cost(piece, weights) * times for piece, times in pieces)


def _cost(piece: str, weights: Mapping[str, int]) -> int:
    # Nearly all pieces are a word or a number, and are told apart without being read again.
    if piece.isascii():
        if piece.isalpha():
            if piece[-1].islower():
                return weights["word"] + weights["long"] * ((len(piece) - 1) // _LETTERS_IN_ONE)
            more = (len(piece) - 1) // _CAPITALS_IN_ONE
            return weights["capitals"] + weights["long capitals"] * more
        if piece.isdigit():
            return weights["digits"] * -(-len(piece) // _DIGITS_IN_ONE)
    return sum(weights[kind] * units for kind, units in _units(piece))


def _changes(marks: str) -> int:
    return sum(one != other for one, other in pairwise(marks))


@lru_cache(maxsize=4_096)
def line_takes(line: str) -> int:
    """Return what a line takes in hundredths, with the mark before it.

    Most lines of a context are those of the context before it.
    """
    return hundredths(f"\n{line}")


LINE: Final = hundredths("\n")


def estimate_lines(text: str) -> int:
    """Return ``estimate`` of a text whose lines are not empty and do not end with a blank."""
    taken = sum(map(line_takes, text.split("\n"))) - LINE if text else 0
    return -(-taken // 100)


class Calibration:
    """What is known about the estimates of one model.

    ``prior`` is what its own weights say of the texts at hand, in units of the dearest ones'; each
    report of a provider moves the ``factor`` a quarter of the way. That stays from 0.65 to 2, so
    that one wrong report cannot make a window overflow for ever.
    """

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.prior = 1.0

    @property
    def whole(self) -> float:
        """What an estimate is multiplied with."""
        return self.prior * self.factor

    def learn(self, estimated: int, reported: int) -> None:
        """Take over a report; ``estimated`` is what ``estimate`` said, without a factor."""
        if estimated <= 0 or reported <= 0:
            return
        moved = self.factor + _TRUST * (reported / (estimated * self.prior) - self.factor)
        self.factor = min(_MOST, max(_LEAST, moved))

    def applied(self, estimated: int) -> int:
        """Return an estimate with the factor."""
        return -int(-estimated * self.whole // 1)


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
