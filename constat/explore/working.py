"""Do the work of one step, once: by rules, by a ranking, by a SELECT, or by code.

In: a step of a chain, and the steps that have been finished. Out: its relations, or
`StepFailureError`. Invariants: what a step reads is known as a whole before it runs; what rests on
assumptions stays under them; a SELECT or code is never given rows that might not be all, because
nobody could tell what its result would say. Example: a ranking over totals that rest on a stated
fact gives rows that hold if the fact does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.catalog import QueryMistakeError, guard
from constat.evaluation import Assumption, Evidence, Origin, Verdict
from constat.explore.failures import StepFailure, StepFailureError
from constat.explore.fitting import check_structures
from constat.explore.given_rows import listed_hash
from constat.explore.periods import PERIODS, period_rows
from constat.explore.plan import Output, Work
from constat.explore.ranking import ranking_query
from constat.explore.relations import STEP, EveryRow, Relation, Settlement, StepRows
from constat.explore.step_sql import DIALECT, determined, is_ordered
from constat.explore.step_tables import TableLimits, Wanted, select
from constat.explore.workshop import CodeResult
from constat.store.clock import now
from constat.store.tables_values import StepResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.evaluation import ExternalPredicate
    from constat.explore.chain import Chain, Link
    from constat.explore.workshop import Workshop
    from constat.logic import Predicate

NAMED_ROWS: Final = 20_000
"""How many rows are named by their hash where a step reads them: as many as a proof may state."""
_PYTHON_HINT = "allow it in constat.yaml: `explore: {python: true}`"


class Working:
    """The work of steps over what has been finished: relations by the number of their step.

    `project` has the relations of the project that were read: who hands it in reads them once.
    """

    def __init__(
        self,
        chain: Chain,
        finished: Mapping[int, Mapping[str, Relation]],
        workshop: Workshop,
        project: dict[str, Relation] | None = None,
    ) -> None:
        self._chain = chain
        self._finished = finished
        self._shop = workshop
        self._project = {} if project is None else project

    def run(self, link: Link) -> CodeResult:
        """Do the work of a step."""
        step = link.step
        if step.work is Work.PYTHON:
            return self._code(link)
        result = StepResult(link.number, step.name)
        if step.work is Work.RULES or step.source:
            relations = {one.name: self._evaluated(link, one) for one in step.outputs}
            return CodeResult(relations, result)
        inputs = {name: self.input(name, link) for name in link.reads}
        relations = {one.name: self._selected(link, one, inputs) for one in step.outputs}
        return CodeResult(relations, result, read=_named(inputs))

    def _code(self, link: Link) -> CodeResult:
        if self._shop.code is None:
            message = "steps of Python code may not run here"
            raise StepFailureError(StepFailure("not allowed", message, hint=_PYTHON_HINT))
        inputs = {name: self.input(name, link) for name in link.reads}
        predicates = self._chain.analysed.program.predicates
        kinds = {one.name: predicates[one.name].kinds for one in link.step.outputs}
        done = self._shop.code(link, inputs, kinds)
        rests = Assumption(
            "fact", link.step.name, f"the code of step `{link.step.name}` computes its goal"
        )
        relations = {
            name: _resting(
                check_structures(one, predicates[name].columns),
                [*_assumptions(inputs.values()), rests],
            )
            for name, one in done.relations.items()
        }
        return replace(done, relations=relations, read=_named(inputs))

    def _evaluated(self, link: Link, output: Output) -> Relation:
        """Compute a relation by rules, or by a SELECT on a source, which answers like a relation.

        Steps whose rows are not certain are computed with it, so that what they rest on is told of
        each row and not of all of them.
        """
        below = self._chain.below([output.name])
        derived = [one for one in below if one.number == link.number or self._weak(one)]
        program = self._chain.program_with(derived)
        given = self.given(one for one in below if one not in derived)
        found = self._shop.evaluating.relation(program, output, given, link.number)
        return self._bounded(found)

    def _bounded(self, found: Relation) -> Relation:
        most = self._shop.bounds.rows
        if len(found.rows) > most:
            message = f"`{found.output.name}` has more than {most:,} rows"
            raise StepFailureError(StepFailure("limit", message, hint="sum up, or rank, earlier"))
        return found

    def _weak(self, link: Link) -> bool:
        return is_weak(link, self._finished.get(link.number, {}))

    def _selected(self, link: Link, output: Output, inputs: Mapping[str, Relation]) -> Relation:
        """Compute a ranking, or a SELECT over relations."""
        step, bounds = link.step, self._shop.bounds
        if step.ranking is not None:
            query = ranking_query(step, step.ranking)
        else:
            query = determined(_guarded(step.text), len(output.columns))
        declared = self._chain.analysed.program.predicates[output.name]
        limits = TableLimits(bounds.seconds, bounds.memory)
        ordered = step.ranking is not None or is_ordered(query)
        found = select(query, inputs, Wanted(output, declared.kinds, bounds.rows, limits, ordered))
        check_structures(found, declared.columns)
        return _resting(found, _assumptions(inputs.values()))

    def input(self, name: str, link: Link) -> Relation:
        """Give a whole relation to a step by SELECT or code. Raises where it is not settled."""
        found = self.given_to(name, link)
        if found.settlement is Settlement.OPEN:
            reason = found.reasons[0] if found.reasons else "there may be more"
            message = f"the rows of `{name}` are not all known: {reason}"
            hint = "state what is missing (`constat facts add`), or leave that part out by rules"
            raise StepFailureError(StepFailure("unsettled input", message, hint=hint))
        return found

    def given_to(self, name: str, link: Link) -> Relation:
        """Give a whole relation that a step reads or gives, settled or not."""
        below = self._chain.link_of(name)
        return self._of_project(name, link) if below is None else self._of_step(below, name)

    def _of_step(self, link: Link, name: str) -> Relation:
        return self._finished[link.number][name]

    def _of_project(self, name: str, link: Link) -> Relation:
        if name in PERIODS and name not in self._chain.base.program.predicates:
            return self._days(name)
        if name not in self._project:
            program = self._chain.analysed
            declared = program.program.predicates[name]
            columns = tuple((one.name, one.type_name) for one in declared.columns)
            found = self._shop.evaluating.relation(
                program, Output(name, columns), self.given(()), link.number
            )
            self._project[name] = self._bounded(found)
        return self._project[name]

    def given(self, links: Iterable[Link]) -> dict[str, ExternalPredicate]:
        """Give the relations of finished steps, and the days, as external predicates."""
        predicates = self._chain.analysed.program.predicates
        found: dict[str, ExternalPredicate] = {}
        for link in links:
            for name, relation in self._finished.get(link.number, {}).items():
                found[name] = _outside(predicates[name], relation, link.step.name)
        for name in PERIODS:
            if name not in self._chain.base.program.predicates:
                found[name] = _outside(predicates[name], self._days(name), name)
        return found

    def _days(self, name: str) -> Relation:
        declared, today = PERIODS[name], self._shop.today
        rows = ((today.isoformat(),),) if name == "today" else period_rows(today)
        columns = tuple((one.name, one.type_name) for one in declared.columns)
        return Relation(Output(name, columns), declared.kinds, rows)


def is_weak(link: Link, relations: Mapping[str, Relation]) -> bool:
    """Whether a step's rules have to be looked at again, because its rows are not certain."""
    certain = all(one.settlement is Settlement.CERTAIN for one in relations.values())
    return link.step.work is Work.RULES and not certain


