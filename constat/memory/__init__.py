"""Message history as ground facts: what was said, by whom, where, and what of it still matters.

In: messages of a provider.  Out (as far as it is built): our messages, the places where they may
be cut, what they cost, an archive of it all, and the facts in them, each with its exact bytes.
Invariants: a log is written again as it was read; nothing is summarised, for nothing is lost.
"""

from __future__ import annotations

from constat.memory.anthropic_messages import from_anthropic, to_anthropic
from constat.memory.archive import Archive
from constat.memory.attachments import Attachments, HeldAttachments
from constat.memory.calls import Strays, safe_cuts, strays
from constat.memory.extract import facts_of
from constat.memory.facts import Author, Fact, Span
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
from constat.memory.passages import Passage, Place, passages_of
from constat.memory.tokens import Calibration, composition, estimate

__all__ = [
    "Archive",
    "Attachments",
    "Author",
    "Block",
    "Calibration",
    "Call",
    "Fact",
    "HeldAttachments",
    "Image",
    "JsonSpanError",
    "Leaf",
    "Message",
    "MessageFormatError",
    "Opaque",
    "Passage",
    "Place",
    "Result",
    "Role",
    "Span",
    "Strays",
    "Text",
    "Thinking",
    "composition",
    "estimate",
    "facts_of",
    "from_anthropic",
    "from_openai",
    "json_leaves",
    "passages_of",
    "safe_cuts",
    "strays",
    "to_anthropic",
    "to_openai",
]
