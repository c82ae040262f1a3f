"""Seed 002, context that is managed before it overflows: thresholds, pruning, working memory.

In: the messages of an agent with their times, and how often it has gone round.  Out: messages with
a block for the work that is done.  Invariants: no message stands twice; a call goes with its
result; the count of used tokens falls with what is taken out; nothing happens at round 0 because of
its number.

Example: at 70 % of the window, or after each five rounds, completed results give way to
``## Completed Work Summary``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.messages import Message, Role, Text
from constat.memory.narrative import StoredContext, WorkingMemory, narrative, told
from constat.memory.policy import (
    Policy,
    PruneRules,
    Reserved,
    Timed,
    TokenBudget,
    Window,
    apply_prune_rules,
)
from constat.memory.tokens import messages_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.remembering import Memory

NAME: Final = "seed002"
CONTEXT_THRESHOLD: Final = 0.7
SUMMARIZE_AFTER_ITERATIONS: Final = 5
KNOWLEDGE_LIMIT: Final = 5
COMPLETED: Final = "## Completed Work Summary"
RULES: Final = PruneRules()
POLICY: Final = Policy(
    NAME,
    soft=CONTEXT_THRESHOLD,
    hard=CONTEXT_THRESHOLD,
    cap=1 << 40,
    keep_last=RULES.keep_last_messages,
    keep_human=0,
)
WINDOW: Final = Window(system=0, output=0, safety=0)
_TAG: Final = "working_memory"
_CONFIDENCE: Final = "confidence "
_MOST: Final = 1_000


@frozen
class LoopContext:
    """Where an agent's loop is: its messages, how often it has gone round, and the window."""

    messages: tuple[Timed, ...]
    iteration: int
    most_tokens: int
    now_ms: float

    @property
    def usage(self) -> float:
        """The share of the window that is used."""
        return messages_tokens(one.message for one in self.messages) / max(1, self.most_tokens)


@frozen
class Knowledge:
    """A fact worth remembering of a finished task."""

    content: str
    confidence: float
    source: str
    tags: tuple[str, ...]


def is_time(context: LoopContext) -> bool:
    """Tell whether completed work is to be summarised: at the threshold, or after five rounds."""
    fifth = context.iteration > 0 and context.iteration % SUMMARIZE_AFTER_ITERATIONS == 0
    return context.usage > CONTEXT_THRESHOLD or fifth


def maybe_summarize(
    memory: Memory,
    context: LoopContext,
    rules: PruneRules = RULES,
    write: Callable[[str], str] | None = None,
) -> tuple[Message, ...]:
    """Return the messages, with one block in place of what may be pruned where it is time."""
    messages = tuple(one.message for one in context.messages)
    if not is_time(context):
        return messages
    pruned = apply_prune_rules(context.messages, rules, now_ms=context.now_ms)
    if not pruned.pruned:
        return messages
    facts = told(_facts(memory), write).text
    block = "\n".join(part for part in (COMPLETED, facts, pruned.summarized) if part)
    kept = [one.message for one in pruned.kept if not is_block(one.message)]
    start = next((at for at, one in enumerate(kept) if one.role is not Role.SYSTEM), len(kept))
    return (*kept[:start], Message(Role.SYSTEM, (Text(block),)), *kept[start:])


def is_block(message: Message) -> bool:
    """Tell whether a message is the block of an earlier round."""
    return message.role is Role.SYSTEM and message.text.startswith(COMPLETED)


def finish_subtask(
    memory: Memory, working: WorkingMemory, subtask: str, artifacts: Iterable[str] = ()
) -> None:
    """Put what is known at the end of a subtask into the working memory."""
    working.store(subtask, StoredContext(_facts(memory), tuple(artifacts)))


def begin_subtask(working: WorkingMemory, dependencies: Sequence[str]) -> Message | None:
    """Return the block about what a subtask depends on, where there is any."""
    block = working.retrieve(dependencies)
    return Message(Role.SYSTEM, (Text(block),)) if block else None


def archive_to_knowledge_graph(
    working: WorkingMemory,
    subtask: str,
    title: str,
    facts: Iterable[tuple[str, float]],
    tags: Iterable[str] = (),
) -> tuple[Knowledge, ...]:
    """Keep the facts of a finished task, each with how sure it is; gives them as they are kept.

    Those of the task that were kept before stay. Raises ``ValueError`` for no confidence.
    """
    found = []
    source = f"task:{subtask}"
    first = sum(one.source == source for one in known(working))
    for number, (content, confidence) in enumerate(facts, first):
        if not 0 <= confidence <= 1:
            raise ValueError("a confidence lies from 0 to 1")
        one = Knowledge(content, confidence, source, (_TAG, title, *tags))
        kept = (f"{_CONFIDENCE}{confidence}", one.source, *one.tags)
        working.store(f"{source}#{number}", StoredContext(content, kept))
        found.append(one)
    return tuple(found)


def known(
    working: WorkingMemory, words: str = "", *, tag: str = "", source: str = "", least: float = 0.0
) -> tuple[Knowledge, ...]:
    """Return the facts that are kept: those with the words first, of a tag, a source, so sure."""
    stored = working.search(words, _MOST) if words else working.all()
    found = (_knowledge(one) for one in stored)
    return tuple(
        one
        for one in found
        if one is not None
        and one.confidence >= least
        and (not tag or tag in one.tags)
        and (not source or source == one.source)
    )


def _knowledge(one: StoredContext) -> Knowledge | None:
    """Read a fact again; what a subtask left behind by other means is none."""
    if not one.artifacts or not one.artifacts[0].startswith(_CONFIDENCE):
        return None
    confidence, source, *tags = one.artifacts
    return Knowledge(one.summary, float(confidence.removeprefix(_CONFIDENCE)), source, tuple(tags))


def retrieve_relevant_knowledge(working: WorkingMemory, title: str) -> str:
    """Return what is known about a title, five facts at most; empty where there is nothing."""
    return working.relevant(title, KNOWLEDGE_LIMIT)


def budget_for(most: int, reserved: Reserved | None = None) -> TokenBudget:
    """Return an empty budget: what is available is the most, less what is used and reserved."""
    return TokenBudget(most, reserved or Reserved())


def _facts(memory: Memory) -> str:
    known, decided = memory.decided()
    claims = [claim for history in known.histories for claim in history.claims]
    return narrative(claims, decided)
