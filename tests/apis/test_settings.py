from __future__ import annotations

from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.project import load_project
from constat.project.apis import ApiSetting, plain_value
from constat.project.document import read_document

# The three APIs of the first description of the product, as it writes them.
SEED = """\
apis:
  # GraphQL - auto-introspects schema
  countries:
    type: graphql
    url: https://countries.trevorblades.com/graphql

  # OpenAPI - parses spec to discover endpoints
  petstore:
    type: openapi
    spec_url: https://petstore.swagger.io/v2/swagger.json

  # OpenAPI inline - for simple APIs without a spec file
  weather:
    type: openapi
    url: https://api.weather.gov
    spec_inline:
      openapi: "3.0.0"
      paths:
        /points/{lat},{lon}:
          get:
            operationId: getPoint
            parameters:
              - name: lat
                in: path
                required: true
"""


def apis(folder: Path, text: str, **environment: str) -> dict[str, ApiSetting]:
    (folder / "constat.yaml").write_text(text)
    return dict(load_project(folder, environment=environment).apis)


def codes(folder: Path, text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(ConstatError) as caught:
        apis(folder, text)
    return [(one.code, one.message, one.help) for one in caught.value.diagnostics]


def test_the_first_descriptions_own_apis_load_as_they_are_written(tmp_path: Path) -> None:
    found = apis(tmp_path, SEED)
    assert {name: one.kind for name, one in found.items()} == {
        "countries": "graphql",
        "petstore": "openapi",
        "weather": "openapi",
    }
    assert found["petstore"].spec_url is not None
    assert not found["petstore"].authority
    assert not found["petstore"].private
    operation = {
        "operationId": "getPoint",
        "parameters": [{"name": "lat", "in": "path", "required": True}],
    }
    assert found["weather"].spec_inline == {
        "openapi": "3.0.0",
        "paths": {"/points/{lat},{lon}": {"get": operation}},
    }


def test_a_secret_comes_from_the_environment_and_is_never_shown(tmp_path: Path) -> None:
    text = "apis: {crm: {spec_url: 'https://a.example/s', auth: {token: '${TOKEN}'}}}"
    found = apis(tmp_path, text, TOKEN="hush")["crm"]  # noqa: S106  a secret of the test
    assert found.secrets() == ("hush",)
    assert "hush" not in repr(found)
    written = text.replace("${TOKEN}", "hush-hush")
    ((code, message, hint),) = codes(tmp_path, written)
    assert code == "C0570"
    assert "hush" not in message + hint
    assert "${NAME}" in hint


@pytest.mark.parametrize(
    ("said", "code", "edit"),
    [
        ("{type: soap, url: 'https://a.example'}", "C0570", "openapi"),
        ("{type: graphql}", "C0570", "url"),
        ("{type: openapi, url: 'https://a.example'}", "C0570", "spec_url"),
        ("{spec_url: 'https://a.example', spec_file: a.json}", "C0570", "one of"),
        ("{spec_file: ../a.json}", "C0505", ""),
        ("{spec_url: 'ftp://a.example'}", "C0570", "https"),
        ("{spec_url: 'https://u:p@a.example'}", "C0570", "https"),
        ("{spec_file: a, url: 'http://a.example', auth: {token: '${T}'}}", "C0570", "https"),
        ("{spec_file: a, paging: {kind: cursor, parameter: c}}", "C0570", "next"),
        ("{spec_file: a, paging: sideways}", "C0570", "known"),
        ("{spec_file: a, rate: fast}", "C0570", "5/s"),
        ("{spec_file: a, headers: {Authorization: x}}", "C0570", "auth"),
        ("{spec_file: a, headers: {'a b': x}}", "C0570", ""),
        ("{spec_file: a, auth: {type: basic, user: a}}", "C0570", "password"),
        ("{spec_file: a, autority: true}", "C0503", "authority"),
    ],
)
def test_a_mistake_has_its_code_and_an_edit(
    tmp_path: Path, said: str, code: str, edit: str
) -> None:
    found = codes(tmp_path, f"apis: {{crm: {said}}}")
    assert found[0][0] == code
    assert edit in found[0][2]


def test_two_sources_have_two_names(tmp_path: Path) -> None:
    text = "databases: {crm: 'sqlite:///a'}\napis: {crm: {spec_file: a}}"
    assert codes(tmp_path, text)[0][:1] == ("C0570",)
    assert codes(tmp_path, "apis: {database: {spec_file: a}}")[0][:1] == ("C0570",)


def test_texts_of_an_inline_description_are_typed_as_json_has_them() -> None:
    text = "{a: true, b: 'true', c: 12, d: 1.5, e: null, f: 012, g: [no, -3], h: 1e3}"
    node = read_document(text.encode(), "t", [])
    assert node is not None
    assert plain_value(node) == {
        "a": True,
        "b": "true",
        "c": 12,
        "d": 1.5,
        "e": None,
        "f": "012",
        "g": ["no", -3],
        "h": "1e3",
    }
