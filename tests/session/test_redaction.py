"""Views of certificates: what is hidden stands in no byte, and both checkers check what is left."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import sqlite3
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat.check import check_certificate
from constat.check.canonical import canonical
from constat.diagnostics import ConstatError
from constat.proof.export.account import account_of
from constat.proof.formats import FORMATS, write_format
from constat.proof.redaction import Commitments, finished
from constat.proof.report.markup import checker_source
from constat.proof.report.pdf import paper
from constat.session import Session
from constat.session.redacting import Hiding, make_view
from tests.check.catalog import GOOD
from tests.check.catalog import good as good_certificate
from tests.check.second import upgraded
from tests.check.writer import seal
from tests.cli.running import run
from tests.extras import loaded
from tests.report.checker.second_checker import SecondChecker, node
from tests.report.test_pdf import streams

if TYPE_CHECKING:
    from pathlib import Path

SECRET: Final = b"s" * 32
RULES: Final = """
.pragma "constat" "0.1"
@[says = "{id} is called {name}"]
.decl patient(id: symbol, @[personal] name: symbol, @[confidential] score: number, born: Date)
.input patient(source = main, query = "SELECT id, name, score, born FROM patients")
@[key = id]
.decl loan(id: number, patient: symbol, @[confidential] amount: number, @[personal] witness: symbol)
.input loan(source = main, query = "SELECT id, patient, amount, witness FROM loans")
.decl barred(name: symbol)
.input barred(source = main, query = "SELECT name FROM barred")
.decl debt(p: symbol, t: number)
debt(?p, ?t) :- patient(?p, _, _, _), ?t = sum ?a : { loan(_l, ?p, ?a, _w) }.
.decl credit(p: symbol)
credit(?p) :- patient(?p, ?n, ?s, ?b), debt(?p, ?t), ?s * 2 > ?t, ?b < "2001-01-01", !barred(?n).
.decl kind(p: symbol, level: symbol)
.input kind(source = main, query = "SELECT id, level FROM kinds")
.decl same(p: symbol, q: symbol)
same(?p, ?q) :- kind(?p, ?l), kind(?q, ?l), ?p != ?q.
.decl golden(p: symbol)
golden(?p) :- kind(?p, "gold").
"""
NAMES: Final = ("Annabel Quill", "Bertil Rasmus")
LEVELS: Final = ("gold", "iron", "lead", "zinc")


def folder_with(
    tmp_path: Path, *, score: int = 73519, amounts: tuple[int, ...] = (4127, 90211, 688)
) -> Path:
    tmp_path.mkdir(exist_ok=True)
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as base:
        base.execute("CREATE TABLE patients(id TEXT, name TEXT, score INTEGER, born TEXT)")
        base.execute("CREATE TABLE loans(id INTEGER, patient TEXT, amount INTEGER, witness TEXT)")
        base.execute("CREATE TABLE barred(name TEXT)")
        base.execute("CREATE TABLE kinds(id TEXT, level TEXT)")
        rows = [("P1", NAMES[0], score, "1984-07-31"), ("P2", NAMES[1], 4, "1990-02-28")]
        base.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)
        loans = [(n, "P1", amount, NAMES[n % 2]) for n, amount in enumerate(amounts)]
        base.executemany("INSERT INTO loans VALUES (?, ?, ?, ?)", loans)
        base.execute("INSERT INTO barred VALUES ('Nobody Atall')")
        base.executemany("INSERT INTO kinds VALUES (?, ?)", [("P1", "iron"), ("P2", "iron")])
        base.commit()
    (tmp_path / "constat.yaml").write_text(
        'project: c\nrules: [r.dl]\ndatabases: {main: {uri: "sqlite:///c.sqlite"}}\n'
    )
    (tmp_path / "r.dl").write_text(RULES)
    return tmp_path


def proved(folder: Path, goal: str) -> bytes:
    with Session(folder) as session:
        return session.prove(goal).certificate


@pytest.fixture(scope="module")
def credit(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return proved(folder_with(tmp_path_factory.mktemp("credit")), "credit(P1)")


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return proved(folder_with(tmp_path_factory.mktemp("alike")), "same(P1, P2)")


Both = Callable[[bytes], tuple[bool, int, int]]


@pytest.fixture(scope="module", name="both")
def _both() -> Iterator[Both]:
    if node() is None:
        pytest.skip("there is no JavaScript engine")
    process = SecondChecker(checker_source())
    yield lambda view: _checked(process, view)
    process.close()


def _checked(process: SecondChecker, view: bytes) -> tuple[bool, int, int]:
    """Check with both checkers, which say the same."""
    report = check_certificate(view)
    other = process.check(view)
    assert (other["accepted"], other["exitCode"], other["hidden"], other["level"]) == (
        report.accepted,
        report.exit_code,
        report.hidden,
        report.level,
    ), (report.reason, other["reason"])
    return report.accepted, report.exit_code, report.hidden


def text_within(content: bytes, name: str) -> str:
    """Give all text of an export: of an archive that of its members, of a PDF that of its pages."""
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "".join(archive.read(one).decode(errors="replace") for one in archive.namelist())
    if name == "pdf":
        # Pages hold numbers of glyphs and places; what was laid out is looked at beside them.
        found = [one for one in streams(content) if b"constat-cert/2" in one or b"<rdf" in one]
        assert found
        return b"".join(found).decode("latin-1")
    return content.decode(errors="replace")


HIDE_ALL: Final = Hiding(("amount", "name", "score", "born", "witness", "t"))
VALUES: Final = (*NAMES, "73519", "147038", "4127", "90211", "688", "95026", "1984-07-31")
# Hashes and times differ from run to run.
DRAWN: Final = (
    r"[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d\d:\d\d:\d\d\.\d+|D:\d{14}"
)
SPELLED: Final = (
    *VALUES,
    *(f"{int(value):,}" for value in VALUES if value.isdigit()),
    *(word for name in NAMES for word in name.split()),
    "Jul",
    "0x11f2f",
)


@pytest.mark.sampled(4, "laws")
@pytest.mark.filterwarnings("ignore:HarfBuzz-Subset:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("form", ["certificate", *(one.name for one in FORMATS)])
def test_what_is_hidden_stands_in_no_byte_of_any_format(
    credit: bytes, form: str, both: Both
) -> None:
    told = re.sub(DRAWN, "", credit.decode())
    assert all(value in told for value in (*NAMES, "73519", "4127", "1984-07-31"))
    shown = view = make_view(credit, HIDE_ALL, SECRET)
    assert both(view) == (True, 3, 9)
    if form != "certificate":
        chosen = next(one for one in FORMATS if one.name == form)
        try:
            view = write_format(chosen, view)
        except ConstatError as problem:
            if form == "pdf":
                loaded("weasyprint")
            assert form in {"lean", "lean-ordered"}, problem  # noqa: PT017  they know no negation
            return
    text = text_within(view, form) + (paper(account_of(shown)) if form == "pdf" else "")
    # What is drawn by chance, and a time, say nothing of a value, and may hold its digits.
    snapshots = re.findall(rb'"snapshot":"file ([0-9a-f]{16})"', credit)
    drawn = "|".join([DRAWN, *sorted({one.decode() for one in snapshots})])
    for value in SPELLED:
        assert value not in re.sub(drawn, "", text), value


def test_a_small_domain_cannot_be_tried_out(alike: bytes, both: Both) -> None:
    view = make_view(alike, Hiding(("level",)), SECRET)
    assert both(view) == (True, 3, 1)
    hashes = set(re.findall(r"[0-9a-f]{64}", view.decode()))
    whole = json.loads(alike)
    tried = 0
    for level in LEVELS:
        # All that the view says, with a guess in place of what it hides: whoever hashes any part
        # of that, or the guess by itself, finds none of the hashes of the view.
        guessed = json.loads(json.dumps(whole).replace('"iron"', f'"{level}"'))
        parts = [level, [level], ["symbol", level], guessed]
        parts += [guessed[name] for name in guessed]
        parts += [row for group in guessed["facts"] for row in group["rows"]]
        parts += [group["rows"] for group in guessed["facts"]]
        left = {k: v for k, v in guessed.items() if k not in {"proofs", "record"}}
        parts += [{k: v for k, v in left.items() if k not in {"identity", "digest"}}]
        texts = [level, *map(canonical, parts)]
        texts += ["".join(canonical(row) + "\n" for row in g["rows"]) for g in guessed["facts"]]
        for text in texts:
            tried += 1
            assert hashlib.sha256(text.encode()).hexdigest() not in hashes
    assert tried > 100
    for source in whole["sources"]:
        if source["query"] and "kinds" in source["query"]:
            assert source["hash"] not in view.decode()
    assert whole["identity"] not in view.decode()
    assert whole["digest"] not in view.decode()


def test_neither_length_nor_order_of_what_is_hidden_is_left(tmp_path: Path) -> None:
    hiding = Hiding(("amount", "t", "score", "name", "witness"))
    few, many = (101, 102, 103), (1000001, 2000002, 300)
    short = proved(folder_with(tmp_path / "short", score=73519, amounts=few), "credit(P1)")
    long = proved(folder_with(tmp_path / "long", score=73519000, amounts=many), "credit(P1)")
    lengths = {len(make_view(one, hiding, SECRET)) for one in (short, long)}
    assert len(lengths) == 1
    places: set[tuple[int, ...]] = set()
    whole = json.loads(long)
    loans = next(group for group in whole["facts"] if group["predicate"] == "loan")
    for number in range(60):
        secret = bytes([number]) * 32
        view = json.loads(make_view(long, Hiding(("loan.id", *hiding.columns)), secret))
        group = next(one for one in view["facts"] if one["predicate"] == "loan")
        shown = [row[2][1] for row in group["rows"]]
        amounts = sorted(int(row[2]) for row in loans["rows"])
        codes = [commit(secret, "number", str(amount)) for amount in amounts]
        places.add(tuple(shown.index(code) for code in codes))
        nodes = [node["fact"][1][2][1] for node in view["nodes"] if node["fact"][0] == "loan"]
        assert sorted(nodes) == sorted(set(nodes))
    assert len(places) == len(list(itertools.permutations(range(3))))


def commit(secret: bytes, kind: str, text: str) -> str:
    return Commitments(secret).of(kind, text)


# Forgeries: each is consistent in its hashes, and both checkers refuse it.


def hidden_rows(tree: dict[str, Any], predicate: str) -> list[Any]:
    return [row for g in tree["facts"] if g["predicate"] == predicate for row in g["rows"]]


def swap(tree: dict[str, Any]) -> None:
    """Give the name the commitment of a date, and the date that of the name."""
    text = json.dumps(tree)
    row = hidden_rows(tree, "patient")[0]
    one, other = row[1][1], row[3][1]
    text = text.replace(one, "@").replace(other, one).replace("@", other)
    tree.update(json.loads(text))
    for question, _ in tree["redaction"]["told"]:
        if question[0] == "?" and question[2] == "Date":
            question[3][1] = other


def drop_a_loan(tree: dict[str, Any]) -> None:
    for number, group in enumerate(tree["facts"]):
        if group["predicate"] == "loan":
            del group["rows"][-1]
            tree["sources"][group["source"]]["rows"] -= 1
            tree["nodes"] = [
                node
                for node in tree["nodes"]
                if (node.get("facts"), node.get("row")) != (number, len(group["rows"]))
            ]


def show_one_of_them(tree: dict[str, Any]) -> None:
    hidden_rows(tree, "loan")[0][2] = "5"


def turn_an_answer(tree: dict[str, Any]) -> None:
    for pair in tree["redaction"]["told"]:
        if pair[0][0] == "?":
            pair[1] = "false"


def take_an_answer(tree: dict[str, Any]) -> None:
    tree["redaction"]["told"].pop()


def tell_it_twice(tree: dict[str, Any]) -> None:
    tree["redaction"]["told"].append(tree["redaction"]["told"][-1])


def claim_it_rests_on_nothing(tree: dict[str, Any]) -> None:
    tree["header"].update(verdict="PROVED", under=[])


def say_nothing_is_hidden(tree: dict[str, Any]) -> None:
    tree["redaction"] = None


def hide_no_hash(tree: dict[str, Any]) -> None:
    loans = next(group for group in tree["facts"] if group["predicate"] == "loan")
    tree["redaction"]["sources"].remove(loans["source"])


def rename_the_assumption(tree: dict[str, Any]) -> None:
    tree["assumptions"][tree["redaction"]["assumption"]]["text"] = "all is well"


def open_another_value(tree: dict[str, Any]) -> None:
    found = hidden_rows(tree, "loan")[0][2][1]
    tree["redaction"]["opened"] = [[found, "0" * 32, "number", "7"]]


def open_with_one_salt(tree: dict[str, Any]) -> None:
    text = json.dumps(tree)
    rows = hidden_rows(tree, "loan")
    opened = []
    for value, row in zip(("4127", "688"), rows, strict=False):
        made = hashlib.sha256(canonical(["0" * 32, "number", value]).encode()).hexdigest()
        text = text.replace(row[2][1], f"sha256:{made}")
        opened.append([f"sha256:{made}", "0" * 32, "number", value])
    tree.update(json.loads(text))
    tree["redaction"]["opened"] = sorted(opened)


FORGERIES: Final = (
    swap,
    drop_a_loan,
    show_one_of_them,
    turn_an_answer,
    take_an_answer,
    tell_it_twice,
    claim_it_rests_on_nothing,
    say_nothing_is_hidden,
    hide_no_hash,
    rename_the_assumption,
    open_another_value,
    open_with_one_salt,
)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda one: one.__name__)
def test_a_forged_view_is_refused(
    credit: bytes, forge: Callable[[dict[str, Any]], None], both: Both
) -> None:
    tree = json.loads(make_view(credit, HIDE_ALL, SECRET))
    assert both(finished(tree))[0]
    forge(tree)
    assert both(finished(tree)) == (False, 1, 0)


def test_two_commitments_of_one_value_are_refused(alike: bytes, both: Both) -> None:
    tree = json.loads(make_view(alike, Hiding(("level",)), SECRET))
    rows = hidden_rows(tree, "kind")
    told = [[f"sha256:{h}", salt, "symbol", "iron"] for h, salt in _twice()]
    for row, (found, *_) in zip(rows, told, strict=True):
        row[1][1] = found
    tree["redaction"]["opened"] = sorted(told)
    assert both(finished(tree)) == (False, 1, 0)


def _twice() -> list[tuple[str, str]]:
    salts = ("1" * 32, "2" * 32)
    return [
        (hashlib.sha256(canonical([salt, "symbol", "iron"]).encode()).hexdigest(), salt)
        for salt in salts
    ]


# What is opened, what is marked, what cannot be hidden.


def codes(view: bytes) -> list[str]:
    return sorted(set(re.findall(r'\["hidden","sha256:([0-9a-f]{64})"\]', view.decode())))


def test_opened_values_are_checked_and_computed_again(credit: bytes, both: Both) -> None:
    view = make_view(credit, HIDE_ALL, SECRET)
    found = codes(view)
    some = make_view(credit, Hiding(HIDE_ALL.columns, None, (found[0][:8],)), SECRET)
    assert both(some)[:2] == (True, 3)
    assert both(some)[2] == both(view)[2] - 1
    cells = codes(view)
    every = make_view(credit, Hiding(HIDE_ALL.columns, None, tuple(cells)), SECRET)
    assert both(every) == (True, 0, 0)
    tree = json.loads(every)
    bare = {**tree, "redaction": {**tree["redaction"], "told": [], "opened": []}}
    standing = codes(finished(bare))
    opened = [one for one in tree["redaction"]["opened"] if one[0][7:] in standing]
    bare["redaction"]["opened"] = opened
    # Nothing has to be told where all is opened: it is computed.
    assert both(finished(bare)) == (True, 0, 0)
    with pytest.raises(ConstatError, match="no single hidden value"):
        make_view(credit, Hiding(HIDE_ALL.columns, None, ("ffffffffffff",)), SECRET)


def test_a_view_is_for_those_who_may_see_it(credit: bytes) -> None:
    auditor = make_view(credit, Hiding(view="auditor"), SECRET).decode()
    assert not any(name in auditor for name in NAMES)
    assert "73519" in auditor
    subject = make_view(credit, Hiding(view="subject"), SECRET).decode()
    assert "73519" not in subject
    assert make_view(credit, Hiding(view="authority"), SECRET) == credit
    report = check_certificate(subject.encode())
    assert report.notes[0].startswith("a view for the subject of sha256:")
    assert f"{report.hidden} values are hidden" in report.notes[0]


def test_of_others_the_subject_sees_nothing_personal(
    alike: bytes, credit: bytes, both: Both
) -> None:
    members = json.loads(credit)
    shown = make_view(credit, Hiding(view="subject"), SECRET).decode()
    # The name is of the row of the patient who asks; the witness of a loan stands in own rows too.
    assert members["header"]["goal"] == ["credit", ["P1"]]
    assert NAMES[0] in shown
    assert both(shown.encode())[0]
    assert json.loads(make_view(alike, Hiding(view="subject"), SECRET))["redaction"] is None


@pytest.mark.parametrize(
    ("goal", "columns", "why"),
    [
        ("golden(P1)", ("nothing",), "it has no column `nothing`"),
        ("credit(P1)", ("t",), "a value follows from others that stay shown"),
    ],
)
def test_what_cannot_be_hidden_is_refused(
    tmp_path: Path, goal: str, columns: tuple[str, ...], why: str
) -> None:
    content = proved(folder_with(tmp_path), goal)
    with pytest.raises(ConstatError, match=why):
        make_view(content, Hiding(columns), SECRET)


def test_a_value_that_a_rule_names_is_not_hidden(tmp_path: Path, both: Both) -> None:
    folder = folder_with(tmp_path)
    with closing(sqlite3.connect(folder / "c.sqlite")) as base:
        base.execute("UPDATE kinds SET level = 'gold'")
        base.commit()
    content = proved(folder, "golden(P1)")
    with pytest.raises(ConstatError, match="names one of the values"):
        make_view(content, Hiding(("level",)), SECRET)
    # Where it is another value, whoever sees the rule learns only that.
    assert both(make_view(proved(folder, "golden(P9)"), Hiding(("p",)), SECRET))[:2] == (True, 6)


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("name", sorted(GOOD)[::9])
def test_views_of_all_kinds_of_certificates_check_or_are_refused(name: str, both: Both) -> None:
    content = seal(upgraded(good_certificate(name).tree))
    members = json.loads(content)
    assert members["format"] == "constat-cert/2"
    columns = [f"{one['name']}.{c}" for one in members["declarations"] for c, _ in one["columns"]]
    for hidden in [(one,) for one in columns] + [tuple(columns)]:
        try:
            view = make_view(content, Hiding(hidden), SECRET)
        except ConstatError:
            continue
        accepted, code, closed = both(view)
        assert accepted
        own = check_certificate(content).exit_code
        assert code == ({0: 3, 5: 6}.get(own, own) if closed else own)


# On the command line.


def test_salts_lie_beside_the_certificate_for_its_owner(tmp_path: Path, credit: bytes) -> None:
    whole, view, again = (tmp_path / name for name in ("c.json", "v.json", "w.json"))
    whole.write_bytes(credit)
    first = run("export", str(whole), "--redact", "loan.witness", "-o", str(view))
    assert first.code == 0, first.err
    salts = tmp_path / "c.json.salts"
    assert stat.S_IMODE(salts.stat().st_mode) == 0o600
    assert stat.S_IMODE(view.stat().st_mode) == 0o600
    assert run("export", str(whole), "--redact", "loan.witness", "-o", str(again)).code == 0
    assert view.read_bytes() == again.read_bytes()
    salts.write_text(json.dumps({**json.loads(salts.read_text()), "identity": "sha256:0"}))
    other = run("export", str(whole), "--redact", "loan.witness")
    assert other.code == 2
    assert "C0797" in other.err
    twice = run("export", str(view), "--redact", "loan.amount", "--salts", str(tmp_path / "s"))
    assert twice.code == 2
    assert "it is a view already" in twice.err


# Certificates within: what is hidden in one of them is hidden in all, by one commitment.

PARTNER: Final = """.pragma "constat" "0.1"
.decl debt(p: symbol, t: number)
.input debt(source = "certificates", folder = "proofs")
.decl limit(p: symbol, most: number)
.input limit(source = "config")
.decl solvent(p: symbol)
solvent(?p) :- debt(?p, ?t), limit(?p, ?most), ?t <= ?most.
"""


@pytest.fixture(scope="module")
def partner(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Prove a goal over a debt that another certificate proves."""
    folder = tmp_path_factory.mktemp("partner")
    inner = proved(folder_with(folder / "ours"), "debt(P1, 95026)")
    (folder / "proofs").mkdir()
    (folder / "proofs" / "debt.json").write_bytes(inner)
    (folder / "rules.dl").write_text(PARTNER)
    facts = "facts:\n  limit: [[P1, 99999]]\n"
    (folder / "constat.yaml").write_text(f"project: p\nrules: [rules.dl]\n{facts}")
    return proved(folder, "solvent(P1)")


