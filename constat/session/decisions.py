"""Writing decisions down: from results to entries of the project's log, and its signed heads."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.project import KEPT
from constat.proof.certificate import Circumstances
from constat.proof.signing import LOG_HEAD_TYPE, VALID, judge
from constat.session.options import LogAs
from constat.session.signing import signed_line
from constat.store.clock import now
from constat.store.decision_log import Anchor, Decided, DecisionLog, require_supersedable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constat.project import Project
    from constat.proof.signing import SigningKey, TrustedKey
    from constat.session.result import Result
    from constat.session.snapshots import SignedSnapshot
    from constat.store.decision_log import Entry, Expiry, LogReport, Record

# A result that was to be written down is given out only when its entry is on the disk (it fails
# closed).

FOLDER_NAME: Final = "decisions"
MOST_CERTIFICATE_PROBLEMS: Final = 100
_LONGEST_NAME: Final = 200
_SPELLING: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_NEVER: Final = "9999-12-31T23:59:59.999999Z"


class Decisions:
    """The decision log of a project."""

    def __init__(self, project: Callable[[], Project]) -> None:
        self._project = project

    @property
    def store(self) -> DecisionLog:
        """The log as it is kept."""
        project = self._project()
        return DecisionLog(project.log.folder or project.state / FOLDER_NAME, project.log.file_mode)

    def require(self, log_as: LogAs | None) -> LogAs:
        """Say how a decision is written down; raises `ConstatError` where there is no log."""
        options = log_as or LogAs()
        if not options.asked and not self._project().log.on:
            message = "`--retention` and `--supersedes` need a log of decisions"
            raise ConstatError([Diagnostic("C0758", message, help="add `--log`")])
        self._retention(options.retention)
        if options.supersedes is not None:
            self.store.find(options.supersedes)
        return options

    def write(self, result: Result, log_as: LogAs) -> Result:
        """Write a result down; gives it with its number, and with what it supersedes."""
        retention, until = self._retention(log_as.retention)
        number: int | None = None
        if log_as.supersedes is not None:
            earlier = self.store.find(log_as.supersedes)
            require_supersedable(earlier, result.goal)
            number = earlier.entry.sequence
            identity = (earlier.entry.body or {})["identity"]
            result = replace(result, supersedes=str(identity))
        who, written = _who(log_as.by), [result]

        def made(before: Entry) -> tuple[Decided, bytes]:
            place = f"entry {before.sequence + 1} of the log, after {before.hash}"
            told = replace(result.told or Circumstances(), asked_by=who, decision=place)
            written[0] = result.altered(told=told)
            content = written[0].certificate
            identity = json.loads(content)["identity"]
            said = (result.goal, result.verdict.value, identity, who)
            return Decided(*said, supersedes=number, retention=retention, until=until), content

        entry = self.store.decide_after(made, now())
        return written[0].logged_as(entry.sequence)

    def write_snapshot(self, signed: SignedSnapshot, *, asked: bool, by: str | None) -> int | None:
        """Write down that a relation was committed to, where that is asked for or configured."""
        if not (asked or self._project().log.on):
            return None
        says = signed.snapshot.says
        body = {name: str(says[name]) for name in ("executed", "predicate", "source")}
        body["root"] = f"sha256:{signed.snapshot.tree.root}"
        body["statement"] = f"sha256:{hashlib.sha256(signed.line).hexdigest()}"
        return self.store.snapshot({**body, "who": _who(by)}, now()).sequence

    def records(self) -> tuple[Record, ...]:
        """Give all entries, in order."""
        return self.store.records()

    def find(self, reference: str) -> Record:
        """Give one entry, by number or by the identity of its proof."""
        return self.store.find(reference)

    def certificate(self, record: Record) -> bytes:
        """Give the certificate of a decision."""
        return self.store.certificate(record.entry)

    def check(self, anchor: Anchor | None = None) -> LogReport:
        """Check the log from end to end, and that each certificate is the one written down."""
        store = self.store
        report = store.check(anchor)
        if report is None:
            raise no_log()
        if not report.whole:
            return report
        wrong = store.wrong_certificates(MOST_CERTIFICATE_PROBLEMS)
        return replace(report, problems=wrong)

    def hold(
        self, targets: Sequence[int], *, matter: str, reason: str = "", by: str | None = None
    ) -> Entry:
        """Keep decisions from expiring, for a matter."""
        said = (_line(matter, "matter"), _line(reason, "reason"), _who(by))
        return self.store.hold(targets, *said, now())

    def release(
        self, targets: Sequence[int], *, matter: str, reason: str = "", by: str | None = None
    ) -> Entry:
        """Lift a hold."""
        said = (_line(matter, "matter"), _line(reason, "reason"), _who(by))
        return self.store.release(targets, *said, now())

    def expire(self, *, by: str | None = None) -> Expiry:
        """Remove what is over its time and not held; the chain stays verifiable."""
        return self.store.expire(_who(by), now())

    def _retention(self, wanted: str | None) -> tuple[str, str | None]:
        """Give a class of retention and the time until which it keeps what is written now."""
        setting = self._project().log
        name = setting.retention if wanted is None else wanted
        try:
            days = setting.days(name)
        except KeyError:
            near = nearest(name, [*setting.classes, KEPT])
            hint = f"write `{near}`" if near else "`log: {classes: ...}` in constat.yaml names them"
            message = f"there is no class of retention `{name[:80]}`"
            raise ConstatError([Diagnostic("C0756", message, help=hint)]) from None
        return name, None if days is None else _after(days)


def no_log() -> ConstatError:
    """Say that nothing was ever written down."""
    hint = "`constat prove GOAL --log` begins it, or `log: true` in constat.yaml"
    return ConstatError([Diagnostic("C0754", "there is no log of decisions yet", help=hint)])


def _after(days: int) -> str:
    try:
        return (datetime.now(UTC) + timedelta(days=days)).strftime(_SPELLING)
    except OverflowError:
        return _NEVER


def _who(name: str | None) -> str:
    if name is not None:
        return _line(name, "name", least=1)
    try:
        return _line(getpass.getuser(), "name", least=1)
    except (ImportError, OSError, KeyError, ConstatError):
        # A container may run a user that has no name.
        return f"user {getattr(os, 'getuid', int)()}"


def _line(text: str, what: str, least: int = 0) -> str:
    if len(text) > _LONGEST_NAME or not text.isprintable() or len(text.strip()) < least:
        message = f"a {what} is one printable line of at most {_LONGEST_NAME} characters"
        raise ConstatError([Diagnostic("C0743", message)])
    return text


# A head counts only when a trusted key signed it.


def sign_head(report: LogReport, key: SigningKey) -> bytes:
    """Sign the head of a log that is whole; raises `ConstatError` for one that is not."""
    if not report.whole:
        message = f"the log of decisions is damaged: {report.problems[0]}"
        raise ConstatError([Diagnostic("C0752", message, help="`constat log verify` says more")])
    head = report.anchor
    says = {"log": head.log, "sequence": str(head.sequence), "time": head.time}
    return signed_line(key, "anchored", LOG_HEAD_TYPE, head.hash.removeprefix("sha256:"), says)


def read_head(content: bytes, trusted: Mapping[str, TrustedKey]) -> Anchor | str:
    """Read a signed head; gives the reason where it does not count."""
    findings = judge(content, trusted, (LOG_HEAD_TYPE, "", {}), now())
    if len(findings) != 1:
        return "the anchor is not exactly one signed head"
    (finding,) = findings
    if finding.status != VALID or finding.statement is None:
        return f"the anchor does not count: {finding.reason}"
    says = finding.statement.says
    log, sequence, time = (says.get(name) for name in ("log", "sequence", "time"))
    if not (isinstance(log, str) and isinstance(sequence, str) and isinstance(time, str)):
        return "the anchor is not about the head of a log"
    if not (sequence.isascii() and sequence.isdigit()):
        return "the anchor is not about the head of a log"
    return Anchor(log, int(sequence[:15]), f"sha256:{finding.statement.sha256}", time)
