"""Read the leaves of a certificate again and tell which the sources no longer show."""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import READ
from constat.diagnostics import counted
from constat.evaluation import Demand, FillablePredicate, FilledRow, Origin, in_parts
from constat.frozen import frozen
from constat.logic import Atom, Constant, Kind, NullCell, Variable, format_value
from constat.proof.decoding import NullText, read_members
from constat.proof.encoding import canonical, sha256
from constat.proof.levels import millionths, spell
from constat.proof.projection import facts_apart_as_in, reading_as_in
from constat.proof.shown import attestation_hash
from constat.session.spelling import shown_row
from constat.tiers import is_cached, rule_facts
from constat.tiers.tier import read_canonical, stateless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.check import Report
    from constat.evaluation import Answer, Call, Evidence, ExternalPredicate, Externals, Portion
    from constat.logic import Predicate, Row, Term
    from constat.session.result import Result

# Rows are compared as the texts that certificates use, so no value is read in two ways.

Texts = tuple[str, ...]
Slots = tuple[str | None, ...]
Ground = tuple[str, str, str, str | None, str | None, str | None, str]
"""Tier, origin, source, author, assumption, the hash of the attestation, and the confidence."""
Assumed = tuple[str, str] | None
"""The text of an assumption and its confidence."""
# What no query of ours has around the project's own: other comparisons, limits, joins, literals.
_NARROWING: Final = re.compile(
    r"[<>!'\"#-]|/\*"
    r"|\b(?:limit|offset|fetch|top|sample|tablesample|not|like|between|exists|case|any|all|join"
    r"|group|having|order|distinct|qualify|union|except|intersect|true|false|\d+)\b",
    re.IGNORECASE,
)
_JSON_PLACE: Final = re.compile(r"'\$\[\d+\]'|\$\d+")
_NOTES: Final = re.compile(rf"(?:\n{READ}[^\n]*)+\Z")
_QUERY: Final = 3
# Stands for whatever tier fetched a row that came from the cache.
_ANY: Final = ""
# What certificates say of a pattern that an evaluation did not come to.
_UNASKED: Final = "this was not asked"
_OTHERWISE: Final = "the project does not declare it so"
# Who speaks where no source is there to say all: nothing has failed.
_NOBODY: Final = frozenset({"unresolved", "closed"})


@frozen
class Leaf:
    """A fact or source of a certificate and what became of it.

    `status` is `same`, `gone`, `new`, `changed` or `unknown`; `detail` says more. `origin` is whose
    word it is or was; not `reached` where the source did not answer, so that nothing is known.
    """

    text: str
    status: str
    detail: str = ""
    origin: str = field(default="", compare=False)
    reached: bool = field(default=True, compare=False)


@frozen
class _Shown:
    """A row of the certificate with what it rests on."""

    predicate: str
    row: Texts
    ground: Ground


