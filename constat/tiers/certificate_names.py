"""How an `.input` names certificates as its source, and what is wrong with such a one.

In: a predicate. Out: its parameters, or diagnostics. Invariant: nothing is opened here. Example:
`.input is_vip(source = "certificates", folder = "proofs", rules = "sha256:...")`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic
from constat.project import inside, suggestion

if TYPE_CHECKING:
    from constat.logic import Predicate
    from constat.project import Project

CERTIFICATES: Final = "certificates"
"""The source of an `.input`, and the name of its tier."""

_PARAMETERS: Final = ("source", "folder", "rules")
_PIN: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


def uses_certificates(predicate: Predicate) -> bool:
    """Tell whether a predicate's `.input` names certificates."""
    return predicate.source is not None and predicate.source.name == CERTIFICATES


def parameter(predicate: Predicate, name: str) -> str:
    """Give a parameter of the `.input`, empty where it has none of that name."""
    return predicate.source.parameters.get(name, "") if predicate.source else ""


def check_certificates(
    predicate: Predicate, project: Project, diagnostics: list[Diagnostic]
) -> None:
    """Report what is wrong with an `.input` that names certificates."""
    if not uses_certificates(predicate) or predicate.source is None:
        return
    name, span = predicate.name, predicate.source.span
    if CERTIFICATES in {*project.databases, *project.tiers}:
        message = f"`{CERTIFICATES}` is the source of proved facts, and no name for another"
        hint = "give the database or tier another name"
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    for written in predicate.source.parameters:
        if written not in _PARAMETERS:
            message = f"`.input {name}` takes certificates, which have no parameter `{written}`"
            hint = suggestion(written, _PARAMETERS)
            diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    folder = parameter(predicate, "folder")
    if folder and inside(folder, project.folder) is None:
        message = f"the folder of the certificates of `{name}` is not inside the project"
        hint = 'write `folder = "proofs"`, or leave it out for the certificates kept here'
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))
    if not all(map(_PIN.match, parameter(predicate, "rules").split())):
        message = f"the `rules` of `{name}` are not hashes of rules"
        hint = "write `sha256:` and the 64 digits that `constat verify` shows as `rules`"
        diagnostics.append(Diagnostic("C0690", message, span, help=hint))
