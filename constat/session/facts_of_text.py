"""Facts out of a text: a model names them; none is kept whose words the text does not hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from constat.authoring.telling import NotSaid, Pointed, Said, examine, pointed, prompt_for
from constat.diagnostics import ConstatError, Diagnostic
from constat.model import ModelError, Task, Usage
from constat.store import facts as telling
from constat.store.state_file import unprintable
from constat.syntax.mistakes.goals import fact_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Observer
    from constat.model import Reply
    from constat.session.models import Models
    from constat.session.result import Result
    from constat.session.stated import StatedFacts
    from constat.store import StoredFact

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
class FactsOfText:
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
    source: str = ""
    """Which document the text is of, with its hash; empty for none."""

    def keep(self, note: str = "") -> tuple[StoredFact, ...]:
        """Keep the facts that the text says, as stated by its author."""
        note = "; ".join(filter(None, (self.source, note)))
        return tuple(
            self._session.facts.add(
                one.fact,
                author=self.author,
                note=note,
                told=telling.Wording(
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
) -> FactsOfText:
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
        return FactsOfText(text, author, goal, said, refused, session=session)
    reply = _asked(session, text, goal)
    claims, unread = pointed(reply, program)
    said, refused = examine(program, text, claims)
    return FactsOfText(
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
        predicates = session.program.program.predicates
        stated = next((predicates[one] for one in sorted(session.program.external)), None)
        fact = "FACT" if stated is None else fact_example(stated)
        hint = f"name the facts oneself: `--as '{fact}'`"
        raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None


def _lacking(session: Listening, goal: str) -> tuple[str, ...]:
    """Name the predicates whose facts a goal lacks now."""
    result = session.prove(goal)
    return tuple(dict.fromkeys(name for name, _ in result.decision.missing))
