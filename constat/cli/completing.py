"""What a shell offers when the tab key is pressed.

In: the words before the cursor (`COMP_WORDS`, one a line) and the word at it (`COMP_CURRENT`). Out:
lines of kind, value and description with tabs between; the kinds `file` and `dir` ask the shell for
names of files. Invariants: nothing is written but these lines, whatever is wrong; no rule is
evaluated, no connection opened; values are whole words, so the shell replaces the word at the
cursor.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from constat.cli.shallow import shallow_loading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

VARIABLE: Final = "_CONSTAT_COMPLETE"
_OPENING: Final = ("'", '"')
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9_@%+=:,./-]")
_VARIABLE_OF_GOAL: Final = re.compile(r"\?([A-Za-z][A-Za-z0-9_]*)")
_FILES: Final = re.compile(r"FILE|CERT|PATH")


class Offer(NamedTuple):
    """One thing to offer; `kind` is `plain`, `file` or `dir`."""

    kind: str
    value: str = ""
    text: str = ""


def complete(environ: Mapping[str, str]) -> int:
    """Write what fits; the exit code is always 0."""
    shell = environ.get(VARIABLE, "")
    # A shell in the middle of a line must not show a warning or a traceback.
    with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123  a stream, not a path
        errors, sys.stderr = sys.stderr, nothing
        try:
            lines = list(_lines(environ, shell))
        except Exception:  # noqa: BLE001  no offer is the answer to every mistake
            lines = []
        finally:
            sys.stderr = errors
    sys.stdout.write("".join(line + "\n" for line in lines))
    return 0


def _lines(environ: Mapping[str, str], shell: str) -> Iterator[str]:
    words = [unquoted(word) for word in environ.get("COMP_WORDS", "").split("\n")[1:]]
    raw = environ.get("COMP_CURRENT", "")
    if raw == "=":
        raw = ""
    for offer in offers(_joined(words), unquoted(raw)):
        value = offer.value
        if shell == "bash" and not raw.startswith(_OPENING) and _SPECIAL.search(value):
            # Bash inserts what it is given: brackets outside quotes would be its own syntax.
            value = f'"{value}"'
        yield f"{offer.kind}\t{value}\t{offer.text}".replace("\n", " ")


def _joined(words: list[str]) -> list[str]:
    """Drop the `=` that bash makes a word of its own in `--format=json`."""
    return [word for place, word in enumerate(words) if word != "=" or not place]


def unquoted(word: str) -> str:
    """Give what a word of a shell means, also where its quote is still open."""
    found: list[str] = []
    quote = ""
    characters = iter(word)
    for one in characters:
        if quote == one:
            quote = ""
        elif not quote and one in _OPENING:
            quote = one
        elif one == "\\" and quote != "'":
            found.append(next(characters, ""))
        else:
            found.append(one)
    return "".join(found)


def offers(words: Sequence[str], current: str) -> Iterator[Offer]:
    """Give what fits after these words, beginning with the current one."""
    with shallow_loading():
        place = _Place(words)
    for offer in place.offers(current):
        if offer.kind in {"file", "dir"} or offer.value.startswith(current):
            yield offer


class _Place:
    """Where in a command line the cursor is: the command, its arguments so far, an open option."""

    def __init__(self, words: Sequence[str]) -> None:
        commands = importlib.import_module("constat.cli.commands")
        self.command: click.Command = commands.cli
        self.context = click.Context(self.command, info_name="constat")
        self.given: list[str] = []
        self.options: dict[str, str] = {}
        self.waiting: click.Option | None = None
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        if self.waiting is not None:
            self.options[self.waiting.name or ""] = word
            self.waiting = None
        elif word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = next((one for one in self._options() if name in one.opts), None)
            if option is not None and equals:
                self.options[option.name or ""] = value
            elif option is not None and not option.is_flag:
                self.waiting = option
        elif isinstance(self.command, click.Group):
            found = self.command.get_command(self.context, word)
            if found is None:
                raise LookupError(word)
            self.command = found
            self.context = click.Context(found, info_name=word, parent=self.context)
        else:
            self.given.append(word)

    def _options(self) -> list[click.Option]:
        return [
            one
            for one in self.command.get_params(self.context)
            if isinstance(one, click.Option) and not one.hidden
        ]

    def offers(self, current: str) -> Iterable[Offer]:
        """Give what may stand here."""
        if self.waiting is not None:
            return self._values(self.waiting, current)
        if current.startswith("-"):
            return self._option_names()
        if isinstance(self.command, click.Group):
            return self._names(self.command)
        argument = self._argument()
        return self._option_names() if argument is None else self._values(argument, current)

    def _names(self, group: click.Group) -> Iterator[Offer]:
        summaries = getattr(group, "summaries", None)
        if summaries is not None:
            return (Offer("plain", name, text) for name, text in summaries())
        found = (
            (one, group.get_command(self.context, one)) for one in group.list_commands(self.context)
        )
        return (Offer("plain", name, one.get_short_help_str(80)) for name, one in found if one)

    def _option_names(self) -> Iterator[Offer]:
        for option in self._options():
            if option.multiple or option.name not in self.options:
                for name in option.opts:
                    if name.startswith("--"):
                        yield Offer("plain", name, (option.help or "").partition(";")[0])

    def _argument(self) -> click.Argument | None:
        arguments = [one for one in self.command.params if isinstance(one, click.Argument)]
        taken = len(self.given)
        for one in arguments:
            if one.nargs == -1 or taken < one.nargs:
                return one
            taken -= one.nargs
        return None

    def _values(self, parameter: click.Parameter, current: str) -> Iterable[Offer]:
        if isinstance(parameter.type, click.Choice):
            return [Offer("plain", str(one)) for one in parameter.type.choices]
        name = parameter.name or ""
        if name in {"order", "columns"}:
            return self._variables(current, ordered=name == "order")
        vocabulary = importlib.import_module("constat.cli.vocabulary")
        known: Iterable[Offer] | None = vocabulary.known(
            name, current, project=self.options.get("project"), given=tuple(self.given)
        )
        if known is not None:
            return known
        metavar = parameter.metavar or ""
        if metavar == "DIR":
            return [Offer("dir")]
        is_file = _FILES.search(metavar) or name in {"file", "certificate", "paths", "path"}
        return [Offer("file")] if is_file else []

    def _variables(self, current: str, *, ordered: bool) -> Iterator[Offer]:
        """Give the variables of the goal that was typed before."""
        before, comma, _ = current.rpartition(",")
        text = " ".join(self.given)
        for name in dict.fromkeys(_VARIABLE_OF_GOAL.findall(text)):
            yield Offer("plain", f"{before}{comma}{name}")
            if ordered:
                yield Offer("plain", f"{before}{comma}{name}:desc")
