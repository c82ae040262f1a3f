"""Memory: everything that was said, word for word, and as much of what holds as fits a context.

In: messages, as they come.  Out: contexts, views, texts, proofs.  Invariants: what ``append`` has
returned from survives a crash; a view is a function of what was said and of the goal, and not of
when it was asked before; nothing is summarised and no model is asked.

Example::

    with Memory(Path(".constat"), "s1") as memory:
        memory.append(from_anthropic(messages, memory.attachments))
        context = memory.context(goal="cancel reservation 4WQ150")
"""

from __future__ import annotations

import gc
import json
import re
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation.processor import finalize_here
from constat.memory.archive import Archive, Index
from constat.memory.compaction import ContextRequest, Material, Switching
from constat.memory.decisions import Fork, Known, decide, load_rules, rows_of
from constat.memory.facts import Author
from constat.memory.history import MAIN, SILENT
from constat.memory.journal import (
    PIN,
    RETRACT,
    BranchKept,
    Checkpoints,
    Moment,
    Record,
    Snapshot,
    policy_digest,
)
from constat.memory.narrative import Scratchpad, WorkingMemory
from constat.memory.policy import Policy, Window
from constat.memory.tokens import DEAREST, Calibration, estimate, family_of, messages_tokens
from constat.memory.view import Filling, Ranked, View, shortened
from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from constat.memory.archive import Found
    from constat.memory.compaction import Context
    from constat.memory.decisions import Decided, MemoryRules, Proof, Proving
    from constat.memory.facts import Fact
    from constat.memory.history import Cited, Claim, History, Line
    from constat.memory.journal import Checkpoint
    from constat.memory.messages import Attachments, Message
    from constat.memory.standing import Standing
    from constat.memory.view import Order

_BRANCH: Final = r"[\w][\w .-]{0,59}"
_REF: Final = re.compile(
    rf"@?(?:ref:)?((?:{_BRANCH}:)?m[0-9]+(?:\.[0-9]+)?)(?:\[([0-9]+):([0-9]+)\])?"
)


