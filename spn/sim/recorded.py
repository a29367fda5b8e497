"""The kernel's trajectory with works that were drawn before it begins: the runs of :mod:`spn.sim.synchronised`, compiled.

Each transition gets a list of works in place of its law, made by inversion in one go. How many it takes is not known before; a run that ran
out of them is made anew with longer lists, and the next runs get as many as the runs before took, and some more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from spn.compiled import CompiledNet
from spn.compiled import layout as at
from spn.compiled.net import Integers
from spn.dist import kinds
from spn.dist.deterministic import Deterministic
from spn.dist.random import Words
from spn.measure import Primitive
from spn.net.model import Net, Timed
from spn.sim.engine import Floats
from spn.sim.fast import CompiledTrajectory, Start, beginning

FIRST = 64  # works of each transition in the first run
MARGIN, MORE = 1.25, 32  # what a run gets beyond what others took: a factor, and so many
LONGER = 4  # times, after a run that ran out

Uniforms = Callable[[int], Floats]


class RanOut(Exception):
    """A run took more works than were recorded; internal."""


def recordable(net: Net, compiled: CompiledNet) -> bool:
    """Whether every law is one part, so that a list of works can stand for it."""
    return all(len(compiled.clockwork.rows[i]) == 1 for i, t in enumerate(net.transitions) if isinstance(t, Timed))


class Recorder:
    """Makes the runs of one net, and knows how many works they take."""

    def __init__(self, compiled: CompiledNet, primitives: Sequence[Primitive]) -> None:
        self.net = compiled.net
        self.primitives = tuple(primitives)
        self.laws = {
            i: compiled.clockwork.rows[i][0].leaf
            for i, t in enumerate(self.net.transitions)
            if isinstance(t, Timed) and not isinstance(compiled.clockwork.rows[i][0].leaf.law, Deterministic)
        }
        self.compiled = replace(compiled, image=_patched(compiled, self.laws))
        self.start: Start = beginning(self.compiled, self.primitives)
        self.counts = dict.fromkeys(self.laws, FIRST)

    def trajectory(self, uniforms: Callable[[str], Uniforms], choices: Callable[[str], Words]) -> Recorded:
        """A run with the streams of these names; choices of name "" are those among clocks."""
        names = [t.name for t in self.net.transitions]
        works = {i: np.ascontiguousarray(leaf.law.quantile(uniforms(names[i])(self.counts[i]))) for i, leaf in self.laws.items()}
        return Recorded(self, works, [choices(name) for name in names], choices(""))

    def works(self) -> int:
        """How many a run gets in all."""
        return sum(self.counts.values())

    def lengthen(self, engine: Recorded) -> None:
        for i in engine.ran_out():
            self.counts[i] *= LONGER

    def learn(self, engine: Recorded) -> None:
        for i, used in engine.used().items():
            self.counts[i] = max(self.counts[i], math.ceil(MARGIN * used) + MORE)


def _patched(compiled: CompiledNet, which: Iterable[int]) -> Integers:
    image = compiled.image.copy()
    for i in which:
        image[image[image[at.H_RECORDS] + i * at.F_SIZE + at.F_LAW] + at.L_KIND] = kinds.RECORDED
    return image


class Recorded(CompiledTrajectory):
    """One run. A list of works is the stream of its transition: the address of the works, how many are used, how many there are, and
    whether more were asked for."""

    def __init__(self, recorder: Recorder, works: dict[int, Floats], choices: Sequence[Words], common: Words) -> None:
        super().__init__(recorder.compiled, recorder.primitives, np.random.default_rng(0), recorder.start)
        self._recorder, self._works = recorder, works
        nothing: Words = (0, 0, 0, 0)
        self._lists = len(self.state)
        self.separate([_listed(works[i]) if i in works else nothing for i in range(len(choices))], choices)
        self.state[self._generator : self._generator + 4] = np.array(common, dtype=np.uint64).view(np.int64)

    def used(self) -> dict[int, int]:
        """How many works each transition took, or asked for."""
        return {i: int(self.state[self._lists + 4 * i + 1]) for i in self._works}

    def ran_out(self) -> list[int]:
        return [i for i in self._works if self.state[self._lists + 4 * i + 3]]

    def check(self) -> None:
        """Raise :class:`RanOut` where works are missing."""
        if self.ran_out():
            raise RanOut

    @property
    def excess(self) -> Floats:
        """How much more work than expected each transition has drawn."""
        found = np.zeros(len(self.compiled.net.transitions))
        for i, used in self.used().items():
            leaf = self._recorder.laws[i]
            law = self.compiled.net.transitions[i]
            assert isinstance(law, Timed)
            drawn = float(leaf.shift) + float(leaf.scale) * self._works[i][:used] - law.law.mean()
            found[i] = np.cumsum(drawn)[-1] if used else 0.0
        return found


def _listed(works: Floats) -> Words:
    return int(works.ctypes.data), 0, len(works), 0
