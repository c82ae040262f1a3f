"""What somebody builds up line by line: rules and suppositions beside a project."""

from __future__ import annotations

import contextlib
import re
import time
from contextlib import ExitStack, suppress
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Self

from constat.catalog import QueryMistakeError, guard
from constat.catalog.interruptible import Deadline
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation.processor import set_up_duckdb
from constat.explore.answered import Explored
from constat.explore.sandbox.databases import table_of_cells
from constat.frozen import frozen
from constat.logic import Constant
from constat.session.conversing import PROVE, Conversation, Done, Exchange, new_name, verdict_json
from constat.session.drafted import JoinedProgram
from constat.session.result import Answered, Result
from constat.session.suppositions import Suppositions, read_suppositions, suppose_rules
from constat.store.replacing import Scratch
from constat.store.table_columns import Offered
from constat.syntax import parse_goal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from constat.proof.translation import Translation
    from constat.session.answers import Answers
    from constat.session.hypotheses import WhatIf
    from constat.session.session import Session
    from constat.store.table_forms import Table
    from constat.store.tables import DataStore

_SECONDS: Final = 30.0
MOST_ROWS: Final = 10_000
_MEMORY: Final = "1GB"


def query_tables(
    store: DataStore, query: str, *, seconds: float = _SECONDS, rows: int = MOST_ROWS
) -> Table:
    """Run a SELECT. Raises `ConstatError` for one that may not or cannot run."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    try:
        guarded = guard(query, "duckdb")
        tables = _named(store, guarded.tables)
        with contextlib.closing(_opened(tables)) as connection:
            with Deadline(seconds, connection.interrupt):
                found = connection.execute(guarded.text)
                names = [column[0] for column in found.description or ()]
                cells = found.fetchmany(rows + 1)
            _check_count(len(cells), rows)
            return table_of_cells(names, cells)
    except QueryMistakeError as problem:
        raise _mistake(problem.code, problem.reason, problem.help) from None
    except duckdb.InterruptException:
        raise _mistake("C0521", f"it did not finish within {seconds:g} s", "") from None
    except duckdb.Error as problem:
        raise _mistake("C0515", str(problem).splitlines()[0][:300], "") from None


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise QueryMistakeError(f"it gives more than {most:,} rows; add a LIMIT")


def _named(store: DataStore, wanted: frozenset[str]) -> dict[str, Table]:
    known = {one.name.lower(): one.name for one in store.tables()}
    missing = sorted(wanted - known.keys())
    if missing:
        shown = ", ".join(sorted(known.values())) or "none"
        raise ConstatError(
            [Diagnostic("C0916", f"there is no table `{missing[0]}`", note=f"there are: {shown}")]
        )
    return {known[name]: store.table(known[name]) for name in wanted}


def _opened(tables: dict[str, Table]) -> Any:  # noqa: ANN401  a connection of a lazy library
    """Open a DuckDB that holds the tables and can reach nothing else."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": _MEMORY,
    }
    connection = set_up_duckdb(duckdb.connect(":memory:", config=settings))
    try:
        for name, table in tables.items():
            query = Offered(connection, "constat_offered", table).query()
            # A name of the store is letters, digits and `_`: it needs no quoting but case.
            connection.execute(f'CREATE TABLE "{name}" AS {query}').fetchall()
            connection.unregister("constat_offered")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _mistake(code: str, message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic(code, f"the query cannot be answered: {message}", help=hint)])


TYPED: Final = "typed.dl"
_MOST_UNDONE: Final = 1_000
_MOST_KEPT: Final = 100
_ATOM: Final = re.compile(r"\s*!?\s*[A-Za-z_]\w*\s*\(")
# `:-` begins the body of a rule.
_COMMAND: Final = re.compile(r"/|:[a-z]")
_RULE: Final = re.compile(r"\s*(?:\.(?:decl|type|pragma)\b|@\[|[A-Za-z_]\w*\s*\([^()]*\)\s*:-)")
_FACT: Final = re.compile(r"\s*[A-Za-z_]\w*\s*\(.*\)\s*\.\s*\Z", re.DOTALL)
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


class Kind(Enum):
    """What a text is."""

    NOTHING = "nothing"
    COMMAND = "command"
    RULES = "rules"
    GOAL = "goal"
    QUESTION = "question"


@frozen
class Lacking:
    """Goals with the facts that they lack, and those that a limit kept from being tried again."""

    goals: tuple[tuple[str, tuple[str, ...]], ...]
    untried: tuple[str, ...] = ()


@frozen
class _State:
    """What was typed and counts."""

    rules: tuple[str, ...] = ()
    supposed: Suppositions = field(default_factory=Suppositions)


def kind_of(text: str) -> Kind:
    """Tell what a text is, by its looks; a goal may still be wrong."""
    bare = text.strip()
    if not bare or bare.startswith("//"):
        return Kind.NOTHING
    if _COMMAND.match(bare):
        return Kind.COMMAND
    if _RULE.match(bare) or _FACT.match(bare):
        return Kind.RULES
    return Kind.GOAL if _ATOM.match(bare.removeprefix("?-")) else Kind.QUESTION


