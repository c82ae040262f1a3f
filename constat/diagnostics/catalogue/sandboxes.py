"""The codes about steps of Python code, the tables that steps leave, and the REPL: C0910 to C0924.

In: nothing. Out: `ENTRIES`. Invariant: code that cannot be kept away from the machine does not run
unless a person has said that it may. Example: C0910 is a machine without any means to do so.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0910",
        "nothing here keeps code away from the machine",
        "A step of Python code runs where it can reach no file, no network and no other program. "
        "That takes Linux with bubblewrap, or with Landlock and filters of system calls. Without "
        "them a step is refused; `explore: {sandbox: weak}` together with `--allow-unconfined` "
        "runs it all the same, and the result says so. Read the code first.",
        wrong="constat solve ... (on a machine without bubblewrap and Landlock)",
        right="apt-get install bubblewrap\nconstat solve ...",
        kind="text",
    ),
    Entry(
        "C0911",
        "a level of the sandbox that this machine does not have",
        "A level that was asked for by name is taken or refused, never replaced by a weaker one. "
        "Without a name it is the strongest that the machine has.",
        wrong='Sandbox(Level("bubblewrap")) (on a machine without bubblewrap)',
        right="Sandbox()",
        kind="text",
    ),
    Entry(
        "C0912",
        "the sandbox cannot be started",
        "Python could not be started and confined; the message says what was refused. No step ran.",
        wrong="a container that forbids new namespaces and filters of system calls",
        right="run the container with its default filter of system calls",
        kind="text",
    ),
    Entry(
        "C0913",
        "a step that cannot be given to the sandbox",
        "The text of a step is bounded, so are its tables; the names of its tables, variables and "
        "databases are letters, digits and `_`; its databases are among those that it may ask.",
        wrong='Code("...", outputs=("top 5",))',
        right='Code("...", outputs=("top_5",))',
        kind="text",
    ),
    Entry(
        "C0915",
        "the store of tables cannot be used",
        "Its database is locked, full, damaged, not reachable, or of a later version, or the file "
        "of a large table is missing or changed. What a step leaves is kept as a whole or not at "
        "all, so nothing was half written.",
        wrong="chmod a-w .constat\nconstat solve ...",
        right="chmod u+w .constat\nconstat solve ...",
        kind="text",
    ),
    Entry(
        "C0916",
        "a table that the session does not have",
        "Tables are called by the names that steps gave them; the note lists them. A table of an "
        "earlier version is asked for with its version or step.",
        wrong="/query SELECT * FROM sales_2024",
        right="/tables\n/query SELECT * FROM sales",
        kind="text",
    ),
    Entry(
        "C0917",
        "something that the store of tables does not keep",
        "Names are letters, digits and `_`; state variables are what JSON has a word for; sizes "
        "are bounded. A large result is a table.",
        wrong='StepResult(1, state={"ratio": float("nan")})',
        right='StepResult(1, state={"ratio": None})',
        kind="text",
    ),
    Entry(
        "C0920",
        "a command that the REPL does not have",
        "What begins with `/` is a command; `/help` lists them. Goals, rules and questions are "
        "typed as they are.",
        wrong="/tabels",
        right="/tables",
        kind="text",
    ),
    Entry(
        "C0921",
        "a command of the REPL that lacks something",
        "Some commands take what they are about on the same line; `/help` shows how each is "
        "written.",
        wrong="/resume",
        right="/history\n/resume 1",
        kind="text",
    ),
)
