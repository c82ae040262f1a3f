"""What stands on a page is words: no signs of the rule language, no names with underscores.

In: pages of every verdict, of structures, of examples and of rules without any words. Out: texts of
what somebody reads before the audit, beside those of the pictures. What a command takes, such as
`constat verify FILE`, is code and may look like it.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from constat import Session, Verdict
from constat.logic import UNREAD_CELL
from constat.proof.export.account import account_of
from constat.proof.export.document import own_words, rule_title
from constat.proof.export.drawing import VERDICTS
from constat.proof.export.markdown import to_markdown
from constat.proof.export.pictures import to_svg
from constat.proof.redaction import finished
from constat.proof.report.page import to_html
from constat.proof.report.pdf import paper
from constat.proof.sentences import describe_fact, speech_in
from tests.browser.shorten import FOLDER
from tests.examples.projects import ROOT
from tests.proof.asking import Table, analysed, ask, certificate
from tests.report.certificates import good, structures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HALF_CODE = (
    (re.compile(r"\?[A-Za-z_]\w*"), "a variable"),
    (re.compile(r":="), "an assignment"),
    (re.compile(r":-"), "a rule"),
    (re.compile(r"(?<![\w.])_\w*"), "a wildcard"),
    (re.compile(r"\bC\d{4}\b"), "a code of messages"),
    (re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b"), "a name with underscores"),
    (re.compile(r"\$[A-Z]\w*\("), "a constructor"),
    (re.compile(r"\b\w+\.some\."), "a relation of Constat's own"),
)
EXAMPLES = (
    ("lending", "approved(A104)"),
    ("lending", "approved(A101)"),
    ("vip", "is_vip(C001)"),
    ("vip", "is_vip(C004)"),
)

DUTY = """
@[says = "duty {duty} of {member}: {kind}, on {day}, {hours} hours"]
.decl duty(duty: number, member: symbol, kind: symbol, day: Date, hours: number)
.input duty(source = "office", query = "duties")
@[says = "roster {roster} plans {member} on {day}"]
.decl planned(roster: symbol, member: symbol, day: Date)
.input planned(source = "office", query = "planned")
@[says = "{member} was on duty for {hours} hours in the week before {day}"]
.decl hours_before(member: symbol, day: Date, hours: number)
@[id = HOURS] @[says = "all duties of {member} in the seven days before {day} make {sum} hours"]
hours_before(?member, ?day, ?sum) :- planned(_roster, ?member, ?day),
  ?sum = sum ?h : { duty(_, ?member, "flight", ?d, ?h), days_between(?d, ?day) <= 7 }.
@[says = "{roster} is within the limits"]
.decl legal(roster: symbol)
@[id = DUTY] @[says = "{before} hours are at most 60, and no fatigue was reported"]
legal(?r) :- planned(?r, ?m, ?day), hours_before(?m, ?day, ?before), ?before <= 60.
"""
DUTIES = {
    "duty": Table(
        (
            (1, "Lena", "flight", "2026-05-04", 30),
            (2, "Lena", "standby", "2026-05-05", 20),
            (3, "Lena", "flight", "2026-04-20", 12),
        )
    ),
    "planned": Table((("RO-88", "Lena", "2026-05-10"),)),
}
BARE = """
.decl signature_of(candidate: symbol, voter: number, day_signed: Date)
.input signature_of(source = "office", query = "s")
.decl valid_ones(candidate: symbol, signatures: number)
valid_ones(?c, ?n) :- signature_of(?c, _, _),
  ?n = count : { signature_of(?c, _v, ?d), ?d <= "2026-08-01" }.
.decl barred_from(candidate: symbol, until_when: Date)
.input barred_from(source = "office", query = "b")
.decl on_ballot(candidate: symbol)
on_ballot(?c) :- valid_ones(?c, ?n), ?n >= 2, !barred_from(?c, _).
"""

BLOCKED = """
.decl holds(owner: symbol, company: symbol, percent: Decimal)
.input holds(source = "office", query = "h")
.decl listed(who: symbol)
.input listed(source = "office", query = "l")
.decl blocked(who: symbol)
@[id = LIS1]
blocked(?c) :- listed(?c).
@[id = SUM1]
blocked(?c) :- holds(_, ?c, _), ?s = sum ?p : { holds(?o, ?c, ?p), blocked(?o) }, ?s >= 50.0.
"""
HELD = {
    "holds": Table((("Ash", "Elm", Decimal("49.99")), ("Oak", "Elm", Decimal("50.01")))),
    "listed": Table((("Ash",),)),
}


class Read(HTMLParser):
    """Collects what is read, up to the audit; code, certificate and scripts are left out."""

    LEFT_OUT = ("code", "pre", "script", "style")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside = 0
        self.feed(html.partition('<section class="view" id="audit"')[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count what is left out."""
        self.inside += tag in self.LEFT_OUT

    def handle_endtag(self, tag: str) -> None:
        """Count what is left out."""
        self.inside -= tag in self.LEFT_OUT

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self.inside and data.strip():
            self.texts.append(data)


