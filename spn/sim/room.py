"""Whether the clocks of a marking fit into memory: every running clock has a state of its own."""

from __future__ import annotations

from spn.errors import AnalysisError, SpnError, refuse
from spn.net.model import Transition
from spn.reach.space import SHARE_OF_MEMORY, available_memory

BYTES_PER_CLOCK = 1200  # of the few trajectories that run side by side, while their blocks are enlarged
ALWAYS = 100_000  # clocks for which there is room on any machine


def most_clocks() -> int:
    """So many clocks of one transition have room."""
    return max(ALWAYS, int(SHARE_OF_MEMORY * available_memory() / BYTES_PER_CLOCK))


def too_many(t: Transition, clocks: int) -> SpnError:
    return refuse(
        AnalysisError,
        "E0707",
        f"{clocks:,} clocks of {t.name} would run at once, too many for the memory of this machine",
        span=t.span,
        help="give it fewer servers, or count tokens in larger lots",
    )
