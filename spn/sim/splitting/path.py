"""A trajectory that can be followed until its importance crosses a bound, kept, and gone back to with fresh random numbers."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spn.sim import layout as z
from spn.sim.direct import layout as at
from spn.sim.direct.fast import CompiledDirect
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Ending, Engine
from spn.sim.snapshot import Snapshot
from spn.sim.splitting.layout import CLOCKS, COUNT, SUM, TRACK


class Stop(Enum):
    """Why a path stopped."""

    FIRINGS = 0
    HORIZON = 1
    STILL = 2
    CROSSED = 3


KINDS = {"track": TRACK, "clocks": CLOCKS, "count": COUNT}
_STOPS = {Ending.FIRINGS: Stop.FIRINGS, Ending.HORIZON: Stop.HORIZON, Ending.STILL: Stop.STILL}


class Kept(Protocol):
    """A place on a path to go back to; opaque."""


class Path(Protocol):
    """A trajectory whose last primitive is the time average of the importance."""

    @property
    def engine(self) -> Engine: ...

    @property
    def value(self) -> float:
        """The importance of the present marking."""
        ...

    def advance(self, low: float, high: float, firings: int, horizon: float) -> Stop:
        """Go on until the importance of a tangible marking is below ``low`` or at least ``high``, for so many firings at most, and not
        beyond the horizon."""
        ...

    def keep(self) -> Kept: ...

    def back(self, kept: Kept) -> None:
        """Go back to where this was kept; clocks go on with what they had left, the random numbers are fresh."""
        ...


class Stepped:
    """Any engine, looked at after every firing."""

    def __init__(self, engine: Engine, seeds: np.random.SeedSequence) -> None:
        self.engine = engine
        self._seeds = seeds

    @property
    def value(self) -> float:
        return float(self.engine.rates()[-1])

    def advance(self, low: float, high: float, firings: int, horizon: float) -> Stop:
        """See :meth:`Path.advance`."""
        until = self.engine.firings + firings
        while self.engine.firings < until:
            ending = self.engine.run(1, horizon)
            if ending is not Ending.FIRINGS:
                return _STOPS[ending]
            if not low <= self.value < high:
                return Stop.CROSSED
        return Stop.FIRINGS

    def keep(self) -> Kept:
        return self.engine.snapshot()

    def back(self, kept: Kept) -> None:
        """See :meth:`Path.back`."""
        assert isinstance(kept, Snapshot)
        engine = self.engine
        if isinstance(engine, DirectTrajectory):
            words = engine.random.words
            engine.restore(kept)
            engine.random.words = words
        else:
            engine.restore(kept)
            engine.reseed(np.random.default_rng(self._seeds.spawn(1)[0]))


class Watched:
    """The direct method's kernel, which looks itself."""

    def __init__(self, engine: CompiledDirect) -> None:
        self.engine: CompiledDirect = engine
        direct = int(engine.state[z.Z_DIRECT])
        self.generator = slice(direct, direct + 4)
        _, track = engine.place(-1)
        engine.state[direct + at.D_WATCH] = track
        self.bounds = slice(direct + at.D_LOW, direct + at.D_LOW + 2)
        self.at_value = track + z.X_VALUE

    @property
    def value(self) -> float:
        return float(self.engine.state[self.at_value : self.at_value + 1].view(np.float64)[0])

    def places(self, count: int) -> NDArray[np.int64]:
        """Where the first ``count`` primitives' integrals are, (kind, offset) each, for kernels."""
        found = (self.engine.place(k) for k in range(count))
        return np.array([(KINDS.get(kind, SUM), offset) for kind, offset in found], dtype=np.int64).reshape(count, 2)

    def advance(self, low: float, high: float, firings: int, horizon: float) -> Stop:
        """See :meth:`Path.advance`."""
        self.engine.state[self.bounds].view(np.float64)[:] = (low, high)
        return _STOPS.get(self.engine.run(firings, horizon), Stop.CROSSED)

    def keep(self) -> Kept:
        return self.engine.state.copy()

    def back(self, kept: Kept) -> None:
        """See :meth:`Path.back`."""
        assert isinstance(kept, np.ndarray)
        words = self.engine.state[self.generator].copy()
        self.engine.state[:] = kept
        self.engine.state[self.generator] = words


def path_of(engine: Engine, seeds: np.random.SeedSequence) -> Path:
    """The fastest way to follow an engine; ``seeds`` gives the random numbers of copies, where they take other streams."""
    return Watched(engine) if isinstance(engine, CompiledDirect) else Stepped(engine, seeds)
