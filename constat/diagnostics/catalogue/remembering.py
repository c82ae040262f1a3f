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
)
