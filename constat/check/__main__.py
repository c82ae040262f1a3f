"""Run the checker: ``python -m constat.check FILE``, or ``python check FILE`` on a copied folder.

In: the command line.  Out: the exit code.  Invariant: a copied folder works whatever its name is
and wherever it lies, because it is loaded as a package from its own path.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Final

_COLLECTION: Final = (50_000, 20, 20)
"""When the garbage collector looks: by default it goes through a large certificate many times."""


def _package() -> str:
    """Return the name of the package that this file belongs to, loading it where needed."""
    if __package__:
        return __package__
    folder = Path(__file__).resolve().parent
    name = "constat_check_folder"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the folder {folder.name}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return name


if __name__ == "__main__":
    gc.set_threshold(*_COLLECTION)
    sys.exit(importlib.import_module(f"{_package()}.command").main())
