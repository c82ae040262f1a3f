"""Compare the rules that a proof rests on with the rules of today.

In: a certificate that the checker accepted and the analysed program. Out: a sentence for each rule
or declaration that is not as it was, and apart from them one for each of its words that is another:
they turn no verdict round. Invariants: a rule that the proof does not use has no part in it, nor
have comments; where an absence or an aggregate rests on all rules of a predicate, a new rule counts
as well. Example: another rule for `is_vip` leaves a proof by its first rule standing, and makes a
disproof stale.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from constat.proof.comparison import said_by, said_otherwise
from constat.proof.decoding import without_wildcards
from constat.proof.encoding import encode_program
from constat.proof.projection import (
    facts_apart_as_in,
    reading_as_in,
    with_projected_negations,
    with_projections,
)
from constat.session.asked_goals import with_asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.proof.encoding import EncodedProgram


_OF_PLAN: Final = re.compile(r"plan\.[0-9a-f]{64}\Z")
_MOST_NAMES: Final = 5
_PLAN: Final = (
    "it is the answer of a plan, whose own relations are none of the project ({}): --source reads "
    "again what the project has, and `constat solve --plan FILE` proves the answer anew"
)


class PresentRules:
    """The rules of a program as certificates write them."""

    def __init__(self, program: AnalysedProgram, *, given: bool = False) -> None:
        self._base = program
        # A certificate has given columns, or a relation of what was asked of them.
        self._program = with_projected_negations(program) if given else with_projections(program)
        self._encoded: dict[str, EncodedProgram | None] = {}

    def changes(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield what follows from other declarations and rules than the certificate has."""
        present = self._as_read_in(document)
        if not present.is_pinned(document):
            own = present.of_plan(document)
            if own:
                shown = [
                    *map(_in_one_line, sorted(own)[:_MOST_NAMES]),
                    *["..."][: len(own) > _MOST_NAMES],
                ]
                yield _PLAN.format(", ".join(shown))
            yield from present.declarations(document, own)
            yield from present.rules(document, own)

    def wording(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield what is said otherwise, of what means the same: sentences, codes, units, names."""
        present = self._as_read_in(document)
        if not present.is_pinned(document):
            yield from dict.fromkeys(present.words(document))

    def _as_read_in(self, document: Mapping[str, Any]) -> PresentRules:
        """Give the rules over the columns that are read in a certificate."""
        base, _ = facts_apart_as_in(document, self._base)
        asked = with_asked(document, base)
        shown = reading_as_in(document, asked.program)
        given = any(one.get("given") for one in document["declarations"])
        if given or asked is not self._base or shown is not asked.program:
            return PresentRules(replace(asked, program=shown), given=given)
        return self

    def is_pinned(self, document: Mapping[str, Any]) -> bool:
        """Whether all declarations and rules below the goal are the same, word for word."""
        encoded = self._of(document["header"]["goal"][0])
        return encoded is not None and encoded.pin == document["header"]["program"]

    def of_plan(self, document: Mapping[str, Any]) -> frozenset[str]:
        """Name the relations that a plan declares and the project does not; none of other goals."""
        goal = document["header"]["goal"][0]
        of_goal = (one["id"] for one in document["rules"] if one["head"][0] == goal)
        if self._of(goal) is not None or not any(map(_OF_PLAN.match, of_goal)):
            return frozenset()
        return frozenset(one for one in _used_predicates(document) if self._of(one) is None)

    def declarations(
        self, document: Mapping[str, Any], own: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """Yield which declarations mean something else, but for those that are a plan's `own`."""
        used = _used_predicates(document) - own
        for declared in document["declarations"]:
            name = declared["name"]
            if name not in used:
                continue
            encoded = self._of(name)
            if encoded is None:
                yield f"{name} is not declared any more"
            elif _shape(declared) not in map(_shape, _named(encoded.declarations)):
                yield f"the declaration of {name} has changed"

    def rules(
        self, document: Mapping[str, Any], own: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """Yield which rules mean something else, or are others, but for those of `own`."""
        rules = document["rules"]
        for number in sorted(_applied_rules(document)):
            rule = rules[number]
            if rule["head"][0] not in own and _content(rule) not in self._contents(rule["head"][0]):
                yield f"rule {_in_one_line(rule['id'])} has changed"
        for name in sorted(_whole_predicates(document) - own):
            then = Counter(_content(rule) for rule in rules if rule["head"][0] == name)
            if then != self._contents(name):
                yield f"the rules of {name} have changed"

    def words(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield what is said otherwise of each declaration and rule that is used and the same."""
        used = _used_predicates(document)
        for declared in document["declarations"]:
            encoded = self._of(declared["name"]) if declared["name"] in used else None
            for now in _named(encoded.declarations) if encoded is not None else ():
                if _shape(declared) == _shape(now):
                    yield from _otherwise(declared["name"], declared, now)
        whole = _whole_predicates(document)
        applied = _applied_rules(document)
        for number, rule in enumerate(document["rules"]):
            if number in applied or rule["head"][0] in whole:
                yield from self._words_of(rule)

    def _words_of(self, rule: Mapping[str, Any]) -> Iterator[str]:
        """Yield what is said otherwise of a rule; of two that mean the same, one may say it."""
        means = _content(rule)
        alike = [one for one in self._rules_of(rule["head"][0]) if _content(one) == means]
        if alike and all(said_by(one, rule) != said_by(rule, rule) for one in alike):
            now = min(alike, key=lambda one: one["id"] != rule["id"])
            yield from _otherwise(f"rule {_in_one_line(rule['id'])}", rule, now)

    def _contents(self, predicate: str) -> Counter[str]:
        return Counter(map(_content, self._rules_of(predicate)))

    def _rules_of(self, predicate: str) -> list[Mapping[str, Any]]:
        encoded = self._of(predicate)
        written = [] if encoded is None else _named(encoded.rules)
        return [rule for rule in written if rule["head"][0] == predicate]

    def _of(self, predicate: str) -> EncodedProgram | None:
        if predicate not in self._encoded:
            known = predicate in self._program.program.predicates
            self._encoded[predicate] = encode_program(self._program, predicate) if known else None
        return self._encoded[predicate]


def _applied_rules(document: Mapping[str, Any]) -> frozenset[int]:
    """Give the rules of nodes and of summaries."""
    used = {node["rule"] for node in document["nodes"] if node["kind"] == "rule"}
    return frozenset(used | {summary["rule"] for summary in document["summaries"]})


def _used_rules(document: Mapping[str, Any]) -> frozenset[int]:
    """Give the rules that are applied, and those by which the closure was checked."""
    entries = document["closure"]["entries"]
    return _applied_rules(document) | {rule for entry in entries for rule, _ in entry["orders"]}


def _whole_predicates(document: Mapping[str, Any]) -> frozenset[str]:
    """Name the predicates of which all rules count: those that were closed, and empty ones."""
    closed = {entry["predicate"] for entry in document["closure"]["entries"]}
    return _without_rules(document) | closed


def _used_predicates(document: Mapping[str, Any]) -> frozenset[str]:
    """Name the predicates that a proof speaks about, also those that it only calls absent."""
    found = {document["header"]["goal"][0]}
    found |= {node["fact"][0] for node in document["nodes"]}
    for member in ("facts", "coverage", "open"):
        found |= {one["predicate"] for one in document[member]}
    found |= {entry["predicate"] for entry in document["closure"]["entries"]}
    for number in _used_rules(document):
        found.update(_in_body(document["rules"][number]["body"]))
    return frozenset(found)


def _in_body(body: Sequence[Any]) -> Iterator[str]:
    """Yield the predicates of literals, those inside aggregates included."""
    for literal in body:
        if literal[0] == "a":
            yield from _in_body(literal[4])
        elif literal[0] != "?":
            yield literal[1][0]


def _without_rules(document: Mapping[str, Any]) -> frozenset[str]:
    """Name the predicates that are empty because nothing gives them: no source and no rule."""
    derived = {rule["head"][0] for rule in document["rules"]}
    empty = {one["name"] for one in document["declarations"] if not one["external"]} - derived
    return frozenset(empty & _used_predicates(document))


def _in_one_line(name: str) -> str:
    """Show a name that a file gives: a line end in it must not look like one of ours."""
    return name if name.isprintable() else json.dumps(name)


def _named(written: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [one for one in written if isinstance(one, dict)]


def _shape(declared: Mapping[str, Any]) -> tuple[object, ...]:
    kinds = tuple(kind for _, kind in declared["columns"])
    nulls = tuple(place for place in enumerate(declared.get("nulls", ())) if place[1] is not None)
    return declared["name"], kinds, declared["external"], nulls, tuple(declared.get("given", ()))


def _content(rule: Mapping[str, Any]) -> str:
    """Give what a rule means: head, body, confidence, and whether somebody has to approve it."""
    assumed = rule["assumption"] is not None
    parts = [
        rule["head"],
        without_wildcards(rule["body"]),
        rule["variables"],
        rule["confidence"],
        assumed,
    ]
    return json.dumps(parts, sort_keys=True)


def _otherwise(whose: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield each text that is another one: what it is, what the certificate and the project say."""
    for what, before, after in said_otherwise(then, now):
        told = f"the certificate says {before or 'nothing'}, the project says {after or 'nothing'}"
        yield f"the {what} of {whose} has changed: {told}"
