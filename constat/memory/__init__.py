"""Message history as ground facts: what was said, by whom, where, and what of it still matters.

In: messages of a provider.  Out (as far as it is built): our messages, the places where they may
be cut, what they cost, the leaves of what tools answered with their exact bytes, and an archive of
it all.  Invariants: a log is written again as it was read; nothing is summarised, for nothing is
lost.
"""

from __future__ import annotations

from constat.memory.anthropic_messages import from_anthropic, to_anthropic
from constat.memory.archive import Archive
from constat.memory.attachments import Attachments, HeldAttachments
from constat.memory.calls import Strays, safe_cuts, strays
from constat.memory.json_spans import JsonSpanError, Leaf, json_leaves
from constat.memory.messages import (
    Block,
    Call,
    Image,
    Message,
    MessageFormatError,
    Opaque,
    Result,
    Role,
    Text,
    Thinking,
)
from constat.memory.openai_messages import from_openai, to_openai
from constat.memory.tokens import Calibration, composition, estimate

__all__ = [
    "Archive",
    "Attachments",
    "Block",
    "Calibration",
    "Call",
    "HeldAttachments",
    "Image",
    "JsonSpanError",
    "Leaf",
    "Message",
    "MessageFormatError",
    "Opaque",
    "Result",
    "Role",
    "Strays",
    "Text",
    "Thinking",
    "composition",
    "estimate",
    "from_anthropic",
    "from_openai",
    "json_leaves",
    "safe_cuts",
    "strays",
    "to_anthropic",
    "to_openai",
]
