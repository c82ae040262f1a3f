"""Random programs whose facts change at random, held against an evaluation by definition.

In: a seed. Out: the first difference, if there is one. After each sequence of updates every
relation has to have the rows that the naive oracle derives from the facts as they are then; what
each update says to have changed has to be the difference to before. Some updates may make so few
bindings that everything is evaluated anew, which has to say the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from constat.evaluation import ResourceError, Resources
from constat.incremental import Changed, Fact, Maintained, NotKeptError
from tests.oracle import naive
from tests.random_programs.drawing import DOMAINS, draw
from tests.random_programs.judging import read_program

if TYPE_CHECKING:
    from constat.logic import Row
    from tests.random_programs.drawing import RandomProgram
    from tests.random_programs.judging import Read

RESOURCES = Resources(seconds=120.0, memory=256 << 20, threads=1)


@dataclass(slots=True)
class Walk:
    """Updates of the facts of one random program; `told` counts what became of them."""

    seed: int
    told: Counter[str] = field(default_factory=Counter)

    def difference(self, sequences: int, updates: int) -> str:
        """Give the first difference in so many sequences of updates, or nothing."""
        drawn = draw(self.seed)
        read = read_program(drawn)
        if read is None:
            self.told["refused"] += 1
            return ""
        random = Random(self.seed)
        try:
            kept = _kept(read, {name: set(rows) for name, rows in drawn.rows.items()})
        except NotKeptError:
            self.told["not kept"] += 1
            return ""
        self.told["programs"] += 1
        for number in range(sequences):
            kept.least = random.choice((0.0, 30.0, *[1e6] * 14))
            for place in range(random.randint(1, updates)):
                found = self._updated(kept, read, drawn, random)
                if found is None:
                    return ""
                if found:
                    return f"seed {self.seed}, sequence {number}, update {place}: {found}"
            found = _differing(kept, _truth(read, {n: set(kept.rows(n)) for n in kept.inputs}))
            if found:
                return f"seed {self.seed}, sequence {number}: {found}"
            self.told["sequences"] += 1
        return ""

    def _updated(
        self, kept: Maintained, read: Read, drawn: RandomProgram, random: Random
    ) -> str | None:
        """Make one update; give what is wrong, and nothing at all where it ends here."""
        before = {name: set(one) for name, one in kept.relations.items()}
        facts = [_fact(kept, drawn, random) for _ in range(random.choice((1, 1, 1, 2, 4)))]
        inputs = {name: set(before[name]) for name in kept.inputs}
        for fact in facts:
            (inputs[fact.predicate].discard if fact.gone else inputs[fact.predicate].add)(fact.row)
        try:
            update = kept.update(facts)
        except ResourceError:
            # A busy machine is no difference; how often that was is told.
            self.told["stopped"] += 1
            return None
        except NotKeptError:
            self.told["no more kept"] += 1
            if {name: set(one) for name, one in kept.relations.items()} != before:
                return "a failed update has changed something"
            sure = all(one for rows in _truth(read, inputs).values() for one in rows.values())
            return "it is settled, and not kept" if sure else None
        self.told["updates"] += 1
        self.told["anew"] += bool(update.anew)
        for name, rows in inputs.items():
            if set(kept.rows(name)) != rows:
                return f"{name} is not what came and went"
        for name, rows in before.items():
            told = update.changed.get(name, Changed((), ()))
            after = set(kept.rows(name))
            if (set(told.plus), set(told.minus)) != (after - rows, rows - after):
                return f"{name} is said to have gained {told.plus} and lost {told.minus}"
        return ""


def _truth(read: Read, inputs: dict[str, set[Row]]) -> dict[str, naive.Relation]:
    world = naive.World({n: tuple((row, None) for row in rows) for n, rows in inputs.items()})
    return naive.evaluate(read.program, world, accepted=False)


def _kept(read: Read, rows: dict[str, set[Row]]) -> Maintained:
    derived = [one.predicate for one in read.wanted]
    return Maintained(read.program, derived, rows, RESOURCES)


def _fact(kept: Maintained, drawn: RandomProgram, random: Random) -> Fact:
    name = random.choice(kept.inputs)
    rows = list(kept.rows(name))
    if rows and random.random() < 0.5:
        return Fact(name, random.choice(sorted(rows, key=repr)), gone=True)
    letters = next(one.letters for one in drawn.relations if one.name == name)
    return Fact(name, tuple(random.choice(DOMAINS[one]) for one in letters))


def _differing(kept: Maintained, truth: dict[str, naive.Relation]) -> str:
    for name in kept.derived:
        expected = truth[name]
        if not all(expected.values()):
            return "something errs, and it is kept"
        found = set(kept.rows(name))
        if found != set(expected) or len(kept.relations[name]) != len(expected):
            more = sorted(found - set(expected), key=repr)
            fewer = sorted(set(expected) - found, key=repr)
            return f"{name} has {more[:5]} besides, lacks {fewer[:5]}"
    return ""
