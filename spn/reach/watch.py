"""Keeping an exploration within its limits, and looking from time to time whether it can end at all."""

from __future__ import annotations

from collections.abc import Mapping

from spn.errors import AnalysisError, SpnError, refuse
from spn.net.semantics import Rules
from spn.reach.growth import History, find_growth
from spn.reach.space import Limits

FIRST_CHECK = 200  # states before the first search for unbounded growth; the next one at twice as many


class Watch:
    """Limits of an exploration. :meth:`due` is cheap and asked often, :meth:`look` may raise. ``bounds``: the most tokens
    of places that the structure of the net shows; where it bounds all, growth need not be sought."""

    def __init__(self, rules: Rules, limits: Limits, bounds: Mapping[str, int] | None = None) -> None:
        self.rules, self.limits, self.bounds = rules, limits, bounds or {}
        self.next_check = FIRST_CHECK

    @property
    def next_count(self) -> int:
        """The number of states at which to look again at the latest."""
        return min(self.next_check, self.limits.states + 1)

    def due(self, states: int, memory: float) -> bool:
        return states >= self.next_check or self.full(states, memory)

    def full(self, states: int, memory: float) -> bool:
        return states > self.limits.states or memory > self.limits.memory

    def look(self, history: History, memory: float, arcs: int) -> None:
        """Raise if the states found show that the net is unbounded, or if there are too many."""
        self.next_check = 2 * history.count
        if len(self.bounds) < len(self.rules.net.places):
            find_growth(self.rules, history)
        if self.full(history.count, memory):
            raise self.too_large(history, arcs)

    def too_large(self, history: History, arcs: int) -> SpnError:
        most = history.most()
        place = self.rules.net.places[int(most.argmax())]
        size, count = int(most.max()), history.count
        reason = (
            f"the limit of {self.limits.states:,} states" if count > self.limits.states else f"{self.limits.memory / 1e9:.2g} GB of memory"
        )
        bound = self.bounds.get(place.name)
        why = f"the net's structure lets it have {bound:,}" if bound is not None else "if it has no bound the net is unbounded"
        return refuse(
            AnalysisError,
            "E0602",
            f"the state space is larger than {reason}: {count:,} markings and {arcs:,} firings found so far",
            span=place.span,
            label=f"grown to {size} tokens so far",
            help="raise the limit, make the model smaller, or simulate it",
            notes=(f"{place.name} has grown to {size} tokens; {why}", "a cut-off state space is never analysed"),
        )