def said(html: str) -> str:
    """Return what is read as one text."""
    return re.sub(r"\s+", " ", " ".join(Read(html).texts)).replace(" .", ".")


def half_code(html: str) -> Iterator[str]:
    """Yield what looks like code, with the text that it stands in."""
    for text in Read(html).texts:
        for pattern, what in HALF_CODE:
            found = pattern.search(text)
            if found:
                yield f"{what}, {found.group()}: {text}"


def duty(tables: dict[str, Table] | None = None, rules: str = DUTY) -> str:
    """Return the page of a roster."""
    return to_html(certificate(ask(analysed(rules), "legal(RO-88)", tables or DUTIES)))


def bare(*signatures: tuple[str, int, str], barred: bool = False) -> str:
    """Return the page of rules without words."""
    rows = ((("Vera", "2030-01-01"),),) if barred else ()
    tables = {"signature_of": Table(signatures), "barred_from": Table(*rows)}
    return to_html(certificate(ask(analysed(BARE), "on_ballot(Vera)", tables)))


@pytest.mark.parametrize("verdict", sorted(good()))
def test_no_page_of_a_verdict_has_half_code(verdict: str) -> None:
    assert list(half_code(to_html(good()[verdict]))) == []


def test_no_page_of_rules_without_words_has_half_code() -> None:
    signed = (("Vera", 1, "2026-07-01"), ("Vera", 2, "2026-07-02"))
    late = (("Vera", 1, "2026-07-01"), ("Vera", 2, "2026-09-02"))
    for page in (bare(*signed), bare(*late), bare(*signed, barred=True), duty()):
        assert list(half_code(page)) == []


@pytest.mark.parametrize(("example", "goal"), EXAMPLES)
def test_no_page_of_an_example_has_half_code(example: str, goal: str) -> None:
    with Session(ROOT / "examples" / example, cache=False) as session:
        page = to_html(session.prove(goal).certificate)
    assert list(half_code(page)) == []


def test_rules_that_constat_makes_are_named_by_what_they_are_for() -> None:
    assert rule_title("the.goal.1") == "of the question itself"
    assert rule_title("given_out.1") == "1 of \u2018given out\u2019"
    assert rule_title("VIP1") == "VIP1"


def test_a_computed_number_of_the_answer_is_said_to_change_with_what_it_rests_on() -> None:
    rules = """.decl worked(who: symbol, hours: number)
.input worked(source = "office", query = "w")
.decl due(who: symbol, pay: number)
due(?w, ?p) :- worked(?w, ?h), ?p = 20 * ?h, ?h > 1.
.decl works(who: symbol)
works(?w) :- due(?w, _).
"""
    for goal, told in (("due(ann, 60)", True), ("works(ann)", False)):
        answered = ask(analysed(rules), goal, {"worked": Table((("ann", 3),))})
        assert (
            "Numbers of the answer are computed" in said(to_html(certificate(answered)))
        ) is told


def test_a_rule_through_itself_that_stays_below_its_bound_does_not_give_what_is_disproved() -> None:
    answered = ask(analysed(BLOCKED), 'blocked("Elm")', HELD)
    document = certificate(answered)
    assert answered.verdict is Verdict.DISPROVED
    for text in (said(to_html(document)), to_markdown(document), to_svg(document)):
        assert "is unknown" not in text
    assert "does not give it" in said(to_html(document))


def test_a_form_is_said_without_its_signs() -> None:
    page = said(to_html(structures()))
    assert "of the form Add(l, r)" in page
    assert "of the form $" not in page


