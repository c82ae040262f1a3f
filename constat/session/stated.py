"""The facts that people state, also in words that a model reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from constat.authoring.telling import NotSaid, Pointed, Said, examine, pointed, prompt_for
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import format_value
from constat.model import ModelError, Task, Usage
from constat.session.spelling import shown_row
from constat.store import facts as telling
from constat.store.drafts import unprintable
from constat.syntax import parse_fact
from constat.tiers import Chain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Observer
    from constat.model import Reply
    from constat.session.models import Models
    from constat.session.result import Result
    from constat.store import FactStore, StoredFact
    from constat.store.facts import Told as Words
    from constat.tiers import Tiers

_LONGEST_NAME: Final = 200


class Listening(Protocol):
    """A session, as far as telling needs one."""

    facts: StatedFacts

    @property
    def program(self) -> AnalysedProgram:
        """The rules."""
        ...

    @property
    def models(self) -> Models:
        """The models."""
        ...

    def prove(self, goal: str, *, observe: Observer | None = None) -> Result:
        """Prove or disprove a goal."""
        ...


@dataclass(frozen=True)
class Told:
    """What a text says: `said` can be kept, `refused` cannot; `model` found them, if one did.

    `usage` is what finding them has used.
    """

    text: str
    author: str
    goal: str
    said: tuple[Said, ...]
    refused: tuple[NotSaid, ...]
    model: str = ""
    prompt: str = ""
    response: str = ""
    usage: Usage = field(default_factory=Usage)
    session: Listening | None = field(default=None, repr=False, compare=False)

    def keep(self, note: str = "") -> tuple[StoredFact, ...]:
        """Keep the facts that the text says, as stated by its author."""
        return tuple(
            self._session.facts.add(
                one.fact,
                author=self.author,
                note=note,
                told=telling.Told(
                    self.text, one.start, one.end, self.model, self.prompt, self.response
                ),
            )
            for one in self.said
        )

    def retry(self, observe: Observer | None = None) -> Result:
        """Prove the goal again, which lacked these facts."""
        return self._session.prove(self.goal, observe=observe)

    @property
    def _session(self) -> Listening:
        if self.session is None:
            raise TypeError("what was told belongs to no session")
        return self.session


def tell(
    session: Listening, text: str, *, author: str, goal: str = "", atoms: Sequence[str] = ()
) -> Told:
    """Read what a text says. With `atoms` they are looked for in it, and no model is asked.

    `goal` is what the facts are for: a model is told which ones it lacks. Raises `ConstatError`.
    """
    telling.check_told_text(text)
    if not author.strip() or len(author) > _LONGEST_NAME or unprintable(author):
        message = "a fact needs the name of the person who tells it"
        raise ConstatError([Diagnostic("C0551", message, help="add `--by NAME`")])
    program = session.program
    if atoms:
        said, refused = examine(program, text, [Pointed(one) for one in atoms])
        return Told(text, author, goal, said, refused, session=session)
    reply = _asked(session, text, goal)
    claims, unread = pointed(reply, program)
    said, refused = examine(program, text, claims)
    return Told(
        text,
        author,
        goal,
        said,
        (*unread, *refused),
        reply.model,
        reply.prompt_hash,
        reply.response_hash,
        reply.usage,
        session,
    )


def _asked(session: Listening, text: str, goal: str) -> Reply:
    wanted = _lacking(session, goal) if goal else ()
    prompt = prompt_for(session.program, text, wanted)
    try:
        return session.models.client(Task.EXTRACT).ask(prompt)
    except ModelError as problem:
        hint = 'name the facts oneself: `--as "march_size(1000000)"`'
        raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None


def _lacking(session: Listening, goal: str) -> tuple[str, ...]:
    """Name the predicates whose facts a goal lacks now."""
    result = session.prove(goal)
    return tuple(dict.fromkeys(name for name, _ in result.decision.missing))


# A fact is typed by its declaration before it is kept; what rules derive cannot be stated.


class StatedFacts:
    """The facts of one project."""

    def __init__(
        self,
        program: Callable[[], AnalysedProgram],
        store: Callable[[], FactStore],
        evaluating: Callable[[Observer | None], AbstractContextManager[Tiers]],
    ) -> None:
        self._program = program
        self._store = store
        self._evaluating = evaluating

    def add(
        self, fact: str, *, author: str, note: str = "", told: Words | None = None
    ) -> StoredFact:
        """Keep a fact; it is used from the next evaluation on. `told` are the words that say it."""
        predicate, row = self._read(fact)
        return self._store().add(predicate, row, author, note, told)

    def conflicts(self, fact: str) -> tuple[str, ...]:
        """Say who says another value for the key of a fact, sources and people, and what counts."""
        predicate, row = parse_fact(fact, self._program().program)
        with self._evaluating(None) as tiers:
            chain = tiers.externals.get(predicate)
            met = chain.conflicts_of(row) if isinstance(chain, Chain) else ()
        return tuple(one.text for one in met)

    def list(
        self, predicate: str | None = None, *, history: bool = False
    ) -> tuple[StoredFact, ...]:
        """Give the facts that stand; with `history` also those that were taken back."""
        return self._store().list(predicate, history=history)

    def retract(self, fact: str, *, by: str, author: str | None = None) -> tuple[StoredFact, ...]:
        """Take a fact back, whoever stated it or as stated by `author`; the record stays."""
        predicate, row = self._read(fact)
        retracted = self._store().retract(predicate, row, by, author)
        if not retracted:
            raise ConstatError(
                [
                    Diagnostic(
                        "C0406",
                        "nobody has stated this fact",
                        note="only facts that stand can be taken back",
                        help="`constat facts list` shows them",
                    )
                ]
            )
        return retracted

    def show(self, fact: StoredFact) -> str:
        """Write a stated fact as it can be typed."""
        predicate = self._program().program.predicates.get(fact.predicate)
        return shown_row(predicate, fact.predicate, fact.row)

    def _read(self, fact: str) -> tuple[str, tuple[str, ...]]:
        analysed = self._program()
        predicate, row = parse_fact(fact, analysed.program)
        if predicate not in analysed.external:
            message = f"`{predicate}` is derived by rules and cannot be stated"
            raise ConstatError([Diagnostic("C0407", message, help=_instead(analysed, predicate))])
        kinds = analysed.program.predicates[predicate].kinds
        texts = (format_value(value, kind) for value, kind in zip(row, kinds, strict=True))
        return predicate, tuple(texts)


def _instead(analysed: AnalysedProgram, predicate: str) -> str:
    """Name what the predicate's rules rest on directly."""
    names = {
        atom.predicate: None
        for rule in analysed.program.rules_for(predicate)
        for literal in rule.body
        if (atom := getattr(literal, "atom", None)) and atom.predicate in analysed.external
    }
    listed = ", ".join(f"`{name}`" for name in names)
    return f"state a fact of {listed}" if listed else "state a fact that its rules rest on"
