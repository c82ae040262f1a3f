"""The scratchpad: long texts by reference, so that no prompt has to carry them.

In: a key and a text.  Out: ``ref:key``, lists, pieces, and arguments with texts in place of
references.  Invariants: a reference is resolved only where a tool is called, and only a whole value
is one; a key means one text for ever; what is saved survives a crash; what says already where all
of it is saved is not saved again.

Example: ``pad.gate("orders", text, 10_000)`` is the text's head, middle and tail, and
``[Full result saved as ref:orders]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.archive import keep_contents
from constat.memory.keeping import is_saved, marker
from constat.memory.preview import chunks, sandwich
from constat.memory.spelling import digest
from constat.model.prompts import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.memory.archive import Archive

    Json = Any

_KEY: Final = re.compile(r"[A-Za-z0-9][\w.:/-]{0,199}")
_REF: Final = re.compile(r"ref:([A-Za-z0-9][\w.:/-]{0,199})")
_PREVIEW: Final = 1_500
_CHUNK: Final = 4_000
_MOST_CHUNK: Final = 50_000
_MOST_VALUES: Final = 100_000
LIST: Final = "scratchpad_list"
READ_CHUNK: Final = "scratchpad_read_chunk"


@dataclass(frozen=True, slots=True)
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
