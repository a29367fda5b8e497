"""The options of a simulation, as the command line gives them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from spn.cli.terminal import Progress
from spn.errors import AnalysisError, refuse


class State(Protocol):
    """What a simulation tells on its way: the share of the work that is done, nan where that is not known; as text, a line for people."""

    @property
    def share(self) -> float: ...


_NAMES: Final = (
    "seed",
    "precision",
    "absolute",
    "precise_for",
    "confidence",
    "replications",
    "horizon",
    "max_seconds",
    "max_firings",
    "checkpoint",
    "estimator",
)


def options(arguments: argparse.Namespace, progress: Progress, *, simulating: bool = True) -> dict[str, Any]:
    """Those that were given, so that the defaults stay in one place: the simulator's signature."""
    given = {name: value for name in _NAMES if (value := getattr(arguments, name, None)) is not None}
    given |= executor(arguments)
    return {**given, "progress": progress_line(progress)} if simulating else given


def executor(arguments: argparse.Namespace) -> dict[str, Any]:
    """The option that sends the work to a cluster, where there is one."""
    if getattr(arguments, "cluster", None) is None:
        return {}
    from spn.sim.executors import cluster

    return {"executor": cluster(arguments.cluster)}


def forbid(arguments: argparse.Namespace, names: Iterable[str], what: str, help: str) -> None:
    """AnalysisError E0705 where an option was given that ``what`` does not have: it would be ignored in silence."""
    for name in names:
        if getattr(arguments, name, None) not in (None, False):
            option = "for" if name == "precise_for" else name.replace("_", "-")
            raise refuse(AnalysisError, "E0705", f"--{option} is no option of {what}", help=help)


def progress_line(progress: Progress) -> Callable[[State], None]:
    """A callback that shows how far the run has come."""

    def show(state: State) -> None:
        progress.show(str(state), state.share if math.isfinite(state.share) else None)

    return show