def _named(inputs: Mapping[str, Relation]) -> dict[str, str]:
    """Name the rows that a step was given, so that nobody can say later that they were others."""
    return {
        name: listed_hash(name, one.rows, one.kinds)
        for name, one in inputs.items()
        if len(one.rows) <= NAMED_ROWS
    }


def _guarded(text: str) -> str:
    try:
        return guard(text, DIALECT).text
    except QueryMistakeError as problem:
        # The guard sees the text and nothing of the data.
        failure = StepFailure("syntax", problem.reason, hint=problem.help, public=problem.reason)
        raise StepFailureError(failure) from None


def _outside(predicate: Predicate, relation: Relation, name: str) -> ExternalPredicate:
    evidence = Evidence(STEP, Origin.DERIVED, f"step {name}", now(), row_count=len(relation.rows))
    return StepRows(predicate, relation, evidence)


def _assumptions(inputs: Iterable[Relation]) -> list[Assumption]:
    return list(dict.fromkeys(one for relation in inputs for one in relation.assumptions))


def _resting(relation: Relation, assumptions: list[Assumption]) -> Relation:
    """Give a relation whose every row rests on these."""
    if not assumptions:
        return relation
    return replace(
        relation,
        settlement=Settlement.UNDER,
        assumptions=tuple(assumptions),
        weak=EveryRow(relation.rows, Verdict.PROVED_UNDER),
    )
