"""A folder about everybody for whom a goal holds: for auditors, who check it without a project.

In: a goal with variables, and of whom those are for whom it does not hold. Out: a folder with one
certificate in which all members are proved and share what their proofs have in common (or several,
where one is too long to be checked in a usual memory), a list with a verdict for each, a
certificate of its own for each row that is not certain and for a sample, a page, and an index that
names each file by its hash: who signs it signs all. Invariants: written whole or not at all, for
its owner alone; nothing is called proved that the checker did not accept.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import os
import secrets
import shutil
from collections import Counter
from dataclasses import field, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.check import check_certificate
from constat.check.population import (
    FORMAT,
    INDEX,
    MEMBERS,
    PAGE,
    PARTS,
    VERDICTS,
    chosen,
    members_of,
    part_name,
)
from constat.check.values import spell
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import UNTIMED, Verdict
from constat.frozen import frozen, slotted
from constat.logic import Constant, Kind, Variable, display_value, has_null_cells, is_wildcard
from constat.proof.decide import confidence_of
from constat.proof.levels import MILLION
from constat.proof.proofs import Proof
from constat.session.answers import DIFFERENT, Settled
from constat.session.querying import outcome_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from constat.logic import OpenRow, Row, Value
    from constat.proof.outside import Fact
    from constat.session.answers import Answers
    from constat.session.options import PopulationOptions
    from constat.session.querying import Compiled
    from constat.session.result import Result

MOST_DOUBTFUL: Final = 2_000
"""Rows that are not certain have a certificate each, so many at most."""
MOST_BYTES: Final = 64 << 20
"""A longer certificate is written as several: a checker reads four times as much, and holds it."""
_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})


@frozen
class WrittenPopulation:
    """What was written: the goal, how many rows have each verdict, and whether there are others."""

    folder: Path
    goal: str
    counts: dict[str, int]
    settled: Settled
    sampled: int
    index: str
    nodes: int
    reasons: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 settled, 3 under assumptions, 4 there may be others or some are not decided."""
        return self.settled.exit_code


class Prove(Protocol):
    """Proves a goal, for everybody where every proof is looked for."""

    def __call__(self, goal: str, *, exhaust: bool) -> Result:
        """Prove it."""
        ...


@frozen
class Proving:
    """How goals are proved, and queries answered, for one folder."""

    compiled: Compiled
    prove: Prove
    query: Callable[[str], Answers]
    created: str


@slotted
class _Listed:
    """A row of the list: as the certificate spells it, as people read it, its goal and verdict."""

    spelled: tuple[str, ...]
    shown: tuple[str, ...]
    goal: str
    verdict: str
    proofs: list[Result] = field(default_factory=list)
    sampled: bool = False


def write_population(
    folder: Path, proving: Proving, options: PopulationOptions
) -> WrittenPopulation:
    """Prove the goal for everybody, and write the folder. Raises `ConstatError`."""
    compiled = proving.compiled
    _require_goal(compiled)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise _unwritten("there is something of that name", "name a new folder")
    result = proving.prove(compiled.query.text.rstrip(" ."), exhaust=True)
    answers = outcome_answers(
        compiled, result.decision.outcome, created=proving.created, confidence=False
    )
    if answers.stopped not in {"", "settled"}:
        raise _unwritten(answers.stopped, "`limits:` in constat.yaml gives it more time")
    rows = [_listed(compiled, answers, row) for row in answers.sure]
    rows.sort(key=lambda one: one.spelled)
    goal, parts = _parts(compiled, result, rows)
    rows += _others(proving, answers, options.among)
    rows.sort(key=lambda one: one.spelled)
    doubtful = [one for one in rows if one.verdict in {"PROVED_UNDER", "UNRESOLVED"}]
    if len(doubtful) > MOST_DOUBTFUL:
        raise _unwritten(f"{len(doubtful):,} rows rest on assumptions, or are not decided")
    seed = options.seed or str(json.loads(parts[0].certificate)["identity"])
    for one in doubtful:
        one.proofs.append(_own(proving, one))
    sample = chosen({one.spelled: one.verdict for one in rows}, seed, options.sample)
    for one in rows:
        one.sampled = one.spelled in sample
        if one.sampled and not one.proofs:
            one.proofs.append(_own(proving, one))
    nodes = len(result.decision.proof.nodes)
    draft = _Draft(proving, options, goal, seed, rows, answers, parts, nodes)
    try:
        return draft.write(folder)
    except OSError as problem:
        raise _unwritten(problem.strerror or type(problem).__name__) from None


