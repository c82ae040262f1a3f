"""The tier of language models: what one knows or estimates, never more than an assumption.

In: a demand for a predicate whose `.input` lets a model be asked. Out: typed rows, each with the
model's bounded confidence and the hashes of prompt and reply. Invariants (semantics 5, 6, 13, 18):
a model is never an authority, so that no key is ever complete here; many keys go in one call; what
was told about a key is not asked again, in this program or the next; a refusal is unknown. Example:
two companies of `industry` are one call, and the certificate names the model for each row.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from constat.evaluation import Agent, Attestation, Demand, Evidence, Portion
from constat.logic import display_value
from constat.logic.structure_forms import column_form
from constat.model import ModelError, answered_of, arguments_of, canonical, hash_of, since
from constat.store.model_answers import ModelAnswerError
from constat.tiers.cache_age import age_allowed
from constat.tiers.hashing import content_hash
from constat.tiers.matching import rows_for
from constat.tiers.model_declared import MODEL, asked_as, asks_model, given_columns, origin_of
from constat.tiers.model_prompt import VERSION, about, facts_prompt, key_text, tell_tool
from constat.tiers.model_telling import Telling, tellings
from constat.tiers.tier import TierAnswer, failed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from decimal import Decimal

    from constat.logic import Predicate, Row, Value
    from constat.model import Prompt, Reply, Task
    from constat.project import ModelSetting, Project
    from constat.store.model_answers import ModelAnswers, Told

# After these nothing else will be answered either: the other keys are not tried.
_HOPELESS: Final = frozenset({"C0821", "C0822", "C0823", "C0824", "C0825", "C0828", "C0829"})


_KEPT_BACK: Final = (
    "the key is a value of data, and is not sent to a model without `authoring: {facts: true}`, or "
    "`samples` of all databases [C0842]"
)


class TimedClient(Protocol):
    """A client whose call ends in time."""

    def ask(
        self, prompt: Prompt, *, seconds: float | None = None, max_age: int | None = None
    ) -> Reply:
        """Ask, or serve a reply of at most that age; raises `ModelError`."""


class ModelAccess(Protocol):
    """What the session hands down: its models, and what they told before."""

    @property
    def kept(self) -> ModelAnswers:
        """The replies that were paid for."""

    @property
    def notes_down(self) -> bool:
        """Whether what was told about a key is noted for other programs."""

    @property
    def remembers(self) -> bool:
        """Whether what was noted in other programs counts."""

    def client(self, task: Task) -> TimedClient:
        """Give the client for a task; raises `ModelError`."""

    def question(self) -> AbstractContextManager[object]:
        """Let what is asked meanwhile be one question."""

    def served(self, replies: int) -> None:
        """Count replies of other programs that told about a fact."""

    def warn(self, code: str, reason: str) -> None:
        """Note what went wrong and changed no answer."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What a reply told about a key, and whose word it is."""

    telling: Telling
    model: str
    prompt: str
    response: str
    at: str


