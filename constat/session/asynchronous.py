"""A session for programs that run an event loop.

In: the arguments of `Session`. Out: its verbs as coroutines. Invariants: one thread of its own does
the work, a question at a time, so that the loop goes on meanwhile; who cancels a waiting task ends
the work too, its queries at the sources first. Example:
`async with AsyncSession("examples/vip") as session: await session.prove("is_vip(C001)")`.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Self, TypeVar

from constat.diagnostics.interruption import StoppedError
from constat.evaluation.processor import OPEN_HERE
from constat.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from constat.check import Report
    from constat.project import Project
    from constat.project.settings import Sight
    from constat.session.answers import Answers
    from constat.session.asked_goals import Goal
    from constat.session.handed import Rules
    from constat.session.hypotheses import MissingFacts, WhatIf, WhyNotResult
    from constat.session.result import Answered, Result

Found = TypeVar("Found")


class AsyncSession:
    """The questions of a `Session` as coroutines; `run` reaches everything else that it has."""

    def __init__(
        self,
        project: Project | Path | str | None = None,
        *,
        rules: Rules | None = None,
        facts: Mapping[str, object] | None = None,
        cache: bool = True,
        locale: str | None = None,
        sight: Sight | None = None,
    ) -> None:
        told: Any = {"cache": cache, "locale": locale, "sight": sight}
        self._session = Session(project, rules=rules, facts=facts, **told)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="constat")

    async def run(self, work: Callable[[Session], Found]) -> Found:
        """Do something with the session in its thread, and give what comes of it.

        Raises what the work raises. Whoever cancels the task that waits stops the work.
        """
        # Behind a fork the thread is missing, too.
        OPEN_HERE.add(self)
        stop = Event()
        loop = asyncio.get_running_loop()
        # What a program keeps for a task, such as the span it is in, holds in the thread too.
        run = partial(copy_context().run, self._stoppable, work, stop)
        future = loop.run_in_executor(self._worker, run)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            if not future.cancel():
                self._session.cancel()
            raise

    def _stoppable(self, work: Callable[[Session], Found], stop: Event) -> Found:
        if stop.is_set():
            raise asyncio.CancelledError
        try:
            with self._session.stoppable(stop):
                return work(self._session)
        except StoppedError:
            raise asyncio.CancelledError from None

    async def prove(self, goal: Goal = "", **options: Any) -> Result:  # noqa: ANN401  as `Session.prove`
        """Prove or disprove a goal; `options` are those of `Session.prove`."""
        return await self.run(lambda session: session.prove(goal, **options))

    async def query(self, query: Goal, **options: Any) -> Answers:  # noqa: ANN401  as `Session.query`
        """Find all answers; `options` are those of `Session.query`."""
        return await self.run(lambda session: session.query(query, **options))

    async def ask(self, question: str, **options: Any) -> Answered:  # noqa: ANN401  as `Session.ask`
        """Answer a question in words; `options` are those of `Session.ask`."""
        return await self.run(lambda session: session.ask(question, **options))

    async def why_not(self, goal: Goal, **options: Any) -> WhyNotResult:  # noqa: ANN401  as above
        """Say why a goal does not hold; `options` are those of `Session.why_not`."""
        return await self.run(lambda session: session.why_not(goal, **options))

    async def what_if(self, goal: Goal, **options: Any) -> WhatIf:  # noqa: ANN401  as above
        """Answer a goal under suppositions; `options` are those of `Session.what_if`."""
        return await self.run(lambda session: session.what_if(goal, **options))

    async def missing_facts(self, goal: Goal, **options: Any) -> MissingFacts:  # noqa: ANN401  as above
        """Find facts that would prove a goal; `options` are those of `Session.missing_facts`."""
        return await self.run(lambda session: session.missing_facts(goal, **options))

    async def verify(self, certificate: bytes, **options: Any) -> Report:  # noqa: ANN401  as above
        """Check a certificate; `options` are those of `Session.verify`."""
        return await self.run(lambda session: session.verify(certificate, **options))

    async def close(self) -> None:
        """End what runs, close all connections, and let the thread go."""
        if OPEN_HERE.inherited:
            return
        try:
            await self.run(Session.close)
        finally:
            self._worker.shutdown(wait=False)
            OPEN_HERE.discard(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
