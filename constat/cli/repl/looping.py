"""The prompt: history, completion, colours, and entries of several lines.

In: a desk. Out: entries, until somebody leaves. Invariants: an entry is taken when it is whole, and
the return key begins a new line otherwise; an interruption ends the line or the answer and never
the prompt; what is typed is kept in a file that only its owner reads, or nowhere. Loaded only where
there is a terminal. Example: Ctrl-D leaves.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.filters import has_completions
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from constat.cli.output import complain, note
from constat.cli.repl.dispatching import COMMANDS, enter
from constat.cli.repl.offering import offers
from constat.diagnostics.interruption import heard
from constat.session.repl import is_complete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

    from constat.cli.repl.desk import Desk

HISTORY: Final = "repl-history"
_PROMPT: Final = "constat> "
_MORE: Final = "     ... "
_TOKENS: Final = re.compile(
    r'(?P<command>^[/:][a-z][\w-]*|^/)|(?P<comment>//.*)|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<variable>\?\w+|\b_\b)|(?P<number>(?<!\w)-?\d+(?:\.\d+)?\b)"
    r"|(?P<declaration>\.(?:decl|type)\b)|(?P<constructor>\$\w+|\bnil\b)|(?P<predicate>[A-Za-z_]\w*(?=\s*\())|(?P<operator>:-|!=|<=|>=|[<>=!])"
)
_STYLE: Final = Style.from_dict(
    {
        "command": "bold",
        "comment": "ansibrightblack",
        "string": "ansigreen",
        "variable": "ansicyan",
        "number": "ansigreen",
        "declaration": "bold",
        "constructor": "ansigreen",
        "predicate": "ansiblue",
        "unknown": "ansired",
        "operator": "bold",
    }
)


def loop(desk: Desk, *, keep_history: bool) -> None:
    """Ask for entries until somebody leaves."""
    name = desk.notebook.base.project.name
    note(f"constat on {name}; /help lists what can be typed, Ctrl-D leaves")
    prompt: PromptSession[str] = PromptSession(
        history=_history(desk.notebook.base.project.state) if keep_history else InMemoryHistory(),
        completer=_Offering(desk),
        complete_while_typing=False,
        lexer=_Colours(desk),
        style=_STYLE,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, number, soft: _MORE,  # noqa: ARG005  their protocol
        enable_history_search=True,
    )
    while not desk.done:
        try:
            text = prompt.prompt(_PROMPT)
        except KeyboardInterrupt as problem:
            heard(problem)
            continue
        except EOFError:
            return
        _entered(desk, text)


def _entered(desk: Desk, text: str) -> None:
    try:
        enter(desk, text)
    except Exception as problem:
        # The outermost boundary of an entry: typed rules and suppositions, which are kept nowhere,
        # outlive a mistake of ours. It is said, and CONSTAT_DEBUG shows all of it.
        if os.environ.get("CONSTAT_DEBUG"):
            raise
        kind = type(problem).__name__
        complain(
            f"internal error ({kind}); this is a mistake in Constat, CONSTAT_DEBUG=1 shows where"
        )


def _history(state: Path) -> History:
    """Keep what is typed in the project's state folder, where that can be written."""
    path = state / HISTORY
    try:
        state.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~has_completions)
    def take(event: KeyPressEvent) -> None:
        """Take the entry when it is whole."""
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("enter", filter=has_completions)
    def choose(event: KeyPressEvent) -> None:
        """Take the offer that is chosen, and go on typing."""
        event.current_buffer.complete_state = None

    return keys


class _Offering(Completer):
    """Completes from the words of the desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002  their protocol
    ) -> Iterable[Completion]:
        """Give what fits before the cursor."""
        for one in offers(self._desk, document.text_before_cursor):
            yield Completion(one.text, start_position=-one.replaced, display_meta=one.about)


class _Colours(Lexer):
    """Colours goals and rules; a predicate that is not there is red."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Give what colours a line."""
        known = frozenset(self._desk.session.program.program.predicates)
        lines = document.lines

        def line(number: int) -> StyleAndTextTuples:
            return coloured(lines[number], known) if number < len(lines) else []

        return line


def coloured(text: str, known: frozenset[str]) -> StyleAndTextTuples:
    """Cut a line into pieces, each with its style."""
    pieces: StyleAndTextTuples = []
    place = 0
    for found in _TOKENS.finditer(text):
        if found.start() > place:
            pieces.append(("", text[place : found.start()]))
        kind = found.lastgroup or ""
        if kind == "predicate" and found[0] not in known:
            kind = "unknown"
        if kind == "command" and found[0][1:] not in {one.name for one in COMMANDS}:
            kind = "unknown"
        pieces.append((f"class:{kind}", found[0]))
        place = found.end()
    pieces.append(("", text[place:]))
    return pieces
