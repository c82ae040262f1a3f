"""`constat verify` with signatures, sources, snapshots and times: what needs a project."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.check.canonical import MAX_BYTES
from constat.cli.options import asked as asking
from constat.cli.output import read_file, write, write_json
from constat.cli.signing import given_keys, project_of_keys
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.signing import MOST_FILE_BYTES
from constat.session import Session
from constat.session.decisions import Decisions
from constat.session.signing import (
    SOURCE,
    SUFFIX,
    SignatureReport,
    check_signatures,
    folder_subject,
    subject_of,
    trust,
)
from constat.session.snapshots import (
    MOST_OPENED_BYTES,
    OpeningReport,
    check_commitments,
    check_openings,
    demanding,
    has_commitments,
    newer_snapshots,
    read_openings,
    read_snapshot,
    unlogged_snapshots,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.check import Report
    from constat.project import Project
    from constat.proof.signing import TrustedKey
    from constat.session import LeafReport
    from constat.session.signing import GivenKey


def verify_openings(
    certificate: bytes,
    asked: VerifyRequest,
    trusted: Mapping[str, TrustedKey],
    project: Project | None,
) -> OpeningReport:
    """Read the files and compare the leaves of an accepted certificate with them."""
    if asked.openings is None and not has_commitments(certificate):
        message = "a snapshot holds no rows: the openings of the certificate are needed, too"
        hint = "add `--openings FILE`, which `constat openings` writes"
        raise ConstatError([Diagnostic("C0761", message, help=hint)])
    read = [
        read_snapshot(read_file(path, MOST_FILE_BYTES), trusted, path) for path in asked.snapshots
    ]
    if asked.openings is None:
        found = check_commitments(certificate, read)
    else:
        opened = read_openings(read_file(asked.openings, MOST_OPENED_BYTES))
        found = check_openings(certificate, read, opened)
    records = Decisions(lambda: project).records() if project else ()
    newer, unlogged = newer_snapshots(read, records), unlogged_snapshots(read, records)
    return demanding(
        found, newer, unlogged, opened=asked.require_opened, newest=asked.require_newest
    )


# A certificate that the checker accepts is still rejected by the first question that does not
# hold, and then no verdict is printed.

REJECTED: Final = 1


class Question(Protocol):
    """What became of one question; `reason` is empty where it holds."""

    @property
    def reason(self) -> str:
        """Why it does not hold."""
        ...

    def to_lines(self) -> list[str]:
        """Give it for people."""
        ...

    def to_json(self) -> dict[str, object]:
        """Give it as JSON."""
        ...


@frozen
class VerifyRequest:
    """The file, and what the options ask of it."""

    file: str
    pin: str | None
    project: str | None
    keys: tuple[str, ...]
    roles: tuple[str, ...]
    meanings: tuple[str, ...]
    signatures: tuple[str, ...]
    snapshots: tuple[str, ...]
    openings: str | None
    source: bool = False
    allow_other_rules: bool = False
    require_opened: bool = False
    require_newest: bool = False
    drafts: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()


def verify_more(certificate: bytes, asked: VerifyRequest, *, form: str) -> int:
    """Print the report; give its exit code."""
    with Session(asked.project) as session, asking(session):
        base: Report | LeafReport = (
            session.verify_source(
                certificate,
                pin=asked.pin,
                trusted=asked.trusted,
                drafts=asked.drafts or None,
                allow_other_rules=asked.allow_other_rules,
            )
            if asked.source
            else session.verify(certificate, pin=asked.pin, trusted=asked.trusted)
        )
        told = base.to_json()
        members = json.loads(told) if isinstance(told, str) else told
        questions = _questions(certificate, asked) if members["accepted"] else {}
    wrong = next(((name, one.reason) for name, one in questions.items() if one.reason), None)
    code = REJECTED if wrong else base.exit_code
    if form == "json":
        write_json(_json(members, questions, wrong, code))
    else:
        write("\n".join(_lines(base.to_text(), questions, wrong)))
    return code


def _questions(certificate: bytes, asked: VerifyRequest) -> dict[str, Question]:
    """Ask what was asked for, by name."""
    if asked.openings is not None and not asked.snapshots:
        message = "`--openings` are of snapshots, and there is none"
        raise ConstatError([Diagnostic("C0761", message, help="add `--snapshot FILE`")])
    given = given_keys(asked.keys)
    found: dict[str, Question] = {}
    of_snapshots = [one for one in given if asked.snapshots and _is_source(one, asked)]
    rest = [one for one in given if one not in of_snapshots]
    roles = [role for role in asked.roles if not (asked.snapshots and role == SOURCE)]
    if rest or roles or asked.meanings or asked.signatures:
        found["signatures"] = _signatures(subject_of(certificate), asked, rest, roles)
    if asked.snapshots:
        keys = [replace(one, role=SOURCE) for one in of_snapshots]
        project = project_of_keys(asked.project)
        trusted, _ = trust(keys, [SOURCE], project)
        found["snapshots"] = verify_openings(certificate, asked, trusted, project)
    return found


def _is_source(key: GivenKey, asked: VerifyRequest) -> bool:
    """Whether a key is one for snapshots: it is named so, or there is nothing else it may be."""
    return key.role == SOURCE or (key.role is None and set(asked.roles) <= {SOURCE})


def folder_signatures(index: Path, asked: VerifyRequest) -> dict[str, Question]:
    """Ask whose signatures are beside the index of an accepted folder, where that was asked for."""
    given = given_keys(asked.keys)
    if not (given or asked.roles or asked.meanings or asked.signatures):
        return {}
    subject = folder_subject(read_file(str(index), MAX_BYTES))
    own = replace(asked, file=str(index))
    return {"signatures": _signatures(subject, own, given, asked.roles)}


def _signatures(
    subject: tuple[str, str, Mapping[str, object]],
    asked: VerifyRequest,
    given: Sequence[GivenKey],
    roles: Sequence[str],
) -> SignatureReport:
    if not given and not roles:
        message = "`--meaning` and `--signature` say which signatures count, but not whose"
        hint = "add `--role approver` or `--key approver=FILE`"
        raise ConstatError([Diagnostic("C0744", message, help=hint)])
    trusted, wanted = trust(given, roles, project_of_keys(asked.project))
    wanted = replace(wanted, meanings=asked.meanings)
    contents = [read_file(path, MOST_FILE_BYTES) for path in asked.signatures]
    if not asked.signatures:
        beside = f"{asked.file}{SUFFIX}"
        if asked.file == "-" or not Path(beside).exists():
            contents = [b""]
        else:
            contents = [read_file(beside, MOST_FILE_BYTES)]
    reports = [check_signatures(subject, one, trusted, wanted) for one in contents]
    findings = tuple(finding for one in reports for finding in one.findings)
    unmet = set.intersection(*(set(one.missing) for one in reports))
    return SignatureReport(findings, tuple(one for one in reports[0].missing if one in unmet))


def _lines(text: str, questions: dict[str, Question], wrong: tuple[str, str] | None) -> list[str]:
    more = [line for one in questions.values() for line in one.to_lines()]
    if wrong is not None:
        return [f"REJECTED at {wrong[0]}: {wrong[1]}", *more]
    lines = text.rstrip("\n").splitlines()
    if getattr(questions.get("snapshots"), "whole", False):
        lines = [line for line in lines if "leaves were not re-read" not in line]
    return [*lines, *more]


def _json(
    members: dict[str, Any],
    questions: dict[str, Question],
    wrong: tuple[str, str] | None,
    code: int,
) -> dict[str, Any]:
    told = {**members, "exit_code": code}
    if wrong is not None:
        told |= {"accepted": False, "verdict": None, "code": wrong[0], "reason": wrong[1]}
        told |= {"place": wrong[0]}
    return told | {name: one.to_json() for name, one in questions.items()}
