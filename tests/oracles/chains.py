"""A slow, independent oracle for Markov chains: exact rational arithmetic on dictionaries, nothing shared with the product.

A chain is given by a function from a state to its ``(rate, next state)`` pairs; immediate choices by the test that writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
Moves = Callable[[S], Iterable[tuple[Fraction | int, S]]]


def reachable(start: S, moves: Moves[S]) -> list[S]:
    found = [start]
    seen = {start}
    for s in found:
        for rate, to in moves(s):
            if rate and to not in seen:
                seen.add(to)
                found.append(to)
    return found


def stationary(start: S, moves: Moves[S]) -> dict[S, Fraction]:
    """Stationary probabilities of a chain that is irreducible from ``start``, by Gaussian elimination over the rationals."""
    states = reachable(start, moves)
    index = {s: k for k, s in enumerate(states)}
    n = len(states)
    balance = [[Fraction(0)] * (n + 1) for _ in range(n)]
    for s in states:
        for rate, to in ((rate, to) for rate, to in moves(s) if rate):
            balance[index[to]][index[s]] += Fraction(rate)
            balance[index[s]][index[s]] -= Fraction(rate)
    balance[0] = [Fraction(1)] * (n + 1)  # probabilities sum to 1
    return dict(zip(states, solve(balance), strict=True))


def solve(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan on the augmented rows."""
    n = len(rows)
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        head = rows[k][k]
        rows[k] = [x / head for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]
