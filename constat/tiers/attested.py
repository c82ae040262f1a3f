"""Attestations in the file of kept answers, and what makes one of a project's tier unfit.

In: an attestation, or what a file or a foreign tier gives for one. Out: a list of texts and back.
Invariant: what is read fits its evidence as certificates ask for it, or `ValueError` is raised;
so a kept word is the word that was said, or none. Example: a person's note survives the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import Agent, Attestation, Origin, Quote, Review, misfit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Evidence

_AGENT = 4
_QUOTE = 5
_REVIEW = 2


def attestation_text(one: Attestation | None) -> list[object] | None:
    """Write an attestation as JSON values."""
    if one is None:
        return None
    agent, quote, review = one.agent, one.quote, one.reviewer
    return [
        [agent.kind, agent.name, agent.version, agent.digest],
        one.prompt,
        one.response,
        None if quote is None else [quote.document, quote.text, quote.start, quote.end, quote.hash],
        None if review is None else [review.name, review.at],
        one.note,
    ]


def read_attestation(written: object, origin: Origin, author: str | None) -> Attestation | None:
    """Read an attestation; raises `ValueError` where it does not fit the evidence."""
    if written is None:
        return None
    agent, prompt, response, quote, review, note = _listed(written, 6)
    kind, name, version, digest = _listed(agent, _AGENT)
    found = Attestation(
        Agent(_text(kind), _text(name), _maybe(version), _maybe(digest)),
        _maybe(prompt),
        _maybe(response),
        None if quote is None else _quote(quote),
        None if review is None else Review(*map(_text, _listed(review, _REVIEW))),
        _maybe(note),
    )
    problem = unfit(found, origin, author)
    if problem:
        raise ValueError(f"holds an attestation that does not fit: {problem}")
    return found


def unfit(attestation: Attestation | None, origin: Origin, author: str | None) -> str:
    """Tell why evidence of this origin may not have the attestation; empty where it may."""
    if attestation is None:
        return ""
    if not origin.assumed or origin is Origin.UNRESOLVED:
        return f"rows of origin {origin.value} are not attested"
    return misfit(attestation, origin.agent, author)


def unfit_evidence(evidence: Evidence) -> str:
    """Tell why a project's own tier may not give this evidence; empty where it may."""
    if evidence.origin in {Origin.DERIVED, Origin.UNRESOLVED} or evidence.proved is not None:
        return f"origin {evidence.origin.value} is not a tier's to give"
    return unfit(evidence.attestation, evidence.origin, evidence.author)


def _quote(written: object) -> Quote:
    document, text, start, end, found = _listed(written, _QUOTE)
    if type(start) is not int or type(end) is not int:
        raise ValueError("holds a quote without a place")
    return Quote(_text(document), _text(text), start, end, _maybe(found))


def _listed(value: object, length: int) -> Sequence[object]:
    if not isinstance(value, list) or len(value) != length:
        raise ValueError("holds an attestation of another form")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("holds something else where a text belongs")  # noqa: TRY004  callers catch one type
    return value


def _maybe(value: object) -> str | None:
    return None if value is None else _text(value)