def is_complete(text: str) -> bool:
    """Tell whether a text may be what somebody meant to type, or has to go on."""
    kind = kind_of(text)
    if kind is Kind.RULES:
        bare = text.rstrip()
        ended = bare.endswith(".") or _is_declaration(bare)
        return ended and not _depth(text)
    return kind is not Kind.GOAL or not _depth(text)


def _is_declaration(text: str) -> bool:
    last = text.rsplit("\n", maxsplit=1)[-1].strip()
    # The fields of a type may stand on several lines.
    type_text = text[max(text.rfind("\n.type"), 0) :].strip()
    ends_type = type_text.startswith(".type") and last in {"]", "}"} and ":-" not in type_text
    return (last.startswith((".decl", ".type", ".pragma")) or ends_type) and not _depth(text)


def _depth(text: str) -> int:
    """Count the brackets that are open, outside of texts in quotes; an open quote counts too."""
    depth, quoted, escaped = 0, False, False
    for letter in text:
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        else:
            depth += (letter in _OPENING) - (letter in _CLOSING)
    return max(depth, 0) + quoted


class Notebook:
    """What was typed beside a project. Closed at the end; used by one thread at a time."""

    def __init__(self, session: Session) -> None:
        self.base = session
        self.results: list[Result] = []
        self.answer: Answered | Explored | None = None
        """The last answer to a question in words."""
        self._drafts: dict[str, str] = {}
        self.exploration = ""
        self.conversation = new_name("repl")
        self._state = _State()
        self._undo: list[tuple[str, Callable[[], object]]] = []
        self._other: Session | None = None
        self._folder = Scratch()

    @property
    def session(self) -> Session:
        """The session that answers with the typed rules; raises `ConstatError`."""
        if self._other is None and self._state.rules:
            self._other = self._joined(self._state.rules)
        return self._other or self.base

    @property
    def rules(self) -> tuple[str, ...]:
        """The typed rules and declarations."""
        return self._state.rules

    @property
    def supposed(self) -> Suppositions:
        """The facts and values that are supposed."""
        return self._state.supposed

    @property
    def text(self) -> str:
        """The typed rules as a file."""
        return "".join(f"{one.strip()}\n\n" for one in self._state.rules)

    @property
    def last(self) -> Result | None:
        """The last result of a goal."""
        return self.results[-1] if self.results else None

    def add_rules(self, text: str) -> tuple[str, ...]:
        """Suppose rules and declarations besides; gives the ids of the typed rules.

        Raises `ConstatError` where they do not fit; then nothing has changed.
        """
        rules = (*self._state.rules, text.strip())
        other = self._joined(rules)
        self._take(replace(self._state, rules=rules), "typed rules", other)
        return () if other.joined is None else other.joined.rules

    def check(self, supposed: Suppositions) -> None:
        """Raise `ConstatError` where these cannot be supposed."""
        read_suppositions(supposed, self.session.program, self.base.project)

    def suppose(self, changed: Suppositions) -> None:
        """Suppose these facts and values, and no others, from now on."""
        self._take(replace(self._state, supposed=changed), "suppositions", self._other)

    def forget(self) -> None:
        """Suppose nothing any more, rules included."""
        self._take(_State(), "everything that was typed", None)

    def undone_by(self, what: str, undo: Callable[[], object]) -> None:
        """Remember how a change that was made elsewhere is taken back."""
        self._undo.append((what, undo))
        del self._undo[:-_MOST_UNDONE]

    def undo(self) -> str:
        """Take the last change back; gives what it was, nothing where there is none."""
        if not self._undo:
            return ""
        what, undo = self._undo.pop()
        undo()
        return what

    def prove(self, goal: str) -> Result | WhatIf:
        """Prove a goal, with what is supposed."""
        if self._supposes:
            supposed = self._state.supposed
            found = self.session.what_if(
                goal,
                add=supposed.add,
                remove=supposed.remove,
                settings=dict(supposed.settings),
            )
            self.remember(found.after)
            return found
        result = self.session.prove(goal)
        self.remember(result)
        return result

    def query(self, goal: str) -> Answers | WhatIf:
        """Find all answers of a goal; where facts are supposed, the answers that differ."""
        if self._supposes:
            supposed = self._state.supposed
            return self.session.what_if(
                goal,
                add=supposed.add,
                remove=supposed.remove,
                settings=dict(supposed.settings),
                query=True,
            )
        return self.session.query(goal)

    def is_ground(self, goal: str) -> bool:
        """Tell whether a goal is one atom without variables."""
        with suppress(ConstatError):
            atom = parse_goal(goal, self.session.program.program)
            return all(isinstance(term, Constant) for term in atom.terms)
        return False

    def remember(self, result: Result, draft: str = "") -> None:
        """Keep a result for what is asked about it later; `draft` is what its goal rests on."""
        self.results.append(result)
        del self.results[:-_MOST_KEPT]
        self._drafts.pop(result.goal, None)
        if draft:
            self._drafts[result.goal] = draft

    def answered(self, found: Answered) -> None:
        """Keep the answer to a question: it can be confirmed, and facts it lacks be stated."""
        self.answer = found
        self.remember(found.result, "" if found.draft is None else found.draft.identity)

    @property
    def draft(self) -> str:
        """The draft that the last question made, if it is the last thing that was asked."""
        question = self.answer
        if not isinstance(question, Answered) or question.draft is None:
            return ""
        return question.draft.identity if self.last is question.result else ""

    def again(self) -> Result | None:
        """Try the goal of the last question again, if it is the last thing that was asked."""
        question = self.answer
        if not isinstance(question, Answered) or self.last is not question.result:
            return None
        result = self._again(question.goal)
        translation = question.result.translation
        if translation is not None:
            result = result.translated(translation)
        self.answered(replace(question, result=result))
        return result

    def _again(self, goal: str) -> Result:
        draft = self._drafts.get(goal)
        if draft:
            return self.base.prove_draft(draft)
        if self._supposes:
            found = self.prove(goal)
            self.results.pop()
            return found if isinstance(found, Result) else found.after
        return self.session.prove(goal)

    def confirm(self, by: str) -> Translation:
        """Keep that the last question was read as what it asks. Raises `ConstatError`."""
        if self.answer is None:
            message = "no question in words has been answered yet"
            raise ConstatError([Diagnostic("C0921", message, help="type a sentence first")])
        translation = self.base.confirm(self.answer, by=by)
        question = translation.question
        self.undone_by("a confirmation", lambda: self.base.confirmations.withdraw(question, by))
        if isinstance(self.answer, Explored):
            self.answer = replace(self.answer, translation=translation)
        else:
            before = self.answer.result
            result = before.translated(translation)
            self.answer = replace(self.answer, result=result)
            self.results = [result if one is before else one for one in self.results]
        return translation

    def converse(self, said: str, verdict: str) -> tuple[Diagnostic, ...]:
        """Have a typed goal in the conversation, for questions that a model will read.

        Gives a warning where that failed. Without a model nobody is told of it.
        """
        values = self.base.project.authoring.facts
        done = Done(PROVE, {"goal": said}, verdict_json(verdict, values=values))
        return self.keep(Exchange(said, (done,)))

    def keep(self, exchange: Exchange) -> tuple[Diagnostic, ...]:
        """Have an exchange in the conversation, if a model may be told of it."""
        project = self.base.project
        return (
            Conversation(project, self.conversation).keep(exchange) if project.models.named else ()
        )

    def unresolved(self) -> Lacking:
        """Give the goals that lack facts now, with those facts as goals.

        Each that lacked one is tried again: what was stated meanwhile counts. One that can be asked
        no longer lacks nothing. All of them share the time that one evaluation has in this project.
        """
        found, left_out = [], []
        until = time.monotonic() + self.base.project.limits.seconds
        for goal in dict.fromkeys(one.goal for one in self.results if one.missing):
            left = until - time.monotonic()
            if left <= 0:
                left_out.append(goal)
                continue
            with suppress(ConstatError), ExitStack() as stack:
                for one in {id(one): one for one in (self.base, self.session)}.values():
                    stack.enter_context(one.within(left))
                result = self._again(goal)
                if result.decision.outcome.stopped not in {"", "settled"}:
                    left_out.append(goal)
                elif result.missing:
                    found.append((goal, tuple(result.missing)))
        return Lacking(tuple(found), tuple(left_out))

    def close(self) -> None:
        """End what was opened; the project's own session is whoever opened it to close."""
        self._leave(None)
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _supposes(self) -> bool:
        supposed = self._state.supposed
        return bool(supposed.add or supposed.remove or supposed.settings)

    def _take(self, state: _State, what: str, other: Session | None) -> None:
        before = self._state
        self._state = state
        self._leave(other)

        def back() -> None:
            self._state = before
            self._leave(None)

        self.undone_by(what, back)

    def _leave(self, other: Session | None) -> None:
        old, self._other = self._other, other
        if old is not None and old is not other:
            old.close()

    def _joined(self, rules: tuple[str, ...]) -> Session:
        file = self._folder.path / TYPED
        file.write_text("".join(f"{one}\n\n" for one in rules), encoding="utf-8")
        texts: dict[str, str] = {}
        project = self.base.project
        changed = suppose_rules(self.base.program, [file], project.rule_roots, texts)
        joined = JoinedProgram(
            changed.program, changed.supposed, dropped=changed.dropped, texts=texts
        )
        return self.base.over(joined)


def refuse_fact(text: str) -> ConstatError:
    """Say what to do instead of typing a fact like a rule."""
    fact = text.strip().rstrip(".").strip()
    shown = fact if fact.isprintable() and len(fact) <= 200 else "FACT"  # noqa: PLR2004  a line
    return ConstatError(
        [
            Diagnostic(
                "C0921",
                "a fact is stated for good, or supposed for now",
                note="a rule without a body would do neither",
                help=f"/facts {shown}   or   /what-if add {shown}",
            )
        ]
    )