class Rereading:
    """One certificate and the external predicates of a project."""

    def __init__(
        self, document: Mapping[str, Any], program: AnalysedProgram, externals: Externals
    ) -> None:
        self._document = document
        self._program = reading_as_in(document, program.program)
        _, facts = facts_apart_as_in(document, program)
        self._externals = {**externals, **rule_facts(facts)}
        self._seen: list[tuple[str, Evidence]] = []
        self._shown: dict[str, dict[Texts, list[Ground]]] = {}
        for group in document["facts"]:
            ground = self._ground(group["source"], group["assumption"])
            rows = self._shown.setdefault(group["predicate"], {})
            for row in group["rows"]:
                rows.setdefault(tuple(row), []).append(ground)

    def facts(self) -> Iterator[Leaf]:
        """Ask for every shown row by itself."""
        for name, rows in sorted(self._shown.items()):
            predicate = self._declared(name)
            if predicate is None:
                yield Leaf(name, "unknown", _OTHERWISE)
                continue
            found: dict[Texts, list[Ground]] = {}
            doubts: list[tuple[Slots, str]] = []
            for places, keys in _known_cells(rows).items():
                answer = self._ask(predicate, places, keys)
                found |= _grounds(answer, predicate)
                doubts += _doubts(answer, predicate, places)
            for row, grounds in sorted(rows.items()):
                text = shown_row(predicate, name, row)
                reasons = [reason for slots, reason in doubts if _may_be(slots, row)]
                if row not in found and reasons:
                    yield Leaf(text, "unknown", reasons[0], grounds[0][1], reached=False)
                else:
                    yield _compared(text, grounds, found.get(row))

    def fillings(self) -> Iterator[Leaf]:
        """Ask anew who fills the null cells of rows, each row by its known cells."""
        for (group, at), told in self._filled.items():
            name = self._document["facts"][group]["predicate"]
            row = tuple(self._document["facts"][group]["rows"][at])
            values = {one["column"]: one["value"] for one in told}
            filled = tuple(values.get(place, text) for place, text in enumerate(row))
            predicate, external = self._declared(name), self._externals.get(name)
            if predicate is None or not isinstance(external, FillablePredicate):
                yield Leaf(name, "unknown", _OTHERWISE)
                continue
            # The bare row first: only then whoever fills is asked.
            ((places, keys),) = _known_cells([row]).items()
            self._ask(predicate, places, keys)
            answer = self._ask(predicate, places, keys, external.filled())
            said, text = _cells_said(answer, predicate), shown_row(predicate, name, filled)
            # Each cell by itself: who says more of the row than was needed changes nothing.
            leaves = [
                _compared(
                    text,
                    [self._ground(one["source"], one["assumption"])],
                    said.get((row, one["column"], one["value"])),
                )
                for one in told
            ]
            yield next((one for one in leaves if one.status != "same"), leaves[0])

    @cached_property
    def _filled(self) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for one in self._document["filled"]:
            found.setdefault((one["facts"], one["row"]), []).append(one)
        return found

    def coverage(self) -> Iterator[Leaf]:
        """Ask for every covered key, for rows that exist and are not shown."""
        covered = {one["predicate"] for one in self._document["coverage"]}
        for name in sorted(covered - self._shown.keys()):
            declared = self._program.predicates.get(name)
            if declared is not None and self._has_strange(declared):
                yield Leaf(name, "unknown", _OTHERWISE)
        for predicate, columns, keys in self._covered():
            answer = self._ask(predicate, columns, keys)
            yield from self._beyond(predicate, columns, set(keys), answer)

    def sources(self, calls: Iterable[Call]) -> Iterator[Leaf]:
        """Compare count and hash of each source with the same question asked now."""
        for call in calls:
            self._note(call.demand.predicate.name, call.answer)
        now: dict[tuple[object, ...], set[tuple[int, str]]] = {}
        for _, evidence in self._seen:
            told_now = evidence.row_count, evidence.content_hash.removeprefix("sha256:")
            for tier in (evidence.tier, _ANY):
                now.setdefault((tier, *_question(evidence)), set()).add(told_now)
        states = _of_any_state(now)
        for number, source in enumerate(self._document["sources"]):
            question = (
                _fetched_by(source["tier"]),
                source["origin"],
                source["name"],
                source["query"],
                tuple(source["parameters"]),
                source["author"],
            )
            text = f"{source['origin']} {source['name']}"
            told = (source["rows"], source["hash"].removeprefix("sha256:"))
            from_cache = question[0] == _ANY
            if (from_cache or question not in now) and self._asks(number):
                # Its rows were compared one by one. What came from the cache came in a batch that
                # is not asked again; a session that had answered other goals put together others.
                why = "from the cache" if from_cache else "asked with other keys"
                yield Leaf(text, "same", f"{why}; its rows were read anew")
            elif question not in now and _unnoted(question) in states:
                status = "same" if told in states[_unnoted(question)] else "changed"
                yield Leaf(text, status, "its file is in another state now")
            elif question not in now:
                yield Leaf(text, "unknown", "the project does not ask this now")
            elif told not in now[question]:
                counts = ", ".join(str(count) for count, _ in sorted(now[question]))
                yield Leaf(text, "changed", f"{counted(source['rows'], 'row')} then, {counts} now")
            else:
                yield Leaf(text, "same")

    def summaries(self, again: Iterable[Mapping[str, Any]]) -> Iterator[Leaf]:
        """Compare what stands for rows which are not shown; `again` are certificates.

        A sum stands for its rows, and those that a rule's comparisons let pass for all that a
        source gave.
        """
        again = tuple(again)
        sifted = {one for other in again for one in _sifted(other)}
        for one in _sifted(self._document):
            name, rule, count = one[0], one[1], len(one[-1])
            text = f"{counted(count, 'row')} of {name} that pass the comparisons of rule {rule}"
            yield Leaf(text, "same" if one in sifted else "changed")
        now = [_summary(one, other) for other in again for one in other["summaries"]]
        for summary in self._document["summaries"]:
            shown = _summary(summary, self._document)
            rule = self._document["rules"][summary["rule"]]["id"]
            text = f"aggregate of rule {rule} over {counted(summary['count'], 'row')}"
            yield Leaf(text, "same" if shown in now else "changed")

    def closed_since(self) -> Iterator[Leaf]:
        """Yield what was unknown under covered keys, and is known now."""
        for predicate, columns, keys in self._covered():
            answer = self._ask(predicate, columns, keys)
            open_now = {tuple(_spelled(predicate, one.row)) for one in answer.openings}
            open_then = {row for row, _ in self.open_then(predicate.name)}
            for row in sorted(open_then - open_now, key=str):
                if tuple(row[place] for place in columns) in set(keys):
                    text = _pattern(predicate.name, row)
                    yield Leaf(text, "changed", "it was unknown, and is known now")

    def _covered(self) -> Iterator[tuple[Predicate, tuple[int, ...], list[Texts]]]:
        """Yield what the certificate says all about, but for keys that nobody was asked about.

        Where only those rows are shown that pass a rule's comparisons, `summaries` compares them.
        """
        unasked = {
            (one["predicate"], tuple(one["row"]))
            for one in self._document["open"]
            if one["reason"] == _UNASKED
        }
        for covered in self._document["coverage"]:
            predicate = self._declared(covered["predicate"])
            if predicate is None or "for" in covered:
                continue
            columns = tuple(covered["columns"])
            keys = []
            for key in map(tuple, covered["keys"]):
                bound = dict(zip(columns, key, strict=True))
                slots = tuple(bound.get(place) for place in range(predicate.arity))
                if (predicate.name, slots) not in unasked:
                    keys.append(key)
            if keys:
                yield predicate, columns, keys

    def predicates_of(self, number: int) -> frozenset[str]:
        """Name the predicates whose rows or absences rest on a source."""
        facts = self._document["facts"]
        covered = self._document["coverage"]
        return frozenset(
            [one["predicate"] for one in facts if one["source"] == number]
            + [one["predicate"] for one in covered if number in one["sources"]]
            + [
                facts[f["facts"]]["predicate"]
                for f in self._document["filled"]
                if f["source"] == number
            ]
        )

    def _asks(self, number: int) -> bool:
        """Whether the query of a source is one that the project asks for its predicates."""
        query = self._document["sources"][number]["query"] or ""
        named = [self._program.predicates.get(name) for name in self.predicates_of(number)]
        return bool(named) and all(
            one is not None
            and one.source is not None
            and _asks_for_keys(query, (one.source.parameters.get("query") or "").strip(" \t\r\n;"))
            for one in named
        )

    def _beyond(
        self, predicate: Predicate, columns: tuple[int, ...], keys: set[Texts], answer: Answer
    ) -> Iterator[Leaf]:
        """Yield rows, shapes and gaps of an answer that the certificate does not show."""
        shown = self._shown.get(predicate.name, {})
        for row, grounds in _grounds(answer, predicate).items():
            if row not in shown and tuple(row[place] for place in columns) in keys:
                text = shown_row(predicate, predicate.name, row)
                yield Leaf(text, "new", "it is not shown", grounds[0][1])
        open_now = {
            (
                tuple(_spelled(predicate, one.row)),
                None
                if one.assumption is None
                else (one.assumption.text, _spelled_confidence(one.assumption.confidence)),
            )
            for one in answer.openings
        }
        doubts = dict(_doubts(answer, predicate, columns))
        for opened, assumed in sorted(open_now - self.open_then(predicate.name), key=str):
            text = (
                f"{predicate.name}({', '.join('?' if slot is None else slot for slot in opened)})"
            )
            reason = doubts.get(opened, "the source does not say it now")
            reached = assumed is not None or opened not in doubts
            yield Leaf(text, "unknown", reason, reached=reached)

    def open_then(self, predicate: str) -> frozenset[tuple[Slots, Assumed]]:
        """Give the open rows that the certificate shows, each with its assumption."""
        assumptions = self._document["assumptions"]
        return frozenset(
            (
                tuple(one["row"]),
                None if one["assumption"] is None else _told(assumptions[one["assumption"]]),
            )
            for one in self._document["open"]
            if one["predicate"] == predicate
        )

    def _declared(self, name: str) -> Predicate | None:
        """Give the project's predicate when it has the columns of the certificate."""
        predicate = self._program.predicates.get(name)
        if predicate is None or name not in self._externals:
            return None
        for declaration in self._document["declarations"]:
            if declaration["name"] == name:
                kinds = [kind for _, kind in declaration["columns"]]
                same = kinds == [kind.value for kind in predicate.kinds]
                return predicate if same and not self._has_strange(predicate) else None
        return None

    def _has_strange(self, predicate: Predicate) -> bool:
        """Tell whether the certificate has a structure that is none of the project's types now."""
        if Kind.STRUCTURE not in predicate.kinds:
            return False
        places = tuple(range(predicate.arity))
        told = [(places, row) for row in self._shown.get(predicate.name, ())]
        told += [
            (tuple(one["columns"]), tuple(key))
            for one in self._document["coverage"]
            if one["predicate"] == predicate.name
            for key in one["keys"]
        ]
        try:
            for columns, texts in told:
                for place, text in zip(columns, texts, strict=True):
                    if not isinstance(text, NullText):
                        read_canonical(text, predicate.columns[place])
        except (ValueError, IndexError):
            return True
        return False

    def _ask(
        self,
        predicate: Predicate,
        columns: tuple[int, ...],
        keys: list[Texts],
        external: ExternalPredicate | None = None,
    ) -> Answer:
        rows = tuple(
            tuple(
                read_canonical(text, predicate.columns[column])
                for text, column in zip(key, columns, strict=True)
            )
            for key in keys
        )
        asked = self._externals[predicate.name] if external is None else external
        answer = asked.answer(Demand(predicate, columns, rows))
        self._note(predicate.name, answer)
        return answer

    def _note(self, predicate: str, answer: Answer) -> None:
        told = (one for portion in answer.portions for one in portion.evidence.every())
        self._seen += [(predicate, evidence) for evidence in told]
        self._seen += [(predicate, evidence) for evidence in answer.authorities]

    def _ground(self, source: int, assumption: int | None) -> Ground:
        told = self._document["sources"][source]
        text = None if assumption is None else self._document["assumptions"][assumption]["text"]
        word = told["attestation"]
        if word is not None and told["origin"] == Origin.API.value:
            # In the stead of a response that may not be told stands the hash of what is shown.
            word = word if word["response"] != told["hash"] else {**word, "response": None}
        said = None if word is None else sha256(canonical(word))
        whose = (_fetched_by(told["tier"]), told["origin"], told["name"], told["author"])
        return (*whose, text, said, told["confidence"])


