"""The repl's beginning and its prompt: a terminal, or lines from a pipe."""

from __future__ import annotations

import getpass
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.filters import has_completions
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from constat.cli.completion import columns_by_name, typed_arguments, whole_atom
from constat.cli.exploration import allow_unconfined, unconfined_option
from constat.cli.groups import PlainCommand
from constat.cli.options import asked, project_option
from constat.cli.output import complain, note
from constat.cli.repl.commands import COMMANDS, enter, tell_checks
from constat.cli.repl.desk import Desk
from constat.diagnostics import ConstatError
from constat.diagnostics.catalogue import catalogue
from constat.diagnostics.interruption import heard
from constat.frozen import frozen
from constat.logic import null_words
from constat.proof.formats import FORMATS
from constat.session import Session
from constat.session.repl import Kind, Notebook, is_complete, kind_of
from constat.syntax import print_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

    from constat.logic import Predicate

_WORD: Final = re.compile(r"[\w.:-]*\Z")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\Z")
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][\w.:-]*\Z")
_TEXTS: Final = re.compile(r'"([^"\\\n]{1,60})"')
_MOST: Final = 200


@frozen
class Offer:
    """A text that takes the place of so many characters before the cursor; `about` explains it."""

    text: str
    replaced: int
    about: str = ""


def offers(desk: Desk, before: str) -> list[Offer]:
    """Give what fits, the likeliest first."""
    bare = before.lstrip()
    if bare.startswith("/"):
        found = _behind_command(desk, bare)
    elif kind_of(before) is Kind.RULES or _CALLED.search(before) or " " not in bare:
        found = _in_goal(desk, before)
    else:
        start = before[: len(before) - len(_last_word(before))].rstrip()
        found = _in_goal(desk, before) if start.endswith((",", "!", "?-")) else iter(())
    return [one for _, one in zip(range(_MOST), found, strict=False)]


def _behind_command(desk: Desk, text: str) -> Iterator[Offer]:
    name, space, rest = text[1:].partition(" ")
    if not space:
        for one in COMMANDS:
            if one.name.startswith(name):
                yield Offer(f"/{one.name}", len(name) + 1, one.purpose)
        return
    found = next((one for one in COMMANDS if one.name == name), None)
    word = _last_word(rest)
    if found is None:
        return
    if found.goals or (name == "what-if" and " " in rest):
        yield from _in_goal(desk, rest)
    elif name == "query":
        yield from _matching(word, _tables(desk))
    else:
        yield from _matching(word, _operands(desk, name))


def _operands(desk: Desk, name: str) -> Iterable[tuple[str, str]]:
    match name:
        case "what-if":
            return [("add", "a fact"), ("remove", "a fact"), ("set", "a value"), ("nothing", "")]
        case "export":
            return [("certificate", "JSON"), *((one.name, one.purpose) for one in FORMATS)]
        case "explain":
            return [(code, entry.title) for code, entry in catalogue().items()]
        case "resume":
            with suppress(ConstatError):
                history = desk.notebook.base.history
                return [(one.identity, one.title) for one in reversed(history)]
            return ()
        case "predicates":
            return [(one, "") for one in desk.session.program.program.predicates]
        case _:
            return ()


