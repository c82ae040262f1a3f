"""Prove the answer of an exploration, so that a checker can follow it.

In: a run whose steps are finished. Out: an `AnswerProof` with a certificate, or why there is none.
Invariants: the rows of the answer are derived again, from the sources as they are now, by the
project's rules and those of the steps; rows that no rule gives are attested with the text that
gave them; an answer that the sources no longer give has no proof. Without being asked to, only what
takes less than a moment is proved. Example: `Proofs(relations, workshop).prove(asked, running)`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import traceback
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.catalog import SourceFailureError
from constat.check import check_certificate
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Limits, Verdict
from constat.explore.answered import AnswerProof
from constat.explore.failures import StepFailureError
from constat.explore.given_rows import DUCKDB, PYTHON, Computed, answer_text, listed_hash
from constat.explore.periods import PERIODS, period_rows
from constat.explore.plan import Work
from constat.explore.plan_approval import plan_hashes, plan_rule
from constat.explore.proof_program import (
    Known,
    computing_links,
    needed_relations,
    proof_program,
)
from constat.explore.ranking import ranking_query
from constat.explore.records import ARTIFACT
from constat.explore.relations import Settlement
from constat.explore.running import StepsFailedError
from constat.explore.working import NAMED_ROWS, Working
from constat.proof import build_certificate
from constat.proof.canonical import canonical
from constat.store.clock import now
from constat.store.tables_backends import StoreFailureError
from constat.store.tables_values import NewArtifact, StepResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from constat.explore.answered import Explored
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Plan
    from constat.explore.plan_approval import PlanWord
    from constat.explore.relations import Relation
    from constat.explore.running import Running
    from constat.explore.workshop import Workshop
    from constat.proof import Decision
    from constat.session.solving_relations import ChainRelations
    from constat.store.tables import DataStore

MOST_ROWS: Final = NAMED_ROWS
"""How many rows of one relation a certificate may state."""
UNASKED_ROWS: Final = 10_000
"""How many rows may have been read where nobody asked for a proof."""
_UNASKED: Final = Limits(seconds=3.0, rows=50_000, calls=2_000)
_MEDIA: Final = "application/json"


class Proofs:
    """Proves answers of one run."""

    def __init__(self, relations: ChainRelations, workshop: Workshop) -> None:
        self._relations = relations
        self._shop = workshop

    def prove(
        self, running: Running, plan: Plan, word: PlanWord, *, asked: bool = True
    ) -> AnswerProof:
        """Prove an answer whose steps have run; whatever fails is why there is no proof.

        Unless that was asked for, only what takes less than a moment is proved.
        """
        try:
            if asked:
                return self._proved(running, plan, word, None)
            return self._unasked(running, plan, word)
        except (ConstatError, SourceFailureError, StoreFailureError) as problem:
            return AnswerProof(why=_reason(problem))
        except Exception as problem:  # noqa: BLE001  the answer stands, whatever ends its proof
            if os.environ.get("CONSTAT_DEBUG"):
                traceback.print_exc()
            kind = type(problem).__name__
            mistake = "a mistake in Constat, CONSTAT_DEBUG=1 shows where"
            return AnswerProof(why=f"the proof ended with an internal error ({kind}), {mistake}")

    def _unasked(self, running: Running, plan: Plan, word: PlanWord) -> AnswerProof:
        # A step that was kept has read nothing now; its tables say how much there is to read.
        below = {name for link in running.chain.below([plan.answer]) for name in link.gives}
        kept = (one.rows for one in self._shop.store.tables() if one.name in below)
        rows = self._relations.rows_read + sum(kept)
        if rows > UNASKED_ROWS:
            why = "more rows were read than are proved without being asked: `--certificate FILE`"
            return AnswerProof(why=why)
        return self._proved(running, plan, word, _UNASKED)

    def _proved(
        self, running: Running, plan: Plan, word: PlanWord, limits: Limits | None
    ) -> AnswerProof:
        chain, created = running.chain, now()
        answer = running.need([plan.answer])[plan.answer]
        before = dict(running.finished)
        try:
            known = self._known(running, plan, created)
        finally:
            # What only the proof looked at is no part of what the answer took.
            looked = running.finished
            running.finished = {
                number: one
                for number, one in looked.items()
                if number in before or number in running.computed
            }
        program = proof_program(chain, plan, known, word)
        decision = self._relations.decide(program, limits)
        expected = {Verdict.PROVED, Verdict.PROVED_UNDER}
        if answer.settlement is Settlement.OPEN:
            expected.add(Verdict.UNRESOLVED)
        if decision.verdict not in expected:
            raise _not_proved(decision)
        certificate = build_certificate(
            decision, created=created, engine_version=f"constat {__version__}"
        )
        report = check_certificate(certificate)
        if not report.accepted:
            raise _unproved(f"the checker rejects it: {report.reason}")
        return AnswerProof(decision.verdict, certificate)

    def _known(self, running: Running, plan: Plan, at: str) -> Known:
        chain = running.chain
        wanted = needed_relations(chain, plan)
        try:
            # What a kept step rests on was not even read; now it is.
            running.need([name for _, name in wanted if chain.link_of(name) is not None])
        except StepsFailedError as problem:
            raise _unproved(str(problem)) from None
        finished = {number: one.relations for number, one in running.finished.items()}
        working = Working(chain, finished, self._shop)
        relations: dict[str, Sequence[tuple[object, ...]]] = {**_days(self._shop.today)}
        for link, name in wanted:
            found = self._relation(working, link, name)
            if len(found.rows) > MOST_ROWS:
                raise _too_large(name, len(found.rows))
            relations[name] = found.rows
        computed = self._computed(running, plan, relations)
        return Known(relations, computed, at, self._shop.today.isoformat())  # type: ignore[arg-type]

    @staticmethod
    def _relation(working: Working, link: Link, name: str) -> Relation:
        try:
            return working.given_to(name, link)
        except StepFailureError as problem:
            raise _unproved(problem.failure.message) from None

    def _computed(
        self, running: Running, plan: Plan, relations: dict[str, Sequence[tuple[object, ...]]]
    ) -> dict[str, Computed]:
        chain, times = running.chain, _times(self._shop.store)
        found = {}
        for link in computing_links(chain, plan):
            record = running.finished[link.number]
            read = tuple(
                listed_hash(name, relations[name], _kinds(chain, name))  # type: ignore[arg-type]
                for name in link.reads
            )
            # What is attested is what was read then, and not what is there now.
            for name, rows in zip(link.reads, read, strict=True):
                if record.read.get(name) != rows:
                    raise _other_rows(link, name)
            read += tuple(f"database {one}" for one in link.step.sources)
            for name in link.gives:
                found[name] = _how(link, read, times.get(link.number, ""), record.level, plan)
        return found


def keep_certificate(
    store: DataStore, chain: Chain, plan: Plan, question: int, certificate: bytes
) -> None:
    """Keep a certificate beside the answer's table."""
    link = chain.link_of(plan.answer)
    if link is None:
        return
    artifact = NewArtifact("text", _name(question), certificate, _MEDIA)
    store.commit(StepResult(link.number, link.step.name, artifacts=(artifact,)))


