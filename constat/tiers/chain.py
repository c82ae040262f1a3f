"""One external predicate: the chain of tiers behind it, and what people have stated.

In: demands of an engine. Out: answers, united or shadowed, remembered while the source's state
lasts, and kept beyond it where the predicate's `max_age` says so. Invariants (semantics 4 to 6):
only the authority, or a declared closure, makes a key answered; each other key is open with a
reason; stated facts are never remembered, never kept and never hidden.
Example: `Chain.answer(Demand(tier, (0,), (("C001",),)))`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from constat.evaluation import Answer, Demand, Opening
from constat.logic import OPEN, Row, has_null_cells, null_policies
from constat.project.settings import PREFER_SOURCE
from constat.syntax import print_stated
from constat.tiers.asking import Asking, ChainAnswer, Contribution
from constat.tiers.cache_age import CACHE
from constat.tiers.database import DatabaseTier
from constat.tiers.memory import Memory
from constat.tiers.shadowing import Shadowing, merge_equal, unite
from constat.tiers.tier import (
    TierAnswer,
    content_hash,
    declared_closed,
    fallen_through,
    ground_key,
    key_of,
    keys_of,
    matched_keys,
    openings_for,
    pattern,
    rows_as_read,
    rows_for,
    stated_by,
    without_states,
)
from constat.tiers.user import USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from constat.evaluation import Conflict, Evidence, Observer, Portion, Range, Readable, Served
    from constat.logic import Predicate, Value
    from constat.tiers.cache import Kept
    from constat.tiers.user import UserFacts

_Failures = dict[Row, tuple[str, ...]]
_Read = tuple[tuple[int, ...], str]
_MOST_AFTER_FAILURE = 2_000
_CHEAP = 10


class Chain:
    """Answers demands for one predicate.

    Implements `ConcurrentPredicate`, `RelationPredicate` and `ServedPredicate`.
    """

    def __init__(  # noqa: PLR0913  what a chain is made of
        self,
        asking: Asking,
        user: UserFacts,
        *,
        closed_by: str,
        cost: int,
        conflicts: str = PREFER_SOURCE,
        scalar: bool = False,
        generation: Callable[[], int],
        observe: Observer,
        kept: Kept | None = None,
        source: str = "",
    ) -> None:
        self.cost = cost
        self.source = source
        self._asking = asking
        self._user = user
        self._closed_by = closed_by
        self._conflicts = conflicts
        predicate = asking.predicate
        # Of a single value there is one: it has the empty key.
        self._key = () if scalar else predicate.key or None
        self._generation = generation
        self._observe = observe
        self._kept = kept
        self._supposed: tuple[Portion, ...] = ()
        self._visible: Callable[[Answer], Answer] | None = None
        self._memory = Memory()
        self._seen = -1
        self._fills = False
        self._may_fill = False
        self._names_states = True
        # Of one predicate more columns may be read for one goal than for another.
        self._others: dict[_Read, Chain] = {}

    @property
    def may_fill(self) -> bool:
        """Whether a row was given with null cells of which somebody else may say more."""
        return self._may_fill or any(one.may_fill for one in self._others.values())

    def reading(self, predicate: Predicate) -> Chain:
        """Give the same predicate, of which other columns are read; its answers are its own."""
        read = _read(predicate)
        if read == _read(self._asking.predicate):
            return self
        found = self._others.get(read)
        if found is None:
            found = self._others[read] = self._copied()
            found._asking = self._asking.about(predicate)  # noqa: SLF001  a copy of our own
        return found

    def _copied(self) -> Chain:
        """Give a copy that remembers nothing of this one."""
        other = copy(self)
        other._memory, other._others, other._seen = Memory(), {}, -1  # noqa: SLF001  a copy of our own
        other._may_fill = False  # noqa: SLF001
        return other

    def filled(self) -> Chain:
        """Give the same predicate, where that word counts for who accepts it (semantics 26e)."""
        other = self._copied()
        other._fills, other._kept = True, None  # noqa: SLF001  a copy of our own
        return other

    def nameless(self) -> Chain:
        """Give the same predicate, whose evidence names no state of its source.

        That state is also one of what others alone may see.
        """
        other = self._copied()
        other._names_states = False  # noqa: SLF001  a copy of our own
        return other

    @property
    def key(self) -> tuple[int, ...] | None:
        """The columns of whose values there is one row each: none for a single value at all.

        `None` where rows are united.
        """
        return self._key

    def supposing(self, added: tuple[Portion, ...], visible: Callable[[Answer], Answer]) -> Chain:
        """Give the same predicate in a world where somebody states more, and rows are hidden."""
        other = copy(self)
        other._others = {}  # noqa: SLF001  a copy of our own
        other._supposed, other._visible = added, visible  # noqa: SLF001  a copy of our own
        return other

    def conflicts_of(self, row: Sequence[Value | None]) -> tuple[Conflict, ...]:
        """Say who says another value for the key of a row; nobody is asked who is dear.

        `None` is a column that is left out; it is none of the key.
        """
        predicate = self._asking.predicate
        if self._key is None:
            return ()
        other = copy(self)
        other._asking, other._kept = self._asking.near(), None  # noqa: SLF001  a copy of our own
        other._memory = Memory()  # noqa: SLF001
        key = tuple(cell for place in self._key if (cell := row[place]) is not None)
        found = other.answer(Demand(predicate, self._key, (key,)))
        return found.conflicts

    def forget(self) -> None:
        """Drop what is remembered: the next demand asks the tiers."""
        self._memory.forget()
        for one in self._others.values():
            one.forget()

    def state(self) -> str | None:
        """Name the state of everything that rows come from; `None` where that has no name.

        The configuration and the declaration are not part of it; see `cache_concerns`.
        """
        stated = ",".join(self._user.active(self._asking.predicate))
        found = self._asking.state()
        return None if found is None else f"{found}; stated {stated}"

    def estimate(self) -> float | None:
        """Guess how many rows there are; `None` where that takes an answer."""
        tier = self._asking.sole()
        predicate = self._asking.predicate
        return tier.estimate(predicate) if isinstance(tier, DatabaseTier) else None

    def guess(self, ranges: tuple[Range, ...]) -> float | None:
        """Guess how many rows lie within ranges, by what their database knows of its columns."""
        tier = self._asking.sole()
        predicate = self._asking.predicate
        return tier.guess(predicate, ranges) if isinstance(tier, DatabaseTier) else None

    def texts(self, column: int) -> frozenset[str] | None:
        """Give the texts in a column, for a person who may have mistyped one of them.

        `None` where they cannot be told, or where asking for them costs much.
        """
        tier = self._asking.sole()
        predicate = self._asking.predicate
        if isinstance(tier, DatabaseTier):
            return tier.texts(predicate, column)
        if self.cost > _CHEAP:
            return None
        answer = self.answer(Demand(predicate, (), ((),)))
        if not answer.answered:
            return None
        rows = (row for portion in answer.portions for row in portion.rows)
        return frozenset(cell for row in rows if isinstance(cell := row[column], str))

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out all rows where the database alone tells them, and no others are stated."""
        tier = self._asking.sole()
        if demand.columns or self._kept is not None or self._fills:
            return None
        if not isinstance(tier, DatabaseTier):
            return None
        stated = self._user.answer(demand)
        if stated.portions or stated.openings:
            return None
        found = tier.as_relation(demand.predicate, most_rows, demand.ranges)
        if found is None or self._names_states:
            return found
        return replace(found, evidence=replace(found.evidence, snapshot=None))

    def served(self, demand: Demand, *, cheaply: bool) -> Served | str:
        """Say how a server gives all rows, where its database alone tells them; or why not."""
        tier = self._asking.sole()
        if not isinstance(tier, DatabaseTier):
            return ""
        if demand.columns or self._kept is not None or self._fills:
            return "answers of it are kept, or filled"
        if self._supposed or self._visible is not None:
            return "it is supposed to be otherwise"
        stated = self._user.answer(demand)
        if stated.portions or stated.openings:
            return "somebody has stated facts of it"
        found = tier.served(demand.predicate, cheaply=cheaply)
        if isinstance(found, str) or self._names_states:
            return found
        return replace(found, evidence=replace(found.evidence, snapshot=None))

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        chain = self.reading(demand.predicate)
        if chain is not self:
            return chain.answer(demand)
        answer = self._passing(demand) if demand.passing else self._answer(demand)
        if not self._names_states:
            answer = without_states(answer)
        return answer if self._kept is None else self._kept.labelled(answer)

    def _passing(self, demand: Demand) -> Answer:
        """Answer without remembering it; not where answers are kept, which would be told later."""
        if self._kept is not None:
            return Answer()
        before, seen = self._memory, self._seen
        self._memory = Memory()
        try:
            return self._answer(demand)
        finally:
            self._memory = before
            if seen != self._seen:
                before.forget()

    def _answer(self, demand: Demand) -> Answer:
        generation = self._generation()
        if generation != self._seen:
            self._memory.forget()
            self._seen = generation
        key = self._key
        if key is None:
            chain, _ = self._settle(demand)
            stated = self._users(demand)
            return _joined(chain, Answer(stated.portions, stated.openings))
        if set(key) <= set(demand.columns):
            places = [demand.columns.index(column) for column in key]
            answer = self._by_key(demand, _distinct(demand, places))
            return _narrowed(answer, demand, key)
        return self._searched(demand, key)

    def _searched(self, demand: Demand, key: tuple[int, ...]) -> Answer:
        """Answer a demand that does not bind the key: find key values, then ask for those.

        A row found here may be shadowed by a higher tier's row that the demand does not match.
        """
        asked = self._find(demand)
        stated = self._stated(demand)
        if self._says_all(demand, asked, stated):
            return self._told_at_once(demand, asked)
        over = demand.clock.over
        told = [one.answer for one in asked.contributions] + [stated]
        rows = _bounded(
            [row for one in told for portion in one.portions for row in over(portion.rows)],
            demand,
            asked,
        )
        openings = [opening for one in told for opening in one.openings]
        found = list(keys_of(over(rows), key))
        found += filter(None, (ground_key(one.row, key) for one in openings))
        by_key = self._by_key(demand, tuple(dict.fromkeys(found)))
        narrowed = _narrowed(by_key, demand, key)
        unsettled = [row for row in over(rows) if key_of(row, key) not in by_key.answered]
        wanted = set(asked.complete)
        doubtful = {
            one for row in over(unsettled) for one in matched_keys(row, demand.columns, wanted)
        }
        complete = [one for one in asked.complete if one not in doubtful]
        loose = [one for one in openings if ground_key(one.row, key) is None]
        chain = self._concluded(demand, asked, [], loose)
        return Answer(
            narrowed.portions,
            tuple(dict.fromkeys((*narrowed.openings, *chain.openings))),
            (chain.answered - set(asked.complete)) | frozenset(complete),
            (*chain.authorities, *by_key.authorities),
            by_key.conflicts,
        )

    def _find(self, demand: Demand) -> ChainAnswer:
        """Ask the tiers for rows of any key, or the answers that are kept for this."""
        if self._kept is None:
            return self._asking.ask(demand)
        known, missing = self._kept.found.recall(demand, self._seen)
        asked = ChainAnswer()
        if missing:
            asked = self._asking.ask(replace(demand, keys=missing))
            lasting = frozenset(asked.complete.keys() - asked.failures.keys())
            told = [one.answer for one in asked.contributions]
            fresh = Answer(
                tuple(portion for one in told for portion in one.portions),
                tuple(opening for one in told for opening in one.openings),
                lasting,
                tuple(_authorities(asked).values()),
            )
            self._kept.found.keep(demand.columns, fresh, demand.clock)
        if known.answered:
            told_before = TierAnswer(
                known.portions, known.openings, known.answered, {}, known.authorities
            )
            asked.contributions.insert(0, Contribution(CACHE, told_before))
            asked.complete.update(dict.fromkeys(known.answered, CACHE))
        return asked

    def _says_all(self, demand: Demand, asked: ChainAnswer, stated: TierAnswer) -> bool:
        """Tell whether one tier has told all rows there are, one for each key, and nobody else any.

        Then no row can be shadowed by another, and none has to be asked for by its key.
        """
        if demand.columns or self._kept is not None or self._visible is not None:
            return False
        assumed = any(one.assumed for one in _authorities(asked).values())
        if assumed or stated.portions or stated.openings or not asked.complete:
            return False
        if any(null_policies(demand.predicate)) and not self._asking.is_alone():
            return False  # another tier may fill a null cell
        return _speaks_alone(demand, asked, self._key or ())

    def _told_at_once(self, demand: Demand, asked: ChainAnswer) -> Answer:
        """Give all rows as they came; they answer for each key from now on."""
        portions = [portion for one in asked.contributions for portion in one.answer.portions]
        answer = self._concluded(demand, asked, portions, ())
        self._memory.keep((), answer)
        return answer

    def _by_key(self, asking: Demand, keys: tuple[Row, ...]) -> Answer:
        """Answer for key values: the chain shadowed, then what people state below it."""
        key = self._key or ()
        demand = replace(asking, columns=key, keys=keys)
        if not keys:
            return Answer()
        chain, failures = self._settle(demand)
        if self._visible is not None:
            # What is supposed not to be is no word against what is stated.
            hidden = self._hidden(demand)
            chain = self._visible(chain)
            chain = replace(chain, openings=tuple(dict.fromkeys((*chain.openings, *hidden))))
        stated = self._stated(demand)
        if not stated.portions and not stated.openings:
            return chain
        shadowing = Shadowing(demand, key, self._conflicts, self._observe, fill=self._fills)
        rows = (row for portion in stated.portions for row in portion.rows)
        shadowing.stand_above(chain, (key_of(row, key) for row in rows))
        shadowing.add(Contribution(USER, stated, failures))
        self._may_fill |= bool(shadowing.fillable)
        portions, openings = chain.portions, chain.openings
        if shadowing.revoked:
            portions = tuple(_without(chain.portions, shadowing.revoked))
            openings = tuple(one for one in openings if one.row not in shadowing.revoked)
        return Answer(
            (*portions, *merge_equal(shadowing.portions)),
            tuple(dict.fromkeys((*openings, *shadowing.openings))),
            chain.answered,
            chain.authorities,
            (*chain.conflicts, *_told_conflicts(shadowing)),
        )

    def stated(self, demand: Demand) -> tuple[Portion, ...]:
        """Give what people state of some keys, whatever the source says of them."""
        return self._users(demand).portions

    def _stated(self, demand: Demand) -> TierAnswer:
        """Give what people state, and what is supposed that they do."""
        stated = self._users(demand)
        if self._visible is not None:
            stated = replace(stated, portions=self._visible(Answer(stated.portions)).portions)
        wanted = set(demand.keys) if self._supposed else set()
        supposed = (
            one for one in self._supposed if matched_keys(one.rows[0], demand.columns, wanted)
        )
        shown = _read_portions(supposed, demand.predicate)
        return replace(stated, portions=(*stated.portions, *shown))

    def _users(self, demand: Demand) -> TierAnswer:
        """Give what people state, of the columns that are read."""
        stated = self._user.answer(demand)
        if not demand.predicate.unread:
            return stated
        return replace(stated, portions=tuple(_read_portions(stated.portions, demand.predicate)))

    def _hidden(self, demand: Demand) -> tuple[Opening, ...]:
        """Give what people state and is supposed not to be."""
        stated = self._users(demand).portions
        return () if self._visible is None else self._visible(Answer(stated)).openings

    def _settle(self, demand: Demand) -> tuple[Answer, _Failures]:
        """Give the tiers' answer, from memory where there is one."""
        known, missing = self._recall(demand)
        if not missing:
            return known, {}
        left = replace(demand, keys=missing)
        asked = self._asking.ask(left)
        self._ask_of_nulls(left, asked)
        if len(asked.failures) > _MOST_AFTER_FAILURE:
            _drop_failed(left, asked)
        conflicts: dict[Row, list[Conflict]] = {}
        if left.predicate.key and _speaks_alone(left, asked, left.predicate.key):
            told = (one.answer.portions for one in asked.contributions)
            portions: Iterable[Portion] = [portion for each in told for portion in each]
            openings: Iterable[Opening] = ()
        elif left.predicate.key:
            policy, columns = self._conflicts, left.predicate.key
            shadowing = Shadowing(left, columns, policy, self._observe, fill=self._fills)
            for contribution in asked.contributions:
                shadowing.add(contribution)
            self._may_fill |= bool(shadowing.fillable)
            portions, openings = merge_equal(shadowing.portions), shadowing.openings
            conflicts = shadowing.conflicts
        else:
            portions, openings = unite(left, asked.contributions)
        fresh = self._concluded(left, asked, portions, openings)
        # What is remembered has no room for a conflict, and none may be forgotten.
        lasting = fresh.answered - asked.failures.keys() - conflicts.keys()
        kept = Answer(fresh.portions, fresh.openings, lasting, fresh.authorities)
        self._memory.keep(left.columns, kept)
        if self._kept is not None:
            self._kept.settled.keep(left.columns, kept, left.clock)
        failures = {key: tuple(t for t, _ in found) for key, found in asked.failures.items()}
        found = tuple(one for each in conflicts.values() for one in each)
        return replace(_joined(known, fresh), conflicts=found), failures

    def _ask_of_nulls(self, demand: Demand, asked: ChainAnswer) -> None:
        """Ask the tiers below of keys whose rows have null cells; first only note that one can."""
        if not demand.predicate.key or not any(null_policies(demand.predicate)):
            return
        answers = (one.answer for one in asked.contributions)
        portions = (portion for answer in answers for portion in answer.portions)
        rows = (row for portion in portions for row in portion.rows if has_null_cells(row))
        keys = tuple(dict.fromkeys(key_of(row, demand.columns) for row in rows))
        if keys and self._asking.has_below():
            self._may_fill = True
            if self._fills:
                wanted = replace(demand, keys=keys)
                asked.contributions += self._asking.ask_below(wanted)

    def _recall(self, demand: Demand) -> tuple[Answer, tuple[Row, ...]]:
        """Give what was heard of the present state of the source, then what is kept."""
        known, missing = self._memory.recall(demand)
        if not missing or self._kept is None:
            return known, missing
        left = replace(demand, keys=missing)
        before, missing = self._kept.settled.recall(left, self._seen)
        return _joined(known, before), missing

    def _concluded(
        self,
        demand: Demand,
        asked: ChainAnswer,
        portions: Iterable[Portion],
        openings: Iterable[Opening],
    ) -> Answer:
        """Say for each key whether it is answered, and open those that are not."""
        opened = dict.fromkeys(openings)
        answered = set(asked.complete)
        authorities = _authorities(asked)
        told, keys = _opened_at_once(demand, asked)
        opened.update(told)
        if not asked.failures and not any(one.assumed for one in authorities.values()):
            keys = [key for key in demand.clock.over(keys) if key not in asked.complete]
        for key in demand.clock.over(keys):
            reasons = asked.failures.get(key, [])
            if key in asked.complete:
                opened.update(self._doubts(demand, key, reasons, authorities))
            elif self._closed_by and not reasons:
                closure = declared_closed(self._closed_by, demand.predicate)
                row = pattern(demand, key)
                opened[Opening(row, closure.text, "closed", closure)] = None
                answered.add(key)
            else:
                opened[_unknown(demand, key, reasons, asked.remarks.get(key, ""))] = None
        return Answer(
            tuple(portions), tuple(opened), frozenset(answered), tuple(authorities.values())
        )

    def _doubts(
        self,
        demand: Demand,
        key: Row,
        reasons: list[tuple[str, str]],
        authorities: Mapping[object, Evidence],
    ) -> dict[Opening, None]:
        """Give what keeps a complete key from being closed in the hard reading."""
        row = pattern(demand, key)
        if reasons:
            assumption = fallen_through([tier for tier, _ in reasons], demand.predicate)
            return {Opening(row, reasons[0][1], reasons[0][0], assumption): None}
        word = [one for one in authorities.values() if one.assumed]
        if word:
            closure = declared_closed(f"tier {word[0].tier}", demand.predicate)
            return {Opening(row, closure.text, word[0].tier, closure): None}
        return {}


