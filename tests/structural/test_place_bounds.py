"""Bounds, certificates and siphons against all reachable markings."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from spn.loading import parse
from spn.net import semantics
from spn.net.model import Net
from spn.structural.analysis import structure
from spn.structural.bounds import bounds, place_bounds
from spn.structural.semiflows import Limits
from spn.structural.siphons import is_siphon, is_trap, maximal_siphon, maximal_trap, minimal_siphons, minimal_traps
from tests.structural.nets import plain, reachable, wild


@settings(max_examples=80, deadline=None)
@given(wild())
def test_no_reachable_marking_exceeds_a_bound(net: Net) -> None:
    markings = reachable(net)
    quick = bounds(net).most
    for p, most in enumerate(place_bounds(net)):
        cheap = quick.get(net.places[p].name)
        assert most is None or cheap is None or most <= cheap
        for m in markings or ():
            assert most is None or m[p] <= most
    if all(b is not None for b in place_bounds(net)):
        assert markings is not None or any(b > 8 for b in place_bounds(net) if b is not None)


def test_the_state_equation_bounds_what_no_semiflow_does() -> None:
    net = parse(
        "place a = 4, b, c timed t : 2*a -> b ~ exp(rate = 1/s) timed u : a -> c ~ exp(rate = 1/s) timed v : b -> ~ exp(rate = 1/s)"
    ).net
    assert place_bounds(net) == (4, 2, 4)


@settings(max_examples=60, deadline=None)
@given(wild())
def test_siphons_and_traps_are_all_the_minimal_ones(net: Net) -> None:
    n = len(net.places)
    subsets = [frozenset(c) for size in range(1, n + 1) for c in combinations(range(n), size)]
    for test, search, largest in ((is_siphon, minimal_siphons, maximal_siphon), (is_trap, minimal_traps, maximal_trap)):
        good = [s for s in subsets if test(net, s)]
        assert set(search(net, Limits()).sets) == {s for s in good if not any(o < s for o in good)}
        everything = frozenset(range(n))
        assert largest(net, everything) == frozenset().union(*good)


@settings(max_examples=60, deadline=None)
@given(wild())
def test_an_empty_siphon_stays_empty_and_a_marked_trap_marked(net: Net) -> None:
    markings = reachable(net)
    r = semantics.rules(net)
    siphons, traps = minimal_siphons(net, Limits()).sets, minimal_traps(net, Limits()).sets
    for m in markings or ():
        for t in range(len(net.transitions)):
            if semantics.enabling_degree(r, t, m) > 0:
                after = semantics.fire(r, t, m)
                assert all(any(m[p] for p in s) or not any(after[p] for p in s) for s in siphons)
                assert all(not any(m[p] for p in s) or any(after[p] for p in s) for s in traps)


@settings(max_examples=120, deadline=None)
@given(plain())
def test_what_commoner_proves_is_so(net: Net) -> None:
    markings = reachable(net, 400)
    if markings is None:
        return
    r = semantics.rules(net)
    ahead = {
        m: [(t, semantics.fire(r, t, m)) for t in range(len(net.transitions)) if semantics.enabling_degree(r, t, m) > 0] for m in markings
    }
    found = structure(net).commoner
    if found.deadlock_free:
        assert all(ahead.values())
    if found.live is not None:
        assert found.live == all(_can_fire(ahead, m) == set(range(len(net.transitions))) for m in markings)


def _can_fire(ahead: dict, start: tuple) -> set[int]:  # type: ignore[type-arg]
    seen, waiting, fired = {start}, [start], set[int]()
    while waiting:
        for t, after in ahead[waiting.pop()]:
            fired.add(t)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return fired


@pytest.mark.parametrize(
    ("text", "proved"),
    [
        ("place a = 1, b timed t : a -> b ~ exp(rate = 1/s) timed u : b -> a ~ exp(rate = 1/s)", (True, True, True, True)),
        ("place a = 1, b timed t : a -> 2*b ~ exp(rate = 1/s) timed u : b -> a ~ exp(rate = 1/s)", (False, False, False, True)),
        ("place a = 1, b timed t : a -> b ~ exp(rate = 1/s)", (True, True, False, False)),
        ("place q timed t : -> q ~ exp(rate = 1/s) timed u : q -> ~ exp(rate = 1/s)", (False, False, True, True)),
        ("place q = 3 timed u : q -> ~ exp(rate = 1/s)", (True, False, False, False)),
        ("place a = 1, b timed t : flush a -> #a*b ~ exp(rate = 1/s)", (True, True, None, None)),
        ("place a = 1, b timed t : a -> a, #a*b ~ exp(rate = 1/s)", (None, None, None, None)),
    ],
)
def test_certificates(text: str, proved: tuple[bool | None, ...]) -> None:
    s = structure(parse(text))
    assert (s.bounded, s.conservative, s.consistent, s.repetitive) == proved
