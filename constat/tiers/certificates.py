"""The tier of facts that other certificates prove, in a folder of the project.

In: a demand for a predicate with `.input p(source = "certificates")`, and the checker. Out: the
rows that accepted certificates prove, of origin DERIVED, each with its certificate. Invariants: a
certificate counts only after the checker has accepted all of it; one that is rejected, or proves no
single fact, leaves its fact unknown with the reason, and no certificate makes a fact absent; what
was proved under assumptions holds under these. Example: a kept certificate of `is_vip(C001)` makes
`is_vip(C001)` a fact of another project whose rules say nothing about it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.evaluation import Assumption, Evidence, Origin, Portion, Proved
from constat.store.clock import now
from constat.syntax import print_row
from constat.tiers.canonical_texts import read_canonical
from constat.tiers.certificate_folder import CertificateFolder, UnreadableError
from constat.tiers.certificate_names import CERTIFICATES, parameter, uses_certificates
from constat.tiers.hashing import content_hash
from constat.tiers.matching import key_of
from constat.tiers.tier import TierAnswer, failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.evaluation import Demand
    from constat.logic import Predicate, Row
    from constat.project import Project
    from constat.tiers.certificate_folder import CertificateFile

MOST_DEEP: Final = 7
"""So deep may what is taken over be nested; the certificate around it is one more."""

_MOST_INSIDE: Final = 63
_SHORT: Final = len("sha256:") + 12


class CheckerReport(Protocol):
    """What the checker says, as far as it matters here."""

    @property
    def accepted(self) -> bool:
        """Whether everything follows."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it is rejected."""
        ...


Checker = Callable[[bytes, "str | None", Sequence[str]], CheckerReport]
"""Checks a certificate; with a pin its rules must be these, and those of nested ones trusted."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A certificate of a goal: the row it proves, or why it does not count."""

    row: Row
    file: CertificateFile
    document: Mapping[str, Any]
    problem: str

    @property
    def rank(self) -> tuple[bool, Decimal, str, str]:
        """The better one is greater: no assumptions, more confident, newer."""
        header = self.document["header"]
        plain = header["verdict"] == "PROVED"
        return (
            plain,
            Decimal(header["confidence"]),
            self.document["record"]["created"],
            self.file.name,
        )


