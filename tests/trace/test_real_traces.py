"""Real traces against figures computed from them independently (in whole or thousandth microseconds)."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spn.errors import DataError
from spn.trace import Collective, Kind, Layer, Trace, busy, collectives, phases, steps
from spn.trace import read as read_again
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


@lru_cache(maxsize=4)
def read(path: Path, unit: str | None = None) -> Trace:
    """The same file serves several tests that come one after another; a trace cannot be changed."""
    return read_again(path, **({} if unit is None else {"unit": unit}))


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


def test_a_tiny_profile_beside_its_execution_trace() -> None:
    trace, figures = read(SHARED / "et/hta_simple_add_kineto.json.gz"), expected("et/hta_simple_add_kineto.json.gz")
    assert (trace.origin.events, kernels(trace)) == (figures["n_events"], figures["n_kernels"])


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


def microseconds(trace: Trace, chosen: Any) -> Any:
    return trace.duration_ns[chosen] / 1000


# --- TensorFlow ----------------------------------------------------------------------------------------------------------------------

TF1 = [f"tf1/ikhlestov_CPU_timeline_02_step_{i}.json" for i in range(3)] + ["tf1/ikhlestov_CPU_timeline_03_merged_5_runs.json"]


@pytest.mark.parametrize("path", TF1)
def test_timelines_of_tensorflow_1(path: str) -> None:
    trace, figures = read(SHARED / path), expected(path)
    assert trace.origin.format == "TensorFlow timeline"
    assert (trace.origin.events, len(trace)) == (figures["n_events"], figures["n_X"])
    assert trace.span_ns() == 1000 * figures["span_us"]
    assert trace.duration_ns.sum() == 1000 * figures["sum_dur_us"]
    assert set(trace.nodes) == set(figures["by_device"])
    type_ = np.array(trace.types)[trace.operation]
    assert {op: int(microseconds(trace, type_ == op).sum()) for op in figures["top_ops"]} == figures["top_ops"]
    assert len(steps(trace)) == (5 if "merged" in path else 1)
    events = [e for e in json.loads((SHARED / path).read_text(encoding="utf-8"))["traceEvents"] if e["ph"] == "X"]
    inputs = {(e["args"]["name"], v.lstrip("^").partition(":")[0]) for e in events for k, v in e["args"].items() if k.startswith("input")}
    told = {(trace.operations[trace.operation[a]], trace.operations[trace.operation[b]]) for a, b in trace.dependencies.tolist()}
    assert {pair for pair in inputs if pair[1] in trace.operations} <= told


def test_a_real_parameter_server_job() -> None:
    """60 steps of one worker: exact bytes, phases of both directions, and the time of every operation."""
    figures = expected("tf1_ps/n1_200mbit_runmetadata.tar.gz")
    trace = read(SHARED / "tf1_ps/n1_200mbit_runmetadata.tar.gz")
    assert (len(trace.parts), len(trace)) == (figures["n_files"], figures["rows"])
    assert trace.mark_number.tolist() == list(range(60))
    assert trace.mark_duration_ns.mean() / 1000 == pytest.approx(figures["span_us_mean"], abs=2)
    assert trace.mark_duration_ns.std(ddof=1) / 1000 == pytest.approx(figures["span_us_sd"], rel=1e-3)
    found = phases(trace)
    worker, server = trace.nodes.index("/job:worker/task:0"), trace.nodes.index("/job:ps/task:0")
    down, up = (found.source == server) & (found.target == worker), (found.source == worker) & (found.target == server)
    assert len(found) == down.sum() + up.sum()
    for chosen, name in ((down, "downlink"), (up, "uplink")):
        sent = Counter(np.bincount(found.mark[chosen], found.bytes[chosen]).astype(int).tolist())
        assert sent == {int(k): v for k, v in figures[f"{name}_bytes_per_step"].items()}
        length = found.length_ns[chosen & (found.bytes > 4)].mean() / 1000  # the other one is the learning rate
        assert length == pytest.approx(figures[f"{name}_phase_us_mean"], abs=1e-3)
    for name, row in figures["pyfunc_us"].items():
        operation = next(op for op in trace.operations if op.rpartition("/")[2] == name)
        values = microseconds(trace, trace.select(operation))
        assert (len(values), values.mean()) == (row["n"], pytest.approx(row["mean"], abs=1.5))  # whole microseconds there
    for name, row in figures["recv_us"].items():
        values = microseconds(trace, trace.select(f"RecvTensor {name}"))
        assert (len(values), values.mean()) == (row["n"], pytest.approx(row["mean"], abs=0.01))


def test_three_cut_steps_of_it_are_left_out() -> None:
    trace = read(SHARED / "tf1_ps/n1_200mbit_runmetadata.tar.gz")
    found = steps(trace)
    assert len(found) == 57
    assert set(found.bytes.tolist()) == {8388608 + 8388612}
    assert [(p.what, p.count) for p in found.problems] == [("step that lacks transfers, left out", 3)]
    assert found.compute.mean() / found.step.mean() < 0.2  # the job waits for its link
    rate = phases(trace, found)
    large = rate.bytes > 4
    assert (rate.bytes[large].sum() / rate.length_ns[large].sum()) * 1e9 == pytest.approx(25e6, rel=0.05)


def test_three_forms_of_one_step_agree() -> None:
    forms = [read(SHARED / f"tf1_ps/n1_200mbit_w0_step010.{end}") for end in ("RunMetadata.pb", "step_stats.json", "timeline.json")]
    binary, text, timeline = forms
    assert binary.operations == text.operations
    for column in ("operation", "start_ns", "duration_ns", "bytes", "kind", "rank"):
        assert (getattr(binary, column) == getattr(text, column)).all()
    assert (binary.dependencies == text.dependencies).all()
    shared = [name for name in timeline.operations if name in binary.operations and timeline.counts()[name] == 1]
    assert len(shared) > 50
    for name in shared:
        assert abs(int(timeline.duration_ns[timeline.named(name)][0]) - int(binary.duration_ns[binary.named(name)][0])) <= 2000
    assert {f.mark_number.tolist()[0] for f in forms} == {0}


def test_profiles_of_tensorflow_2() -> None:
    path = "tf2/sagemaker_tf2_profile.trace.json.gz"
    trace, figures = read(SHARED / path), expected(path)
    assert trace.origin.format == "TensorFlow profile"
    assert (trace.origin.events, len(trace)) == (figures["n_events"] - 1, figures["n_X"])  # the last one is empty
    assert trace.span_ns() == 1000 * figures["span_us"]
    assert list(trace.counts().items())[:3] == [tuple(row) for row in sorted(figures["top"], key=lambda r: (-r[1], r[0]))[:3]]
    path = "selfmade/tf2_train8_cpu.xplane.pb"
    trace, figures = read(SHARED / path), expected(path)
    assert trace.origin.events == figures["events"]
    assert trace.origin.about["planes"] == figures["planes"]
    assert len(trace.mark_number) == figures["train_steps"]
    assert trace.mark_duration_ns.mean() / 1000 == pytest.approx(figures["train_mean_us"], abs=1e-3)
    assert trace.mark_duration_ns[:4].tolist() == [round(ps / 1000) for ps in figures["train_dur_ps_first4"]]


# --- graphs, databases, tables, logs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "nodes"),
    [
        ("et/param_resnet_2gpu_et_v1_1_0.json.gz", "nodes"),
        ("et/hta_simple_add_et.json.gz", "nodes"),
        ("selfmade/ddp_gloo_rank0_et.json.gz", "nodes"),
        ("et/param_dlrm_8gpu_allranks_et_v1_0_1.tar.gz", "nodes_each"),
    ],
)
def test_execution_traces(path: str, nodes: str) -> None:
    trace, figures = read(SHARED / path), expected(path)
    files = len(trace.parts)
    assert trace.origin.format == "PyTorch Execution Trace"
    assert len(trace) == figures[nodes] * files
    assert trace.problems == ()  # no parent is missing
    for name in ("record_param_comms", "nccl:all_reduce", "nccl:all_to_all", "nccl:broadcast"):
        if name in figures:
            assert trace.counts()[name] == figures[name] * files
    if "resnet" in path:
        sent = trace.named("record_param_comms") & (trace.collective == Collective.ALL_REDUCE)
        assert int(trace.bytes[sent].sum()) == 3 * 4 * 25_557_032  # parameters of ResNet-50, three steps
        assert set(trace.group[sent].tolist()) == {2}


def test_chakra() -> None:
    trace, figures = read(SHARED / "chakra/small_chakra.0.json"), expected("chakra/small_chakra.0.json")
    assert len(trace) == figures["n_nodes"]
    assert microseconds(trace, trace.duration_ns > 0).sum() == figures["sum_runtime"]
    assert int((trace.kind == Kind.COMMUNICATION).sum()) == figures["types"]["7"]
    ranks = read_again([SHARED / f"chakra/astrasim_all_reduce_4npus_1MB.{i}.et" for i in range(4)])
    figures = expected("chakra/astrasim_all_reduce_4npus_1MB.0.et")
    assert ranks.parts[0].about["version"] == figures["version"]
    assert ranks.bytes.tolist() == [figures["comm_size_sum"]] * 4
    assert ranks.duration_ns.tolist() == [-1] * 4
    assert set(ranks.collective.tolist()) == {Collective.ALL_REDUCE}


def test_nsight() -> None:
    path = "nsight/nvfuser_report1.sqlite"
    trace, figures = read(SHARED / path), expected(path)
    kernel = (trace.layer == Layer.DEVICE) & (trace.kind != Kind.MEMORY)
    assert (int(kernel.sum()), int(trace.duration_ns[kernel].sum())) == (figures["kernels"], figures["kernel_ns_sum"])
    assert {trace.threads[t] for t in trace.thread[kernel]} == {f"GPU 0/stream {s}" for s in figures["streams"]}
    assert int(np.isin(trace.dependencies[:, 0], np.flatnonzero(kernel)).sum()) == figures["kernel_runtime_join"]
    for name, (count, total) in (("Memcpy DtoH", figures["memcpy"]), ("Memset", figures["memset"])):
        chosen = trace.named(name)
        assert int(chosen.sum()) == count
        assert total in (int(trace.duration_ns[chosen].sum()), int(trace.bytes[chosen].sum()))
    nvtx = (trace.layer == Layer.RANGE).sum() + sum(trace.zeros.get(n, 0) for n in trace.operations)
    assert nvtx == figures["nvtx_ranges"]


def test_phases_of_eight_ranks_in_parquet_and_in_chrome() -> None:
    pytest.importorskip("pyarrow")
    path = "straggler/bytedance_ST_8rank.parquet"
    trace, figures = read(SHARED / path, unit="s"), expected(path)
    zeros = sum(trace.zeros.values())
    assert len(trace) + zeros == figures["rows"]
    assert np.unique(trace.rank).tolist() == list(range(figures["ranks"]))
    assert len(np.unique(trace.mark_number)) == figures["steps"]
    for name, row in figures["optypes"].items():
        values = microseconds(trace, trace.select(name)) / 1e6
        assert len(values) + trace.zeros.get(name, 0) == row["count"]
        if len(values):
            assert values.mean() == pytest.approx(row["mean"], abs=6e-7)
            assert values.std(ddof=1) == pytest.approx(row["std"], abs=6e-7)
    ends = [(trace.mark_start_ns + trace.mark_duration_ns)[trace.mark_number == n].max() for n in np.unique(trace.mark_number)]
    starts = [trace.mark_start_ns[trace.mark_number == n].min() for n in np.unique(trace.mark_number)]
    assert (np.array(ends) - np.array(starts)).mean() / 1e9 == pytest.approx(figures["step_span_s_mean"], abs=1e-5)
    path = "straggler/bytedance_ST_8rank_timeline.json.gz"
    assert read(SHARED / path).origin.events == expected(path)["n_events"]


def test_a_log_of_collectives() -> None:
    path = "aicb/A100_example_comm_log.csv"
    with pytest.raises(DataError, match="names no unit"):
        read(SHARED / path)
    trace, figures = read(SHARED / path, unit="ms"), expected(path)
    assert trace.counts() == figures["types"]
    for name, median in figures["elapsed_ms_median"].items():
        assert np.median(microseconds(trace, trace.select(name))) / 1000 == pytest.approx(median, abs=2e-6)
        size = trace.bytes[trace.select(name)]
        assert int(size[size >= 0].sum()) == figures["msg_bytes"][name]
    assert set(trace.group.tolist()) >= {4}


def test_a_training_log() -> None:
    path = "logs/nanogpt_cpu_60iters.log"
    trace, figures = read(SHARED / path), expected(path)
    times = microseconds(trace, trace.duration_ns > 0) / 1000
    assert (len(times), times[0]) == (figures["iters"], figures["first_ms"])
    assert times.mean() == pytest.approx(figures["mean_all_ms"], abs=1e-3)
    assert times[1:].mean() == pytest.approx(figures["mean_without_first_ms"], abs=1e-3)


def test_horovod_and_byteps() -> None:
    path = "horovod/sagemaker_horovod_small.json"
    trace, figures = read(SHARED / path), expected(path)
    assert trace.origin.events == figures["n_events"]
    assert microseconds(trace, trace.select("NEGOTIATE_ALLREDUCE")).tolist() == figures["NEGOTIATE_ALLREDUCE"]["us"]
    assert {p.what: p.count for p in trace.problems} == {"begin without an end": figures["open_B"]}
    assert trace.origin.about["ranks_seen"] == figures["ranks_seen"]
    trace = read(SHARED / "byteps/byteps_comm_doc_excerpt.json")
    assert trace.origin.format == "BytePS timeline"
    assert set(trace.kind.tolist()) == {Kind.COMMUNICATION}
    path = "byteps/byteps_server_profile_doc_excerpt.json"
    trace, figures = read(SHARED / path), expected(path)
    assert [int(microseconds(trace, trace.select(f"push-{n}"))[0]) for n in (9, 11)] == [figures["push-9_us"], figures["push-11_us"]]
    assert trace.problems[0].example == figures["open"]


def test_waiting_inside_collectives_of_all_ranks() -> None:
    """Sizes are alike on all ranks and times are not: the skew of arrival lies inside the kernels."""
    found = collectives(read(SHARED / "kineto/param_dlrm_8gpu_allranks_kineto.tar.gz"))
    figures = expected("kineto/param_dlrm_8gpu_allranks_kineto.tar.gz")
    assert (len(found), found.ranks) == (figures["allreduce_count"] + figures["all_to_all_count"], tuple(range(8)))
    for rank, row in figures["per_rank"].items():
        assert found.duration_ns[:, int(rank)].sum() / 1000 == pytest.approx(row["comm_union_us"], abs=1)
    assert (found.wait_ns.min(axis=1) == 0).all()
    assert found.service_ns.sum() < 0.2 * found.duration_ns.sum(axis=0).min()


# --- defects -----------------------------------------------------------------------------------------------------------------------------

CASES = SHARED.parent / "cases" / "malformed"
TRACES = sorted(p.parent.name for p in CASES.glob("trace-*/expected.json"))


@pytest.mark.parametrize("name", TRACES)
def test_malformed_traces(name: str) -> None:
    """What must happen with each: an error that says where, or records as told."""
    wanted = json.loads((CASES / name / "expected.json").read_text(encoding="utf-8"))
    outcome, (file,) = wanted["expected"], wanted["inputs"]
    if outcome["outcome"] == "error":
        with pytest.raises(DataError, match="E080"):
            read(CASES / name / file)
        return
    trace = read(CASES / name / file)
    zero = sum(trace.zeros.values())
    events = outcome.get("events", outcome.get("events_if_repaired", outcome.get("events_with_dur", outcome.get("good_events"))))
    assert events is None or len(trace) + zero == events
    assert "total_dur_us" not in outcome or trace.duration_ns.sum() == round(1000 * outcome["total_dur_us"])
    assert "span_us" not in outcome or trace.span_ns() == round(1000 * outcome["span_us"])
    told = outcome.get("durations")
    if isinstance(told, dict):
        assert {trace.operations[o]: d / 1000 for o, d in zip(trace.operation, trace.duration_ns.tolist(), strict=True)} == told
    elif told is not None:
        assert sorted(trace.duration_ns.tolist()) == [1000 * d for d in told]
    assert outcome["outcome"] == "accept" or trace.problems or "strings" in name


@pytest.mark.parametrize("name", ["07_unescaped_quote.json", "27_empty.json", "sagemaker_jsonlines_ok.json"])
def test_defects_that_cannot(name: str) -> None:
    with pytest.raises(DataError):
        read(SHARED / "malformed" / name)
