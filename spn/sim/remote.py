"""Units of work that other processes do: stretches of long runs, and lots of replications.

A unit is told all that it needs, and ends after a few seconds of computing, however much is left to do: so a lost worker costs little,
and an interruption is noticed.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spn.sim.control import Control, Stopped
from spn.sim.engine import Engine, Floats
from spn.sim.record import Finished, Track
from spn.sim.snapshot import Snapshot
from spn.sim.streams import Crew, Stream

if TYPE_CHECKING:
    from spn.sim.longrun import Ended

LONGEST = 2.0  # seconds of a unit, as far as its parts allow
One = Callable[[Engine], "tuple[Floats, Ended]"]
Task = Callable[[Crew], One]  # how replications are run: of a crew, what makes one of a trajectory. Can be pickled.


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and firings left."""

    seconds: float
    firings: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of a long run that ``maker`` makes: ``missing`` batches after ``firings``, where time and totals were ``last``. ``snapshot``
    is of it at or after that point, if anything is known."""

    maker: Callable[[Crew, int, Engine, Track], Stream]
    number: int
    batch: int
    missing: int
    firings: int
    last: Floats
    snapshot: Snapshot | None


def limits(control: Control) -> Limits:
    """What is left of a run's limits."""
    return Limits(control.max_seconds - control.seconds(), control.max_firings - control.firings)


def recipe(crew: Crew) -> bytes:
    """All that makes a crew, for :func:`crew_of`."""
    if crew.pickled is None:
        crew.pickled = pickle.dumps((crew.net, crew.primitives, crew.seed))
    return crew.pickled


@lru_cache(maxsize=4)
def _made(made_of: bytes) -> Crew:
    net, primitives, seed = pickle.loads(made_of)
    return Crew(net, primitives, seed, Control(workers=1, max_seconds=0.0, max_firings=0.0), "compiled")


def crew_of(made_of: bytes, left: Limits) -> Crew:
    """The crew of a recipe, with its kernel loaded and the limits of a unit."""
    made = _made(made_of)
    made.load()
    if not made.begun:
        made.trajectory(0, kernel=True)  # what all trajectories share is made once
    crew = copy(made)
    crew.control = Control(workers=1, max_seconds=left.seconds, max_firings=left.firings)
    return crew


def stretch(made_of: bytes, asked: Stretch, left: Limits) -> Track:
    """Go on with a long run, as far as a unit may: the points reached, and where it is at the end."""
    crew = crew_of(made_of, Limits(min(LONGEST, left.seconds), left.firings))
    track = Track(snapshot=asked.snapshot)
    stream = asked.maker(crew, asked.number, crew.trajectory(asked.number, kernel=True), track)
    stream.batch, stream.firings, stream.last = asked.batch, asked.firings, asked.last
    stream.catch_up()
    crew.control.started = time.monotonic()  # catching up is not the run's time
    with suppress(Stopped):
        stream.extend(asked.missing)
        track.take(stream.engine)
    return track


def replications(made_of: bytes, task: Task, numbers: Sequence[int], left: Limits) -> dict[int, Finished]:
    """The first of some replications, as many as a unit may do."""
    crew = crew_of(made_of, left)
    one = task(crew)
    done: dict[int, Finished] = {}
    with suppress(Stopped):
        for k in numbers:
            done[k] = replication(crew, one, k, kernel=True)
            if crew.control.seconds() > LONGEST:
                break
    return done


def replication(crew: Crew, one: One, number: int, *, kernel: bool) -> Finished:
    """One replication."""
    engine = crew.trajectory(number, kernel=kernel)
    row, end = one(engine)
    return Finished(row=row, end=end, firings=engine.firings, drew=crew.drew(engine, number))
