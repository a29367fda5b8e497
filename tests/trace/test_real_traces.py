"""Real traces against figures computed from them independently (in whole or thousandth microseconds)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spn.errors import DataError
from spn.trace import Kind, Layer, Trace, busy, read, steps
from spn.trace.intervals import merge

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces"
ROUNDING = 0.02  # microseconds: each edge of a union is rounded to a nanosecond here and to a float there

KINETO = (
    "kineto/hta_ddp_resnet50_2gpu_rank0_sizes.json.gz",
    "kineto/hta_sampled_128gpu_rank0.json.gz",
    "kineto/hta_sampled_128gpu_rank1.json.gz",
    "kineto/hta_cpu_only_gloo_rank34.json.gz",
    "kineto/hta_amd_mi250_minitoy.json.gz",
    "kineto/hta_alexnet_1gpu_nostep.json.gz",
    "kineto/hta_backward_thread_tiny.json",
    "kineto/kineto_resnet50_1gpu_nw0_v1_8.json.gz",
    "kineto/kineto_gpu_metrics_input_tiny.json",
    "selfmade/ddp_gloo_rank0_kineto.json.gz",
)

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")


def expected(path: str) -> dict[str, Any]:
    index = json.loads((SHARED / "INDEX.json").read_text(encoding="utf-8"))
    figures: dict[str, Any] = next(e["expected"] for e in index if e["path"] == path)
    return figures


def kernels(trace: Trace) -> int:
    return int(((trace.layer == Layer.DEVICE) & (trace.kind != Kind.MEMORY)).sum())


@pytest.mark.parametrize("path", KINETO)
def test_counts_and_steps(path: str) -> None:
    trace, figures = read(SHARED / path), expected(path)
    assert trace.origin.events == figures["n_events"]
    assert len(trace.mark_number) == figures["n_steps"]
    assert [f"ProfilerStep#{n}" for n in trace.mark_number] == figures.get("step_names", [])
    if "step_dur_us" in figures:
        assert (trace.mark_duration_ns / 1000).tolist() == pytest.approx(figures["step_dur_us"], abs=1e-3)
    if "step_mean_us" in figures:
        assert trace.mark_duration_ns.mean() / 1000 == pytest.approx(figures["step_mean_us"], abs=1e-3)
    if "n_kernels" in figures:
        # a kernel of 0 us is in no record, but counted
        assert 0 <= figures["n_kernels"] - kernels(trace) <= figures["zero_dur"]
        assert sum(p.count for p in trace.problems if p.what == "duration of 0") == figures["zero_dur"]


@pytest.mark.parametrize("path", [KINETO[0], KINETO[7]])
def test_steps_of_the_device(path: str) -> None:
    """Which operations a step launched, and the time from the end of one step on the device to the end of the next one."""
    trace, figures = read(SHARED / path), expected(path)
    zero = sum(trace.zeros.values())
    on_device = trace.step[(trace.layer == Layer.DEVICE) & (trace.step >= 0)]
    per_step = np.bincount(on_device)
    assert all(0 <= e - n <= zero for n, e in zip(per_step, figures["gpu_ops_per_step_by_correlation"], strict=True))
    assert (steps(trace).device_periods() / 1000).tolist() == pytest.approx(figures["device_period_us"], abs=0.002)


@pytest.mark.parametrize("path", [p for p in KINETO if "selfmade" not in p and "gloo" not in p])
def test_unions_on_the_device(path: str) -> None:
    figures, found = expected(path), busy(read(SHARED / path))
    assert found.communication.length() / 1000 == pytest.approx(figures["comm_union_us"], abs=ROUNDING)
    assert merge(found.compute, found.update).length() / 1000 == pytest.approx(figures["compute_union_us"], abs=ROUNDING)
    assert found.exposed() / 1000 == pytest.approx(figures["exposed_comm_us"], abs=ROUNDING)


def test_bytes_of_a_two_gpu_step() -> None:
    """15 all-reduces of 4 * 25,557,032 bytes a step in all, and the broadcast of the buffers."""
    found = steps(read(SHARED / KINETO[0]))
    assert found.on_device
    assert int(found.bytes.sum()) == 306684384 + 638712
    assert found.bytes.tolist() == [4 * 25_557_032 + 638712 // 3] * 3


def test_bytes_and_times_of_a_two_process_cpu_job() -> None:
    path = "selfmade/ddp_gloo_rank0_kineto.json.gz"
    found, figures = steps(read(SHARED / path)), expected(path)
    assert found.bytes.tolist() == [figures["bytes_per_step"]] * 6
    assert (found.compute > 0).all()
    assert (found.compute + found.exposed + found.update <= found.step).all()


def test_sampled_ranks_move_the_bytes_told_and_are_not_called_whole() -> None:
    for rank in (0, 1):
        path = f"kineto/hta_sampled_128gpu_rank{rank}.json.gz"
        trace, figures = read(SHARED / path), expected(path)
        assert int(steps(trace).bytes.sum()) == sum(c["in_bytes"] for c in figures["coll_annot"].values())
        assert any(p.what == "trace that is not complete" for p in trace.problems)


def test_gloo_collectives_partly_after_the_step() -> None:
    trace = read(SHARED / "kineto/hta_cpu_only_gloo_rank34.json.gz")
    collectives = trace.select("gloo:all_reduce")
    assert int(collectives.sum()) == 10
    assert int(trace.bytes[collectives].sum()) == 48073640
    assert steps(trace).communication[0] < busy(trace).communication.length()


def test_a_nearly_empty_last_step_is_dropped() -> None:
    found = steps(read(SHARED / "kineto/hta_amd_mi250_minitoy.json.gz"))
    assert found.number.tolist() == [1]
    assert found.problems[0].count == 1


def test_kernels_after_the_last_step_belong_to_it() -> None:
    """Launched in every step are 1516 device operations (1462 kernels), although 561 kernels start after the last step of the host."""
    found = steps(read(SHARED / "kineto/kineto_resnet50_1gpu_nw0_v1_8.json.gz"))
    assert (found.compute + found.update).std() / (found.compute + found.update).mean() < 0.001


def test_all_eight_ranks() -> None:
    """One table from a tar archive of a file per rank, in no order."""
    figures = expected("kineto/param_dlrm_8gpu_allranks_kineto.tar.gz")
    trace = read(SHARED / "kineto/param_dlrm_8gpu_allranks_kineto.tar.gz")
    found = steps(trace)
    assert sorted(found.rank.tolist()) == list(range(8))
    for part, origin in enumerate(trace.parts):
        own = np.asarray(trace.part == part)
        rank = int(trace.rank[own][0])
        row, at = figures["per_rank"][str(rank)], found.rank.tolist().index(rank)
        times = busy(trace, own)
        assert origin.events == row["n_events"]
        assert found.step[at] / 1000 == pytest.approx(row["step_us"], abs=ROUNDING)
        assert int((own & (trace.layer == Layer.DEVICE) & (trace.kind != Kind.MEMORY)).sum()) == row["n_kernels"]
        assert times.communication.length() / 1000 == pytest.approx(row["comm_union_us"], abs=ROUNDING)
        assert merge(times.compute, times.update).length() / 1000 == pytest.approx(row["compute_union_us"], abs=ROUNDING)
        assert times.exposed() / 1000 == pytest.approx(row["exposed_comm_us"], abs=ROUNDING)
        assert int(found.bytes[at]) == figures["allreduce_bytes_each_rank"] + figures["all_to_all_bytes_each_rank"]


@pytest.mark.parametrize("name", ["allreduce", "async-ps", "ssp", "sync-ps"])
def test_own_cluster(name: str) -> None:
    """Compute slept 0.3 s in the mean, each message 2,000,000 bytes."""
    trace = read(SHARED / f"own_cluster/{name}-n1.json")
    compute = trace.duration_ns[trace.select("compute")] / 1e9
    assert len(compute) in (105, 160)
    assert compute.mean() == pytest.approx(0.3, rel=0.04)
    assert set(trace.bytes[trace.bytes >= 0].tolist()) == {2_000_000}
    assert set(trace.kind.tolist()) <= {Kind.COMPUTE, Kind.COMMUNICATION, Kind.UPDATE, Kind.WAIT}


MALFORMED: dict[str, tuple[int, int, int]] = {  # name: events, steps, problems
    "01_ok_object.json": (7, 2, 0),
    "03_array_no_close.json": (7, 2, 0),
    "05_control_char.json": (7, 2, 0),
    "09_negative_dur.json": (8, 2, 1),
    "11_overlap_not_nested.json": (9, 2, 1),
    "13_zero_ts.json": (9, 2, 2),
    "15_no_profilerstep.json": (5, 0, 0),
    "17_last_event_empty.json": (7, 2, 0),
    "19_invalid_utf8.json": (7, 2, 1),
    "21_gz_without_suffix.json": (7, 2, 0),
    "23_multi_member.json.gz": (7, 2, 0),
    "25_gpu_step_copies.json": (9, 2, 0),
    "29_empty_events.json": (0, 0, 1),
    "31_ts_float_abs_us.json": (2, 1, 2),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_defects_that_can_be_lived_with(name: str) -> None:
    trace = read(SHARED / "malformed" / name)
    assert (trace.origin.events, len(trace.mark_number), sum(p.count for p in trace.problems)) == MALFORMED[name]
    if len(trace.mark_number) == 2:
        assert steps(trace).step.tolist() == [1_000_000, 1_200_000]
        assert trace.start_ns.min() == 1_100_000


@pytest.mark.parametrize("name", ["07_unescaped_quote.json", "27_empty.json", "sagemaker_jsonlines_ok.json"])
def test_defects_that_cannot(name: str) -> None:
    with pytest.raises(DataError):
        read(SHARED / "malformed" / name)
