"""Facts in calls of tools and their results, and all extractors in their order."""

from __future__ import annotations

import re
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.text import (
    Reading,
    Said,
    fact,
    fact_at,
    from_json,
    from_tables,
    from_task_lists,
    from_values,
)
from constat.memory.extract.wishes import from_wishes
from constat.memory.facts import Author, Place, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from constat.memory.extract.text import Member
    from constat.memory.facts import Fact, Passage

# The span is the whole text, that of an exit code its number.

_ENDED: Final = re.compile(
    r"\b(?:exit(?:ed)?[ ](?:code|status|with)|return[ ]?code|returncode)[^0-9-]{0,12}"
    r"(?P<code>-?[0-9]{1,3})\b",
    re.IGNORECASE,
)


def from_answer(reading: Reading) -> Iterator[Fact]:
    """Yield what is known of a call or an answer as a whole."""
    passage = reading.passage
    if passage.place is Place.ARGUMENTS:
        yield fact(
            passage, Said("tool_call", passage.call, passage.tool), 0, len(passage.text), "call"
        )
    elif passage.place is Place.ANSWER:
        said = Said("tool_result", passage.call, "failed" if passage.failed else "ok")
        yield fact(passage, said, 0, len(passage.text), "call")
        ended = None if reading.members is not None else _ENDED.search(passage.text)
        if ended:
            code = Said("exit_code", "", ended["code"], "number")
            yield fact(passage, code, ended.start("code"), ended.end("code"), "call")


