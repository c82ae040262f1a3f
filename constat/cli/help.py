"""`constat help`, `explain` and `schema`: topics, codes, and the JSON of commands."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from constat import __version__
from constat.analysis import attributes
from constat.cli.groups import PlainCommand, format_option
from constat.cli.output import note, write, write_json
from constat.cli.schemas import json_schema, results
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.diagnostics.catalogue import FOLDER, Entry, catalogue, chapter
from constat.logic import Kind
from constat.logic.functors import signatures
from constat.logic.vocabulary import AGGREGATES, COMPARISONS, FUNCTIONS
from constat.project.loading import TOP_LEVEL
from constat.syntax.words import DIRECTIVES, REFUSED_DIRECTIVES, RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
NETRC            the file of names and passwords for indexes of packages,
                 in place of ~/.netrc
NO_COLOR         no colour on terminals; TERM=dumb has the same effect
COLUMNS          how wide the terminal is taken to be, for tables
CONSTAT_PROJECT  the project of commands that are not told --project
CONSTAT_DEBUG    show where an error in Constat itself happened
CONSTAT_WEBHOOK_SECRET
                 signs what `constat watch --on-change https://...` sends
OPENLINEAGE_API_KEY
                 the key of the collector for `constat export --send`
CONSTAT_KEY_PASSPHRASE
                 the passphrase of private keys (keygen, sign, log anchor)
ANTHROPIC_API_KEY
                 the key of models of this provider, unless `key:` in
                 constat.yaml names another variable (see `constat models`)
OTEL_EXPORTER_OTLP_ENDPOINT
                 the collector that spans of OpenTelemetry are sent to, as
                 OTEL_SERVICE_NAME unless OTEL_SDK_DISABLED is true
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


# References that `constat help` prints, written from the tables that the code itself reads by.

_WIDTH: Final = 79
_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})

_VALUES: Final = MappingProxyType(
    {
        Kind.NUMBER: "whole numbers of 64 bits: 5, -5",
        Kind.UNSIGNED: "whole numbers without a sign: 5u",
        Kind.DECIMAL: "exact decimals of at most 38 digits: 10.50",
        Kind.FLOAT: "the nearest double; mixed with Decimal only by `as`",
        Kind.SYMBOL: 'texts: "gold"',
        Kind.DATE: '"2025-01-31"',
        Kind.TIMESTAMP: '"2025-01-31T10:00:00Z", in UTC',
        Kind.BOOL: '"true" and "false"',
    }
)
MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "abducible": "may be supposed where `missing` looks for facts, at a cost",
        "approved": "who approved it, and on which day",
        "author": "who wrote it; what a model wrote counts only once approved",
        "cites": "the law or the text by which the rule is so",
        "closed": "who vouches that no fact of it is missing",
        "confidential": "hidden in views for the person concerned: `constat export --view`",
        "confidence": "above 0, at most 1; below 1 what follows is an assumption",
        "constraint": "nothing of it should hold: `constat check-data`",
        "description": "what it is, for people and models",
        "distinct": "equal rows of the query are merged on purpose",
        "expect": "what a case expects: proved, disproved, unresolved",
        "floor": "`/` of whole numbers is meant to cut off",
        "given": "columns that whoever asks has to bind",
        "id": "the name of a rule; of a column: its numbers name something",
        "key": "columns that tell its rows apart",
        "null": "what NULL means: `constat help nulls`",
        "nullable": "as in `null`",
        "owner": "who answers for it",
        "percent": "sentences write it a hundredfold, with %",
        "personal": "of a person: hidden in views for auditors, and of others in the person's own",
        "places": "how many decimals sentences write at least",
        "reason": 'what a reason code says: `@[reason(R01 = "...")]`',
        "reasons": "codes of reasons, one for each literal of the body",
        "removable": "may be taken away in thought by `why-not`, at a cost",
        "says": 'the sentence that says so: "{customer} is a VIP"',
        "says_not": "the sentence that says that it is not so",
        "says_unknown": "the sentence that says that it is not known",
        "unit": "its unit, before or behind the number",
        "version": "its version, as certificates say it",
        "whole": "its rows are read whole, also columns that no rule reads",
        "year": "a year: written without separators",
    }
)
"""What each attribute says."""

_LANGUAGE: Final = """\
A rule file is text whose name ends in .dl, in a folder that `rules:` of
constat.yaml names:

  .pragma "constat" "0.1"
  .include "constat/prelude.dl"

  .decl spent(customer: number, total: Decimal)
  spent(?c, ?total) :-
    customer(id = ?c),
    ?total = sum ?t : { invoice(id = _i, customer_id = ?c, total = ?t) }.

  @[says = "{customer} spends much"]
  .decl spends_much(customer: number)
  spends_much(?c) :- spent(?c, ?total), ?total > 40.0, !blocked(?c).

A variable is ?name, `_` is any value, a text stands in double quotes, and so
do dates. `,` is and, `;` is or, `!` denies an atom, `=` also gives a variable
its value. Arguments go by position, or by name; those left out are any value.
A group key of an aggregate is bound outside of it. Over two or more atoms name
the column that tells rows apart (`_i`), so that equal amounts count twice.
"""
_NULLS: Final = """\
NULL is never a value. What it means is said of each column:

  @[null = maybe] fax: symbol     a value or none; what `constat init` drafts
  @[null = none] fax: symbol      there is no value
  @[null = unknown] fax: symbol   there is one, and nobody knows it
  @[null = skip] fax: symbol      rows without it are left out
  @[null = error] fax: symbol     a mistake of the source; without a word

