"""What a draft is, and what may be kept as one.

In: nothing. Out: frozen values, and the checks that what is kept has passed. Invariant: a text that
is kept has no character that a terminal or an editor would act upon instead of showing it: no
control character but line ends and tabs, and none that turns the direction of text around.
Reference for the latter: Unicode Technical Report 36, and N. Boucher, R. Anderson, *Trojan Source*,
2021.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from constat.diagnostics import ConstatError, Diagnostic

STATUSES: Final = ("proposed", "approved", "rejected", "superseded")
LONGEST_TEXT: Final = 64 << 10
LONGEST_LINE: Final = 4_000
LONGEST_NAME: Final = 200
_MOST_TESTS: Final = 100
_LONGEST_TESTS: Final = 256 << 10
_MOST_REPLACED: Final = 100
_SHOWN_DIGITS: Final = 16
_CALLED: Final = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\s*\(")
_LAYOUT: Final = frozenset("\n\t")
# Joiners that scripts need in words; the other format characters hide or reorder what is read.
_JOINERS: Final = frozenset("\u200c\u200d")


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A draft that comes in.

    `text` are rules with the declarations of new predicates; `goal` is what they were drafted for,
    `purpose` the question behind it. `replaces` are ids of rules whose place the drafted ones are
    to take. `tests` are case files. `prompt` and `response` are hashes of what a model was told
    and what it said (`sha256:...`), empty where a person drafted. `asked_by` is who asked.
    """

    text: str
    purpose: str
    goal: str = ""
    model: str = ""
    prompt: str = ""
    response: str = ""
    replaces: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a draft: one of the statuses, by whom, why, and when (UTC)."""

    status: str
    by: str
    reason: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Endorsement:
    """One approver's word; `record` is what goes beside the rules once there are enough."""

    by: str
    reason: str
    at: str
    record: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as it is kept; `decision` is the last one about it."""

    identity: str
    text: str
    purpose: str
    goal: str
    model: str
    prompt: str
    response: str
    at: str
    status: str
    replaces: tuple[str, ...]
    tests: tuple[str, ...]
    decision: Decision | None
    asked_by: str = ""

    @property
    def short(self) -> str:
        """The beginning of the identity, as people type it."""
        return self.identity[:_SHOWN_DIGITS]


def mentioned(text: str) -> frozenset[str]:
    """Give the names that stand before a bracket: predicates, whether or not the text parses."""
    return frozenset(_CALLED.findall(text))


def check_draft(new: NewDraft) -> None:
    """Raise `ConstatError` where a draft cannot be kept."""
    names = (new.model, new.prompt, new.response, new.asked_by)
    lines = (new.purpose, new.goal)
    problem = ""
    if not new.text.strip():
        problem = "the draft is empty"
    elif not new.purpose.strip():
        problem = "the draft does not say what it is for"
    elif len(new.text.encode(errors="replace")) > LONGEST_TEXT:
        problem = f"the draft is longer than {LONGEST_TEXT >> 10} KiB"
    elif len(new.tests) > _MOST_TESTS or sum(map(len, new.tests)) > _LONGEST_TESTS:
        problem = f"the draft has more than {_MOST_TESTS} tests or {_LONGEST_TESTS >> 10} KiB"
    elif len(new.replaces) > _MOST_REPLACED:
        problem = f"the draft replaces more than {_MOST_REPLACED} rules"
    elif any(len(one) > LONGEST_LINE for one in lines):
        problem = f"the question or the goal is longer than {LONGEST_LINE} characters"
    elif any(len(one) > LONGEST_NAME for one in (*names, *new.replaces)):
        problem = f"a name is longer than {LONGEST_NAME} characters"
    else:
        shown = (*lines, new.text, *new.tests)
        problem = next(filter(None, map(unshowable, shown)), "")
        problem = problem or next(filter(None, map(unprintable, (*names, *new.replaces))), "")
    if problem:
        hint = "have it drafted again"
        raise ConstatError([Diagnostic("C0881", problem, note="nothing was kept", help=hint)])


def check_decision(decision: Decision) -> None:
    """Raise `ConstatError` where a decision cannot be kept."""
    problem = ""
    if decision.status not in STATUSES:
        problem = f"a decision is one of {', '.join(STATUSES)}"
    elif not decision.by.strip():
        problem = "a decision needs the name of the person who makes it"
    elif not decision.reason.strip():
        problem = "a decision needs a reason"
    elif len(decision.by) > LONGEST_NAME or len(decision.reason) > LONGEST_LINE:
        problem = f"a name has at most {LONGEST_NAME} characters, a reason {LONGEST_LINE}"
    else:
        problem = unprintable(decision.by) or unshowable(decision.reason)
    if problem:
        hint = 'write `--by alice --reason "as the contract says"`'
        raise ConstatError([Diagnostic("C0883", problem, help=hint)])


def unshowable(text: str) -> str:
    """Tell which character of a text would be acted upon instead of shown; empty where none."""
    for character in text:
        if character in _LAYOUT or character in _JOINERS:
            continue
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            return f"it holds the character U+{ord(character):04X}, which is not shown but acted on"
    return ""


def unprintable(text: str) -> str:
    """The same for a name, which stands on one line."""
    broken = next((one for one in text if one in _LAYOUT), "")
    return f"a name holds U+{ord(broken):04X}" if broken else unshowable(text)
