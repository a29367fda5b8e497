"""Where compiled kernels are kept between runs, and whether they are there. Importing this costs nothing: no numba.

numba's cache notices a change of the file that holds a function, but not of the files whose functions it calls; so the folder is named
after a digest of all sources that are compiled in.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

KERNEL_FILES = frozenset({"kernels.py", "layout.py", "kinds.py", "random.py", "jit.py"})  # sources whose constants or code are compiled in
ENTRY = "kernels.run-*.nbi"  # the simulator's entry: the last and largest to be compiled
EXPLORATION = "kernels.expand-*.nbi"


@cache
def folder() -> Path:
    """The cache folder of this version of the kernels: below the user's cache folder, or the temporary one where that is not writable."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    wanted = Path(base) / "spn" / "kernels" / _digest()
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        if os.access(wanted, os.W_OK):
            return wanted
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"spn-kernels-{os.getuid() if hasattr(os, 'getuid') else 0}" / _digest()


def simulator_is_compiled() -> bool:
    """Whether the compiled simulator only has to be loaded."""
    return next(folder().rglob(ENTRY), None) is not None


def exploration_is_compiled() -> bool:
    """Whether the kernel of state spaces only has to be loaded."""
    return next(folder().rglob(EXPLORATION), None) is not None


def _digest() -> str:
    digest = hashlib.sha256(version("numba").encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.name in KERNEL_FILES:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
