"""What a session offers for records: the log of decisions, snapshots and openings.

In: predicates, certificates and keys. Out: entries, signed statements, openings. Each is loaded
when it is first asked. Example: `session.decisions.records()`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.project import Project
    from constat.proof.signing import SigningKey
    from constat.session.bench import Bench
    from constat.session.logging_decisions import Decisions
    from constat.session.signing import SignatureReport
    from constat.session.signing_snapshots import SignedSnapshot


class Recording(ABC):
    """The part of a session that offers it."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """Give the project."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

    @property
    def decisions(self) -> Decisions:
        """The log of decisions: what was decided, what is held, what has expired."""
        logging = importlib.import_module("constat.session.logging_decisions")
        found: Decisions = logging.Decisions(lambda: self.project)
        return found

    def sign(self, certificate: bytes, key: SigningKey, meaning: str) -> bytes:
        """Sign a certificate that the checker accepts; gives a line for the file beside it.

        `meaning` is `produced`, `approved`, `reviewed` or `audited`; `constat.proof.signing` reads
        keys. Raises `ConstatError` for a certificate that is rejected.
        """
        signing = importlib.import_module("constat.session.signing")
        line: bytes = signing.sign_certificate(certificate, key, meaning)
        return line

    def check_signatures(
        self, certificate: bytes, signatures: bytes, roles: Sequence[str]
    ) -> SignatureReport:
        """Judge the signatures of an accepted certificate by the keys of the project.

        Each of the roles must have signed. Raises `ConstatError` where no key is trusted for one.
        """
        signing = importlib.import_module("constat.session.signing")
        trusted, wanted = signing.trust((), roles, self.project)
        report: SignatureReport = signing.check_signatures(certificate, signatures, trusted, wanted)
        return report

    def snapshot(
        self, predicate: str, key: SigningKey, first: Sequence[str] = ()
    ) -> SignedSnapshot:
        """Commit to all rows of a predicate, sorted by the columns `first` before the others.

        Raises `ConstatError` where the rows are not all there, certain and of one source.
        """
        snapshots = importlib.import_module("constat.session.signing_snapshots")
        taken = snapshots.take_snapshot(self._bench(), predicate, first)
        signed: SignedSnapshot = snapshots.sign_snapshot(taken, key)
        return signed

    def openings(
        self, certificate: bytes, snapshots: Sequence[tuple[bytes, str]], *, inside: bool = False
    ) -> bytes:
        """Open what an accepted certificate shows, in signed snapshots, each with its name.

        Gives a file of openings, or, with `inside`, the certificate with these in it. Raises
        `ConstatError` where a source has changed since, or the openings are too large to go inside.
        """
        opening = importlib.import_module("constat.session.signing_snapshots")
        read = [opening.read_snapshot(content, {}, name) for content, name in snapshots]
        if inside:
            opening = importlib.import_module("constat.session.opening_inside")
        write = opening.open_inside if inside else opening.open_certificate
        found: bytes = write(self._bench(), certificate, read)
        return found
