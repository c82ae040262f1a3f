"""Signed heads of the decision log, which show later that its tail was not cut off.

In: a checked log and a key, or the file of a head. Out: a line to keep elsewhere, or an `Anchor`.
Invariant: a head counts only when a trusted key signed it. Example: an auditor keeps the head of
each month; `constat log verify --anchor FILE` then finds what was cut or written anew since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.signing import LOG_HEAD_TYPE, judge
from constat.proof.signing.trust import VALID
from constat.session.signing import signed_line
from constat.store.clock import now
from constat.store.decision_log_checking import Anchor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.proof.signing import SigningKey, TrustedKey
    from constat.store.decision_log_checking import LogReport


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
