"""Make a certificate again from what it records, byte for byte."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from constat.evaluation import (
    CERTAIN,
    CONCEIVABLE,
    CONFLICT,
    Agent,
    Answer,
    Assumption,
    Attestation,
    Call,
    Demand,
    DemandEntry,
    Evidence,
    Exhaustive,
    FactDerivation,
    FilledRow,
    Opening,
    Origin,
    Portion,
    Proved,
    Quote,
    Review,
    Unfilled,
    Verdict,
    Word,
)
from constat.frozen import frozen
from constat.logic import OPEN, Atom, Constant, Variable, add_exactly, parse_decimal
from constat.proof.certificate import Circumstances, build_certificate
from constat.proof.decide import Decision, agrees, confidence_of
from constat.proof.decoding import (
    FIRST,
    decode_program,
    decode_row,
    decode_value,
    read_members,
    without_wildcards,
)
from constat.proof.encoding import canonical, object_form, sha256
from constat.proof.instances import AggregateCode, compile_rule
from constat.proof.levels import CLOSING, COMMITTED, DECLARED, DERIVED, INLINE, MILLION, RERUNNABLE
from constat.proof.missing import Gap
from constat.proof.proofs import FactNode, Proof, RuleNode, UnsupportedError
from constat.proof.reading import Reading, TooLargeError, rule_assumption
from constat.proof.slices import Listed, Summand, bound_by, summand
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.evaluation import Derivation, Failure
    from constat.logic import OpenRow, Row, Slot, Term, Value
    from constat.proof.instances import RuleCode
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.slices import Number

# Nothing is in it that the certificate does not show; `UnrecordedError` names what would be needed
# besides.

Members = dict[str, Any]
# Openings that the writer makes where nobody was asked; whoever answers leaves other reasons.
_DECLARED: Final = frozenset({"closure", "fall-through"})
_SHORT: Final = 19


class UnrecordedError(Exception):
    """The certificate does not hold what would be needed; ``str()`` says what."""


class Record:
    """One certificate, read back. Raises ``UnrecordedError`` where it does not hold everything."""

    def __init__(self, members: Members) -> None:
        self.members = members
        if any("for" in one for one in members["coverage"]):
            raise UnrecordedError("rows that a rule's comparisons do not let pass are not in it")
        if members["summaries"]:
            count = len(members["summaries"])
            word = "summary stands" if count == 1 else "summaries stand"
            message = f"{count} {word} for rows that the certificate does not hold"
            raise UnrecordedError(message)
        self.program = decode_program(members)
        self.predicates = self.program.program.predicates
        self.assumptions = self._assumptions()
        self.evidence = tuple(self._evidence(place) for place in range(len(members["sources"])))

    @cached_property
    def goal(self) -> Atom:
        """The goal; a variable has the name of its column."""
        name, pattern = self.members["header"]["goal"]
        terms: list[Term] = []
        unread = self.members["header"]["unread"]
        columns = enumerate(self.predicates[name].columns)
        for (place, column), text in zip(columns, pattern, strict=True):
            if text is None:
                named = f"_{place + 1}" if place in unread else column.name
                terms.append(Variable(named))
            else:
                terms.append(Constant(decode_value(text, column.kind), column.kind))
        return Atom(name, tuple(terms))

    @cached_property
    def accepted(self) -> frozenset[Assumption]:
        """The assumptions of the verdict."""
        return frozenset(self.assumptions[place] for place in self.members["header"]["under"])

    def row(self, predicate: str, texts: list[str | None]) -> OpenRow:
        """Read a row of a predicate."""
        return decode_row(texts, self.predicates[predicate].kinds)

    # ------------------------------------------------------------------ what came from outside

    def _assumptions(self) -> tuple[Assumption, ...]:
        found = [
            Assumption(one["kind"], "", one["text"], parse_decimal(one["confidence"]))
            for one in self.members["assumptions"]
        ]
        for number, rule in enumerate(self.members["rules"]):
            place = rule["assumption"]
            if place is not None and rule_assumption(self.program, number) != found[place]:
                message = f"what has to be accepted for rule {rule['id']} is worded otherwise now"
                raise UnrecordedError(message)
        return tuple(found)

    def _evidence(self, place: int) -> Evidence:
        source = self.members["sources"][place]
        proof, whole = source["proof"], source.get("authority")
        return Evidence(
            tier=source["tier"],
            origin=Origin(source["origin"]),
            source=source["name"],
            executed_at=self.members["record"]["executed"][place] or "",
            query=source["query"],
            parameters=tuple(source["parameters"]),
            row_count=source["rows"],
            content_hash=source["hash"],
            snapshot=source["snapshot"],
            confidence=parse_decimal(source["confidence"]),
            author=source["author"],
            attestation=_attestation(source["attestation"]),
            proved=None if proof is None else self._proved(proof),
            exhaustive=None if whole is None else Exhaustive(whole["operation"], whole["pages"]),
        )

    def _proved(self, proof: Members) -> Proved:
        nested = canonical(self.members["proofs"][proof["certificate"]]) + "\n"
        taken = tuple(self.assumptions[place] for place in proof["assumptions"])
        return Proved(nested.encode(), taken)

    def calls(self) -> tuple[Call, ...]:
        """Return the answers as calls: the rows of each predicate, then who speaks for which."""
        names = dict.fromkeys(
            one["predicate"]
            for member in ("facts", "open", "coverage")
            for one in self.members[member]
        )
        answers: list[tuple[Demand, Answer]] = []
        for name in names:
            demand = Demand(self.predicates[name], (), ())
            answers.append((demand, Answer(self._portions(name), self._openings(name))))
        for one in self.members["coverage"]:
            answers += self._covered(one)
        return tuple(Call(number, *pair) for number, pair in enumerate(answers, 1))

    def _portions(self, name: str) -> tuple[Portion, ...]:
        found: list[Portion] = []
        for number, group in enumerate(self.members["facts"]):
            if group["predicate"] != name:
                continue
            evidence, bare = self.evidence[group["source"]], []
            for place, texts in enumerate(group["rows"]):
                row = cast("Row", self.row(name, texts))
                told = self._fillings.get((number, place))
                if told is None:
                    bare.append(row)
                else:
                    found.append(self._filled(name, Unfilled(row, evidence), told))
            found.append(Portion(tuple(bare), evidence, self._held(group)))
        return tuple(found)

    @cached_property
    def _fillings(self) -> Mapping[tuple[int, int], list[Members]]:
        """The fillings of each row, by group and place."""
        found: dict[tuple[int, int], list[Members]] = {}
        for one in self.members["filled"]:
            found.setdefault((one["facts"], one["row"]), []).append(one)
        return found

    def _filled(self, name: str, bare: Unfilled, told: list[Members]) -> Portion:
        """Return a row that words fill, each some cells."""
        kinds = self.predicates[name].kinds
        words: dict[tuple[int, int], list[Slot]] = {}
        for one in told:
            cells = words.setdefault((one["source"], one["assumption"]), list(bare.row))
            cells[one["column"]] = decode_value(one["value"], kinds[one["column"]])
        filled = FilledRow(
            bare,
            tuple(
                Word(cast("Row", tuple(cells)), self.evidence[source], self.assumptions[place])
                for (source, place), cells in words.items()
            ),
        )
        return Portion((filled.row,), filled.evidence, filled.assumption)

    def _held(self, group: Members) -> Assumption | None:
        """Return what a fact group waits for; what its certificate rests on is part of it."""
        own = None if group["assumption"] is None else self.assumptions[group["assumption"]]
        proved = self.evidence[group["source"]].proved
        if proved is None or not proved.assumptions:
            return own
        parts = (*proved.assumptions, *(() if own is None else (own,)))
        # Groups are shown in the order of these texts, so it has to be the tier's own.
        (row,) = group["rows"]
        atom = print_row(self.predicates[group["predicate"]], self.row(group["predicate"], row))
        identity = self.members["sources"][group["source"]]["name"][:_SHORT]
        text = f"the certificate {identity} proves {atom} under its assumptions"
        return Assumption("fact", "", text, parts=parts)

    def _openings(self, name: str) -> tuple[Opening, ...]:
        return tuple(
            Opening(
                self.row(name, one["row"]),
                one["reason"],
                "",
                None if one["assumption"] is None else self.assumptions[one["assumption"]],
            )
            for one in self.members["open"]
            if one["predicate"] == name
        )

    def _covered(self, one: Members) -> Iterable[tuple[Demand, Answer]]:
        """Return a coverage as an answered demand; nobody answered one that is only backed."""
        name, columns = one["predicate"], tuple(one["columns"])
        kinds = [self.predicates[name].kinds[column] for column in columns]
        keys: tuple[Row, ...] = tuple(decode_row(key, kinds) for key in one["keys"])  # type: ignore[misc]
        authorities = tuple(self.evidence[place] for place in one["sources"])
        answered = (
            keys if authorities else tuple(k for k in keys if self._is_closed(name, columns, k))
        )
        demand = Demand(self.predicates[name], columns, keys)
        yield demand, Answer(answered=frozenset(answered), authorities=authorities)

    def _is_closed(self, name: str, columns: tuple[int, ...], key: Row) -> bool:
        """Tell whether a declaration, and nothing else, speaks for a key."""
        places = dict(zip(columns, key, strict=True))
        arity = self.predicates[name].arity
        row = tuple(places.get(column, OPEN) for column in range(arity))
        reasons = self._open_by_row.get((name, row), ())
        return bool(reasons) and all(one is not None and one.kind in _DECLARED for one in reasons)

    @cached_property
    def _open_by_row(self) -> Mapping[tuple[str, OpenRow], list[Assumption | None]]:
        found: dict[tuple[str, OpenRow], list[Assumption | None]] = {}
        for one in self.members["open"]:
            key = (one["predicate"], self.row(one["predicate"], one["row"]))
            place = one["assumption"]
            found.setdefault(key, []).append(None if place is None else self.assumptions[place])
        return found

    # ------------------------------------------------------------------ what follows

    @cached_property
    def nodes(self) -> Mapping[Fact, Node]:
        """The nodes, premises before conclusions."""
        facts = [self._fact(node) for node in self.members["nodes"]]
        codes: dict[int, RuleCode] = {}
        found: dict[Fact, Node] = {}
        for fact, node in zip(facts, self.members["nodes"], strict=True):
            if node["kind"] == "fact":
                found[fact] = FactNode(*fact)
                continue
            number = node["rule"]
            code = codes.setdefault(number, compile_rule(self.program, number))
            found[fact] = _rule_node(fact, node, code, facts)
        return found

    def _fact(self, node: Members) -> Fact:
        name, texts = node["fact"]
        return name, self.row(name, texts)  # type: ignore[return-value]  # facts are ground


def _rule_node(fact: Fact, node: Members, code: RuleCode, facts: list[Fact]) -> RuleNode:
    values: list[Value | None] = [
        None if text is None else decode_value(text, kind)
        for text, kind in zip(node["bind"][: code.outer], code.kinds, strict=False)
    ]
    premises: list[Fact | None] = []
    totals: list[tuple[int, Listed]] = []
    for place, premise in enumerate(node["premises"]):
        literal = code.body[place]
        if isinstance(premise, list) and isinstance(literal, AggregateCode):
            binding = [*values, *[None] * (len(code.names) - code.outer)]
            listed = _listed(code, literal, binding, premise, facts)
            totals.append((place, listed))
            values[literal.result] = listed.total
        premises.append(facts[premise] if isinstance(premise, int) else None)
    return RuleNode(*fact, code.number, tuple(values), tuple(premises), (), tuple(totals))  # type: ignore[arg-type]


def _listed(
    code: RuleCode,
    literal: AggregateCode,
    binding: list[Any],
    premise: list[Any],
    facts: list[Fact],
) -> Listed:
    kinds = [code.kinds[slot] for slot in literal.inner]
    total: Number = 0
    found: list[Summand] = []
    for texts, below in premise:
        cells = tuple(decode_value(text, kind) for text, kind in zip(texts, kinds, strict=True))
        one = Summand(cells, tuple(None if place is None else facts[place] for place in below))
        total = add_exactly(total, summand(literal, bound_by(code, literal, one, binding)) or 0)
        found.append(one)
    return Listed(tuple(found), total)


def _attestation(told: Members | None) -> Attestation | None:
    if told is None:
        return None
    agent, quote, review = told["agent"], told["quote"], told["reviewer"]
    return Attestation(
        agent=Agent(agent["kind"], agent["name"], agent["version"], agent["digest"]),
        prompt=told["prompt"],
        response=told["response"],
        quote=None
        if quote is None
        else Quote(quote["document"], quote["text"], quote["start"], quote["end"], quote["hash"]),
        reviewer=None if review is None else Review(review["name"], review["at"]),
        note=told["note"],
    )


@frozen
class RecordedOutcome:
    """The outcome of the evaluation that a certificate tells of, as far as it tells."""

    record: Record
    calls: tuple[Call, ...]

    @property
    def program(self) -> Any:  # noqa: ANN401  as the protocol has it
        """The rules of the certificate."""
        return self.record.program

    @property
    def goal(self) -> Atom:
        """The goal of the certificate."""
        return self.record.goal

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Certificates do not tell which instances erred."""
        return ()

    @property
    def stopped(self) -> str:
        """Certificates do not tell what ended a search."""
        return ""

    @property
    def demands(self) -> tuple[DemandEntry, ...]:
        """The keys of the closure, with the orders in which bodies were taken."""
        record = self.record
        found = []
        for entry in record.members["closure"]["entries"]:
            name, columns = entry["predicate"], tuple(entry["columns"])
            kinds = [record.predicates[name].kinds[column] for column in columns]
            keys = frozenset(decode_row(key, kinds) for key in entry["keys"])
            orders = {number: tuple(order) for number, order in entry["orders"]}
            found.append(DemandEntry(name, columns, orders, keys))  # type: ignore[arg-type]  # ground
        return tuple(found)

    def strength(self, atom: Atom) -> int:
        """A certificate is not evaluated again."""
        raise NotImplementedError(atom)

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """The facts that have nodes, or with them the rows of the closure."""
        derived = [fact[1] for fact in self.record.nodes if fact[0] == predicate]
        if least >= CERTAIN:
            return derived
        shown = dict(self.record.members["closure"]["rows"]).get(predicate, [])
        return dict.fromkeys((*derived, *(self.record.row(predicate, row) for row in shown)))

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """A row of a source; every other fact that holds has a node, which is used instead.

        A walk may take such a row for a node before it finds that the row is shown anyway.
        """
        for call in self.calls:
            if call.demand.predicate.name == predicate:
                for portion in call.answer.portions:
                    if row in portion.rows:
                        found = portion.evidence, portion.assumption
                        return FactDerivation(predicate, row, *found)
        raise KeyError((predicate, row, least))


