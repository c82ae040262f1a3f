"""An index of wheels on this machine: the newest that is wanted, and nothing that is hostile."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.library import packages
from constat.library.packages import build_wheel, fetch
from tests.library.test_packages import MANIFEST, library, message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = "/simple/constat-rules-parking/"


class Index:
    """A server whose answers a test gives by path: type, content, status, where to go."""

    def __init__(self) -> None:
        answers: dict[str, tuple[str, bytes, int, str]] = {}
        self.answers = answers
        asked: list[tuple[str, str]] = []
        self.asked = asked
        """Each path that was asked for, with the words behind `Authorization`."""

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Authorization", "")))
                kind, content, status, place = answers.get(self.path, ("text/plain", b"", 404, ""))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if place:
                    self.send_header("Location", place)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Answering)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.source = f"index+{self.address}/simple#parking"

    def html(self, *links: str) -> None:
        page = "".join(links)
        self.answers[PAGE] = ("text/html", f"<!doctype html>{page}".encode(), 200, "")

    def json(self, *files: dict[str, object]) -> None:
        kind = "application/vnd.pypi.simple.v1+json"
        self.answers[PAGE] = (kind, json.dumps({"files": files}).encode(), 200, "")

    def wheel(self, folder: Path, version: str) -> tuple[str, str]:
        manifest = MANIFEST.replace("1.0.0", version)
        found = fetch(str(library(folder, **{"library.yaml": manifest})), folder)
        name, content = build_wheel(found)
        self.answers[f"/files/{name}"] = ("application/zip", content, 200, "")
        return name, hashlib.sha256(content).hexdigest()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setenv("NETRC", str(tmp_path / "nowhere"))
    found = Index()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_the_newest_release_that_is_wanted_is_taken(index: Index, tmp_path: Path) -> None:
    links = []
    for version in ("1.0.0", "1.10.0", "1.9.0", "2.0.0rc1", "3.0.0"):
        name, digest = index.wheel(tmp_path / version, version)
        taken_back = ' data-yanked=""' if version == "3.0.0" else ""
        links.append(f'<a href="../../files/{name}#sha256={digest}"{taken_back}>{name}</a>')
    other = '<a href="/files/constat_rules_parking_lots-9.0.0-py3-none-any.whl">'
    index.html(*links, f"{other}constat_rules_parking_lots-9.0.0-py3-none-any.whl</a>")
    assert fetch(index.source, tmp_path).manifest.version == "1.10.0"
    assert fetch(index.source, tmp_path, version="<1.10").manifest.version == "1.9.0"
    assert fetch(index.source, tmp_path, version=">=2.0.0rc1").manifest.version == "2.0.0rc1"
    with pytest.raises(ConstatError) as problem:
        fetch(index.source, tmp_path, version=">3")
    assert message(problem).startswith("C0599 the index has 1.0.0, 1.10.0, 1.9.0, 2.0.0rc1")


def test_a_list_in_json_is_read_and_a_hash_is_held_to(index: Index, tmp_path: Path) -> None:
    name, digest = index.wheel(tmp_path / "one", "1.0.0")
    file: dict[str, object] = {
        "filename": name,
        "url": f"/files/{name}",
        "hashes": {"sha256": digest},
    }
    index.json({**file, "filename": "constat_rules_parking-2.0.0.tar.gz"}, file)
    found = fetch(index.source, tmp_path)
    assert found.digest == fetch("one", tmp_path).digest
    index.json({**file, "hashes": {"sha256": "0" * 64}})
    with pytest.raises(ConstatError) as problem:
        fetch(index.source, tmp_path)
    assert "has another hash than the index names" in message(problem)
    index.json({**file, "filename": name.replace("1.0.0", "1.5.0")})
    with pytest.raises(ConstatError) as problem:
        fetch(index.source, tmp_path)
    assert "the index lists version 1.5.0, and the manifest in it says 1.0.0" in message(problem)


def test_an_index_leads_nowhere_else_and_is_bounded(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "constat_rules_parking-1.0.0-py3-none-any.whl"
    refused = {
        "http://192.0.2.1/x.whl": "is no address over https",
        "file:///etc/passwd": "is no address over https",
        "https://a:b@example.org/x.whl": "holds a name or a password",
    }
    for address, said in refused.items():
        index.html(f'<a href="{address}">{name}</a>')
        with pytest.raises(ConstatError) as problem:
            fetch(index.source, tmp_path)
        assert said in message(problem), address
        index.answers[PAGE] = ("text/html", b"", 302, address)
        with pytest.raises(ConstatError) as problem:
            fetch(index.source, tmp_path)
        assert said in message(problem) or "answers with 302" in message(problem), address
    monkeypatch.setattr(packages, "_MOST_PAGE", 1_000)
    index.answers[PAGE] = ("text/html", b"x" * 2_000, 200, "")
    with pytest.raises(ConstatError) as problem:
        fetch(index.source, tmp_path)
    assert "larger than" in message(problem)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (("application/json", b"[1]", 200, ""), "no list of files"),
        (("application/json", b'{"files": [{"filename": 1}]}', 200, ""), "no list of files"),
        (("application/json", b"{" * 9_000, 200, ""), "no list of files"),
        (("text/html", b"<a href=", 200, ""), "lists no wheel of `parking`"),
        (("text/html", b"\xff\xfe<a>", 200, ""), "lists no wheel of `parking`"),
        (("text/html", b"", 500, ""), "answers with 500"),
        (("text/html", b"", 404, ""), "the index has no"),
    ],
)
def test_what_is_no_list_is_refused_with_an_edit(
    index: Index, tmp_path: Path, answer: tuple[str, bytes, int, str], said: str
) -> None:
    index.answers[PAGE] = answer
    with pytest.raises(ConstatError) as problem:
        fetch(index.source, tmp_path)
    assert message(problem).startswith("C0595")
    assert said in message(problem)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("index+http://127.0.0.1:9/simple", "say which library"),
        ("index+http://192.0.2.1/simple#x", "is no address over https"),
        ("index+ftp://h/simple#x", "is no address over https"),
        ("index+https://a:b@h/simple#x", "holds a name or a password"),
        ("index+https://[h/simple#x", "cannot be read"),
        ("index+http://127.0.0.1:9/simple#x", "the index cannot be asked"),
        ("https://h/x.zip", "`index+` before that of an index"),
    ],
)
def test_an_address_that_is_none_is_refused_with_an_edit(
    source: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConstatError) as problem:
        fetch(source, tmp_path)
    assert said in message(problem)
    assert problem.value.diagnostics[0].help


CREDENTIALS = "machine 127.0.0.1 login ada password s3cret\ndefault login all password everywhere\n"
ADA = "Basic YWRhOnMzY3JldA=="


def test_a_password_of_netrc_goes_to_its_host_only(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "netrc"
    place.write_text(CREDENTIALS)
    place.chmod(0o600)
    monkeypatch.setenv("NETRC", str(place))
    name, digest = index.wheel(tmp_path / "a", "1.0.0")
    elsewhere = index.address.replace("127.0.0.1", "localhost")
    index.json({"filename": name, "url": f"{elsewhere}/files/{name}", "hashes": {"sha256": digest}})
    assert fetch(index.source, tmp_path).manifest.version == "1.0.0"
    assert index.asked == [(PAGE, ADA), (f"/files/{name}", "")]
    index.asked.clear()
    there = index.answers[PAGE]
    index.answers["/moved/"] = there
    index.answers[PAGE] = ("text/plain", b"", 302, f"{elsewhere}/moved/")
    assert fetch(index.source, tmp_path).manifest.version == "1.0.0"
    assert index.asked[:2] == [(PAGE, ADA), ("/moved/", "")]


@pytest.mark.parametrize("status", [401, 403])
def test_an_index_that_wants_a_password_says_where_it_is_written(
    index: Index, tmp_path: Path, status: int
) -> None:
    index.answers[PAGE] = ("text/plain", b"", status, "")
    with pytest.raises(ConstatError) as raised:
        fetch(index.source, tmp_path)
    assert f"the index wants a name and a password ({status})" in message(raised)
    assert "machine HOST login NAME" in message(raised)


def test_a_file_of_passwords_with_a_mistake_is_not_quoted(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "netrc"
    place.write_text("machine 127.0.0.1 s3cret")
    monkeypatch.setenv("NETRC", str(place))
    index.html()
    with pytest.raises(ConstatError) as raised:
        fetch(index.source, tmp_path)
    told = " ".join(f"{one.message} {one.help} {one.note}" for one in raised.value.diagnostics)
    assert "cannot be read" in told
    assert "s3cret" not in told
    assert index.asked == []
