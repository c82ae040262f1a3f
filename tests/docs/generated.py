"""Parts of the documents that are written from the code: `python -m tests.docs.generated`.

A document holds `<!-- part NAME -->` and `<!-- end -->`; what stands between is that of `PARTS`.
The test compares, the command writes them anew.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import pytest

import constat
from constat.analysis import attributes
from constat.diagnostics import ConstatError
from constat.diagnostics.catalogue import FOLDER
from constat.logic import program
from constat.logic.functors import signatures
from constat.logic.vocabulary import AGGREGATES, COMPARISONS, FUNCTIONS, Word
from constat.project import apis, load_project, settings
from constat.project.document import Table
from constat.project.documents import DocumentsSetting
from constat.project.loading import SCHEMA, TOP_LEVEL
from constat.project.packages import WantedPackage
from constat.project.reading import Sections
from constat.proof.levels import LEVEL_WORDS
from constat.server import operations
from constat.server.operations import ANYBODY, PERSON, TOKEN
from constat.session import StatedFacts
from constat.syntax import words
from tests.examples.shop import ROOT

_MARK: Final = re.compile(r"(<!-- part ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
Rows = Iterable[tuple[str, ...]]


def written_anew(text: str) -> str:
    """Give a document with all its parts as the code has them."""
    return _MARK.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}", text)


def documents() -> Iterator[Path]:
    for file in sorted((ROOT / "docs").rglob("*.md")):
        if _MARK.search(file.read_text(encoding="utf-8")):
            yield file


def _table(head: tuple[str, ...], rows: Rows) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines
    )


def _code(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _functions() -> str:
    def row(name: str, word: Word) -> tuple[str, ...]:
        shapes: dict[tuple[str, bool], list[str]] = {}
        for one in signatures(name):
            alone = len(signatures(name)) == 1
            same = set(one.parameters) == {one.result} and len(one.parameters) > 1 and not alone
            taken = "the same kind" if same else ", ".join(kind.value for kind in one.parameters)
            shapes.setdefault((one.result.value if not same else "that kind", one.variadic), [])
            shapes[one.result.value if not same else "that kind", one.variadic].append(
                one.result.value if same else taken
            )
        takes = "; ".join(
            f"{' or '.join(dict.fromkeys(taken))}{' ...' if more else ''} → {result}"
            for (result, more), taken in shapes.items()
        )
        fails = "" if word.total else "may fail"
        return f"`{name}`", word.meaning, takes, fails, "yes" if word.souffle else ""

    return _table(
        ("function", "what it gives", "takes → gives", "errors", "in stock Soufflé"),
        (row(name, word) for name, word in FUNCTIONS.items()),
    )


def _meanings(of: Mapping[str, str], head: str) -> str:
    return _table((head, "meaning"), ((f"`{name}`", text) for name, text in of.items()))


def _precedence() -> str:
    levels: dict[int, list[str]] = {}
    for sign, power in words.INFIX.items():
        levels.setdefault(power, []).append(sign)
    levels[words.PREFIX_POWER] = ["-", *sorted(words.PREFIX_WORDS)]
    rows = (
        (
            _code(levels[power]),
            "before a term" if power == words.PREFIX_POWER else "between terms",
        )
        for power in sorted(levels, reverse=True)
    )
    return _table(("operators, the tightest first", "place"), rows)


def _words() -> str:
    return f"{_code(sorted(words.RESERVED))}\n"


def _directives() -> str:
    read = _code(f".{one}" for one in sorted(words.DIRECTIVES))
    refused = _code(f".{one}" for one in sorted(words.REFUSED_DIRECTIVES))
    return f"Read: {read}.\nRefused, with exit code 78: {refused}.\n"


def _attributes() -> str:
    places = (
        ("a declaration `.decl`", attributes.OF_PREDICATES),
        ("a column", attributes.OF_COLUMNS),
        ("a type", attributes.OF_TYPES),
        ("a rule or fact", attributes.OF_RULES),
    )
    return _table(
        ("before", "attributes"), ((place, _code(sorted(names))) for place, names in places)
    )


_WHOLE: Final = """\
project: x
packages: {town: {from: town}}
databases: {shop: {uri: sqlite:///x.sqlite}}
apis: {web: {spec_file: web.yaml, paging: {parameter: page}, operations: {one: {}}}}
documents: {papers: {files: papers/}}
tiers: {crm: {factory: "a:b"}}
limits: {}
keys: {ada: {file: ada.pem, roles: [approver]}}
log: {}
record: {}
models: {named: {m: {model: m, prices: {}}}, budget: {question: {}, session: {}}, tape: {}}
authoring: {}
sub_plans: {}
review: {}
catalog: {}
explore: {}
memory: {}
engines: {spark: {remote: "sc://localhost:15002"}}
"""
_SETTINGS: Final = {
    "package `town`": WantedPackage,
    "database `shop`": settings.Database,
    "API `web`": apis.ApiSetting,
    "`paging` of API `web`": apis.PagingSetting,
    "operation `one` of API `web`": apis.OperationSetting,
    "documents `papers`": DocumentsSetting,
    "tier `crm`": settings.CustomTier,
    "`limits`": settings.Bounds,
    "key `ada`": settings.KeySetting,
    "`log`": settings.LogSetting,
    "`models`": settings.ModelsSetting,
    "model `m`": settings.ModelSetting,
    "`prices`": settings.Prices,
    "`tape`": settings.TapeSetting,
    "`authoring`": settings.AuthoringSetting,
    "`sub_plans`": settings.SubPlanSetting,
    "`review`": settings.ReviewSetting,
    "`catalog`": settings.CatalogSetting,
    "`explore`": settings.ExploreSetting,
    "`memory`": settings.MemorySetting,
    "`spark`": settings.SparkSetting,
}


def sections() -> dict[str, tuple[str, ...]]:
    """Give the tables that a configuration may have, with the keys that are read in each."""
    return {what: keys for what, keys, _ in _read_sections()}


def _read_sections() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Give each table that is read: how it is called, its keys, and where it stands."""
    found: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
    places: dict[int, tuple[str, ...]] = {}
    plain: Callable[..., Mapping[str, object]] = Sections.table

    def table(
        self: Sections, node: object, what: str, known: Iterable[str]
    ) -> Mapping[str, object]:
        if not places:
            places.update(_places(node, ()))
        names = tuple(known)
        found.setdefault(what, (what, names, places[id(node)]))
        return plain(self, node, what, names)

    with TemporaryDirectory() as place, patch.object(Sections, "table", table):
        (Path(place) / "constat.yaml").write_text(_WHOLE, encoding="utf-8")
        # What is left out on purpose is complained about, after all tables have been read.
        with pytest.raises(ConstatError):
            load_project(Path(place))
    return list(found.values())


def _places(node: object, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    yield id(node), path
    if isinstance(node, Table):
        for key, value in node.entries:
            yield from _places(value, (*path, key.text))


_ANY_NAME: Final = frozenset({"town", "shop", "web", "one", "papers", "crm", "ada", "m"})
_KINDS: Final = {bool: "boolean", int: ["integer", "string"], float: ["number", "string"]}


def configuration_schema() -> str:
    """Write the JSON Schema of `constat.yaml`, for editors."""
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema["title"] = "constat.yaml"
    schema["description"] = "The configuration of a project."
    for what, keys, path in _read_sections():
        place = schema
        for name in path:
            if name in _ANY_NAME:
                place = place.setdefault("additionalProperties", {})
            else:
                place = place.setdefault("properties", {}).setdefault(name, {})
        setting = _SETTINGS.get(what)
        fields = dataclasses.fields(setting) if setting is not None else ()
        defaults = {one.name: one.default for one in fields}
        texts = TOP_LEVEL if not path else {}
        properties = place.setdefault("properties", {})
        for key in keys:
            told: dict[str, Any] = {"description": texts[key]} if key in texts else {}
            if (kind := _KINDS.get(type(defaults.get(key)))) is not None:
                told |= {"type": kind, "default": defaults[key]}
            properties[key] = told | properties.get(key, {})
        # An address may stand for a database, a file for a tape; nothing for a table without keys.
        text = path[:1] == ("databases",) or path[-1:] == ("tape",)
        place["type"] = ["object", "string" if text else "null"]
        if path[:1] == ("documents",):
            place["type"] = ["object", "string", "array"]
        place["additionalProperties"] = False
        if setting is not None and path:
            place["description"] = " ".join((inspect.getdoc(setting) or "").split())
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _configuration() -> str:
    tables = sections()
    del tables["constat.yaml"]
    return "\n".join(_section(what, keys) for what, keys in tables.items())


def _section(what: str, keys: tuple[str, ...]) -> str:
    setting = _SETTINGS.get(what)
    title = what
    for name in ("`shop`", "`web`", "`one`", "`papers`", "`crm`", "`ada`"):
        title = title.replace(name, "NAME")
    text = f"### {title.replace('model `m`', 'model NAME').replace('`', '')}\n\n"
    if setting is None:
        return f"{text}Keys: {_code(keys)}.\n"
    defaults = {one.name: _default(one) for one in dataclasses.fields(setting)}
    about = " ".join((inspect.getdoc(setting) or "").split())
    rows = ((f"`{key}`", defaults.get(key, "")) for key in keys)
    return f"{text}{about}\n\n{_table(('key', 'without it'), rows)}"


def _default(field: dataclasses.Field[object]) -> str:
    value = field.default
    if value is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    simple = isinstance(value, bool | int | float | str) and value != ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if simple else ""


def _codes() -> str:
    def row(file: Path) -> tuple[str, ...]:
        title = file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"[`{file.stem}`](../{file.relative_to(ROOT)})", title

    return _table(("chapter", "what it is about"), map(row, sorted(FOLDER.glob("*.md"))))


_BUILT: Final = frozenset(
    {"aggregate", "atom", "compare", "declare", "function", "negated", "rule", "term"}
)


def _api() -> str:
    """Write the reference of the names that `import constat` gives, from their docstrings."""
    names = [name for name in constat.__all__ if not name.startswith("_")]
    named = {name: getattr(constat, name) for name in names}
    made = (f"- {_signed(name, getattr(program, name))}\n" for name in sorted(_BUILT))
    described = "\n".join(_described(name, value) for name, value in named.items())
    return f"{described}\n## Rules and goals: `constat.logic`\n\n{''.join(made)}"


def _source(value: Any) -> str:  # noqa: ANN401  classes and functions
    file = Path(inspect.getsourcefile(value) or "").relative_to(ROOT)
    return f"Source: [{file}](../{file})"


def _operations() -> str:
    rows = (
        (f"`POST {one.path}`", one.role + _ASKS[one.asks], one.summary, _code(one.takes))
        for one in operations()
    )
    return _table(("operation", "role", "what it does", "body"), rows)


_ASKS: Final = {ANYBODY: "", PERSON: ", a person", TOKEN: ", a person with a token"}


def _described(name: str, value: object) -> str:
    if not inspect.isclass(value):
        return f"### {name}\n\n{_signed(name, value)}\n\n{_source(value)}\n"
    bases = issubclass(value, Exception) or dataclasses.is_dataclass(value)
    head = f"`{name}{_signature(value)}`\n\n" if not bases and issubclass(value, _MADE) else ""
    text = f"### {name}\n\n{head}{inspect.getdoc(value) or ''}\n\n{_source(value)}\n\n"
    members = [
        f"- {_member(value, one, inspect.getattr_static(value, one))}\n"
        for one in dir(value)
        if not one.startswith("_") and not _inherited(value, one)
    ]
    if issubclass(value, constat.Session):
        members += _part_members("facts", StatedFacts)
    if issubclass(value, Enum):
        members = [f"- `{one.name}`: {one.value}\n" for one in value]
    return text + "".join(members)


def _part_members(name: str, value: type) -> list[str]:
    """Write what a part of a session offers, as it is called."""
    methods = inspect.getmembers(value, inspect.isfunction)
    return [f"- {_signed(f'{name}.{one}', given)}\n" for one, given in methods if one[0] != "_"]


_MADE: Final = (constat.Session, constat.AsyncSession)


def _inherited(value: type, name: str) -> bool:
    owner = next(one for one in value.__mro__ if name in vars(one))
    return not owner.__module__.startswith("constat") or not hasattr(
        inspect.getattr_static(value, name), "__doc__"
    )


def _member(owner: type, name: str, value: object) -> str:
    if isinstance(value, property | cached_property):
        return f"`{name}`: {_first(value)}"
    if inspect.isfunction(value):
        return _signed(name, value)
    kinds = {one.name: str(one.type) for one in _fields(owner)}
    return f"`{name}: {kinds[name]}`" if name in kinds else f"`{name}`"


def _fields(owner: type) -> tuple[dataclasses.Field[object], ...]:
    return dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()


def _signed(name: str, value: object) -> str:
    return f"`{name}{_signature(value)}`: {_first(value)}"


def _signature(value: object) -> str:
    """Give a signature without `self` and without the defaults that say that nothing is given."""
    signature = inspect.signature(value)  # type: ignore[arg-type]  # a function or a class
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    text = str(signature.replace(parameters=parameters))
    return re.sub(r"''|'([^']+)'", lambda found: found[1] or "''", text)


def _first(value: object) -> str:
    return " ".join((inspect.getdoc(value) or "").split())


def _levels() -> str:
    return _meanings(LEVEL_WORDS, "level")


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "functions": _functions,
    "aggregates": lambda: _meanings(AGGREGATES, "aggregate"),
    "comparisons": lambda: _meanings(COMPARISONS, "comparison"),
    "precedence": _precedence,
    "words": _words,
    "directives": _directives,
    "attributes": _attributes,
    "configuration": _configuration,
    "sections": lambda: _table(
        ("key", "what it says"), ((f"`{key}`", text) for key, text in TOP_LEVEL.items())
    ),
    "codes": _codes,
    "levels": _levels,
    "api": _api,
    "operations": _operations,
}

if __name__ == "__main__":
    SCHEMA.write_text(configuration_schema(), encoding="utf-8")
    for document in documents():
        document.write_text(written_anew(document.read_text(encoding="utf-8")), encoding="utf-8")
