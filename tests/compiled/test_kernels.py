"""Enabling, firing and choice in compiled code are those of the definition, on random nets and markings."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.compiled import compile_net
from spn.compiled.kernels import choices_at, degree_at, fire_at
from spn.errors import SemanticsError
from spn.net import semantics
from spn.net.model import Net
from tests.sim.nets import PLACES, random_nets

MARKINGS = st.tuples(*(st.integers(0, 7) for _ in PLACES))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(random_nets(), MARKINGS)
def test_degree_firing_and_choice(net: Net, marking: tuple[int, ...]) -> None:
    rules, compiled = semantics.rules(net), compile_net(net)
    scratch = np.zeros(compiled.scratch, dtype=np.int64)
    for t in range(len(net.transitions)):
        m = np.array(marking, dtype=np.int64)
        degree = semantics.enabling_degree(rules, t, marking)
        assert degree_at(compiled.image, t, m, scratch) == degree
        assert tuple(m.tolist()) == marking
        if degree > 0:
            assert fire_at(compiled.image, t, m, scratch) == 0
            assert tuple(m.tolist()) == semantics.fire(rules, t, marking)
    assert _choices(compiled.image, marking, scratch, len(net.transitions)) == _chosen(rules, marking)


def _choices(image: np.ndarray, marking: tuple[int, ...], scratch: np.ndarray, room: int) -> list[tuple[int, float]] | None:
    out = np.zeros(2 * room, dtype=np.int64)
    n = choices_at(image, np.array(marking, dtype=np.int64), scratch, out)
    return None if n < 0 else [(int(out[2 * i]), float(out.view(np.float64)[2 * i + 1])) for i in range(n)]


def _chosen(rules: semantics.Rules, marking: tuple[int, ...]) -> list[tuple[int, float]] | None:
    try:
        return [(t, float(w)) for t, w in semantics.enabled_immediates(rules, marking)]
    except SemanticsError:
        return None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(random_nets(), MARKINGS)
def test_dependencies_name_all_that_a_firing_changes(net: Net, marking: tuple[int, ...]) -> None:
    rules, depends = semantics.rules(net), compile_net(net).dependencies
    for t in range(len(net.transitions)):
        if semantics.enabling_degree(rules, t, marking) == 0:
            continue
        after = semantics.fire(rules, t, marking)
        for other in range(len(net.transitions)):
            if semantics.enabling_degree(rules, other, marking) != semantics.enabling_degree(rules, other, after):
                assert other in depends.timed[t] + depends.immediates[t]
