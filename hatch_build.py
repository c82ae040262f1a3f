"""The page of the package: README.md, whose links to files of the repository lead nowhere there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK: Final = re.compile(r"!?\[([^\]]*)\]\((?![a-z]+://|#)[^)\s]+\)")
_NAMES: Final = "\nFiles that are named here are those of the source distribution.\n"


def page(readme: str) -> str:
    """Give the text of a package's page: what a link of the repository is called stands there."""
    return _LINK.sub(r"\1", readme) + _NAMES


class Page(MetadataHookInterface):
    """Writes the page while the package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the page where the readme would stand."""
        text = page((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
