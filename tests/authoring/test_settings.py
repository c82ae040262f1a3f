"""`authoring:` and `sub_plans:` of constat.yaml: bounds that hold, mistakes with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.project import AuthoringSetting, Project, SubPlanSetting, load_project

if TYPE_CHECKING:
    from pathlib import Path


def loaded(folder: Path, text: str) -> Project:
    (folder / "constat.yaml").write_text(f"project: p\n{text}\n")
    return load_project(folder)


def test_without_a_word_everything_is_bounded_and_nothing_is_planned(tmp_path: Path) -> None:
    project = loaded(tmp_path, "")
    assert project.authoring == AuthoringSetting()
    assert (project.authoring.rounds, project.authoring.variables) == (3, "strict")
    assert project.sub_plans == SubPlanSetting()
    assert project.sub_plans.predicates == ()


def test_every_setting_is_read(tmp_path: Path) -> None:
    project = loaded(
        tmp_path,
        "authoring:\n  rounds: 5\n  lookups: 20\n  variables: bare\n  queries: false\n"
        "  query_rows: 1000\n  facts: true\n  context: We sell boats.\n"
        "sub_plans: {predicates: [a, b, a], depth: 1}",
    )
    assert project.authoring == AuthoringSetting(
        rounds=5,
        lookups=20,
        variables="bare",
        context="We sell boats.",
        queries=False,
        query_rows=1000,
        facts=True,
    )
    assert project.sub_plans == SubPlanSetting(("a", "b"), 1)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("authoring: {rounds: 1000}", "C0860"),
        ("authoring: {lookups: 1000}", "C0860"),
        ("authoring: {variables: prolog}", "C0860"),
        (f"authoring: {{context: {'x' * 20_001}}}", "C0860"),
        ("sub_plans: {depth: 6}", "C0860"),
        ("authoring: {rounds: 0}", "C0504"),
        ("authoring: {queries: maybe}", "C0504"),
        ("authoring: {round: 3}", "C0503"),
        ("sub_plans: [a]", "C0504"),
    ],
)
def test_mistakes_have_a_place_and_a_code(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        loaded(tmp_path, text)
    (told,) = caught.value.diagnostics
    assert told.code == code
    assert told.span is not None
    assert told.span.source == "constat.yaml"
