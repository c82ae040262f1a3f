"""What a project's models are, what they have used, and the replies that were paid for.

In: the models of a session. Out: values for people and programs. Raises `ConstatError` where the
file of replies or the tape cannot be read. Invariant: nothing is asked, and no key is read but to
tell whether there is one. Example: `session.model_listing.overview().models`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.model import ModelError, answered_of, canonical, hash_of, since
from constat.store.model_answers import ModelAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from constat.project.models import Budget, ModelsSetting
    from constat.session.models import ListedModel, Models

_SHORTEST: Final = 8
_DIGITS: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class UsedSoFar:
    """What one task has used at one model, in all programs."""

    task: str
    model: str
    calls: int
    read: int
    cached: int
    stored: int
    written: int
    cost: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class ModelOverview:
    """The models, the budgets in words, the tape, what was used."""

    models: tuple[ListedModel, ...]
    question: tuple[str, ...]
    session: tuple[str, ...]
    used: tuple[UsedSoFar, ...]
    tape: str = ""
    tape_mode: str = ""
    tape_answers: str = ""


@dataclass(frozen=True, slots=True)
class ShownReply:
    """A prompt and its reply, both as the JSON that hashes are taken of. A tape tells no task."""

    prompt: str
    response: str
    task: str
    model: str
    at: str
    usable: bool
    request: str = field(repr=False)
    reply: str = field(repr=False)


class ModelListing:
    """Looks at the models of a session."""

    def __init__(self, models: Models, setting: ModelsSetting) -> None:
        self._models = models
        self._setting = setting

    def overview(self) -> ModelOverview:
        """Give everything at a glance."""
        tape, setting = self._models.tape, self._setting.tape
        with _readable():
            currency = self._setting.currency
            used = tuple(
                UsedSoFar(
                    one.task,
                    one.model,
                    one.calls,
                    one.read,
                    one.cached,
                    one.stored,
                    one.written,
                    one.cost,
                    currency,
                )
                for one in self._models.kept.spent()
            )
            return ModelOverview(
                self._models.listed,
                _bounds(self._setting.question, currency),
                _bounds(self._setting.session, currency),
                used,
                "" if tape is None else tape.path.name,
                "" if setting is None else setting.mode,
                "" if tape is None else tape.answers,
            )

    def reply(self, prompt: str) -> ShownReply:
        """Give a reply that is kept or on the tape, by eight digits or more of its prompt."""
        digits = prompt.removeprefix("sha256:").lower()
        if len(digits) < _SHORTEST or not set(digits) <= _DIGITS:
            raise _unfound(0)
        with _readable():
            found = {one.prompt: one for one in (*self._taped(digits), *self._kept(digits))}
        if len(found) != 1:
            raise _unfound(len(found))
        (one,) = found.values()
        return one

    def _kept(self, digits: str) -> Iterator[ShownReply]:
        for one in self._models.kept.of_prompt(digits):
            response = hash_of(answered_of(one.response).form)
            about = (one.prompt, response, one.task, one.model, one.at, one.usable)
            yield ShownReply(*about, request=one.request, reply=one.response)

    def _taped(self, digits: str) -> Iterator[ShownReply]:
        """Give what is on the tape, which does not tell the task."""
        for one in () if self._models.tape is None else self._models.tape.entries:
            if one.prompt.startswith(f"sha256:{digits}"):
                form = one.answered.form
                about = (one.prompt, hash_of(form), "", one.answered.model, one.at, True)
                yield ShownReply(*about, request=canonical(one.request), reply=form)

    def clear(self, older_than: int) -> int:
        """Remove replies that are older than so many seconds; gives how many."""
        with _readable():
            return self._models.kept.clear(since(older_than))


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except ModelAnswerError as problem:
        message = f"kept replies cannot be read: {problem}"
        raise ConstatError([Diagnostic("C0830", message)]) from None
    except ModelError as problem:
        raise ConstatError([Diagnostic(problem.code, str(problem))]) from None
    except ValueError as problem:
        raise ConstatError([Diagnostic("C0830", f"a kept reply {problem}")]) from None


def _unfound(count: int) -> ConstatError:
    message = "no kept prompt has this hash" if not count else "several prompts begin so"
    note = f"{_SHORTEST} hexadecimal digits or more, of a prompt that this project has asked"
    return ConstatError([Diagnostic("C0834", message, note=note, help="give more of the hash")])


def _bounds(budget: Budget, currency: str) -> tuple[str, ...]:
    found = []
    if budget.tokens is not None:
        found.append(f"{budget.tokens:,} tokens")
    if budget.money is not None:
        found.append(f"{budget.money:f} {currency}")
    if budget.seconds is not None:
        found.append(f"{budget.seconds:g} seconds")
    return tuple(found)