def test_the_scan_finds_what_is_half_code() -> None:
    page = "<p>?x, :=, :-, _1, C0703, snake_case, $Add(1), withdrawn.some.plan"
    assert len(list(half_code(page))) == len(HALF_CODE)
    assert list(half_code("<p><code>?x</code> Is it so? Yes: 5 of C001.")) == []


def test_a_page_names_the_rows_that_a_sum_leaves_out() -> None:
    shown = said(duty())
    assert "Only those count for which the kind is flight" in shown
    left = shown.partition("Left out:")[2].partition("What would change it")[0]
    assert "duty 3 of Lena: flight, on 2026-04-20, 12 hours" in left
    assert "duty 1" not in left


def test_a_refusal_names_the_rows_that_a_count_leaves_out() -> None:
    shown = said(bare(("Vera", 1, "2026-07-01"), ("Vera", 2, "2026-09-02")))
    left = shown.partition("Left out:")[2].partition("What would change it")[0]
    assert "2026-09-02" in left
    assert "2026-07-01" not in left


def test_a_page_says_that_an_entry_counts_only_with_one_of_another_relation() -> None:
    rules = BARE.replace(
        '?d <= "2026-08-01" }', '?d <= "2026-08-01", resident(_v, "north") }'
    ).replace(
        ".decl valid_ones",
        ".decl resident(voter: number, district: symbol)\n"
        '.input resident(source = "office", query = "d")\n.decl valid_ones',
    )
    tables = {
        "signature_of": Table((("Vera", 1, "2026-07-01"), ("Vera", 2, "2026-07-02"))),
        "resident": Table(((1, "north"),)),
        "barred_from": Table(()),
    }
    shown = said(to_html(certificate(ask(analysed(rules), "on_ballot(Vera)", tables))))
    assert "an entry of resident goes with it" in shown


def test_words_that_leave_out_a_condition_of_a_sum_are_marked() -> None:
    shown = said(duty())
    assert "Its words do not say that only those count for which the kind is flight." in shown
    told = DUTY.replace("all duties of", "all flight duties of")
    assert "Its words do not say" not in said(duty(rules=told))


def test_words_that_deny_what_the_rule_does_not_check_are_marked() -> None:
    shown = said(duty())
    assert "Its words say “no fatigue was reported”: that something is not so" in shown
    checked = DUTY.replace("?before <= 60.", '?before <= 60, !duty(_, ?m, "fatigue", ?day, _).')
    assert "Its words say “" not in said(duty(rules=checked))


def test_a_rule_that_was_applied_is_told_with_the_values_of_this_case() -> None:
    shown = said(duty())
    assert "In its words, here: “30 hours are at most 60, and no fatigue was reported.”" in shown
    refused = said(duty(rules=DUTY.replace("?before <= 60", "?before <= 20")))
    asked = "What it asks here, in its words: “30 hours are at most 60, and no fatigue was reported"
    assert f"{asked}.” What it requires does not hold." in refused


def test_rules_below_the_first_are_told_with_the_values_of_this_case() -> None:
    rules = """.decl loan(who: symbol, rate: number)
.input loan(source = "office", query = "l")
.decl missed(who: symbol, month: symbol)
.input missed(source = "office", query = "m")
.decl burden(who: symbol, total: number) .decl late(who: symbol) .decl credit(who: symbol)
@[says = "{p} pays {total} a month in all"]
burden(?p, ?total) :- loan(?p, _), ?total = sum ?m : { loan(?p, ?m) }.
@[says = "{p} missed {month}"] late(?p) :- missed(?p, ?month).
@[says = "{total} are at most {most}"]
credit(?p) :- burden(?p, ?total), ?most = 500, ?total <= ?most, !late(?p).
"""
    tables = {"loan": Table((("Ann", 900),)), "missed": Table(())}
    refused = said(to_html(certificate(ask(analysed(rules), "credit(Ann)", tables))))
    assert "What it asks here, in its words: “900 are at most 500.”" in refused
    # The total is in the closure and no step: what is summed is known all the same.
    assert "What it asks here, in its words: “Ann pays 900 a month in all.”" in refused
    tables["loan"] = Table((("Ann", 90),))
    given = said(to_html(certificate(ask(analysed(rules), "credit(Ann)", tables))))
    assert "In its words, here: “Ann pays 90 a month in all.”" in given
    # Of what is absent nothing has a month, and that is said.
    missing = "What it asks here, in its words: “Ann missed the month.” What it requires does not"
    assert missing in given


