"""Who said what came from outside, and how it was got.

In: the member ``attestation`` of a source.  Out: an ``Attestation``, or ``Rejected``.  Invariant:
the form fits the origin, so a model's word names the model, what it was asked and what it said,
and a person's word that person.  Whether the hashes are those of real texts, nobody can see here.
FORMAT.md, section 5.

Example: an attestation of origin LLM_KNOWLEDGE without the hash of its prompt is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from . import shapes
from .canonical import Json, canonical, sha256
from .rejection import Rejected, inside

MODEL: Final = "model"
PERSON: Final = "person"
SERVICE: Final = "service"
_AGENTS: Final = (MODEL, PERSON, SERVICE)
_AGENT_OF: Final = (
    ("LLM_KNOWLEDGE", MODEL),
    ("LLM_HEURISTIC", MODEL),
    ("USER_PROVIDED", PERSON),
    ("API", SERVICE),
)
_SUB_PLAN: Final = "SUB_PLAN"
_ANYBODY: Final = frozenset({_SUB_PLAN, "DOCUMENT"})


@dataclass(frozen=True, slots=True)
class Agent:
    """A model, a person or a service; ``mark`` is its version or digest, if it has one."""

    kind: str
    name: str
    mark: str | None


@dataclass(frozen=True, slots=True)
class Attestation:
    """``hash`` is that of the whole; ``quoted`` and ``reviewer`` name a document and a person."""

    agent: Agent
    quoted: str | None
    reviewer: str | None
    hash: str


def read_attestation(
    value: Json, origin: str, author: str | None, answered_rows: str
) -> Attestation | None:
    """Read the attestation of a source of this origin, author and hash of rows."""
    if value is None:
        return None
    agent, prompt, response, quote, reviewer, note = shapes.members(
        value, ("agent", "prompt", "response", "quote", "reviewer", "note")
    )
    shapes.text_or_null(note)
    asked, answered = shapes.sha_or_null(prompt), shapes.sha_or_null(response)
    who = inside("agent", agent, _read_agent)
    quoted = None if quote is None else inside("quote", quote, _read_quote)
    reviewed = None if reviewer is None else inside("reviewer", reviewer, _read_reviewer)
    _check_agent(who, origin, author)
    if who.kind == MODEL and (who.mark is None or asked is None or answered is None):
        raise Rejected("attestation", "a model has a version or digest, a prompt and a response")
    if who.kind == SERVICE and answered is None:
        raise Rejected("attestation", "a service has a response")
    if who.kind == SERVICE and origin == _SUB_PLAN and answered != answered_rows:
        raise Rejected("attestation", "the response is not the hash of the rows")
    if reviewed == who.name:
        raise Rejected("attestation", "nobody reviews what they said themselves", "reviewer")
    return Attestation(who, quoted, reviewed, sha256(canonical(value)))


def _read_agent(value: Json) -> Agent:
    kind, name, version, digest = shapes.members(value, ("kind", "name", "version", "digest"))
    found, mark = shapes.sha_or_null(digest), shapes.text_or_null(version)
    return Agent(shapes.one_of(kind, _AGENTS), _named(name), found or mark)


def _read_quote(value: Json) -> str:
    document, found, start, end, text = shapes.members(
        value, ("document", "hash", "start", "end", "text")
    )
    shapes.sha_or_null(found)
    if shapes.index(start) + len(_named(text).encode()) != shapes.index(end):
        raise Rejected("attestation", "the text is not as long as its place")
    return _named(document)


def check_quote(value: Json) -> None:
    """Check the place of a row in a document, which is written as a quotation is."""
    _read_quote(value)


def _read_reviewer(value: Json) -> str:
    name, at = shapes.members(value, ("name", "at"))
    shapes.moment(at)
    return _named(name)


def _named(value: Json) -> str:
    found = shapes.text(value)
    if not found:
        raise Rejected("attestation", "a name or a quoted text is empty")
    return found


def _check_agent(agent: Agent, origin: str, author: str | None) -> None:
    wanted = dict(_AGENT_OF).get(origin)
    if wanted is None and origin not in _ANYBODY:
        raise Rejected("attestation", f"rows of origin {origin} are not attested")
    if wanted not in {None, agent.kind}:
        raise Rejected("attestation", f"the word of a {wanted} is expected", "agent.kind")
    if agent.kind == PERSON and agent.name != author:
        raise Rejected("attestation", "the person is not the author of the source", "agent.name")
