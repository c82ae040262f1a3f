"""Ask the tiers of a predicate in order, until one that can has said that this is all."""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.evaluation import (
    Agent,
    Attestation,
    LimitReachedError,
    Origin,
    Quote,
    Review,
    TierAsked,
    misfit,
)
from constat.frozen import frozen, slotted
from constat.logic import OPEN, UNREAD_CELL, NullCell, format_value, null_policies
from constat.project import BUILT_IN_TIERS
from constat.tiers.declarations import CERTIFICATES
from constat.tiers.tier import (
    API,
    DOCUMENT,
    SnapshotTier,
    TierAnswer,
    failed,
    read_canonical,
    rows_for,
    scrubbed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.evaluation import Demand, Evidence, Observer, Portion
    from constat.logic import Column, Predicate, Row, Value
    from constat.tiers.tier import Tier

# What is read fits its evidence as certificates ask for it, or `ValueError` is raised; so a kept
# word is the word that was said, or none.

_AGENT = 4
_QUOTE = 5
_REVIEW = 2


def attestation_text(one: Attestation | None) -> list[object] | None:
    """Write an attestation as JSON values."""
    if one is None:
        return None
    agent, quote, review = one.agent, one.quote, one.reviewer
    return [
        [agent.kind, agent.name, agent.version, agent.digest],
        one.prompt,
        one.response,
        None if quote is None else [quote.document, quote.text, quote.start, quote.end, quote.hash],
        None if review is None else [review.name, review.at],
        one.note,
    ]


def read_attestation(written: object, origin: Origin, author: str | None) -> Attestation | None:
    """Read an attestation; raises `ValueError` where it does not fit the evidence."""
    if written is None:
        return None
    agent, prompt, response, quote, review, note = _listed(written, 6)
    kind, name, version, digest = _listed(agent, _AGENT)
    found = Attestation(
        Agent(_text(kind), _text(name), _maybe(version), _maybe(digest)),
        _maybe(prompt),
        _maybe(response),
        None if quote is None else _quote(quote),
        None if review is None else Review(*map(_text, _listed(review, _REVIEW))),
        _maybe(note),
    )
    problem = unfit(found, origin, author)
    if problem:
        raise ValueError(f"holds an attestation that does not fit: {problem}")
    return found


def unfit(attestation: Attestation | None, origin: Origin, author: str | None) -> str:
    """Tell why evidence of this origin may not have the attestation; empty where it may."""
    if attestation is None:
        return ""
    if not origin.assumed or origin is Origin.UNRESOLVED:
        return f"rows of origin {origin.value} are not attested"
    return misfit(attestation, origin.agent, author)


def unfit_evidence(evidence: Evidence) -> str:
    """Tell why a project's own tier may not give this evidence; empty where it may."""
    if evidence.origin in {Origin.DERIVED, Origin.UNRESOLVED} or evidence.proved is not None:
        return f"origin {evidence.origin.value} is not a tier's to give"
    if evidence.exhaustive is not None and evidence.origin is not Origin.API:
        return "only an API is declared to give all there is"
    said = evidence.attestation
    if evidence.origin is Origin.DOCUMENT and (said is None or said.quote is None):
        return "what a document says has a place in it: attest it with a quote"
    return unfit(evidence.attestation, evidence.origin, evidence.author)


def _quote(written: object) -> Quote:
    document, text, start, end, found = _listed(written, _QUOTE)
    if type(start) is not int or type(end) is not int:
        raise ValueError("holds a quote without a place")
    return Quote(_text(document), _text(text), start, end, _maybe(found))


def _listed(value: object, length: int) -> Sequence[object]:
    if not isinstance(value, list) or len(value) != length:
        raise ValueError("holds an attestation of another form")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("holds something else where a text belongs")  # noqa: TRY004  callers catch one type
    return value


def _maybe(value: object) -> str | None:
    return None if value is None else _text(value)


_DEAR: Final = 1_000
_FEW: Final = 20
_OURS: Final = frozenset({*BUILT_IN_TIERS, API, CERTIFICATES, DOCUMENT})


@frozen
class Contribution:
    """What one tier said, and which tiers had failed before it for which keys."""

    tier: str
    answer: TierAnswer
    fallen: Mapping[Row, tuple[str, ...]] = field(default_factory=dict, hash=False)


@slotted
class ChainAnswer:
    """The contributions in order; the keys the authority completed; why others are unknown.

    `remarks` are of tiers that answered and do not know.
    """

    contributions: list[Contribution] = field(default_factory=list)
    complete: dict[Row, str] = field(default_factory=dict)
    failures: dict[Row, list[tuple[str, str]]] = field(default_factory=dict)
    remarks: dict[Row, str] = field(default_factory=dict)


class Asking:
    """The tiers of one predicate."""

    def __init__(
        self,
        predicate: Predicate,
        tiers: Sequence[tuple[str, Tier | None]],
        authority: str,
        secrets: Sequence[str],
        observe: Observer,
    ) -> None:
        self.predicate = predicate
        self._tiers = tiers
        self._authority = authority
        self._secrets = secrets
        self._observe = observe

    def sole(self) -> Tier | None:
        """Give the authority where it is the first tier to be asked; else nothing."""
        for name, tier in self._tiers:
            if tier is not None and tier.configured(self.predicate):
                return tier if name == self._authority else None
        return None

    def about(self, predicate: Predicate) -> Asking:
        """Give the same for the predicate with other columns read."""
        return Asking(predicate, self._tiers, self._authority, self._secrets, self._observe)

    def is_alone(self) -> bool:
        """Tell whether only one tier is ever asked, so that nobody says more of its rows."""
        asked = [one for _, one in self._tiers if one is not None]
        return sum(one.configured(self.predicate) for one in asked) == 1

    def near(self) -> Asking:
        """Give the same without the tiers that a question costs much at, such as models."""
        tiers = [(name, one) for name, one in self._tiers if one is None or one.cost < _DEAR]
        return Asking(self.predicate, tiers, self._authority, self._secrets, self._observe)

    def state(self) -> str | None:
        """Name the state that the tiers read; `None` where one of them has no states."""
        names = []
        for name, tier in self._tiers:
            if tier is None or not tier.configured(self.predicate):
                continue
            if name == BUILT_IN_TIERS[1]:
                names.append(name)
            elif isinstance(tier, SnapshotTier):
                state = tier.state(self.predicate)
                if state is None:
                    return None
                names.append(f"{name} {state}")
            else:
                return None
        return ", ".join(names)

    def ask(self, demand: Demand) -> ChainAnswer:
        """Ask until every key is complete or no tier is left."""
        asked = ChainAnswer()
        left = demand.keys
        for name, tier in self._tiers:
            if not left:
                self._tell(name, 0, "skipped", "nothing is left to ask")
            elif tier is None or not tier.configured(self.predicate):
                self._tell(name, len(left), "skipped", "not configured")
            else:
                left = self._ask_one(name, tier, replace(demand, keys=left), asked)
        return asked

    def has_below(self) -> bool:
        """Whether a tier stands below the authority."""
        return next(self._below(), None) is not None

    def ask_below(self, demand: Demand) -> list[Contribution]:
        """Ask the tiers below the authority for rows; what they do not know weakens nothing.

        Who costs much is asked for a few keys only.
        """
        found = []
        for name, tier in self._below():
            if tier.cost < _DEAR or len(demand.keys) <= _FEW:
                answer = self._checked(name, tier, demand)
                self._tell(name, len(demand.keys), "partial", "asked for cells that are null")
                found.append(Contribution(name, TierAnswer(answer.portions)))
        return found

    def _below(self) -> Iterator[tuple[str, Tier]]:
        names = [name for name, _ in self._tiers]
        place = names.index(self._authority) if self._authority in names else len(names)
        for name, tier in self._tiers[place + 1 :]:
            if tier is not None and tier.configured(self.predicate):
                yield name, tier

    def _ask_one(
        self, name: str, tier: Tier, demand: Demand, asked: ChainAnswer
    ) -> tuple[Row, ...]:
        started = time.monotonic()
        answer = self._checked(name, tier, demand)
        seconds = time.monotonic() - started
        demand.clock.check()
        fallen = {
            key: tuple(earlier for earlier, _ in asked.failures[key])
            for key in (demand.clock.over(demand.keys) if asked.failures else ())
            if key in asked.failures
        }
        asked.contributions.append(Contribution(name, answer, fallen))
        for key, reason in demand.clock.over(answer.failures.items()):
            asked.failures.setdefault(key, []).append((name, reason))
        asked.remarks.update(answer.remarks)
        # A single value in the configuration closes its predicate, whatever its source.
        speaks = name in {self._authority, BUILT_IN_TIERS[1]}
        complete = answer.complete - answer.failures.keys() if speaks else frozenset()
        asked.complete.update(dict.fromkeys(complete, name))
        self._report(name, demand, answer, len(complete), seconds)
        return tuple([key for key in demand.clock.over(demand.keys) if key not in complete])

    def _report(
        self, name: str, demand: Demand, answer: TierAnswer, complete: int, seconds: float
    ) -> None:
        if complete == len(demand.keys):
            self._tell(name, complete, "complete", "", seconds)
        elif answer.failures and not answer.portions:
            reason = next(iter(answer.failures.values()))
            self._tell(name, len(demand.keys), "unknown", reason, seconds)
        else:
            reasons = [*answer.failures.values(), ""]
            self._tell(name, len(demand.keys), "partial", reasons[0], seconds)

    def _tell(self, tier: str, keys: int, outcome: str, detail: str, seconds: float = 0.0) -> None:
        self._observe(TierAsked(tier, self.predicate.name, keys, outcome, detail, seconds))

    def _checked(self, name: str, tier: Tier, demand: Demand) -> TierAnswer:
        try:
            answer = tier.answer(demand)
            if not isinstance(answer, TierAnswer):
                return failed(demand, f"tier {name} gave no TierAnswer")
            if name in _OURS:
                return answer
            return _fitting(name, demand, answer)
        except LimitReachedError:
            raise
        except Exception as problem:
            # A mistake in the project or its rules is the user's to mend, not a source that failed.
            if isinstance(problem, ConstatError) and name in _OURS:
                raise
            said = scrubbed(str(problem), self._secrets)
            return failed(demand, f"tier {name} failed: {type(problem).__name__}: {said}")


def _fitting(name: str, demand: Demand, answer: TierAnswer) -> TierAnswer:
    """Give the part of a foreign answer that was asked for, once it fits the declaration."""
    predicate = demand.predicate
    for portion in answer.portions:
        for row in demand.clock.over(portion.rows):
            if not _fits(row, predicate):
                return failed(demand, f"tier {name} gave a row that does not fit {predicate.name}")
    if not all(_fits(opening.row, predicate, open_slots=True) for opening in answer.openings):
        return failed(demand, f"tier {name} gave an open row that does not fit {predicate.name}")
    told = [portion.evidence for portion in answer.portions]
    for evidence in (*told, *answer.authorities):
        problem = unfit_evidence(evidence)
        if problem:
            return failed(demand, f"tier {name} gave evidence that does not fit: {problem}")
    keys = frozenset(demand.keys)
    return TierAnswer(
        tuple(_wanted(portion, demand) for portion in answer.portions),
        answer.openings,
        answer.complete & keys,
        {
            key: f"tier {name}: {scrubbed(str(reason), ())}"
            for key, reason in answer.failures.items()
            if key in keys
        },
        answer.authorities,
        {key: scrubbed(str(remark), ()) for key, remark in answer.remarks.items() if key in keys},
    )


def _wanted(portion: Portion, demand: Demand) -> Portion:
    rows = rows_for(portion.rows, demand.columns, demand.keys, demand.clock)
    return type(portion)(rows, portion.evidence, portion.assumption)


def _fits(row: object, predicate: Predicate, *, open_slots: bool = False) -> bool:
    """Tell whether a foreign row has the declared types in canonical form."""
    if not isinstance(row, tuple) or len(row) != predicate.arity:
        return False
    return all(
        (open_slots and slot is OPEN)
        or _fits_column(slot, column)
        or (isinstance(slot, NullCell) and _fits_null(slot, place, predicate))
        for place, (slot, column) in enumerate(zip(row, predicate.columns, strict=True))
    )


def _fits_null(cell: NullCell, place: int, predicate: Predicate) -> bool:
    """Tell whether a foreign row may have no value here: nobody reads it, or its column says so."""
    if place in predicate.unread:
        return cell is UNREAD_CELL
    told = (cell.policy, cell.predicate, cell.column)
    plain = cell.policy.is_empty or told == (null_policies(predicate)[place], predicate.name, place)
    return cell.policy is null_policies(predicate)[place] and plain and cell.made is None


def _fits_column(value: Value, column: Column) -> bool:
    try:
        again = read_canonical(format_value(value, column.kind), column)
    except (TypeError, ValueError):
        return False
    # 1, 1.0 and Decimal(1) are equal in Python, and are not the same value here.
    return again == value and type(again) is type(value)