class CertificateTier:
    """Reads the folders that predicates name; each file is checked once."""

    name = CERTIFICATES
    cost = 5

    def __init__(self, project: Project, check: Checker) -> None:
        self._project = project
        self._check = check
        self._folders: dict[str, CertificateFolder] = {}
        self._reports: dict[tuple[CertificateFile, str, str], tuple[Mapping[str, Any], str]] = {}

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate names certificates as its source."""
        return uses_certificates(predicate)

    def generation(self, predicate: Predicate) -> int:
        """Give a number that changes with the files of the predicate's folder."""
        return self._folder(predicate).generation()

    def answer(self, demand: Demand) -> TierAnswer:
        """Give the rows that certificates prove, and why others do not."""
        predicate = demand.predicate
        wanted = set(demand.keys)
        best: dict[Row, _Found] = {}
        reasons: dict[Row, str] = {}
        try:
            for found in self._certificates(predicate):
                key = key_of(found.row, demand.columns)
                if key not in wanted:
                    continue
                if found.problem:
                    reasons.setdefault(found.row, found.problem)
                elif found.row not in best or found.rank > best[found.row].rank:
                    best[found.row] = found
        except UnreadableError as problem:
            return failed(demand, str(problem))
        left = {row: reason for row, reason in reasons.items() if row not in best}
        failures = {key_of(row, demand.columns): reason for row, reason in left.items()}
        rows = sorted(best, key=lambda row: tuple(map(str, row)))
        return TierAnswer(tuple(_portion(best[row], predicate) for row in rows), failures=failures)

    def _certificates(self, predicate: Predicate) -> Iterator[_Found]:
        for file in self._folder(predicate).files(predicate.name):
            document, problem = self._checked(file, predicate)
            row = _row(document, predicate)
            if row is not None:
                yield _Found(row, file, document, problem)

    def _checked(
        self, file: CertificateFile, predicate: Predicate
    ) -> tuple[Mapping[str, Any], str]:
        """Check a file against the rules that the predicate trusts, and remember the outcome."""
        rules = parameter(predicate, "rules")
        known = self._reports.get((file, predicate.name, rules))
        if known is None:
            known = self._looked_at(file, predicate, tuple(rules.split()))
            self._reports[file, predicate.name, rules] = known
        return known

    def _looked_at(
        self, file: CertificateFile, predicate: Predicate, rules: Sequence[str]
    ) -> tuple[Mapping[str, Any], str]:
        try:
            document = json.loads(file.content)
        except (ValueError, RecursionError):
            return {}, f"{file.name} is no certificate"
        if _row(document, predicate) is None:
            # Of another fact, or of none: nothing is said about any row here.
            return document, f"{file.name} proves no fact of {predicate.name}"
        where = f"the certificate in {file.name}"
        header = document["header"]
        if header.get("verdict") not in {"PROVED", "PROVED_UNDER"}:
            return document, f"{where} does not prove its goal, and an absence is not taken over"
        program = header.get("program")
        if rules and program not in rules:
            return document, f"{where} has other rules than those that `rules` names"
        report = self._check(file.content, program if rules else None, rules)
        if not report.accepted:
            return document, f"{where} is rejected: {report.reason}"
        if _depth(document) > MOST_DEEP or _inside(document) > _MOST_INSIDE:
            return document, f"{where} nests too many others"
        return document, ""

    def _folder(self, predicate: Predicate) -> CertificateFolder:
        written = parameter(predicate, "folder")
        if written not in self._folders:
            project = self._project
            place = project.folder / written if written else project.state / "certificates"
            self._folders[written] = CertificateFolder(place, project.folder, named=bool(written))
        return self._folders[written]


def _row(document: object, predicate: Predicate) -> Row | None:
    """Read the goal of a certificate as a row; `None` where it is none of the predicate."""
    header = document.get("header") if isinstance(document, dict) else None
    goal = header.get("goal") if isinstance(header, dict) else None
    if not isinstance(goal, list) or len(goal) != 2 or goal[0] != predicate.name:  # noqa: PLR2004
        return None
    texts = goal[1]
    if not isinstance(texts, list) or len(texts) != predicate.arity:
        return None
    try:
        return tuple(map(read_canonical, texts, predicate.columns))
    except (ValueError, TypeError, AttributeError):
        return None


def _depth(document: Mapping[str, Any]) -> int:
    depth, level = 0, [document]
    while level:
        depth += 1
        level = [inner for outer in level for inner in outer["proofs"]]
    return depth


def _inside(document: Mapping[str, Any]) -> int:
    return sum(1 + _inside(inner) for inner in document["proofs"])


def _portion(found: _Found, predicate: Predicate) -> Portion:
    document, header = found.document, found.document["header"]
    taken = tuple(_assumption(document["assumptions"][index]) for index in header["under"])
    confidence = Decimal(header["confidence"])
    evidence = Evidence(
        tier=CERTIFICATES,
        origin=Origin.DERIVED,
        source=document["identity"],
        executed_at=now(),
        query=found.file.name,
        row_count=1,
        content_hash=content_hash((found.row,), predicate.kinds),
        confidence=confidence,
        proved=Proved(found.file.content, taken),
    )
    if not taken:
        return Portion((found.row,), evidence)
    atom = print_row(predicate, found.row)
    text = f"the certificate {document['identity'][:_SHORT]} proves {atom} under its assumptions"
    return Portion((found.row,), evidence, Assumption("fact", atom, text, confidence, taken))


def _assumption(one: Mapping[str, Any]) -> Assumption:
    return Assumption(one["kind"], one["text"], one["text"], Decimal(one["confidence"]))
