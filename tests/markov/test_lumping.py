"""Ordinary lumping: closed forms, a brute-force refinement, and the quotients that symmetry gives."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.loading import load, parse
from spn.markov import long_run
from spn.markov.lumping import lump
from spn.measure import Special, primitives
from spn.reach.space import Limits, compressed
from spn.solvers import may_solve
from spn.solvers.chain import state_space
from spn.symmetry.groups import symmetry

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("models/**/*.spn"), *ROOT.glob("tests/cases/nets/*.spn")])


def chain(n, arcs):
    rows, columns, values = zip(*arcs, strict=True) if arcs else ((), (), ())
    return compressed(n, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64))


def coarsest(n: int, arcs: list[tuple[int, int, Fraction]], reward: list[int]) -> list[set[int]]:
    """By the definition: split any two states of a block whose rates into some other block differ."""
    blocks = [{i for i in range(n) if reward[i] == r} for r in sorted(set(reward))]
    while True:
        for b in blocks:
            into = {
                i: [sum((v for s, t, v in arcs if s == i and t in other), Fraction(0)) for other in blocks if other is not b] for i in b
            }
            kinds = {tuple(x) for x in into.values()}
            if len(kinds) > 1:
                blocks = [x for x in blocks if x is not b] + [{i for i in b if tuple(into[i]) == k} for k in kinds]
                break
        else:
            return blocks


def test_independent_components_are_counted():
    """Three components that fail at rate 1 and are mended at rate 2: 8 states, 4 blocks, and rates k times one component's."""
    arcs = [(s, s ^ (1 << k), 2.0 if s >> k & 1 else 1.0) for s in range(8) for k in range(3)]
    down = np.array([bin(s).count("1") for s in range(8)], dtype=np.float64)
    found = lump(chain(8, arcs), [down])
    assert found.n == 4 and found.block.tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
    assert found.rates.values.tolist() == [3, 2, 2, 4, 1, 6]
    assert found.picked(down).tolist() == [0, 1, 2, 3]


def test_without_rewards_all_is_one():
    assert lump(chain(3, [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0)])).n == 1


def test_rewards_keep_states_apart():
    cycle = chain(4, [(i, (i + 1) % 4, 1.0) for i in range(4)])
    assert lump(cycle, [np.array([1.0, 0, 1, 0])]).n == 2
    assert lump(cycle, [np.array([1.0, 0, 0, 0])]).n == 4
    assert lump(cycle, [np.array([np.nan, 0, np.nan, 0])]).n == 2


def test_small_rates_beside_large_ones_count():
    """Rates 1e9 into one block do not hide a difference of 1e-3 into another."""
    arcs = [(0, 2, 1e9), (1, 2, 1e9), (0, 3, 1e-3), (1, 3, 2e-3), (2, 0, 1.0), (3, 1, 1.0)]
    assert lump(chain(4, arcs), [np.array([0.0, 0, 1, 2])]).n == 4


def test_the_empty_chain():
    assert lump(chain(0, [])).n == 0
    assert lump(chain(2, []), [np.array([1.0, 1.0])]).n == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_as_by_definition(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    arcs = {(int(i), int(j)): Fraction(int(v), 7) for i, j, v in rng.integers(0, n, (3 * n, 3)) if i != j and v > 0}
    reward = rng.integers(0, 2, n).tolist()
    listed = [(i, j, v) for (i, j), v in arcs.items()]
    found = lump(chain(n, [(i, j, float(v)) for i, j, v in listed]), [np.array(reward, dtype=np.float64)])
    right = coarsest(n, listed, reward)
    assert {frozenset(np.flatnonzero(found.block == b).tolist()) for b in range(found.n)} == {frozenset(b) for b in right}
    assert all(a < b for a, b in pairwise(found.first.tolist()))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f, id=f"{f.parent.name}/{f.stem}")
        for f in FILES
        if "kanban" not in f.stem and "100" not in f.stem and f.stem != "cqn37"
    ],
)
def test_lumped_chains_have_the_same_values(path: Path):
    """On every small model: the stationary means from the lumped chain, to 1e-10."""
    model = load(path)
    if may_solve(model):
        pytest.skip("no Markov chain")
    wanted = [p for m in model.measures for p in primitives(m.body, model.net) if not isinstance(p, Special)]
    found = state_space(model.net, tuple(dict.fromkeys(wanted)), Limits(states=30_000))
    rewards = list({id(r): r for r in found.rewards.values()}.values())
    small = lump(found.space.rates, rewards)
    assert small.n <= found.space.n
    pi = long_run(found.space.rates, found.space.initial).pi
    lumped = long_run(small.rates, small.summed(found.space.initial)).pi
    assert np.abs(small.summed(pi) - lumped).max(initial=0) <= 1e-10
    for r in rewards:
        assert small.picked(r) @ lumped == pytest.approx(r @ pi, rel=1e-10, abs=1e-12)


REPLICAS = """units none
param n : count = 4
place pool = 1
component worker(pool : place) {{
  place a = 1
  place b, c
  timed go : a -> b ~ {law}
  timed on : b, pool -> c ~ exp(rate = 2)
  timed end : c -> a, pool ~ exp(rate = 3)
}}
use worker w[i in 1..n](pool)
{more}
measure busy = E(sum(#w[i].b for i in 1..n))
measure c    = P(any(#w[i].c > 0 for i in 1..n))
"""


@pytest.mark.parametrize(
    ("law", "more"),
    [
        ("exp(rate = 1)", ""),
        ("exp(rate = 1)", "timed ring[i in 1..n] : w[i].b, w[i mod n + 1].a -> w[i].a, w[i mod n + 1].b ~ exp(rate = 1)"),
        ("erlang(2, rate = 1)", ""),
        ("exp(rate = 1)", "timed odd : w[1].b -> w[1].a ~ exp(rate = 1)"),
    ],
)
def test_lumping_is_at_least_as_coarse_as_symmetry(law: str, more: str):
    model = parse(REPLICAS.format(law=law, more=more))
    wanted = tuple(p for m in model.measures for p in primitives(m.body, model.net))
    whole = state_space(model.net, wanted, Limits())
    groups = symmetry(model.net, model.measures).groups
    by_symmetry = state_space(model.net, wanted, Limits(), groups)
    by_chain = lump(whole.space.rates, list(whole.rewards.values()))
    assert groups and by_symmetry.space.n < whole.space.n
    assert by_chain.n <= by_symmetry.space.n
    again = lump(by_symmetry.space.rates, list(by_symmetry.rewards.values()))
    assert again.n == by_chain.n
