"""The codes about memory: C0800 to C0819.

In: nothing. Out: `ENTRIES`. Invariant: no message of these codes quotes what was said. Example:
C0800 says that the archive could not be written, and that it is as it was.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0800",
        "an archive of messages that cannot be read or written",
        "Every message is kept in one file, `memory.sqlite`. It was left as it was: a full disk, a "
        "folder without permission, or a file that is something else. What `append` has returned "
        "is in it.",
        wrong='Archive(Path("/")).append("s1", messages)',
        right='Archive(Path(".constat")).append("s1", messages)',
        kind="text",
    ),
    Entry(
        "C0801",
        "a session that another program has continued",
        "Who appends may say how many messages the session has. Where that is no longer so, "
        "nothing is kept: the messages would stand behind others that their author has not seen.",
        wrong='archive.append("s1", messages, after=10)  # there are 12',
        right='archive.append("s1", messages, after=archive.count("s1"))',
        kind="text",
    ),
    Entry(
        "C0802",
        "the name of a session",
        "A session is named by 1 to 200 printable characters.",
        wrong='archive.append("", messages)',
        right='archive.append("s1", messages)',
        kind="text",
    ),
)