def _unnoted(question: tuple[object, ...]) -> tuple[object, ...]:
    """Give a question without the states of objects that its query names."""
    return tuple(
        _NOTES.sub("", one) if place == _QUERY and isinstance(one, str) else one
        for place, one in enumerate(question)
    )


def _of_any_state(
    now: Mapping[tuple[object, ...], set[tuple[int, str]]],
) -> dict[tuple[object, ...], set[tuple[int, str]]]:
    """Give what was asked of objects behind an address, whichever state they are in."""
    found: dict[tuple[object, ...], set[tuple[int, str]]] = {}
    for asked, told in now.items():
        if _unnoted(asked) != asked:
            found.setdefault(_unnoted(asked), set()).update(told)
    return found


def _asks_for_keys(query: str, own: str) -> bool:
    """Tell whether a recorded query is the project's own, asked for some keys and nothing else.

    What stands around the own text says which columns equal which parameters. It is another query
    that would leave rows out where it compares in another way, with values, or cuts off.
    """
    if not own:
        return True
    before, found, after = query.partition(own)
    around = f"{before} {after}"
    return bool(found) and _NARROWING.search(_JSON_PLACE.sub("", around)) is None


def written_goal(header: Mapping[str, Any], analysed: AnalysedProgram) -> Atom | None:
    """Read the goal of a certificate; `None` where the project does not declare it so."""
    name, pattern = header["goal"]
    predicate = analysed.program.predicates.get(name)
    if predicate is None or predicate.arity != len(pattern):
        return None
    terms: list[Term] = []
    for place, (column, text) in enumerate(zip(predicate.columns, pattern, strict=True)):
        if text is None:
            unread = place in header["unread"]
            terms.append(Variable(f"_{place + 1}" if unread else column.name))
            continue
        try:
            terms.append(Constant(read_canonical(text, column), column.kind))
        except ValueError:
            return None
    return Atom(name, tuple(terms))