def kept_certificate(store: DataStore, question: int) -> bytes:
    """Give the latest certificate of a question; nothing where none was kept."""
    found = [one for one in store.artifacts(kind="text") if one.name == _name(question)]
    return store.content(found[-1]) if found else b""


def kept_proof(
    store: DataStore, chain: Chain, explored: Explored, word: PlanWord
) -> AnswerProof | None:
    """Give the proof that was kept with an answer: of these rows, by the plan as it is approved."""
    certificate, plan = kept_certificate(store, explored.number), explored.plan
    if not certificate or not check_certificate(certificate).accepted:
        return None
    document = json.loads(certificate)
    relation = explored.relation
    # Steps may have been run again since, without a proof of what they gave then.
    rows = answer_text(listed_hash(plan.answer, relation.rows, relation.kinds))
    if all(one["name"] != rows for one in document["sources"]):
        return None
    rule, _ = plan_rule(chain, plan, word)
    hashes = plan_hashes(chain, plan)
    header = document["header"]
    # Rules of the project may have approvals of their own.
    approved = {canonical(one) for one in header["approvals"] if one["rule"] == hashes.rule}
    same = [one for one in document["rules"] if one["id"] == rule.id]
    if not same or approved != set(word.approvals):
        return None
    return AnswerProof(Verdict(header["verdict"]), certificate)


def _name(question: int) -> str:
    return f"certificate {question}"


def _how(link: Link, read: tuple[str, ...], at: str, level: str, plan: Plan) -> Computed:
    step = link.step
    if step.work is Work.PYTHON:
        version = platform.python_version()
        return Computed(
            step.name, PYTHON, version, step.text, read, at, f"sandbox: {level}", plan.author
        )
    text = step.text if step.ranking is None else ranking_query(step, step.ranking)
    version = importlib.metadata.version("duckdb")
    return Computed(step.name, DUCKDB, version, text, read, at, "", plan.author)


def _times(store: DataStore) -> dict[int, str]:
    """Give the time at which each step was finished last."""
    return {one.step: one.at for one in store.artifacts(kind="text") if one.name == ARTIFACT}


def _days(today: date) -> dict[str, Sequence[tuple[object, ...]]]:
    rows: dict[str, Sequence[tuple[object, ...]]] = {"today": ((today.isoformat(),),)}
    rows["period"] = period_rows(today)
    return {name: rows[name] for name in PERIODS}


def _kinds(chain: Chain, name: str) -> tuple[object, ...]:
    return chain.analysed.program.predicates[name].kinds


def _other_rows(link: Link, name: str) -> ConstatError:
    return _unproved(f"`{name}` has other rows now than step `{link.step.name}` read")


def _not_proved(decision: Decision) -> ConstatError:
    if decision.limit or decision.outcome.stopped:
        return _unproved(decision.limit or f"the proof stopped: {decision.outcome.stopped}")
    names = list(dict.fromkeys(one.predicate for one in decision.gaps))
    missing = "; ".join(names[:3]) + (f"; and {len(names) - 3:,} more" if names[3:] else "")
    why = f" (open: {missing})" if missing else ""
    return _unproved(f"its sources do not give these rows, and only these, any more{why}")


def _too_large(name: str, rows: int) -> ConstatError:
    return _unproved(f"`{name}` has {rows:,} rows, and a proof states {MOST_ROWS:,} at most")


def _unproved(reason: str) -> ConstatError:
    return ConstatError([Diagnostic("C0950", reason)], exit_code=4)


def _reason(problem: ConstatError | SourceFailureError | StoreFailureError) -> str:
    if isinstance(problem, ConstatError):
        return problem.diagnostics[0].message
    return problem.reason
