"""The codes about logs of conversations and what is kept of them: C0925 to C0934.

In: nothing. Out: `ENTRIES`. Invariant: no message of these codes quotes what was said. Example:
C0925 is a file that holds no conversation.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0925",
        "a file that is no log of a conversation",
        "A log is JSON, or JSON Lines: messages of Anthropic or of OpenAI, or requests and runs "
        "that hold them under `messages`. It is read whole or not at all, and nothing of it is "
        "kept where it is refused.",
        wrong='{"answer": "42"}',
        right='[{"role": "user", "content": "Where is order 17?"}]',
        kind="text",
    ),
    Entry(
        "C0926",
        "nothing that could be forgotten",
        "A text is forgotten by its place (`m3`), by its digest, or with all of its session, and "
        "always in the name of a person: the digest stays with that name and the reason.",
        wrong="constat memory forget m999 --session refund --by ann --reason privacy",
        right="constat memory forget m3 --session refund --by ann --reason privacy",
        kind="text",
    ),
    Entry(
        "C0927",
        "a session that is not kept",
        "Sessions are kept in the state folder of the project, or in the folder that `--store` "
        "names. `constat memory stats` lists them.",
        wrong="constat memory show --session refnud",
        right="constat memory show --session refund",
        kind="text",
    ),
    Entry(
        "C0931",
        "an exchange that the conversation lacks",
        "A question and what was done for it are kept in the memory of the project's state folder, "
        "so that later questions can be told of them. Where that fails, as on a full disk, the "
        "answer stands and a warning says so.",
        wrong="error: the archive of messages, memory.sqlite, cannot be written",
        right="constat memory stats",
        kind="text",
    ),
    Entry(
        "C0932",
        "a conversation whose orders are more than may be told",
        "The task, what people demand, and what contradicts itself are always told, and are never "
        "cut. Where they alone take more tokens than `memory: {tokens: ...}` allows, the question "
        "is not asked.",
        wrong="memory: {tokens: 100}",
        right="memory: {tokens: 8000}",
        kind="text",
    ),
    Entry(
        "C0933",
        "a wrong setting of `memory:`",
        "`tokens` is how much of a conversation a question is told, at most a million. `rules` is "
        "a folder in the project; its files take the place of the rules of memory of the same "
        "name.",
        wrong="memory: {tokens: 2000000}",
        right="memory: {tokens: 8000, rules: rules/memory}",
        kind="text",
    ),
    Entry(
        "C0934",
        "a question that goes on, replayed alone",
        "A question in a conversation is asked together with what was said before it, so its "
        "prompt is another one. A tape that has only single questions answers it as one.",
        wrong="Is customer C001 a VIP?   (as the second question, with a tape of one)",
        right='constat ask "Is customer C001 a VIP?"',
        kind="text",
    ),
)
