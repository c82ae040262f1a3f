"""`constat verify --snapshot --openings`: the leaves against signed roots, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.cli.files import read_file
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.signing.trust import MOST_FILE_BYTES
from constat.session.checking_openings import (
    MOST_BYTES,
    OpeningReport,
    check_commitments,
    check_openings,
    demanding,
    has_commitments,
    read_openings,
)
from constat.session.logging_decisions import Decisions
from constat.session.signing_snapshots import newer_snapshots, read_snapshot, unlogged_snapshots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.cli.verify_more import Asked
    from constat.project import Project
    from constat.proof.signing import TrustedKey


def verify_openings(
    certificate: bytes, asked: Asked, trusted: Mapping[str, TrustedKey], project: Project | None
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
        opened = read_openings(read_file(asked.openings, MOST_BYTES))
        found = check_openings(certificate, read, opened)
    records = Decisions(lambda: project).records() if project else ()
    newer, unlogged = newer_snapshots(read, records), unlogged_snapshots(read, records)
    return demanding(
        found, newer, unlogged, opened=asked.require_opened, newest=asked.require_newest
    )
