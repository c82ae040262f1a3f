"""Records of approvals: who let a rule in, when and why, in a file beside the rules.

In: the lines of `approvals.jsonl`. Out: `Approval` values. Invariants: a record names a rule by the
hash of what the rule says, so an edited rule has no approval; a line has one spelling; nothing is
taken away, a withdrawal is a line below. Example: a line with the action `withdrawn` ends every
approval of that hash above it.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.library.reviewing.hashes import Hashes
from constat.proof.canonical import canonical

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "approvals.jsonl"
APPROVED: Final = "approved"
WITHDRAWN: Final = "withdrawn"
FORMAT: Final = "constat-approval/1"
MOST_BYTES: Final = 4 << 20
_LONGEST_LINE: Final = 64 << 10
_LONGEST_TEXT: Final = 4_000
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's word on one rule.

    `rule` is its id, `digest` the hash of what it says and `queries` that of what it rests on (the
    drafted queries it reads, the structure types it uses), empty where that is nothing. `draft` is
    the identity of the draft it was, and `asked_by` who asked for that; both are empty where there
    was none. `envelope` is the signed statement, empty where nobody signed.
    """

    rule: str
    digest: str
    action: str
    by: str
    reason: str
    at: str
    draft: str = ""
    asked_by: str = ""
    envelope: str = ""
    queries: str = ""

    @property
    def hashes(self) -> Hashes:
        """What it is bound to."""
        return Hashes(self.digest, self.queries)

    def says(self) -> dict[str, object]:
        """Give what a signed statement says of it beside signer and time."""
        return {
            "asked_by": self.asked_by,
            "draft": self.draft,
            "queries": self.queries,
            "reason": self.reason,
            "rule": self.rule,
        }

    def to_line(self) -> bytes:
        """Write it as a line."""
        return (canonical({"format": FORMAT, **asdict(self)}) + "\n").encode()


_MEMBERS: Final = frozenset({"format", *Approval.__dataclass_fields__})


def read_approvals(folder: Path) -> tuple[Approval, ...]:
    """Read the records of a folder; none where it has no such file.

    Raises `ConstatError` for a file that is damaged: what cannot be read might withdraw something.
    """
    name = f"{folder.name}/{FILE_NAME}"
    try:
        with (folder / FILE_NAME).open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise _damaged(problem.strerror or type(problem).__name__, name) from None
    return parse_approvals(content, name)


def parse_approvals(content: bytes, name: str = FILE_NAME) -> tuple[Approval, ...]:
    """Read the records of a file's bytes; `name` is the file's. Raises `ConstatError`."""
    if len(content) > MOST_BYTES:
        raise _damaged(f"it is larger than {MOST_BYTES >> 20} MiB", name)
    if content and not content.endswith(b"\n"):
        raise _damaged("it does not end with a line end", name)
    found = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            found.append(_read_line(line))
        except ValueError as problem:
            raise _damaged(str(problem), name, number) from None
    return tuple(found)


def _read_line(line: bytes) -> Approval:
    """Read one record; raises `ValueError` with the reason against it."""
    try:
        written = json.loads(line) if len(line) <= _LONGEST_LINE else None
    except (ValueError, RecursionError):
        written = None
    if not isinstance(written, dict) or written.keys() != _MEMBERS:
        raise ValueError("the line is no record of an approval")
    if not all(isinstance(one, str) for one in written.values()) or written["format"] != FORMAT:
        raise ValueError("the line is no record of an approval")
    del written["format"]
    found = Approval(**written)
    # One spelling: whoever adds a line can compare bytes, and nothing hides in white space.
    if found.to_line() != line + b"\n":
        raise ValueError("the line is not in canonical form")
    problem = _misfit(found)
    if problem:
        raise ValueError(problem)
    return found


def _misfit(one: Approval) -> str:
    if one.action not in {APPROVED, WITHDRAWN}:
        return "the record neither approves nor withdraws"
    hashes = (one.digest, *filter(None, (one.queries,)))
    if not all(map(_SHA256.match, hashes)) or not _TIME.match(one.at):
        return "the record has no hash of a rule, or no time"
    named = one.by.strip() and one.by.isprintable() and one.rule.strip()
    if not named or any(len(text) > _LONGEST_TEXT for text in (one.by, one.reason, one.rule)):
        return "the record does not name who and what"
    return ""


def _damaged(reason: str, name: str, line: int = 0) -> ConstatError:
    span = Span(name, line, 1, line, 2) if line else None
    message = f"`{name}` cannot be used: {reason}"
    note = "until it is mended nothing that it approves can be told from what it withdraws"
    hint = "take the file of the last commit"
    return ConstatError([Diagnostic("C0885", message, span, note=note, help=hint)])
