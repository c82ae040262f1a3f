"""Writing decisions down: from results to entries of the project's log, and the log itself.

In: results, and who asks. Out: entries. Invariant: a result that was to be written down is given
out only when its entry is on the disk (it fails closed). Example:
`session.prove("is_vip(C001)", log=LogAs(by="alice")).logged == 1`.
"""

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
from constat.session.log_as import LogAs
from constat.store.clock import now
from constat.store.decision_log import Decided, DecisionLog, require_supersedable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.project import Project
    from constat.session.result import Result
    from constat.session.signing_snapshots import SignedSnapshot
    from constat.store.decision_log import Expiry, Record
    from constat.store.decision_log_checking import Anchor, LogReport
    from constat.store.decision_log_entries import Entry

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
        wish = log_as or LogAs()
        if not wish.asked and not self._project().log.on:
            message = "`--by`, `--retention` and `--supersedes` need a log of decisions"
            raise ConstatError([Diagnostic("C0758", message, help="add `--log`")])
        self._retention(wish.retention)
        if wish.supersedes is not None:
            self.store.find(wish.supersedes)
        return wish

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
        decided = Decided(
            goal=result.goal,
            verdict=result.verdict.value,
            identity=json.loads(result.certificate)["identity"],
            who=_who(log_as.by),
            supersedes=number,
            retention=retention,
            until=until,
        )
        entry = self.store.decide(decided, result.certificate, now())
        return result.logged_as(entry.sequence)

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
    except (OSError, KeyError, ConstatError):
        # A container may run a user that has no name.
        return f"user {os.getuid()}"


def _line(text: str, what: str, least: int = 0) -> str:
    if len(text) > _LONGEST_NAME or not text.isprintable() or len(text.strip()) < least:
        message = f"a {what} is one printable line of at most {_LONGEST_NAME} characters"
        raise ConstatError([Diagnostic("C0743", message)])
    return text
