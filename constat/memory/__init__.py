"""Message history as ground facts: what was said, by whom, where, and what of it still matters.

In: messages of a provider.  Out: our messages, the places where they may be cut, what they cost, an
archive of it all, the facts in them, each with its exact bytes, and contexts made of these by a
Datalog program (``rules/memory``).  Invariants: a log is written again as it was read; nothing is
summarised, for nothing is lost; no model is asked.

Example: ``Memory(folder, "s1").context(goal="cancel reservation 4WQ150").messages``.
"""

from constat.memory.archive import Archive
from constat.memory.compaction import Context
from constat.memory.extract import facts_of
from constat.memory.facts import (
    Author,
    Fact,
    JsonSpanError,
    Leaf,
    Passage,
    Place,
    Span,
    json_leaves,
    passages_of,
)
from constat.memory.following import AsyncMemory, Conversation, following, following_async
from constat.memory.history import Cited, Claim, History, Line
from constat.memory.journal import Checkpoint, Checkpoints, Snapshot
from constat.memory.logs import from_anthropic, from_openai, to_anthropic, to_openai
from constat.memory.messages import (
    Attachments,
    Block,
    Call,
    HeldAttachments,
    Image,
    Message,
    MessageFormatError,
    Opaque,
    Result,
    Role,
    Strays,
    Text,
    Thinking,
    safe_cuts,
    strays,
)
from constat.memory.policy import Policy, Window
from constat.memory.remembering import Memory
from constat.memory.tokens import (
    Calibration,
    composition,
    estimate,
    message_tokens,
    messages_tokens,
)
from constat.memory.view import BudgetError, View

__all__ = [
    "Archive",
    "AsyncMemory",
    "Attachments",
    "Author",
    "Block",
    "BudgetError",
    "Calibration",
    "Call",
    "Checkpoint",
    "Checkpoints",
    "Cited",
    "Claim",
    "Context",
    "Conversation",
    "Fact",
    "HeldAttachments",
    "History",
    "Image",
    "JsonSpanError",
    "Leaf",
    "Line",
    "Memory",
    "Message",
    "MessageFormatError",
    "Opaque",
    "Passage",
    "Place",
    "Policy",
    "Result",
    "Role",
    "Snapshot",
    "Span",
    "Strays",
    "Text",
    "Thinking",
    "View",
    "Window",
    "composition",
    "estimate",
    "facts_of",
    "following",
    "following_async",
    "from_anthropic",
    "from_openai",
    "json_leaves",
    "message_tokens",
    "messages_tokens",
    "passages_of",
    "safe_cuts",
    "strays",
    "to_anthropic",
    "to_openai",
]
