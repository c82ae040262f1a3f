"""Objects of S3 and GCS on servers that nobody here wrote: versions, patterns, keys, evidence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, cast
from urllib.request import Request, urlopen

import pytest

from constat import Session, Verdict
from tests.cli.running import run
from tests.servers import keeper, stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RULES = """
.decl placed(id: symbol, n: number)
.input placed(source = "shop", query = "SELECT id, n FROM orders")
.decl large(id: symbol)
large(?i) :- placed(?i, ?n), ?n > 100.
"""
CSV = b"id,n\nA,50\nB,150\n"
KEY, SECRET = "AKIACANARY", "canary-secret"


def s3(address: str, key: str = KEY, secret: str = SECRET) -> Any:  # noqa: ANN401  the client has no types
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name="eu-west-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def put(server: stores.Served, key: str, body: bytes) -> str:
    """Write an object; gives its version."""
    if server.kind == "s3":
        told = s3(server.setting).put_object(Bucket="lake", Key=key, Body=body)
        return str(told.get("VersionId", ""))
    quoted = key.replace("/", "%2F").replace(" ", "%20")
    url = f"{server.setting}/upload/storage/v1/b/lake/o?uploadType=media&name={quoted}"
    with urlopen(Request(url, data=body, method="POST")) as reply:  # noqa: S310  this machine
        return str(json.loads(reply.read())["generation"])


def fetch(server: stores.Served, key: str) -> bytes:
    """Read an object."""
    if server.kind == "s3":
        found = s3(server.setting).get_object(Bucket="lake", Key=key)["Body"].read()
        return cast("bytes", found)
    quoted = key.replace("/", "%2F").replace(" ", "%20")
    with urlopen(f"{server.setting}/storage/v1/b/lake/o/{quoted}?alt=media") as reply:  # noqa: S310  this machine
        return cast("bytes", reply.read())


@pytest.fixture
def bucket(object_server: stores.Served, monkeypatch: pytest.MonkeyPatch) -> stores.Served:
    """Give a server with a bucket that keeps versions."""
    for name in [one for one in os.environ if one.startswith(("AWS_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    if object_server.kind == "s3":
        client = s3(object_server.setting)
        place = {"LocationConstraint": "eu-west-1"}
        if not [one for one in client.list_buckets()["Buckets"] if one["Name"] == "lake"]:
            client.create_bucket(Bucket="lake", CreateBucketConfiguration=place)
        client.put_bucket_versioning(Bucket="lake", VersioningConfiguration={"Status": "Enabled"})
        for one in client.list_objects_v2(Bucket="lake").get("Contents", ()):
            client.delete_object(Bucket="lake", Key=one["Key"])
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", object_server.setting)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        return object_server
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", object_server.setting)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "canary-token")
    body = json.dumps({"name": "lake", "versioning": {"enabled": True}}).encode()
    url = f"{object_server.setting}/storage/v1/b"
    listed = json.loads(urlopen(f"{url}?project=p").read())  # noqa: S310  this machine
    if not listed.get("items"):
        request = Request(f"{url}?project=p", body, {"content-type": "application/json"})  # noqa: S310  as above
        urlopen(request).close()  # noqa: S310  as above
    for one in json.loads(urlopen(f"{url}/lake/o").read()).get("items", ()):  # noqa: S310  as above
        quoted = one["name"].replace("/", "%2F").replace(" ", "%20")
        urlopen(Request(f"{url}/lake/o/{quoted}", method="DELETE")).close()  # noqa: S310  as above
    return object_server


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Session]]:
    sessions: list[Session] = []

    def make(address: str) -> Session:
        (tmp_path / "constat.yaml").write_text(
            "project: t\nrules: a.dl\nlimits: {seconds: 30}\n"
            f"databases: {{shop: {{files: {{orders: {json.dumps(address)}}}, private: true}}}}\n"
        )
        (tmp_path / "a.dl").write_text(RULES)
        sessions.append(Session(tmp_path))
        return sessions[-1]

    yield make
    for one in sessions:
        one.close()


def notes(certificate: bytes) -> list[str]:
    told = [one["query"] or "" for one in json.loads(certificate)["sources"]]
    return [line for one in told for line in one.splitlines() if line.startswith("-- read:")]


def test_an_object_is_a_table_and_its_tag_version_and_hash_are_evidence(
    bucket: stores.Served, opened: Callable[[str], Session]
) -> None:
    version = put(bucket, "in/a b.csv", CSV)
    found = opened(f"{bucket.kind}://lake/in/a%20b.csv").prove("large(B)")
    assert found.verdict is Verdict.PROVED
    (said,) = notes(found.certificate)
    assert said.startswith(f"-- read: {bucket.kind}://lake/in/a%20b.csv: etag ")
    assert f"version {version}, sha256:" in said
    assert b"canary" not in found.certificate.lower()


def test_a_version_that_is_named_stays_the_one_that_is_read(
    bucket: stores.Served, opened: Callable[[str], Session]
) -> None:
    name = "versionId" if bucket.kind == "s3" else "generation"
    first = put(bucket, "orders.csv", CSV)
    put(bucket, "orders.csv", CSV.replace(b"B,150", b"B,1"))
    newest = opened(f"{bucket.kind}://lake/orders.csv").prove("large(B)")
    pinned = opened(f"{bucket.kind}://lake/orders.csv?{name}={first}").prove("large(B)")
    assert (newest.verdict, pinned.verdict) == (Verdict.DISPROVED, Verdict.PROVED)


def test_a_pattern_names_objects_of_one_folder(
    bucket: stores.Served, opened: Callable[[str], Session]
) -> None:
    put(bucket, "o/1.csv", CSV)
    put(bucket, "o/2.csv", b"id,n\nC,200\n")
    put(bucket, "o/deep/3.csv", b"id,n\nD,300\n")
    put(bucket, "o/readme.txt", b"nothing\n")
    session = opened(f"{bucket.kind}://lake/o/*.csv")
    assert sorted(str(row["x"]) for row in session.query("large(?x)")) == ["B", "C"]
    assert len(notes(session.prove("large(C)").certificate)) == 2
    put(bucket, "o/4.csv", b"id,n\nE,400\n")
    assert session.prove("large(E)").verdict is Verdict.PROVED


def test_many_objects_are_listed_page_by_page(
    bucket: stores.Served, opened: Callable[[str], Session]
) -> None:
    for number in range(30):
        put(bucket, f"many/{number:02}.csv", f"id,n\nX{number},{number * 10}\n".encode())
    session = opened(f"{bucket.kind}://lake/many/*.csv")
    assert len(list(session.query("placed(?x, ?n)"))) == 30
    (*_, last) = notes(session.prove("large(X29)").certificate)
    assert "10 more objects; of all these lines sha256:" in last


def test_what_is_not_there_leaves_the_goal_open(
    bucket: stores.Served, opened: Callable[[str], Session]
) -> None:
    result = opened(f"{bucket.kind}://lake/none.csv").prove("large(B)")
    assert result.verdict is Verdict.UNRESOLVED
    told = " ".join(str(one) for call in result.calls for one in call.answer.openings)
    assert "there is no object" in told
    assert "canary" not in told.lower()


@pytest.mark.stores
def test_a_server_that_checks_signatures_lets_the_right_key_in_alone(
    tmp_path: Path, opened: Callable[[str], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moto checks who asks after the first requests, by the signature of each."""
    if reason := stores.missing("s3"):
        pytest.skip(reason)
    port = keeper.free_port()
    command = cast("list[str]", stores.command("s3", port, tmp_path))
    with subprocess.Popen(
        command,
        env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "5"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            keys = _granted(address)
            monkeypatch.setenv("AWS_ENDPOINT_URL_S3", address)
            monkeypatch.setenv("AWS_REGION", "eu-west-1")
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys[0])
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
            assert opened("s3://lake/o/*.csv").prove("large(B)").verdict is Verdict.PROVED
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-wrong")
            result = opened("s3://lake/o/*.csv").prove("large(B)")
            assert result.verdict is Verdict.UNRESOLVED
            told = " ".join(str(one) for call in result.calls for one in call.answer.openings)
            assert "C0579" in told
        finally:
            process.kill()


