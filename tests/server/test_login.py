"""Tokens of an issuer of OpenID Connect: who comes in with one, as what, and who does not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from constat import ConstatError, Session, service
from constat.project import load_project
from constat.project.settings import LoginSetting
from constat.service import Access, Caller, DeniedError, Issuer, access_of
from tests.cli.running import run
from tests.server.test_server import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2

RSA: Final = rsa.generate_private_key(65537, 2048)
OTHER: Final = rsa.generate_private_key(65537, 2048)
CURVE: Final = ec.generate_private_key(ec.SECP256R1())
EDWARDS: Final = ed25519.Ed25519PrivateKey.generate()
KINDS: Final[dict[str, tuple[Any, str]]] = {
    "r": (RSA, "RS256"),
    "e": (CURVE, "ES256"),
    "d": (EDWARDS, "EdDSA"),
}


class World:
    """An issuer on loopback: what it publishes, how long it takes, how often it was asked."""

    def __init__(self) -> None:
        self.address = ""
        self.names_itself = ""
        self.keys: list[dict[str, Any]] = [published(*KINDS[one], one) for one in KINDS]
        self.status = 200
        self.seconds = 0.0
        self.body: bytes | None = None
        self.keys_at = ""
        self.asked = 0

    def answer(self, path: str) -> bytes:
        self.asked += 1
        time.sleep(self.seconds)
        if self.body is not None:
            return self.body
        if path.endswith("/.well-known/openid-configuration"):
            keys = self.keys_at or f"{self.address}/keys"
            return json.dumps({"issuer": self.names_itself, "jwks_uri": keys}).encode()
        return json.dumps({"keys": self.keys}).encode()

    def setting(self, **other: Any) -> LoginSetting:  # noqa: ANN401  of several kinds
        given: dict[str, Any] = {
            "issuer": self.address,
            "audience": "constat",
            "roles": {"analysts": "analyst", "bosses": "approver"},
            "people": ("web",),
        }
        return LoginSetting(**(given | other))

    def token(self, key: str = "r", headers: dict[str, Any] | None = None, **claims: object) -> str:
        private, algorithm = KINDS[key]
        return jwt.encode(
            self.claims(**claims), private, algorithm, {"kid": key, **(headers or {})}
        )

    def claims(self, **other: object) -> dict[str, Any]:
        given = {
            "iss": self.address,
            "aud": "constat",
            "sub": "alice",
            "exp": time.time() + 300,
            "azp": "web",
            "roles": ["analysts"],
        }
        return {name: one for name, one in (given | other).items() if one is not None}


def published(private: Any, algorithm: str, identity: str) -> dict[str, Any]:  # noqa: ANN401  of several kinds
    told = jwt.get_algorithm_by_name(algorithm).to_jwk(private.public_key())
    found: dict[str, Any] = json.loads(told) if isinstance(told, str) else told
    return {**found, "kid": identity, "use": "sig", "alg": algorithm}


@contextmanager
def issuing() -> Iterator[World]:
    world = World()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = world.answer(self.path)
            # Who has waited long enough is gone.
            with suppress(ConnectionError):
                self.send_response(world.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    world.address = world.names_itself = f"http://127.0.0.1:{server.server_port}/realm"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield world
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def world() -> Iterator[World]:
    with issuing() as found:
        yield found


@pytest.mark.parametrize("key", KINDS)
def test_who_has_a_token_comes_in_with_the_highest_of_their_roles(world: World, key: str) -> None:
    issuer = Issuer(world.setting())
    assert issuer.caller(world.token(key)) == Caller("alice", "analyst")
    both = world.token(key, roles=["nobody", "bosses", "analysts"])
    assert issuer.caller(both) == Caller("alice", "approver")
    assert issuer.caller(world.token(key, roles="analysts other")) == Caller("alice", "analyst")
    assert world.asked == 2


def test_a_token_of_no_client_of_people_is_that_of_a_program(world: World) -> None:
    issuer = Issuer(world.setting())
    clients: tuple[dict[str, Any], ...] = (
        {"azp": "robot"},
        {"azp": None},
        {"azp": None, "client_id": "r"},
        {"azp": []},
    )
    for claims in clients:
        found = issuer.caller(world.token(roles=["bosses"], **claims))
        assert found == Caller("alice", "analyst", model=True)
        assert not found.person
    assert issuer.caller(world.token(azp=None, client_id="web")).person


def test_names_and_groups_stand_in_the_claims_that_the_project_names(world: World) -> None:
    issuer = Issuer(world.setting(name="preferred_username", claim="realm_access.roles"))
    told: dict[str, Any] = {
        "preferred_username": "al",
        "roles": ["bosses"],
        "realm_access": {"roles": ["analysts"]},
    }
    assert issuer.caller(world.token(**told)) == Caller("al", "analyst")
    with pytest.raises(DeniedError, match="none of its groups has a role here") as denied:
        issuer.caller(world.token(preferred_username="al"))
    assert denied.value.status == 403


def tampered(token: str) -> str:
    """Make an approver of an analyst, and keep the signature."""
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["roles"] = ["bosses"]
    return f"{head}.{written(claims)}.{signature}"


def written(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def attacks(world: World) -> Iterator[tuple[str, str]]:
    """Give tokens that let nobody in."""
    now = time.time()
    pem = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    wrong: dict[str, dict[str, Any]] = {
        "another audience": {"aud": "other"},
        "no audience": {"aud": None},
        "another issuer": {"iss": "https://evil.example"},
        "an issuer with more behind it": {"iss": f"{world.address}/"},
        "no issuer": {"iss": None},
        "ended": {"exp": now - 120},
        "without an end": {"exp": None},
        "not yet": {"nbf": now + 120},
        "without a subject": {"sub": None},
        "a subject that is no text": {"sub": ["alice"]},
        "an empty name": {"sub": ""},
        "a name with a line break": {"sub": "al\nice"},
        "a name with a blank": {"sub": "al ice"},
        "a long name": {"sub": "a" * 101},
        "no roles": {"roles": None},
        "roles that are an object": {"roles": {"analysts": True}},
        "roles of another kind": {"roles": [["analysts"], 1, None]},
        "an end that is no number": {"exp": "never"},
    }
    for name, claims in wrong.items():
        yield name, world.token(**claims)
    yield "unsigned", f"{written({'alg': 'none', 'kid': 'r'})}.{written(world.claims())}."
    yield "signed by the public key", hmac_token(world, pem)
    yield "of another key", jwt.encode(world.claims(), OTHER, "RS256", {"kid": "r"})
    yield "of the key of another way", jwt.encode(world.claims(), RSA, "PS256", {"kid": "r"})
    yield "of a key that is not there", world.token(headers={"kid": "x"})
    yield "of a key that is no text", f"{written({'alg': 'RS256', 'kid': [1]})}.{written({})}.AA"
    yield "without a key", jwt.encode(world.claims(), RSA, "RS256")
    own = {"kid": "mine", "jwk": published(OTHER, "RS256", "mine")}
    yield "with its own key", jwt.encode(world.claims(), OTHER, "RS256", own)
    elsewhere = {"kid": "mine", "jku": "http://127.0.0.1:9/keys", "x5u": "http://127.0.0.1:9/x"}
    yield "with keys elsewhere", jwt.encode(world.claims(), OTHER, "RS256", elsewhere)
    yield "with a path for a key", world.token(headers={"kid": "../../etc/passwd"})
    yield "tampered with", tampered(world.token())
    yield "without a signature", world.token().rpartition(".")[0] + "."
    yield "of four parts", world.token() + ".x"
    yield "no token", "nonsense"
    yield "empty", ""
    yield "too long", world.token() + "A" * 20_000
    yield "deep", f"{written({'alg': 'RS256', 'kid': 'r'})}.{'W1' * 4_000}.AA"
    crit = {"crit": ["exp"], "exp": 1}
    yield "that asks for an extension", world.token(headers=crit)


def hmac_token(world: World, secret: bytes) -> str:
    """Sign with the issuer's public key as if it were a secret."""
    signed = f"{written({'alg': 'HS256', 'kid': 'r'})}.{written(world.claims())}"
    mark = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"


