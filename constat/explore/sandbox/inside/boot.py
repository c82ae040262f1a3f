"""The first lines that run in a sandbox: make the modules that were sent importable.

In: on standard input a JSON table of module names and their sources, and what to start. Out:
nothing; does not return. Invariant: no file of Constat is read, so that none has to be readable.
Example: `python -c TEXT_OF_THIS_FILE 5`, where 5 is the descriptor of the control socket.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType


class _Sent(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the modules that were sent."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  the protocol of importing
        target: ModuleType | None = None,  # noqa: ARG002  as above
    ) -> ModuleSpec | None:
        """Find a module that was sent."""
        if fullname not in self._sources:
            return None
        return importlib.util.spec_from_loader(
            fullname, self, origin="<sent>", is_package=self.is_package(fullname)
        )

    def is_package(self, fullname: str) -> bool:
        """Tell whether a module has others below it."""
        return any(name.startswith(fullname + ".") for name in self._sources)

    def get_source(self, fullname: str) -> str:
        """Give the text of a module."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Compile a module."""
        return compile(self._sources[fullname], f"<{fullname}>", "exec", dont_inherit=True)


def _main() -> None:
    told = json.loads(sys.stdin.buffer.read())
    sys.path[:] = [*told["path"]]
    sys.meta_path.insert(0, _Sent(told["sources"]))
    from constat.explore.sandbox.inside.fork_server import serve  # noqa: PLC0415  loaded when it is used

    serve(int(sys.argv[1]), told["settings"])


if __name__ == "__main__":
    _main()