# Nothing else changes, so it says and proves the same; the writer is not trusted, the checker
# looks again.

Key = tuple[tuple[int, ...], tuple[str, ...]]
AUTHORITIES: Final = frozenset({"CONFIG", "DATABASE"})
"""The origins whose sources can commit to their rows."""


def with_commitments(certificate: bytes, commitments: Mapping[int, Members]) -> bytes:
    """Return the certificate with these commitments, by the place of their source."""
    members: Members = json.loads(certificate)
    for place, source in enumerate(members["sources"]):
        source["commitment"] = commitments.get(place)
    read = {**read_members(certificate), "sources": members["sources"]}
    members["header"]["level"] = _level(read)
    return sealed(members)


def sealed(members: Members) -> bytes:
    """Return a certificate with its identity and digest made anew."""
    parts = {name: canonical(value) for name, value in members.items()}
    unnamed = frozenset({"proofs", "record", "identity", "digest"})
    parts["identity"] = canonical(sha256(object_form(parts, unnamed)))
    parts["digest"] = canonical(sha256(object_form(parts, frozenset({"digest"}))))
    return (object_form(parts) + "\n").encode()


def commitments_of(members: Mapping[str, Any]) -> dict[int, Members]:
    """Return the commitments of a certificate, by the place of their source."""
    return {
        place: source["commitment"]
        for place, source in enumerate(members["sources"])
        if source["commitment"] is not None
    }


