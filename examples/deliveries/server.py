"""A carrier of made-up data: `python server.py` serves it on this machine, at port 8642."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PAGE = 2
PARCELS = {
    "C001": [
        ("P1", "2026-11-02", "Bern", [("lamp", 1, 80.5), ("bulb", 4, 3.25)]),
        ("P2", "2026-11-05", "Bern", [("chair", 2, 149.9)]),
        ("P3", "2026-11-20", "Basel", [("desk", 1, 420.0)]),
    ],
    "C002": [("P4", "2026-11-11", "Chur", [("lamp", 2, 80.5)])],
}
EVENTS = {
    "P1": [("sent", "2026-11-02T08:00:00Z"), ("delivered", "2026-11-04T09:30:00Z")],
    "P2": [("sent", "2026-11-05T08:00:00Z"), ("delivered", "2026-11-06T10:00:00Z")],
    "P3": [("sent", "2026-11-20T08:00:00Z"), ("sorted", "2026-11-20T22:10:00Z")],
    "P4": [("sent", "2026-11-11T08:00:00Z"), ("returned", "2026-11-14T12:00:00Z")],
}


def parcels(customer: str, start: int) -> dict[str, object]:
    """Give a page of the parcels of a customer."""
    known = PARCELS.get(customer, [])
    end = start + PAGE
    shown = [
        {
            "number": number,
            "sent": sent,
            "to": {"city": city, "country": "CH"},
            "items": [{"sku": s, "amount": n, "price": p} for s, n, p in items],
        }
        for number, sent, city, items in known[start:end]
    ]
    return {"parcels": shown, "next": str(end) if end < len(known) else None}


class Carrier(BaseHTTPRequestHandler):
    """Answers two operations; everything else is not there."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer a request."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        names = parts.path.strip("/").split("/")
        found: object = None
        if names == ["parcels"]:
            found = parcels(query.get("customer", ""), int(query.get("cursor", "0")))
        elif len(names) == len(["parcels", "P1", "events"]) and names[1] in EVENTS:
            found = [{"kind": kind, "at": at} for kind, at in EVENTS[names[1]]]
        body = json.dumps({"error": "not found"} if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8642
    server = ThreadingHTTPServer(("127.0.0.1", port), Carrier)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
