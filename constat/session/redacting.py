"""Views of certificates: what is hidden of them, and the salts that open it again.

In: a whole certificate, the columns to hide, a secret.  Out: the file of a view.  Invariants: what
comes out was checked as a stranger would; a value that a function makes of hidden ones is hidden as
well; the secret stands in a file beside the whole certificate, which only its owner reads.

Example: ``make_view(content, Hiding(("amount",)), secret)``.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from constat.check import check_certificate
from constat.check.canonical import Rejected
from constat.check.checking import questions_about_hidden
from constat.check.values import HIDDEN
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.redaction import (
    CannotHideError,
    Commitments,
    NestedView,
    View,
    finished,
    members_of,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from constat.check.checking import ViewAnswers
    from constat.proof.redaction import Column, Members, Pair

SALTS: Final = "constat-salts/1"
_BYTES: Final = 32
_MOST_ROUNDS: Final = 20
# What a declaration says of its columns, and the views in which such columns are hidden.
_MARKS: Final = (("personal", ("auditor", "subject")), ("confidential", ("subject",)))


@frozen
class Hiding:
    """Columns by name, a view, and the codes of hidden values that are opened again."""

    columns: tuple[str, ...] = ()
    view: str | None = None
    opened: tuple[str, ...] = ()


def make_view(content: bytes, hiding: Hiding, secret: bytes) -> bytes:
    """Return the view of a certificate; `ConstatError` where it cannot be hidden."""
    try:
        return _made(members_of(content), hiding, secret)
    except CannotHideError as problem:
        raise _refused(str(problem)) from None


def _refused(why: str) -> ConstatError:
    diagnostic = Diagnostic(
        "C0797",
        f"a view of this certificate cannot hide that: {why}",
        note="nothing was written",
        help="hide other columns, or give the whole certificate to who may read it",
    )
    return ConstatError([diagnostic])


def _made(members: Members, hiding: Hiding, secret: bytes) -> bytes:
    whole = list(_every(members))
    columns = [column for one in whole for column in _columns(one, hiding)]
    if not columns:
        if hiding.view is None:
            raise CannotHideError(_no_column(whole, hiding.columns))
        return finished(members)
    _check_named(whole, hiding.columns)
    hidden = {pair for one in whole for pair in _values(one, hiding, _columns(one, hiding))}
    # What a function makes of a hidden value tells of it, so it is hidden wherever it stands.
    for _ in range(_MOST_ROUNDS):
        making = _Making(hiding, secret, frozenset(hidden))
        content, _ = making.run(members)
        if making.made <= hidden:
            making.check_codes()
            return content
        hidden |= making.made
    raise CannotHideError("too much is computed from these values")


def _every(members: Members) -> Iterator[Members]:
    """Yield a certificate and all that are nested in it, each of a form that can be hidden."""
    yield members
    for one in members["proofs"]:
        yield from _every(members_of(json.dumps(one).encode()))


class _Making:
    """Makes the view of a certificate and first those of the nested ones, hiding the same values.

    ``made`` are the values that functions make of hidden ones, in any of them.
    """

    def __init__(self, hiding: Hiding, secret: bytes, hidden: frozenset[Pair]) -> None:
        self.hiding = hiding
        self.secret = secret
        self.hidden = hidden
        self.made: set[Pair] = set()
        self.found: set[str] = set()

    def run(self, members: Members) -> tuple[bytes, View]:
        """Return the file of the view."""
        nested = []
        for one in members["proofs"]:
            content, view = self.run(one)
            nested.append(NestedView(one, json.loads(content), view.assumed))
        commitments = Commitments(self.secret)
        columns = _columns(members, self.hiding)
        view = View(
            members, columns, set(self.hidden), commitments, self.hiding.view, nested=nested
        )
        tree = json.loads(finished(view.made()))
        told = _told(tree, commitments)
        self.made |= told.made
        codes = tuple(one for one in self.hiding.opened if _matching(tree, told, one))
        self.found |= set(codes)
        if not told.made <= self.hidden:
            return finished(tree), view
        return _filled(tree, told, commitments, codes), view

    def check_codes(self) -> None:
        """Refuse what is to be opened and hidden nowhere."""
        for code in self.hiding.opened:
            if code not in self.found:
                raise CannotHideError(f"no single hidden value has the code {code[:16]!r}")


def _matching(tree: Members, told: ViewAnswers, code: str) -> bool:
    answers = [list(pair) for pair in told.answers]
    standing = _hidden_cells({**tree, "proofs": [], "told": answers})
    return any(one.removeprefix("sha256:").startswith(code.lower()) for one in standing)


def _columns(members: Members, hiding: Hiding) -> list[Column]:
    """Return the columns to hide that a certificate has."""
    return [*_named(members, hiding.columns), *_marked(members, hiding.view)]


def _check_named(whole: list[Members], names: tuple[str, ...]) -> None:
    """Refuse a name that is no column of any of these certificates."""
    for name in names:
        if not any(_named(one, (name,)) for one in whole):
            raise CannotHideError(_no_column(whole, (name,)))


def _no_column(whole: list[Members], names: tuple[str, ...]) -> str:
    if not names:
        return "no column was named"
    every = {
        f"{one['name']}.{name}"
        for members in whole
        for one in members["declarations"]
        for name, _ in one["columns"]
    }
    return f"it has no column `{names[0][:80]}`; it has {', '.join(sorted(every)[:20])}"


def _told(tree: Members, commitments: Commitments) -> ViewAnswers:
    values = {HIDDEN + found: pair for found, pair in commitments.made.items()}
    try:
        return questions_about_hidden(tree, values, commitments.of)
    except Rejected as problem:
        raise CannotHideError(_why(problem.code)) from None


def _why(code: str | None) -> str:
    """Say why a check does not accept a view; what it says itself may hold a value."""
    if code == "threshold":
        return "a recursive total adds the values up, and nothing can be told in place of it"
    if code in {"aggregate", "comparison", "head", "negation", "not-covered", "premise", "verdict"}:
        return f"a value follows from others that stay shown; hide these as well ({code})"
    return f"it would not check any more ({code})"


def _filled(
    tree: Members, told: ViewAnswers, commitments: Commitments, codes: tuple[str, ...]
) -> bytes:
    redaction = {**tree["redaction"], "told": [list(pair) for pair in told.answers]}
    opened = _opened({**tree, "redaction": redaction}, commitments, codes)
    found = {**tree, "header": {**tree["header"], "level": told.level}}
    content = finished({**found, "redaction": {**redaction, "opened": opened}})
    report = check_certificate(content)
    if not report.accepted and report.code == "under":
        # All that was hidden is opened, so nothing rests on the word of the writer.
        return _bare(found, {**redaction, "opened": opened})
    if not report.accepted:
        raise CannotHideError(_why(report.code))
    return content


def _bare(tree: Members, redaction: Members) -> bytes:
    header = tree["header"]
    under = [at for at in header["under"] if at != redaction["assumption"]]
    verdict = header["verdict"] if under else header["verdict"].removesuffix("_UNDER")
    header = {**header, "under": under, "verdict": verdict}
    content = finished({**tree, "header": header, "redaction": redaction})
    report = check_certificate(content)
    if not report.accepted:
        raise CannotHideError(_why(report.code))
    return content


def _opened(
    tree: Members, commitments: Commitments, codes: tuple[str, ...]
) -> list[tuple[str, str, str, str]]:
    """Return the values with these codes: the first digits of their commitments."""
    # What nested views hide they open themselves.
    standing = set(_hidden_cells({**tree, "proofs": []}))
    found = []
    for code in codes:
        matching = [one for one in standing if one.removeprefix("sha256:").startswith(code.lower())]
        if len(matching) != 1:
            raise CannotHideError(f"no single hidden value has the code {code[:16]!r}")
        kind, text = commitments.made[matching[0]]
        found.append((matching[0], commitments.salt(kind, text), kind, text))
    return sorted(set(found))


def _hidden_cells(value: Any) -> list[str]:  # noqa: ANN401  JSON
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            if len(one) == 2 and one[0] == "hidden" and isinstance(one[1], str):  # noqa: PLR2004
                found.append(one[1])
            else:
                waiting += one
    return found


# Which columns, and which values in them.


def _named(members: Members, names: tuple[str, ...]) -> list[Column]:
    """Return the columns of these names, each ``column`` or ``predicate.column``."""
    known = {
        (one["name"], name): (one["name"], place)
        for one in members["declarations"]
        for place, (name, _) in enumerate(one["columns"])
    }
    found: list[Column] = []
    for name in names:
        predicate, _, column = name.rpartition(".")
        matching = [
            place
            for (owner, own), place in known.items()
            if own == column and predicate in {"", owner}
        ]
        found += matching
    return found


def _marked(members: Members, view: str | None) -> list[Column]:
    """Return the columns that declarations mark as hidden in this view."""
    found: list[Column] = []
    for one in members["declarations"]:
        texts = dict(one["texts"])
        for place, (name, _) in enumerate(one["columns"]):
            if any(view in views and f"{mark}.{name}" in texts for mark, views in _MARKS):
                found.append((one["name"], place))
    return found


def _values(members: Members, hiding: Hiding, columns: list[Column]) -> set[Pair]:
    """Return the values to hide: of what is personal, the subject sees what is in own rows."""
    if hiding.view != "subject":
        return values_of(members, columns, lambda _, __: False)
    personal = {
        (one["name"], place)
        for one in members["declarations"]
        for place, (name, _) in enumerate(one["columns"])
        if f"personal.{name}" in dict(one["texts"])
    } - set(_named(members, hiding.columns))
    own = _own(members, personal)

    def is_own(_: str, row: list[Any]) -> bool:
        return any(isinstance(cell, str) and cell in own for cell in row)

    others = values_of(members, [one for one in columns if one in personal], is_own)
    shown = values_of(members, [one for one in columns if one in personal], lambda *_: False)
    return others - (shown - others) | values_of(
        members, [one for one in columns if one not in personal], lambda *_: False
    )


def _own(members: Members, personal: set[Column]) -> set[str]:
    """Return what names the subject: values of the goal, and what rows with such a one name.

    What is personal in such a row may be somebody else, whose own rows stay hidden.
    """
    own = {cell for cell in members["header"]["goal"][1] if isinstance(cell, str)}
    found = set(own)
    kinds = {one["name"]: [kind for _, kind in one["columns"]] for one in members["declarations"]}
    for group in members["facts"]:
        predicate = group["predicate"]
        for row in group["rows"]:
            if not own.isdisjoint(cell for cell in row if isinstance(cell, str)):
                found |= {
                    cell
                    for place, cell in enumerate(row)
                    if isinstance(cell, str)
                    and kinds[predicate][place] == "symbol"
                    and (predicate, place) not in personal
                }
    return found


# The secret of a certificate's owner.


def read_salts(path: Path, identity: str, create: Callable[[Path, bytes], None]) -> bytes:
    """Return the secret of a certificate; a new one is made where there is no file yet."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        secret = secrets.token_bytes(_BYTES)
        said = {"format": SALTS, "identity": identity, "secret": secret.hex()}
        create(path, json.dumps(said, indent=2).encode() + b"\n")
        return secret
    except OSError:
        content = b""
    try:
        told: Mapping[str, Any] = json.loads(content)
        secret = bytes.fromhex(told["secret"])
        if (told["format"], told["identity"], len(secret)) == (SALTS, identity, _BYTES):
            return secret
    except (ValueError, KeyError, TypeError):
        pass
    diagnostic = Diagnostic(
        "C0797",
        f"`{path.name}` does not hold the salts of this certificate",
        note="its values cannot be opened with other salts",
        help="name the right file with `--salts`, or move this one away and begin anew",
    )
    raise ConstatError([diagnostic])
