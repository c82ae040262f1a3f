"""The report as text: nothing from outside, everything in it, at any size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from constat.proof.export.account import account_of
from constat.proof.export.markdown import to_markdown
from constat.proof.export.pictures import to_svg
from constat.proof.export.steps import RULE
from constat.proof.levels import LEVEL_WORDS
from constat.proof.report.explanation import opening
from constat.proof.report.markup import level_of
from constat.proof.report.page import sections, to_html
from constat.proof.report.pdf import paper
from tests.check.catalog import GOOD
from tests.check.catalog import good as good_certificate
from tests.proof.asking import VIP, Table, analysed, ask, certificate, vip_tables
from tests.report.certificates import (
    PAYLOADS,
    VERDICTS,
    chain,
    deep,
    good,
    hostile_everywhere,
    hostile_values,
    many,
    vip,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_BYTES = 330_000
VOID = {"meta", "br", "link", "img", "input", "base"}
# HTML closes these by itself where the next one begins.
SELF_CLOSING = {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody"}


class Outline(HTMLParser):
    """Reads a page: its elements in order, and the text of each element with an id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.certificate: list[str] = []
        self.inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.raw:
            self.inside = tag
            self.raw[tag].append("")
        elif dict(attrs).get("id") == "certificate":
            self.inside = "certificate"
        if tag not in VOID | SELF_CLOSING:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""
        if tag not in SELF_CLOSING:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.inside in self.raw:
            self.raw[self.inside][-1] += data
        elif self.inside == "certificate":
            self.certificate.append(data)
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def page_of(name: str) -> bytes:
    if name == "values":
        return hostile_values()
    if name == "sums":
        return many(2, orders=12)
    if name == "everywhere":
        return hostile_everywhere(" ".join(PAYLOADS))
    return good()[name]


every_page = pytest.mark.parametrize("name", [*VERDICTS, "values", "sums", "everywhere"])


@every_page
def test_a_page_is_whole_and_holds_the_certificate(name: str) -> None:
    content = page_of(name)
    outline = Outline(to_html(content))
    assert outline.open == []
    assert "".join(outline.certificate).encode() == content
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"] for tag, a in outline.tags if tag == "a" and "href" in a}
    assert {link for link in links if link not in {f"#{one}" for one in ids}} == set()


@every_page
def test_nothing_runs_but_what_the_policy_names_by_its_hash(name: str) -> None:
    outline = Outline(to_html(page_of(name)))
    policy = next(a["content"] or "" for _, a in outline.tags if a.get("http-equiv"))
    named = re.findall(r"'sha256-([^']+)'", policy)
    found = [*outline.raw["style"], *outline.raw["script"]]
    hashed = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in found]
    assert named == hashed
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, attributes in outline.tags:
        assert tag not in {"img", "iframe", "object", "embed", "base", "link", "form", "input"}
        assert not any(one.startswith("on") or one in {"style", "src"} for one in attributes)


def test_equal_certificates_give_equal_pages() -> None:
    assert to_html(good()["proved"]) == to_html(good()["proved"])


def test_every_value_every_comparison_and_every_rule_is_on_the_page() -> None:
    content = vip("is_vip(C1)")
    text = Outline(to_html(content)).text
    members = json.loads(content)
    account = account_of(content)
    for node in members["nodes"]:
        for value in node["fact"][1]:
            assert value in text
        for value in node.get("bind", ()):
            assert value is None or value in text
    for step in account.steps:
        if step.kind == RULE:
            assert all(one.sentence in text for one in account.tests(step))
    for shown in account.document.rule_texts:
        assert shown in text
    for source in members["sources"]:
        assert source["hash"] in text
        assert source["query"] in text


def test_a_threshold_that_a_template_leaves_out_is_said_all_the_same() -> None:
    members = json.loads(vip("is_vip(C1)"))
    members["rules"][1]["says"] = "{c} is simply one"
    text = Outline(to_html(json.dumps(members).encode())).text
    assert "Because C1 is simply one." in text
    assert "Threshold: revenue of C1 is 150,060, more than the threshold 100,000." in text


def test_whose_word_it_is_stands_at_the_boundary() -> None:
    text = Outline(to_html(good()["under"])).text
    assert "rest, directly or through others, on a word that was taken" in text
    assert "Of 3 steps 1 follow" in text
    assert "alice" in text
    assert "a fact somebody stated; the verdict counts on it; confidence 0.9" in text