def _require_goal(compiled: Compiled) -> None:
    goal = compiled.query.goal
    if goal is None or not compiled.places:
        message = "a population is that of one atom with variables"
        hint = "write a rule with these literals as its body, and name its head"
        raise ConstatError([Diagnostic("C0666", message, help=hint)])
    if any(isinstance(term, Variable) and is_wildcard(term) for term in goal.terms):
        message = "a population names each of its columns"
        raise ConstatError([Diagnostic("C0666", message, help="write `?x` in place of `_`")])


def _listed(compiled: Compiled, answers: Answers, row: Row) -> _Listed:
    if has_null_cells(row):
        raise _unwritten("a row has a cell without a value")
    verdict = answers.weak.get(row, Verdict.PROVED)
    (goal,) = answers.show(row)
    return _Listed(_spelled(compiled, row), _shown(compiled, row), goal, verdict.value)


def _whole(compiled: Compiled, row: Row) -> Iterator[tuple[Value, Kind]]:
    """Yield the values of a row of the goal, its constants included."""
    kinds = compiled.program.program.predicates[compiled.goal.predicate].kinds
    values = dict(zip(compiled.places, row, strict=True))
    for place, (term, kind) in enumerate(zip(compiled.goal.terms, kinds, strict=True)):
        yield (term.value if isinstance(term, Constant) else values[place]), kind


def _spelled(compiled: Compiled, row: Row) -> tuple[str, ...]:
    """Spell a row of the answers as certificates do: with the goal's constants."""
    return _cells(compiled, tuple(value for value, _ in _whole(compiled, row)))


def _cells(compiled: Compiled, row: OpenRow) -> tuple[str, ...]:
    """Spell a row of the goal's predicate as certificates do."""
    kinds = compiled.program.program.predicates[compiled.goal.predicate].kinds
    return tuple(
        str(spell(kind.value, value)) if kind in _NUMERIC else str(value)  # type: ignore[arg-type]  # a number
        for value, kind in zip(row, kinds, strict=True)
    )


def _shown(compiled: Compiled, row: Row) -> tuple[str, ...]:
    return tuple(display_value(value, kind) for value, kind in _whole(compiled, row))


@frozen
class _Part:
    """A certificate of members, and how many of them, in the order of the list, it is to prove."""

    certificate: bytes
    members: int


