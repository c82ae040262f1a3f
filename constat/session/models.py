"""The language models of a session: clients by task, what may be spent, what was."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.evaluation import ignore_event
from constat.frozen import frozen
from constat.model import ModelError, Task, answered_of, canonical, hash_of, since
from constat.model.anthropic_client import ADDRESS, AnthropicProvider
from constat.model.asking import AskingClient, Ledger, Spending, Surroundings
from constat.model.openai_client import OpenAIProvider
from constat.model.tapes import WRITTEN, Tape
from constat.project.loading import environment_of
from constat.project.settings import ANTHROPIC, RECORD, REPLAY
from constat.store.model_answers import ModelAnswerError, ModelAnswers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from decimal import Decimal

    from constat.evaluation import Observer
    from constat.model import Usage
    from constat.project import ModelSetting, Project
    from constat.project.settings import Budget, ModelsSetting

_UNSET: Final = "C0821"
_KEYLESS: Final = "C0822"
_MOST_WARNINGS: Final = 20


@frozen
class ListedModel:
    """A configured model for people: whether its key is set is told, the key never."""

    name: str
    provider: str
    model: str
    host: str
    key_variable: str
    key_set: bool
    tasks: tuple[str, ...]
    priced: bool


class Models:
    """The models of one project; may be used by several threads."""

    def __init__(
        self,
        project: Project,
        *,
        serve: bool = True,
        environment: Mapping[str, str] | None = None,
        observe: Observer = ignore_event,
    ) -> None:
        self._setting = project.models
        self._environment = environment_of(project.folder) if environment is None else environment
        self._lock = Lock()
        self._providers: dict[str, AnthropicProvider | OpenAIProvider] = {}
        self._troubles: dict[tuple[str, str], None] = {}
        self.ledger = Ledger(self._setting.question, self._setting.session)
        self.kept = ModelAnswers(project.state)
        tape = self._setting.tape
        self.tape = None if tape is None else Tape(tape.file)
        self._around = Surroundings(
            provider=self._provider,
            ledger=self.ledger,
            kept=self.kept,
            warn=self.warn,
            tape=self.tape,
            replaying=tape is not None and tape.mode == REPLAY,
            serve=serve,
            keep=self._setting.keep,
            observe=observe,
        )

    def client(self, task: Task, left: Callable[[], float] | None = None) -> AskingClient:
        """Give the client for a task; raises `ModelError` C0821 where no model is configured.

        `left` tells how many seconds whatever it is asked for may still take.
        """
        setting = self._setting.of(task.value)
        if setting is None:
            raise ModelError(
                _UNSET, f"the project has no model for `{task.value}`: `models:` names none"
            )
        return AskingClient(setting, self._around, left)

    def configured(self, task: Task) -> bool:
        """Whether there is a model for a task."""
        return self._setting.of(task.value) is not None

    def question(self) -> AbstractContextManager[Spending]:
        """Let what is asked meanwhile share the budget of one question; the outermost counts."""
        return self.ledger.question()

    @property
    def notes_down(self) -> bool:
        """Whether what was told about a fact is noted; with a tape only the tape counts."""
        return self._setting.keep != 0 and self.tape is None

    @property
    def remembers(self) -> bool:
        """Whether what was noted in other programs counts."""
        return self._around.serve and self.notes_down

    @property
    def usage(self) -> Usage:
        """What the session has used so far."""
        return self.ledger.usage

    @property
    def note(self) -> str:
        """Whose replies were replayed, in words; empty where none was."""
        if not self.ledger.replayed:
            return ""
        if self.tape is None or self._setting.tape is None:
            return "served from kept replies: no model was asked again"
        if self.tape.answers == WRITTEN:
            return "replaying written answers: no model was asked"
        models = ", ".join(self.tape.models)
        missed = self._setting.tape.mode == RECORD and self.usage.calls
        asked = "the others were recorded" if missed else "no model was asked"
        return f"replaying recorded answers of {models}: {asked}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about them after an answer: whose replies, how many tokens, at which cost."""
        if not self.usage.calls:
            return tuple(filter(None, (self.note,)))
        shares = self.ledger.shares
        lines = [f"models: {self._spent(self.usage)}"]
        if len(shares) > 1:
            lines += [f"  {task} by {m}: {self._spent(u)}" for (task, m), u in shares.items()]
        return tuple(filter(None, (self.note, *lines)))

    def _spent(self, used: Usage) -> str:
        noun = "call" if used.calls == 1 else "calls"
        cost = f", {used.cost:f} {self._setting.currency}" if used.cost else ""
        read = used.read + used.cached + used.stored
        return f"{used.calls} {noun}, {read:,} tokens read, {used.written:,} written{cost}"

    @property
    def usage_json(self) -> dict[str, object]:
        """The usage of this session, and whose replies were replayed, for programs."""
        used = self.usage
        return {
            "calls": used.calls,
            "replayed": self.ledger.replayed,
            "read": used.read,
            "cached": used.cached,
            "stored": used.stored,
            "written": used.written,
            "cost": f"{used.cost:f}",
            "currency": self._setting.currency,
            "note": self.note,
        }

    def served(self, replies: int) -> None:
        """Count replies of other programs that told about a fact."""
        for _ in range(replies):
            self.ledger.replay()

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What went wrong and changed no answer, such as a full disk."""
        return tuple(
            Diagnostic(code, reason, severity=Severity.WARNING) for code, reason in self._troubles
        )

    @property
    def listed(self) -> tuple[ListedModel, ...]:
        """The configured models; nothing is asked."""
        return tuple(self._listed(one) for one in self._setting.named.values())

    def close(self) -> None:
        """Close connections and files; they are opened anew where they are needed."""
        with self._lock:
            providers, self._providers = list(self._providers.values()), {}
        for provider in providers:
            provider.close()
        self.kept.close()

    def _provider(self, setting: ModelSetting) -> AnthropicProvider | OpenAIProvider:
        with self._lock:
            found = self._providers.get(setting.name)
            if found is None:
                kind = AnthropicProvider if setting.provider == ANTHROPIC else OpenAIProvider
                found = kind(_address(setting), self._key(setting))
                self._providers[setting.name] = found
            return found

    def _key(self, setting: ModelSetting) -> str:
        key = self._environment.get(setting.key, "") if setting.key else ""
        if setting.key and not key:
            raise ModelError(
                _KEYLESS,
                f"model `{setting.name}` needs the environment variable {setting.key}, "
                "which is not set",
            )
        if not key.isascii() or not key.isprintable() or key != key.strip():
            raise ModelError(_KEYLESS, f"{setting.key} holds characters that no key has")
        return key

    def _listed(self, setting: ModelSetting) -> ListedModel:
        tasks = [one.value for one in Task if self._setting.of(one.value) == setting]
        return ListedModel(
            name=setting.name,
            provider=setting.provider,
            model=setting.model,
            host=_host(setting),
            key_variable=setting.key,
            key_set=bool(setting.key and self._environment.get(setting.key)),
            tasks=tuple(tasks),
            priced=setting.prices is not None,
        )

    def warn(self, code: str, reason: str) -> None:
        """Note what went wrong and changed no answer."""
        if len(self._troubles) < _MOST_WARNINGS:
            self._troubles[code, reason] = None


def _address(setting: ModelSetting) -> str:
    if setting.address is None:
        return ADDRESS
    if setting.address.text is None:
        names = ", ".join(setting.address.missing)
        message = f"model `{setting.name}` needs the environment variable {names}, which is not set"
        raise ModelError(_KEYLESS, message)
    return setting.address.text


def _host(setting: ModelSetting) -> str:
    """The host that is asked; a path may hold what is nobody's business."""
    address = ADDRESS if setting.address is None else setting.address.text or ""
    return address.partition("://")[2].partition("/")[0]


# Nothing is asked, and no key is read but to tell whether there is one.

_SHORTEST: Final = 8
_DIGITS: Final = frozenset("0123456789abcdef")


@frozen
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


@frozen
class ModelOverview:
    """The models, the budgets in words, the tape, what was used."""

    models: tuple[ListedModel, ...]
    question: tuple[str, ...]
    session: tuple[str, ...]
    used: tuple[UsedSoFar, ...]
    tape: str = ""
    tape_mode: str = ""
    tape_answers: str = ""


@frozen
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
