"""Packed markings: fields that are too narrow are widened and nothing is cut off; many places take several words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import AnalysisError
from spn.expr.nodes import tokens
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.reach import Limits, explore, large
from spn.reach.graph import explore_graph
from spn.reach.packing import fields, packed
from spn.reach.space import Graph
from spn.structural.bounds import Bounds
from tests.reach.test_explore import ALWAYS_NARROW, nets

PARTS = ("markings", "vanishing", "parent", "via", "source", "target", "transition")


def equal(found: Graph, right: Graph) -> None:
    for part in PARTS:
        np.testing.assert_array_equal(getattr(found, part), getattr(right, part), err_msg=part)
    np.testing.assert_allclose(found.weight, right.weight, rtol=1e-15)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**63 - 1)), min_size=3, max_size=3), min_size=1, max_size=6))
def test_packing_keeps_every_number(rows: list[list[int]]) -> None:
    found = packed(np.array(rows, dtype=np.int64))
    assert found.tolist() == rows and found[-1].tolist() == rows[-1]
    assert found.columns([2, 0]).tolist() == [[r[2], r[0]] for r in rows]
    assert found.first(2).tolist() == [r[:2] for r in rows]
    assert found.most().tolist() == [max(c) for c in zip(*rows, strict=True)]
    assert found.rows([0]).tolist() == rows[:1] and np.asarray(found).shape == found.shape


def test_fields_share_words_and_are_guarded_where_that_costs_nothing() -> None:
    assert (fields([5] * 16).width, fields([5] * 16).guarded) == (1, True)  # 16 times 3 bits and a guard
    assert (fields([7] * 21).width, fields([7] * 21).guarded) == (1, False)  # 63 bits, or two words with guards
    assert fields([2**63 - 1, 1]).width == 1
    assert fields([2**62] * 3).width == 3


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bounds are known, so that all fields begin as narrow as can be."""
    monkeypatch.setattr(large, "bounds", lambda net: Bounds({}, (), False))


def ring(places: int, jobs: int, multiplicity: int = 1) -> Net:
    b = NetBuilder()
    for i in range(places):
        b.place(f"p{i}", jobs * (i == 0))
    for i in range(places):
        change = {f"p{i}": multiplicity}, {f"p{(i + 1) % places}": multiplicity}
        b.timed(f"t{i}", *change, rate=1 + i, servers=[1, 2, "inf"][i % 3])
    return b.build()


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize("net", [ring(4, 20), ring(3, 3000, 500), ring(25, 2), ring(70, 1)], ids=["deep", "jumps", "wide", "bits"])
def test_fields_are_widened_as_places_fill(net: Net) -> None:
    equal(explore_graph(net, Limits(), compiled=0), explore_graph(net, Limits(), narrow=0, compiled=10**9))


@pytest.mark.usefixtures("unknown")
@settings(max_examples=100, deadline=None)
@given(nets(varying=True))
def test_random_nets_with_no_bounds_known(net: Net) -> None:
    try:
        right = explore_graph(net, Limits(), narrow=ALWAYS_NARROW)
    except Exception:
        return
    equal(explore_graph(net, Limits(), compiled=0), right)


@pytest.mark.parametrize("amount", [2**61, 2**62, tokens("a")], ids=["constant", "large", "by marking"])
def test_more_tokens_than_a_word_holds_are_an_error(amount: object) -> None:
    """No wrap-around in the kernel either, whether the multiplicity is constant or not."""
    b = NetBuilder()
    b.place("go", 8)
    b.place("a", 2**61)
    b.timed("t", "go", {"a": amount}, rate=1)
    with pytest.raises(AnalysisError, match="E0603"):
        explore(b.build(), compiled=0)


def test_a_chain_is_the_same_by_narrow_and_by_known_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    net = ring(5, 9)
    known = explore(net, compiled=0)
    monkeypatch.setattr(large, "bounds", lambda net: Bounds({}, (), False))
    found = explore(net, compiled=0)
    assert found.markings.tolist() == known.markings.tolist()
    for part in ("indptr", "columns", "values"):
        np.testing.assert_array_equal(getattr(found.rates, part), getattr(known.rates, part))
