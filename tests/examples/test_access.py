"""The payments department: what its documentation says, and the rules against plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from constat import Session, Verdict
from tests.examples.projects import copy_example, database_of, dump, readme_goals, sql

pytestmark = [pytest.mark.sampled(2), pytest.mark.examples]

PROVED, DISPROVED = Verdict.PROVED, Verdict.DISPROVED

FOUR_EYES = "four eyes on payments"
TOLD = [
    ('role_conflict(anna, "four eyes on payments", payment_creator, payment_approver)', PROVED),
    ('open_breach(anna, "four eyes on payments")', PROVED),
    ("conflicting_role(head_of_finance, ?constraint)", PROVED),
    ("conflicting_role(team_lead, ?constraint)", Verdict.DISPROVED_UNDER),
    ("permitted(chen, approve, payment)", PROVED),
    ("permitted(diego, approve, payment)", DISPROVED),
    ("permitted(boris, create, vendor)", DISPROVED),
    ("permitted(elif, write, ledger)", DISPROVED),
    ("can_approve_own(anna, R001)", PROVED),
    ("approved_own(anna, R001)", PROVED),
    ("approved_own(boris, R002)", DISPROVED),
    ("empty_delegation(chen, diego, treasurer)", PROVED),
    ("redundant_grant(chen, read, ledger)", PROVED),
    ("redundant_assignment(chen, reader)", PROVED),
    ("unused_permission(anna, approve, payment, ?since)", PROVED),
    ("unused_permission(anna, create, payment, ?since)", DISPROVED),
    ("orphan_account(batch7)", PROVED),
    ("dormant_account(diego, 91)", PROVED),
    ("dormant_account(chen, ?idle)", DISPROVED),
    ("lingering_assignment(elif, accountant)", PROVED),
    ("unauthorised_activation(S2, controller, diego)", PROVED),
    ("session_permits(S1, create, payment)", PROVED),
    ("session_permits(S1, approve, payment)", DISPROVED),
    ("session_conflict(S1, ?constraint, ?role, ?other)", Verdict.UNRESOLVED),
    ("idle_role(archivist)", PROVED),
    ("circular_role(?role)", DISPROVED),
]

HOLDS = """
below AS (
    SELECT senior_id AS senior, junior_id AS junior FROM role_hierarchy
    UNION SELECT below.senior, junior_id FROM below
    JOIN role_hierarchy ON senior_id = below.junior),
member AS (
    SELECT account_id AS user, role_id AS role FROM assignments
    UNION SELECT account_id, junior FROM assignments JOIN below ON senior = role_id),
lent AS (
    SELECT borrower_id AS user, role_id AS role FROM delegations
    JOIN member ON member.user = lender_id AND member.role = role_id
    WHERE '2026-06-30' BETWEEN first_day AND last_day AND lender_id <> borrower_id),
holds AS (
    SELECT * FROM member UNION SELECT * FROM lent
    UNION SELECT user, junior FROM lent JOIN below ON senior = role),
permits AS (
    SELECT user, operation, object FROM holds JOIN role_permissions ON role_id = role
    UNION SELECT account_id, operation, object FROM direct_permissions
    EXCEPT SELECT account_id, operation, object FROM prohibitions WHERE account_id IS NOT NULL
    EXCEPT SELECT user, operation, object FROM holds JOIN prohibitions ON role_id = role),
allowed AS (
    SELECT permits.* FROM permits JOIN accounts ON accounts.id = user WHERE state = 'on')
