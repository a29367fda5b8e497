"""The state spaces of the shared P/T nets: counts as published or found by brute force, and unbounded ones recognised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spn.errors import AnalysisError
from spn.reach.states import States, states

pnml = pytest.importorskip("spn.interop.pnml")

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "pnml"
CASES = sorted(f.parent for f in SHARED.glob("*/expected.json")) if SHARED.is_dir() else []
SLOW = {"mcc-kanban-00005", "mcc-globalresallocation-3-unf"}  # 2.5 million markings; 4,791 transitions

needs_cases = pytest.mark.skipif(not CASES, reason="the shared cases are not beside this checkout")


def figures(found: States) -> dict[str, Any]:
    """What the cases expect, under their names."""
    graph, n = found.graph, len(found)
    return {
        "states": n,
        "arcs": found.timed_firings,
        "distinct_arcs": len(np.unique(graph.source.astype(np.int64) * n + graph.target)),
        "self_loops": int((graph.source == graph.target).sum()),
        "deadlocks": found.dead,
        "max_token_in_place": max((most for _, most in found.bounds.values()), default=0),
        "max_token_per_marking": found.most_tokens,
        "never_enabled_transitions": len(found.never),
        "sccs": found.components,
        "bottom_sccs": found.recurrent,
        "reversible": found.reversible,
        "live": found.live,
    }


@needs_cases
@pytest.mark.parametrize("folder", [f for f in CASES if f.name not in SLOW], ids=lambda f: f.name)
def test_counts(folder: Path) -> None:
    case = json.loads((folder / "expected.json").read_text())
    file = folder / case["inputs"][0]
    net, expected = pnml.read(file.read_bytes(), file.name, folder.name).net, case["expected"]
    if expected.get("bounded") is False:
        with pytest.raises(AnalysisError, match="E0600"):
            states(net)
        return
    found = figures(states(net))
    assert {k: found[k] for k in found if expected.get(k) is not None} == {k: expected[k] for k in found if expected.get(k) is not None}
