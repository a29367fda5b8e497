"""The options of a simulation, as the command line gives them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final, Protocol

from spn.cli.terminal import Progress


class State(Protocol):
    """What a simulation tells on its way: the worst relative half-width so far and the one wanted; as text, a line for people."""

    @property
    def worst(self) -> float: ...
    @property
    def precision(self) -> float: ...


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
    "estimator",
)


def options(arguments: argparse.Namespace, progress: Progress, *, simulating: bool = True) -> dict[str, Any]:
    """Those that were given, so that the defaults stay in one place: the simulator's signature."""
    given = {name: value for name in _NAMES if (value := getattr(arguments, name, None)) is not None}
    return {**given, "progress": progress_line(progress)} if simulating else given


def progress_line(progress: Progress) -> Callable[[State], None]:
    """A callback that shows how far the run has come: the work left grows with the square of the precision wanted."""

    def show(state: State) -> None:
        progress.show(str(state), min(1.0, (state.precision / state.worst) ** 2) if state.worst > 0 else 1.0)

    return show