def _grounds(answer: Answer, predicate: Predicate) -> dict[Texts, list[Ground]]:
    found: dict[Texts, list[Ground]] = {}
    for portion in answer.portions:
        grounds = _told_to_all(portion.evidence, _own_text(portion))
        for row in portion.rows:
            found.setdefault(_texts(predicate, row), []).extend(grounds)
    return found


def _told_to_all(evidence: Evidence, assumed: str | None) -> list[Ground]:
    """Give what a row rests on as whoever sees everything is told, and as others are."""
    word = stateless(evidence)
    if word is not None and evidence.origin is Origin.API:
        word = replace(word, response=None)
    told = (evidence, replace(evidence, attestation=word))
    return list(dict.fromkeys(_ground(one, assumed) for one in told))


def _ground(evidence: Evidence, assumed: str | None) -> Ground:
    said = None if evidence.attestation is None else attestation_hash(evidence.attestation)
    whose = (evidence.tier, evidence.origin.value, evidence.source, evidence.author)
    return (*whose, assumed, said, _spelled_confidence(evidence.confidence))


def _cells_said(answer: Answer, predicate: Predicate) -> dict[tuple[Texts, int, str], list[Ground]]:
    """Give who says what stands in null cells: by the row of the source, column and value."""
    found: dict[tuple[Texts, int, str], list[Ground]] = {}
    for portion in answer.portions:
        for row in portion.rows if portion.evidence.fills is not None else ():
            filled = FilledRow.of(row, portion.evidence, portion.assumption)
            bare = _texts(predicate, filled.bare.row)
            for word in filled.words:
                grounds = _told_to_all(word.evidence, word.assumption.text)
                for place, text in enumerate(_texts(predicate, word.row)):
                    if text != bare[place]:
                        found.setdefault((bare, place, text), []).extend(grounds)
    return found