def test_what_was_declared_complete_is_marked_where_it_is_needed() -> None:
    content = good()["disproved_under"]
    account = account_of(content)
    kinds = {account.steps[at].kind for at, taken in enumerate(account.taken) if taken}
    assert kinds == {"closure"}
    outline = Outline(to_html(content))
    assert "It is not so that C2 is vip, if an assumption is accepted." in outline.text
    assert "bob vouches that no tier is missing" in outline.text
    assert any(a.get("class") == "closure assumed" for tag, a in outline.tags if tag == "li")


def test_the_assumptions_of_a_certificate_inside_are_those_of_its_facts() -> None:
    nested = [good_certificate(name) for name in sorted(GOOD)]
    under = next(
        one.data() for one in nested if one.tree.get("proofs") and one.tree["header"]["under"]
    )
    account = account_of(under)
    members = account.document.members
    for at, step in enumerate(account.steps):
        for source in step.sources if step.kind == "fact" else ():
            proof = members["sources"][source]["proof"]
            if proof:
                assert set(proof["assumptions"]) <= set(account.taken[at])
    assert any(account.taken)


def test_an_undecided_page_says_what_is_missing_and_how_far_each_rule_gets() -> None:
    text = Outline(to_html(good()["unresolved"])).text
    assert "tier(C2, gold)" in text
    assert "It would, if \u2018tier\u2019 holds for c C2 and t gold" in text
    assert "Rule 1 of vip ✗ does not give it" in re.sub(r"\s+", " ", text)
    assert "Apart by" in text


def test_a_disproved_page_says_where_each_rule_ends() -> None:
    text = Outline(to_html(good()["disproved"])).text
    assert "Revenue of C2 is 10, not more than the threshold 100,000" in text
    assert "It is not so that \u2018tier\u2019 holds for c C2 and t gold" in text


def test_rows_of_a_large_sum_are_counted_not_told() -> None:
    outline = Outline(to_html(many(1, orders=30)))
    assert "25 more rows of sums are counted, not told." in outline.text
    assert "And 25 more rows, which the certificate lists." in outline.text
    assert "o29" in outline.text


@every_page
def test_the_first_screen_says_what_was_decided_when_and_who_approved_it(name: str) -> None:
    account = account_of(page_of(name))
    screen = opening(account)
    heading = re.search("<h1 id=.question.>(.*?)</h1>", screen)
    assert heading is not None
    assert not heading[1].startswith(("Yes", "No"))
    assert re.search(r"Written on <time>[0-9-]{10} [0-9:]{8} UTC</time> by constat", screen)
    # A name with a point is one of ours, and nobody has to answer for that rule.
    rules = [r for r in account.document.rules if r["body"] and "." not in r["head"][0]]
    assert ("Nobody approved this rule." in screen) is bool(rules)
    # A refusal is proved, too: neither verdict has a colour or a sign of approval.
    verdict = account.document.header["verdict"]
    if verdict in {"PROVED", "DISPROVED"}:
        assert 'class="opening settled"' in screen
    assert not re.search(r'class="[^"]*\b(good|bad)\b|[✓✗]', screen)
    assert "constat what-if" not in screen


def test_what_is_certain_is_not_said_and_what_is_not_is_explained() -> None:
    assert "How certain" not in opening(account_of(good()["proved"]))
    screen = opening(account_of(good()["under"]))
    assert "<b>0.9</b>, where 1 is certain. A conclusion is as certain as the least" in screen


def test_the_deciding_rule_stands_with_its_people_and_those_below_are_folded() -> None:
    members = json.loads(vip("is_vip(C1)"))
    for rule in members["rules"]:
        if rule["body"]:
            rule |= {"author": "ada", "owner": "sales", "version": "7"}
    screen = opening(account_of(json.dumps(members).encode()))
    assert "1 of vip</a>, version 7, written by ada and owned by sales. <b>Nobody" in screen
    # The rule below sums, so it may be what decides.
    assert "more rule" not in screen


LAYERS = """
.decl found(n: number)
.decl middle(n: number)
.decl goal(n: number)
goal(?n) :- middle(?n).
@[says = "{n} is at least 5"]
middle(?n) :- found(?n)%s.
"""