def _granted(address: str) -> tuple[str, str]:
    """Make a user who may read, a bucket and an object; those are the five free requests."""
    import boto3

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urlopen(f"{address}/moto-api/").close()  # noqa: S310  this machine
            break
        except OSError:
            time.sleep(0.05)
    iam = boto3.client(
        "iam",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",  # noqa: S106  none
    )
    iam.create_user(UserName="reader")
    allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName="reader", PolicyName="p", PolicyDocument=policy)
    made = iam.create_access_key(UserName="reader")["AccessKey"]
    client = s3(address, made["AccessKeyId"], made["SecretAccessKey"])
    client.create_bucket(
        Bucket="lake", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    client.put_object(Bucket="lake", Key="o/1.csv", Body=CSV)
    return made["AccessKeyId"], made["SecretAccessKey"]


def test_a_log_of_decisions_is_shipped_as_it_grows_and_checked_from_its_copy(
    bucket: stores.Served, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    run("init", "--example", "vip", "--directory", shop)
    kept = shop / ".constat" / "decisions"

    def ship() -> dict[str, bytes]:
        files = [one for one in kept.rglob("*") if one.is_file()]
        told = {f"decisions/{one.relative_to(kept)}": one.read_bytes() for one in files}
        for key, content in told.items():
            put(bucket, key, content)
        return told

    shipped: list[dict[str, bytes]] = []
    for goal in ("is_vip(C001)", "is_vip(C002)"):
        run("prove", goal, "--quiet", "--log", "--by", "alice", "--project", shop)
        shipped.append(ship())
    before, after = shipped
    # What has been shipped stays as it is, so it may be copied while others write.
    assert all(after[key].startswith(content) for key, content in before.items())
    shutil.rmtree(kept)
    for key in after:
        place = kept / key.removeprefix("decisions/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(fetch(bucket, key))
    told = run("log", "verify", "--project", shop)
    assert (told.code, "2 decisions" in told.out) == (0, True), told
    # Whoever can write there changes nothing unseen.
    changed = max(
        (one for one in kept.rglob("*") if one.is_file()), key=lambda one: one.stat().st_size
    )
    changed.write_bytes(changed.read_bytes().replace(b"alice", b"mallo"))
    assert run("log", "verify", "--project", shop).code == 1
