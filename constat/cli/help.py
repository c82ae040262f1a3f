"""`constat help`, `explain` and `schema`: topics, codes, and the JSON of commands."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from constat import __version__
from constat.cli.groups import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.cli.schemas import json_schema, results
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.diagnostics.catalogue import FOLDER, Entry, catalogue, chapter

# Every line fits 80 columns, and a test runs the examples.

TOPICS: Final = (
    ("goals", "How goals, queries and facts are typed."),
    ("exit-codes", "What the exit codes mean."),
    ("json", "Results and failures as JSON."),
    ("environment", "Environment variables that are read."),
    ("files", "Files that are read and written."),
    ("language", "Rule files, types, comparisons, aggregates."),
    ("functions", "What functions take and give."),
    ("attributes", "What may stand in @[...]."),
    ("configuration", "The keys of constat.yaml."),
    ("nulls", "What NULL means, and how to ask for it."),
)
"""The topics with one line each."""

_GOALS: Final = """\
A goal is a predicate with its arguments in parentheses:

  is_vip(C001)               a constant; no quotes unless it has blanks, commas
                             or brackets: hired("J. Doe", 2024-01-01)
  is_vip(?c)                 a variable: begins with a question mark
  is_vip(customer = C001)    columns by name; those left out may have any value
                             (rules and facts of rule files may name them, too)
  owns(C001, _, ?share)      _ stands for any value

`constat prove` decides one goal. `constat query` finds all values of the
variables. Both also take several atoms with commas between; there `!` denies
an atom and comparisons choose:

  is_vip(?c), customer_revenue(?c, ?r), ?r > 100000, !controls(_, ?c)

Both calculate and count as the body of a rule does, at the beginning, too:

  customer_revenue(C001, ?r), ?r / 2.0 >= 75000.0
  count : { controls(_, C001) } > 2
  ?most = max ?r : { customer_revenue(_, ?r) }

A fact for `constat facts add` has a value in each column. Put all of these in
quotes for the shell.

Examples:
  constat prove "is_vip(customer = C001)" --quiet
  constat query "owns(C001, _, ?share)"
"""

_EXIT_CODES: Final = """\
0    proved; settled (query); accepted and proved (verify); done
1    rejected by verify, or a source no longer shows a leaf; never a verdict.
     Other commands say in their help where something did not pass
2    the command line, configuration, rules or a goal is wrong
3    proved under assumptions; answers settled under assumptions (query);
     proved, and nobody has confirmed that the goal is what was asked (ask)
4    unresolved: facts are missing; there may be more answers (query);
     not confirmed, with --require-confirmed (ask)
5    disproved
6    disproved under assumptions; disproved, and not confirmed (ask)
7    different: what is compared or made again is not the same (diff, replay)
8    the question cannot be expressed with what the project has (ask, solve)
9    the question has several meanings, which are listed (ask, solve)
70   an error in Constat itself
78   a construct of the language that is refused on purpose
129  the terminal was closed
130  interrupted by Ctrl-C
143  ended by SIGTERM. Like 129 and 130: no file that was named is changed,
     queries and other processes are ended, temporary files are taken away

A reader that stops early (`| head`) does not change the code.

Examples:
  constat prove "is_vip(C002)" --quiet           # exits with 5
  constat prove "is_strategic(C009)" --quiet     # exits with 4
"""

_JSON: Final = """\
Commands that give results have --format json. The form of each is a JSON
Schema, printed by `constat schema COMMAND`. stdout then holds one JSON value
(with jsonl, one object a line) or nothing.

A failure is one object on stderr with `error`, `exit_code` and `diagnostics`
(`constat schema error`), whatever the command; stdout is empty and the exit
code the same as without JSON. Remarks on stderr come with success only.

Exact decimals are texts, and so are integers beyond 2^53 - 1, because many
readers would round them. Records and branches are texts as rules write them.
Times are UTC. Members are added in later versions; none changes its meaning.

Examples:
  constat prove "is_vip(C001)" --format json
  constat schema query
"""

_ENVIRONMENT: Final = """\
NO_COLOR         no colour on terminals; TERM=dumb has the same effect
COLUMNS          how wide the terminal is taken to be, for tables
CONSTAT_DEBUG    show where an error in Constat itself happened
OPENLINEAGE_API_KEY
                 the key of the collector for `constat export --send`
CONSTAT_KEY_PASSPHRASE
                 the passphrase of private keys (keygen, sign, log anchor)
