"""The tier of facts that other certificates prove, in a folder of the project."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.evaluation import Assumption, Evidence, Origin, Portion, Proved
from constat.project import inside
from constat.store.clock import now
from constat.syntax import print_row
from constat.tiers.declarations import CERTIFICATES, parameter, uses_certificates
from constat.tiers.tier import TierAnswer, content_hash, failed, key_of, read_canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from constat.evaluation import Demand
    from constat.logic import Predicate, Row
    from constat.project import Project

MOST_FILES: Final = 10_000
MOST_BYTES: Final = 128 << 20
LARGEST: Final = 8 << 20
_SUFFIX: Final = ".json"

Stamp = tuple[str, int, int]
"""Name, time of change and size."""


class UnreadableError(Exception):
    """The folder cannot be read whole; the text says why, without bytes from outside."""


@dataclass(frozen=True, slots=True)
class CertificateFile:
    """One file: its path within the project, and what it holds."""

    name: str
    stamp: Stamp
    content: bytes = field(compare=False, repr=False)


class CertificateFolder:
    """One folder. `named` folders must be there; the project's own may not have begun yet."""

    def __init__(self, folder: Path, project: Path, *, named: bool) -> None:
        self._folder = folder
        self._project = project
        self._named = named
        self._files: dict[Stamp, CertificateFile] = {}
        self._listed: tuple[Stamp, ...] = ()
        self._generation = 0

    def generation(self) -> int:
        """Give a number that is another one when files have come, gone or changed."""
        try:
            listed = tuple(self._stamps())
        except UnreadableError:
            listed = (("", 0, -1),)
        if listed != self._listed:
            self._listed = listed
            self._generation += 1
        return self._generation

    def files(self, predicate: str) -> Iterator[CertificateFile]:
        """Yield the files in which a goal of the predicate stands, by name."""
        mark = f'"goal":["{predicate}",'.encode()
        kept: dict[Stamp, CertificateFile] = {}
        total = 0
        for stamp in list(self._stamps()):
            if stamp[2] > LARGEST:
                continue
            total += stamp[2]
            if total > MOST_BYTES:
                raise UnreadableError(f"the certificates are larger than {MOST_BYTES >> 20} MiB")
            known = self._files.get(stamp)
            kept[stamp] = self._read(stamp) if known is None else known
        self._files = kept
        yield from (file for file in kept.values() if mark in file.content)

    def _stamps(self) -> Iterator[Stamp]:
        try:
            with os.scandir(self._folder) as entries:
                found = [entry.name for entry in entries if entry.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            if self._named:
                raise UnreadableError("the folder of certificates is not there") from None
            return
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"the folder of certificates cannot be read: {reason}") from None
        if len(found) > MOST_FILES:
            raise UnreadableError(f"there are more than {MOST_FILES:,} certificates")
        for name in sorted(found):
            stamp = self._stamp(name)
            if stamp is not None:
                yield stamp

    def _stamp(self, name: str) -> Stamp | None:
        path = inside(name, self._folder, (self._project,))
        try:
            status = None if path is None else path.stat()
        except OSError:
            return None
        return None if status is None else (name, status.st_mtime_ns, status.st_size)

    def _read(self, stamp: Stamp) -> CertificateFile:
        shown = "".join(c if c.isprintable() else "?" for c in stamp[0])[:100]
        try:
            return CertificateFile(shown, stamp, (self._folder / stamp[0]).read_bytes())
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise UnreadableError(f"{shown} cannot be read: {reason}") from None


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