class Memory:
    """The memory of one session, in a folder; without one it lasts as long as this object.

    ``rules`` is a folder with rules of one's own. ``model`` is the one that contexts are for: its
    tokens are counted as its tokenizer does, where that is public. ``branch`` is for
    ``Memory.branch``.
    """

    def __init__(  # noqa: PLR0913  what is left out is as it mostly is
        self,
        folder: Path | None = None,
        session: str = MAIN,
        *,
        policy: Policy | None = None,
        window: Window | None = None,
        rules: Path | None = None,
        model: str = "",
        branch: BranchKept | None = None,
    ) -> None:
        self._scratch = None
        if folder is None:
            self._scratch = Scratch()
            folder = self._scratch.path
        self.folder = folder
        self.archive = Archive(folder)
        self.session = session
        self.policy = policy or Policy()
        self.window = window or Window()
        self.calibration = Calibration()
        self.model = model
        self._counted = (0, 0)
        self._own_rules = rules
        self._rules: MemoryRules | None = None
        self._index: Index | None = None
        self._last: tuple[object, Decided] | None = None
        self._standing: tuple[tuple[str, ...], Standing] | None = None
        self._held: weakref.finalize[[], Memory] | None = None
        self._record = Record(self.archive, session, self.policy, self.window, branch)
        self._main = None if branch is None else self._record_of(None)
        kept_as = session if branch is None else branch.session
        self._checkpoints = Checkpoints(self.archive, kept_as, self.policy.checkpoints)
        self._switching = Switching(
            self._record, self.policy, self.window, self.calibration, self._checkpoints
        )
        self._record.load()

    @property
    def attachments(self) -> Attachments:
        """Where the bytes of images are kept, for whoever reads a provider's messages."""
        return self.archive

    @property
    def rules(self) -> MemoryRules:
        """The rules that decide; raises ``ConstatError`` with every mistake in one's own."""
        if self._rules is None:
            self._rules = load_rules(self._own_rules)
        return self._rules

    @property
    def scratchpad(self) -> Scratchpad:
        """The long texts of the session by reference, those of messages by their names."""
        return Scratchpad(self.archive, self.session, self.open)

    @property
    def working(self) -> WorkingMemory:
        """What the subtasks of the session left behind."""
        return WorkingMemory(self.archive, self.session)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """What compaction made of the session, the newest first."""
        return self._checkpoints.all()

    @property
    def history(self) -> History:
        """What was said, with its texts and claims."""
        return self._record.history

    @property
    def shown(self) -> Sequence[Message]:
        """The messages as contexts show them: texts too heavy for the window by their ends."""
        return self._record.shown

    def append(self, messages: Sequence[Message], *, after: int | None = None) -> tuple[int, ...]:
        """Keep messages; gives their numbers. With ``after``, as ``Archive.append``."""
        if self._held is None:
            self._held = finalize_here(self, self.archive.hold())
        return self._record.append(messages, after)

    def note(self, facts: Iterable[Fact]) -> None:
        """Keep facts that were found by other means than the extractors."""
        self._record.note(facts)

    def pin(self, claim: str, by: str) -> None:
        """Keep a claim, or all at a place, in sight as long as they hold; C0807 for an unknown."""
        for one in self._named(claim):
            self._record.mark(PIN, one.name, by, "")

    def retract(self, claim: str, by: str, reason: str = "") -> None:
        """Take a claim, or all at a place, back in the name of a person; C0807 for an unknown."""
        for one in self._named(claim):
            self._record.mark(RETRACT, one.name, by, reason)

    def view(self, tokens: int, goal: str = "", *, at: Snapshot | None = None) -> View:
        """Return what matters of the whole history in so many tokens.

        What is pinned and does not fit is named by its place, or counted in ``left_out`` where not
        even that fits. With ``at`` the view is that of a snapshot, whose goal counts then.
        """
        order = self._order(goal) if at is None else self._by_rules(at.goal, at.moment)
        filling = Filling((), self.policy.human_tokens, self.policy.verbatim_characters)
        return shortened(order, tokens, filling)

    def context(
        self, budget: int | None = None, goal: str = "", *, boundary: bool = False
    ) -> Context:
        """Return what to send to a model.

        With a ``budget`` that is at most so many tokens. Without one the policy decides: below its
        trigger nothing changes, and what was compacted stays as it is until the trigger is reached
        again. At the ``boundary`` of a task it compacts a little earlier. What does not fit
        gives way step by step; raises ``BudgetError`` where the system's text and the current
        message alone are too much.
        """
        self._count()
        wanted = ContextRequest(
            lambda: self._material(goal), lambda: self.snapshot(goal).id, boundary
        )
        with _uncollected():
            if budget is not None:
                return self._switching.within(budget, wanted)
            return self._switching.by_policy(wanted)

    def open(self, ref: str) -> bytes:
        """Return the bytes of a place: ``m3``, ``m3[12:58]``, ``ref:m3``, or of a digest.

        What the scratchpad holds is opened by its reference, ``ref:history-40-1f2e3d4c``.

        Raises ``ConstatError`` C0807 for what nobody has said.
        """
        found = _REF.fullmatch(ref.strip())
        try:
            if found is None:
                return self._saved(ref.strip())
            content = self._text(found[1])
        except KeyError:
            raise ConstatError([_unknown(ref, [self.history])]) from None
        if found[2] is None:
            return content
        start, end = int(found[2]), int(found[3])
        if not start <= end <= len(content):
            raise ConstatError([_unknown(ref, [self.history])])
        return content[start:end]

    def why(self, of: Line | str, goal: str = "") -> tuple[Proof, ...]:
        """Prove why a line, a claim or what is said at a place is in sight, or why it is not.

        There is one proof for each claim. Raises ``ConstatError`` C0807.
        """
        names = (of,) if isinstance(of, str) else of.claims
        moment = self._record.moment()
        known, decided = self.decided(goal, moment)
        claims = {one.name: one for one in _claims(known)}
        state = self.snapshot(goal).id
        # Proofs are made for people who ask; contexts are made without them.
        from constat.memory import decisions as proofs  # noqa: PLC0415  loaded when it is used

        proving: Proving = proofs.Proving(self.rules, rows_of(known), claims, state)
        every = claims.values()
        wanted = [one for name in names for one in _matching(name, every, known.histories)]
        # That a call was made and answered is no line of a context, so there is nothing to prove.
        shown = (one for one in wanted if one.fact.predicate not in SILENT)
        return tuple(proving.why(one.name, decided) for one in shown)

    def search(self, words: str, limit: int = 10) -> tuple[Found, ...]:
        """Find texts by words, the best first."""
        if self._index is None:
            self._index = Index()
        texts = self._record.history.texts
        self._index.add(texts[len(self._index) :])
        return self._index.search(words, limit)

    def snapshot(self, goal: str = "") -> Snapshot:
        """Name the state that a view for a goal is made of, for agents that work side by side."""
        digest = policy_digest(self.policy, self.window)
        return Snapshot(self.session, self._record.moment(), self.rules.digest, digest, goal)

    def branch(self, name: str) -> Memory:
        """Begin a branch for an agent of its own: it sees this session as it is now, for ever.

        Raises ``ConstatError`` C0806 for a name that is taken, or none.
        """
        if self._main is not None or not re.fullmatch(_BRANCH, name) or name == MAIN:
            raise ConstatError([Diagnostic("C0806", f"no branch can be begun here as `{name!r}`")])
        now = self._record.moment()
        started = json.dumps([now.messages, now.notes, now.marks])
        kept = BranchKept(name, f"{self.session}/{name}", now.messages, None, started)
        self._record.journal.begin(kept)
        return self._of(kept)

    def resume(self, name: str) -> Memory:
        """Return a branch that was begun before; raises ``ConstatError`` C0806."""
        for kept in self._record.journal.branches():
            if kept.name == name:
                return self._of(kept)
        raise ConstatError([Diagnostic("C0806", f"there is no branch `{name!r}`")])

    def merge(self, name: str) -> None:
        """Take what a branch has found into this session; raises ``ConstatError`` C0806."""
        self.resume(name).close()
        self._record.journal.end(name, len(self._record.history.messages))

    def known(self, goal: str = "", moment: Moment | None = None) -> Known:
        """Return what the rules are told of the record as it was."""
        record, now = self._record, moment or self._record.moment()
        histories, forks = [record.at(now)], []
        held, back = record.held(now), record.taken_back(now)
        focus = MAIN
        if self._main is not None and record.branch is not None:
            started = Moment(*json.loads(record.branch.snapshot))
            histories.insert(0, self._main.at(started))
            held += self._main.held(started)
            back += self._main.taken_back(started)
            forks.append(Fork(record.branch.name, record.branch.start))
            focus = record.branch.name
        else:
            for kept in record.journal.branches():
                if kept.end is not None and kept.end <= now.messages:
                    histories.append(self._record_of(kept).history)
                    forks.append(Fork(kept.name, kept.start, kept.end))
        return Known(histories, forks, held, back, goal, focus)

    def decided(self, goal: str = "", moment: Moment | None = None) -> tuple[Known, Decided]:
        """Run the rules over the record as it was."""
        known = self.known(goal, moment)
        # What the rules are told depends on nothing else.
        told = [(one.branch, len(one.texts), len(one.claims)) for one in known.histories]
        state = (goal, told, known.forks, known.held, known.taken_back)
        if self._last is None or self._last[0] != state:
            self._last = state, decide(self.rules, rows_of(known))
        return known, self._last[1]

    def close(self) -> None:
        """Let go of what is not on the disk; a memory without a folder is forgotten."""
        if self._held is not None:
            self._held()
            self._held = None
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._scratch is not None:
            self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _material(self, goal: str) -> Material:
        record = self._record
        order = self._order(goal)
        return Material(
            record.history, record.shown, record.costs, record.heavy, order, record.tokens
        )

    def _order(self, goal: str) -> Order:
        """Return the order of what holds now, without looking at all of it again if possible."""
        record = self._record
        branches = record.branch is not None or any(
            one.end is not None for one in record.journal.branches()
        )
        if self._own_rules is not None or branches:
            return self._by_rules(goal)
        now = record.moment()
        back = tuple(claim for claim, _ in record.taken_back(now))
        if self._standing is None or self._standing[0] != back:
            # Contexts of short sessions are made without it.
            from constat.memory.standing import Standing  # noqa: PLC0415  loaded when it is used

            self._standing = back, Standing(record.history, back)
        standing = self._standing[1]
        standing.update()
        if standing.retracts:
            return self._by_rules(goal)
        order: Order = standing.seen(goal, [claim for claim, _ in record.held(now)])
        return order

    def _by_rules(self, goal: str, moment: Moment | None = None) -> Order:
        known, decided = self.decided(goal, moment)
        return Ranked(_claims(known), decided)

    def _count(self) -> None:
        """Say what the messages take by the weights of the model, if it has some."""
        family = family_of(self.model)
        shown, (number, taken) = self._record.shown, self._counted
        if family == DEAREST or number == len(shown):
            return
        taken += messages_tokens(shown[number:], lambda text: estimate(text, family))
        self._counted = (len(shown), taken)
        self.calibration.prior = taken / max(1, self._record.total)

    def _of(self, kept: BranchKept) -> Memory:
        return Memory(
            self.folder,
            self.session,
            policy=self.policy,
            window=self.window,
            rules=self._own_rules,
            model=self.model,
            branch=kept,
        )

    def _record_of(self, kept: BranchKept | None) -> Record:
        record = Record(self.archive, self.session, self.policy, self.window, kept)
        record.load()
        return record

    def _text(self, name: str) -> bytes:
        """Return a text of this branch, of the main one, or of one that came back."""
        own = self._record.history
        histories = [own] if own.has(name) else self.known().histories
        for history in histories:
            if history.has(name):
                return history.text(name).passage.content
        raise KeyError(name)

    def _saved(self, ref: str) -> bytes:
        """Return what the scratchpad or the archive holds; raises ``KeyError``."""
        key = ref.removeprefix("ref:")
        if any(one.key == key for one in self.scratchpad.list()):
            return self.scratchpad.read(key).encode("utf-8", "surrogatepass")
        return self.archive.get(ref)

    def _named(self, claim: str) -> list[Claim]:
        own = self._record.history
        return _matching(claim, own.claims, [own])


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let no pass of the garbage collector come in between.

    What is made for a context makes no cycles, and a pass over a long session takes longer.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _claims(known: Known) -> list[Claim]:
    return [claim for history in known.histories for claim in history.claims]