@pytest.mark.parametrize("compared", ["", ", ?n >= 5", ", ?n > 5", ", 5 <= ?n", ", 5 < ?n"])
def test_a_rule_that_compares_is_never_folded_and_held_against_its_words(compared: str) -> None:
    program = analysed(LAYERS % compared)
    screen = opening(account_of(certificate(ask(program, "goal(7)", {"found": Table(((7,),))}))))
    shown, _, folded = screen.partition("<details><summary>")
    assert ("1 more rule it rests on. Nobody approved it." in folded) is (not compared)
    assert ("1 of middle</a>" in shown) is bool(compared)
    unlike = "Its words and what it requires differ:" in shown
    assert unlike is (compared in {", ?n > 5", ", 5 < ?n"})
    assert ("the words say “at least”, and what is checked is that" in shown) is unlike


@pytest.mark.parametrize(
    ("compared", "least"),
    [
        ("?n >= 5", "more than 2 less"),
        ("?n > 5", "2 less"),
        ("?n < 9", "2 more"),
        ("?n <= 7", "any more"),
    ],
)
def test_a_yes_says_which_change_turns_it_and_on_which_facts_it_rests(
    compared: str, least: str
) -> None:
    program = analysed(LAYERS % f", {compared}")
    page = opening(account_of(certificate(ask(program, "goal(7)", {"found": Table(((7,),))}))))
    change = page[page.index("What would change it") : page.index("By whose rule")]
    assert f": {least} turns it." in change
    assert "What the sources say: \u2018found\u2019 holds for 7." in change


