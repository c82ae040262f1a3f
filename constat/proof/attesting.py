"""Attestations in the notation of certificates (FORMAT.md, section 5).

In: an attestation from evidence.  Out: its JSON, or nothing.  Invariant: what a certificate may not
hold is cleaned the same way wherever the attestation is written, so its hash is always the same.

Example: a person's statement becomes an agent of kind ``person`` with a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.proof.canonical import canonical, clean, sha256

if TYPE_CHECKING:
    from constat.evaluation import Attestation
    from constat.proof.canonical import Json


def attestation_json(one: Attestation | None) -> Json:
    """Encode an attestation."""
    if one is None:
        return None
    quote, review = one.quote, one.reviewer
    return {
        "agent": {
            "kind": one.agent.kind,
            "name": clean(one.agent.name),
            "version": _clean(one.agent.version),
            "digest": one.agent.digest,
        },
        "prompt": one.prompt,
        "response": one.response,
        "quote": None
        if quote is None
        else {
            "document": clean(quote.document),
            "hash": quote.hash,
            "start": quote.start,
            "end": quote.end,
            "text": clean(quote.text),
        },
        "reviewer": None if review is None else {"name": clean(review.name), "at": review.at},
        "note": _clean(one.note),
    }


def attestation_hash(one: Attestation) -> str:
    """Return the hash by which an assumption names what was said."""
    return sha256(canonical(attestation_json(one)))


def attested_lines(one: Attestation) -> list[str]:
    """Write for people who said it, from what it was got, and who looked at it."""
    agent, quote, review = one.agent, one.quote, one.reviewer
    lines = []
    if agent.kind != "person":
        marks = ", ".join(mark for mark in (agent.version, agent.digest) if mark)
        lines.append(f"said by: {agent.kind} {agent.name}" + (f" ({marks})" if marks else ""))
    lines += [f"prompt: {one.prompt}"] if one.prompt else []
    lines += [f"response: {one.response}"] if one.response else []
    if quote is not None:
        lines.append(f"quoting {quote.document}, bytes {quote.start} to {quote.end}: {quote.text}")
    if review is not None:
        lines.append(f"reviewed by: {review.name} at {review.at}")
    return [*lines, *([f"remark: {one.note}"] if one.note else [])]


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)