def test_no_forged_token_lets_anybody_in(world: World) -> None:
    issuer = Issuer(world.setting())
    assert issuer.caller(world.token()).name == "alice"
    told = {name: refused(issuer, token) for name, token in attacks(world)}
    assert [name for name, message in told.items() if message is None] == []
    assert not [one for one in told.values() if "alice" in str(one) or "evil" in str(one)]


def refused(issuer: Issuer, token: str) -> str | None:
    """Say why a token lets nobody in; nothing where it does."""
    try:
        issuer.caller(token)
    except DeniedError as problem:
        return str(problem)
    return None


def test_a_key_that_is_new_is_asked_for_and_one_that_is_gone_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BETWEEN_SECONDS", 0.0)
    world.keys = [published(*KINDS["r"], "r")]
    issuer = Issuer(world.setting())
    issuer.caller(world.token("r"))
    world.keys = [published(*KINDS["e"], "e")]
    assert issuer.caller(world.token("e")).name == "alice"
    with pytest.raises(DeniedError, match="no key of the issuer"):
        issuer.caller(world.token("r"))


def test_unknown_keys_do_not_keep_the_issuer_busy(world: World) -> None:
    issuer = Issuer(world.setting())
    issuer.caller(world.token())
    for place in range(50):
        with pytest.raises(DeniedError):
            issuer.caller(world.token(headers={"kid": f"k{place}"}))
    assert world.asked <= 4