def _read(predicate: Predicate) -> _Read:
    """Say what of a predicate is read, and whether rows that are alike in that are one."""
    return predicate.unread, predicate.attributes.get("distinct", "")


def _unknown(demand: Demand, key: Row, reasons: list[tuple[str, str]], remark: str) -> Opening:
    if reasons:
        text = "; ".join(reason for _, reason in reasons)
        return Opening(pattern(demand, key), text, reasons[-1][0])
    reason = f"nothing tells all facts of {demand.predicate.name}: it has no source that does"
    return Opening(pattern(demand, key), remark or reason, "unresolved")


def _opened_at_once(
    demand: Demand, asked: ChainAnswer
) -> tuple[dict[Opening, None], Sequence[Row]]:
    """Open everything where very many keys failed; give that opening, and the keys left to tell of.

    An opening for each key would cost more than the rows that were not read.
    """
    if len(asked.failures) <= _MOST_AFTER_FAILURE:
        return {}, demand.keys
    tier, reason = next(iter(asked.failures.values()))[-1]
    everything = Opening((OPEN,) * demand.predicate.arity, reason, tier)
    over = demand.clock.over
    return {everything: None}, [key for key in over(demand.keys) if key not in asked.failures]


def _drop_failed(demand: Demand, asked: ChainAnswer) -> None:
    """Leave rows out whose keys failed: the opening for everything stands for them too."""
    asked.contributions = [
        replace(one, answer=replace(one.answer, portions=_unfailed(one.answer, demand, asked)))
        for one in asked.contributions
    ]


