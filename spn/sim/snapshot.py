"""Where a trajectory has arrived, as data: to go on from there later, elsewhere, more than once, or with other random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spn.dist.random import Random, Source


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The state of one trajectory, that of its generator included; independent of the trajectory, which may go on.

    ``engine`` names the kind of trajectory it is of, ``firings`` how far it had come; ``arrays`` and ``rest`` are its state: arrays of
    plain numbers, and numbers, text, lists and dictionaries with text as keys. So it can be pickled, and written without."""

    engine: str
    firings: int
    arrays: Mapping[str, NDArray[Any]]
    rest: Mapping[str, Any]

    def of(self, engine: object) -> Snapshot:
        """The snapshot itself, once it is certain that it is of this kind of trajectory; else ValueError."""
        if self.engine != kind(engine):
            raise ValueError(f"a snapshot of a {self.engine} cannot be restored into a {kind(engine)}")
        return self


def kind(engine: object) -> str:
    """What snapshots of a trajectory are marked with."""
    return type(engine).__name__


def source_state(source: Source) -> Any:
    """The state of what random numbers are drawn from, independent of it."""
    if isinstance(source, Random):
        return list(source.words)
    assert isinstance(source, np.random.Generator)
    return deepcopy(dict(source.bit_generator.state))


def set_source(source: Source, state: Any) -> None:
    """Let it go on from a state."""
    if isinstance(source, Random):
        a, b, c, d = state
        source.words = a, b, c, d
    else:
        assert isinstance(source, np.random.Generator)
        source.bit_generator.state = deepcopy(state)