def opened_keys(members: Mapping[str, Any]) -> dict[int, frozenset[Key]]:
    """Return of each source with a commitment the keys that are opened in its root."""
    found: dict[tuple[str, str], set[Key]] = {}
    committed = commitments_of(members)
    for one in committed.values():
        keys = found.setdefault((one["predicate"], one["root"]), set())
        keys.update((tuple(o["columns"]), tuple(o["key"])) for o in one["openings"])
    return {
        place: frozenset(found[one["predicate"], one["root"]]) for place, one in committed.items()
    }


def _level(members: Members) -> str | None:
    """Return the weakest level that occurs (FORMAT.md, section 6a)."""
    accepted = (members["assumptions"][place]["kind"] for place in members["header"]["under"])
    found = [DECLARED] if any(kind in CLOSING for kind in accepted) else []
    found += [RERUNNABLE] if members["summaries"] else []
    found += [DERIVED] if members["closure"]["entries"] else []
    found += [one["header"]["level"] for one in members["proofs"] if one["header"]["level"]]
    return min([*found, *_coverage_levels(members)], default=None)


def _coverage_levels(members: Members) -> Iterator[str]:
    sources, opened = members["sources"], opened_keys(members)
    shown: list[set[tuple[str, ...]]] = [set() for _ in sources]
    for group in members["facts"]:
        shown[group["source"]].update((group["predicate"], *row) for row in group["rows"])
    inline = [
        len(rows) == source["rows"] and len({name for name, *_ in rows}) <= 1
        for rows, source in zip(shown, sources, strict=True)
    ]
    for entry in members["coverage"]:
        if any(sources[place].get("authority") for place in entry["sources"]):
            # That an API gave all there is, its declaration says.
            yield RERUNNABLE
            continue
        if not any(sources[place]["origin"] in AUTHORITIES for place in entry["sources"]):
            continue
        keys = {(tuple(entry["columns"]), tuple(key)) for key in entry["keys"]}
        others = [place for place in entry["sources"] if not inline[place]]
        if not others:
            yield INLINE
        elif all(place in opened and keys <= opened[place] for place in others):
            yield COMMITTED
        else:
            yield RERUNNABLE