ANTHROPIC_API_KEY
                 the key of models of this provider, unless `key:` in
                 constat.yaml names another variable (see `constat models`)
SPARK_REMOTE     the Spark Connect server of `run --engine spark`, without
                 --remote
others           those that constat.yaml names as ${NAME}, in connections and
                 facts; a missing one is an error that names it

Colour, progress lines and cut columns are for terminals only: what is piped or
written to a file is complete and plain.

Example:
  NO_COLOR=1 constat prove "is_vip(C001)" --quiet
"""

_FILES: Final = """\
constat.yaml     the project: rules, databases, facts, limits. It is looked for
                 in this folder and those above; --project names another. A
                 pyproject.toml may point to it: [tool.constat] project = "..."
.env             NAME=value lines beside constat.yaml: variables that the
                 environment does not set itself; read, never written
*.dl             rules, in the files and folders that constat.yaml names
.constat/        the state of the project, beside constat.yaml: stated facts,
                 the catalog of tables and what else must outlive a run
                 (`state:` names another folder); model_answers.sqlite in it
                 has what models replied and what that cost;
                 confirmations/ in it who confirmed which goal of a question
approvals.jsonl  beside rule files: who approved which rules of models; it
                 belongs into version control with them
*.jsonl          tapes: replies that `models: {tape: FILE}` replays

FILE.dsse        the signatures of the certificate FILE, a line for each signer
*.pem            keys that `constat keygen` made; *.pub.pem are the public ones

Files that commands write (--certificate, --output) appear whole or not at all:
they are written beside their place and renamed.

Example:
  constat rules check rules/customer-value
"""

_TEXTS: Final = (
    ("goals", _GOALS),
    ("exit-codes", _EXIT_CODES),
    ("json", _JSON),
    ("environment", _ENVIRONMENT),
    ("files", _FILES),
)


def topic_text(name: str) -> str | None:
    """Give the text of a topic."""
    found = next((text for topic, text in _TEXTS if topic == name), None)
    if found is None and name in {topic for topic, _ in TOPICS}:
        # These load what they are written from.
        from constat.cli.references import REFERENCES  # noqa: PLC0415  loaded when it is used

        found = REFERENCES[name]()
    return found


# The names are those of commands, with dashes; `error` is the form of failures.


_CONFIGURATION: Final = "constat.yaml"


def schema_names() -> list[str]:
    """Name the schemas: of results, and that of the configuration."""
    return sorted([*results(), _CONFIGURATION])


@click.command(name="schema", cls=PlainCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
def schema_command(words: tuple[str, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of what COMMAND prints with --format json.

    Without COMMAND the names are listed. `constat.yaml` is the schema of the configuration, with
    which an editor completes and checks its keys. `error` is what every command prints on stderr
    when it fails and JSON was asked for. Members are added in later versions and never change
    meaning.

    Examples:
      constat schema
      constat schema prove
      constat schema facts list
      constat schema error
      constat schema constat.yaml > constat.schema.json

    Exit codes: 0 printed, 2 there is no such schema.
    """
    names = schema_names()
    if not words:
        write("\n".join(names))
        return
    name = "-".join(words)
    if name not in names:
        near = nearest(name, names)
        raise ConstatError(
            [
                Diagnostic(
                    "C0435",
                    f"there is no schema `{name}`",
                    note="a command has one if it has `--format json`",
                    help=f"write `constat schema {near}`"
                    if near
                    else "`constat schema` lists them",
                )
            ]
        )
    if name == _CONFIGURATION:
        from constat.project.loading import SCHEMA  # noqa: PLC0415  loaded when it is used

        write(SCHEMA.read_text(encoding="utf-8").rstrip())
        return
    write(json.dumps(json_schema(name), indent=2, ensure_ascii=False))


@click.command(name="explain", cls=PlainCommand)
@click.argument("code", metavar="[CODE]", default="")
@format_option
def explain_command(code: str, *, form: str) -> None:
    """Explain CODE, as it stands in an error message, with a wrong and a right example.

    Without CODE all codes are listed by what they are about.

    Examples:
      constat explain
      constat explain C0203
      constat explain C0407 --format json

    Exit codes: 0 explained, 2 there is no such code.
    """
    if not code:
        _list_codes(form)
        return
    entries = catalogue()
    entry = entries.get(code.upper())
    if entry is None:
        near = nearest(code.upper(), sorted(entries))
        hint = f"`constat explain {near}` is the nearest one" if near else ""
        raise ConstatError([Diagnostic("C0404", f"there is no code `{code}`", help=hint)])
    if form == "json":
        write_json(asdict(entry))
    else:
        write(_text(entry))