def test_known_keys_count_for_an_hour_where_the_issuer_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BETWEEN_SECONDS", 0.0)
    monkeypatch.setattr(service, "_FRESH_SECONDS", 0.0)
    issuer = Issuer(world.setting())
    issuer.caller(world.token())
    world.status = 500
    assert issuer.caller(world.token()).name == "alice"
    monkeypatch.setattr(service, "_STALE_SECONDS", 0.0)
    with pytest.raises(DeniedError, match="does not give its keys") as denied:
        issuer.caller(world.token())
    assert denied.value.status == 503


@pytest.mark.parametrize("what", ["garbage", "a list", "deep", "huge", "slow", "another", "http"])
def test_an_issuer_that_does_not_behave_lets_nobody_in_within_its_time(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(service, "_ISSUER_SECONDS", 0.5)
    bodies = {
        "garbage": b"\xff{",
        "a list": b"[]",
        "deep": b"[" * 100_000,
        "huge": b" " * (2 << 20),
    }
    world.body = bodies.get(what)
    world.seconds = 3.0 if what == "slow" else 0.0
    world.names_itself = "https://evil.example" if what == "another" else world.address
    world.keys_at = "http://192.0.2.1/keys" if what == "http" else ""
    with pytest.raises(DeniedError, match="does not give its keys"):
        Issuer(world.setting()).caller(world.token())


def test_a_name_of_the_file_of_tokens_is_nobody_elses(world: World) -> None:
    let = Access({"0" * 64: Caller("alice", "admin")}, issuer=Issuer(world.setting()))
    with pytest.raises(DeniedError, match="its name is that of somebody"):
        let.caller(f"Bearer {world.token()}")
    assert let.caller(f"Bearer {world.token(sub='bob')}") == Caller("bob", "analyst")
    assert let.caller("Basic abc") is None


def test_the_server_takes_them_and_says_why_it_does_not(still_shop: Path, world: World) -> None:
    let = access_of(None, "127.0.0.1", 1, "me", world.setting(roles={"v": "viewer"}))
    assert let.anybody is None

    async def work(client: httpx2.AsyncClient) -> None:
        async def ask(token: str, path: str = "/v1/prove", **body: object) -> httpx2.Response:
            return await client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})

        found = await ask(world.token(roles=["v"]), goal="is_vip(C001)")
        assert found.json()["verdict"] == "PROVED"
        low = await ask(world.token(roles=["v"]), "/v1/facts/add", fact="x(1)")
        assert low.status_code == 403
        late = await ask(world.token(roles=["v"], exp=time.time() - 900), goal="is_vip(C001)")
        assert late.status_code == 401
        assert "ExpiredSignature" in late.text
        assert late.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
        assert (await client.post("/v1/prove", json={"goal": "is_vip(C001)"})).status_code == 401

    lines = served(still_shop, work, let=let)
    assert [one["who"] for one in lines] == ["alice", "alice", "-", "-"]


LOGIN: Final = """
login:
  issuer: https://login.example.com/realms/shop
  audience: constat
  people: constat-web
  name: preferred_username
  claim: realm_access.roles
  roles: {analysts: analyst}
"""


def test_the_project_says_whose_tokens_count(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text(LOGIN, encoding="utf-8")
    assert load_project(tmp_path).login == LoginSetting(
        "https://login.example.com/realms/shop",
        "constat",
        {"analysts": "analyst"},
        ("constat-web",),
        "preferred_username",
        "realm_access.roles",
    )
    with Session(tmp_path) as session:
        assert session.project.login is not None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("login: {issuer: 'https://a.b', audience: c}", "`login` has no `roles`"),
        ("login: {issuer: 'http://a.b', audience: c, roles: {}}", "`issuer` is no https address"),
        ("login: {issuer: 'https://a.b', audience: c, roles: {x: boss}}", "no role of ours"),
        ("login: {issuer: 'https://[', audience: c, roles: {}}", "`issuer` is no https address"),
        ("login: {isuer: 'https://a.b'}", "isuer"),
    ],
)
def test_a_login_that_cannot_work_is_told(tmp_path: Path, wrong: str, message: str) -> None:
    (tmp_path / "constat.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ConstatError) as found:
        load_project(tmp_path)
    assert message in str(found.value)


def test_other_machines_come_in_only_where_somebody_says_who(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text("project: x", encoding="utf-8")
    for command in ("serve", "mcp"):
        more = ["--http"] if command == "mcp" else []
        done = run(command, *more, "--host", "0.0.0.0", "--project", str(tmp_path))  # noqa: S104  it is refused
        assert done.code == 2
        assert "or `login:` in constat.yaml" in done.err
