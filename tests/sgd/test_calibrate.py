"""Calibration from traces: the shipped one, and one written here with known figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spn.dist.families import Deterministic
from spn.errors import DataError
from spn.loading import load
from spn.net.model import Timed
from spn.sgd.calibrate import calibrate

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "examples/training_trace.json.gz"
PARAMETERS = 1_323_018  # of the trained network, 4 bytes each


def test_the_shipped_trace():
    found = calibrate(TRACE)
    assert found.size == 4 * PARAMETERS
    assert found.update is not None
    assert found.compute.n == found.update.n == 79  # of 80: the first one, three times as long as usual, was a warm-up
    assert found.compute.law.mean() == pytest.approx(found.compute.mean, rel=0.02)
    assert set(found.settings()) == {"step", "apply", "size"}
    assert len(found.lines()) == 3


def test_settings_reach_the_models():
    found = calibrate(TRACE)
    for name in ("async_ps", "sync_ps", "ring"):
        model = load(ROOT / f"models/sgd/{name}.spn", params=found.settings())
        laws = {t.name: t.law for t in model.net.transitions if isinstance(t, Timed)}
        assert laws["train"] == found.compute.law
        assert found.update is not None and laws["absorb"] == found.update.law
        if name != "ring":
            assert laws["push"] == Deterministic(value=4 * PARAMETERS)


def events(*named: tuple[str, float, float, dict[str, int]]) -> str:
    return json.dumps([{"name": n, "ph": "X", "pid": 0, "tid": 0, "ts": ts, "dur": dur, "args": args} for n, ts, dur, args in named])


def test_a_trace_without_marks_names_its_operations(tmp_path: Path):
    file = tmp_path / "t.json"
    file.write_text(
        events(*(e for k in range(5) for e in [("compute", 10_000.0 * k, 3000.0, {}), ("push", 10_000.0 * k + 4000, 500.0, {"bytes": 64})]))
    )
    found = calibrate(file)
    assert found.compute.law.mean() == pytest.approx(0.003)
    assert found.compute.mean == pytest.approx(0.003)
    assert found.update is None and found.size == 64
    assert set(found.settings()) == {"step", "size"}


def test_a_trace_without_marks_or_computation_is_refused(tmp_path: Path):
    file = tmp_path / "t.json"
    file.write_text(events(("other", 0.0, 5.0, {})))
    with pytest.raises(DataError, match="neither step marks nor an operation called compute"):
        calibrate(file)
