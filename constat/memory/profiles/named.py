"""The profiles by name, and the four designs at work.

In: a name, and a memory.  Out: a policy with the window it was made for; what a design made of the
memory.  Invariants: each name is that of the policy; every event is kept.

Example: ``profile("seed003").policy.keep_last`` is 10.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.memory.journal import Checkpoint, Checkpoints, session_of
from constat.memory.messages import Message, Role, Text
from constat.memory.policy import Policy, Timed, Window, context_limit
from constat.memory.profiles import checkpoints, proactive, scratchpad, summarising
from constat.memory.tokens import messages_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory.remembering import Memory


@frozen
class Profile:
    """A policy and a window; and what a design wants of a model that writes its summary.

    ``model`` is empty where any will do, ``temperature`` and ``summary_tokens`` are 0 where the
    design does not say.
    """

    policy: Policy
    window: Window
    model: str = ""
    temperature: float = 0.0
    summary_tokens: int = 0


_RECONCILED: Final = Profile(Policy(), Window())
_PROFILES: Final = (
    ("reconciled", _RECONCILED),
    (
        scratchpad.NAME,
        Profile(scratchpad.POLICY, scratchpad.WINDOW, temperature=scratchpad.TEMPERATURE),
    ),
    (proactive.NAME, Profile(proactive.POLICY, proactive.WINDOW)),
    (
        summarising.NAME,
        Profile(
            summarising.POLICY,
            summarising.WINDOW,
            temperature=summarising.TEMPERATURE,
            summary_tokens=summarising.MOST_TOKENS,
        ),
    ),
    (
        checkpoints.NAME,
        Profile(
            checkpoints.POLICY,
            checkpoints.WINDOW,
            checkpoints.MODEL,
            summary_tokens=checkpoints.MAX_SUMMARY_TOKENS,
        ),
    ),
)
NAMES: Final = tuple(name for name, _ in _PROFILES)


def profile(name: str) -> Profile:
    """Return a profile; raises ``ConstatError`` C0804 for a name that there is not."""
    found = dict(_PROFILES).get(name)
    if found is None:
        message = f"there is no profile `{name}`"
        raise ConstatError([Diagnostic("C0804", message, help=f"one of {', '.join(NAMES)}")])
    return found


@frozen
class Made:
    """What a design made of a session: messages to go on with, its block, and why or why not.

    ``number`` is that of the event that was kept of it, 0 where nothing was to be done.
    """

    messages: tuple[Message, ...]
    block: str
    reason: str
    number: int = 0


def made_by(
    name: str,
    memory: Memory,
    *,
    model: str = "",
    now: bool = False,
    write: Callable[[str], str] | None = None,
) -> Made:
    """Let one of the four designs do its work on all messages of a memory, and keep the event.

    It is done where its own threshold is reached, or ``now``. What it keeps, how its block begins
    and how long that is are its own; ``write`` is a model for its words. Raises ``ConstatError``
    C0804 for another name.
    """
    messages = tuple(memory.history.messages)
    makers = {
        scratchpad.NAME: _by_scratchpad,
        proactive.NAME: _by_proactive,
        summarising.NAME: _by_summarising,
        checkpoints.NAME: _by_checkpoints,
    }
    profile(name)
    if name not in makers:
        told = Diagnostic(
            "C0804", f"`{name}` is none of the four designs", help="ask for a context"
        )
        raise ConstatError([told])
    return makers[name](memory, messages, _ProfileRequest(model, now, write))


def events(memory: Memory) -> tuple[tuple[str, Checkpoint], ...]:
    """Return what compaction made of a session and by which profile, the newest last."""
    found = []
    for name, code in (("reconciled", ""), *((one, one[-3:]) for one in NAMES[1:])):
        kept = Checkpoints(memory.archive, session_of(memory.session, code)).all()
        found += [(name, one) for one in reversed(kept)]
    return tuple(found)


@frozen
class _ProfileRequest:
    """For which model, whether it is done whatever the threshold is, and a model for its words."""

    model: str
    now: bool
    write: Callable[[str], str] | None


def _by_scratchpad(memory: Memory, messages: tuple[Message, ...], asked: _ProfileRequest) -> Made:
    window = Window(context_limit(asked.model)) if asked.model else scratchpad.WINDOW
    compressor = scratchpad.ContextCompressor(memory, window, asked.write)
    if not (asked.now or compressor.is_needed(messages)):
        return Made(messages, "", f"the window has {window.available:,} tokens for messages")
    found = compressor.compress(messages)
    block = next(one.text for one in found.messages if scratchpad.is_block(one))
    return _kept(memory, "001", messages, found.messages, block)


def _by_proactive(memory: Memory, messages: tuple[Message, ...], asked: _ProfileRequest) -> Made:
    # A log tells no times: all of it is long ago.
    timed = tuple(Timed(number, one, 0.0) for number, one in enumerate(messages))
    limit = context_limit(asked.model) if asked.model else proactive.WINDOW.limit
    round_ = proactive.SUMMARIZE_AFTER_ITERATIONS if asked.now else 0
    context = proactive.LoopContext(timed, round_, limit, _LONG_AGO)
    found = proactive.maybe_summarize(memory, context, write=asked.write)
    block = next((one.text for one in found if proactive.is_block(one)), "")
    if not block:
        share = f"{proactive.CONTEXT_THRESHOLD:.0%} of {limit:,} tokens are not used"
        return Made(messages, "", "nothing may be pruned" if proactive.is_time(context) else share)
    return _kept(memory, "002", messages, found, block)


def _by_summarising(memory: Memory, messages: tuple[Message, ...], asked: _ProfileRequest) -> Made:
    config = summarising.config_for(asked.model) if asked.model else summarising.CompactionConfig()
    if not (asked.now or summarising.should_compact(messages, config)):
        return Made(messages, "", f"the trigger is {summarising.threshold(config):,} tokens")
    last = Checkpoints(memory.archive, session_of(memory.session, "003")).last()
    found = summarising.compact(memory, messages, last.round if last else 0, config, asked.write)
    if not found.compaction_event.round:
        return Made(messages, "", "there are no more messages than are kept")
    block = found.compaction_event.summary_content
    return _kept(memory, "003", messages, found.compacted_messages, block)


def _by_checkpoints(memory: Memory, messages: tuple[Message, ...], asked: _ProfileRequest) -> Made:
    compaction = checkpoints.Compaction(memory, asked.write)
    if not (asked.now or compaction.needed(messages_tokens(messages))):
        return Made(messages, "", f"the threshold is {checkpoints.THRESHOLD_TOKENS:,} tokens")
    found = compaction.checkpoint(messages)
    if found is None:
        return Made(messages, "", "there are no more messages than are kept")
    result, start = found
    system = tuple(one for one in messages[:1] if one.role is Role.SYSTEM)
    block = Message(Role.USER, (Text(result.summary),))
    later = (*system, block, *messages[start:])
    return Made(later, result.summary, _reason(messages, later), result.checkpoint_num)


_LONG_AGO: Final = 1e9


def _kept(
    memory: Memory, code: str, messages: Sequence[Message], found: tuple[Message, ...], block: str
) -> Made:
    """Keep the event: what was compacted, and the block in its place."""
    place = Checkpoints(memory.archive, session_of(memory.session, code))
    last, end = place.last(), len(messages) - 1
    before, after = messages_tokens(messages), messages_tokens(found)
    stays = {id(one) for one in found}
    made = Checkpoint(
        start=0 if last is None else min(last.end + 1, end),
        end=end,
        summary=block,
        key_facts=(),
        before=before,
        after=after,
        view_sha=hashlib.sha256(block.encode("utf-8", "replace")).hexdigest(),
        fact_count=len(memory.history.claims),
        round=1 if last is None else last.round + 1,
        archive_ref=f"m0..m{end}",
        compressed=sum(id(one) not in stays for one in messages),
    )
    return Made(found, block, _reason(messages, found), place.add(made))


def _reason(messages: Sequence[Message], found: Sequence[Message]) -> str:
    before, after = messages_tokens(messages), messages_tokens(found)
    return f"{before:,} tokens became {after:,}"
