"""What the site of the documentation takes from beside the code: hooks of mkdocs.

In: the repository. Out: pages and pictures that do not lie in `docs`, links between all of them.
Invariant: a link to a file that has no page keeps its words and loses its link, so no link of the
site leads nowhere; `test_links_inside_the_repository_lead_somewhere` looks at the files themselves.
"""

from __future__ import annotations

import inspect
import io
import json
import posixpath
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import networkx as nx
import yaml
from mkdocs.structure.files import File, Files

from constat.cli.entry import cli
from constat.project.loading import SCHEMA
from constat.server import openapi
from tests.browser.finding import PYTHON
from tests.docs.references import graphql, mcp, rest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
_NAMED: Final = {
    "README.md": "start.md",
    "constat/check/FORMAT.md": "format.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    ".github/SECURITY.md": "security.md",
    "tests/bench/README.md": "figures.md",
}
_FOLDERS: Final = {"constat/diagnostics/codes/*.md": "codes", "rules/*/README.md": "rules"}
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_BLOCK: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_ALL: Final = "..."
_WIDE: Final = 100
_PICTURES: Final = frozenset({".png", ".svg"})
_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT: Final = frozenset({"cli", "explore", "mcp", "__pycache__"})
"""What of the package a browser has no use for."""


def beside() -> dict[str, str]:
    """Give the files of the repository that are pages and do not lie in `docs`."""
    return dict(_beside())


def _beside() -> Iterator[tuple[str, str]]:
    yield from _NAMED.items()
    for pattern, folder in _FOLDERS.items():
        for file in sorted(ROOT.glob(pattern)):
            name = file.parent.name if file.stem == "README" else file.stem
            yield str(file.relative_to(ROOT)), f"{folder}/{name}.md"


def commands() -> str:
    """Write the help of each command into one page, as wide as the page."""
    root = click.Context(cli, info_name="constat", max_content_width=_WIDE, terminal_width=_WIDE)
    return "\n".join(["# Commands\n", *_helps(cli, root)])


def _helps(command: click.Command, context: click.Context) -> Iterator[str]:
    level = "#" * (1 + context.command_path.count(" "))
    if not isinstance(command, click.Group):
        text = command.get_help(context).strip()
        yield f"{level} {context.command_path}\n\n```text\n{text}\n```\n"
        return
    if context.parent is not None:
        yield f"{level} {context.command_path}\n\n{inspect.cleandoc(command.help or '')}\n"
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            yield from _helps(found, click.Context(found, info_name=name, parent=context))


def archive() -> bytes:
    """Pack what the playground runs: this package, and what it needs that is plain Python."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, file in sorted(_packed()):
            packed.writestr(
                zipfile.ZipInfo(name, _FIRST_DAY), file.read_bytes(), zipfile.ZIP_DEFLATED
            )
    return found.getvalue()


def _packed() -> Iterator[tuple[str, Path]]:
    home = ROOT / "constat"
    for file in home.rglob("*.*"):
        within = file.relative_to(home)
        if not _LEFT_OUT & set(within.parts):
            yield f"constat/{within.as_posix()}", file
    for library in (yaml, nx):
        home = Path(str(library.__file__)).parent
        for file in home.rglob("*.py"):
            within = file.relative_to(home)
            if "tests" not in within.parts:
                yield f"{home.name}/{within.as_posix()}", file


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write out the places of the navigation that stand for all pages of a folder."""
    for section in config.nav or ():
        for entry in next(iter(section.values())) if isinstance(section, dict) else ():
            if isinstance(entry, dict) and list(entry.values()) == [_ALL]:
                (title,) = entry
                entry[title] = [one for one in beside().values() if one.startswith(title.lower())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies beside the code, and the help of the commands."""
    files.append(File.generated(config, "commands.md", content=commands()))
    for name, content in (
        *(("rest.md", rest()), ("graphql.md", graphql()), ("mcp.md", mcp())),
        ("openapi.json", json.dumps(openapi(), indent=1)),
        ("constat.schema.json", SCHEMA.read_text(encoding="utf-8")),
    ):
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "playground/constat.zip", content=archive()))
    # Without it the page says that this copy of the site has no Python.
    for part in PYTHON.glob("*.*"):
        files.append(
            File.generated(config, f"playground/python/{part.name}", abs_src_path=str(part))
        )
    for file, page in beside().items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / file)))
        for _, _, link, _ in _LINK.findall((ROOT / file).read_text(encoding="utf-8")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file), link))
            if Path(target).suffix in _PICTURES and files.get_file_from_path(target) is None:
                files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let each link lead to a page of the site, outside of blocks of code."""
    del config
    places = {f"docs/{file.src_uri}": file.src_uri for file in files.documentation_pages()}
    places |= beside()
    own = next((at for at, name in places.items() if name == page.file.src_uri and _there(at)), "")

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        file = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
        name = next((places[one] for one in (file, f"{file}/README.md") if one in places), "")
        if picture:
            name = file if files.get_file_from_path(file) else ""
        if not name:
            return str(words)
        near = posixpath.relpath(name, posixpath.dirname(page.file.src_uri) or ".")
        return f"{picture}[{words}]({near}{anchor or ''})"

    parts = _BLOCK.split(markdown)
    return "".join(one if one.startswith("```") else _LINK.sub(link, one) for one in parts)


def _there(place: str) -> bool:
    return (ROOT / place).exists()