def _parts(
    compiled: Compiled, result: Result, rows: Sequence[_Listed]
) -> tuple[str, tuple[_Part, ...]]:
    """Give the goal, and certificates of the rows in their order.

    Raises `ConstatError` unless the checker finds exactly these rows proved.
    """
    told = [one.spelled for one in rows if one.verdict == "PROVED"]
    facts = {_cells(compiled, fact[1]): fact for fact in result.decision.answers}
    divides = facts.keys() >= set(told)
    waiting, parts, goal = [told], list[_Part](), ""
    proved: set[tuple[str, ...]] = set()
    while waiting:
        own = waiting.pop()
        one = result if own is told else _only(result, tuple(facts[row] for row in own))
        # What proofs share is in each part, so a part may be longer than its share.
        pieces = min(len(own), -(-len(one.certificate) // MOST_BYTES))
        if divides and pieces > 1:
            bounds = [at * len(own) // pieces for at in range(pieces + 1)]
            waiting += [own[begin:end] for begin, end in pairwise(bounds)][::-1]
            continue
        report = check_certificate(one.certificate)
        if not report.accepted:
            raise _different(f"its certificate is rejected: {report.reason}")
        goal = str(report.goal)
        proved.update(members_of(one.certificate))
        parts.append(_Part(one.certificate, len(own)))
    if proved != set(told):
        count = len(proved.symmetric_difference(told))
        raise _different(f"{count:,} rows are proved and not listed, or listed and not proved")
    return goal, tuple(parts)


def _only(result: Result, answers: tuple[Fact, ...]) -> Result:
    """Give a result that proves some of the answers, by the same derivations."""
    whole = result.decision.proof
    reading = replace(whole.reading, clock=UNTIMED)
    proof = Proof(reading, whole.goal, whole.slice.outside.book)
    proof.prefer(whole.nodes)
    proof.show(answers, bounded=False)
    confidence = Decimal(confidence_of(proof)) / MILLION
    decision = replace(result.decision, proof=proof, confidence=confidence)
    return replace(result, decision=decision, confidence=confidence)


def _others(proving: Proving, answers: Answers, among: str) -> list[_Listed]:
    """Give those among whom the goal was asked who are no members. Raises `ConstatError`."""
    if not among:
        return []
    if answers.settled is Settled.OPEN:
        raise _unwritten("who is no member is not known, as there may be other members")
    of_whom = proving.query(among).checked()
    if of_whom.settled is not Settled.FOR_CERTAIN or of_whom.stopped:
        raise _unwritten("nobody knows all those among whom they are")
    names = [one.name for one in answers.columns]
    places = {one.name: place for place, one in enumerate(of_whom.columns)}
    # What else the goal names, as other columns of a wide table, tells nobody apart here.
    if not places.keys() >= set(names):
        listed = ", ".join(f"?{name}" for name in names if name not in places)
        raise _unwritten(f"`--among` says nothing of {listed}: write it where the members stand")
    everybody = {tuple(row[places[name]] for name in names) for row in of_whom.sure}
    members = set(answers.sure)
    if members - everybody:
        raise _unwritten(f"{len(members - everybody):,} members are not among these")
    under = answers.settled is Settled.UNDER
    verdict = Verdict.DISPROVED_UNDER if under else Verdict.DISPROVED
    found = []
    for row in everybody - members:
        one = _listed(proving.compiled, answers, row)
        one.verdict = verdict.value
        found.append(one)
    return found


def _own(proving: Proving, one: _Listed) -> Result:
    """Prove a row by itself; raises `ConstatError` where that says something else."""
    result = proving.prove(one.goal, exhaust=False)
    report = check_certificate(result.certificate)
    found = report.verdict if report.accepted else "rejected"
    if one.verdict == "UNRESOLVED" and found is not None:
        # Asked by itself, more may be known of a row.
        one.verdict = found
    # One row may rest on less than what all of them rest on together.
    if one.verdict not in {found, f"{found}_UNDER"}:
        raise _different(f"{one.goal} is listed as {one.verdict}, and proving it says {found}")
    return result


@frozen
class _Draft:
    """All that goes into a folder."""

    proving: Proving
    options: PopulationOptions
    goal: str
    seed: str
    rows: list[_Listed]
    answers: Answers
    parts: tuple[_Part, ...]
    nodes: int

    def write(self, target: Path) -> WrittenPopulation:
        """Write all of it, or nothing."""
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        (draft / "proofs").mkdir(mode=0o700, parents=True)
        draft.chmod(0o700)
        try:
            written = self._write(draft, target)
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return written

    def _write(self, draft: Path, target: Path) -> WrittenPopulation:
        counts = Counter(one.verdict for one in self.rows)
        proofs: list[dict[str, Any]] = []
        for one in self.rows:
            for proof in one.proofs:
                file = f"proofs/{len(proofs) + 1}.json"
                digest = _save(draft / file, proof.certificate)
                told = {"row": list(one.spelled), "verdict": one.verdict, "file": file}
                proofs.append({**told, "sha256": digest, "sampled": one.sampled})
        about: dict[str, Any] = {
            "format": FORMAT,
            "goal": self.goal,
            "columns": self._columns(),
            "created": self.proving.created,
            "rules": json.loads(self.parts[0].certificate)["header"]["program"],
            "whole": self.answers.settled.value,
            "among": self.options.among,
            "counts": {one: counts.get(one, 0) for one in VERDICTS},
            "seed": self.seed,
            "size": self.options.sample,
            "certificates": self._certificates(draft),
            "members": _named(MEMBERS, _save(draft / MEMBERS, self._list())),
            "proofs": proofs,
        }
        page = population_page(
            about, self.rows, self.parts[0].certificate, self.proving.compiled.query.text
        )
        about["page"] = _named(PAGE, _save(draft / PAGE, page.encode()))
        index = (json.dumps(about, indent=2, sort_keys=True) + "\n").encode()
        return WrittenPopulation(
            *(target, self.goal, about["counts"], self.answers.settled),
            sum(one.sampled for one in self.rows),
            _save(draft / INDEX, index),
            self.nodes,
            tuple(f"{one.predicate}: {one.reason}" for one in self.answers.reasons[:5]),
        )

    def _certificates(self, draft: Path) -> list[dict[str, Any]]:
        """Write the certificates of the members."""
        count = len(self.parts)
        if count > 1:
            (draft / PARTS).mkdir(mode=0o700)
        named: list[dict[str, Any]] = []
        for number, part in enumerate(self.parts, 1):
            file = part_name(number, count)
            named.append(_named(file, _save(draft / file, part.certificate)))
            named[-1]["members"] = part.members
        return named

    def _columns(self) -> list[str]:
        compiled = self.proving.compiled
        declared = compiled.program.program.predicates[compiled.goal.predicate].columns
        return [column.name for column in declared]

    def _list(self) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow([*self._columns(), "verdict"])
        writer.writerows([*one.spelled, one.verdict] for one in self.rows)
        return text.getvalue().encode()


def _named(file: str, digest: str) -> dict[str, str]:
    return {"file": file, "sha256": digest}


def _save(path: Path, content: bytes) -> str:
    """Write a file for its owner alone; gives its hash."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _unwritten(why: str, help_: str = "") -> ConstatError:
    return ConstatError([Diagnostic("C0667", f"no folder is written: {why}", help=help_)])


def _different(why: str) -> ConstatError:
    hint = "this is a mistake of Constat, or a source was written in between; please report it"
    found = Diagnostic("C0668", f"no folder is written: {why}", help=hint)
    return ConstatError([found], exit_code=DIFFERENT)


# ---------------------------------------------------------------------------------------- the page

_STYLE: Final = """
:root{color-scheme:light dark}
html{background:#fff;color:#111}
a{color:#0645ad}
@media (prefers-color-scheme:dark){html{background:#111;color:#eee}a{color:#9cf}}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;vertical-align:top}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
code,pre{font:14px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
h1 code{font-size:1em}
.wide{overflow-x:auto}
pre{white-space:pre-wrap;padding:.6rem;border:1px solid #8884;border-radius:.3rem}
"""
_MOST_REASONS: Final = 3
_WORDS: Final = (
    ("PROVED", "proved"),
    ("PROVED_UNDER", "proved under assumptions"),
    ("UNRESOLVED", "not decided"),
    ("DISPROVED", "disproved"),
    ("DISPROVED_UNDER", "disproved under assumptions"),
)


def population_page(
    about: dict[str, Any], rows: Sequence[_Listed], certificate: bytes, asked: str
) -> str:
    """Write the page: what was asked, how many, by which rules, a sample, and how to check it."""
    goal, policy = _text(asked), "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{goal}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>Who is in <code>{goal}</code></h1>"
        f"<p>Decided at {_text(about['created'][:19])}Z by the rules"
        f" <code>{_text(about['rules'])}</code>. The time is the writer's word, which only a"
        " signature over the index holds.</p>"
    )
    return "".join(
        [
            head,
            *_counts_html(about, len(rows)),
            *_rules_html(certificate),
            *_sample_html(about, rows),
            *_checking_html(about),
            "</main></body></html>\n",
        ]
    )


def _counts_html(about: dict[str, Any], total: int) -> Iterator[str]:
    yield '<h2>How many</h2><table><tr><th>verdict</th><th class="number">rows</th></tr>'
    for verdict, words in _WORDS:
        count = about["counts"][verdict]
        if count or verdict == "PROVED":
            yield f'<tr><td>{words}</td><td class="number">{count:,}</td></tr>'
    yield f'<tr><th>in the list</th><th class="number">{total:,}</th></tr></table>'
    whole = {
        "SETTLED": "There are no other members: everything that the rules ask for was answered.",
        "SETTLED_UNDER": "There are no other members, if the assumptions hold that were accepted.",
        "OPEN": "There may be other members: not everything that the rules ask for is known.",
    }
    yield f"<p>{whole[about['whole']]} This is what the program that wrote this folder says; the "
    yield "certificate proves the members and not that there are no others.</p>"
    if about["among"]:
        yield f"<p>They are those of <code>{_text(about['among'])}</code>: whoever is not a member "
        yield "is disproved.</p>"


def _rules_html(certificate: bytes) -> Iterator[str]:
    report = check_certificate(certificate)
    lines = report.to_text().splitlines()
    yield "<h2>By which rules</h2><pre>"
    inside = False
    for line in lines:
        if not line.startswith(" "):
            inside = line.startswith("rules:")
        elif inside:
            yield f"{_text(line.strip())}\n"
    yield "</pre>"


def _sample_html(about: dict[str, Any], rows: Sequence[_Listed]) -> Iterator[str]:
    by_row = {tuple(one["row"]): one["file"] for one in about["proofs"]}
    words = dict(_WORDS)
    for title, note, wanted in (
        ("A sample", f"Chosen by the seed <code>{_text(about['seed'])}</code>.", True),
        ("Those that are not certain", "Each has a certificate of its own.", False),
    ):
        certain = {"PROVED", "DISPROVED"}
        found = [
            one
            for one in rows
            if one.proofs and (one.sampled if wanted else one.verdict not in certain)
        ]
        if not found:
            continue
        yield f'<h2>{title}</h2><p>{note}</p><div class="wide" tabindex="0"><table><tr>'
        yield "".join(f"<th>{_text(name)}</th>" for name in about["columns"])
        yield "<th>verdict</th><th>why</th><th>certificate</th></tr>"
        for one in found:
            file = by_row[one.spelled]
            why = _sentence(one.proofs[0])
            yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in one.shown)
            yield f"<td>{words[one.verdict]}</td><td>{_text(why)}</td>"
            yield f'<td><a href="{_text(file)}">{_text(file)}</a></td></tr>'
        yield "</table></div>"


def _sentence(result: Result) -> str:
    """Say why: the sentence of the proof, or at which condition each rule stops."""
    steps = [result.tree.steps[root] for root in result.tree.roots[:1]]
    found = [one.reasoning or one.sentence for one in steps if one.reasoning or one.sentence]
    for word in () if found else ("reasoning: ", "stopped at: "):
        lines = [line.strip() for line in result.explain().splitlines()]
        found = found or [one.removeprefix(word) for one in lines if one.startswith(word)]
    return "; ".join(dict.fromkeys(found[:_MOST_REASONS]))


def _checking_html(about: dict[str, Any]) -> Iterator[str]:
    yield "<h2>How to check it</h2><p>Whoever has this folder needs nothing else: no project, no "
    yield "database, and not who wrote it.</p><pre>"
    yield "# every file, every certificate, the counts and the sample\nconstat verify FOLDER\n"
    yield f"# that the rules are these\nconstat verify FOLDER --pin {_text(about['rules'])}\n"
    yield "# and who signed it\nconstat verify FOLDER --key auditor=key.pub.pem</pre>"
    yield f'<p><a href="{MEMBERS}">{MEMBERS}</a> is the whole list, '
    parts = about["certificates"]
    for number, one in enumerate(parts):
        first = (
            f"proves its first {one['members']:,} members" if parts[1:] else "proves its members"
        )
        words = f"the next {one['members']:,}" if number else first
        yield f'<a href="{one["file"]}">{one["file"]}</a> {words}, '
    yield f'and <a href="{INDEX}">{INDEX}</a> names every file '
    yield "by its hash: a signature under it is one under all.</p>"
    yield "<p>The rows of the sources are taken as they stand.</p>"


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
