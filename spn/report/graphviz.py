"""Running a Graphviz engine: the system's ``dot``, or the one that the package graphviz-pure brings along."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Final

from spn.errors import AnalysisError, refuse

BUNDLED: Final = "graphviz-pure"
OVERRIDE: Final = "SPN_DOT"
TIMEOUT: Final = 120  # seconds; nets of thousands of nodes are beyond what a drawing can show


def engine() -> str:
    """The path of a Graphviz engine: that of ``$SPN_DOT``, else ``dot`` on the path, else graphviz-pure. E0910 where there is none."""
    wanted = os.environ.get(OVERRIDE)
    if wanted:
        found = shutil.which(wanted) or _beside_python(wanted)
        if found is None:
            raise refuse(
                AnalysisError, "E0910", f"{OVERRIDE} names {wanted}, which is not a program", help=f"unset {OVERRIDE} or correct it"
            )
        return found
    found = shutil.which("dot") or shutil.which(BUNDLED) or _beside_python(BUNDLED)
    if found is None:
        raise refuse(
            AnalysisError,
            "E0910",
            "there is no Graphviz on this machine, so no picture can be laid out",
            help="install it with `pip install graphviz-pure`, or write DOT: `spn draw MODEL -o net.dot`",
        )
    return found


def _beside_python(program: str) -> str | None:
    """A program in the folder of this environment's scripts, which need not be on the path."""
    return shutil.which(program, path=str(Path(sysconfig.get_path("scripts"))))


def render(dot: str, output: str) -> bytes:
    """The DOT text laid out and written in a format of the engine (``svg``, ``png``, ``json``)."""
    program = engine()
    options = ["-Gdpi=144"] if output == "png" else []
    try:
        done = subprocess.run([program, f"-T{output}", *options], input=dot.encode(), capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise refuse(
            AnalysisError,
            "E0911",
            f"the net is too large to lay out within {TIMEOUT} s",
            help="draw it for smaller parameter values, or write DOT: `spn draw MODEL -o net.dot`",
        ) from None
    except OSError as error:
        raise refuse(AnalysisError, "E0910", f"{program} cannot be run: {error.strerror}") from None
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise refuse(AnalysisError, "E0912", f"{Path(program).name} failed to draw the net", notes=said[-3:])
    return done.stdout
