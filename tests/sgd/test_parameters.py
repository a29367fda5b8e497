"""Parameter files: written from a trace, read back into the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.errors import DataError
from spn.loading import load
from spn.net.model import Timed
from spn.sgd.calibrate import calibrate
from spn.sgd.parameters import settings, written

ROOT = Path(__file__).resolve().parents[2]
TF1 = ROOT.parent / "shared/traces/tf1_ps/n1_200mbit_runmetadata.tar.gz"


def test_a_file_gives_the_model_the_very_laws(tmp_path: Path):
    found = calibrate(ROOT / "examples/training_trace.json.gz")
    file = tmp_path / "params.spn"
    file.write_text(written(found))
    model = load(ROOT / "models/sgd/async_ps.spn", params=settings(file))
    laws = {t.name: t.law for t in model.net.transitions if isinstance(t, Timed)}
    assert laws["train"].mean() == pytest.approx(found.compute.law.mean(), rel=1e-12)
    assert laws["push"].mean() == found.size


@pytest.mark.skipif(not TF1.exists(), reason="the recorded job is not there")
def test_a_recorded_job():
    found = calibrate(TF1)
    assert found.size is not None and 8_388_608 <= found.size <= 8_388_612
    assert found.link is not None and found.link.capacity == pytest.approx(25e6, rel=0.05)


def test_other_statements_are_refused(tmp_path: Path):
    file = tmp_path / "params.spn"
    file.write_text("place a = 1\n")
    with pytest.raises(DataError, match="more than param and dist"):
        settings(file)