@pytest.mark.parametrize(
    ("columns", "kept"),
    [(("amount", "t"), ()), (("amount",), ("95026",)), (("loan.witness",), ("95026", "4127"))],
)
def test_a_view_hides_in_the_certificates_within_as_well(
    partner: bytes, both: Both, columns: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    whole = json.loads(partner)
    assert whole["proofs"]
    view = make_view(partner, Hiding(columns), SECRET)
    accepted, code, hidden = both(view)
    assert (accepted, code) == (True, 3)
    tree = json.loads(view)
    text = re.sub(DRAWN, "", view.decode())
    # The sum of the amounts stands in both certificates, and is hidden in both or in neither.
    hidden_values = {"4127", "90211", "688", "95026"} if "amount" in columns else {*NAMES}
    for value in hidden_values - {*kept}:
        assert value not in text, value
    assert all(value in text for value in kept)
    # What the view within rests on the view around it rests on, too, and says so.
    inner = tree["proofs"][0]
    taken = [tree["assumptions"][at]["text"] for at in tree["header"]["under"]]
    for at in inner["header"]["under"]:
        assert inner["assumptions"][at]["text"] in taken
    for name in ("identity", "digest"):
        assert whole["proofs"][0][name] not in view.decode()
        assert whole[name] not in view.decode()
    assert make_view(partner, Hiding(columns), SECRET) == view
    assert hidden > 0


def test_one_value_has_one_commitment_in_all_certificates_of_a_view(partner: bytes) -> None:
    view = make_view(partner, Hiding(("amount", "t")), SECRET)
    tree = json.loads(view)
    total = commit(SECRET, "number", "95026")
    assert total in json.dumps(tree["proofs"][0]["header"])
    assert total in json.dumps(tree["facts"])
    # It is opened in both by its code, and no other value is.
    opened = make_view(partner, Hiding(("amount", "t"), opened=(total[7:19],)), SECRET)
    assert check_certificate(opened).accepted
    text = re.sub(DRAWN, "", opened.decode())
    assert "95026" in text
    assert "90211" not in text


@pytest.mark.parametrize("part", ["outer", "inner"])
def test_a_view_within_that_hides_and_does_not_say_so_is_refused(
    partner: bytes, both: Both, part: str
) -> None:
    tree = json.loads(make_view(partner, Hiding(("amount", "t")), SECRET))
    inner = tree["proofs"][0]
    if part == "inner":
        claim_it_rests_on_nothing(inner)
        tree["proofs"] = [json.loads(finished(inner))]
        name = tree["proofs"][0]["identity"]
        source = next(one for one in tree["sources"] if one["proof"] is not None)
        source["name"], source["proof"]["assumptions"] = name, []
    else:
        text = inner["assumptions"][inner["redaction"]["assumption"]]["text"]
        own = next(at for at, one in enumerate(tree["assumptions"]) if one["text"] == text)
        tree["header"]["under"] = [at for at in tree["header"]["under"] if at != own]
    assert both(finished(tree))[0] is False


def test_a_small_domain_within_cannot_be_tried_out(partner: bytes) -> None:
    view = make_view(partner, Hiding(("amount", "t")), SECRET).decode()
    hashes = set(re.findall(r"[0-9a-f]{64}", view))
    for number in range(95_000, 95_100):
        for tried in (str(number), canonical(["P1", str(number)]), canonical(str(number))):
            assert hashlib.sha256(tried.encode()).hexdigest() not in hashes
            line = f"{tried}\n"
            assert hashlib.sha256(line.encode()).hexdigest() not in hashes
