"""The options of a simulation, as the command line gives them."""

from __future__ import annotations

import argparse
from typing import Any, Final

from spn.cli.terminal import Progress

_NAMES: Final = ("seed", "precision", "confidence", "replications", "horizon", "max_seconds")


def options(arguments: argparse.Namespace, progress: Progress, *, simulating: bool = True) -> dict[str, Any]:
    """Those that were given, so that the defaults stay in one place: the simulator's signature."""
    given = {name: value for name in _NAMES if (value := getattr(arguments, name, None)) is not None}
    return {**given, "progress": progress_line(progress)} if simulating else given


def progress_line(progress: Progress) -> Any:
    """A callback that shows how far the run has come."""

    def show(*state: Any) -> None:
        progress.show(" ".join(str(s) for s in state))

    return show