def _unfailed(answer: TierAnswer, demand: Demand, asked: ChainAnswer) -> tuple[Portion, ...]:
    found = []
    for portion in answer.portions:
        over = demand.clock.over
        rows = [
            row for row in over(portion.rows) if key_of(row, demand.columns) not in asked.failures
        ]
        if rows:
            found.append(replace(portion, rows=tuple(rows)))
    return tuple(found)


def _bounded(rows: list[Row], demand: Demand, asked: ChainAnswer) -> list[Row]:
    """Leave most rows out that a search gave which has failed: an opening stands for all of them.

    Whatever kept it from giving all would keep their keys from being asked for one by one.
    """
    if not asked.failures or len(rows) <= _MOST_AFTER_FAILURE:
        return rows
    keys = keys_of(demand.clock.over(rows), demand.columns)
    short = [key in asked.failures for key in keys]
    left = _MOST_AFTER_FAILURE
    bounded = []
    for row, failed in zip(rows, short, strict=True):
        if not failed or left > 0:
            bounded.append(row)
            left -= failed
    return bounded


def _speaks_alone(demand: Demand, asked: ChainAnswer, key: tuple[int, ...]) -> bool:
    """Tell whether one tier alone has rows, one for each key, and nothing weakens them."""
    told = [one.answer for one in asked.contributions]
    speaking = [one for one in told if one.portions]
    if len(speaking) != 1 or asked.failures or any(one.openings for one in told):
        return False
    portions = speaking[0].portions
    if any(one.assumption is not None or one.evidence.assumed for one in portions):
        return False
    over = demand.clock.over
    keys = {one for portion in portions for one in keys_of(over(portion.rows), key)}
    return len(keys) == sum(len(portion.rows) for portion in portions)


