"""What the checker says about a certificate.

In: a checked certificate, or the reason why it was rejected.  Out: ``Report``, as a value, as JSON
and as text.  Invariant: a rejected certificate shows no verdict; an accepted one shows every
assumption, every summary, and that the leaves were not re-read.

Example: ``check_certificate(data).exit_code`` is 0 for PROVED and 1 for what is rejected.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from .printing import printable, show_goal, show_rule
from .shapes import show_confidence

if TYPE_CHECKING:
    from .canonical import Document
    from .certificate import Certificate
    from .rejection import Rejected

REJECTED: Final = 1
_EXIT_CODES: Final = (
    ("PROVED", 0),
    ("PROVED_UNDER", 3),
    ("UNRESOLVED", 4),
    ("DISPROVED", 5),
    ("DISPROVED_UNDER", 6),
)
_LONGEST: Final = 400


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
    rules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
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
        lines = [f"{self.verdict}: {self.goal}", f"confidence: {self.confidence}"]
        lines += _section("under the assumptions", self.under)
        lines += _section("missing", self.missing)
        lines += _section("rules", self.rules)
        lines += _section("sources", self.sources)
        lines += [f"checked: {self.nodes} nodes", f"proof: {self.identity}"]
        lines += [f"rules: {self.program}"]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines) + "\n"


def _section(title: str, lines: tuple[str, ...]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def rejected(reason: Rejected) -> Report:
    """Return the report of a certificate that was not accepted."""
    return Report(
        accepted=False,
        exit_code=REJECTED,
        code=reason.code,
        reason=printable(reason.reason)[:_LONGEST],
        place=printable(reason.place)[:_LONGEST],
    )


def accepted(certificate: Certificate, document: Document) -> Report:
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
        rules=tuple(f"{printable(rule.name)}: {show_rule(rule)}" for rule in program.rules),
        sources=_sources(certificate),
        missing=tuple(show_goal(goal, program) for goal in certificate.missing),
        notes=_notes(certificate),
        nodes=len(certificate.nodes),
        identity=document.identity,
        program=document.program,
    )


def _confidence(certificate: Certificate) -> str:
    header = certificate.header
    shown = show_confidence(header.confidence)
    # A search that stopped early may have missed a better proof.
    sure = header.search == "exhausted" or shown == "1" or header.verdict == "UNRESOLVED"
    return shown if sure else f"at least {shown}"


def _sources(certificate: Certificate) -> tuple[str, ...]:
    lines: list[str] = []
    for source, executed in zip(certificate.evidence.sources, certificate.executed, strict=True):
        time = f" at {executed}" if executed else ""
        # Queries have lines; a line break shown as an escape would be harder to read than a space.
        query = f": {printable(source.query.replace(chr(10), ' '))}" if source.query else ""
        author = f" by {printable(source.author)}" if source.author else ""
        lines.append(
            f"{source.origin} {printable(source.name)}{author}{time}, {source.rows} rows{query}"
        )
    return tuple(lines)


def _notes(certificate: Certificate) -> tuple[str, ...]:
    notes = ["leaves were not re-read: the rows of the sources are taken as they stand"]
    for summary in certificate.summaries:
        rule = certificate.program.rules[summary.rule]
        notes.append(
            f"{summary.count} rows of an aggregate in rule {printable(rule.name)} "
            "are not inline: only their summary was checked"
        )
    if certificate.header.snapshot == "not one snapshot":
        notes.append("the sources were not read in one snapshot")
    return tuple(notes)
