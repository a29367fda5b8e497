"""State spaces: exploration, vanishing elimination, unboundedness."""

from spn.reach.explore import explore
from spn.reach.space import Limits, Rates, StateSpace

__all__ = ["Limits", "Rates", "StateSpace", "explore"]
