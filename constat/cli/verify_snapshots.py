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
    has_commitments,
    read_openings,
)
from constat.session.signing_snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.proof.signing import TrustedKey


def verify_openings(
    certificate: bytes,
    snapshots: Sequence[str],
    openings: str | None,
    trusted: Mapping[str, TrustedKey],
) -> OpeningReport:
    """Read the files and compare the leaves of an accepted certificate with them."""
    if openings is None and not has_commitments(certificate):
        message = "a snapshot holds no rows: the openings of the certificate are needed, too"
        hint = "add `--openings FILE`, which `constat openings` writes"
        raise ConstatError([Diagnostic("C0761", message, help=hint)])
    read = [read_snapshot(read_file(path, MOST_FILE_BYTES), trusted, path) for path in snapshots]
    if openings is None:
        return check_commitments(certificate, read)
    return check_openings(certificate, read, read_openings(read_file(openings, MOST_BYTES)))