A rule reads a column when it writes a variable or a value there, or names it;
`_` in its place, and a column that is left out, read nothing. What is not read
leaves nothing open.

Read under `none`, the row does not match, certainly: rules see it as no value.
Under `maybe` and `unknown` it may match: the goal is UNRESOLVED where it rests
on that, and what is missing is named. Where you know better, write `none`.

To ask for rows without a value, declare `none`, name those with one, deny it:

  .decl has_fax(customer: number)
  has_fax(?c) :- customer(customer_id = ?c, fax = _fax).
  .decl without_fax(customer: number)
  without_fax(?c) :- customer(customer_id = ?c), !has_fax(?c).

More in docs/semantics.md, sentence 26.
"""


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Lay out names and texts in two columns; a name that is too long has a line of its own."""
    for name, text in rows:
        lines = textwrap.wrap(text, _WIDTH - width - 2) or [""]
        first = f"{name:<{width}}" if len(name) < width else f"{name}\n{'':<{width}}"
        yield f"  {first}{lines[0]}"
        yield from (f"  {'':<{width}}{line}" for line in lines[1:])


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def language() -> str:
    """Describe rule files: types, comparisons, aggregates, directives, reserved names."""
    parts = [
        _LANGUAGE,
        "Types:\n",
        *_rows(((kind.value, text) for kind, text in _VALUES.items()), 11),
        "\nComparisons:\n",
        *_rows(COMPARISONS.items(), 11),
        "\nAggregates, as `?n = count : { ... }` and `?s = sum ?x : { ... }`:\n",
        *_rows(AGGREGATES.items(), 11),
        "\nDirectives:\n",
        _filled(" ".join(f".{name}" for name in sorted(DIRECTIVES))),
        "\nRefused, with exit code 78:\n",
        _filled(" ".join(f".{name}" for name in sorted(REFUSED_DIRECTIVES))),
        "\nNames that cannot be declared:\n",
        _filled(" ".join(sorted(RESERVED))),
        "\nExample:\n  constat rules check rules/customer-value",
    ]
    return "\n".join(parts)


def _kinds(kinds: list[Kind]) -> str:
    """Name kinds; all that are numeric, and all there are, have a word of their own."""
    if len(set(kinds)) > len(_NUMERIC):
        return "any value"
    rest = [kind.value for kind in dict.fromkeys(kinds) if kind not in _NUMERIC]
    numeric = ["a number"] if set(kinds) >= _NUMERIC else []
    rest += [] if numeric else [one.value for one in dict.fromkeys(kinds) if one in _NUMERIC]
    return " or ".join([*numeric, *rest])


def functions() -> str:
    """List the functions with what they take and give."""

    def shape(name: str) -> str:
        found = signatures(name)
        results = list(dict.fromkeys(one.result.value for one in found))
        most = max(len(one.parameters) for one in found)
        taken = [
            _kinds([one.parameters[place] for one in found if place < len(one.parameters)])
            for place in range(most)
        ]
        gives = results[0] if len(results) == 1 else "the same kind"
        gives = "the kind that is named" if name == "as" else gives
        return f"({'; '.join(taken)}) -> {gives}"

    rows = [
        (name, f"{word.meaning}{'' if word.total else '; may fail'}. {shape(name)}")
        for name, word in FUNCTIONS.items()
    ]
    return "\n".join(
        [
            "A function that fails makes what rests on it unknown, never false.\n",
            *_rows(rows, 15),
            "\nRows that `range(?a, ?b)` gives: from the first on, without the last.",
            "\nExample:\n  constat rules check rules/customer-value",
        ]
    )


def all_attributes() -> str:
    """List the attributes by what they stand before."""
    places = (
        ("a declaration", attributes.OF_PREDICATES),
        ("a column", attributes.OF_COLUMNS),
        ("a type", attributes.OF_TYPES),
        ("a rule or fact", attributes.OF_RULES),
    )
    parts = ["Attributes stand before what they speak of: `@[key = id] .decl ...`."]
    for place, names in places:
        parts.append(f"\nBefore {place}:\n")
        parts += _rows(((name, MEANINGS[name]) for name in sorted(names)), 14)
    return "\n".join([*parts, "\nExample:\n  constat rules list rules/customer-value"])


def configuration() -> str:
    """List the keys of the first level of `constat.yaml`."""
    return "\n".join(
        [
            "constat.yaml has these keys on its first level:\n",
            *_rows(TOP_LEVEL.items(), 12),
            "\n${NAME} in an address is a variable of the environment, or of a file .env",
            "beside constat.yaml. What stands below each key is in docs/configuration.md;",
            "`constat doctor` looks at all of it.",
            "\nExample:\n  constat doctor",
        ]
    )


def nulls() -> str:
    """Say what NULL means, and how a rule asks for it."""
    return _NULLS


REFERENCES: Final = MappingProxyType(
    {
        "language": language,
        "functions": functions,
        "attributes": all_attributes,
        "configuration": configuration,
        "nulls": nulls,
    }
)
