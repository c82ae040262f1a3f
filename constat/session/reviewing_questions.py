"""What a session offers about drafts, approvals and facts that are told.

In: identities of drafts, ids of rules, told text. Out: reviews, sessions over other programs,
stored facts. Each is loaded when it is first asked. Example:
`session.reviews.approve("3fa1b2c4", by="Ada", reason="as the contract says")`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.project import APPROVALS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.drafts import JoinedProgram
    from constat.project import Project
    from constat.session.facts_of_text import Told
    from constat.session.leaves import JoinedDraft
    from constat.session.reviewing import Reviews
    from constat.session.session import Session
    from constat.store.drafts import DraftStore


Stamps = dict[Path, tuple[object, ...]]
"""Files and folders, each with what changes when it does."""
_RULE_FILE: Final = ".dl"


def watched(project: Project) -> Stamps:
    """Give the stamps of what decides which rules a project has; nothing is read."""
    folders = dict.fromkeys((*(one.parent for one in project.rules), *project.rule_roots))
    approvals = (one / APPROVALS_FILE for one in folders)
    files = (project.folder / project.config_name, *project.rules, *approvals)
    return stamp_of((*files, *folders))


def stamp_of(paths: Iterable[Path]) -> Stamps:
    """Give the stamps of files and folders; a folder's are the names of its rule files."""
    return {one: _stamp(one) for one in paths}


def _stamp(path: Path) -> tuple[object, ...]:
    try:
        if path.is_dir():
            names = os.listdir(path)  # noqa: PTH208  names alone, and no paths
            return tuple(sorted(name for name in names if name.endswith(_RULE_FILE)))
        found = path.stat()
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


class Reviewing(ABC):
    """The part of a session that offers it."""

    _project: Project | None
    _read: Stamps | None = None
    _library_names: tuple[str, ...] | None
    _program: AnalysedProgram | None
    _serve: bool
    _locale: str | None
    joined: JoinedProgram | None = None
    """The drafts that have joined this session, if any have."""

    @property
    @abstractmethod
    def _whole(self) -> Session:
        """Give the session that this is a part of."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """Give the project."""

    @property
    @abstractmethod
    def program(self) -> AnalysedProgram:
        """Give the rules of the project."""

    @property
    def drafts(self) -> DraftStore:
        """The quarantine: what was drafted, and what became of it."""
        from constat.store.drafts import DraftStore  # noqa: PLC0415  loaded when it is used

        return DraftStore(self.project.state)

    @property
    def reviews(self) -> Reviews:
        """Reviews of drafts and proposed rules: what they would change; approve and reject."""
        from constat.session import reviewing  # noqa: PLC0415  loaded when it is used

        return reviewing.Reviews(self._whole)

    def with_drafts(self, identities: Sequence[str]) -> Session:
        """Give a session in which drafts are proposed rules, also where they amend what is there.

        Raises `ConstatError` for a draft that is unknown or does not fit.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        drafts = [self.drafts.get(one) for one in identities]
        joined = drafted.join_named(self.program, drafts)
        return self._whole.over(joined, cache=self._serve, locale=self._locale)

    @contextmanager
    def _beside_drafts(
        self, document: Mapping[str, Any], named: Sequence[str] | None
    ) -> Iterator[tuple[Session, tuple[JoinedDraft, ...]]]:
        """Give the session in which a certificate can be asked about, and the drafts that joined.

        These are the `named` ones, or else those whose rules the certificate has.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        found: tuple[JoinedDraft, ...] = drafted.drafts_of(document, self._whole, named)
        here = [self.drafts.get(one.identity) for one in found if one.status]
        if not here:
            other = self._with_rows_in(document)
            try:
                yield other, found
            finally:
                if other is not self._whole:
                    other.close()
            return
        joined = drafted.join_named(self.program, here)
        if drafted.was_unused(document):
            joined = drafted.unused(joined)
        other = self._whole.over(joined, cache=self._serve, locale=self._locale)
        try:
            yield other, found
        finally:
            other.close()

    def _with_rows_in(self, document: Mapping[str, Any]) -> Session:
        """Give the session that has the rows of keys which a certificate shows to be broken."""
        declared = self.program.program.predicates
        if all(one["name"] in declared for one in document["declarations"]):
            return self._whole
        # Only such certificates need what checks the data.
        from constat.session.data_checks import over_rows_in  # noqa: PLC0415  loaded when it is used

        found: Session = over_rows_in(self._whole, document)
        return found

    def reload_rules(self) -> None:
        """Read the rules anew at the next question, which files there are included."""
        self.close()
        self._project = None
        self._program = None
        self._read = None
        self._library_names = None

    def rules_changed(self) -> bool:
        """Whether the files of rules, approvals and configuration are others than those read.

        Costs a look at each file, and reads none. Before anything was read nothing has changed.
        """
        return self._read is not None and self._read != stamp_of(self._read)

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def approved_only(self) -> Session:
        """Give a session in which proposed rules give nothing that anybody could accept.

        What needs one is UNRESOLVED there.
        """
        from constat.session import drafted  # noqa: PLC0415  loaded when it is used

        joined = drafted.JoinedProgram(drafted.approved_only(self.program))
        other = self._whole.over(joined, cache=self._serve, locale=self._locale)
        # A sub-plan that is drafted now would be approved by nobody either.
        other.planning = False
        return other

    def provide_facts(
        self,
        text: str = "",
        *,
        author: str,
        goal: str = "",
        atoms: Sequence[str] = (),
        document: str = "",
        section: str = "",
    ) -> Told:
        """Read facts from what somebody tells in words; nothing is kept before `Told.keep`.

        A model finds them, or `atoms` names them; each has to stand in the words. `Told.retry`
        proves `goal` again. With `document` the words are those of a document of the project, or
        of its `section`, and `author` says that they are so. Raises `ConstatError` where no model
        is configured, or may not read the document.
        """
        from constat.session.facts_of_text import tell  # noqa: PLC0415  loaded when it is used

        source = ""
        if document:
            text, source = self._whole.documents.words(document, section, by_model=not atoms)
        told = tell(self._whole, text, author=author, goal=goal, atoms=atoms)
        return replace(told, source=source) if source else told
