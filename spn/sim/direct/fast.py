"""The direct method's compiled trajectory behind the same interface as the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spn.compiled import CompiledNet
from spn.measure import Primitive
from spn.sim import layout as z
from spn.sim.direct import layout as at
from spn.sim.direct.plan import Plan
from spn.sim.fast import CompiledTrajectory, Start, beginning


def direct_beginning(compiled: CompiledNet, primitives: Sequence[Primitive], plan: Plan) -> Start:
    """The state block before anything has happened, the direct method's part included."""
    start = beginning(compiled, primitives)
    state = np.concatenate([start.state, np.zeros(at.D_TREE + 2 * plan.leaves, dtype=np.int64)])
    state[z.Z_DIRECT] = state[z.Z_STREAM] = len(start.state)  # its first words are the stream
    stations = state[int(state[z.Z_STATIONS]) :][: len(compiled.net.transitions) * z.S_SIZE].reshape(-1, z.S_SIZE)
    stations[:, [z.S_STREAM, z.S_CHOICES]] = len(start.state)
    return Start(state, start.places)


class CompiledDirect(CompiledTrajectory):
    """One trajectory by the direct method's kernel: an :class:`spn.sim.engine.Engine`. ``start`` is a :func:`direct_beginning`."""

    def __init__(
        self, compiled: CompiledNet, primitives: Sequence[Primitive], plan: Plan, rng: np.random.Generator, start: Start | None = None
    ) -> None:
        super().__init__(compiled, primitives, rng, start or direct_beginning(compiled, primitives, plan))
        self.plan = plan

    def _call(self, until: int, horizon: float) -> int:
        from spn.sim.direct.kernels import follow

        return int(follow(self.compiled.image, self.plan.words, self.state, until, horizon))
