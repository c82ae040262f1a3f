"""A folder about everybody: certificates that prove all members, their list, and a sample.

In: the folder. Out: what it says, once all of it fits together. Invariants: each file is the one
that the index names, and no other file is there; each certificate is accepted, over the same rules;
the list has exactly the members that the certificates prove, each once and in their order, and its
counts are those of the index; the sample is the one that follows from its seed. That nobody else is
a member is the writer's word here: a certificate proves members, not that there are no others.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .canonical import MAX_BYTES, members_once, read
from .certificate import read_certificate
from .checking import check_certificate
from .printing import show_goal
from .values import Structure, Value, surely

if TYPE_CHECKING:
    from pathlib import Path

    from .certificate import Certificate

FORMAT: Final = "constat-population/2"
OF_ONE: Final = "constat-population/1"
"""The format before: ``certificate`` in place of ``certificates``, which is the only one."""
INDEX: Final = "population.json"
MEMBERS: Final = "members.csv"
CERTIFICATE: Final = "certificate.json"
PARTS: Final = "certificates"
PAGE: Final = "index.html"
SIGNATURES: Final = ".dsse"
VERDICTS: Final = ("PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER")
WHOLE: Final = ("SETTLED", "SETTLED_UNDER")
_KEYS: Final = frozenset(
    {"format", "goal", "columns", "created", "rules", "whole", "among", "counts", "seed", "size"}
    | {"certificates", "members", "proofs", "page"}
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_OWN: Final = re.compile(r"proofs/[1-9][0-9]{0,8}\.json\Z")

Row = tuple[str, ...]


class PopulationError(Exception):
    """What is in the folder does not fit together; `str()` says why, without outside bytes."""


@dataclass(frozen=True, slots=True)
class OwnProof:
    """A certificate about one row; ``sampled`` where the seed chose it."""

    row: Row
    verdict: str
    file: str
    sha256: str
    sampled: bool


@dataclass(frozen=True, slots=True)
class Population:
    """What a folder says, and what was found to be so.

    ``index`` is the hash of ``population.json``, which names all other files.  ``certificates``
    counts those that prove the members.  ``whole`` says whether there may be other members,
    ``among`` of whom those are that are none; both are the writer's word.
    """

    goal: str
    created: str
    rules: str
    whole: str
    among: str
    counts: dict[str, int]
    seed: str
    size: int
    proofs: tuple[OwnProof, ...]
    certificates: int
    index: str
    members: tuple[tuple[Row, str], ...] = field(repr=False, default=())


def chosen(listed: dict[Row, str], seed: str, size: int) -> set[Row]:
    """Choose rows: of each verdict those whose hash under the seed is smallest.

    Whoever has the list and the seed chooses the same ones.
    """

    def rank(row: Row) -> bytes:
        told = json.dumps([seed, *row], ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(told.encode()).digest()

    found: set[Row] = set()
    for verdict in VERDICTS:
        found |= set(sorted((r for r, v in listed.items() if v == verdict), key=rank)[:size])
    return found


def members_of(data: bytes) -> list[Row]:
    """Give the rows of the goal that a certificate proves, which was accepted as it stands."""
    return _proved(read_certificate(read(data)))


def _proved(certificate: Certificate) -> list[Row]:
    """Give the rows: in an accepted certificate nothing rests on what its verdict does not name."""
    goal = certificate.header.goal
    if certificate.header.verdict != "PROVED":
        return []
    return [
        tuple(map(_spelled, node.fact))
        for node in certificate.nodes
        if node.predicate == goal.predicate and surely(goal.pattern, node.fact)
    ]


def part_name(number: int, parts: int) -> str:
    """Name the file of a certificate of members; ``number`` counts from 1 to ``parts``."""
    return CERTIFICATE if parts == 1 else f"{PARTS}/{number}.json"


def check_population(folder: Path, pin: str | None = None) -> Population:
    """Check a folder; with ``pin`` only rules of that hash count. Raises ``PopulationError``."""
    content = _content(folder / INDEX)
    about = _index(content)
    named = {one["file"]: one["sha256"] for one in (about[name] for name in _NAMED)}
    named |= {one["file"]: one["sha256"] for one in (*about["certificates"], *about["proofs"])}
    _require_files(folder, named)
    listed = _listed(_named(folder, about["members"]), len(about["columns"]))
    predicate = _require_members(folder, about, listed, pin)
    proofs = tuple(_own(one) for one in about["proofs"])
    _require_own(folder, proofs, listed, predicate, (pin, about["rules"]))
    _require_counts(about, listed)
    _require_sample(about, listed, proofs)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    told = (about["goal"], about["created"], about["rules"], about["whole"], about["among"])
    return Population(
        *(*told, about["counts"], about["seed"], about["size"], proofs),
        *(len(about["certificates"]), digest, tuple(listed.items())),
    )


_NAMED: Final = ("members", "page")


def _index(content: bytes) -> dict[str, Any]:
    """Read the index; nothing in it is ignored."""
    try:
        about: dict[str, Any] = json.loads(content.decode(), object_pairs_hook=members_once)
        if about["format"] == OF_ONE and "certificates" not in about:
            told = {"members": about["counts"]["PROVED"]}
            about["certificates"] = [told | about.pop("certificate")]
        elif about["format"] != FORMAT:
            raise ValueError  # noqa: TRY301  one message for all that is wrong with it
        if about.keys() != _KEYS:
            raise ValueError  # noqa: TRY301  one message for all that is wrong with it
        texts = [about[name] for name in ("goal", "created", "rules", "whole", "among", "seed")]
        texts += about["columns"]
        expected = {"members": MEMBERS, "page": PAGE}
        right = all(isinstance(one, str) for one in texts) and _is_count(about["size"])
        right &= all(
            about[name].keys() == {"file", "sha256"} and about[name]["file"] == file
            for name, file in expected.items()
        )
        right &= _are_parts(about["certificates"])
        right &= all(map(_is_own, about["proofs"])) and about["counts"].keys() == set(VERDICTS)
        right &= all(map(_is_count, about["counts"].values()))
        named = [about[name]["sha256"] for name in _NAMED]
        named += [one["sha256"] for one in (*about["certificates"], *about["proofs"])]
        right &= all(bool(_DIGEST.match(one)) for one in named)
        files = [one["file"] for one in about["proofs"]]
        if not right or len(set(files)) != len(files):
            raise ValueError  # noqa: TRY301  one message for all that is wrong with it
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PopulationError(f"`{INDEX}` is not of the format {FORMAT}") from None
    return about


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_parts(parts: list[Any]) -> bool:
    return bool(parts) and all(
        one.keys() == {"file", "sha256", "members"}
        and one["file"] == part_name(number, len(parts))
        and _is_count(one["members"])
        for number, one in enumerate(parts, 1)
    )


def _is_own(one: Any) -> bool:  # noqa: ANN401  JSON
    return (
        one.keys() == {"row", "verdict", "file", "sha256", "sampled"}
        and all(isinstance(cell, str) for cell in one["row"])
        and one["verdict"] in VERDICTS
        and bool(_OWN.match(one["file"]))
        and isinstance(one["sampled"], bool)
    )


def _own(one: dict[str, Any]) -> OwnProof:
    return OwnProof(
        tuple(one["row"]), one["verdict"], one["file"], one["sha256"], bool(one["sampled"])
    )


def _require_files(folder: Path, named: dict[str, str]) -> None:
    """Reject another file than those that are named, and one that is not as it is named."""
    known = {*named, INDEX, f"{INDEX}{SIGNATURES}"}
    try:
        found = {
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if not path.is_dir() or path.is_symlink()
        }
    except OSError as problem:
        raise PopulationError(f"it cannot be read: {type(problem).__name__}") from None
    if found - known:
        raise PopulationError(f"in it is a file that `{INDEX}` does not name")
    for file, digest in named.items():
        if _hash(_content(folder / file)) != digest:
            raise PopulationError(f"`{file}` is not the file that `{INDEX}` names")


def _named(folder: Path, one: dict[str, str]) -> bytes:
    """Give the content of a file, which is the very one that the index names."""
    content = _content(folder / one["file"])
    # Whoever changed it since it was looked at has to be noticed.
    if _hash(content) != one["sha256"]:
        raise PopulationError(f"`{one['file']}` is not the file that `{INDEX}` names")
    return content


def _content(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file():
            raise PopulationError(f"`{path.name}` is missing")
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise PopulationError(f"`{path.name}` cannot be read: {reason}") from None
    if len(content) > MAX_BYTES:
        raise PopulationError(f"`{path.name}` is too large")
    return content


def _hash(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _listed(content: bytes, width: int) -> dict[Row, str]:
    """Read the list: a row and a verdict on each line, below a line of names."""
    try:
        lines = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise PopulationError(f"`{MEMBERS}` cannot be read") from None
    found: dict[Row, str] = {}
    for line in lines[1:]:
        if len(line) != width + 1 or line[-1] not in VERDICTS:
            raise PopulationError(f"`{MEMBERS}` has a line that is no row with a verdict")
        found[tuple(line[:-1])] = line[-1]
    if len(found) != len(lines) - 1:
        raise PopulationError(f"`{MEMBERS}` has a row twice")
    return found


def _accepted(data: bytes, pin: str | None, rules: str) -> Certificate:
    report = check_certificate(data, pin=pin)
    if not report.accepted:
        raise PopulationError(f"a certificate is rejected at {report.place}: {report.reason}")
    certificate = read_certificate(read(data))
    if certificate.header.program != rules:
        raise PopulationError("a certificate is about other rules")
    return certificate


def _require_members(
    folder: Path, about: dict[str, Any], listed: dict[Row, str], pin: str | None
) -> str:
    """Check the certificates of the members, one at a time; gives the goal's predicate.

    The first proves so many of the list's members as the index says, each further one the next.
    """
    told = [row for row, verdict in listed.items() if verdict == "PROVED"]
    parts, predicate = about["certificates"], ""
    left, unproved, others = told, 0, set[Row]()
    for one in parts:
        # The last one has to prove all that are left, whatever number it names.
        own = left if one is parts[-1] else left[: one["members"]]
        left = left[len(own) :]
        certificate = _accepted(_named(folder, one), pin, about["rules"])
        predicate = certificate.header.goal.predicate
        if show_goal(certificate.header.goal, certificate.program) != about["goal"]:
            raise PopulationError("its certificate is about another goal")
        proved = set(_proved(certificate))
        unproved += len(set(own) - proved)
        others |= proved
    others.difference_update(told)
    if unproved:
        raise PopulationError(f"{unproved:,} rows are called PROVED and are not proved")
    if others:
        raise PopulationError(f"{len(others):,} rows are proved and are not called so")
    if sum(one["members"] for one in parts) != len(told):
        raise PopulationError("its counts are not those of its list")
    return predicate


def _require_own(
    folder: Path,
    proofs: tuple[OwnProof, ...],
    listed: dict[Row, str],
    predicate: str,
    rules: tuple[str | None, str],
) -> None:
    """Check the certificates of single rows, and that a row without certainty has one.

    ``rules`` are those that are pinned, where any are, and those of the index.
    """
    for one in proofs:
        if listed.get(one.row) != one.verdict:
            raise PopulationError("a certificate of one row is about another verdict than the list")
        data = _named(folder, {"file": one.file, "sha256": one.sha256})
        found = _accepted(data, *rules)
        goal = found.header.goal
        # One row may rest on less than what all of them rest on together.
        says = {found.header.verdict, f"{found.header.verdict}_UNDER"}
        if one.verdict not in says or goal.predicate != predicate:
            raise PopulationError("a certificate of one row says something else than the list")
        if tuple(map(_spelled, goal.pattern)) != one.row:
            raise PopulationError("a certificate of one row is about another row")
    shown = {one.row for one in proofs}
    doubtful = ("PROVED_UNDER", "UNRESOLVED")
    if any(verdict in doubtful and row not in shown for row, verdict in listed.items()):
        raise PopulationError("a row that is not certain has no certificate")


def _require_counts(about: dict[str, Any], listed: dict[Row, str]) -> None:
    found = Counter(listed.values())
    if any(found.get(one, 0) != about["counts"][one] for one in VERDICTS):
        raise PopulationError("its counts are not those of its list")
    shown = {tuple(one["row"]) for one in about["proofs"]}
    absent = any(
        verdict.startswith("DISPROVED") and row not in shown for row, verdict in listed.items()
    )
    if absent and (not about["among"] or about["whole"] not in WHOLE):
        raise PopulationError("rows are called disproved, and nobody says that the list is whole")


def _require_sample(
    about: dict[str, Any], listed: dict[Row, str], proofs: tuple[OwnProof, ...]
) -> None:
    expected = chosen(listed, about["seed"], about["size"])
    if {one.row for one in proofs if one.sampled} != expected:
        raise PopulationError("its sample is not the one that its seed chooses")


def _spelled(value: Value) -> str:
    if not isinstance(value, str | Structure):
        raise PopulationError("a row has a cell without a value")
    return str(value)
