"""Semiflows against brute force over supports, on textbook nets, and with all that nets may have."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from spn.loading import parse
from spn.net import semantics
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.structural.algebra import Clock, kernel, product, reduced
from spn.structural.incidence import incidence
from spn.structural.semiflows import Limits, Rays, extreme_rays, place_semiflows, transition_semiflows
from tests.structural.nets import reachable, wild

Matrix = list[list[int]]
small = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=0, max_size=4).map(lambda rows: (n, rows))
)


def null_space(rows: Matrix, n: int) -> list[list[Fraction]]:
    """A basis of the kernel by elimination in fractions, on dense rows: nothing shared with what is tested."""
    a = [[Fraction(v) for v in row] for row in rows]
    pivots: list[int] = []
    for c in range(n):
        r = next((k for k in range(len(pivots), len(a)) if a[k][c] != 0), None)
        if r is None:
            continue
        k = len(pivots)
        a[k], a[r] = a[r], a[k]
        a[k] = [v / a[k][c] for v in a[k]]
        for other in range(len(a)):
            if other != k and a[other][c]:
                a[other] = [x - a[other][c] * y for x, y in zip(a[other], a[k], strict=True)]
        pivots.append(c)
    basis = []
    for free in (c for c in range(n) if c not in pivots):
        v = [Fraction(0)] * n
        v[free] = Fraction(1)
        for k, c in enumerate(pivots):
            v[c] = -a[k][free]
        basis.append(v)
    return basis


def by_supports(rows: Matrix, n: int) -> set[tuple[int, ...]]:
    """Minimal semiflows: supports, small ones first, on which the kernel is a line of one sign."""
    found: list[tuple[int, ...]] = []
    for size in range(1, n + 1):
        for support in combinations(range(n), size):
            if any({i for i, v in enumerate(y) if v} <= set(support) for y in found):
                continue
            basis = null_space([[row[c] for c in support] for row in rows], size)
            if len(basis) == 1 and (all(v > 0 for v in basis[0]) or all(v < 0 for v in basis[0])):
                scale = math.lcm(*(v.denominator for v in basis[0]))
                whole = [abs(int(v * scale)) for v in basis[0]]
                y = [0] * n
                for c, v in zip(support, whole, strict=True):
                    y[c] = v // math.gcd(*whole)
                found.append(tuple(y))
    return set(found)


@settings(max_examples=150, deadline=None)
@given(small)
def test_the_extreme_rays_are_the_minimal_semiflows(matrix: tuple[int, Matrix]) -> None:
    n, rows = matrix
    sparse = [{c: v for c, v in enumerate(row) if v} for row in rows]
    found = extreme_rays(sparse, range(n), Limits())
    assert not found.stopped
    assert {tuple(y.get(c, 0) for c in range(n)) for y in found.vectors} == by_supports(rows, n)


@settings(max_examples=150, deadline=None)
@given(small)
def test_rank_and_kernel(matrix: tuple[int, Matrix]) -> None:
    n, rows = matrix
    sparse = [{c: v for c, v in enumerate(row) if v} for row in rows]
    dimension = len(null_space(rows, n))
    assert len(reduced(sparse, Clock(5))) == n - dimension
    basis = kernel(sparse, range(n), Clock(5))
    assert len(basis) == dimension == len(reduced(basis, Clock(5)))
    assert all(product(row, y) == 0 and math.gcd(*y.values()) == 1 for row in sparse for y in basis)


@settings(max_examples=60, deadline=None)
@given(wild())
def test_no_reachable_marking_breaks_an_invariant(net: Net) -> None:
    matrix = incidence(net)
    markings = reachable(net) or []
    for y in place_semiflows(matrix, Limits()).vectors:
        assert len({sum(w * m[p] for p, w in y.items()) for m in markings}) <= 1


@settings(max_examples=40, deadline=None)
@given(wild())
def test_a_transition_semiflow_gives_back_the_marking(net: Net) -> None:
    matrix, r = incidence(net), semantics.rules(net)
    for x in transition_semiflows(matrix, Limits()).vectors:
        m = [100] * len(net.places)
        change = [0] * len(m)
        for t, n in x.items():
            after = semantics.fire(r, t, tuple(m))
            change = [c + n * (b - a) for c, a, b in zip(change, m, after, strict=True)]
        assert not any(change)


def of_net(text: str) -> list[dict[str, int]]:
    matrix = incidence(parse(text).net)
    return [{matrix.places[p]: w for p, w in y.items()} for y in place_semiflows(matrix, Limits()).vectors]


def test_what_varies_keeps_the_invariants_that_hold_whatever_the_amounts() -> None:
    assert of_net("place a = 5, b, c timed t : #a*a -> #a*b ~ exp(rate = 1/s)") == [{"c": 1}, {"a": 1, "b": 1}]
    assert of_net("place a = 5, b timed t : a, flush b -> (#b + 1)*a ~ exp(rate = 1/s)") == [{"a": 1, "b": 1}]
    assert of_net("place a = 5, b timed t : a -> (#a)*b ~ exp(rate = 1/s)") == []
    assert of_net("place a = 5, b timed t : flush a -> b ~ exp(rate = 1/s)") == []
    assert of_net("place a = 5, b timed t : 2*a, flush a -> #a*b ~ exp(rate = 1/s)") == [{"a": 1, "b": 1}]


def test_numbers_do_not_overflow() -> None:
    b = NetBuilder("chain")
    size = 70
    for k in range(size + 1):
        b.place(f"p{k}", 1 if k == 0 else 0)
    for k in range(size):
        b.timed(f"t{k}", {f"p{k}": 3}, {f"p{k + 1}": 2}, rate=1)
    (y,) = place_semiflows(incidence(b.build()), Limits()).vectors
    assert y[0] == 2**size and y[size] == 3**size


def test_exponentially_many_stop_at_the_cap_and_leave_a_basis() -> None:
    from spn.structural.analysis import structure

    b = NetBuilder("exponential")  # 2^12 minimal semiflows: one of two places at every step
    b.place("start", 1)
    for k in range(12):
        b.place(f"a{k}"), b.place(f"b{k}")
        before = [f"a{k - 1}", f"b{k - 1}"] if k else ["start"]
        b.timed(f"t{k}", before, [f"a{k}", f"b{k}"], rate=1)
    net = b.build()
    found = place_semiflows(incidence(net), Limits(most=500))
    assert found == Rays((), found.stopped) and found.stopped.startswith("more than 500 of them")
    assert place_semiflows(incidence(net), Limits(seconds=1e-9)).stopped == "not found in 1e-09 s"
    s = structure(net, most=500, seconds=5)
    assert s.p_flows.stopped and s.p_flows.dimension == 13 == len(s.invariants)
    assert s.bounded is True and set(s.bounds.values()) == {1}
    assert len(place_semiflows(incidence(net), Limits(most=5_000, seconds=60)).vectors) == 2**12
