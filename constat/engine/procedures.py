"""The procedures of one evaluation: those of its plan, and those for keys that turn out wider."""

from __future__ import annotations

from constat.analysis import AnalysedProgram
from constat.engine.relation import Columns
from constat.plan import Plan, Procedure, ProcedureKey, adorn


class Procedures:
    """Finds the procedure for bound columns of a derived predicate.

    A plan has those that constants and variables of the text ask for. A premise that nobody knows
    asks with fewer columns; such a procedure is planned when it is asked for.
    """

    def __init__(self, program: AnalysedProgram, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[ProcedureKey, Procedure] = dict(plan.procedures)
        self._program = program

    def find(self, predicate: str, columns: Columns) -> Procedure | None:
        """Give the procedure for these columns; `None` where no rule derives the predicate."""
        if predicate not in self.plan.component:
            return None
        key = (predicate, columns)
        if key not in self.known:
            self.known = adorn(self._program, key, self.plan.costs, self.known)
        return self.known.get(key)

    def get(self, predicate: str, columns: Columns) -> Procedure:
        """Give the procedure of a predicate that rules derive."""
        found = self.find(predicate, columns)
        if found is None:
            raise KeyError((predicate, columns))
        return found
