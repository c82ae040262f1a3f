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
    Entry(
        "C0803",
        "pinned facts that do not fit a budget",
        "What people demand, what is left to do and what went wrong is never left out of a context "
        "to save tokens. Where it does not fit, nothing is cut: the message says how many tokens "
        "it takes, and the note where it was said.",
        wrong='memory.context(200, "cancel the order")  # the constraints alone take 900',
        right='memory.context(2_000, "cancel the order")',
        kind="text",
    ),
    Entry(
        "C0804",
        "a policy or a window that cannot be",
        "Shares lie from 0 to 1, and the soft one is not above the hard one; numbers of messages "
        "and tokens are not negative, and a window has at least one token.",
        wrong="Policy(soft=0.9, hard=0.8)",
        right="Policy(soft=0.7, hard=0.8)",
        kind="text",
    ),
    Entry(
        "C0805",
        "rules of memory without a predicate that is needed",
        "Files in a folder of one's own take the place of those of the same name. Together they "
        "still have to declare what a context is made of: `current`, `pinned`, `of_class`, "
        "`nearest`, `refused`, `contradiction`, `mended` and `worked_later`.",
        wrong="Memory(folder, rules=own)  # own/view.dl declares no `pinned`",
        right="Memory(folder, rules=own)  # own/view.dl is a changed copy of view.dl",
        kind="text",
    ),
    Entry(
        "C0806",
        "a branch that cannot be begun or brought back",
        "Agents that work side by side have one branch each, with a name of 1 to 60 letters, "
        "digits, blanks and `_.-` of its own. It comes back to the session where it began, once.",
        wrong='memory.branch("marco"); memory.branch("marco")',
        right='memory.branch("marco"); memory.branch("sara")',
        kind="text",
    ),
    Entry(
        "C0807",
        "a place where nothing was said",
        "A place is a text, `m3` or `m3.1` for the second one of message 3, or some of its bytes, "
        "`m3[12:58]`. Contexts show the place of each of their lines.",
        wrong='memory.open("m99")  # there are 12 messages',
        right='memory.open("m3[12:58]")',
        kind="text",
    ),
    Entry(
        "C0808",
        "a reference that names nothing",
        "`ref:KEY` stands for a text that was saved because it is too long to be shown. It is "
        "resolved when a tool is called, and only what was saved can be.",
        wrong='memory.scratchpad.resolved({"text": "ref:report"})  # nothing was saved as that',
        right='memory.scratchpad.write("report", text)',
        kind="text",
    ),
    Entry(
        "C0809",
        "rules of memory that come to no end",
        "What belongs into a context is computed by rules, within two minutes and the memory of "
        "the machine. Rules of one's own may be too much: a join without a common value, say.",
        wrong="pinned(?claim) :- stated(?claim, _, _, _, _, _, _), holds(_, _), near(_, _).",
        right="pinned(?claim) :- stated(?claim, ?kind, _, _, _, _, _), pinned_kind(?kind).",
        kind="text",
    ),
)
