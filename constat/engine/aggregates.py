"""Aggregates over groups whose rows may be uncertain.

In: the assignments of all groups, in one batch. Out: for a group, its values with their
strengths. The value is exact in a reading iff the certain and the possible assignments of that
reading coincide (semantics 8); otherwise it is the placeholder.

Example: certain assignments {1, 2} and one more of strength 2 give the sum over three in the
accepted reading (strength 2), and the placeholder with strength 0 for the hard reading.
"""

from __future__ import annotations

from collections.abc import Callable

from constat.engine.batch import Batch, Binding, strongest
from constat.engine.expressions import values_of
from constat.engine.relation import tuple_getter
from constat.engine.texts import Texts
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, EvaluationError, Slot, Value, fold
from constat.plan import Fold

Fail = Callable[[str], None]


class Groups:
    """The assignments of an aggregate, by group."""

    def __init__(
        self, step: Fold, groups: set[tuple[Value, ...]], inner: Batch, fail: Fail, texts: Texts
    ) -> None:
        self._step = step
        self._fail = fail
        self._texts = texts
        self._width = len(step.group)
        self._sure: dict[Binding, dict[Binding, Binding]] = {group: {} for group in groups}
        self._weak: dict[Binding, dict[Binding, tuple[Binding, int]]] = {}
        self._folded: dict[Binding, list[tuple[Slot, int]]] = {}
        self._sort(inner)

    def _sort(self, inner: Batch) -> None:
        width = self._width
        distinct = tuple_getter(self._step.distinct)
        if len(self._sure) == 1:
            # All assignments are those of the one group, so nobody has to look for theirs.
            (only,) = self._sure.values()
            only.update(zip(map(distinct, inner.sure), inner.sure, strict=True))
        else:
            for binding in inner.sure:
                self._sure[binding[:width]][distinct(binding)] = binding
        for binding, strength in strongest(inner.weak).items():
            group, assignment = binding[:width], distinct(binding)
            if assignment in self._sure[group]:
                continue
            weak = self._weak.setdefault(group, {})
            if assignment not in weak or weak[assignment][1] < strength:
                weak[assignment] = (binding, strength)

    def values(self, group: Binding) -> list[tuple[Slot, int]]:
        """The aggregate's values for a group with their strengths.

        None where an exact value does not exist.
        """
        folded = self._folded.get(group)
        if folded is None:
            folded = self._folded[group] = self._fold_group(group)
        return folded

    def _fold_group(self, group: Binding) -> list[tuple[Slot, int]]:
        sure = list(self._sure[group].values())
        weak = list(self._weak.get(group, {}).values())
        if not weak:
            return self._exact(sure, CERTAIN)
        if any(strength == POSSIBLE for _, strength in weak):
            return [(OPEN, POSSIBLE)]
        accepted = sure + [binding for binding, strength in weak if strength == ACCEPTED]
        # The hard reading does not know the assumed rows; the accepted one does.
        return [*self._exact(accepted, ACCEPTED), (OPEN, CONCEIVABLE)]

    def _exact(self, bindings: list[Binding], strength: int) -> list[tuple[Slot, int]]:
        target = self._step.target
        try:
            values: list[Value] | None = [1] * len(bindings)
            if target is not None:
                values = values_of(target, bindings, self._texts)
            if values is None:
                return [(OPEN, POSSIBLE)]
            value = fold(self._step.function, self._step.kind, values)
        except EvaluationError as error:
            self._fail(str(error))
            return [(OPEN, POSSIBLE)]
        return [] if value is None else [(value, strength)]
