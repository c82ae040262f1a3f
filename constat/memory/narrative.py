"""A session told from facts, with long texts by reference and what subtasks left."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.memory.archive import Index, keep_contents
from constat.memory.facts import Author, Passage, Place
from constat.memory.history import Cited, quoted
from constat.memory.messages import digest
from constat.memory.policy import is_saved, marker
from constat.memory.tokens import chunks, estimate, sandwich
from constat.model.prompts import Tool
from constat.store import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.archive import Archive
    from constat.memory.decisions import Decided
    from constat.memory.history import Claim

SUMMARY: Final = "## Session Summary"
_EXACT: Final = re.compile(r"[\w.@/-]*[0-9][\w.@/-]*")
_FAILED: Final = re.compile(
    r"^\W*(?:api |internal |server )?(?:error|exception|traceback|rate.?limit|overloaded"
    r"|timed? ?out|service unavailable|bad gateway|unauthorized)",
    re.IGNORECASE,
)
_MOST_LINES: Final = 12
_LONGEST: Final = 200
_LONG_TASK: Final = 1_500


@frozen
class Narrative:
    """A narrative; ``by`` is ``facts``, or ``model`` where a model's words were taken."""

    text: str
    by: str
    refused: str = ""


def narrative(
    claims: Sequence[Claim],
    decided: Decided,
    *,
    number: int = 1,
    most_tokens: int = 800,
    counted: Callable[[str], int] = estimate,
) -> str:
    """Tell a session in the sections of seed 003, in so many tokens; newest lines stay longest."""
    sections = _sections(claims, decided)
    lines = _MOST_LINES
    while True:
        text = _written(sections, number, lines)
        if counted(text) <= most_tokens or lines == 1:
            return text
        lines -= 1


def told(
    facts: str, write: Callable[[str], str] | None = None, most_tokens: int = 1_000
) -> Narrative:
    """Return a narrative, in a model's words where ``write`` gives some that can be taken."""
    if write is None:
        return Narrative(facts, "facts")
    try:
        text = write(facts).strip()
    except Exception as problem:  # noqa: BLE001  whatever fails, the facts are there
        return Narrative(facts, "facts", type(problem).__name__)
    refused = _refused(text, facts, most_tokens)
    return Narrative(facts, "facts", refused) if refused else Narrative(text, "model")


def _refused(text: str, facts: str, most_tokens: int) -> str:
    """Say why a model's words cannot be taken; empty where they can."""
    if not text:
        return "it is empty"
    if _FAILED.match(text):
        return "it is an error"
    if estimate(text) > most_tokens:
        return "it is too long"
    known = set(_EXACT.findall(facts))
    unknown = [one for one in _EXACT.findall(text) if one.strip(".-/") not in facts]
    if unknown:
        return f"{len(set(unknown) - known)} numbers or names in it are not in the facts"
    return ""


@frozen
class _Sections:
    task: Claim | None
    work: Sequence[tuple[str, str, str]]
    decisions: Sequence[str]
    working_on: str
    completed: str
    pending: Sequence[str]
    errors: Sequence[str]


def _sections(claims: Sequence[Claim], decided: Decided) -> _Sections:
    current = [one for one in claims if one.name in decided.current]
    tasks = [one for one in current if one.fact.predicate == "task"]
    pending = _of(current, "pending", decided.pinned)
    done = _of(current, "done")
    said = _of(current, "said")
    return _Sections(
        tasks[0] if tasks else None,
        _work(current),
        [_quote(one) for one in _of(current, "decision")],
        _quote(pending[-1]) if pending else _quote(said[-1]) if said else "nothing was asked",
        _quote(done[-1]) if done else "nothing is ticked",
        [_quote(one) for one in pending],
        [_error(one, decided) for one in _of(current, "error")],
    )


def _of(claims: Iterable[Claim], kind: str, among: frozenset[str] | None = None) -> list[Claim]:
    return [
        one for one in claims if one.fact.predicate == kind and (among is None or one.name in among)
    ]


def _work(claims: Iterable[Claim]) -> list[tuple[str, str, str]]:
    """Return the rows of the table: files and components, what was done, and where it was said."""
    found: dict[tuple[str, str], str] = {}
    for one in claims:
        if one.fact.predicate == "artifact":
            found[one.fact.key, one.fact.value] = one.place
        elif one.fact.predicate == "tool_call":
            found[one.fact.value, "called"] = one.place
    return [(what, action, f"@{place}") for (what, action), place in found.items()]


def _error(one: Claim, decided: Decided) -> str:
    return f"{_quote(one)} → {decided.put_right(one.name, one.text.passage.tool)}"


def _quote(one: Claim) -> str:
    value = one.fact.value
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    return f"{quoted(shown)} @{one.place}"


