"""A small project with approved rules, a rule that a model wrote, and drafts for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constat import Session
from constat.proof.signing import write_public_key
from constat.store.drafts import NewDraft
from tests.signing.keys import key

if TYPE_CHECKING:
    from pathlib import Path

    from constat.store.drafts import Draft

PEOPLE = """\
.pragma "constat" "0.1"

/// Who scored how much.
@[says = "{who} scored {points}"]
.decl score(who: symbol, points: number)
score("ann", 12). score("bob", 10). score("cyd", 3).

/// What somebody tells.
.decl crowd(place: symbol, people: number)

@[says = "{who} is good"]
.decl good(who: symbol)

// Above ten is good.
@[id = GOOD1] @[says = "{p} scored {n}, more than 10"]
good(?p) :- score(?p, ?n), ?n > 10.

/// And whoever is called dan.
@[id = GOOD2]
@[says = "{p} is dan"]
good(?p) :- score(?p, _), ?p = "dan".

@[says = "{who} is fine"]
.decl fine(who: symbol)
@[id = FINE1] fine(?p) :- good(?p).
"""
MODELLED = """\
.pragma "constat" "0.1"

@[says = "{who} is poor"]
.decl poor(who: symbol)
@[id = POOR1] @[author = "llm:m-1"] @[says = "{p} scored {n}, less than 5"]
poor(?p) :- score(?p, ?n), ?n < 5.
"""
CASE = """\
score("eve", 11).
@[expect(proved = "good(eve)", by = "GOOD1")] .output good
"""
TOP = """\
@[says = "{who} is top"]
.decl top(who: symbol)
@[id = MINE] @[approved] @[confidence = 0.5] @[says = "{p} scored {n}, above 11"]
top(?p) :- score(?p, ?n), ?n > 11.
"""
TEN_IS_GOOD = '@[says = "{p} scored {n}, at least 10"] good(?p) :- score(?p, ?n), ?n >= 10.'


def make_project(folder: Path, **configuration: object) -> Path:
    library = folder / "people"
    (library / "cases").mkdir(parents=True)
    (library / "people.dl").write_text(PEOPLE, encoding="utf-8")
    (library / "cases" / "first.dl").write_text(CASE, encoding="utf-8")
    (folder / "modelled.dl").write_text(MODELLED, encoding="utf-8")
    told = {"project": "small", "rules": ["people", "modelled.dl"], **configuration}
    (folder / "constat.yaml").write_text(json.dumps(told), encoding="utf-8")
    return folder


def with_ada(folder: Path, **configuration: object) -> Path:
    """Make a project that trusts the key of Ada as approver."""
    made = make_project(
        folder, keys={"ada": {"file": "ada.pem", "roles": ["approver"]}}, **configuration
    )
    (made / "ada.pem").write_bytes(write_public_key(key()))
    return made


def draft(folder: Path, text: str = TOP, purpose: str = "Who is it?", **told: Any) -> Draft:  # noqa: ANN401  whatever a draft takes
    with Session(folder) as session:
        return session.drafts.add(NewDraft(text, purpose, **told))
