"""Which certificates would have to be proved again, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.check import check_certificate
from constat.check.canonical import MAX_BYTES
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.decoding import read_members
from constat.session.leaves import Rereading, leaves_out, written_goal
from constat.session.stale_rules import PresentRules
from constat.tiers import age_allowed, age_in_words, is_cached, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.logic import Atom
    from constat.session.leaves import Leaf
    from constat.session.result import Result

# "the source did not answer" is a kind of its own, because nothing follows from it.


@frozen
class Reason:
    """Why a conclusion does not simply stand.

    `kind` is `rejected`, `rules`, `configuration`, `retracted`, `stated`, `source`, `age`,
    `unreached` where a source did not answer, or `wording` where it stands but is said otherwise.
    """

    kind: str
    text: str


def reason_of(leaf: Leaf) -> Reason | None:
    """Give the reason that a leaf is, if it is one."""
    if leaf.status == "same":
        return None
    if not leaf.reached:
        return Reason("unreached", f"{leaf.text}: {leaf.detail}")
    if leaf.status not in {"gone", "new"}:
        said = f": {leaf.detail}" if leaf.detail else ""
        return Reason("source", f"{leaf.text} has changed{said}")
    gone = leaf.status == "gone"
    kind, word = "source", "there"
    if leaf.origin == "CONFIG":
        kind, word = "configuration", "configured"
    elif leaf.origin == "USER_PROVIDED":
        kind, word = ("retracted" if gone else "stated"), "stated"
    return Reason(kind, f"{leaf.text} is {f'not {word} any more' if gone else f'{word} now'}")


STALE: Final = 1
UNTOLD: Final = 4
_MOST_FILES: Final = 100_000


@frozen
class Conclusion:
    """A certificate and what became of it: `current`, `stale` or `unknown`.

    `goal` and `verdict` are empty where the checker rejects the file.
    """

    path: str
    goal: str
    verdict: str
    identity: str
    reasons: tuple[Reason, ...] = ()

    @property
    def status(self) -> str:
        """Whether it stands: one reason is enough to prove again, a silent source is not.

        Nor is another sentence of a rule: the conclusion is what it was.
        """
        kinds = {reason.kind for reason in self.reasons} - {"wording"}
        if kinds - {"unreached"}:
            return "stale"
        return "unknown" if kinds else "current"


@frozen
class StaleReport:
    """All conclusions that were looked at, in the order of their files."""

    conclusions: tuple[Conclusion, ...]

    @property
    def stale(self) -> tuple[Conclusion, ...]:
        """Those that would have to be proved again."""
        return tuple(one for one in self.conclusions if one.status == "stale")

    @property
    def reworded(self) -> tuple[Conclusion, ...]:
        """Those that stand, and are said in other words now."""
        return tuple(one for one in self.conclusions if one.status == "current" and one.reasons)

    @property
    def unknown(self) -> tuple[Conclusion, ...]:
        """Those whose sources did not answer."""
        return tuple(one for one in self.conclusions if one.status == "unknown")

    @property
    def exit_code(self) -> int:
        """0 none is stale, 1 some are, 4 some cannot be told."""
        if self.stale:
            return STALE
        return UNTOLD if self.unknown else 0


class Prove(Protocol):
    """Proves a goal now."""

    def __call__(self, goal: Atom, *, exhaust: bool) -> Result:
        """Give the result."""
        ...


@frozen
class Present:
    """The project as it is now."""

    program: AnalysedProgram
    externals: Externals
    prove: Prove


Beside = Callable[[Mapping[str, Any]], AbstractContextManager[Present | None]]
"""Gives the project that a certificate is to be held against, where that is another one."""


def find_stale(paths: Sequence[Path | str], present: Present, beside: Beside) -> StaleReport:
    """Look at every certificate; raises `ConstatError` for a file that cannot be read."""
    judge = _Judge(present, beside)
    return StaleReport(
        tuple(judge.conclusion(path) for given in paths for path in _files(Path(given)))
    )


def _files(given: Path) -> list[Path]:
    """Give the files of a folder and of the folders in it, or the one file."""
    if not given.is_dir():
        return [given]
    found = sorted(path for path in given.rglob("*.json") if path.is_file())
    if len(found) > _MOST_FILES:
        message = f"`{given}` holds more than {_MOST_FILES} files"
        raise ConstatError([Diagnostic("C0401", message)])
    return found


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "this is no file name"
        raise ConstatError([Diagnostic("C0401", f"`{path}` cannot be read: {reason}")]) from None


class _Judge:
    """Holds certificates against one state of the project."""

    def __init__(self, present: Present, beside: Beside) -> None:
        self._present = present
        self._beside = beside
        self._rules = PresentRules(present.program)

    def conclusion(self, path: Path) -> Conclusion:
        content = _content(path)
        report = check_certificate(content)
        if not report.accepted:
            said = f"the checker rejects it: {report.reason}"
            return Conclusion(str(path), "", "", "", (Reason("rejected", said),))
        document = read_members(content)
        try:
            with self._beside(document) as present:
                judge = self if present is None else _Judge(present, self._beside)
                reasons = judge.reasons(document)
        except ConstatError as problem:
            # A draft that it rests on does not fit any more.
            reasons = [Reason("rules", _told(problem))]
        return Conclusion(
            str(path),
            report.goal or "",
            report.verdict or "",
            report.identity or "",
            tuple(dict.fromkeys(reasons)),
        )

    def reasons(self, document: Mapping[str, Any]) -> list[Reason]:
        """Say why an accepted certificate would have to be proved again."""
        reasons = [Reason("rules", text) for text in self._rules.changes(document)]
        reasons += [Reason("wording", text) for text in self._rules.wording(document)]
        try:
            reasons += self._leaves(document)
        except ConstatError as problem:
            # The query of a leaf is wrong now, so the goal could not be proved again as it stands.
            reasons.append(Reason("source", _told(problem)))
        return reasons

    def _leaves(self, document: Mapping[str, Any]) -> Iterator[Reason]:
        rereading = Rereading(document, self._present.program, self._present.externals)
        leaves = [*rereading.facts(), *rereading.fillings(), *rereading.coverage()]
        if document["header"]["verdict"] not in {"PROVED", "DISPROVED"}:
            # More knowledge never turns what is settled around; it may decide what is not.
            leaves += rereading.closed_since()
        if leaves_out(document):
            leaves += rereading.summaries(self._proved_again(document))
        for leaf in leaves:
            found = reason_of(leaf)
            if found is not None:
                yield found
        yield from self._aged(document, rereading)

    def _proved_again(self, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Prove the goal: only so are rows that stand in no certificate read again."""
        goal = written_goal(document["header"], self._present.program)
        if goal is None:
            return []
        exhaust = document["header"]["search"] == "exhausted"
        return [read_members(self._present.prove(goal, exhaust=exhaust).certificate)]

    def _aged(self, document: Mapping[str, Any], rereading: Rereading) -> Iterator[Reason]:
        """Yield evidence of the cache that is older than its predicate allows now."""
        now = time.time()
        predicates = self._present.program.program.predicates
        executed = document["record"]["executed"]
        for number, source in enumerate(document["sources"]):
            if not is_cached(source["tier"]):
                continue
            moment = seconds_of(executed[number] or "")
            for name in sorted(rereading.predicates_of(number)):
                allowed = age_allowed(predicates[name]) if name in predicates else 0
                if moment is None or not 0 <= now - moment <= allowed:
                    yield Reason("age", _too_old(name, allowed, moment, now))


def _told(problem: ConstatError) -> str:
    first = problem.diagnostics[0]
    return f"{first.message} [{first.code}]"


def _too_old(name: str, allowed: int, moment: float | None, now: float) -> str:
    if not allowed:
        return f"{name} came from the cache, and nothing of it is kept any more"
    if moment is None or moment > now:
        return f"{name} came from the cache, and its time says nothing"
    age, most = age_in_words(now - moment), age_in_words(allowed)
    return f"{name} came from the cache and is {age} old; its max_age is {most}"
