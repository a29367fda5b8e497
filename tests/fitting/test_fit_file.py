"""Fits from files: which durations a name means, and what is said where it means none."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from spn.errors import DataError
from spn.fitting import fit_file
from tests.trace.writing import event, mark, write

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / ".." / "shared" / "traces"
EXAMPLE = ROOT / "examples" / "training_trace.json.gz"


def training(folder: Path, steps: int = 40) -> Path:
    """Steps of a forward pass (gamma, mean 60 us), an exposed all-reduce (20 us) and an update (5 us)."""
    rng, at, events = np.random.default_rng(1), 0.0, []
    for i in range(steps):
        compute = float(rng.gamma(50, 1.2))
        events += [
            mark(i, at, compute + 25),
            event("aten::mm", at, compute),
            event("gloo:all_reduce", at + compute, 20, cat="user_annotation", bytes=4000),
            event("Optimizer.step#SGD.step", at + compute + 20, 5, cat="user_annotation"),
        ]
        at += compute + 25
    return write(folder, events)


def test_phases_of_the_steps(tmp_path: Path) -> None:
    path = training(tmp_path)
    compute, step, update = (fit_file(path, name) for name in ("compute", "step", "update"))
    assert compute.n == 40
    assert compute.mean == pytest.approx(60e-6, rel=0.1)
    assert compute.source == "compute per step in trace.json"
    assert step.mean == pytest.approx(compute.mean + 25e-6, rel=1e-3)
    assert update.family == "det"  # all equal but for the rounding of the edges
    assert update.law.mean() == pytest.approx(5e-6, abs=2e-9)
    assert fit_file(path, "exposed").mean == pytest.approx(20e-6, rel=1e-3)
    assert fit_file(path, "local").mean == pytest.approx(compute.mean + 5e-6, rel=1e-3)
    assert fit_file(path) is fit_file(path, None, "auto")
    assert fit_file(path).source == "step in trace.json"


def test_an_operation_by_its_exact_name(tmp_path: Path) -> None:
    found = fit_file(training(tmp_path), "gloo:all_reduce", "det")
    assert (found.n, found.law.mean()) == (40, pytest.approx(20e-6))
    assert found.source == "gloo:all_reduce in trace.json"


def test_an_operation_comes_before_a_phase_of_its_name(tmp_path: Path) -> None:
    path = write(tmp_path, [event("compute", 10 * i, 7, cat="") for i in range(9)])
    assert fit_file(path, "compute").literal() == "det(7e-6 s)"
    assert fit_file(path).source == "compute in trace.json"


def test_names_that_the_file_does_not_hold(tmp_path: Path) -> None:
    path = training(tmp_path)
    with pytest.raises(
        DataError, match=r"no operation 'aten::m'(.|\n)*did you mean aten::mm \(40\)\?(.|\n)*Optimizer\.step#SGD\.step \(40\)"
    ) as error:
        fit_file(path, "aten::m")
    assert error.value.diagnostics[0].code == "E0804"
    bare = write(tmp_path, [event("a", 1, 2), event("b", 5, 2)], name="bare.json")
    with pytest.raises(DataError, match="no step marks") as error:
        fit_file(bare, "compute")
    assert error.value.diagnostics[0].code == "E0805"
    alone = write(tmp_path, [m for i in range(3) for m in (mark(i, 100 * i, 90), event("aten::mm", 100 * i, 50))], name="alone.json")
    with pytest.raises(DataError, match=r"no step of .* holds any communication") as error:
        fit_file(alone, "communication")
    assert error.value.diagnostics[0].code == "E0804"


def test_an_empty_trace_is_an_error_here(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no durations") as error:
        fit_file(write(tmp_path, []))
    assert error.value.diagnostics[0].code == "E0803"


def test_csv_with_options(tmp_path: Path) -> None:
    path = tmp_path / "times.csv.gz"
    path.write_bytes(gzip.compress(("op,wait,run\n" + "".join(f"f,{i},{2 + i % 2}\n" for i in range(1, 31))).encode()))
    found = fit_file(path, "f", "empirical", column="run", unit="ms")
    assert found.law.mean() == pytest.approx(2.5e-3)
    with pytest.raises(DataError, match="holds the durations"):
        fit_file(path, "f")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ms\n" + "5\n" * 9, encoding="utf-8")
    assert fit_file(path).literal() == "det(0.005 s)"
    path.write_text("ms\n" + "75\n" * 9, encoding="utf-8")
    assert fit_file(path).literal() == "det(0.075 s)"


def test_the_shipped_trace() -> None:
    """Two processes, 1,323,018 parameters of 4 bytes, an all-reduce in each step; the phases add up to less than the step."""
    from spn.trace import read, steps

    trace = read(EXAMPLE)
    found = steps(trace)
    assert trace.problems == ()
    assert len(found) >= 40
    assert set(found.bytes.tolist()) == {4 * ((256 + 1) * 1024 + (1024 + 1) * 1024 + (1024 + 1) * 10)}
    assert (found.compute + found.exposed + found.update <= found.step).all()
    assert found.compute.sum() > found.step.sum() / 2
    for name in ("compute", "update", "local", "step"):
        fitted = fit_file(EXAMPLE, name)
        assert fitted.n == len(found)
        assert fitted.law.mean() == pytest.approx(fitted.mean, rel=0.05)
    assert EXAMPLE.stat().st_size < 300_000


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_slept_compute_times_are_fitted_as_slept() -> None:
    """own_cluster: lognormal, mean 0.3 s, cv 0.15; 105 durations: 5 standard errors are 7 % of the mean and 35 % of the cv.
    tf1_ps: gamma of shape 16 (cv 0.25), means 0.01 and 0.02 s; 60 durations: 5 standard errors are 16 % and 46 %."""
    for mechanism in ("async-ps", "sync-ps", "allreduce", "ssp"):
        found = fit_file(SHARED / f"own_cluster/{mechanism}-n1.json", "compute", "lognormal")
        assert found.law.mean() == pytest.approx(0.3, rel=0.07)
        assert found.law.cv() == pytest.approx(0.15, rel=0.35)
    for layer in range(4):
        for operation, mean in ((f"fw{layer}", 0.01), (f"bw{layer}", 0.02)):
            found = fit_file(SHARED / "tf1_ps/n1_200mbit_truth.csv", operation, "gamma", column="sampled_s")
            assert found.law.mean() == pytest.approx(mean, rel=0.16)
            assert found.law.cv() == pytest.approx(0.25, rel=0.46)
