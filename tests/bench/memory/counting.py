"""Tokens as real tokenizers count them, where their vocabularies came with a package.

In: what is installed. Out: tokenizers by name. Nothing is downloaded: without the packages the
estimate of memory counts, and its name says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constat.memory import estimate

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Tokens:
    """One tokenizer; ``encode`` and ``decode`` are absent where only the estimate is there."""

    name: str
    of: Callable[[str], int]
    encode: Callable[[str], list[int]] | None = None
    decode: Callable[[list[int]], str] | None = None

    def tail(self, text: str, budget: int) -> str:
        """Return the end of a text, of so many tokens."""
        if self.encode is None or self.decode is None:
            return text[-4 * budget :]
        found = self.encode(text)
        return self.decode(found[-budget:]) if budget else ""

    def head(self, text: str, budget: int) -> str:
        """Return its beginning."""
        if self.encode is None or self.decode is None:
            return text[: 4 * budget]
        return self.decode(self.encode(text)[:budget])


def tokens(name: str = "o200k_base") -> Tokens:
    """Return a tokenizer of tiktoken by its name, or the estimate."""
    folder = _folder()
    if folder is None or importlib.util.find_spec("tiktoken") is None:
        return Tokens("the estimate of memory", estimate)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    found: Any = importlib.import_module("tiktoken").get_encoding(name)

    def encode(text: str) -> list[int]:
        return list(found.encode(text, disallowed_special=()))

    return Tokens(name, lambda text: len(encode(text)), encode, found.decode)


def _folder() -> Path | None:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
