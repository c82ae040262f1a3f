"""Whose words a text holds: what somebody says themself, and what they paste, quote or report.

In a message of a person only their own words can ask for anything. Everything here errs to one
side: what looks like another's words is another's, and a paste without an end goes on to the end.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from constat.memory import signs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER: Final = "[CONTEXT FROM FACTS]"
# Stands in a person's words for what they quoted.
ELISION: Final = "[…]"
HOLE: Final = signs.HOLE
_MOST_REMEMBERED: Final = 512
# Behind a line of these all is another's.
_HEADS: Final = (
    *(signs.MAIL, signs.ROLE, signs.SECTION, signs.ACTIVITY, signs.ATTRIBUTED, signs.DIFF),
    *(signs.AT_LINE, signs.HEADED),
)


@lru_cache(maxsize=_MOST_REMEMBERED)
def quoted(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters that are another's words, as ranges in their order."""
    scan = _Scan(text)
    scan.lines()
    scan.inline()
    return scan.ranges()


def compacted(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters of compacted text that came back, as ranges of whole lines."""
    scan = _Scan(text)
    scan.blocks()
    return scan.ranges()


def announces(text: str) -> bool:
    """Tell whether another's words are to come behind a text: "Here is the page:"."""
    return _Scan(text).announces()


def pages(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters that are compacted text, or a document between tags."""
    scan = _Scan(text)
    scan.blocks()
    scan.documents()
    return scan.ranges()


def own(text: str) -> str:
    """Return somebody's own words, with a mark for what they quote; empty without any."""
    parts, at = [], 0
    for start, end in quoted(text):
        parts.append(text[at:start])
        said = text[start:end]
        lead = len(said) - len(said.lstrip())
        parts.append(f"{said[:lead]}{ELISION}{said[len(said.rstrip()) :]}")
        at = end
    parts.append(text[at:])
    found = "".join(parts)
    if announces(text):
        # What is announced is not there: nothing that comes to stand behind it is that.
        found = f"{found.rstrip()} {ELISION}"
    return found.strip() if found.replace(ELISION, "").strip(" \t\r\n.:;,!?\"'-") else ""


def blanked(text: str, ranges: tuple[tuple[int, int], ...], fill: str = " ") -> str:
    """Return a text of the same length with blanks at some places; lines stay lines."""
    parts, at = [], 0
    for start, end in ranges:
        parts += [text[at:start], re.sub(r"[^\n]", fill, text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


class _Scan:
    """One text, with a mark for each character that is another's."""

    def __init__(self, text: str) -> None:
        text = signs.ALONE.sub("\n", text.translate(signs.LOOKS))
        self._text = text
        self._marks = bytearray(len(text))
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._starts = [*starts, len(text)]
        self._lines = [text[one:end] for one, end in zip(starts, self._starts[1:], strict=True)]
        # Where the paragraph of each line ends; behind a blank line that is the next one's.
        self._ends: list[int] = [*range(1, len(self._lines) + 1)]
        for at in reversed(range(len(self._lines) - 1)):
            if self._lines[at + 1].strip():
                self._ends[at] = self._ends[at + 1]
        # Where the message begins: behind a block that a program joined to it.
        self._first = 0

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Give what is marked."""
        return tuple(one.span() for one in re.finditer(rb"\x01+", bytes(self._marks)))

    def blocks(self) -> None:
        """Mark compacted text: all from its first to its last line, and what is joined to it."""
        found = [at for at, line in enumerate(self._lines) if _is_of_block(line)]
        if found:
            # No block has a line that closes it: who wrote one wrote what is behind it, too.
            end = self._paragraph_end(found[-1])
            behind = next((line for line in self._lines[end:] if line.strip()), "")
            if any(map(_closes_block, self._lines[found[0] :])) or signs.OVER.match(behind):
                end = len(self._lines)
            self._mark_lines(found[0], end)
            if not any(line.strip() for line in self._lines[: found[0]]):
                self._first = end
        summary = next(
            (at for at, line in enumerate(self._lines) if signs.SUMMARIES.search(line)), None
        )
        if summary is not None:
            self._mark_lines(summary, len(self._lines))

    def lines(self) -> None:
        """Mark what lines show: fences, mails, logs, tables, transcripts, what is introduced."""
        self.blocks()
        self._fences()
        self._clusters()
        self._tags()
        self._letters()
        at = 0
        while at < len(self._lines):
            at = max(at + 1, self._line(at))

    def _fences(self) -> None:
        """Mark what is fenced and closed first: rows of a table in it do not go on behind it."""
        at = 0
        while at < len(self._lines):
            end = self._enclosed(at, self._lines[at]) if signs.FENCE.match(self._lines[at]) else at
            closed = at < end - 1 and bool(signs.FENCE.match(self._lines[end - 1]))
            if closed:
                self._mark_lines(at, end)
            at = end if closed else at + 1

    def inline(self) -> None:
        """Mark what stands between quotation marks, and what is reported."""
        rest = blanked(self._text, self.ranges())
        for start, end in _quotations(rest):
            if self._is_foreign(rest, start, end):
                self._mark(start, end)
        rest = blanked(self._text, self.ranges(), HOLE)
        for found in signs.REPORTED.finditer(rest):
            self._mark(*found.span())

    def announces(self) -> bool:
        """Tell whether the last line introduces what is not there."""
        self.lines()
        last = next((n for n in reversed(range(len(self._lines))) if self._lines[n].strip()), None)
        if last is None or self._is_marked(last):
            return False
        line = self._lines[last]
        return any(not line[colon:].strip() for colon in _cues(line)) or bool(
            signs.SECTION.match(line)
        )

    def documents(self) -> None:
        """Mark elements that are named as what a program found and put there."""
        for found in signs.DOCUMENT.finditer(self._text):
            self._mark(*found.span())

    def _line(self, at: int) -> int:
        """Mark what begins in a line; gives the line to go on with."""
        if self._is_marked(at):
            return at + 1
        line = self._lines[at]
        for rule in (self._enclosed, self._mail, self._arrow, self._indent):
            end = rule(at, line)
            if end > at:
                self._mark_lines(at, end)
                return end
        return self._introduced(at, line)

    def _enclosed(self, at: int, line: str) -> int:
        """Say where something ends that begins and ends with lines of their own."""
        if fence := signs.FENCE.match(line):
            mark = fence["fence"]
            if mark in line[fence.end() :]:
                return at
            return self._closed(at, lambda one: one.strip().strip(">").strip().startswith(mark))
        if here := signs.HERE.search(line):
            word = here["word"]
            return self._after(at, lambda one: one.strip() == word, signs.HERE.search)
        if signs.BEGIN.match(line):
            return at + 1 if signs.END.match(line) else self._until_end(at)
        if ruler := signs.RULER.match(line):
            mark = ruler["mark"]
            above = self._lines[at - 1] if at else ""
            if (
                above.strip()
                and mark in "-="
                and not any(True for _ in _cues(above))
                and len(above) < len(line) + 40
            ):
                return at  # what underlines a heading quotes nothing
            return self._closed(
                at, lambda one: bool((r := signs.RULER.match(one)) and r["mark"] == mark)
            )
        return at

    def _mail(self, at: int, line: str) -> int:
        """Say where a mail or a transcript ends: nobody knows, so at the end."""
        if any(one.match(line) for one in _HEADS):
            return self._until_end(at)
        following = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        head = signs.HEADER.match(line) and signs.HEADER.match(following)
        if head and any(map(signs.OF_MAIL.search, (line, following))):
            return self._until_end(at)
        if self._is_form(at):
            return self._until_end(at)
        behind = any(one.strip() for one in self._lines[at + 1 :])
        if behind and signs.REPLY.match(line) and not signs.DEMAND.search(line):
            return self._until_end(at)
        before = any(one.strip() for one in self._lines[self._first : at])
        if before and (signs.GREETING.match(line) or _calls(line)):
            return self._until_end(at)
        return at

    def _is_form(self, at: int) -> bool:
        """Tell whether lines of a form begin here that say who has filed it."""
        if at and signs.FORM.match(self._lines[at - 1]):
            return False  # where it began, that was looked at
        end = at
        while end < len(self._lines) and signs.FORM.match(self._lines[end]):
            end += 1
        return end - at > 1 and any(map(signs.FILED.match, self._lines[at:end]))

    def _letters(self) -> None:
        """Mark letters that end with regards, although nobody says where they begin.

        One that begins a message and is not for a program is over with its signature. Any other
        one began at the latest behind the first paragraph: what a message begins with is its own.
        """
        found = [at for at, line in enumerate(self._lines) if signs.REGARDS.match(line)]
        found = sorted([*found, *self._cards()])
        lines = enumerate(self._lines)
        first = next((at for at, line in lines if at >= self._first and line.strip()), None)
        if not found or first is None:
            return
        end = self._paragraph_end(found[-1])
        behind = next((line for line in self._lines[end:] if line.strip()), None)
        if signs.GREETING.match(self._lines[first]):
            if behind is not None and not signs.AFTERWARDS.match(behind):
                addressed = len(self._lines[first].split()) > 1
                if addressed and not signs.TO_PROGRAM.search(self._lines[first]):
                    self._mark_lines(first, end)
            return
        start = self._paragraph_end(first)
        if start < found[-1] and any(line.strip() for line in self._lines[start : found[-1]]):
            self._mark_lines(start, self._until_end(found[-1]))

    def _cards(self) -> Iterator[int]:
        """Yield where paragraphs begin that say who somebody is and where they are reached."""
        for at, line in enumerate(self._lines):
            if (at and self._lines[at - 1].strip()) or not signs.CARD_NAME.match(line):
                continue
            card = self._lines[at : self._paragraph_end(at)]
            short = all(len(one.strip()) < signs.LEAST_SENTENCE for one in card)
            if not short or not 1 < len(card) <= signs.MOST_OF_CARD:
                continue
            reached = len(card) >= signs.LEAST_OF_CARD and any(map(signs.REACHED.search, card))
            if reached or signs.FIRM.search(card[1]):
                yield at

    def _sources(self) -> None:
        """Mark the source of a mail, from its paragraph on: nobody knows where it ends."""
        found = next((at for at, line in enumerate(self._lines) if signs.SOURCE.search(line)), None)
        if found is None or self._is_marked(found):
            return
        start = found
        while start and self._lines[start - 1].strip():
            start -= 1
        first = not any(line.strip() for line in self._lines[self._first : start])
        self._mark_lines(found if first else start, self._until_end(found))

    def _arrow(self, at: int, line: str) -> int:
        """Say where lines with marks of a quotation end: a paragraph goes on without them."""
        below = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        if line.startswith(": ") and below.startswith(": "):
            return self._paragraph_end(at)
        if re.match(r"\s{0,8}(?:[A-Za-z]{0,4}>|&gt;|\u00bb|\|\s)(?!=)", line):
            return self._paragraph_end(at)
        return at

    def _indent(self, at: int, line: str) -> int:
        above = next((one for one in reversed(self._lines[:at]) if one.strip()), "")
        if not signs.INDENTED.match(line) or signs.BULLET.match(above) or signs.BULLET.match(line):
            return at
        end = at + 1
        while end < len(self._lines) and (
            signs.INDENTED.match(self._lines[end]) or not self._lines[end].strip()
        ):
            end += 1
        return end

    def _introduced(self, at: int, line: str) -> int:
        """Mark what a line introduces: what is enclosed behind it, or all up to the end."""
        shown = blanked(line, tuple(_quotations(line)))
        for colon in _cues(shown):
            rest = line[colon:]
            if rest.strip():
                if not _opens(rest):
                    self._mark(self._starts[at] + colon, self._starts[at + 1])
                    end = self._until_end(at)
                    self._mark_lines(at + 1, end)
                    return end
                continue
            after = next(
                (n for n in range(at + 1, len(self._lines)) if self._lines[n].strip()), None
            )
            if after is None or _opens(self._lines[after]):
                return at + 1
            if self._is_marked(after) and signs.SHAPED.search(shown[:colon]):
                return at + 1
            end = self._until_end(after)
            self._mark_lines(after, end)
            return end
        if (said := signs.MEANT.search(shown)) and not signs.MINE.search(said.group()):
            return self._meant(at + 1)
        end = self._paragraph_end(at)
        if signs.MEANT_BELOW.search(shown) and self._tells(end):
            return max(at + 1, self._meant(end))
        return at + 1

    def _tells(self, at: int) -> bool:
        """Tell whether another paragraph begins at a line, and speaks to nobody who works."""
        if at >= len(self._lines) or self._lines[at].strip():
            return False
        below = next((line for line in self._lines[at:] if line.strip()), "")
        return bool(below) and not signs.SPEAKS.match(below)

    def _meant(self, at: int) -> int:
        """Mark what a sentence can only have meant, where nothing is shown to be another's."""
        if any(
            self._is_marked(n) or _opens(line) or signs.BULLET.match(line)
            for n, line in enumerate(self._lines)
            if n >= at and line.strip()
        ):
            return at
        self._mark_lines(at, len(self._lines))
        return len(self._lines)

    def _clusters(self) -> None:
        """Mark logs, tables and transcripts, from the first to the last line of each sort."""
        for is_one, least in (
            (signs.LOG.match, 1),
            (signs.ROW.match, 1),
            (_json_line, 1),
            (signs.SETTING.match, 2),
        ):
            lines = enumerate(self._lines)
            found = [at for at, line in lines if is_one(line) and not self._is_marked(at)]
            if len(found) >= least:
                self._mark_lines(found[0], self._paragraph_end(found[-1]))
        self._csv()
        self._sources()
        self._chats()

    def _chats(self) -> None:
        """Mark what has its speakers before it, from the first of them to its end."""
        lines = self._lines
        chats = [
            at
            for at, line in enumerate(lines)
            if ((found := signs.CHAT.match(line)) and not _closes_tag(found.group(), self._text))
        ]
        chats = sorted([*chats, *self._entries()])
        if chats:
            self._mark_lines(chats[0], self._until_end(chats[-1]))
        spoken = [(at, one) for at, line in enumerate(lines) if (one := signs.SPEAKER.match(line))]
        many = [(at, one["name"].casefold()) for at, one in spoken if _may_be_one_of_many(one)]
        names = [name for _, name in many]
        if len(names) >= signs.FEW and len(set(names)) < len(names):
            self._mark_lines(many[0][0], len(lines))
        for at, one in spoken:
            said = one.string[one.end() :].lstrip()
            end = self._paragraph_end(at)
            whole = "".join((said, *lines[at + 1 : end]))
            reviewed = at > 0 and bool(signs.IN_CODE.match(lines[at - 1]))
            if reviewed or (_is_person(one["name"]) and signs.ADDRESSES.search(whole)):
                self._mark_lines(at, self._until_end(at))
            elif _may_speak(one["name"]) and signs.GREETS.match(said):
                self._mark_lines(at, self._paragraph_end(at))

    def _entries(self) -> list[int]:
        """Find lines that name who says the lines below: one of somebody, two of anybody."""
        lines = [*self._lines, "", ""]
        found = [
            (at, one["name"], bool(one["day"]))
            for at, line in enumerate(self._lines)
            if (one := signs.ENTRY.match(line))
            and lines[at + 1].strip()
            and not signs.ENTRY.match(lines[at + 1])
        ]
        found += [(at, name, False) for at, name in self._names()]
        named = any(day or _is_person(name) for _, name, day in found)
        times = Counter(name for _, name, _ in found)
        known = named or any(n > 1 for n in times.values())
        return sorted(at for at, _, _ in found) if known else []

    def _names(self) -> Iterator[tuple[int, str]]:
        """Yield names alone in a line, with a moment around what they say, or another name."""
        lines = [*self._lines, "", ""]
        heads = []
        for at, line in enumerate(self._lines):
            if not (one := signs.NAMED.match(line)) or not lines[at + 1].strip():
                continue
            last = lines[self._paragraph_end(at) - 1]
            begins = at == 0 or not lines[at - 1].strip()
            told = signs.MOMENT.match(lines[at + 1]) and lines[at + 2].strip()
            reviewed = at > 0 and signs.IN_CODE.match(lines[at - 1])
            if told or reviewed or (begins and signs.MOMENT.match(last)):
                yield at, one["name"]
            elif begins and _is_person(one["name"]):
                heads.append((at, one["name"]))
        yield from heads if len(heads) > 1 else ()

    def _csv(self) -> None:
        at = 0
        while at < len(self._lines):
            end, counts = at, (-1, -1)
            while end < len(self._lines):
                line = self._lines[end].rstrip("\r\n")
                each = (line.count(","), line.count(";"))
                if not signs.CSV.match(line) or counts not in {(-1, -1), each}:
                    break
                counts, end = each, end + 1
            if end - at > 1:
                self._mark_lines(at, self._paragraph_end(end - 1))
            at = max(at + 1, end)

    def _tags(self) -> None:
        """Mark elements with all that is in them; one that begins a line may lack its end."""
        text = self._text
        for found in signs.COMMENT.finditer(text):
            self._mark(*found.span())
        for pattern, close in ((signs.TAG, "</{}>"), (signs.QUOTE_TAG, "[/{}]")):
            for found in pattern.finditer(text):
                if self._marks[found.start()]:
                    continue
                end = text.lower().rfind(close.format(found["name"].lower()))
                if end > found.start():
                    self._mark(found.start(), end + len(close.format(found["name"])))
                elif not text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip():
                    if found["name"].lower() in signs.ELEMENTS or ":" in found["name"]:
                        self._mark(found.start(), len(text))
                    line_end = text.find("\n", found.end())
                    if not text[found.end() : None if line_end < 0 else line_end].strip():
                        self._mark(found.start(), len(text))

    def _is_foreign(self, rest: str, start: int, end: int) -> bool:
        """Tell whether what stands between quotation marks is more than a name."""
        said = rest[start:end]
        if signs.SELF.search(rest[max(0, start - 120) : start]):
            return False
        return len(said.split()) >= signs.LEAST_WORDS or bool(signs.DEMAND.search(said))

    def _until_end(self, at: int) -> int:
        """Return where a paste ends: where a frame around it does, or at the end of the text.

        A line alone that says "end of mail" ends nothing: it may be one of the mail.
        """
        return next((end for start, end in self._frames() if start <= at < end), len(self._lines))

    def _frames(self) -> Iterator[tuple[int, int]]:
        """Yield what stands between a line that begins it and the last one that ends the same."""
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if not signs.BEGIN.match(line) or signs.END.match(line) or signs.HEADED.match(line):
                at += 1
                continue
            named = _frame_words(line)
            ends = [
                n
                for n in range(at + 1, len(self._lines))
                if signs.END.match(self._lines[n]) and _frame_words(self._lines[n]) <= named
            ]
            end = ends[-1] + 1 if ends else len(self._lines)
            if any(signs.REGARDS.match(one) for one in self._lines[end:]):
                end = len(self._lines)  # it goes on behind what seems to end it
            yield at, end
            at = end

    def _closed(self, at: int, closes: Callable[[str], bool]) -> int:
        """Say where something ends whose first line looks like its last one.

        Where one of these lines is left over, it may stand in what is quoted: then the last one
        ends it.
        """
        found = [n for n in range(at + 1, len(self._lines)) if closes(self._lines[n])]
        if not found:
            return len(self._lines)
        return (found[0] if len(found) % 2 else found[-1]) + 1

    def _after(self, at: int, closes: Callable[[str], bool], opens: Callable[[str], object]) -> int:
        """Say where something ends: with the last closing line before another one opens."""
        last = len(self._lines)
        for n in range(at + 1, len(self._lines)):
            if opens(self._lines[n]):
                break
            if closes(self._lines[n]):
                last = n + 1
        return last

    def _paragraph_end(self, at: int) -> int:
        return self._ends[at]

    def _is_marked(self, at: int) -> bool:
        line = self._lines[at]
        first = self._starts[at] + len(line) - len(line.lstrip())
        return first < len(self._marks) and bool(self._marks[first])

    def _mark_lines(self, start: int, end: int) -> None:
        self._mark(self._starts[start], self._starts[min(end, len(self._lines))])

    def _mark(self, start: int, end: int) -> None:
        self._marks[start:end] = b"\x01" * (end - start)


def _is_of_block(line: str) -> bool:
    if MARKER.casefold() in line.casefold() or signs.HEADS.match(line):
        return True
    if _closes_block(line) and _frame_words(line) >= signs.MARKED:
        return True
    return "@" in line and bool(signs.ENDS.search(line) or len(signs.PLACES.findall(line)) > 1)


def _closes_block(line: str) -> bool:
    words = _frame_words(line) if signs.END.match(line) else frozenset()
    return bool(words) and words <= signs.BLOCK_WORDS


def _frame_words(line: str) -> frozenset[str]:
    """Return what a line that begins or ends something calls it."""
    words = re.sub(r"[\W_]+", " ", line.casefold())
    found = signs.FRAME_WORDS.sub(" ", words.replace("e mail", "mail")).split()
    return frozenset(signs.SAME.get(one, one) for one in found)


def _json_line(line: str) -> bool:
    return bool(
        re.match(
            r"\s*(?:[\[{]\s*(?:$|[\"'{\[\]}\d-])|[}\]][,;]?\s*$|\"[^\"\n]{1,80}\"\s*:\s)", line
        )
    )


def _is_person(name: str) -> bool:
    """Tell whether a label names somebody: a first name, a title, or what somebody is."""
    first = name.replace(".", " ").split()[0].casefold()
    return first.rstrip(string.digits) in signs.PEOPLE_WORDS


def _calls(line: str) -> bool:
    """Tell whether a line is somebody's name with a comma: "Anna,"."""
    name = line.strip()
    return (
        name.endswith(",") and name[:-1].isalpha() and name[0].isupper() and _is_person(name[:-1])
    )


def _is_label(name: str) -> bool:
    """Tell whether a label names a part of what somebody writes, in small letters."""
    return any(
        one in signs.LABEL_WORDS or bool(signs.NOUN_ENDS.search(one)) for one in name.split()
    ) and (not _is_person(name))


def _may_be_one_of_many(found: re.Match[str]) -> bool:
    """Tell whether a line may be one of a transcript: lists have bold labels, or small ones."""
    name = found["name"]
    if found["bold"]:
        return _is_person(name)
    if name[0] in string.ascii_uppercase:
        return True
    return not found.string[0].isspace() and not _is_label(name.casefold())


def _may_speak(name: str) -> bool:
    """Tell whether a label may be a name that nobody knows: one word, and no common noun."""
    return name[:1].isupper() and len(name.split()) == 1 and not _is_label(name.casefold())


def _closes_tag(head: str, text: str) -> bool:
    """Tell whether a name in brackets is a tag, which ends further on."""
    named = re.search(r"<\W?([A-Za-z][\w.-]*)>", head)
    return named is not None and f"</{named[1].casefold()}>" in text.casefold()


def _cues(line: str) -> Iterator[int]:
    """Yield the places behind the colons that introduce another's words."""
    for found in signs.CUE.finditer(line):
        said = found.group()
        if signs.THEIRS.search(said) or not signs.MINE.search(line[: found.end()]):
            yield found.end()
    for found in signs.FOLLOWING.finditer(line):
        if not signs.MINE.search(found.group()):
            yield found.end()
    for found in signs.TITLED.finditer(line):
        yield found.end()
    if greeted := signs.GREETED.search(line):
        yield greeted.end()
    if (above := signs.ABOVE.search(line)) and not signs.MINE.search(above.group()):
        yield len(line)


def _opens(text: str) -> bool:
    """Tell whether a text begins with a mark that will be closed."""
    return bool(
        signs.FENCE.match(text)
        or signs.RULER.match(text)
        or signs.BEGIN.match(text)
        or re.match(
            r"\s*(?:>|&gt;|[\"\u201c\u201e\u00ab\u2039\u300c\u2018]|<[A-Za-z]|\[quote|\[\u2026\])",
            text,
        )
    )


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between quotation marks, with the marks; one in another is part of it."""
    yield from _straight(text)
    closed: set[int] = set()
    for opening, closings in signs.PAIRS:
        at = 0
        while (start := text.find(opening, at)) >= 0:
            at = start + 1
            if start in closed:
                continue
            ends = [one.start() for one in re.finditer(f"[{closings}]", text) if one.start() >= at]
            end = next((one for one in ends if not _begins(text, one)), -1)
            if end >= 0:
                closed.add(end)
                at = end + 1
                yield start, at
            elif opening not in signs.MAY_STAND_ALONE:
                yield start, len(text)
    for found in re.finditer(
        r"``[^`]{2,2000}?''|`[^`\n]+`|(?<![\w'])'(?=\S)[^'\n]{2,400}(?:(?<=\w)'(?=\w)[^'\n]{1,400}){0,20}(?<=\S)'(?!\w)",
        text,
    ):
        yield found.span()


def _begins(text: str, at: int) -> bool:
    """Tell whether a mark stands before a word: it closes nothing."""
    return text[at - 1 : at].isspace() and text[at + 1 : at + 2].isalnum()


def _straight(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between straight marks, which open before a word and close behind one."""
    depth = start = 0
    for found in re.finditer('"', text):
        at = found.start()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        opens = (not before or not (before.isalnum() or before in ".,;!?)")) and after.strip() != ""
        if depth and (not opens or before == ""):
            depth -= 1
            if not depth:
                yield start, at + 1
        elif opens:
            start, depth = (start if depth else at), depth + 1
    if depth:
        yield start, len(text)
