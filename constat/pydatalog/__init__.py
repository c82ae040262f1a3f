"""pyDatalog as a second, independent engine: it may disagree with ours, and tests compare them.

In: an analysed program, a goal, external predicates. Out: the rows that match, without proofs.
Invariants: closed ground facts and stratified rules only, everything else is refused; pyDatalog
runs in a child process that can be ended at any moment; it reads analysed logic and not the plan,
so a mistake of the planner cannot be in both. Example: `answers(program, goal, externals,
Limits())`.
"""

from constat.pydatalog.answering import AnswerSet, PyDatalogEngine, answers

__all__ = ["AnswerSet", "PyDatalogEngine", "answers"]
