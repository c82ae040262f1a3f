"""The model boundary: which leaves are somebody's word, and which part is deterministic.

In: an ``Account``.  Out: HTML.  Invariant: every source that is no configuration and no database,
every rule that nobody approved or that is less than certain, and every declared completeness is
listed, with who said it and which steps rest on it.

Example: a fact that a model answered is listed with the model, its confidence and the steps.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import CONFLICT
from constat.proof.export.wording import counted
from constat.proof.report.markup import listed, moment, source_kind, step_link, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.proof.export.account import Account
    from constat.proof.export.document import Members

# Rows of these are read and taken by nobody's word.
_READ: Final = frozenset({"CONFIG", "DATABASE"})
_KINDS: Final = MappingProxyType(
    {
        "fact": "a fact somebody stated",
        "rule": "a rule nobody has approved, or that is less than certain",
        "closure": "a list declared to be complete",
        "fall-through": "a source that did not answer",
    }
)
_MOST_STEPS: Final = 12


def boundary(account: Account) -> str:
    """Return which steps rest on somebody's word, and how many do not."""
    if not account.steps:
        return f"<p>Nothing is concluded, so nothing rests on a word.</p>{_assumptions(account)}"
    resting = _resting(account)
    rest = len(account.steps) - len(resting)
    from_where = "by rules from rows of databases and configuration"
    head = f"<p>No step rests on anybody's word: everything follows {from_where}.</p>"
    if resting:
        head = (
            f"<p>Of {counted(len(account.steps), 'step')} {rest:,} follow {from_where}. The others "
            f"({len(resting):,}) rest, directly or through others, on a word that was taken.</p>"
        )
    return head + _sources(account) + _assumptions(account)


def _resting(account: Account) -> set[int]:
    """Return the steps that rest on an assumption; premises stand before what rests on them."""
    found: set[int] = set()
    for place, step in enumerate(account.steps):
        if account.taken[place] or any(one.step in found for one in step.premises):
            found.add(place)
    return found


def _sources(account: Account) -> str:
    document = account.document
    told = _by_number(step.sources for step in account.steps)
    rows = []
    for place, source in enumerate(document.sources):
        if source["origin"] in _READ:
            continue
        steps = told.get(place, [])
        who = text(source["author"] or source["name"] or source["tier"])
        said = _attested(source.get("attestation"))
        rows.append(
            f"<tr><td><a href=#q{place}>{source_kind(source)}</a><td>{who}{said}"
            f"<td>{text(source['confidence'])}<td>{moment(document.record['executed'][place])}"
            f"<td>{_links(account, steps)}"
        )
    if not rows:
        return ""
    names = ("Whose word", "Who", "Confidence", "When", "Steps")
    head = "".join(f'<th scope="col">{name}' for name in names)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Words taken">'
        f"<table><thead><tr>{head}<tbody>{''.join(rows)}</table></div>"
    )


def _attested(attestation: Members | None) -> str:
    """Say how a word was got: the agent's version, the hashes of prompt and response, the quote."""
    if not attestation:
        return ""
    agent, quote, reviewer = (attestation[name] for name in ("agent", "quote", "reviewer"))
    parts = [
        ("version", agent["version"]),
        ("digest", agent["digest"]),
        ("prompt", attestation["prompt"]),
        ("response", attestation["response"]),
        ("quoted from", quote and f"{quote['document']}: “{quote['text']}”"),
        ("reviewed by", reviewer and f"{reviewer['name']}, {reviewer['at']}"),
        ("note", attestation["note"]),
    ]
    shown = (f"{name}: {text(said)}" for name, said in parts if said)
    return "".join(f'<br><span class="quiet">{one}</span>' for one in shown)


def _assumptions(account: Account) -> str:
    document = account.document
    if not document.assumptions:
        return ""
    resting = _by_number(account.taken)
    items = []
    for place, assumption in enumerate(document.assumptions):
        steps = resting.get(place, [])
        if assumption["text"].startswith(CONFLICT):
            # It is no word that anything rests on: two tiers say different values.
            items.append(f'<li id="as{place}"><strong>{text(assumption["text"])}</strong>')
            continue
        accepted = "accepted" if place in document.header["under"] else "not accepted"
        kind = _KINDS.get(assumption["kind"], "an assumption")
        links = f" Steps: {_links(account, steps)}." if steps else ""
        said = f"{kind}; {accepted}; confidence {text(assumption['confidence'])}."
        items.append(
            f'<li id="as{place}"><strong>{text(assumption["text"])}</strong><br>'
            f'<span class="quiet">{said}</span>{links}'
        )
    return f"<h3>Assumptions</h3><ol>{''.join(items)}</ol>"


def _by_number(numbers: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """Return for each number the places at which it stands."""
    found: dict[int, list[int]] = {}
    for place, several in enumerate(numbers):
        for one in several:
            found.setdefault(one, []).append(place)
    return found


def _links(account: Account, steps: list[int]) -> str:
    return listed([step_link(account, place) for place in steps], _MOST_STEPS)
