"""The child process: reads questions, asks pyDatalog, writes answers, until its input ends.

Started as `python -P -B -m constat.pydatalog.child MEMORY PARENT`. In and out: frames, which are
eight bytes of length, then the bytes; in front of each question stand the seconds it may take.
Invariant: only frames are written to the pipe, whatever a library prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, assert_never

from constat.diagnostics.interruption import bind_process, bind_time, unbind_time
from constat.logic import EvaluationError, Parts, Row, comparison, fold, implementation
from constat.pydatalog.translation import (
    Computation,
    Condition,
    Constants,
    Literal,
    Premise,
    Question,
    Same,
    Stage,
    Summary,
    Term,
)
from constat.pydatalog.wire import LENGTH, SECONDS, read_question, write_reason, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

# Inside the child: clauses as pyDatalog's objects, and one question asked of it.

Resolver = Callable[..., Iterator[Any]]


def solve(question: Question) -> frozenset[Row]:
    """Ask pyDatalog; raises `EvaluationError` where a rule instance errs."""
    return _Building(question).solve()


class _Building:
    """One program in pyDatalog. Its resolvers are global in the process: a new one clears them."""

    def __init__(self, question: Question) -> None:
        from pyDatalog import Logic, pyEngine  # noqa: PLC0415  heavy library, loaded on first use

        self._engine = pyEngine
        self._question = question
        self._constants = Constants(question.constants)
        self._resolvers: dict[tuple[object, ...], str] = {}
        self._parts = Parts()
        # By default floats are rounded to 8 digits. None reach pyDatalog; this is the second lock.
        pyEngine.Float_Precision = None
        pyEngine.Python_resolvers.clear()
        Logic()

    def solve(self) -> frozenset[Row]:
        self._declare()
        for relation, rows in self._question.facts.items():
            for row in rows:
                self._assert(Premise(relation, row), ())
        for clause in self._question.clauses:
            self._assert(clause.head, clause.body)
        for stage in self._question.stages:
            self._complete(stage)
        value = self._constants.value
        return frozenset(
            tuple(value(number) for number in row) for row in self._asked(self._question.goal)
        )

    def _complete(self, stage: Stage) -> None:
        """Ask a shared relation once; what uses it then meets indexed facts."""
        width = self._question.arities[stage.relation]
        every = Premise(stage.relation, tuple(f"column {place}" for place in range(width)))
        for tag, *row in self._asked(every):
            relation, arity = stage.members[tag]
            self._assert(Premise(relation, tuple(row[:arity])), ())

    def _asked(self, goal: Premise) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] | bool = self._literal(goal).ask()
        if isinstance(found, bool):
            raise TypeError("an answer that is not ground")
        return found

    def _declare(self) -> None:
        # An undeclared predicate is an error when asked, and no error at all inside a body.
        for relation, arity in enumerate(self._question.arities):
            self._engine.insert(self._engine.Pred(f"p{relation}", arity))

    def _assert(self, head: Premise, body: tuple[Literal, ...]) -> None:
        clause = self._engine.Clause(self._literal(head), [self._literal(one) for one in body])
        self._engine.assert_(clause)  # noqa: PT009  pyDatalog's, not a test's

    def _literal(self, literal: Literal) -> Any:  # noqa: ANN401  an object of pyDatalog
        match literal:
            case Premise(relation, terms, negated):
                sign = "~" if negated else ""
                return self._made(f"{sign}p{relation}", terms)
            case Same(left, right):
                return self._made("==", (left, right))
            case Condition(left=left, right=right):
                return self._made(self._tested(literal), (left, right))
            case Computation(arguments=arguments, result=result):
                return self._made(self._computed(literal), (*arguments, result))
            case Summary():
                return self._summary(literal)
            case _:
                assert_never(literal)

    def _made(self, name: str, terms: tuple[Term, ...]) -> Any:  # noqa: ANN401  an object of pyDatalog
        return self._engine.Literal(name, [self._term(term) for term in terms])

    def _term(self, term: Term) -> Any:  # noqa: ANN401  an object of pyDatalog
        if isinstance(term, str):
            return self._engine.Var(term)
        return self._engine.Const(term)

    def _tested(self, literal: Condition) -> str:
        use = ("test", literal.operator, literal.kind)
        return self._resolver(use, 2, lambda: self._test(literal))

    def _computed(self, literal: Computation) -> str:
        use = (literal.function, literal.parameters, literal.kind)
        return self._resolver(use, len(literal.arguments) + 1, lambda: self._computation(literal))

    def _resolver(self, use: tuple[object, ...], arity: int, build: Callable[[], Resolver]) -> str:
        """Give the name of the resolver for a comparison or a function, made at its first use."""
        name = self._resolvers.get(use)
        if name is None:
            # It ends in no digit: pyDatalog also looks up the name with the arity behind it.
            name = self._resolvers[use] = f"r{len(self._resolvers)}_"
            self._engine.Python_resolvers[f"{name}/{arity}"] = build()
        return name

    def _test(self, literal: Condition) -> Resolver:
        holds = comparison(literal.operator, literal.kind)
        value = self._constants.value

        def resolve(left: Any, right: Any) -> Iterator[Any]:  # noqa: ANN401  terms of pyDatalog
            if holds(value(left.id), value(right.id)):
                yield True

        return resolve

    def _computation(self, literal: Computation) -> Resolver:
        parts = self._parts
        function = implementation(literal.function, literal.parameters, literal.kind, parts)
        constants, kind = self._constants, literal.kind

        def resolve(*terms: Any) -> Iterator[Any]:  # noqa: ANN401  terms of pyDatalog
            numbers = [term.id for term in terms[:-1]]
            result = function(*(constants.value(number) for number in numbers))
            yield (*numbers, constants.number(kind, result))

        return resolve

    def _summary(self, literal: Summary) -> Any:  # noqa: ANN401  an object of pyDatalog
        # Two aggregates of one rule must not share these.
        free = [f"local {literal.relation} {place}" for place in range(literal.width)]
        terms = [self._term(term) for term in (*literal.group, *free, literal.result)]
        return self._engine.Literal(
            f"p{literal.relation}", terms, aggregate=_Folding(literal, self._constants)
        )


class _Folding:
    """An aggregate as pyDatalog calls it: once the relation without the result is complete."""

    def __init__(self, summary: Summary, constants: Constants) -> None:
        self._summary = summary
        self._constants = constants
        self.slice_to_variabilize = ()

    def complete(self, base: Any, asked: Any) -> None:  # noqa: ANN401  subgoals of pyDatalog
        """Fold the rows of one group; without rows a count is 0 and a minimum does not exist."""
        rows = list(base.facts.values())
        summary, value = self._summary, self._constants.value
        values = [0 if summary.kind is None else value(row.terms[-1].id) for row in rows]
        result = fold(summary.function, summary.kind, values)
        if result is not None:
            group = [term.id for term in asked.literal.terms[: len(summary.group)]]
            number = self._constants.number(summary.result_kind, result)
            asked.fact_candidate(None, [*group, *[0] * summary.width, number])


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent closes the pipe."""
    memory, parent = int(arguments[0]), int(arguments[1])
    bind_process(memory, parent)
    with _own_output() as output:
        while (request := _frame(sys.stdin.buffer)) is not None:
            bind_time(*SECONDS.unpack_from(request))
            reply = answer(request[SECONDS.size :], memory)
            unbind_time()
            output.write(LENGTH.pack(len(reply)) + reply)
            output.flush()


def answer(request: bytes, memory: int) -> bytes:
    """Answer one question."""
    try:
        question = read_question(request)
        return write_rows(solve(question), question.kinds)
    except EvaluationError as problem:
        return write_reason(f"a rule instance errs: {problem}")
    except MemoryError:
        return write_reason(f"the memory limit of {memory >> 20:,} MiB was reached")
    except Exception as problem:  # noqa: BLE001  the child's boundary: the reason crosses, the message may hold outside bytes
        return write_reason(f"pyDatalog failed ({type(problem).__name__})")


def _own_output() -> BinaryIO:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _frame(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return stream.read(length)


if __name__ == "__main__":
    main(sys.argv[1:])