ABSENT = """
.decl member(n: number)
.decl joined(n: number, years: number)
.decl loyal(n: number)
.decl goal(n: number)
@[says = "member {n} is not loyal"]
goal(?n) :- member(?n), !loyal(?n).
@[id = LOYAL] @[says = "{n} has been there for {years} years, at least 5"]
loyal(?n) :- joined(?n, ?years), %s.
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_what_has_to_be_absent_is_told_with_the_rule_that_does_not_give_it(*, wrong: bool) -> None:
    program = analysed(ABSENT % ("?years <= 5" if wrong else "?years >= 5"))
    years = 7 if wrong else 3
    tables = {"member": Table(((1,),)), "joined": Table(((1, years),))}
    page = to_html(certificate(ask(program, "goal(1)", tables)))
    shown = page[page.index("What would change it") : page.index("By whose rule")]
    said = f"joined of 1 is {years}, {'more' if wrong else 'less'} than 5"
    assert f"It is not so that \u2018loyal\u2019 holds for 1: {said}." in shown
    whose = page[page.index("By whose rule") : page.index("Assumptions")]
    assert "LOYAL</a>" in whose
    assert ("Its words and what it requires differ:" in whose) is wrong
    assert f"Because {said}." in page


def test_the_day_that_the_facts_are_of_is_another_than_that_of_the_decision() -> None:
    members = json.loads(vip("is_vip(C1)"))
    members["header"]["as_of"] = "2026-01-31T00:00:00Z"
    members["header"] |= {"asked_by": "j.doe", "decision": "3"}
    screen = opening(account_of(json.dumps(members).encode()))
    assert (
        "The facts are those that were recorded on <time>2026-01-31 00:00:00 UTC</time>" in screen
    )
    assert "Asked by j.doe (log of decisions: 3)." in screen


# ---------------------------------------------------------------------- size and depth


@pytest.mark.parametrize(
    ("write", "nodes"), [(lambda: chain(100), 200), (lambda: many(67), 199)], ids=["path", "sums"]
)
def test_a_report_of_two_hundred_nodes_is_small(write: Callable[[], bytes], nodes: int) -> None:
    content = write()
    assert len(json.loads(content)["nodes"]) == nodes
    assert len(to_html(content).encode()) <= MOST_BYTES


def test_a_proof_of_any_depth_is_told_as_a_list_and_not_drawn() -> None:
    outline = Outline(to_html(deep(1_100)))
    assert "The proof is 1,101 steps deep, so it is told as a list" in outline.text
    assert "there is none; the explanation is the outline of the whole" in outline.text
    ids = [attributes.get("id") or "" for tag, attributes in outline.tags if tag == "li"]
    steps = [one for one in ids if re.fullmatch(r"s\d+", one)]
    assert len(steps) == 2_200


def test_what_is_folded_at_first_is_counted() -> None:
    html = to_html(chain(9))
    assert re.search(r"18 steps, (\d+) of them folded", html)
    closed = html.split("<details>")[1:]
    hidden = {number for part in closed for number in re.findall(r"<li id=s(\d+)", part)}
    counted = re.search(r"18 steps, (\d+) of them folded", html)
    assert counted is not None
    assert int(counted[1]) > 0
    assert len(hidden) >= int(counted[1])


# ---------------------------------------------------------------------- the scripts


@pytest.mark.parametrize(
    "damage", [b"", b"[]", b"{}", b'{"format": "constat-cert/1"}', b'{"format": "constat-cert/2"}']
)
def test_what_is_no_certificate_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="no certificate"):
        to_html(damage)


@pytest.mark.parametrize("member", ["nodes", "rules", "facts", "sources", "coverage", "closure"])
def test_a_member_of_another_shape_is_refused(member: str) -> None:
    members = json.loads(vip("is_vip(C2)", tier=Table(silent=True))) | {member: [[{}], {"x": 1}]}
    with pytest.raises(ValueError):
        to_html(json.dumps(members).encode())


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  JSON
    if isinstance(value, int):
        yield path
    if isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_in(one, (*path, name))


@pytest.mark.parametrize("name", ["proved", "under", "unresolved"])
def test_a_text_in_place_of_a_number_is_refused_or_written_as_text(name: str) -> None:
    original = good()[name]
    for path in numbers_in(json.loads(original)):
        members = json.loads(original)
        place = members
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = "<script>1</script>"
        content = json.dumps(members).encode()
        try:
            html = "".join(part for *_, part in sections(account_of(content)))
            html += opening(account_of(content)) + to_svg(content)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
        assert "<script" not in html, path


# ---------------------------------------------------------------------- every construct


def written(content: bytes) -> None:
    account = account_of(content)
    for name, _, html in sections(account):
        outline = Outline(html)
        assert outline.open == [], name
    told = {account.place(step) for step in account.steps}
    assert told >= set(range(len(account.document.nodes)))
    assert to_markdown(content)


@pytest.mark.parametrize("name", sorted(GOOD)[::6])
def test_every_construct_is_told(name: str) -> None:
    written(good_certificate(name).data())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_construct_without_exception_is_told(name: str) -> None:
    written(good_certificate(name).data())


def test_a_certificate_inside_is_named() -> None:
    nested = next(name for name in sorted(GOOD) if good_certificate(name).tree.get("proofs"))
    tree = good_certificate(nested).tree
    text = Outline(to_html(good_certificate(nested).data())).text
    assert tree["proofs"][0]["identity"] in text
    assert "another certificate" in text


@pytest.mark.parametrize("name", VERDICTS)
def test_each_absence_and_each_fold_is_explained_with_its_level(name: str) -> None:
    account = account_of(good()[name])
    levels = sorted(
        LEVEL_WORDS[level_of(account, place)]
        for place, step in enumerate(account.steps)
        if step.level
    )
    assert sorted(re.findall(r"Complete: ([a-z ]+)\.", to_html(good()[name]))) == levels
    assert ("somebody declares that nothing is missing" in levels) is (name == "disproved_under")


def test_the_weakest_links_that_are_left_out_are_counted() -> None:
    body = ", ".join(f"item({number})" for number in range(7))
    program = analysed(f".decl item(n: number)\n.decl full()\nfull() :- {body}.\n")
    said = Table(said=tuple(((number,), "0.9") for number in range(7)))
    page = to_html(certificate(ask(program, "full()", {"item": said})))
    where = page[page.index("It is that of step") :]
    assert where[: where.index("</dd>")].endswith(" and 2 more.")


def test_a_page_says_what_a_rule_cites_and_an_approval_is_bound_to_it() -> None:
    law = "Act on Tiers, section 3(1), at https://example.org/act"
    cited = VIP.replace("is_vip(?c) :- revenue", f'@[cites = "{law}"]\nis_vip(?c) :- revenue')
    pages = []
    for text in (VIP, cited):
        content = certificate(ask(analysed(text), "is_vip(C1)", vip_tables()))
        account = account_of(content)
        texts = (paper(account), to_html(content), to_markdown(content))
        pages.append((account.document.rule_digests, *texts))
    (before, *without), (after, on_paper, html, markdown) = pages
    assert all("cites" not in one.lower() for one in without)
    for page in (on_paper, html):
        assert f"<p>It cites {law}.</p>" in page
        assert f"<dt>Cites<dd>{law}" in page
    assert "cites Act on Tiers, section 3(1), at https&#58;//example.org/act" in markdown
    assert len(set(after) - set(before)) == 1