"""
# Each query with the columns in the order in which their names are first written.
QUERIES = [
    ("holds_role(?user, ?role)", "SELECT * FROM holds"),
    ("permitted(?user, ?operation, ?object)", "SELECT * FROM allowed"),
    (
        'role_conflict(?user, "four eyes on payments", ?role, ?other)',
        (
            "SELECT a.user, a.role, b.role FROM holds a JOIN holds b ON a.user = b.user"
            " WHERE a.role = 'payment_creator' AND b.role = 'payment_approver'"
        ),
    ),
    (
        'role_conflict(?user, "custody apart from records", _, _)',
        (
            "SELECT a.user FROM holds a JOIN holds b ON a.user = b.user"
            " WHERE a.role = 'cash_keeper' AND b.role = 'ledger_keeper'"
        ),
    ),
    (
        'permission_conflict(?user, "vendor fraud", _, _, _, _)',
        (
            "SELECT a.user FROM allowed a JOIN allowed b ON a.user = b.user"
            " WHERE a.operation = 'create' AND a.object = 'vendor'"
            " AND b.operation = 'approve' AND b.object = 'payment'"
        ),
    ),
    (
        'role_set_conflict(?user, "purchase to pay", ?held)',
        (
            "SELECT user, COUNT(*) FROM holds JOIN accounts ON accounts.id = user WHERE role IN"
            " ('requester', 'receiver', 'payment_creator', 'payment_approver')"
            " GROUP BY user HAVING COUNT(*) >= 3"
        ),
    ),
    (
        "can_approve_own(?user, ?request)",
        (
            "SELECT requester_id, requests.id FROM requests JOIN allowed ON user = requester_id"
            " AND operation = 'approve' AND allowed.object = requests.object"
        ),
    ),
    (
        "approved_own(?user, ?request)",
        (
            "SELECT approver_id, request_id FROM approvals"
            " JOIN requests ON requests.id = request_id WHERE approver_id = requester_id"
        ),
    ),
    (
        "approved_without_permission(?user, ?request)",
        (
            "SELECT approver_id, request_id FROM approvals"
            " JOIN requests ON requests.id = request_id"
            " WHERE (approver_id, 'approve', object) NOT IN (SELECT * FROM allowed)"
        ),
    ),
    (
        "orphan_account(?user)",
        (
            "SELECT id FROM accounts WHERE state = 'on'"
            " AND id NOT IN (SELECT account_id FROM staff WHERE left_on IS NULL)"
        ),
    ),
    (
        "dormant_account(?user, ?idle)",
        (
            "SELECT id, CAST(julianday('2026-06-30') - julianday(last_login) AS INTEGER)"
            " FROM accounts WHERE state = 'on' AND last_login < date('2026-06-30', '-90 days')"
        ),
    ),
    (
        "unused_permission(?user, ?operation, ?object, _)",
        (
            "SELECT * FROM allowed EXCEPT SELECT account_id, operation, object FROM usage_log"
            " WHERE day >= '2026-01-01'"
        ),
    ),
    (
        "redundant_assignment(?user, ?role)",
        (
            "SELECT a.account_id, a.role_id FROM assignments a"
            " JOIN assignments b USING (account_id)"
            " JOIN below ON senior = b.role_id AND junior = a.role_id"
        ),
    ),
    (
        "lingering_assignment(?user, ?role)",
        (
            "SELECT account_id, role_id FROM assignments JOIN accounts ON accounts.id = account_id"
            " WHERE state = 'off'"
        ),
    ),
    (
        "idle_role(?role)",
        "SELECT id FROM roles WHERE id NOT IN (SELECT role FROM holds)",
    ),
    (
        'conflicting_role(?holder, "four eyes on payments")',
        (
            "SELECT a.senior FROM below a JOIN below b ON a.senior = b.senior"
            " WHERE a.junior = 'payment_creator' AND b.junior = 'payment_approver'"
        ),
    ),
]


@pytest.fixture(scope="module")
def department(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("access", "access-control", tmp_path_factory.mktemp("access"))


@pytest.fixture(scope="module")
def session(department: Path) -> Iterator[Session]:
    with Session(department) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_of_the_department_is_as_told(
    department: Path, goal: str, verdict: Verdict
) -> None:
    with Session(department) as session:
        result = session.prove(goal)
    with Session(department) as reader:
        leaves = reader.verify_source(result.certificate)
    assert result.verdict is verdict
    assert (leaves.report.accepted, leaves.report.verdict) == (True, verdict.value)
    assert leaves.drift == ()


@pytest.mark.parametrize(("query", "oracle"), QUERIES, ids=[query for query, _ in QUERIES])
def test_the_answers_of_a_query_are_those_of_plain_sql(
    session: Session, department: Path, query: str, oracle: str
) -> None:
    expected = sql(database_of(department), f"WITH RECURSIVE {HOLDS} {oracle}")
    rows = session.query(query).rows
    assert {row.values for row in rows.only([PROVED, Verdict.PROVED_UNDER])} == expected
    assert expected


def test_the_proof_of_a_conflict_shows_both_chains_of_roles(session: Session) -> None:
    tree = session.prove(f'role_conflict(anna, "{FOUR_EYES}", ?role, ?other)').tree
    rows = {step.fact.partition(" = ")[0] for step in tree.steps if step.kind == "fact"}
    assert rows >= {
        "assigned(user=anna, role=team_lead)",
        "includes(senior=team_lead, junior=payment_clerk)",
        "includes(senior=payment_clerk, junior=payment_creator)",
        "assigned(user=anna, role=controller)",
        "includes(senior=controller, junior=payment_approver)",
    }


def test_a_count_of_roles_rests_on_the_word_that_the_set_is_complete(session: Session) -> None:
    result = session.prove('role_set_conflict(farid, "purchase to pay", 3)')
    assert result.verdict is Verdict.PROVED_UNDER
    assert ("closure", "role_set") in {(one.kind, one.subject) for one in result.assumptions}


def test_an_acceptance_that_still_stands_closes_the_breach(department: Path) -> None:
    configuration = department / "constat.yaml"
    text = configuration.read_text(encoding="utf-8")
    earlier = text.replace("review_day: 2026-06-30", "review_day: 2026-06-29")
    assert earlier != text
    configuration.write_text(earlier, encoding="utf-8")
    try:
        with Session(department) as session:
            verdict = session.prove(f'open_breach(anna, "{FOUR_EYES}")').verdict
    finally:
        configuration.write_text(text, encoding="utf-8")
    assert verdict is DISPROVED


def test_two_builds_of_the_department_hold_the_same_rows(tmp_path: Path, department: Path) -> None:
    again = copy_example("access", "access-control", tmp_path)
    assert dump(database_of(again)) == dump(database_of(department))


@pytest.mark.parametrize("goal", readme_goals("access"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