def _read_portions(portions: Iterable[Portion], predicate: Predicate) -> Iterator[Portion]:
    """Yield what people state without the columns that nobody reads."""
    for portion in portions:
        rows = rows_as_read(portion.rows, predicate)
        told, word = portion.evidence, portion.assumption
        if predicate.unread and told.row_count == len(rows):
            told = replace(told, content_hash=content_hash(rows, predicate.kinds))
        author = told.author
        if predicate.unread and told.tier == USER and author is not None:
            told = replace(told, query=print_stated(predicate, rows[0]))
            word = stated_by(author, predicate, rows[0])
        yield replace(portion, rows=rows, evidence=told, assumption=word)


def _authorities(asked: ChainAnswer) -> dict[object, Evidence]:
    speaking = set(asked.complete.values())
    return {
        id(evidence): evidence
        for contribution in asked.contributions
        if contribution.tier in speaking
        for evidence in contribution.answer.authorities
    }


def _distinct(demand: Demand, places: list[int]) -> tuple[Row, ...]:
    return tuple(dict.fromkeys(keys_of(demand.clock.over(demand.keys), places)))


def _without(portions: Iterable[Portion], revoked: set[Row]) -> Iterator[Portion]:
    for portion in portions:
        rows = tuple(row for row in portion.rows if row not in revoked)
        if rows:
            yield type(portion)(rows, portion.evidence, portion.assumption)


