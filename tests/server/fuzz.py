"""Fuzz a server against its own OpenAPI document: `python -m tests.server.fuzz [--seconds 120]`.

Schemathesis makes requests that fit the document and requests that do not, and looks at statuses,
forms of answers and errors of the server. It comes with the extra `fuzz`, best in an environment of
its own, whose `schemathesis` has to be on the path. The project is the one of the attacks.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from constat.service import new_token
from tests.server.test_attacks import guarded
from tests.servers.keeper import free_port

CHECKS = (
    *("not_a_server_error", "response_schema_conformance", "content_type_conformance"),
    *("status_code_conformance", "negative_data_rejection", "ignored_auth"),
)


def main() -> int:
    """Fuzz for so many seconds; 0 where nothing was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--examples", type=int, default=15)
    wish = parser.parse_args()
    program = shutil.which("schemathesis")
    if program is None:
        raise SystemExit("schemathesis is not on the path: pip install 'schemathesis>=4.32'")
    with tempfile.TemporaryDirectory() as folder:
        tokens, port = Path(folder) / "tokens.txt", free_port()
        token = new_token(tokens, "fuzz", "admin")
        project = guarded(Path(folder) / "project", 0)
        command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
        command += ["--tokens", str(tokens), "--project", str(project)]
        served = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url)
            fuzzed = subprocess.run(
                [
                    *(
                        program,
                        "run",
                        f"{url}/openapi.json",
                        "-H",
                        f"Authorization: Bearer {token}",
                    ),
                    *("--max-examples", str(wish.examples), "--max-time", str(wish.seconds)),
                    *("--phases", "examples,coverage,fuzzing", "-c", ",".join(CHECKS)),
                    *("--rate-limit", "40/s"),
                ],
                check=False,
                # What it keeps of a run goes with it.
                cwd=folder,
            )
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait()
    return fuzzed.returncode


def _wait(url: str) -> None:
    for _ in range(600):
        try:
            httpx2.get(f"{url}/healthz")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("nobody answers")


if __name__ == "__main__":
    sys.exit(main())
