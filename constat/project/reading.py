"""Read the parts of a configuration with their places; every mistake becomes a diagnostic."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Span, nearest
from constat.frozen import frozen
from constat.project.document import Listing, Node, Table, Text, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MOST_NAMES: Final = 12
# Names are compared letter by letter: only so many are.
_MOST_COMPARED: Final = 2_000


def suggestion(name: str, known: Iterable[str]) -> str:
    """Give a help text that names the nearest match, or lists what is known."""
    names = sorted(known)[:_MOST_COMPARED]
    found = nearest(name, names)
    if found is not None:
        return f"write `{found}`"
    return f"known: {', '.join(names[:_MOST_NAMES])}" if names else ""


# An expanded text is complete or `None`, never half filled. `$${NAME}` stands for the characters
# `${NAME}`.

_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|(\$\{)")


@frozen
class Expanded:
    """A text after expansion. `text` is `None` where a variable is missing; it may be a secret."""

    text: str | None = field(repr=False)
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    malformed: bool = False


def expand(text: str, environment: Mapping[str, str]) -> Expanded:
    """Replace every `${NAME}`. A `${` that begins no reference makes the text malformed."""
    names: dict[str, None] = {}
    malformed = False

    def replacement(found: re.Match[str]) -> str:
        nonlocal malformed
        if found[1]:
            return "${"
        if found[3]:
            malformed = True
            return ""
        names[found[2]] = None
        return environment.get(found[2], "")

    result = _REFERENCE.sub(replacement, text)
    missing = tuple(name for name in names if name not in environment)
    usable = not missing and not malformed
    return Expanded(result if usable else None, tuple(names), missing, malformed)


# A diagnostic shows names of keys, never a value.

MOST_DIAGNOSTICS: Final = 100
_NUMBER_LENGTH: Final = 15
_DAY: Final = 86_400.0


@frozen
class Sections:
    """Reads nodes of one file and collects what is wrong."""

    diagnostics: list[Diagnostic]

    def complain(self, code: str, message: str, node: Node, note: str = "", hint: str = "") -> None:
        """Add a diagnostic at a node, as long as there are not too many."""
        if len(self.diagnostics) < MOST_DIAGNOSTICS:
            found = Diagnostic(code, message, node.span, note=note, help=hint)
            self.diagnostics.append(found)

    def entries(self, node: Node, what: str) -> tuple[tuple[Text, Node], ...]:
        """Give the entries of a table; a key without a value is an empty table."""
        if isinstance(node, Table):
            return node.entries
        if not _empty(node):
            self.complain("C0504", f"{what} is not a table of `key: value`", node)
        return ()

    def table(self, node: Node, what: str, known: Iterable[str]) -> Mapping[str, Node]:
        """Give a table whose keys are all known; unknown ones are reported."""
        names = tuple(known)
        found: dict[str, Node] = {}
        for key, value in self.entries(node, what):
            if key.text in names:
                found[key.text] = value
            else:
                message = f"unknown key `{printable(key.text)}` in {what}"
                self.complain("C0503", message, key, hint=suggestion(key.text, names))
        return found

    def text(self, node: Node | None, what: str, default: str = "") -> str:
        """Give a text that is not empty."""
        if node is None:
            return default
        if isinstance(node, Text) and node.text and "\0" not in node.text:
            return node.text
        self.complain("C0504", f"{what} is not a text", node)
        return default

    def texts(self, node: Node | None, what: str) -> tuple[Text, ...]:
        """Give a list of texts; a single text is a list of one."""
        if node is None or _empty(node):
            return ()
        nodes = node.entries if isinstance(node, Listing) else (node,)
        found = []
        for one in nodes:
            if isinstance(one, Text) and one.text and "\0" not in one.text:
                found.append(one)
            else:
                self.complain("C0504", f"{what} holds something that is not a text", one)
        return tuple(found)

    def integer(self, node: Node | None, what: str, default: int) -> int:
        """Give an integer above zero."""
        if node is None:
            return default
        written = node.text.replace("_", "") if isinstance(node, Text) else ""
        if written.isascii() and written.isdigit() and len(written) <= _NUMBER_LENGTH:
            number = int(written)
            if number > 0:
                return number
        self.complain("C0504", f"{what} is not a whole number above zero", node)
        return default

    def seconds(self, node: Node | None, what: str, default: float) -> float:
        """Give a duration: decimal digits, above zero and at most a day."""
        if node is None:
            return default
        written = node.text if isinstance(node, Text) else ""
        plain = written.isascii() and written.replace(".", "", 1).isdigit()
        if plain and len(written) <= _NUMBER_LENGTH and 0 < float(written) <= _DAY:
            return float(written)
        self.complain("C0504", f"{what} is not a number of seconds between 0 and 86400", node)
        return default

    def flag(self, node: Node | None, what: str) -> bool:
        """Give whether the text is `true`; anything but `true` and `false` is reported."""
        if node is None:
            return False
        if isinstance(node, Text) and node.text in {"true", "false"}:
            return node.text == "true"
        self.complain("C0504", f"{what} is neither true nor false", node)
        return False


def _empty(node: Node) -> bool:
    return isinstance(node, Text) and node.bare and not node.text


def unset(message: str, missing: Sequence[str], span: Span | None) -> Diagnostic:
    """Report environment variables that are not set, with what sets them."""
    lines = " and ".join(f"`{name}=...`" for name in missing)
    help_ = f"write {lines} into `.env` beside the configuration, or export it"
    return Diagnostic("C0511", message, span, help=help_)