def test_what_words_deny_is_quoted_as_it_stands() -> None:
    told = "{before} hours are at most 60, and no rest below {roster} was cut"
    rules = DUTY.replace("{before} hours are at most 60, and no fatigue was reported", told)
    assert "Its words say “no rest below the roster was cut”" in said(duty(rules=rules))
    bounded = DUTY.replace("no fatigue was reported", "it was never more than {before}")
    assert "that something is not so" not in said(duty(rules=bounded))


def test_words_that_deny_what_is_looked_up_are_not_marked() -> None:
    rules = """@[says = "{user} must not pay"] .decl barred(user: symbol)
.input barred(source = "office", query = "b")
@[says = "{user} is kept away"] .decl kept_away(user: symbol)
@[says = "{user} must not pay"] kept_away(?user) :- barred(?user).
"""
    tables = {"barred": Table((("Ann",),))}
    shown = said(to_html(certificate(ask(analysed(rules), "kept_away(Ann)", tables))))
    assert "Ann is kept away" in shown
    assert "Its words say “" not in shown


def test_a_refusal_by_a_circle_of_rules_has_a_page_and_a_picture() -> None:
    rules = """.decl owns(a: symbol, b: symbol)
.input owns(source = "office", query = "o")
.decl controls(a: symbol, b: symbol)
controls(?a, ?b) :- owns(?a, ?b).
controls(?a, ?b) :- controls(?c, ?b), owns(?a, ?c).
controls(?a, ?b) :- controls(?b, ?a), owns(?b, ?a).
"""
    tables = {"owns": Table((("x", "y"), ("y", "x")))}
    for goal in ("controls(x, z)", "controls(z, x)"):
        answered = ask(analysed(rules), goal, tables)
        assert answered.verdict.value == "DISPROVED"
        content = certificate(answered)
        assert "<svg" in to_html(content)
        assert "</svg>" in to_svg(content)


def test_a_column_that_nobody_reads_is_told_as_such() -> None:
    predicates = analysed(DUTY).program.predicates
    row = ("RO-88", "Lena", UNREAD_CELL)
    told = describe_fact(predicates["planned"], row)  # type: ignore[arg-type]  # a mark
    assert told == "roster RO-88 plans Lena on (not read)"


def test_the_headline_says_the_day_and_whether_the_rules_are_approved() -> None:
    screen = said(duty())
    assert re.search(r"RO-88 is within the limits\. Decided on \d{4}-\d\d-\d\d", screen)
    assert re.search(r"PROVED\s+Nobody approved any of the rules\.", screen)


ENGLISH = re.compile(
    r"\b(?:the|of|is|are|and|by|from|that|rests?|rules?|steps?|rows?|because|nobody|not|none|it|"
    r"what|which|who|with|this|needed|there|sources?|verified|certificate)\b",
    re.IGNORECASE,
)
GERMAN = speech_in("de_DE")
ONE = "1 (Schritte|Zeilen|Regeln|Quellen|Abfragen|Werte|Bedingungen|Einträge|Knoten|Tage)\\b"


def in_english(written: str, *data: str) -> list[str]:
    """Return the lines of a text in German that have an English word besides those of data."""
    for one in (*data, "is vip", "is\\_vip", "is_vip"):
        written = written.replace(one, "")
    written = re.sub(r"\w+\[\d+\]", "", written)
    return [line for line in written.splitlines() if ENGLISH.search(line)]


def of_others(content: bytes) -> tuple[str, ...]:
    """Return the texts of a certificate that somebody else worded, the longest first."""
    members = json.loads(content)
    said = [one["text"] for one in members["assumptions"]]
    said += [one["reason"] for one in members["open"]]
    # What is said in German is ours, and has no English word left.
    said = [one for one in said if own_words(one, GERMAN) == one]
    said += [one["rule"] for one in members["record"].get("changes", ()) if "rule" in one]
    return tuple(sorted(said, key=len, reverse=True))