# Why the search is not repeated: it had more to choose from than a certificate shows.

_RESERVED = ("approvals",)


@frozen
class Rebuilt:
    """What came of it: ``same`` bytes, or ``content`` that differs in some members, or a reason."""

    content: bytes | None
    same: bool
    reason: str = ""
    members: tuple[str, ...] = ()


def rebuild(certificate: bytes) -> Rebuilt:
    """Make a certificate again; ``ValueError`` for what is none."""
    members = read_members(certificate)
    try:
        return _rebuilt(certificate, members)
    except UnrecordedError as problem:
        return Rebuilt(None, same=False, reason=str(problem))
    except (UnsupportedError, TooLargeError) as problem:
        reason = f"the writer of this version does not support it: {problem}".rstrip(": ")
        return Rebuilt(None, same=False, reason=reason)


def _rebuilt(certificate: bytes, members: Members) -> Rebuilt:
    if any(members["header"][name] for name in _RESERVED) or members["record"]["signatures"]:
        raise UnrecordedError("it fills members that this version does not write")
    record = Record(members)
    roots = commitments_of(members)
    header = members["header"]
    changes = tuple(members["record"].get("changes", ()))
    told = Circumstances(
        header.get("asked_by"), header["decision"], tuple(header["libraries"]), changes
    )
    content = b""
    for decision in _decisions(record):
        content = build_certificate(
            decision,
            created=members["record"]["created"],
            engine_version=members["record"]["engine"],
            supersedes=members["header"]["supersedes"],
            as_of=members["header"]["as_of"],
            told=told,
            shares=members["format"] != FIRST,
        )
        if members["format"] == FIRST:
            content = in_first_format(content)
        content = with_commitments(content, roots) if roots else content
        if content == certificate:
            return Rebuilt(content, same=True)
    again = read_members(content)
    differing = tuple(name for name in sorted(members) if members[name] != again.get(name))
    left = tuple(name for name in differing if name not in {"identity", "digest"})
    return Rebuilt(content, same=False, reason="it comes out otherwise", members=left)