class ModelTier:
    """Asks models; implements `Tier`. Used by one thread at a time."""

    name = MODEL
    cost = 1000

    def __init__(
        self, project: Project, models: ModelAccess, said: Collection[Value] = frozenset()
    ) -> None:
        """`said` are values that stand in goals and rules, and need not come from a row."""
        self._project = project
        self._models = models
        self._said = said
        sampled = bool(project.databases) and project.catalog.shows_all(project.databases)
        self._tells_all = project.authoring.facts or (sampled and not project.facts)
        self._known: dict[tuple[str, str], _Known] = {}
        self._until: float | None = None
        self._question = ExitStack()

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate's `.input` lets a model be asked."""
        return asks_model(predicate, self._project)

    def start(self, seconds: float) -> None:
        """Begin an evaluation: what it asks is one question, and ends in time."""
        self.release()
        self._until = time.monotonic() + seconds
        self._question.enter_context(self._models.question())

    def release(self) -> None:
        """End the evaluation."""
        self._until = None
        self._question.close()

    def forget(self) -> None:
        """Drop what is remembered; what is kept on the disk stays."""
        self._known.clear()

    def answer(self, demand: Demand) -> TierAnswer:
        """Tell what a model knows about the keys."""
        predicate = demand.predicate
        given = given_columns(predicate)
        if not set(given) <= set(demand.columns):
            names = ", ".join(predicate.columns[place].name for place in given)
            return failed(demand, f"a model is asked about {predicate.name} by {names}")
        places = [demand.columns.index(column) for column in given]
        asked = {key: tuple(key[place] for place in places) for key in demand.keys}
        wanted = sorted(set(asked.values()), key=lambda key: key_text(predicate, key))
        problems = self._learn(predicate, wanted)
        scope = self._scope(predicate)
        portions = []
        failures: dict[Row, str] = {}
        remarks: dict[Row, str] = {}
        for key, model_key in asked.items():
            if model_key in problems:
                failures[key] = problems[model_key]
                continue
            known = self._known[scope, key_text(predicate, model_key)]
            rows = rows_for(known.telling.rows, demand.columns, (key,))
            if rows:
                portions.append(_portion(predicate, model_key, known, rows))
            if known.telling.rows:
                remarks[key] = f"model {known.model} tells of some rows, which need not be all"
            elif known.telling.unknown:
                remarks[key] = f"model {known.model}: {known.telling.reason}"
            elif known.telling.reason:
                failures[key] = f"model {known.model}: {known.telling.reason} [C0833]"
        return TierAnswer(tuple(portions), failures=failures, remarks=remarks)

    def _learn(self, predicate: Predicate, keys: Sequence[Row]) -> dict[Row, str]:
        """See to it that every key is known; give why one is not."""
        scope = self._scope(predicate)
        texts = {key: key_text(predicate, key) for key in keys}
        missing = [key for key in keys if (scope, texts[key]) not in self._known]
        if missing and self._models.remembers:
            self._recall(predicate, scope, {texts[key]: key for key in missing})
            missing = [key for key in missing if (scope, texts[key]) not in self._known]
        # A key that comes from a row is a value of data, which needs leave to go to a provider.
        problems = {key: _KEPT_BACK for key in missing if not self._may_tell(key)}
        missing = [key for key in missing if key not in problems]
        size = self._project.models.batch
        for start in range(0, len(missing), size):
            batch = missing[start : start + size]
            try:
                self._ask(predicate, scope, batch)
            except ModelError as problem:
                hopeless = problem.code in _HOPELESS
                reason = f"{problem} [{problem.code}]"
                untold = missing[start:] if hopeless else batch
                problems.update(
                    (key, reason) for key in untold if (scope, texts[key]) not in self._known
                )
                if hopeless:
                    break
        return problems

    def _may_tell(self, key: Row) -> bool:
        return self._tells_all or all(value in self._said for value in key)

    def _ask(self, predicate: Predicate, scope: str, keys: Sequence[Row]) -> None:
        prompt = facts_prompt(predicate, keys)
        left = None if self._until is None else max(self._until - time.monotonic(), 0.0)
        client = self._models.client(prompt.task)
        reply = client.ask(prompt, seconds=left, max_age=self._keep(predicate))
        if reply.stop == "length" and len(keys) > 1:
            # There was more to tell than fitted: half as many keys leave twice the room for each.
            half = len(keys) // 2
            self._ask(predicate, scope, keys[:half])
            self._ask(predicate, scope, keys[half:])
            return
        if reply.stop in {"refusal", "length"} or not reply.calls:
            said = "refuses to answer" if reply.stop == "refusal" else "did not come to an answer"
            raise ModelError("C0833", f"model {reply.model} {said}")
        numbered = dict(enumerate(keys))
        told = tellings(reply.calls[0].arguments, predicate, numbered, self._policy)
        for number, key in numbered.items():
            known = _Known(
                told[number], reply.model, reply.prompt_hash, reply.response_hash, reply.at
            )
            self._known[scope, key_text(predicate, key)] = known
        if self._models.notes_down:
            places = {key_text(predicate, key): place for place, key in enumerate(keys)}
            try:
                self._models.kept.tell(scope, reply.prompt_hash, places)
            except ModelAnswerError as problem:
                self._models.warn("C0830", f"what a model told could not be noted: {problem}")

    def _recall(self, predicate: Predicate, scope: str, keys: Mapping[str, Row]) -> None:
        """Read what was told in other programs: the replies themselves are read again."""
        try:
            found = self._models.kept.told(scope, list(keys), since(self._keep(predicate)))
        except ModelAnswerError as problem:
            self._models.warn("C0830", f"what models told before cannot be read: {problem}")
            return
        self._models.served(len({one.reply.id for one in found}))
        for one in found:
            try:
                known = self._read(predicate, keys[one.key], one)
            except ValueError:
                # A note that cannot be read is none: the key is asked again.
                continue
            self._known[scope, one.key] = known

    def _read(self, predicate: Predicate, key: Row, told: Told) -> _Known:
        """Read again what a kept reply told about a key; raises `ValueError`."""
        answered = answered_of(told.reply.response)
        (call,) = answered.calls
        arguments = arguments_of(call.arguments, tell_tool(predicate))
        found = tellings(arguments, predicate, {told.place: key}, self._policy)
        response = hash_of(answered.form)
        return _Known(found[told.place], answered.model, told.reply.prompt, response, told.reply.at)

    def _scope(self, predicate: Predicate) -> str:
        """Name the question that is asked about keys: what else an answer depends on."""
        setting = self._setting(predicate)
        asked = [
            VERSION,
            predicate.name,
            [[column.name, column_form(column)] for column in predicate.columns],
            list(given_columns(predicate)),
            asked_as(predicate),
            about(predicate),
            [] if setting is None else [setting.name, setting.model, setting.effort],
        ]
        return hash_of(canonical(asked))

    def _setting(self, predicate: Predicate) -> ModelSetting | None:
        # Both modes are names of tasks.
        return self._project.models.of(asked_as(predicate))

    def _keep(self, predicate: Predicate) -> int | None:
        return age_allowed(predicate) or self._project.models.keep

    @property
    def _policy(self) -> tuple[Decimal, Decimal]:
        return self._project.models.confidence


def _portion(predicate: Predicate, key: Row, known: _Known, rows: tuple[Row, ...]) -> Portion:
    """Give rows with whose word they are. The evidence is that of the key, whatever was asked."""
    given = given_columns(predicate)
    kinds = [predicate.kinds[place] for place in given]
    told = known.telling.rows
    evidence = Evidence(
        tier=MODEL,
        origin=origin_of(predicate),
        source=known.model,
        executed_at=known.at,
        query=f"{asked_as(predicate)} about {predicate.name}",
        parameters=tuple(map(display_value, key, kinds)),
        row_count=len(told),
        content_hash=content_hash(told, predicate.kinds),
        confidence=known.telling.confidence,
        attestation=Attestation(
            Agent("model", known.model, version=known.model),
            known.prompt,
            known.response,
            note=known.telling.why or None,
        ),
    )
    return Portion(rows, evidence)