@pytest.mark.parametrize("verdict", sorted(good()))
def test_a_page_in_german_has_no_word_of_ours_in_english(verdict: str) -> None:
    content = good()[verdict]
    data = of_others(content)
    page = to_html(content, GERMAN)
    assert '<html lang="de">' in page
    assert in_english("\n".join(Read(page).texts), *data) == []
    whole = page.partition('<section class="view" id="file"')[0]
    audit = re.sub(
        "<pre.*?</pre>|<code.*?</code>", "", whole.partition('id="audit"')[2], flags=re.DOTALL
    )
    texts = re.sub("<[^>]+>", "\n", audit)
    assert in_english(texts, *data, "CONFIG", "DATABASE", "not one snapshot") == []
    on_paper = paper(account_of(content, GERMAN))
    assert in_english("\n".join(Read(on_paper).texts), *data) == []
    markdown = to_markdown(content, GERMAN).partition("## Regeln")[0]
    assert in_english(re.sub("`[^`]*`", "", markdown), *data) == []


def test_german_counts_one_as_one_and_writes_numbers_and_days_as_in_germany() -> None:
    pages = [to_html(one, GERMAN) for one in good().values()]
    for page in pages:
        assert not re.search(ONE, page.partition('id="file"')[0])
    proved = said(to_html(good()["proved"], GERMAN))
    assert "31.01.2026" in proved
    assert "2026-01-31" not in proved
    assert "Annahmen Keine." in proved
    assert GERMAN.counted(1, "more row") == "1 weitere Zeile"
    assert GERMAN.counted(2, "more row") == "2 weitere Zeilen"
    assert GERMAN.counted(1, "more reason") == "1 weiterer Grund"
    assert GERMAN.counted(1_000, "step") == "1.000 Schritte"


def test_a_page_in_german_has_the_sentences_and_the_words_of_rules_in_german() -> None:
    with Session(ROOT / "examples" / "lending", cache=False) as session:
        content = session.prove("approved(A104)").certificate
        turned = session.prove("approved(A102)", counterfactuals=True).certificate
    page = said(to_html(content, GERMAN))
    assert "Antrag A104 wird nicht bewilligt" in page
    assert "Was sie hier fragt, in ihren Worten: „Das Einkommen von 1.700 $ ist" in page
    changed = said(to_html(turned, GERMAN))
    assert "Monthly 252 statt 310 (58 weniger), wo gilt: " in changed
    assert "Ohne diesen Eintrag: " in changed
    assert "in place of" not in changed.partition("Bescheinigung")[0]
    assert "Regel CRE1 scheitert an jedem dieser" in page
    assert re.search(r"um [0-9.,]+ höher würde genügen", page)
    assert "application A104" not in page.partition("Als Quelle nennt sie")[0]
    assert (
        in_english(page.partition("Als Quelle nennt sie")[0], "customer care", "credit policy")
        == []
    )


@pytest.mark.parametrize(
    ("told", "german"),
    [
        ("entry 2 of the log, after sha256:ab12", "Eintrag 2 des Protokolls, nach sha256:ab12"),
        (
            "the time limit of 5 seconds was reached; `seconds` of `limits` in c raises it",
            "die Zeitgrenze von 5 Sekunden wurde erreicht; `seconds` von `limits` in c hebt sie",
        ),
        ("the limit of 1,000 rows was reached", "die Grenze `rows` von 1.000 wurde erreicht"),
        ("it does not know", "es weiß es nicht"),
        ("user anna says blocked(C001)", "Person anna sagt: blocked(C001)"),
        (
            "user anna says t(C1), and the database and tier crm did not answer for t",
            "Person anna sagt: t(C1), und ohne Antwort über t: die Datenbank und Stufe crm",
        ),
        (
            "conflict: database s says t(C1, a), user b says t(C1, b) 2 times: the first counts",
            "Datenbank s sagt: t(C1, a), Person b sagt: t(C1, b) 2-mal: das Erste zählt",
        ),
        (
            "database s: query of t, column d (declared Date) is not an integer [C0525]",
            "Datenbank s: Anfrage an t, Spalte d (deklariert Date) ist keine ganze Zahl [C0525]",
        ),
        (
            "it gives more than 1,000 rows [C0522]; `rows` of `limits` in c allows more",
            "sie gibt mehr als 1.000 Zeilen [C0522]; `rows` von `limits` in c erlaubt mehr",
        ),
        (
            "finance declares that no fact of partner is missing",
            "finance erklärt, dass keine Tatsache von partner fehlt",
        ),
        (
            "rule D1 holds, which is only proposed: a(?x) :- b(?x).",
            "Regel D1 gilt, die nur vorgeschlagen ist: a(?x) :- b(?x).",
        ),
        (
            "it is asked; the source gives 2 rows for one key of t: none counts",
            "it is asked; die Quelle gibt 2 Zeilen für einen Schlüssel von t: keine zählt",
        ),
        ("supposed: there is no t(C1)", "angenommen: es gibt kein t(C1)"),
        # What somebody else worded is theirs, also where words of ours are in it.
        ("he says: it does not know", "he says: it does not know"),
    ],
)
def test_texts_of_ours_in_a_certificate_are_in_german_as_a_whole(told: str, german: str) -> None:
    assert own_words(told, GERMAN) == german
    assert own_words(told) == told


