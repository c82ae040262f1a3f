"""What a step may read of the machine: Python, the libraries it loads, and nothing else.

In: this program's own Python. Out: paths. Invariant: of the folder of installed packages only those
that steps are offered are there: no project, no configuration, no `.pth` file. Example: the
packages `pandas` and `numpy`, and the folder `numpy.libs` beside them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PACKAGES: Final = (
    *("numpy", "pandas", "dateutil", "six.py", "pytz", "tzdata"),
    *("matplotlib", "mpl_toolkits", "contourpy", "cycler", "fontTools", "kiwisolver"),
    *("packaging", "PIL", "pyparsing"),
)
_SYSTEM: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_LOADER: Final = ("/etc/ld.so.cache",)
DEVICES: Final = ("/dev/null", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Places:
    """Where Python is: its program, what is on its path, and everything that may be read."""

    program: str
    path: tuple[str, ...]
    readable: tuple[str, ...]


def python_places() -> Places:
    """Find them."""
    program = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    library = sysconfig.get_path("stdlib")
    dynamic = sysconfig.get_config_var("DESTSHARED") or f"{library}/lib-dynload"
    sites = _sites()
    packages = [str(one) for site in sites for one in _offered(site)]
    shared = sysconfig.get_config_var("LIBDIR") or ""
    own = [library, dynamic, *_shared_libraries(shared)]
    readable = [*own, *packages, *_SYSTEM, *_LOADER]
    return Places(
        program,
        (library, dynamic, *map(str, sites)),
        tuple(dict.fromkeys(one for one in readable if Path(one).exists())),
    )


def _sites() -> list[Path]:
    """Give the folders in which pandas and numpy are installed."""
    found = []
    for name in ("pandas", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            found.append(Path(spec.origin).parents[1])
    return list(dict.fromkeys(found))


def _offered(site: Path) -> list[Path]:
    wanted = [site / name for name in _PACKAGES]
    wanted += [site / f"{name.removesuffix('.py')}.libs" for name in _PACKAGES]
    wanted.append(site / "pillow.libs")
    return [one for one in wanted if one.exists()]


def _shared_libraries(folder: str) -> list[str]:
    # A Python that was built with a shared library finds it there.
    if not folder or folder in _SYSTEM:
        return []
    return [str(one) for one in sorted(Path(folder).glob("libpython*.so*"))]
