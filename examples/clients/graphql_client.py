"""Ask a server of Constat over GraphQL; believe no verdict that the checker has not confirmed.

    python graphql_client.py http://127.0.0.1:8378 "free(R1)" ...

In: the address, goals, and a token in the environment (`TOKEN`).  Out: for each goal what the
server told while it worked, and the verdict that the independent checker gives the certificate.
Of Constat the client needs the folder `constat/check` alone.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

import httpx2

from constat.check import check_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

PROVING: Final = """subscription($goal: String!) {
  proving(goal: $goal) { message result { goal verdict missing certificate } }
}"""
WHY_NOT: Final = "query($goal: String!) { whyNot(goal: $goal) { why { text } } }"


def ask(server: httpx2.Client, document: str, **variables: str) -> dict[str, Any]:
    """Ask, and give what stands under `data`."""
    answer = server.post("/graphql", json={"query": document, "variables": variables})
    return data_of(answer.text)


def subscribe(server: httpx2.Client, document: str, **variables: str) -> Iterator[dict[str, Any]]:
    """Ask, and give what each event holds as it comes."""
    body = {"query": document, "variables": variables}
    headers = {"Accept": "text/event-stream"}
    with server.stream("POST", "/graphql", json=body, headers=headers) as answer:
        if not answer.is_success:
            raise SystemExit(answer.read().decode())
        for line in answer.iter_lines():
            # The last event, `complete`, has no data.
            if text := line.removeprefix("data:").strip() if line.startswith("data:") else "":
                yield data_of(text)


def data_of(text: str) -> dict[str, Any]:
    """Give what an answer holds; a mistake ends the program with the server's words."""
    answer = json.loads(text)
    if "data" not in answer or answer.get("errors"):
        raise SystemExit(text)
    found: dict[str, Any] = answer["data"]
    return found


def confirmed(certificate: bytes, goal: str, claimed: str) -> str:
    """Give the checker's verdict, or say why the server's word is not to be believed."""
    report = check_certificate(certificate)
    if not report.accepted:
        return f"REJECTED: {report.reason}"
    if report.verdict != claimed:
        return f"REJECTED: the server says {claimed}, the certificate {report.verdict}"
    # A certificate may be right and speak of something else.
    if (shown := (report.goal or "").replace('"', "")) != goal:
        return f"REJECTED: it is about {shown}"
    return f"{report.verdict}: {goal}"


def main(address: str, *goals: str) -> None:
    """Ask about each goal."""
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    with httpx2.Client(base_url=address, headers=headers, timeout=120) as server:
        for goal in goals:
            for event in subscribe(server, PROVING, goal=goal):
                told = event["proving"]
                if told["result"] is None:
                    print(f"  {told['message']}")
                    continue
                result = told["result"]
                path = result["certificate"].replace("certificate/", "/v1/certificates/")
                print(confirmed(server.get(path).content, goal, result["verdict"]))
                for missing in result["missing"]:
                    print(f"  not known: {missing}")
                if result["verdict"] == "DISPROVED":
                    print(ask(server, WHY_NOT, goal=goal)["whyNot"]["why"]["text"].rstrip())


if __name__ == "__main__":
    main(*sys.argv[1:])
