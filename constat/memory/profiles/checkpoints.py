"""Seed 004, checkpoints for agents that work side by side: 80,000 tokens, ten messages, five kept.

In: a session's messages, which a memory keeps.  Out: the context before agents are sent out, and
checkpoints.  Invariants: it is compacted before the agents begin, and never while one runs; each of
them gets the same text; a summary has 500 tokens at most; ranges of messages do not overlap.

Example: ``needed(80_001)`` holds, ``needed(80_000)`` does not.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.memory.journal import Checkpoint, Checkpoints, session_of
from constat.memory.messages import Role, safe_cuts
from constat.memory.narrative import narrative, told
from constat.memory.policy import Policy, Window
from constat.memory.tokens import ends, estimate, messages_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.memory.messages import Message
    from constat.memory.remembering import Memory

NAME: Final = "seed004"
THRESHOLD_TOKENS: Final = 80_000
KEEP_RECENT_MSGS: Final = 10
MODEL: Final = "claude-haiku-4.5"
MAX_SUMMARY_TOKENS: Final = 500
MAX_CHECKPOINTS: Final = 5
ENDS: Final = 2_000
TRUNCATED: Final = "[... truncated ...]"
POLICY: Final = Policy(
    NAME,
    soft=1.0,
    hard=1.0,
    cap=THRESHOLD_TOKENS,
    keep_last=KEEP_RECENT_MSGS,
    keep_human=0,
    checkpoints=MAX_CHECKPOINTS,
)
WINDOW: Final = Window(200_000, system=0, output=0, safety=0)


@frozen
class CompactionResult:
    """What a summary is, and what it saved."""

    summary: str
    original_tokens: int
    compressed_tokens: int
    cost_usd: float
    checkpoint_num: int

    @property
    def compression_ratio(self) -> float:
        """How many times fewer the tokens are."""
        return self.original_tokens / max(1, self.compressed_tokens)


class Compaction:
    """Compaction of one session; ``running`` counts the agents that are at work.

    ``write`` puts the facts in a model's words; ``cost`` is what a call of it costs.
    """

    def __init__(
        self, memory: Memory, write: Callable[[str], str] | None = None, cost: float = 0.0
    ) -> None:
        self._memory = memory
        self._write = write
        self._cost = cost
        kept_as = session_of(memory.session, "004")
        self._checkpoints = Checkpoints(memory.archive, kept_as, MAX_CHECKPOINTS)
        self.running = 0

    def needed(self, current_tokens: int) -> bool:
        """Tell whether there are more tokens than the threshold."""
        return current_tokens > THRESHOLD_TOKENS

    def summarize(self, start: int, end: int, text: str) -> CompactionResult:
        """Summarise messages ``start`` to ``end``, and keep that as a checkpoint."""
        last = self._checkpoints.last()
        if last is not None and start <= last.end:
            start = last.end + 1
        summary, cost = self._summary(text)
        after = estimate(summary)
        made = Checkpoint(
            start=start,
            end=end,
            summary=summary,
            key_facts=self._key_facts(),
            before=estimate(text),
            after=after,
            view_sha=hashlib.sha256(summary.encode()).hexdigest(),
            fact_count=len(self._memory.history.claims),
            round=1 if last is None else last.round + 1,
            archive_ref=f"m{start}..m{end}",
            cost_usd=cost,
            compressed=max(0, end - start + 1),
        )
        number = self._checkpoints.add(made)
        return CompactionResult(summary, made.before, after, cost, number)

    def build_context(
        self,
        user_input: str,
        *,
        project: str = "",
        important: Sequence[str] = (),
        relevant: Sequence[str] = (),
    ) -> tuple[str, bool]:
        """Return the prompt, and whether the history was compacted for it.

        Its parts stand in the order of the seed. Raises ``RuntimeError`` while an agent runs.
        """
        if self.running:
            raise RuntimeError("agents are at work: what they see must not change")
        messages = self._memory.history.messages
        compacted = self.needed(messages_tokens(messages))
        parts = [project, *important, *relevant]
        made = self.checkpoint(messages) if compacted else None
        if made is not None:
            parts.append(made[0].summary)
            messages = messages[made[1] :]
        parts += [_lines(messages), user_input]
        return "\n\n".join(part for part in parts if part), compacted

    def checkpoint(self, messages: Sequence[Message]) -> tuple[CompactionResult, int] | None:
        """Summarise all but the last messages; gives from where on they stay word for word.

        ``None`` where there is nothing before those. Raises ``RuntimeError`` while an agent runs.
        """
        if self.running:
            raise RuntimeError("agents are at work: what they see must not change")
        keep = _boundary(messages)
        if not keep:
            return None
        return self.summarize(0, keep - 1, _lines(messages[:keep])), keep

    def get_checkpoint(self) -> str | None:
        """Return the newest summary of the session."""
        last = self._checkpoints.last()
        return None if last is None else last.summary

    def all(self) -> tuple[Checkpoint, ...]:
        """Return the checkpoints that are kept, the newest first."""
        return self._checkpoints.all()

    def _summary(self, text: str) -> tuple[str, float]:
        """Return the facts of the session, in a model's words where there is one.

        Where these cannot be taken, or the facts do not fit, it is the ends of the text.
        """
        try:
            known, decided = self._memory.decided()
        except ConstatError:
            return fallback(text), 0.0
        claims = [claim for history in known.histories for claim in history.claims]
        facts = narrative(claims, decided, most_tokens=MAX_SUMMARY_TOKENS)
        if estimate(facts) > MAX_SUMMARY_TOKENS:
            return fallback(text), 0.0
        found = told(facts, self._write, MAX_SUMMARY_TOKENS)
        cost = 0.0 if self._write is None else self._cost
        return (fallback(text) if found.refused else found.text), cost

    def _key_facts(self) -> tuple[str, ...]:
        _, decided = self._memory.decided()
        claims = self._memory.history.claims
        return tuple(
            json.dumps([one.fact.predicate, one.fact.value, one.place])
            for one in claims
            if one.name in decided.pinned
        )


def needed(current_tokens: int) -> bool:
    """Tell whether there are more tokens than the threshold."""
    return current_tokens > THRESHOLD_TOKENS


def fallback(text: str) -> str:
    """Return a text's first and last 2,000 characters."""
    return ends(text, ENDS, TRUNCATED)


def _boundary(messages: Sequence[Message]) -> int:
    wanted = max(0, len(messages) - KEEP_RECENT_MSGS)
    return max((cut for cut in safe_cuts(messages) if cut <= wanted), default=0)


def _lines(messages: Sequence[Message]) -> str:
    return "\n".join(_line(one) for one in messages)


def _line(message: Message) -> str:
    results = "".join(one.text for one in message.results)
    calls = " ".join(f"{one.name}({one.arguments})" for one in message.calls)
    said = " ".join(part for part in (message.text, calls, results) if part)
    role = "user" if message.role is Role.TOOL else message.role.value
    return f"{role}: {said}"
