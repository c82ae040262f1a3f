"""The tree of commands: names and one-line helps; a module loads when its command runs.

Invariant: each name in `_COMMANDS` is the attribute `command` of the module beside it. The help
lists them by `_SECTIONS`; a command that no section names comes last.
"""

from __future__ import annotations

from typing import Final

import click

from constat import __version__
from constat.cli.groups import LazyGroup

_COMMANDS: Final = (
    ("init", "Begin a project with a database."),
    ("prove", "Prove or disprove a goal."),
    ("query", "Find all answers of a goal with variables."),
    ("ask", "Answer a question in plain words, with a proof."),
    ("repl", "Type goals, rules and questions, one after another."),
    ("solve", "Explore a question by a plan of steps."),
    ("resume", "Go on with an exploration where it ended."),
    ("history", "List what was explored."),
    ("plan", "Show, check, edit and promote the plans of explorations."),
    ("why-not", "Say why a goal does not hold, and how far it is from it."),
    ("what-if", "Answer a goal as if facts, values or rules were others."),
    ("missing", "Find the facts that would prove a goal."),
    ("run", "Run a whole program over fact files, as Souffle does."),
    ("verify", "Check a certificate, independently of how it was made."),
    ("diff", "Tell what differs between two proofs, and why."),
    ("replay", "Make a certificate again, from its record or from today's sources."),
    ("sign", "Put one's name under a certificate."),
    ("keygen", "Make a key to sign with."),
    ("log", "Look after the log of decisions."),
    ("snapshot", "Commit to all rows of a relation."),
    ("openings", "Show the rows of a certificate in signed snapshots."),
    ("stale", "List the certificates that would have to be proved again."),
    ("cache", "Look at the answers of sources that are kept, or clear them."),
    ("models", "List the language models, and what they have used."),
    ("memory", "Keep conversations as facts, and compact them."),
    ("recorded", "Look at what was recorded for answers as of a time."),
    ("explain", "Explain a code such as C0203."),
    ("explain-plan", "Show how answers in bulk are computed."),
    ("materialize", "Keep the answers of a query, for point queries."),
    ("facts", "State facts, list them, take them back."),
    ("doctor", "Look at everything that a project needs."),
    ("rules", "Check rule files."),
    ("check-data", "Check the data against constraints and keys."),
    ("catalog", "Look at what the sources hold; draft declarations."),
    ("export", "Write a certificate in a standard format."),
    ("help", "Explain exit codes, goals, JSON, files."),
    ("schema", "Print the JSON Schema of a command's results."),
    ("completion", "Print the completion script of a shell."),
)

_SECTIONS: Final = (
    ("Begin", ("init", "doctor", "catalog")),
    ("Ask", ("prove", "query", "ask", "repl", "why-not", "what-if", "missing", "run")),
    ("Explore", ("solve", "resume", "history", "plan")),
    ("Check what was answered", ("verify", "diff", "replay", "stale", "export")),
    ("Sign and keep", ("sign", "keygen", "log", "snapshot", "openings")),
    ("Facts and rules", ("facts", "rules", "check-data", "cache", "recorded", "materialize")),
    ("Conversations", ("memory",)),
)


@click.group(
    name="constat",
    cls=LazyGroup,
    listed=_COMMANDS,
    modules="constat.cli.",
    sections=_SECTIONS,
    rest="More",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved, 5 disproved, "
    "6 disproved under assumptions, 2 bad usage, 1 rejected by verify.",
)
@click.version_option(__version__, message="constat %(version)s")
def cli() -> None:
    """Answer questions with proofs that an independent program can check.

    Example:
      constat prove "is_vip(C001)"
    """
