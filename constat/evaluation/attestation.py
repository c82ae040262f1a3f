"""Who said a fact, and how it was got: what a tier hands over with the word of somebody.

In: nothing. Out: frozen values that evidence carries through the cache into certificates, and why
one does not fit its evidence. Invariant: the rules here are those by which a certificate is
checked (`constat/check/FORMAT.md`, section 5), written apart from the checker. Example: a model's
word without the hash of its prompt does not fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MODEL: Final = "model"
PERSON: Final = "person"
SERVICE: Final = "service"
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")


@dataclass(frozen=True, slots=True)
class Agent:
    """Whose word it is: a `model`, a `person` or a `service`, with its version or digest."""

    kind: str
    name: str
    version: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a document that say it: bytes `start` to `end` of its UTF-8 form."""

    document: str
    text: str
    start: int
    end: int
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """Who looked at it and agreed, and when (UTC, `Timestamp` spelling)."""

    name: str
    at: str


@dataclass(frozen=True, slots=True)
class Attestation:
    """Hashes are `sha256:<hex>` of the exact texts that went to the agent and came back."""

    agent: Agent
    prompt: str | None = None
    response: str | None = None
    quote: Quote | None = None
    reviewer: Review | None = None
    note: str | None = None


def misfit(attestation: Attestation, kind: str | None, author: str | None) -> str:
    """Tell why an attestation does not fit evidence of an author; empty where it does.

    `kind` is the kind of agent whose word the origin is, `None` where any will do.
    """
    agent = attestation.agent
    if agent.kind not in {MODEL, PERSON, SERVICE} or kind not in {None, agent.kind}:
        return f"the agent is no {kind or 'model, person or service'}"
    if not agent.name or (agent.kind == PERSON and agent.name != author):
        return "the agent is not whose word the evidence is"
    said, marked = attestation.response is not None, agent.version or agent.digest
    if agent.kind == MODEL and not (said and attestation.prompt and marked):
        return "a model needs a version or digest, and the hashes of prompt and response"
    if agent.kind == SERVICE and not said:
        return "a service needs the hash of its response"
    return _form(attestation) or _quoted(attestation.quote) or _reviewed(attestation)


def _form(attestation: Attestation) -> str:
    hashes = [attestation.prompt, attestation.response, attestation.agent.digest]
    hashes.append(attestation.quote.hash if attestation.quote else None)
    if all(one is None or _SHA256.match(one) for one in hashes):
        return ""
    return "a hash is not sha256: and 64 digits"


def _quoted(quote: Quote | None) -> str:
    if quote is None:
        return ""
    size = len(quote.text.encode(errors="replace"))
    placed = quote.start >= 0 and quote.end < 1 << 31 and quote.end - quote.start == size
    if placed and quote.document and quote.text:
        return ""
    return "the quote has not the length it says"


def _reviewed(attestation: Attestation) -> str:
    review = attestation.reviewer
    if review is None:
        return ""
    if not review.name or review.name == attestation.agent.name:
        return "nobody reviews what they said themselves"
    return "" if _TIME.match(review.at) else "the time of the review is not spelled as a Timestamp"