def _decisions(record: Record) -> Iterator[Decision]:
    """Yield the decisions that the certificate may have been written from."""
    verdict = Verdict(record.members["header"]["verdict"])
    if verdict is not Verdict.UNRESOLVED:
        yield _decided(record, verdict)
        return
    # An open goal is shown with what is negated below it, or without where that was too much.
    for shows_negated in (True, False):
        yield _open(record, shows_negated=shows_negated)


def _decided(record: Record, verdict: Verdict) -> Decision:
    proof = _proof(record)
    answers: tuple[Fact, ...] = ()
    if verdict in {Verdict.PROVED, Verdict.PROVED_UNDER}:
        name = record.goal.predicate
        answers = tuple(f for f in record.nodes if f[0] == name and agrees(record.goal, f[1]))
    proof.show(answers, bounded=not answers)
    decision = _decision(record, proof, verdict)
    return replace(decision, confidence=Decimal(confidence_of(proof)) / MILLION)


def _open(record: Record, *, shows_negated: bool) -> Decision:
    proof = _proof(record)
    proof.slice.shows_negated = shows_negated
    proof.show((), bounded=True)
    return _decision(record, proof, Verdict.UNRESOLVED)


def _proof(record: Record) -> Proof:
    calls = record.calls()
    outcome = RecordedOutcome(record, calls)
    reading = Reading(record.program, calls, outcome, record.accepted, CERTAIN, CONCEIVABLE)
    proof = Proof(reading, record.goal)
    proof.prefer(record.nodes)
    return proof