def _list_codes(form: str) -> None:
    chapters = sorted(FOLDER.glob("*.md"))
    listed = {
        file.read_text("utf-8").partition("\n")[0].removeprefix("# "): chapter(file.stem)
        for file in chapters
    }
    if form == "json":
        write_json(
            {
                topic: [{"code": one.code, "title": one.title} for one in entries]
                for topic, entries in listed.items()
            }
        )
        return
    for topic, entries in listed.items():
        write(f"{topic}:")
        for one in entries:
            write(f"  {one.code}  {one.title}")


def _text(entry: Entry) -> str:
    parts = [f"{entry.code}: {entry.title}", entry.explanation.strip()]
    if entry.rules_for_goal:
        parts.append("With the rules\n\n" + _indented(entry.rules_for_goal))
    if entry.wrong:
        parts.append("Wrong:\n\n" + _indented(entry.wrong))
    if entry.right:
        parts.append("Right:\n\n" + _indented(entry.right))
    return "\n\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())


@click.command(name="help", cls=PlainCommand)
@click.argument("topic", nargs=-1, metavar="[TOPIC | COMMAND]")
@click.option("--man", "folder", metavar="FOLDER", help="Write manual pages into FOLDER.")
@click.pass_context
def help_command(ctx: click.Context, topic: tuple[str, ...], folder: str | None) -> None:
    """Explain a topic that concerns all commands, or show the help of a command.

    Examples:
      constat help
      constat help exit-codes
      constat help facts add
      constat help --man man1

    Exit codes: 0 shown or written, 2 there is no such topic or command.
    """
    root = ctx.find_root()
    if folder is not None:
        _write_manual(root, Path(folder))
        return
    if not topic:
        write(root.get_help())
        return
    text = topic_text(topic[0]) if len(topic) == 1 else None
    if text is not None:
        write(text.rstrip("\n"))
        return
    found = root
    for word in topic:
        group = found.command
        inner = group.get_command(found, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise ConstatError([_unknown(" ".join(topic), root)])
        found = click.Context(inner, info_name=word, parent=found)
    write(found.get_help())


# Manual pages are the help of each command in the macros of `man`; a line is a line there, too.


def _write_manual(root: click.Context, folder: Path) -> None:
    """Write a page for the program and for each of its commands."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    waiting = [root]
    while waiting:
        found = waiting.pop()
        group = found.command
        for word in group.list_commands(found) if isinstance(group, click.Group) else ():
            inner = group.get_command(found, word) if isinstance(group, click.Group) else None
            if inner is not None:
                waiting.append(click.Context(inner, info_name=word, parent=found))
        name = found.command_path.replace(" ", "-")
        (folder / f"{name}.1").write_text(_page(found, name), encoding="utf-8")
        number += 1
    note(f"{number} manual pages in {folder}; `man {folder}/constat.1` shows one")


def _page(found: click.Context, name: str) -> str:
    usage, _, rest = found.get_help().partition("\n")
    says = rest.strip().partition("\n")[0].rstrip(".")
    heads = [
        f'.TH "{name.upper()}" "1" "" "constat {__version__}" "Constat"',
        *(".SH NAME", f"{_roff(name)} \\- {_roff(says)}"),
        *(".SH SYNOPSIS", ".nf", _roff(usage.removeprefix("Usage: ")), ".fi", ".SH DESCRIPTION"),
    ]
    lines = (_roff(one.removeprefix("  ")) for one in rest.strip("\n").splitlines())
    return "\n".join([*heads, ".nf", *lines, ".fi", ""])


def _roff(text: str) -> str:
    """Write a line so that nothing in it is a request or an escape."""
    told = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{told}" if told.startswith((".", "'")) else told


def _unknown(name: str, root: click.Context) -> Diagnostic:
    group = root.command
    commands = group.list_commands(root) if isinstance(group, click.Group) else []
    names = [*(topic for topic, _ in TOPICS), *commands]
    near = nearest(name, names)
    return Diagnostic(
        "C0436",
        f"there is no topic and no command `{name}`",
        note="the topics are " + ", ".join(topic for topic, _ in TOPICS),
        help=f"write `constat help {near}`" if near else "`constat help` lists the commands",
    )
