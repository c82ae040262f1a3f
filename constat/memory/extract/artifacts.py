"""Files that were made, changed, deleted or read, as the calls of tools tell.

In: the arguments of a call.  Out: ``artifact`` (key: the path, value: ``created``, ``changed``,
``deleted`` or ``read``).  Invariants: what changes a file is a fact about the file alone, so that
the last of it counts; that a file was read is a fact about the call; the span is that of the
argument which names the file.  A command of a shell is looked through for what it redirects to,
touches, moves and removes; what it does beyond that is not known.

Example: ``{"command": "create", "path": "a.py"}`` has ``a.py`` = ``created``.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact_at
from constat.memory.facts import Span
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.extract.reading import Member, Reading
    from constat.memory.facts import Fact

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