def _written(found: _Sections, number: int, lines: int) -> str:
    task = "Unknown task" if found.task is None else quoted(found.task.fact.value)
    if lines == 1 and len(task) > _LONG_TASK and found.task is not None:
        task = f"{quoted(sandwich(found.task.fact.value, _LONG_TASK))} @{found.task.place}"
    rows = [f"| {_cell(what)} | {_cell(action)} | {where} |" for what, action, where in found.work]
    parts = [
        f"{SUMMARY} (Compaction Round {number})",
        f"### Original Task\n{task}",
        "### Completed Work\n| File/Component | Action | Description |\n|---|---|---|",
        *rows[-lines:],
        "### Key Technical Decisions",
        *(f"- {one}" for one in found.decisions[-lines:]),
        "### Current State",
        f"- Working on: {found.working_on}",
        f"- Last completed: {found.completed}",
        "### Pending Work",
        *(f"- [ ] {one}" for one in found.pending[-lines:]),
    ]
    if found.errors:
        parts += ["### Errors & Resolutions", *(f"- {one}" for one in found.errors[-lines:])]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return quoted(text)[1:-1].replace("|", "\\|")


if TYPE_CHECKING:
    Json = Any

_KEY: Final = re.compile(r"[A-Za-z0-9][\w.:/-]{0,199}")
_REF: Final = re.compile(r"ref:([A-Za-z0-9][\w.:/-]{0,199})")
_PREVIEW: Final = 1_500
_CHUNK: Final = 4_000
_MOST_CHUNK: Final = 50_000
_MOST_VALUES: Final = 100_000
LIST: Final = "scratchpad_list"
READ_CHUNK: Final = "scratchpad_read_chunk"


@frozen
class Saved:
    """A text on the pad: its key, what it is, its length in bytes and in pieces."""

    key: str
    label: str
    bytes: int
    digest: str