def _told(assumption: Mapping[str, Any]) -> tuple[str, str]:
    return assumption["text"], assumption["confidence"]


def _spelled_confidence(confidence: Decimal) -> str:
    return spell(millionths(confidence))


def _own_text(portion: Portion) -> str | None:
    """Give what a row rests on besides what its certificate, if it has one, rests on."""
    held, proved = portion.assumption, portion.evidence.proved
    if held is None or proved is None:
        return None if held is None else held.text
    return next((one.text for one in in_parts((held,)) if one not in proved.assumptions), None)


def _compared(text: str, shown: list[Ground], found: list[Ground] | None) -> Leaf:
    origin = shown[0][1]
    if found is None:
        return Leaf(text, "gone", origin=origin)
    if not set(shown) <= {*found, *((_ANY, *rest) for _, *rest in found)}:
        document = origin == Origin.DOCUMENT.value and {one[2] for one in found} & {shown[0][2]}
        why = "its document has changed" if document else "it comes from elsewhere now"
        return Leaf(text, "changed", why, origin)
    return Leaf(text, "same", origin=origin)


def _fetched_by(tier: str) -> str:
    """Give the tier that a leaf is asked of: what came from the cache is read anew."""
    return _ANY if is_cached(tier) else tier


def _doubts(
    answer: Answer, predicate: Predicate, columns: Sequence[int]
) -> list[tuple[Slots, str]]:
    """Give the open rows of keys about which a source that should have answered did not."""
    found: list[tuple[Slots, str]] = []
    for one in answer.openings:
        key = tuple(one.row[column] for column in columns)
        if one.assumption is None and one.tier not in _NOBODY and key not in answer.answered:
            found.append((tuple(_spelled(predicate, one.row)), one.reason))
    return found