_PATHS: Final = frozenset(
    {"path", "file", "file_path", "filepath", "filename", "file_name", "target_file"}
    | {"notebook_path", "absolute_path", "relative_path", "old_path", "new_path"}
)
_COMMANDS: Final = frozenset({"command", "cmd", "script", "bash", "shell"})
_ACTIONS: Final = (
    (frozenset({"delete", "remove", "rm", "unlink"}), "deleted"),
    (frozenset({"edit", "replace", "insert", "patch", "update", "append", "undo"}), "changed"),
    (frozenset({"create", "write", "save", "touch", "new"}), "created"),
    (frozenset({"read", "view", "open", "cat", "load", "show"}), "read"),
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_LONGEST: Final = 400
_FILE: Final = r"(?P<{}>'[^'\n]{{1,300}}'|\"[^\"\n$]{{1,300}}\"|[\w./~+@-]{{1,300}})"
_SHELL: Final = re.compile(
    rf"(?<![0-9&>=-])(?P<more>>>?)[ ]?{_FILE.format('target')}"
    rf"|(?:^|[;&|\n(]\s?|\bsudo\s)(?P<verb>rm|touch|mkdir|mv|cp|cat|head|tail|tee|sed)"
    rf"(?:[ ]-[\w-]{{1,20}}){{0,5}}(?:[ ]'[^'\n]{{0,300}}')?[ ]{_FILE.format('first')}"
    rf"(?:[ ]{_FILE.format('second')})?"
)
_VERBS: Final = MappingProxyType(
    dict.fromkeys(("touch", "mkdir", "tee"), "created")
    | dict.fromkeys(("cat", "head", "tail"), "read")
    | {"rm": "deleted", "sed": "changed"}
)
_MOST_IN_ONE: Final = 50


def from_files(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each file that a call names."""
    members = reading.members or ()
    if reading.passage.place is not Place.ARGUMENTS:
        return
    action = _action(reading.passage.tool, members)
    for member in members:
        if member.kind != "text":
            continue
        if member.name in _PATHS and action and _is_path(member.value):
            yield _artifact(reading, member, member.value, action)
        elif member.name in _COMMANDS and len(member.value) > 1:
            for path, what in dict(_in_shell(member.value)).items():
                yield _artifact(reading, member, path, what)


def _action(tool: str, members: Sequence[Member]) -> str:
    """Tell what a call does to its file, by its command or by the tool's name."""
    given = [one.value for one in members if one.name in {"command", "action", "operation"}]
    for text in (*given, tool):
        words = {word.lower() for word in _WORDS.findall(text[:60])}
        for names, action in _ACTIONS:
            if words & names and len(words) <= 4:  # noqa: PLR2004  a longer text is no name
                return action
    return ""


def _is_path(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isprintable() and not text.startswith("-")


def _in_shell(command: str) -> Iterator[tuple[str, str]]:
    for number, found in enumerate(_SHELL.finditer(command)):
        if number == _MOST_IN_ONE:
            return
        verb = found["verb"]
        target = (found["target"] or "").strip("'\"")
        # What is compared with a number is no file, and neither is a device.
        if target and not target.isdecimal() and not target.startswith("/dev/"):
            yield target, "changed" if found["more"] == ">>" else "created"
        elif verb in {"mv", "cp"} and found["second"]:
            if verb == "mv":
                yield found["first"].strip("'\""), "deleted"
            yield found["second"].strip("'\""), "created"
        elif verb in _VERBS:
            yield found["first"].strip("'\""), _VERBS[verb]


def _artifact(reading: Reading, member: Member, path: str, action: str) -> Fact:
    passage = reading.passage
    about = passage.subject if action == "read" else ""
    span = Span(passage.archive, member.start, member.end)
    return fact_at(passage, Said("artifact", path, action, about=about), span, "files")


_MOST: Final = 50
_LINE: Final = 500
_DEEPEST: Final = 3
_MESSAGES: Final = frozenset({"error", "error_message", "errormessage", "exception", "traceback"})
_FLAGS: Final = MappingProxyType(
    {"ok": "false", "success": "false", "iserror": "true", "is_error": "true"}
)
_STATES: Final = frozenset({"status", "state", "result"})
_BAD: Final = frozenset({"error", "failed", "failure"})
_KINDS: Final = re.compile(
    r"""
      ^(?P<exception>(?:[A-Za-z_]\w{0,60}\.){0,5}[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit))\b[:(]?
    | ^\s{0,8}(?P<said>Error|ERROR|error|FATAL|fatal|Failure|FAILED)\b[: ]
    | \b(?:exit(?:ed)?\ (?:code|status|with)|return\ code)\D{0,12}(?P<exit>[1-9][0-9]{0,2})\b
    | \b(?:HTTP(?:/[0-9.]{1,4})?|status)\D{0,12}(?P<status>[45][0-9]{2})\b
    | (?P<sql>\bno\ such\ (?:table|column)|\bsyntax\ error\b|\bSQLSTATE|\bORA-[0-9]{5}
        |\b(?:relation|column|table)\ \S{1,100}\ does\ not\ exist)
    | (?P<shell>command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|timed\ out)
    """,
    re.VERBOSE | re.MULTILINE,
)


def from_failures(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each line that says what went wrong."""
    passage = reading.passage
    if passage.place is not Place.ANSWER:
        return
    told, last = False, -1
    for member in reading.members or ():
        if _tells(member):
            span = Span(passage.archive, member.start, member.end)
            yield fact_at(passage, Said("error", member.name, member.value), span, "failure")
            told = True
    for found in islice(_KINDS.finditer(passage.text), _MOST):
        kind = found.group("exception") or found.lastgroup or ""
        code = found.group("exit") or found.group("status")
        start = passage.text.rfind("\n", 0, found.end()) + 1
        if start != last:
            # A line tells one error, however many words in it say so.
            yield _error(passage, f"{kind} {code}" if code else kind, start)
        told, last = True, start
    if passage.failed and not told:
        yield _error(passage, "failed", 0)


def _tells(member: Member) -> bool:
    """Tell whether a member of an answer in JSON says that something went wrong."""
    name, value = member.name.lower(), member.value.lower()
    if len(member.path) > _DEEPEST:
        return False
    if name in _MESSAGES:
        return member.kind == "text" and bool(value.strip())
    if name in _FLAGS:
        return value == _FLAGS[name]
    return name in _STATES and value in _BAD


def _error(passage: Passage, kind: str, start: int) -> Fact:
    end = passage.text.find("\n", start)
    line = passage.text[start : end if end >= 0 else None][:_LINE]
    return fact(passage, Said("error", kind, line), start, start + len(line), "failure")


# The span is what was written between the marks, without the blanks around it.

_FENCE: Final = re.compile(
    r"^```(?P<language>\w{0,20})[ \t]*\n(?P<code>(?:(?!^```).*\n)*)^```", re.MULTILINE
)
_SHELLS: Final = frozenset({"", "bash", "sh", "shell", "console", "zsh"})
_TAG: Final = re.compile(r"<(?P<kind>function|parameter)=(?P<name>[\w.-]{1,100})>")
_END: Final = "</parameter>"


def from_spoken_calls(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each call and argument."""
    passage = reading.passage
    if passage.place is not Place.SAID or passage.author is not Author.ASSISTANT:
        return
    if "<function=" in passage.text:
        yield from _in_tags(passage)
    if "```" in passage.text:
        for found in _FENCE.finditer(passage.text):
            if found["language"].lower() in _SHELLS and found["code"].strip():
                start, end = _inner(passage.text, *found.span("code"))
                said = Said("command", "", passage.text[start:end])
                yield fact(passage, said, start, end, "spoken")


def _in_tags(passage: Passage) -> Iterator[Fact]:
    tags = [*_TAG.finditer(passage.text)]
    for tag, following in zip_longest(tags, tags[1:]):
        if tag["kind"] == "function":
            said = Said("tool_call", "", tag["name"])
            yield fact(passage, said, tag.start("name"), tag.end("name"), "spoken")
            continue
        limit = following.start() if following else len(passage.text)
        closed = passage.text.find(_END, tag.end(), limit)
        if closed > tag.end():
            start, end = _inner(passage.text, tag.end(), closed)
            said = Said("tool_arg", tag["name"], passage.text[start:end])
            yield fact(passage, said, start, end, "spoken")


def _inner(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    begin = start + len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())


# The bytes of a fact are those of its value as it was written, and each fact comes once.

if TYPE_CHECKING:
    Extractor = Callable[[Reading], Iterable[Fact]]

EXTRACTORS: Final[Sequence[Extractor]] = (
    from_answer,  # that a tool was called, that it answered, how a program ended
    from_json,  # arguments and answers, leaf by leaf
    from_files,  # arguments: what is made, changed, deleted, read
    from_spoken_calls,  # prose of a model: calls and commands
    from_tables,  # tables: their rows, columns and cells
    from_failures,  # answers that say what went wrong
    from_values,  # prose: numbers, dates, ids, paths, addresses
    from_wishes,  # prose of people: what must and must not be, what they prefer, decide, correct
    from_task_lists,  # boxes that are ticked or not, lists in arguments
)


def facts_of(passages: Iterable[Passage]) -> Iterator[Fact]:
    """Yield the facts of passages, extractor by extractor; each fact once."""
    seen: set[tuple[str | int, ...]] = set()
    for passage in passages:
        reading = Reading(passage)
        for extractor in EXTRACTORS:
            for one in extractor(reading):
                # The content is compared, for its digest takes longer to make.
                content = one.content
                if content not in seen:
                    seen.add(content)
                    yield one
