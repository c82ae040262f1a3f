# ruff: noqa: INP001  no package: the browser runs it as a text
"""What the playground asks of Constat: texts in, one JSON object out. Runs in the browser."""

import json

from constat import ConstatError, Session
from constat.diagnostics import render


def answer(kind: str, rules: str, goal: str) -> str:
    """Prove a goal, list its answers, or make the page of a certificate; a mistake is an answer."""
    try:
        if kind == "page":
            return json.dumps(page(goal))
        with Session(rules=rules) as session:
            found = proved(session, goal) if kind == "prove" else listed(session, goal)
    except ConstatError as problem:
        texts = {"rules.dl": rules, "<goal>": goal}
        text = render(problem.diagnostics, texts, colour=False)
        found = {"title": "There is a mistake", "text": text}
    return json.dumps(found)


def proved(session: Session, goal: str) -> dict[str, str]:
    """Give the verdict with its proof, and the certificate, which the checker has read."""
    result = session.prove(goal)
    report = session.verify(result.certificate)
    checked = "checked" if report.accepted else f"REJECTED by the checker: {report.reason}"
    return {
        "title": f"{result.verdict.value}; the certificate is {checked}",
        "text": result.explain(),
        "certificate": result.certificate.decode(),
    }


def listed(session: Session, goal: str) -> dict[str, str]:
    """Give all answers as a table."""
    return {"title": "All answers", "text": str(session.query(goal))}


def page(certificate: str) -> dict[str, str]:
    """Give the page for a reviewer, which checks its certificate itself."""
    from constat.proof.report.page import to_html  # noqa: PLC0415  loads what draws

    return {"title": "The page is made", "page": to_html(certificate.encode())}