def _matching(name: str, claims: Iterable[Claim], histories: Sequence[History]) -> list[Claim]:
    """Return the claim of a name, or those of a place or a text."""
    wanted = name.strip().lstrip("@")
    found = [one for one in claims if wanted in {one.name, one.place, one.text.name}]
    if not found:
        text = wanted.partition("[")[0]
        said = next((one.text(text) for one in histories if one.has(text)), None)
        told = _unknown(name, histories) if said is None else _without_facts(name, said)
        raise ConstatError([told])
    return found


def _without_facts(ref: str, said: Cited) -> Diagnostic:
    note = "only facts are in sight or out of it; a text as such is kept, and never shown alone"
    if said.passage.author is Author.SYSTEM:
        note = "it is a system's text: clients send it each time, and nothing decides about it"
    return Diagnostic(
        "C0807",
        f"no fact was found in what was said at `{ref[:80]}`",
        note=note,
        help=f"`constat memory open {said.name}` prints it; `constat memory show` lists the facts",
    )


def _unknown(ref: str, histories: Sequence[History] = ()) -> Diagnostic:
    shown = ref if len(ref) <= 80 and ref.isprintable() else "that place"  # noqa: PLR2004
    names = [text.name for one in histories for text in one.texts]
    note = "nothing is kept of this session"
    if names:
        note = f"the texts of this session are `{names[0]}` to `{names[-1]}`"
    return Diagnostic(
        "C0807",
        f"nothing was said at `{shown}`",
        note=note if histories else "",
        help="a place is `m3`, the first text of message 3, or some of its bytes, `m3[12:58]`;"
        " `constat memory show` ends each line with its place",
    )
