"""Spans of OpenTelemetry: how long a question took, and what within it.

In: the verbs of a session, the events that it hears, requests of a server. Out: spans, where the
program has set up OpenTelemetry's SDK. Invariants: without that nothing is imported and nothing
made; an attribute names predicates, tiers, sources, models and numbers, and never a goal, a value
of a row, a query or what an exception says.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast

from constat.evaluation import (
    CallFinished,
    CallStarted,
    ModelReplied,
    QueryRun,
    StageFinished,
    TierAsked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from constat.evaluation import Event

_SDK: Final = "opentelemetry.sdk.trace"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NANOSECONDS: Final = 1_000_000_000

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


_Self = TypeVar("_Self")


def tracer() -> Any:  # noqa: ANN401  of a library that may be absent
    """Give what makes spans; nothing where the program has set up nothing that keeps them."""
    if _SDK not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415  heavy library, loaded on first use

    return trace.get_tracer("constat")


def set_up() -> bool:
    """Send spans to the collector that the environment names; false where it names none.

    Raises `ImportError` where the extra `telemetry` is lacking.
    """
    wished = any(os.environ.get(one) for one in _ENDPOINTS)
    if not wished or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    from opentelemetry import trace  # noqa: PLC0415  heavy library, loaded on first use
    from opentelemetry.exporter.otlp.proto.http import trace_exporter  # noqa: PLC0415  heavy library, loaded on first use
    from opentelemetry.sdk import resources  # noqa: PLC0415  heavy library, loaded on first use
    from opentelemetry.sdk import trace as sdk  # noqa: PLC0415  heavy library, loaded on first use
    from opentelemetry.sdk.trace import export  # noqa: PLC0415  heavy library, loaded on first use

    named = os.environ.get("OTEL_SERVICE_NAME") or "constat"
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": named}))
    exporter = trace_exporter.OTLPSpanExporter()
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return True


def flush() -> None:
    """Send what is not yet sent, before a process ends by itself."""
    if tracer() is not None:
        from opentelemetry import trace  # noqa: PLC0415  heavy library, loaded on first use

        send = getattr(trace.get_tracer_provider(), "force_flush", None)
        if send is not None:
            send()


@contextmanager
def span(
    made_by: Any,  # noqa: ANN401  a tracer
    name: str,
    attributes: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """Make a span around a block, with `headers` as one of a server, beneath its caller's."""
    from opentelemetry import propagate, trace  # noqa: PLC0415  heavy library, loaded on first use

    told: dict[str, Any] = {"attributes": attributes}
    if headers is not None:
        told |= {"kind": trace.SpanKind.SERVER, "context": propagate.extract(headers)}
    # What an exception says may hold values: its kind is told alone.
    told |= {"record_exception": False, "set_status_on_exception": False}
    with made_by.start_as_current_span(name, **told) as made:
        try:
            yield made
        except BaseException as problem:
            fail(made, type(problem).__name__)
            raise


def fail(made: Any, kind: str) -> None:  # noqa: ANN401  a span
    """Say that what a span is of has failed."""
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415  heavy library, loaded on first use

    made.set_attribute("error.type", kind)
    made.set_status(Status(StatusCode.ERROR))


class EventSpans:
    """Makes spans of the events of one question, beneath the span that is around it now."""

    def __init__(self, made_by: Any) -> None:  # noqa: ANN401  a tracer
        from opentelemetry import context  # noqa: PLC0415  heavy library, loaded on first use

        self._made_by = made_by
        self._around = context.get_current()
        self._fetches: dict[str, tuple[Any, Any]] = {}

    def hear(self, event: Event) -> None:
        """Make the span that an event is of."""
        match event:
            case CallStarted(predicate=name, keys=keys):
                self._begin(name, keys)
            case CallFinished(predicate=name, rows=rows, openings=openings):
                made, _ = self._fetches.pop(name, (None, None))
                if made is not None:
                    made.set_attributes({"constat.rows": rows, "constat.open_rows": openings})
                    made.end()
            case TierAsked(tier=tier, predicate=name, outcome=outcome) if outcome != "skipped":
                told = {"constat.tier": tier, "constat.predicate": name}
                told |= {"constat.keys": str(event.keys), "constat.outcome": outcome}
                self._ended(f"tier {tier}", event.seconds, told, name)
            case QueryRun(source=source, rows=rows, seconds=seconds):
                told = {"constat.source": source}
                self._ended(f"read {source}", seconds, told, rows=rows)
            case ModelReplied(model=model, task=task, seconds=seconds, failed=failed):
                told = {"gen_ai.request.model": model, "constat.task": task}
                self._ended(f"model {model}", seconds, told, failed=failed)
            case StageFinished(predicates=names, strategy=how, rows=rows, seconds=seconds):
                told = {"constat.predicates": ", ".join(names), "constat.strategy": how}
                self._ended("stage", seconds, told, rows=rows)
            case _:
                pass

    def close(self) -> None:
        """End what has begun and did not end."""
        for made, _ in self._fetches.values():
            fail(made, "stopped")
            made.end()
        self._fetches.clear()

    def _begin(self, name: str, keys: int) -> None:
        from opentelemetry import trace  # noqa: PLC0415  heavy library, loaded on first use

        told = {"constat.predicate": name, "constat.keys": keys}
        made = self._made_by.start_span(f"fetch {name}", context=self._around, attributes=told)
        self._fetches[name] = made, trace.set_span_in_context(made, self._around)

    def _ended(
        self,
        name: str,
        seconds: float,
        told: dict[str, str],
        predicate: str = "",
        *,
        rows: int = 0,
        failed: bool = False,
    ) -> None:
        """Make a span of what is over."""
        now = time.time_ns()
        _, around = self._fetches.get(predicate, (None, self._around))
        if not predicate and len(self._fetches) == 1:
            ((_, around),) = self._fetches.values()
        began = now - int(seconds * _NANOSECONDS)
        made = self._made_by.start_span(name, context=around, start_time=began, attributes=told)
        if rows:
            made.set_attribute("constat.rows", rows)
        if failed:
            fail(made, "failed")
        made.end(now)


def traced(
    verb: Callable[Concatenate[_Self, _Given], _Found],
) -> Callable[Concatenate[_Self, _Given], _Found]:
    """Make a span around each call of a session's verb, with what it hears beneath."""

    @wraps(verb)
    def called(session: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Found:
        made_by = tracer()
        if made_by is None:
            return verb(session, *given, **named)
        with span(made_by, verb.__name__, {}) as made:
            spans = EventSpans(made_by)
            try:
                with cast("Any", session).hearing(spans):
                    found = verb(session, *given, **named)
            finally:
                spans.close()
            made.set_attributes(_described(found))
            return found

    return called


def _described(found: object) -> dict[str, Any]:
    """Say of an answer what holds no value: its verdict, or how settled and how many it is."""
    told: dict[str, Any] = {}
    for name in ("verdict", "settled"):
        value = getattr(getattr(found, name, None), "value", None)
        if isinstance(value, str):
            told[f"constat.{name}"] = value
    if "constat.settled" in told:
        told["constat.rows"] = len(found)  # type: ignore[arg-type]  # answers have a length
    return told
