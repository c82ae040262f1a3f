"""Language-model clients: a prompt goes out, a reply comes back, and both are kept.

In: a `Prompt`. Out: a `Reply`, or `ModelError`. Invariant: a reply is data, never instructions;
what was paid for is kept before anyone reads it. What asks providers is loaded by the session.
"""

from constat.model.prompts import (
    Client,
    ModelError,
    Prompt,
    Reply,
    Task,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    answered_of,
    canonical,
    hash_of,
    printable,
    request_of,
    since,
)
from constat.model.retrying import arguments_of

__all__ = [
    "Client",
    "ModelError",
    "Prompt",
    "Reply",
    "Task",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "Usage",
    "answered_of",
    "arguments_of",
    "canonical",
    "hash_of",
    "printable",
    "request_of",
    "since",
]
