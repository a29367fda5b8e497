"""A crew whose trajectories are split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spn.measure import Primitive, TimeAverage
from spn.net.model import Net
from spn.sim.control import Control
from spn.sim.engine import Ending, Engine
from spn.sim.splitting.importance import Importance
from spn.sim.splitting.path import Path, path_of
from spn.sim.splitting.restart import Levels, Restart, Tally, restart_of
from spn.sim.streams import Choice, Crew

COPIES = 1  # marks the seeds of copies' streams


class SplittingCrew(Crew):
    """Trajectories by RESTART, once the ``levels`` are set; ``tally`` counts what became of them. With ``whole`` every trajectory is a
    root of its own. They run one after the other, by the kernel unless plain Python is asked for."""

    def __init__(
        self,
        net: Net,
        primitives: Sequence[Primitive],
        importance: Importance,
        seed: int,
        control: Control,
        engine: Choice,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(net, (*primitives, TimeAverage(importance.node)), seed, control, engine)
        self.width = len(primitives)
        self.whole = whole
        self.set_levels(Levels())

    def set_levels(self, levels: Levels) -> None:
        """Split so from now on; the tally begins anew."""
        self.levels, self.tally = levels, Tally(levels, self.width)

    def path(self, stream: int) -> Path:
        """A trajectory of that number without splitting."""
        kernel = self.engine != "python" and self.use_kernel(2**62)
        seeds = np.random.SeedSequence(self.seed, spawn_key=(stream, COPIES))
        return path_of(super().trajectory(stream, kernel=kernel), seeds)

    def trajectory(self, stream: int, *, kernel: bool) -> Engine:
        """See :meth:`spn.sim.streams.Crew.trajectory`; ``kernel`` changes nothing."""
        return self.restart(stream, self.made)

    def restart(self, stream: int, made: Callable[[int], None]) -> Restart:
        """The same with another listener to the firings made."""
        return restart_of(self.path(stream), self.levels, self.tally, made, whole=self.whole)

    def compile(self) -> None:
        """Have the kernels ready: what that takes is none of the run's time."""
        with self.control.uncounted():
            restart_of(self.path(0), Levels(), Tally(Levels(), self.width), lambda _: None, whole=self.whole).run(0, 0.0)

    def made(self, firings: int) -> None:
        """Count firings; :class:`spn.sim.control.Stopped` at a limit."""
        self.control.count(firings)
        self.control.check()

    def drew(self, engine: Engine, stream: int) -> bool:
        """Whether anything was drawn: a run that is worth splitting draws."""
        return True

    def run(self, engine: Engine, firings: int, horizon: float) -> Ending:
        """Run an engine, which counts and looks at the clock itself."""
        return engine.run(firings, horizon)