class Scratchpad:
    """The pad of one session. ``opened`` gives texts of the history, by the names of messages."""

    def __init__(
        self, archive: Archive, session: str, opened: Callable[[str], bytes] | None = None
    ) -> None:
        self._archive = archive
        self._session = session
        self._opened = opened

    def write(self, key: str, text: str, label: str = "") -> str:
        """Save a text; gives its reference. Raises ``ConstatError`` C0808 for a key in use."""
        if not _KEY.fullmatch(key):
            raise ConstatError([_unknown("a key has letters, digits and `_.:/-`")])
        content = text.encode("utf-8", "surrogatepass")
        name = digest(content)
        with self._archive.writing() as connection:
            keep_contents(connection, {name: content})
            connection.execute(
                "INSERT INTO scratchpad (session, key, digest, label) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (self._session, key, name, label),
            )
            asked = "SELECT digest FROM scratchpad WHERE session = ? AND key = ?"
            kept = connection.execute(asked, (self._session, key)).fetchone()[0]
        if kept != name:
            raise ConstatError([_unknown(f"the key `{key}` stands for another text already")])
        return f"ref:{key}"

    def gate(self, key: str, text: str, most: int = 10_000) -> str:
        """Return a text as it may enter a prompt: a long one is saved, and shown by its ends."""
        if len(text) <= most or is_saved(text):
            return text
        self.write(key, text)
        return f"{sandwich(text, min(_PREVIEW, most))}\n{marker(key)}"

    def list(self) -> tuple[Saved, ...]:
        """Return what is saved, by key."""
        asked = (
            "SELECT key, label, length(content), scratchpad.digest FROM scratchpad"
            " JOIN contents USING (digest) WHERE session = ? ORDER BY key"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(Saved(*row) for row in rows)

    def read(self, ref: str) -> str:
        """Return all of a text, by its key or reference; raises ``ConstatError`` C0808."""
        key = ref.removeprefix("ref:")
        asked = "SELECT digest FROM scratchpad WHERE session = ? AND key = ?"
        with self._archive.reading() as connection:
            found = None
            if connection is not None:
                found = connection.execute(asked, (self._session, key)).fetchone()
        if found is not None:
            return self._archive.get(found[0]).decode("utf-8", "surrogatepass")
        if self._opened is None or not _KEY.fullmatch(key):
            raise ConstatError([_unknown("nothing was saved by that reference")])
        try:
            return self._opened(key).decode("utf-8", "surrogatepass")
        except ConstatError:
            raise ConstatError([_unknown("nothing was saved by that reference")]) from None

    def read_chunk(self, ref: str, number: int = 0, characters: int = _CHUNK) -> str:
        """Return one piece of a text, with where it stands among the others.

        Pieces end where a line, a sentence or a word ends. Raises ``ConstatError`` C0808.
        """
        if not 1 <= characters <= _MOST_CHUNK:
            raise ConstatError([_unknown(f"a piece has 1 to {_MOST_CHUNK:,} characters")])
        pieces = list(chunks(self.read(ref), characters)) or [""]
        if not 0 <= number < len(pieces):
            raise ConstatError([_unknown(f"there are pieces 0 to {len(pieces) - 1}")])
        return f"[piece {number} of 0 to {len(pieces) - 1}]\n{pieces[number]}"

    def resolved(self, arguments: Json) -> Json:
        """Return a tool's arguments with texts in place of references.

        Called where the tool is called, and nowhere before: no prompt sees what it gives. Raises
        ``ConstatError`` C0808 for a reference that names nothing.
        """
        holder = [arguments]
        waiting: list[tuple[Any, Any]] = [(holder, 0)]
        for _ in range(_MOST_VALUES):
            if not waiting:
                return holder[0]
            where, at = waiting.pop()
            value = where[at]
            if isinstance(value, str) and (found := _REF.fullmatch(value)):
                where[at] = self.read(found[1])
            elif isinstance(value, dict | list):
                # What was handed in stays as it was: the copies are changed.
                where[at] = copy = value.copy()
                places = copy if isinstance(copy, dict) else range(len(copy))
                waiting += [(copy, place) for place in places]
        raise ConstatError([_unknown(f"arguments have no more than {_MOST_VALUES:,} values")])

    def tools(self) -> tuple[tuple[Tool, Callable[[Json], str]], ...]:
        """Return the two tools by which a model reads the pad, and what answers them."""
        return ((_LIST_TOOL, self._list), (_READ_TOOL, self._read_chunk))

    def _list(self, _arguments: Json) -> str:
        saved = self.list()
        lines = [f"ref:{one.key} ({one.bytes:,} bytes) {one.label}".rstrip() for one in saved]
        return "\n".join(lines) or "nothing is saved"

    def _read_chunk(self, arguments: Json) -> str:
        try:
            number = int(arguments.get("number", 0))
            characters = int(arguments.get("characters", _CHUNK))
        except (TypeError, ValueError):
            raise ConstatError([_unknown("`number` and `characters` are whole numbers")]) from None
        return self.read_chunk(str(arguments.get("ref", "")), number, characters)


_LIST_TOOL: Final = Tool(
    LIST,
    "Lists the long texts that were saved, with the references that stand for them.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)
_READ_TOOL: Final = Tool(
    READ_CHUNK,
    "Reads one piece of a saved text. Pieces are numbered from 0.",
    {
        "type": "object",
        "properties": {
            "ref": {"type": "string", "description": "a reference, such as ref:m13"},
            "number": {"type": "integer", "minimum": 0},
            "characters": {"type": "integer", "minimum": 1, "maximum": _MOST_CHUNK},
        },
        "required": ["ref"],
        "additionalProperties": False,
    },
)


def _unknown(reason: str) -> Diagnostic:
    return Diagnostic("C0808", f"a reference cannot be used: {reason}")


DEPENDENCIES: Final = "## Context from Dependencies"
KNOWLEDGE: Final = "## Relevant Knowledge"


@frozen
class StoredContext:
    """What a subtask left behind; ``subtask`` and ``at`` are set when it is stored."""

    summary: str
    artifacts: tuple[str, ...] = ()
    subtask: str = ""
    at: str = ""


class WorkingMemory:
    """The working memory of one session, in the file of the archive."""

    def __init__(self, archive: Archive, session: str) -> None:
        self._archive = archive
        self._session = session

    def store(self, subtask: str, context: StoredContext) -> None:
        """Keep what a subtask left behind."""
        artifacts = json.dumps(context.artifacts, ensure_ascii=True)
        row = (self._session, subtask, context.summary, artifacts, clock.now())
        with self._archive.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO working_memory"
                " (session, subtask, summary, artifacts, stored_at) VALUES (?, ?, ?, ?, ?)",
                row,
            )

    def all(self) -> tuple[StoredContext, ...]:
        """Return everything that is stored, by subtask."""
        asked = (
            "SELECT summary, artifacts, subtask, stored_at FROM working_memory"
            " WHERE session = ? ORDER BY subtask"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(
                StoredContext(summary, tuple(json.loads(artifacts)), subtask, at)
                for summary, artifacts, subtask, at in rows
            )

    def retrieve(self, subtasks: Iterable[str]) -> str:
        """Return what these subtasks left behind, as a block for a prompt; empty without any."""
        stored = {one.subtask: one for one in self.all()}
        found = [stored[name] for name in subtasks if name in stored]
        if not found:
            return ""
        return "\n".join([DEPENDENCIES, *(line for one in found for line in _lines(one))])

    def search(self, query: str, limit: int = 5) -> tuple[StoredContext, ...]:
        """Return the subtasks whose summaries and artifacts have the words, the best first."""
        stored = self.all()
        index = Index(neighbours=False)
        try:
            index.add([_cited(one) for one in stored])
            by_name = {one.subtask: one for one in stored}
            return tuple(by_name[found.place] for found in index.search(query, limit))
        finally:
            index.close()

    def relevant(self, title: str, limit: int = 5) -> str:
        """Return what is known about a title, as a block for a prompt; empty without anything."""
        found = self.search(title, limit)
        return "\n".join([KNOWLEDGE, *(f"- {one.summary}" for one in found)]) if found else ""


def _lines(one: StoredContext) -> list[str]:
    made = f" (made: {', '.join(one.artifacts)})" if one.artifacts else ""
    return [f"- {one.subtask}: {one.summary}{made}"]


def _cited(one: StoredContext) -> Cited:
    text = "\n".join([one.summary, *one.artifacts])
    return Cited(one.subtask, "", Passage(text, Author.ASSISTANT, Place.SAID, 0), 0)