def test_the_entry_of_the_log_and_the_tiers_are_in_german() -> None:
    members = json.loads(good()["proved"])
    place = "entry 2 of the log, after sha256:" + 64 * "0"
    members["header"] |= {"decision": place, "asked_by": "alice"}
    content = finished(members)
    page = to_html(content, GERMAN)
    entry = "(Protokoll der Entscheidungen: Eintrag 2 des Protokolls, nach sha256:"
    assert entry in said(page)
    audit = page.partition('id="audit"')[2].partition('id="file"')[0]
    assert "<dt>Stufe und Herkunft<dd>Datenbank, Datenbank (DATABASE)" in audit
    assert "<dt>Entscheidung<dd>Eintrag 2 des Protokolls" in audit
    assert "<dt>Tier and origin<dd>database, DATABASE" in to_html(content)


def test_rows_that_contradict_each_other_stand_apart_in_german_as_well(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,name\nann,gold\nann,silver\n", encoding="utf-8")
    (tmp_path / "constat.yaml").write_text(
        "project: t\ndatabases: {f: {files: {t: t.csv}}}\nrules: [t.dl]\n", encoding="utf-8"
    )
    (tmp_path / "t.dl").write_text(
        '@[key = "who"] .decl tier(who: symbol, name: symbol)\n'
        '.input tier(source = "f", query = "SELECT who, name FROM t")\n'
        '.decl gold(who: symbol)\ngold(?w) :- tier(?w, "gold").\n',
        encoding="utf-8",
    )
    with Session(tmp_path, cache=False) as session:
        content = session.prove("gold(ann)").certificate
    assert "Rows that contradict each other" in to_html(content)
    page = said(to_html(content, GERMAN))
    assert "Zeilen, die einander widersprechen" in page
    assert "Zeilen für einen Schlüssel von tier: keine zählt" in page


def test_a_page_of_an_open_row_and_of_an_open_total_is_in_german(tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("id,size,price\n1,,5\n2,3,\n", encoding="utf-8")
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {list: {files: {part: part.csv}}}\n", encoding="utf-8"
    )
    (tmp_path / "r.dl").write_text(
        ".decl part(id: number, @[null = maybe] size: number, @[null = maybe] price: number)\n"
        '.input part(source = "list", query = "SELECT id, size, price FROM part")\n'
        ".decl large(id: number)\n"
        "large(?id) :- part(id = ?id, size = ?size, price = ?price), ?size > ?price.\n"
        ".decl worth(total: number)\n"
        "worth(?total) :- ?total = sum ?price : { part(id = _, size = _, price = ?price) }.\n",
        encoding="utf-8",
    )
    with Session(tmp_path, cache=False) as session:
        pages = [said(to_html(session.prove(goal).certificate, GERMAN)) for goal in OPEN_GOALS]
    for page in pages:
        assert "UNGEKLÄRT" in page
        first = page.partition("Bescheinigung Alles auf dieser Seite")[0]
        assert in_english(first.replace("Skripte sind", ""), "part", "list") == []


OPEN_GOALS = ("large(1)", "worth(?total)")


def test_what_the_script_of_a_page_says_is_in_german_where_the_page_is() -> None:
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    said_by_it = set(re.findall(r'say\("([^"]+)"\)', script))
    page = to_html(good()["proved"], GERMAN)
    words = json.loads(unescape(re.findall(r'data-words="([^"]+)"', page)[0]))
    assert said_by_it <= set(words)
    assert set(words) - said_by_it == {one.replace("_", " ") for one in VERDICTS}
    assert in_english("\n".join(words.values())) == []
    assert "data-words" not in to_html(good()["proved"])
