"""The tree of commands: names and one-line helps; a module loads when its command runs.

`_COMMANDS` is the one table of our own modules by name: what a command needs loads when it runs.
The help lists commands by `_SECTIONS`; a command that no section names comes last.
"""

from __future__ import annotations

from typing import Final

import click

from constat import __version__
from constat.cli.groups import LazyGroup

_COMMANDS: Final = (
    ("init", "Begin a project with a database.", "begin.init_command"),
    ("prove", "Prove or disprove a goal.", "prove.command"),
    ("query", "Find all answers of a goal with variables.", "query.command"),
    ("ask", "Answer a question in plain words, with a proof.", "ask.command"),
    ("repl", "Type goals, rules and questions, one after another.", "repl.command"),
    ("solve", "Explore a question by a plan of steps.", "solve.solve_command"),
    ("resume", "Go on with an exploration where it ended.", "solve.resume_command"),
    ("history", "List what was explored.", "history.command"),
    ("plan", "Show, check, edit and promote the plans of explorations.", "plan.command"),
    (
        "why-not",
        "Say why a goal does not hold, and how far it is from it.",
        "hypotheses.why_not_command",
    ),
    (
        "what-if",
        "Answer a goal as if facts, values or rules were others.",
        "hypotheses.what_if_command",
    ),
    ("missing", "Find the facts that would prove a goal.", "hypotheses.missing_command"),
    ("run", "Run a whole program over fact files, as Souffle does.", "run.command"),
    ("verify", "Check a certificate, independently of how it was made.", "verify.command"),
    ("diff", "Tell what differs between two proofs, and why.", "comparison.diff_command"),
    (
        "replay",
        "Make a certificate again, from its record or from today's sources.",
        "comparison.replay_command",
    ),
    ("sign", "Put one's name under a certificate.", "signing.sign_command"),
    ("keygen", "Make a key to sign with.", "signing.keygen_command"),
    ("log", "Look after the log of decisions.", "log.command"),
    ("snapshot", "Commit to all rows of a relation.", "snapshots.snapshot_command"),
    (
        "openings",
        "Show the rows of a certificate in signed snapshots.",
        "snapshots.openings_command",
    ),
    (
        "stale",
        "List the certificates that would have to be proved again.",
        "comparison.stale_command",
    ),
    (
        "cache",
        "Look at the answers of sources that are kept, or clear them.",
        "stored.cache_command",
    ),
    ("models", "List the language models, and what they have used.", "models.command"),
    ("memory", "Keep conversations as facts, and compact them.", "memory.command"),
    ("recorded", "Look at what was recorded for answers as of a time.", "stored.recorded_command"),
    ("explain", "Explain a code such as C0203.", "help.explain_command"),
    ("explain-plan", "Show how answers in bulk are computed.", "explain_plan.command"),
    (
        "materialize",
        "Keep the answers of a query, for point queries.",
        "stored.materialize_command",
    ),
    (
        "watch",
        "Print what follows and what does not any more, as facts change.",
        "stored.watch_command",
    ),
    ("facts", "State facts, list them, take them back.", "facts.command"),
    ("mcp", "Serve the project to agents.", "faces.mcp_command"),
    ("serve", "Serve the project over HTTP.", "faces.serve_command"),
    ("doctor", "Look at everything that a project needs.", "begin.doctor_command"),
    ("rules", "Check rule files.", "rules.command"),
    ("check-data", "Check the data against constraints and keys.", "check_data.command"),
    ("catalog", "Look at what the sources hold; draft declarations.", "catalog.command"),
    ("documents", "Look at the documents of a project, and search them.", "documents.command"),
    ("export", "Write a certificate in a standard format.", "export.command"),
    ("help", "Explain exit codes, goals, JSON, files.", "help.help_command"),
    ("schema", "Print the JSON Schema of a command's results.", "help.schema_command"),
    ("completion", "Print the completion script of a shell.", "completion.command"),
)

_SECTIONS: Final = (
    ("Begin", ("init", "doctor", "catalog", "documents")),
    ("Ask", ("prove", "query", "ask", "repl", "why-not", "what-if", "missing", "run")),
    ("Explore", ("solve", "resume", "history", "plan")),
    ("Check what was answered", ("verify", "diff", "replay", "stale", "export")),
    ("Sign and keep", ("sign", "keygen", "log", "snapshot", "openings")),
    (
        "Facts and rules",
        ("facts", "rules", "check-data", "cache", "recorded", "materialize", "watch"),
    ),
    ("Conversations", ("memory",)),
)


@click.group(
    name="constat",
    cls=LazyGroup,
    listed=_COMMANDS,
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
