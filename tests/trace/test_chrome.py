"""Chrome traces: what is read, what is counted as a problem, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.errors import DataError
from spn.trace import Kind, Layer, Trace, busy, read, steps

from .writing import Event, event, mark, write

TWO_STEPS = [
    mark(1, 1000, 1000),
    event("aten::mm", 1100, 300),
    mark(2, 2000, 1200),
    event("aten::mm", 2100, 320),
    event("aten::relu", 2450, 110),
]


def code(error: pytest.ExceptionInfo[DataError]) -> str:
    return error.value.diagnostics[0].code


def problems(trace: Trace) -> dict[str, int]:
    return {p.what: p.count for p in trace.problems}


def test_records_and_marks(tmp_path: Path) -> None:
    trace = read(write(tmp_path, TWO_STEPS, distributedInfo={"rank": 3}))
    assert trace.counts() == {"aten::mm": 2, "aten::relu": 1}
    assert trace.start_ns.tolist() == [1_100_000, 2_100_000, 2_450_000]
    assert trace.duration_ns.tolist() == [300_000, 320_000, 110_000]
    assert trace.step.tolist() == [0, 1, 1]
    assert trace.rank.tolist() == [3, 3, 3]
    assert trace.mark_number.tolist() == [1, 2]
    assert trace.mark_duration_ns.tolist() == [1_000_000, 1_200_000]
    assert trace.known_bytes().mask.all()
    assert trace.problems == ()
    assert trace.origin.events == 5
    assert "3 records of 2 operations, 2 steps" in repr(trace)
    with pytest.raises(ValueError, match="read-only"):
        trace.duration_ns[0] = 1


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TWO_STEPS),
        "[" + ",\n".join(json.dumps(e) for e in TWO_STEPS) + ",\n",
        "[" + ",".join(json.dumps(e) for e in TWO_STEPS),
        json.dumps({"traceEvents": [*TWO_STEPS, {}]}),
        "\ufeff" + json.dumps({"traceEvents": TWO_STEPS}),
        json.dumps([{**e, "ts": str(e["ts"]), "dur": f"{e['dur']}.0"} for e in TWO_STEPS]),
    ],
    ids=["array", "open array with comma", "open array", "trailing empty event", "byte order mark", "numbers as strings"],
)
def test_all_that_the_format_allows_reads_alike(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text, encoding="utf-8")
    trace = read(path)
    assert trace.origin.events == 5
    assert trace.duration_ns.tolist() == [300_000, 320_000, 110_000]
    assert len(steps(trace)) == 2
    assert trace.problems == ()


def test_gzip_is_seen_by_its_content(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": TWO_STEPS}).encode()
    plain, members = tmp_path / "trace.json", tmp_path / "parts.bin"
    plain.write_bytes(gzip.compress(text))
    members.write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]))
    assert len(read(plain)) == len(read(members)) == 3


@pytest.mark.parametrize("before", ["[", '{"traceEvents": ['])
def test_a_torn_last_event_is_left_out_and_counted(tmp_path: Path, before: str) -> None:
    text = before + ",".join(json.dumps(e) for e in TWO_STEPS)
    path = tmp_path / "t"
    path.write_text(text[:-12], encoding="utf-8")
    trace = read(path)
    assert trace.counts() == {"aten::mm": 2}
    assert problems(trace) == {"event cut off at the end of the file": 1}


def test_zero_and_negative_durations_are_counted_and_never_used(tmp_path: Path) -> None:
    odd = [event("z", 0, 0), event("z", 0, 0), event("bad", 1500, -5), event("lost", 1500, float("nan")), {"ph": "X", "name": "no times"}]
    trace = read(write(tmp_path, TWO_STEPS + odd))
    assert problems(trace) == {"duration of 0": 2, "event without a time or duration": 2, "negative duration": 1}
    assert trace.span_ns() == 2_560_000 - 1_100_000
    assert set(trace.counts()) == {"aten::mm", "aten::relu"}


def test_begin_and_end_events_are_paired_per_thread(tmp_path: Path) -> None:
    def half(phase: str, name: str, ts: float, tid: int = 1) -> Event:
        return {"ph": phase, "name": name, "pid": 1, "tid": tid, "ts": ts}

    events = [half("B", "outer", 10), half("B", "other", 12, tid=2), half("B", "inner", 20), half("E", "", 30), half("E", "", 50),
              half("E", "", 13, tid=2), half("E", "lonely", 60), half("B", "open", 70)]  # fmt: skip
    trace = read(write(tmp_path, events))
    found = {trace.operations[o]: d for o, d in zip(trace.operation, trace.duration_ns.tolist(), strict=True)}
    assert found == {"outer": 40_000, "other": 1_000, "inner": 10_000}
    assert problems(trace) == {"end without a begin": 1, "begin without an end": 1}


def test_device_copies_of_ranges_are_left_out(tmp_path: Path) -> None:
    copies = [event("ProfilerStep#1", 1500, 18, cat="gpu_user_annotation"), event("forward", 1500, 9, cat="gpu_user_annotation")]
    trace = read(write(tmp_path, TWO_STEPS + copies))
    assert len(trace) == 3
    assert steps(trace).step.tolist() == [1_000_000, 1_200_000]


def test_overlap_without_nesting_is_told_and_never_summed(tmp_path: Path) -> None:
    trace = read(write(tmp_path, [event("a", 3000, 100), event("b", 3050, 100), event("inside", 3060, 20)]))
    assert problems(trace) == {"overlap on one thread without nesting": 1}
    assert busy(trace).compute.length() == 150_000


def test_control_characters_and_bad_utf8_do_not_stop_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents": [{"ph":"X","name":"r\x01el\xfc","ts":1,"dur":2,"cat":"cpu_op"}]}')
    trace = read(path)
    assert trace.operations == ("r\x01el\ufffd",)
    assert problems(trace) == {"file with invalid UTF-8": 1}


def test_late_microseconds_promise_no_nanoseconds(tmp_path: Path) -> None:
    late = read(write(tmp_path, [event("k", 1712195495502094.8, 0.301)]))
    assert "0.25 us apart" in late.problems[0].example
    assert late.duration_ns.tolist() == [301]
    assert read(write(tmp_path, [event("k", 4458676524648.797, 0.5)])).problems == ()


def test_an_empty_list_of_events_is_a_trace_with_a_problem(tmp_path: Path) -> None:
    trace = read(write(tmp_path, []))
    assert len(trace) == 0
    assert problems(trace) == {"trace without any events": 1}
    assert trace.span_ns() == 0


BROKEN = [
    (b"", "E0803", "is empty"),
    (b"  \n", "E0803", "is empty"),
    (b'{"traceEvents": [{"name": "{"device"}"}]}', "E0802", "line 1, column 30"),
    (b'{"traceEvents": [{"ph": "X"}], "a" }', "E0802", "a colon was expected"),
    (b'[{"ph": "X"} {"ph": "X"}]', "E0802", "expected a comma"),
    (b'[{"ph": "X", "a" 1}, {"ph": "X"}]', "E0802", "delimiter"),
    (b'{"a": 1}\n{"a": 2}\n', "E0802", "JSON lines"),
    (b'{"nodes": []}', "E0802", "no traceEvents \\(found: nodes\\)"),
    (b"[1, 2, 3]", "E0802", "not of trace events"),
    (b"[" * 100_000, "E0802", "too deeply"),
    (b"\x89PNG\0\0", "E0802", "a picture"),
    (b"\x01\0\0", "E0802", "binary file"),
    (b"\x1f\x8b\x08rest", "E0802", "damaged gzip"),
    (b"<html><body>Not found</body></html>", "E0802", "no known format"),
]


@pytest.mark.parametrize(("content", "expected", "text"), BROKEN)
def test_broken_files_are_refused_with_the_place(tmp_path: Path, content: bytes, expected: str, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=text) as error:
        read(path)
    assert code(error) == expected
    assert str(path) in str(error.value)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "other.json.gz").touch()
    with pytest.raises(DataError, match=r"no file(.|\n)*other\.json\.gz") as error:
        read(tmp_path / "trace.json.gz")
    assert code(error) == "E0801"
    with pytest.raises(DataError, match="is a folder") as error:
        read(tmp_path)
    assert code(error) == "E0801"


def test_options_belong_to_the_reader(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="takes no option unit") as error:
        read(write(tmp_path, TWO_STEPS), unit="ms")
    assert code(error) == "E0806"


@pytest.mark.parametrize(
    ("category", "name", "kind", "layer"),
    [
        ("kernel", "void gemm<float>()", Kind.COMPUTE, Layer.DEVICE),
        ("Kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(...)", Kind.COMMUNICATION, Layer.DEVICE),
        ("gpu_memcpy", "Memcpy HtoD", Kind.MEMORY, Layer.DEVICE),
        ("cuda_runtime", "cudaLaunchKernel", Kind.OTHER, Layer.HOST),
        ("cuda_runtime", "cudaStreamSynchronize", Kind.WAIT, Layer.HOST),
        ("cpu_op", "aten::addmm", Kind.COMPUTE, Layer.HOST),
        ("cpu_op", "record_param_comms", Kind.COMMUNICATION, Layer.HOST),
        ("user_annotation", "gloo:all_reduce", Kind.COMMUNICATION, Layer.RANGE),
        ("user_annotation", "Optimizer.step#SGD.step", Kind.UPDATE, Layer.RANGE),
        ("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", Kind.OTHER, Layer.RANGE),
        ("user_annotation", "## forward ##", Kind.COMPUTE, Layer.RANGE),
        ("", "compute", Kind.COMPUTE, Layer.RANGE),
        ("", "push", Kind.COMMUNICATION, Layer.RANGE),
        ("", "allreduce", Kind.COMMUNICATION, Layer.RANGE),
        ("", "update", Kind.UPDATE, Layer.RANGE),
        ("", "wait_update", Kind.WAIT, Layer.RANGE),
        ("", "load data", Kind.OTHER, Layer.RANGE),
    ],
)
def test_kinds(tmp_path: Path, category: str, name: str, kind: Kind, layer: Layer) -> None:
    trace = read(write(tmp_path, [event(name, 1, 2, cat=category)]))
    assert (trace.kind[0], trace.layer[0]) == (kind, layer)


@pytest.mark.parametrize(
    ("args", "size"),
    [
        ({"bytes": 4000}, 4000),
        ({"bytes": -1}, -1),
        ({"In msg nelems": 1000, "dtype": "Float"}, 4000),
        ({"In msg nelems": 1000, "dtype": "BFloat16"}, 2000),
        ({"In msg nelems": 1000, "dtype": "unheard of"}, -1),
        ({"Input Dims": [[10, 20], []], "Input type": ["float", "Scalar"]}, 800),
        ({"Input Dims": [[[10], [20]]], "Input type": ["long int"]}, 240),
        ({"Input Dims": [], "Input type": []}, -1),
        ({"Input Dims": "odd", "Input type": 3}, -1),
        ({}, -1),
    ],
)
def test_sizes(tmp_path: Path, args: dict[str, object], size: int) -> None:
    trace = read(write(tmp_path, [event("gloo:all_reduce", 1, 2, **args)]))
    assert trace.bytes.tolist() == [size]
    assert bool(np.ma.getmaskarray(trace.known_bytes())[0]) == (size < 0)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=6),
    st.lists(st.integers(-3, 10**20), max_size=3),
    st.sampled_from(
        ["X", "B", "E", "kernel", "cpu_op", "gpu_memcpy", "ProfilerStep#1", "ProfilerStep#" + "9" * 40, "gloo:all_reduce", "Float", "float"]
    ),
)
KEYS = st.sampled_from(["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["bytes", "correlation", "In msg nelems", "dtype", "Input Dims", "Input type", "Ev Idx"]), ODD, max_size=4
)
EVENTS = st.lists(
    st.dictionaries(KEYS, st.one_of(ODD, ARGUMENTS), max_size=8).map(lambda e: {"ph": "X", "ts": 5, "dur": 2, **e}), max_size=6
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EVENTS, ODD, st.integers(0, 400))
def test_no_values_however_odd_are_a_crash(tmp_path: Path, events: list[Event], about: object, cut: int) -> None:
    """Whatever lies in the events, or wherever the file is cut off: records, counted problems, or an error of ours."""
    path = tmp_path / "t"
    text = json.dumps({"distributedInfo": {"rank": about}, "traceEvents": events})
    for content in (text, json.dumps(events)[: max(1, cut)]):
        path.write_text(content, encoding="utf-8")
        try:
            trace = read(path)
            assert (trace.duration_ns > 0).all()
            steps(trace)
        except DataError as error:
            assert error.diagnostics[0].code in ("E0802", "E0803", "E0805", "E0806")
