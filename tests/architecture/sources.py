"""The source files of Constat as syntax trees, for the tests of its structure.

In: the checkout.  Out: one ``Source`` for each Python file, with its dotted name, and the imports
in it.  Nothing is imported or run, so a test can speak about a module that does not load.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "constat"

HEAVY: Final = frozenset(
    {
        *(
            "anthropic",
            "cryptography",
            "duckdb",
            "graphql",
            "httpx2",
            "importlib.metadata",
            "jwt",
            "jsonschema_rs",
            "langchain_core",
            "markdown_it",
            "pyarrow",
            "pyspark",
            "matplotlib",
        ),
        *("networkx", "openai", "packaging", "pandas", "polars", "prometheus_client"),
        *("opentelemetry", "pyDatalog", "pyoxigraph", "pypdf"),
        *("rich", "sqlalchemy", "sqlglot"),
    }
)


@dataclass(frozen=True)
class Source:
    """One Python file; its tree is made where somebody looks at it."""

    path: Path
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self, self.tree, in_function=False, for_types_only=False))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def shown(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, or one name imported from a module."""

    module: str
    symbol: str | None
    line: int
    in_function: bool
    for_types_only: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@cache
def sources(folder: Path = PACKAGE) -> tuple[Source, ...]:
    return tuple(read(path) for path in sorted(folder.rglob("*.py")))


def folders(*roots: Path) -> list[Path]:
    """The folders that hold source files: a test for each of them, not for each of a thousand."""
    return sorted({path.parent for root in roots or (PACKAGE,) for path in root.rglob("*.py")})


def shown(folder: Path) -> str:
    return folder.relative_to(ROOT).as_posix()


@cache
def sources_in(folder: Path) -> tuple[Source, ...]:
    return tuple(read(path) for path in sorted(folder.glob("*.py")))


@cache
def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Source(path, name, text)


def imports(source: Source) -> tuple[Import, ...]:
    return source.imports


def _imports(
    source: Source, node: ast.AST, *, in_function: bool, for_types_only: bool
) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Import(alias.name, None, node.lineno, in_function, for_types_only)
        case ast.ImportFrom(names=names):
            module = _absolute(source, node)
            for alias in names:
                yield Import(module, alias.name, node.lineno, in_function, for_types_only)
        case _:
            inside = in_function or isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
            )
            for child in ast.iter_child_nodes(node):
                typed = _is_type_checking(node) and child in getattr(node, "body", ())
                yield from _imports(
                    source, child, in_function=inside, for_types_only=for_types_only or typed
                )


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    }


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = source.name.split(".")
    dropped = node.level - 1 if source.is_package else node.level
    return ".".join([*parts[: len(parts) - dropped], *filter(None, [node.module])])


def configuration() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
