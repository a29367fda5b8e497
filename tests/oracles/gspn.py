"""A slow, independent elimination of vanishing markings: exact rational linear algebra on the markings that the semantics reaches.

Only :mod:`spn.net.semantics` is shared with the product: it is the definition. Nets have exponential laws of constant rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.net import semantics
from spn.net.model import Marking, Net, Timed, initial_marking
from spn.net.semantics import Rules
from tests.oracles.chains import solve

Row = dict[Marking, Fraction]


@dataclass(frozen=True)
class Chain:
    """Tangible markings: rates between them (self-loops left out), firings per second of every transition, and the initial distribution."""

    rates: Mapping[Marking, Row]
    firings: Mapping[Marking, Mapping[int, Fraction]]
    initial: Row


class Trap(Exception):
    """Vanishing markings that cannot be left."""


def steps(r: Rules, m: Marking) -> tuple[bool, list[tuple[int, Fraction, Marking]]]:
    """Whether a marking vanishes, and its firings: transition, weight or total rate, next marking."""
    immediates = semantics.enabled_immediates(r, m)
    if immediates:
        return True, [(t, Fraction(w), semantics.fire(r, t, m)) for t, w in immediates]
    found = []
    for t in r.timed:
        k = semantics.running_clocks(r, t, m)
        transition = r.net.transitions[t]
        assert isinstance(transition, Timed)
        if k:
            found.append((t, k * Fraction(transition.law.rate) * Fraction(semantics.speed(r, t, m)), semantics.fire(r, t, m)))
    return False, [step for step in found if step[1]]


def chain(net: Net) -> Chain:
    r = semantics.rules(net)
    start = initial_marking(net)
    markings, known = [start], {}
    for m in markings:
        known[m] = steps(r, m)
        markings.extend(after for after in dict.fromkeys(s[2] for s in known[m][1]) if after not in known and after not in markings)
    passing, fired = passages([m for m in markings if known[m][0]], known, len(net.transitions))
    rates: dict[Marking, Row] = {}
    firings: dict[Marking, dict[int, Fraction]] = {}
    for m in (m for m in markings if not known[m][0]):
        rates[m], firings[m] = {}, {}
        for t, rate, after in known[m][1]:
            firings[m][t] = firings[m].get(t, Fraction(0)) + rate
            for u, count in fired.get(after, {}).items():
                firings[m][u] = firings[m].get(u, Fraction(0)) + rate * count
            for to, p in passing.get(after, {after: Fraction(1)}).items():
                if to != m and p:
                    rates[m][to] = rates[m].get(to, Fraction(0)) + rate * p
    return Chain(rates, firings, {m: p for m, p in passing.get(start, {start: Fraction(1)}).items() if p})


def passages(
    vanishing: list[Marking], known: Mapping[Marking, tuple[bool, list[tuple[int, Fraction, Marking]]]], transitions: int
) -> tuple[dict[Marking, Row], dict[Marking, dict[int, Fraction]]]:
    """From each vanishing marking: where it ends, and how often each immediate fires on the way, by (I - P) x = b for each."""
    index = {m: k for k, m in enumerate(vanishing)}
    share = {m: [(t, w / sum(s[1] for s in known[m][1]), after) for t, w, after in known[m][1]] for m in vanishing}
    targets = dict.fromkeys(after for m in vanishing for _, _, after in share[m] if after not in index)

    def unknown(right: dict[Marking, Fraction]) -> list[Fraction]:
        rows = []
        for m in vanishing:
            row = [Fraction(int(k == index[m])) for k in range(len(vanishing))] + [right.get(m, Fraction(0))]
            for _, p, after in share[m]:
                if after in index:
                    row[index[after]] -= p
            rows.append(row)
        try:
            return solve(rows)
        except StopIteration:
            raise Trap from None

    if not vanishing:
        return {}, {}
    ends = {to: unknown({m: sum((p for _, p, after in share[m] if after == to), Fraction(0)) for m in vanishing}) for to in targets}
    if not ends:
        raise Trap
    fired = {t: unknown({m: sum((p for u, p, _ in share[m] if u == t), Fraction(0)) for m in vanishing}) for t in range(transitions)}
    passing = {m: {to: ends[to][k] for to in targets if ends[to][k]} for m, k in index.items()}
    return passing, {m: {t: fired[t][k] for t in fired if fired[t][k]} for m, k in index.items()}