def _pattern(name: str, slots: Slots) -> str:
    return f"{name}({', '.join('?' if slot is None else slot for slot in slots)})"


def _may_be(slots: Slots, row: Texts) -> bool:
    return all(slot is None or slot == text for slot, text in zip(slots, row, strict=True))


def _question(evidence: Evidence) -> tuple[object, ...]:
    return (
        evidence.origin.value,
        evidence.source,
        evidence.query,
        evidence.parameters,
        evidence.author,
    )


def leaves_out(document: Mapping[str, Any]) -> bool:
    """Tell whether a certificate rests on rows that it does not show, by sums or comparisons."""
    return bool(document["summaries"]) or any("for" in one for one in document["coverage"])


def _sifted(document: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield what is shown for one literal alone: predicate, rule, literal, key, and the rows."""
    for one in document["coverage"]:
        if "for" not in one:
            continue
        rule, literal = one["for"]
        rows = [
            tuple(row)
            for group in document["facts"]
            if group["predicate"] == one["predicate"]
            for row in group["rows"]
        ]
        for key in one["keys"]:
            cells = tuple(zip(one["columns"], key, strict=True))
            found = frozenset(row for row in rows if all(row[c] == cell for c, cell in cells))
            yield one["predicate"], document["rules"][rule]["id"], literal, cells, found


def _summary(summary: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Give a summary without the numbers that depend on the certificate it stands in."""
    return {**summary, "rule": document["rules"][summary["rule"]]["id"], "sources": None}


def _spelled(predicate: Predicate, row: Sequence[Any]) -> Iterator[str | None]:
    for slot, kind in zip(row, predicate.kinds, strict=True):
        yield (format_value(slot, kind) if isinstance(slot, int | float | str | Decimal) else None)


def _texts(predicate: Predicate, row: Row) -> Texts:
    return tuple(
        NullText(value) if isinstance(value, NullCell) else format_value(value, kind)
        for value, kind in zip(row, predicate.kinds, strict=True)
    )


def _known_cells(rows: Iterable[Texts]) -> dict[tuple[int, ...], list[Texts]]:
    """Group rows by the columns in which they have a value, and give the values as keys."""
    found: dict[tuple[int, ...], dict[Texts, None]] = {}
    for row in rows:
        places = tuple(at for at, text in enumerate(row) if not isinstance(text, NullText))
        found.setdefault(places, {})[tuple(row[at] for at in places)] = None
    return {places: list(keys) for places, keys in found.items()}


# No text of the certificate is ever run as a query; the project is asked its own questions and the
# answers are compared. So a dropped row, a changed threshold and a relabelled source are found,
# though such a certificate is valid in itself (it is a certificate of other rows).

REJECTED: Final = 1
_DIGITS: Final = 16
_RULES: Final = "rules"
_LEAVES: Final = "leaves"
_NOT_READ: Final = "leaves were not re-read"


@frozen
class JoinedDraft:
    """A draft that a certificate rests on; without a status the quarantine does not have it."""

    identity: str
    status: str = ""

    @property
    def text(self) -> str:
        """What became of it, in words."""
        short = self.identity[:_DIGITS]
        if not self.status:
            return f"draft {short} is not in the quarantine of this project"
        return f"with draft {short}, which is {self.status}"


@frozen
class LeafReport:
    """The checker's report, what became of the leaves, and the drafts that were asked with."""

    report: Report
    leaves: tuple[Leaf, ...] = ()
    drafts: tuple[JoinedDraft, ...] = ()
    rules: tuple[str, ...] = ()
    """What the used rules are not, or say otherwise, as the project has them now."""
    allows_other_rules: bool = False

    @property
    def drift(self) -> tuple[Leaf, ...]:
        """The leaves that are not as the certificate shows them."""
        return tuple(leaf for leaf in self.leaves if leaf.status != "same")

    @property
    def exit_code(self) -> int:
        """The verdict's own code; 1 for other rules, a leaf that has changed, or a rejection."""
        return REJECTED if self.reason else self.report.exit_code

    @property
    def place(self) -> str:
        """What a verdict that the checker accepts fails at: the rules, the leaves, or nothing."""
        if not self.report.accepted:
            return ""
        if self.rules and not self.allows_other_rules:
            return _RULES
        return _LEAVES if self.drift else ""

    @property
    def reason(self) -> str:
        """Why a verdict that the checker accepts is not shown: other rules, or other rows."""
        if self.place == _LEAVES:
            return (
                f"{len(self.drift)} of {len(self.leaves)} are not as the certificate shows them, so"
                " its verdict is one of other data"
            )
        if not self.place:
            return ""
        return (
            f"the rules are not those of the project now: {'; '.join(self.rules)}; "
            "--allow-other-rules shows what these give"
        )

    @property
    def notes(self) -> list[str]:
        """The checker's notes, and whose rules these are."""
        other = "; ".join(self.rules)
        mine = [f"the rules are not those of the project now: {other}"] if other else []
        return [*self.report.notes, *mine]

    def to_json(self) -> dict[str, object]:
        """Give the report as a JSON object."""
        told = json.loads(self.report.to_json())
        if self.reason:
            told |= {"accepted": False, "verdict": None, "code": self.place, "place": self.place}
            told |= {"reason": self.reason}
        return {
            **told,
            "notes": self.notes,
            "exit_code": self.exit_code,
            "leaves_reread": self.report.accepted,
            "drift": len(self.drift),
            "rules_changed": list(self.rules),
            "drafts": [{"id": one.identity, "status": one.status or None} for one in self.drafts],
            "leaves": [
                {"leaf": leaf.text, "status": leaf.status, "detail": leaf.detail}
                for leaf in self.leaves
            ],
        }

    def to_text(self) -> str:
        """Give the report for people."""
        if not self.report.accepted:
            return self.report.to_text()
        lines = [f"REJECTED at {self.place}: {self.reason}"]
        if not self.reason:
            lines = replace(self.report, notes=tuple(self.notes)).to_text().splitlines()
        lines.append(f"leaves: {len(self.leaves)} read again, {len(self.drift)} changed")
        lines += [f"  {one.text}" for one in self.drafts]
        lines += [f"  {leaf.status}: {leaf.text}{_tail(leaf.detail)}" for leaf in self.drift]
        return "\n".join(lines) + "\n"


def reread(
    report: Report,
    document: Mapping[str, Any],
    program: AnalysedProgram,
    externals: Externals,
    again: Sequence[Result],
) -> LeafReport:
    """Compare the leaves of an accepted certificate with what the sources say now.

    `document` is the certificate, `again` the same goal proved now, in each way in which it may
    have been proved then (none where the project does not know the goal).
    """
    rereading = Rereading(document, program, externals)
    leaves: Sequence[Leaf] = (
        *rereading.facts(),
        *rereading.fillings(),
        *rereading.coverage(),
        *rereading.sources(call for one in again for call in one.calls),
        *rereading.summaries(read_members(one.certificate) for one in again),
    )
    notes = tuple(one for one in report.notes if not one.startswith(_NOT_READ))
    return LeafReport(replace(report, notes=notes), tuple(dict.fromkeys(leaves)))


def _tail(detail: str) -> str:
    return f" ({detail})" if detail else ""