def _told_conflicts(shadowing: Shadowing) -> Iterator[Conflict]:
    return (one for each in shadowing.conflicts.values() for one in each)


def _narrowed(answer: Answer, demand: Demand, key: tuple[int, ...]) -> Answer:
    """Give the part of an answer by key that a demand asks for."""
    portions = []
    for portion in answer.portions:
        rows = rows_for(portion.rows, demand.columns, demand.keys, demand.clock)
        if rows:
            portions.append(type(portion)(rows, portion.evidence, portion.assumption))
    answered: frozenset[Row] = frozenset()
    if set(key) <= set(demand.columns):
        places = [demand.columns.index(column) for column in key]
        narrow = keys_of(demand.clock.over(demand.keys), places)
        pairs = zip(demand.keys, narrow, strict=True)
        answered = frozenset([one for one, found in pairs if found in answer.answered])
    openings = openings_for(answer.openings, demand.columns, demand.keys, demand.clock)
    return Answer(tuple(portions), openings, answered, answer.authorities, answer.conflicts)


def _joined(one: Answer, other: Answer) -> Answer:
    if not one.portions and not one.openings and not one.answered:
        return other
    return Answer(
        (*one.portions, *other.portions),
        tuple(dict.fromkeys((*one.openings, *other.openings))),
        one.answered | other.answered,
        (*one.authorities, *other.authorities),
        (*one.conflicts, *other.conflicts),
    )
