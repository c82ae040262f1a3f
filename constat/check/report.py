"""What the checker says about a certificate, and what rests on each accepted assumption."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, cast

from .printing import (
    printable,
    show_goal,
    show_literal,
    show_row,
    show_rule,
    show_value,
)
from .proofs import every
from .records import AUTHORITIES, PROVED
from .values import show_confidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .canonical import Document, Rejected
    from .certificate import Certificate, RuleNode
    from .levels import Levels
    from .records import Attestation
    from .rules import Program

# The lines are made from what was checked; an assumption's own text is the writer's word and may
# speak of something else.

MOST_SHOWN: Final = 5


def resting(certificate: Certificate, assumption: int) -> tuple[str, ...]:
    """Return a line for each thing that rests on the assumption; of many rows the first few."""
    found = list(_rows(certificate, assumption))
    rest = len(found) - MOST_SHOWN
    more = [f"and {rest} more"] if rest > 0 else []
    return (*found[:MOST_SHOWN], *more, *_rules(certificate, assumption))


def _rows(certificate: Certificate, assumption: int) -> Iterator[str]:
    declarations = certificate.program.declarations
    for group in certificate.evidence.facts:
        if assumption in group.rests_on:
            kinds = declarations[group.predicate].kinds
            for row in group.rows:
                yield show_row(group.predicate, kinds, row)
    for one in certificate.evidence.filled:
        if one.assumption == assumption:
            group = certificate.evidence.facts[one.group]
            kinds = declarations[group.predicate].kinds
            whole = show_row(group.predicate, kinds, group.rows[one.row])
            name = declarations[group.predicate].columns[one.column][0]
            yield f"{name} of {whole} is {show_value(kinds[one.column], one.value)}"
    for hole in certificate.evidence.open:
        if hole.assumption == assumption:
            kinds = declarations[hole.predicate].kinds
            yield f"nothing else matches {show_row(hole.predicate, kinds, hole.row)}"


def _rules(certificate: Certificate, assumption: int) -> Iterator[str]:
    for rule in certificate.program.rules:
        if rule.assumption == assumption:
            yield f"rule {printable(rule.name)}"


# A rejected certificate shows no verdict; an accepted one shows every assumption, every summary,
# and that the leaves were not re-read.

REJECTED: Final = 1
_EXIT_CODES: Final = (
    ("PROVED", 0),
    ("PROVED_UNDER", 3),
    ("UNRESOLVED", 4),
    ("DISPROVED", 5),
    ("DISPROVED_UNDER", 6),
)
_LONGEST: Final = 400
_MOST_UNKNOWN: Final = 20
_CONFLICT: Final = "conflict: "
_UNATTESTED: Final = AUTHORITIES | {PROVED}


@dataclass(frozen=True, slots=True)
class LiteralLevel:
    """How well an absence or an aggregate is founded; without a node it is the goal's absence.

    ``level`` is null where nothing was looked up for it; ``rests_on`` is the weakest under it.
    """

    node: int | None
    premise: int | None
    rule: str | None
    literal: str
    level: str | None
    rests_on: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check.

    ``verdict`` and all that follows from the certificate is empty where it was rejected; ``code``,
    ``reason`` and ``place`` are empty where it was accepted.
    """

    accepted: bool
    exit_code: int
    verdict: str | None = None
    code: str | None = None
    reason: str | None = None
    place: str | None = None
    goal: str | None = None
    confidence: str | None = None
    under: tuple[str, ...] = ()
    resting: tuple[tuple[str, ...], ...] = ()
    """Of each assumption: what counts because it is accepted."""
    rules: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    """How declarations and rules are said: bound to the rules' hash, and for people alone."""
    approvals: tuple[str, ...] = ()
    """Of each rule whose it is, and who approved it."""
    decided: tuple[str, ...] = ()
    """Who asked, the entry in a log, the libraries of rules, and changes that nothing proves."""
    sources: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    level: str | None = None
    levels: tuple[LiteralLevel, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: int = 0
    """How many values are hidden and not opened."""
    nodes: int = 0
    identity: str | None = None
    program: str | None = None

    def to_json(self) -> str:
        """Return the report as one JSON object."""
        return json.dumps(asdict(self), indent=2, sort_keys=True)

    def to_text(self) -> str:
        """Return the report for people; every line is printable."""
        if not self.accepted:
            where = f" at {self.place}" if self.place else ""
            return f"REJECTED{where}: {self.reason} [{self.code}]\n"
        told = [note for note in self.notes if note.startswith(_CONFLICT)]
        more = f", and {len(told) - 1} more" if len(told) > 1 else ""
        conflict = f" ({told[0]}{more})" if told else ""
        verdict = _in_words(self.verdict or "")
        lines = [f"{verdict}: {self.goal}{conflict}", f"confidence: {self.confidence}"]
        lines += _section("under the assumptions", self._under())
        lines += _section("missing", self.missing)
        lines += _section("rules", self.rules)
        lines += _section("said as", self.sentences)
        lines += _section("who stands for the rules", self.approvals)
        lines += self.decided
        lines += _section("sources", self.sources)
        lines += _section("proved by other certificates", self.proofs)
        lines += _section("completeness", _levels_in_short(self.levels))
        lines += [f"weakest completeness: {self.level}"] if self.level else []
        lines += [f"checked: {self.nodes} nodes", f"proof: {self.identity}"]
        lines += [f"rules: {self.program}"]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def _under(self) -> tuple[str, ...]:
        pairs = zip(self.under, self.resting, strict=True)
        return tuple(
            line for one, found in pairs for line in (one, *(f"  so: {what}" for what in found))
        )


def _in_words(verdict: str) -> str:
    return verdict.replace("_UNDER", " UNDER assumptions")


def _section(title: str, lines: tuple[str, ...]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _levels_in_short(levels: tuple[LiteralLevel, ...]) -> tuple[str, ...]:
    """Return a line for each literal of each rule, however many nodes use it."""
    counts = Counter((one.rule, one.literal, one.level, one.rests_on) for one in levels)
    lines: list[str] = []
    for (rule, literal, level, rests_on), count in counts.items():
        where = "the goal is absent" if rule is None else f"{rule}, {literal}"
        shown = level or "nothing had to be complete"
        shown += f", resting on {rests_on}" if rests_on != level else ""
        lines.append(f"{where}: {shown}" + (f" ({count} times)" if count > 1 else ""))
    return tuple(lines)


def rejected(reason: Rejected) -> Report:
    """Return the report of a certificate that was not accepted."""
    return Report(
        accepted=False,
        exit_code=REJECTED,
        code=reason.code,
        reason=printable(reason.reason)[:_LONGEST],
        place=printable(reason.place)[:_LONGEST],
    )


def accepted(certificate: Certificate, document: Document, levels: Levels) -> Report:
    """Return the report of a certificate in which everything follows."""
    header, program = certificate.header, certificate.program
    assumptions = certificate.evidence.assumptions
    return Report(
        accepted=True,
        exit_code=next(code for verdict, code in _EXIT_CODES if verdict == header.verdict),
        verdict=header.verdict,
        goal=show_goal(header.goal, program),
        confidence=_confidence(certificate),
        under=tuple(
            f"{assumptions[i].kind}: {printable(assumptions[i].text)}"
            f" (confidence {show_confidence(assumptions[i].confidence)})"
            for i in sorted(header.under)
        ),
        resting=tuple(resting(certificate, i) for i in sorted(header.under)),
        rules=tuple(f"{printable(rule.name)}: {show_rule(rule)}" for rule in program.rules),
        sentences=_sentences(program),
        approvals=_approvals(certificate),
        decided=_decided(certificate),
        sources=_sources(certificate),
        proofs=_proofs(certificate),
        level=header.level,
        levels=tuple(_levels(certificate, levels)),
        missing=tuple(show_goal(goal, program) for goal in certificate.missing),
        notes=_notes(certificate),
        hidden=sum(one.redaction.closed for one in every(certificate) if one.redaction),
        nodes=len(certificate.nodes),
        identity=document.identity,
        program=document.program,
    )


def _sentences(program: Program) -> tuple[str, ...]:
    """Return a line for each text of a declaration or a rule, as it stands there."""
    told = [(one.name, one.texts) for one in program.declarations.values()]
    told += [(one.name, one.texts) for one in program.rules]
    return tuple(
        f"{printable(whose)}, {printable(name)}: {printable(text)}"[:_LONGEST]
        for whose, texts in told
        for name, text in texts
    )


def _confidence(certificate: Certificate) -> str:
    header = certificate.header
    shown = show_confidence(header.confidence)
    # A search that stopped early may have missed a better proof.
    sure = header.search == "exhausted" or shown == "1" or header.verdict == "UNRESOLVED"
    return shown if sure else f"at least {shown}"


def _approvals(certificate: Certificate) -> tuple[str, ...]:
    """Say of each rule whose it is, and who approved it; facts of rule files are counted."""
    told: dict[int, list[str]] = {}
    for one in certificate.header.approvals:
        signed = "not signed" if one.key is None else f"signed with the key {one.key}"
        told.setdefault(one.rule, []).append(f"{printable(one.by)} at {one.at}, {signed}")
    lines = []
    facts = 0
    for number, rule in enumerate(certificate.program.rules):
        if not rule.body and number not in told:
            facts += 1
            continue
        people = "".join(f", {role} {printable(who)}" for role, who in rule.people)
        words = told.get(number)
        said = "approved by " + "; ".join(words) if words else "nobody approved this rule"
        lines.append(f"{printable(rule.name)}{people}: {said}"[:_LONGEST])
    return (*lines, f"{facts} facts of rule files: nobody approved them") if facts else (*lines,)


def _decided(certificate: Certificate) -> tuple[str, ...]:
    """Say who asked, in which log it stands, and which libraries of rules there were."""
    header = certificate.header
    found = [("asked by", header.asked_by), ("decision", header.decision)]
    lines = [f"{what}: {printable(who)}" for what, who in found if who]
    lines += [f"library: {printable(one)}" for one in header.libraries]
    told = "computed by its writer, not proved by this certificate"
    lines += [f"a change ({told}): {printable(one)}" for one in certificate.changes]
    return tuple(line[:_LONGEST] for line in lines)


def _sources(certificate: Certificate) -> tuple[str, ...]:
    lines: list[str] = []
    for source, executed in zip(certificate.evidence.sources, certificate.executed, strict=True):
        time = f" at {executed}" if executed else ""
        # Queries have lines; a line break shown as an escape would be harder to read than a space.
        query = f": {printable(source.query.replace(chr(10), ' '))}" if source.query else ""
        by = " (" if source.origin == "DATABASE" else " by "
        end = ")" if source.origin == "DATABASE" else ""
        author = f"{by}{printable(source.author)}{end}" if source.author else ""
        said = "" if source.attestation is None else f"; {_attested(source.attestation)}"
        lines.append(
            f"{source.origin} {printable(source.name)}{author}{time}, "
            f"{source.rows} rows{query}{said}"
        )
    return tuple(lines)


def _attested(attestation: Attestation) -> str:
    agent = attestation.agent
    mark = f" ({printable(agent.mark)})" if agent.mark else ""
    parts = [f"attested by {agent.kind} {printable(agent.name)}{mark}"]
    if attestation.quoted is not None:
        parts.append(f"quoting {printable(attestation.quoted)}")
    if attestation.reviewer is not None:
        parts.append(f"reviewed by {printable(attestation.reviewer)}")
    return ", ".join([*parts, attestation.hash])


def _proofs(certificate: Certificate) -> tuple[str, ...]:
    """Return a line for each nested certificate, those inside nested ones included."""
    lines = []
    for inner in list(every(certificate))[1:]:
        header = inner.header
        sure = show_confidence(header.confidence)
        lines.append(
            f"{_in_words(header.verdict)}: {show_goal(header.goal, inner.program)}, "
            f"confidence {sure}, {len(inner.nodes)} nodes: {inner.identity}, rules {header.program}"
        )
    return tuple(lines)


def _levels(certificate: Certificate, levels: Levels) -> Iterator[LiteralLevel]:
    for position, place, lookups in levels.literals:
        level, rests_on = levels.shown(lookups)
        if position is None or place is None:
            goal = show_goal(certificate.header.goal, certificate.program)
            yield LiteralLevel(None, None, None, f"!{goal}", level, rests_on)
        else:
            node = cast("RuleNode", certificate.nodes[position])
            rule = certificate.program.rules[node.rule]
            shown = show_literal(rule, place)
            yield LiteralLevel(position, place, printable(rule.name), shown, level, rests_on)


def _roots(certificate: Certificate) -> Iterator[str]:
    """Yield a line for each root that rows were opened in: whose it is, a signature says."""
    for one in every(certificate):
        pairs = zip(one.evidence.sources, one.evidence.commitments, strict=True)
        told = {
            (source.name, found.predicate, found.rows, found.root)
            for source, found in pairs
            if found is not None
        }
        for name, predicate, rows, root in sorted(told):
            yield (
                f"the root of {predicate} in {printable(name)} stands as written: "
                f"{root} over {rows} rows"
            )


def _unknowns(certificate: Certificate) -> Iterator[str]:
    """Yield a line for each unknown value; of many the first few."""
    for number, one in enumerate(certificate.labels[:_MOST_UNKNOWN]):
        declaration = certificate.program.declarations[one.predicate]
        row = show_row(one.predicate, declaration.kinds, one.row)
        yield f"unknown({number}) is the {declaration.columns[one.column][0]} of {row}"
    if len(certificate.labels) > _MOST_UNKNOWN:
        yield f"and {len(certificate.labels) - _MOST_UNKNOWN} more unknown values"


def _hidden(certificate: Certificate) -> Iterator[str]:
    """Say what is hidden in a view, and what is the word of whoever made it."""
    redaction = certificate.redaction
    if redaction is None:
        return
    view = f" for the {redaction.view}" if redaction.view else ""
    columns = ", ".join(
        f"{printable(predicate)}.{_column_name(certificate, predicate, column)}"
        for predicate, column in redaction.columns
    )
    yield (
        f"a view{view} of {redaction.of}: {redaction.closed} values are hidden, "
        f"{len(redaction.opened)} are opened"
    )[:_LONGEST]
    if columns:
        yield f"hidden columns: {columns}"[:_LONGEST]
    if redaction.told:
        yield f"{len(redaction.told)} comparisons, functions or totals over them stand as written"
    if redaction.sources:
        yield f"{len(redaction.sources)} hashes of sources are hidden as well"


def _column_name(certificate: Certificate, predicate: str, column: int) -> str:
    declared = certificate.program.declarations.get(predicate)
    columns = () if declared is None else declared.columns
    return printable(columns[column][0]) if column < len(columns) else str(column)


def _conflicts(certificate: Certificate) -> list[str]:
    """Return who says another value for a key, as the writer recorded it: FORMAT.md, section 5."""
    told = (assumption.text for assumption in certificate.evidence.assumptions)
    return [printable(text)[:_LONGEST] for text in told if text.startswith(_CONFLICT)]


def _notes(certificate: Certificate) -> tuple[str, ...]:
    notes = ["leaves were not re-read: the rows of the sources are taken as they stand"]
    notes[:0] = [text for one in every(certificate) for text in _conflicts(one)]
    notes[:0] = [line for one in every(certificate) for line in _hidden(one)]
    if certificate.header.as_of is not None:
        notes.insert(0, f"as of {certificate.header.as_of}: as the facts were recorded then")
    for one in every(certificate):
        for summary in one.summaries:
            rule = one.program.rules[summary.rule]
            notes.append(
                f"{summary.count} rows of an aggregate in rule {printable(rule.name)} "
                "are not inline: only their summary was checked"
            )
        notes += dict.fromkeys(
            f"of {printable(coverage.predicate)} only the rows are shown that pass the comparisons "
            f"of rule {printable(one.program.rules[coverage.reader[0]].name)}"
            for coverage in one.evidence.coverage
            if coverage.reader is not None
        )
    notes += _unknowns(certificate)
    notes += _roots(certificate)
    if any(one.header.approvals for one in every(certificate)):
        notes.append("approvals of rules stand as written: their records lie beside the rules")
    if certificate.nested:
        count = sum(1 for _ in every(certificate)) - 1
        notes.append(f"the sources of nested certificates ({count}) are for others to read again")
    unattested = [
        printable(source.name)
        for one in every(certificate)
        for source in one.evidence.sources
        if source.attestation is None and source.origin not in _UNATTESTED
    ]
    if unattested:
        names = ", ".join(dict.fromkeys(unattested))
        notes.append(f"what was said is not attested, so nobody can look it up: {names}"[:_LONGEST])
    if any(one.header.snapshot == "not one snapshot" for one in every(certificate)):
        notes.append("the sources were not read in one snapshot")
    return tuple(notes)
