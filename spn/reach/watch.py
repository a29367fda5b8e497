"""Keeping an exploration within its limits, and looking from time to time whether it can end at all."""

from __future__ import annotations

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.net.semantics import Rules
from spn.reach.growth import find_growth
from spn.reach.space import Bools, Ints, Limits

FIRST_CHECK = 200  # states before the first search for unbounded growth; the next one at twice as many
BYTES_PER_STATE = 400  # at the peak, beside the marking itself, as measured
BYTES_PER_ARC = 190


class Watch:
    """Limits of an exploration. :meth:`due` is cheap and asked often, :meth:`look` may raise."""

    def __init__(self, rules: Rules, limits: Limits) -> None:
        self.rules, self.limits = rules, limits
        self.next_check = FIRST_CHECK

    @property
    def next_count(self) -> int:
        """The number of states at which to look again at the latest."""
        return min(self.next_check, self.limits.states + 1)

    def due(self, states: int, arcs: int) -> bool:
        return states >= self.next_check or self._full(states, arcs)

    def look(self, rows: Ints, parent: Ints, via: Ints, vanishing: Bools, arcs: int) -> None:
        """Raise if the states found show that the net is unbounded, or if there are too many. ``vanishing`` covers the expanded ones."""
        self.next_check = 2 * len(rows)
        find_growth(self.rules, rows, parent, via, vanishing)
        if self._full(len(rows), arcs):
            raise self._too_large(rows, arcs)

    def _full(self, states: int, arcs: int) -> bool:
        memory = states * (8.0 * len(self.rules.capacities) + BYTES_PER_STATE) + arcs * BYTES_PER_ARC
        return states > self.limits.states or memory > self.limits.memory

    def _too_large(self, rows: Ints, arcs: int) -> SpnError:
        most = rows.max(axis=0)
        place = self.rules.net.places[int(np.argmax(most))]
        size, count = int(most.max()), len(rows)
        reason = (
            f"the limit of {self.limits.states:,} states" if count > self.limits.states else f"{self.limits.memory / 1e9:.2g} GB of memory"
        )
        return refuse(
            AnalysisError,
            "E0602",
            f"the state space is larger than {reason}: {count:,} markings and {arcs:,} firings found so far",
            span=place.span,
            label=f"grown to {size} tokens so far",
            help="raise the limit, make the model smaller, or simulate it",
            notes=(
                f"{place.name} has grown to {size} tokens; if it has no bound the net is unbounded",
                "a cut-off state space is never analysed",
            ),
        )
