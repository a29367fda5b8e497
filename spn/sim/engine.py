"""What both engines, the plain-Python reference and the compiled kernel, offer to the estimators."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spn.net.model import Marking
from spn.sim.snapshot import Snapshot

Floats = NDArray[np.float64]


class Ending(StrEnum):
    """Why a run stopped."""

    FIRINGS = "firings"  # as many as asked for
    HORIZON = "horizon"  # all events up to and at the horizon have happened; the state is held to it
    CROSSED = "crossed"  # a watched expression left its bounds (only where one is watched: see spn.sim.splitting)
    STILL = "still"  # nothing will ever happen: a dead or stuck marking


class Engine(Protocol):
    """One trajectory, with integrals of the primitives asked for.

    ``time`` is the simulated time reached, ``firings`` the number of firings so far (immediates counted, but not those that resolve a
    vanishing initial marking); ``drew``: whether any random number was drawn."""

    @property
    def drew(self) -> bool: ...

    @property
    def time(self) -> float: ...

    @property
    def firings(self) -> int: ...

    @property
    def marking(self) -> Marking: ...

    def run(self, firings: int, horizon: float) -> Ending:
        """Go on for at most so many further firings and not beyond the horizon (events at exactly that time included)."""
        ...

    def totals(self) -> Floats:
        """The integrals over time (or sums over firings) of the primitives from 0 to ``time``, in the order given."""
        ...

    def rates(self) -> Floats:
        """What the integrals grow by per second in the present marking if nothing more happens (0 for sums over firings)."""
        ...

    def snapshot(self) -> Snapshot:
        """Where the trajectory is, as data that what it does next leaves alone. Not after a run that raised."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Go on, bit for bit, as the trajectory did of which the snapshot is: one of the same kind, net and primitives (else ValueError,
        where it can be seen)."""
        ...

    def reseed(self, rng: np.random.Generator) -> None:
        """Draw from another generator from now on. What is drawn already (clocks that run, the instant of the next firing) stays."""
        ...


def zero_time_limit(places: int, transitions: int, tokens: int) -> int:
    """Firings at one instant beyond which a loop without time is reported: far more than any chain that moves each token once
    through every transition."""
    return 100_000 + 10 * tokens * max(1, transitions) + 10 * places
