"""Longer checks of the structure: many random nets, and the large nets of the public bank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from spn.expr.nodes import Node
from spn.loading import load
from spn.model import Model
from spn.net.model import Net, timed
from spn.reach import Limits
from spn.reach.graph import explore_graph
from spn.structural.analysis import bounds, structure
from spn.structural.bounds import place_bounds
from spn.structural.throughput import violation
from tests.interop.test_pnml import BANK, ids
from tests.structural import test_classes, test_place_bounds, test_proof, test_throughput
from tests.structural.nets import conserving, plain, wild

MANY = settings(max_examples=1_500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SLACK = test_throughput.SLACK


@MANY
@given(conserving())
def test_throughput_bounds(net: Net) -> None:
    values = test_throughput.exact(Model(name="random", net=net)) if timed(net) else None
    if values is None:
        return
    for b in bounds(net):
        assert b.lower * (1 - SLACK) - SLACK <= values[0][b.transition] <= b.upper * (1 + SLACK) + SLACK
    gap = violation(net, *values)
    assert gap is None or gap < SLACK


@MANY
@given(wild(), test_proof.conditions())
def test_proofs(net: Net, condition: Node) -> None:
    test_proof.test_what_is_proved_holds.hypothesis.inner_test(net, condition)


@MANY
@given(wild())
def test_siphons_traps_and_bounds(net: Net) -> None:
    test_place_bounds.test_siphons_and_traps_are_all_the_minimal_ones.hypothesis.inner_test(net)
    test_place_bounds.test_no_reachable_marking_exceeds_a_bound.hypothesis.inner_test(net)


@MANY
@given(plain())
def test_commoner(net: Net) -> None:
    test_place_bounds.test_what_commoner_proves_is_so.hypothesis.inner_test(net)


@MANY
@given(conserving(immediates=False))
def test_product_forms(net: Net) -> None:
    test_classes.test_a_product_form_found_is_the_exact_solution.hypothesis.inner_test(net)


@pytest.mark.parametrize("folder", BANK, ids=lambda f: f.name)
def test_the_bank(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    net = load(folder / "model.pnml").net
    found = structure(net)
    assert not (found.commoner.deadlock_free and expected.get("deadlocks"))
    assert found.commoner.live is None or found.commoner.live == expected.get("live", found.commoner.live)
    most = dict(zip(ids(net.places), place_bounds(net), strict=True))
    for place, reached in (expected.get("place_bounds") or {}).items():
        assert most[place] is None or (reached != "omega" and most[place] >= reached)
    if expected.get("states", 10**9) < 500_000:
        graph = explore_graph(net, Limits())
        assert (len(graph.markings), len(graph.source)) == (expected["states"], expected["arcs"])
