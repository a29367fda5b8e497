"""The error for a loop of firings that never lets time pass."""

from __future__ import annotations

from collections.abc import Sequence

from spn.errors import SemanticsError, SpnError, refuse
from spn.net.model import Marking, Net
from spn.net.semantics import marking_text


def zero_time_loop(net: Net, m: Marking, fired: Sequence[int], time: float) -> SpnError:
    """The refusal, naming the transitions (indices, in order of firing) that went on firing at one instant."""
    loop = sorted(set(fired))
    names = ", ".join(net.transitions[t].name for t in loop)
    return refuse(
        SemanticsError,
        "E0701",
        f"{names} fire again and again at time {time:g} and time never passes (a zero-time loop)",
        span=net.transitions[loop[0]].span,
        help="give one of them a delay, or a guard or an inhibitor that ends the loop",
        notes=(f"the marking reached there is {marking_text(net, m)}",),
    )