def _tables(desk: Desk) -> Iterator[tuple[str, str]]:
    """Give the tables of the exploration in use, and their columns."""
    with suppress(ConstatError):
        found = desk.tables().tables()
        for one in found:
            yield one.name, f"{one.rows:,} rows"
        for one in found:
            for column, kind in one.columns:
                plain = column if column.isidentifier() else f'"{column}"'
                yield plain, f"{kind}, column of {one.name}"
    yield from ((word, "") for word in ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY"))


def _in_goal(desk: Desk, before: str) -> Iterator[Offer]:
    """Offer atoms, or what fits as the next operand of one."""
    opened = typed_arguments(before)
    predicates = desk.session.program.program.predicates
    if opened is None:
        word = _last_word(before)
        for name, predicate in sorted(predicates.items()):
            if name.startswith(word) and "." not in name:
                text = whole_atom(name, [one.name for one in predicate.columns])
                yield Offer(text, len(word), _about(predicate.columns))
        return
    called, written = _NAME.search(before[: opened[0]].rstrip()), opened[1]
    known = predicates.get(called[0]) if called else None
    place = len(written) - 1
    if known is None or not 0 <= place < len(known.columns):
        return
    typed = written[-1].lstrip()
    names = columns_by_name([one.name for one in known.columns], written)
    if names is not None:
        yield from _by_name(desk, known, names, typed)
        return
    column = known.columns[place]
    end = ")" if place == len(known.columns) - 1 else ", "
    for text in (f"?{column.name}", *constants(desk)):
        if text.startswith(typed):
            yield Offer(text + end, len(typed), print_column(column, null_words(known)[place]))


def _by_name(desk: Desk, known: Predicate, names: list[str], typed: str) -> Iterator[Offer]:
    """Offer columns by name, or the value of the one that is being written."""
    name, sign, value = typed.partition("=")
    if not sign:
        for column, word in zip(known.columns, null_words(known), strict=True):
            if column.name in names:
                about = print_column(column, word)
                yield Offer(f"{column.name} = ?{column.name}", len(typed), about)
        return
    value = value.lstrip()
    for text in (f"?{name.strip()}", *constants(desk)):
        if text.startswith(value):
            yield Offer(text, len(value), name.strip())


def _about(columns: Iterable[object]) -> str:
    return ", ".join(
        f"{getattr(one, 'name', '')}: {getattr(one, 'type_name', '')}" for one in columns
    )


def constants(desk: Desk) -> Iterator[str]:
    """Give the constants that were seen, configured, or written in rules, as goals spell them."""
    found: dict[str, None] = dict(desk.seen)
    project = desk.notebook.base.project
    for table in project.facts.values():
        for row in table.rows[:_MOST]:
            found |= dict.fromkeys(cell.text for cell in row.cells if cell.text)
    for text in desk.session.texts.values():
        found |= dict.fromkeys(_TEXTS.findall(text))
    for one in found:
        if one.isprintable():
            quoted = one.replace("\\", "\\\\").replace('"', '\\"')
            yield one if _PLAIN.match(one) else f'"{quoted}"'


def _matching(word: str, known: Iterable[tuple[str, str]]) -> Iterator[Offer]:
    for text, about in known:
        if text.lower().startswith(word.lower()):
            shown = about if about.isprintable() else ""
            yield Offer(text, len(word), shown[:80])


def _last_word(text: str) -> str:
    found = _WORD.search(text)
    return found[0] if found else ""


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
        tell_checks(desk)
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


# With a terminal there is a prompt with history, completion and colours. Without one entries are
# read from stdin, as from a script, and the exit code tells whether all were understood.

_FAILED = 2


@click.command(name="repl", cls=PlainCommand)
@click.option(
    "--by", metavar="NAME", help="Who states facts and asks; by default who is logged in."
)
@click.option("--no-history", "forgetful", is_flag=True, help="Keep nothing of what is typed.")
@unconfined_option
@project_option
def command(*, by: str | None, forgetful: bool, project: str | None) -> int:
    """Type goals, rules and questions, and look at what came of them.

    A goal with constants is proved, one with variables is answered in full. A rule or declaration,
    which ends with a full stop, is supposed from then on. A sentence is a question for the models
    of the project. What begins with `/` is a command; /help lists them.

    Without a terminal the entries are read from stdin, one per line; a rule ends where its full
    stop does.

    Examples:
      echo "is_vip(C001)" | constat repl
      echo "/predicates vip" | constat repl

    Exit codes: 0 done, 2 bad usage or configuration, or stdin held what was not understood.
    """
    with Session(project) as session:
        # Mistakes of the project are told before anything is typed.
        with asked(session):
            _ = session.program
        allow_unconfined(session)
        return _served(session, by or _somebody(), forgetful=forgetful)


def _served(session: Session, by: str, *, forgetful: bool) -> int:
    with Notebook(session) as notebook:
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        desk = Desk(notebook, by, interactive=terminal)
        if terminal:
            # Loaded on first use: only a terminal needs what draws on it.

            loop(desk, keep_history=not forgetful)
            tell_checks(desk)
            for one in desk.going:
                note(f"{one.query}: the check is stopped; its rows are computed, not checked")
            return 0
        return _run(desk, entries(sys.stdin))


def _run(desk: Desk, texts: Iterable[str]) -> int:
    code = 0
    for text in texts:
        if not enter(desk, text):
            code = _FAILED
        if desk.done:
            break
    return code


def entries(lines: Iterable[str]) -> Iterator[str]:
    """Put lines together to entries: a line is one, unless it has to go on."""
    waiting = ""
    for line in lines:
        waiting += line
        if is_complete(waiting):
            yield waiting
            waiting = ""
    if waiting.strip():
        yield waiting


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as containers have them.
        return "somebody"