def _decision(record: Record, proof: Proof, verdict: Verdict) -> Decision:
    gaps = tuple(
        Gap(name, tuple(OPEN if cell is None else cell for cell in record.row(name, row)), "", "")
        for name, row in record.members["missing"]
    )
    return Decision(
        goal=record.goal,
        verdict=verdict,
        confidence=Decimal(0),
        exact=record.members["header"]["search"] == "exhausted",
        assumptions=proof.accepted_assumptions() if verdict is not Verdict.UNRESOLVED else (),
        minimal=True,
        gaps=gaps,
        outcome=proof.reading.outcome,
        proof=proof,
        recorded_conflicts=tuple(
            one["text"].removeprefix(CONFLICT)
            for one in record.members["assumptions"]
            if one["text"].startswith(CONFLICT)
        ),
    )


def in_first_format(certificate: bytes) -> bytes:
    """Write a certificate without shared structures and null cells as the first format had it."""
    members = json.loads(certificate)
    members["format"] = FIRST
    for name in ("values", "labels", "filled", "redaction"):
        del members[name]
    members["header"].pop("asked_by")
    for declared in members["declarations"]:
        for name in ("texts", "nulls", "given"):
            del declared[name]
    for rule in members["rules"]:
        for name in ("texts", "author", "owner", "version"):
            del rule[name]
        rule["body"] = without_wildcards(rule["body"])
    for source in members["sources"]:
        del source["authority"], source["span"]
    predicate, pattern = members["header"]["goal"]
    members["header"]["goal"] = [predicate, [None if c == ["_"] else c for c in pattern]]
    parts = {name: canonical(members[name]) for name in ("declarations", "rules")}
    members["header"]["program"] = sha256(object_form(parts))
    return sealed(members)
