"""Rates of transfers on links: :func:`spn.net.semantics.link_rates` in rational arithmetic, so that transfers end together exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from spn.expr.nodes import Exact
from spn.net.model import Marking, Timed, Transfer
from spn.net.semantics import Rules, share


def link_rates(r: Rules, m: Marking, transfers: Mapping[int, int], number: Callable[[Exact], Fraction]) -> dict[int, Fraction]:
    """Weighted max-min fair rates, bytes/s of one transfer of each transition; ``transfers`` counts those on the links. ``number`` makes
    a quantity rational."""
    weight = {t: number(share(r, t, m)) for t, n in transfers.items() if n > 0}
    capacity = {link.name: number(link.capacity) for link in r.net.links}
    rate = {t: Fraction(0) for t in weight if weight[t] == 0}
    rising = [t for t in weight if weight[t] > 0]
    while rising:
        limits = {t: _limit(r, t, transfers, weight, rate, rising, capacity, number) for t in rising}
        level = min(limits.values())
        for t in [t for t in rising if limits[t] == level]:
            rate[t] = level * weight[t]
        rising = [t for t in rising if t not in rate]
    return rate


def _limit(
    r: Rules,
    t: int,
    transfers: Mapping[int, int],
    weight: Mapping[int, Fraction],
    rate: Mapping[int, Fraction],
    rising: list[int],
    capacity: Mapping[str, Fraction],
    number: Callable[[Exact], Fraction],
) -> Fraction:
    """The level, rate per weight, at which a transfer stops rising: at its cap, or where one of its links is full."""
    transfer = transfer_of(r, t)
    found = [] if transfer.cap is None else [number(transfer.cap) / weight[t]]
    for name in transfer.links:
        used = sum((rate[u] * transfers[u] for u in rate if _uses(r, u, name)), Fraction(0))
        total = sum((weight[u] * transfers[u] for u in rising if _uses(r, u, name)), Fraction(0))
        found.append(max(Fraction(0), capacity[name] - used) / total)
    return min(found)


def _uses(r: Rules, t: int, link: str) -> bool:
    return link in transfer_of(r, t).links


def transfer_of(r: Rules, t: int) -> Transfer:
    """The transfer of a transition that has one."""
    transition = r.transitions[t].transition
    assert isinstance(transition, Timed) and transition.transfer is not None
    return transition.transfer
