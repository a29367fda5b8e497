"""The other formats: XSpace, Chakra, Execution Trace, Nsight Systems, logs, Parquet; Horovod, BytePS, async and flow events of Chrome."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.errors import DataError
from spn.trace import NO_TIME, Collective, Kind, Layer, read, sound, steps

from .writing import event, field, message, varint, write


def put(folder: Path, content: bytes | str) -> Path:
    path = folder / "x"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- protocol buffers ----------------------------------------------------------------------------------------------------------------


def space() -> bytes:
    """A host with two steps of a training loop and an operation in each; times in picoseconds from the line's start at 7 us."""

    def happening(metadata: int, offset: int, duration: int, *stats: bytes) -> bytes:
        return message((1, metadata), (2, offset), (3, duration), *((4, s) for s in stats))

    events = [
        happening(1, 0, 900_000_000, message((1, 1), (4, 5))),
        happening(2, 100_000_000, 400_500_000),
        happening(1, 1_000_000_000, 950_000_000, message((1, 1), (4, 6))),
        happening(2, 1_100_000_000, 420_000_000),
        happening(2, 1_800_000_000, 0),
    ]
    line = message((1, 9), (2, "python"), (3, 7000), *((4, e) for e in events))
    names = [message((1, i), (2, message((1, i), (2, name)))) for i, name in ((1, "train"), (2, "MatMul:MatMul"))]
    plane = message(
        (1, 1), (2, "/host:CPU"), (3, line), *((4, n) for n in names), (5, message((1, 1), (2, message((1, 1), (2, "step_num")))))
    )
    return field(1, plane)


def test_xspace(tmp_path: Path) -> None:
    trace = read(put(tmp_path, space()))
    assert trace.origin.format == "TensorFlow XSpace"
    assert trace.origin.events == 5
    assert trace.mark_number.tolist() == [5, 6]
    assert trace.mark_duration_ns.tolist() == [900_000, 950_000]
    assert trace.start_ns.tolist() == [107_000, 1_107_000]
    assert trace.duration_ns.tolist() == [400_500, 420_000]
    assert trace.zeros == {"MatMul:MatMul": 1}
    assert steps(trace).compute.tolist() == [400_500, 420_000]


def chakra(*nodes: bytes) -> bytes:
    return b"".join(varint(len(m)) + m for m in (field(1, "0.0.4"), *nodes))


def attribute(name: str, number: int, value: int | str) -> tuple[int, bytes]:
    return 10, message((1, name), (number, value))


def test_chakra_as_protocol_buffers(tmp_path: Path) -> None:
    first = message((2, "matmul"), (3, 4), (6, 50), (7, 30), attribute("is_cpu_op", 27, 1))
    second = message((1, 1), (2, "reduce it"), (3, 7), (5, varint(0)), attribute("comm_type", 9, 0), attribute("comm_size", 9, 4096))
    third = message((1, 2), (2, "send it"), (3, 5), (4, 1), attribute("comm_size", 13, 10), attribute("is_cpu_op", 27, 0))
    trace = read(put(tmp_path, chakra(first, second, third)))
    assert trace.origin.format == "Chakra"
    assert trace.origin.about == {"version": "0.0.4"}
    name = [trace.operations[o] for o in trace.operation.tolist()]
    assert dict(zip(name, trace.duration_ns.tolist(), strict=True)) == {"matmul": 30_000, "reduce it": -1, "send it": -1}
    assert dict(zip(name, trace.bytes.tolist(), strict=True)) == {"matmul": -1, "reduce it": 4096, "send it": 10}
    assert dict(zip(name, trace.collective.tolist(), strict=True))["reduce it"] == Collective.ALL_REDUCE
    assert {(name[a], name[b]) for a, b in trace.dependencies.tolist()} == {("reduce it", "matmul"), ("send it", "reduce it")}
    cut = read(put(tmp_path, chakra(first, second, third)[:-4]))
    assert len(cut) == 2
    assert [p.what for p in cut.problems] == ["event cut off at the end of the file"]
    with pytest.raises(DataError, match="E0809"):
        sound(cut)


def test_chakra_in_json(tmp_path: Path) -> None:
    nodes = [
        {"Id": 3, "Name": "mm", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 12, "is_cpu_op": False},
        {"Id": 4, "Name": "c10d::broadcast_", "NodeType": 7, "ctrlDeps": [3], "data_deps": [9], "runtime": 0},
        {"Id": 4, "Name": "again", "NodeType": 4},
    ]
    trace = read(put(tmp_path, json.dumps({"workload_graph": nodes})))
    assert sorted(trace.duration_ns.tolist()) == [-1, 12_000]
    assert trace.start_ns.tolist() == [NO_TIME] * 2
    assert len(trace.dependencies) == 1
    found = {p.what: p.count for p in trace.problems}
    assert found == {"dependency on a node that is not there": 1, "identity of a node that is there twice": 1}
    assert int(trace.collective[trace.named("c10d::broadcast_")][0]) == Collective.BROADCAST


TENSOR = [7, 8, 0, 25, 4, "cuda:0"]


def test_execution_traces_of_both_schemas(tmp_path: Path) -> None:
    def old(identity: int, name: str, parent: int, inputs: list[Any], outputs: list[Any], types: list[str]) -> dict[str, Any]:
        return {"id": identity, "name": name, "parent": parent, "tid": 1, "inputs": inputs, "input_types": types, "outputs": outputs}

    def new(identity: int, name: str, parent: int, inputs: list[Any], outputs: list[Any], types: list[str]) -> dict[str, Any]:
        attributes = [{"name": "tid", "type": "uint64", "value": 1}, {"name": "pg_size", "type": "uint64", "value": 2}]
        told = {"values": inputs, "shapes": [], "types": types}
        return {"id": identity, "name": name, "ctrl_deps": parent, "inputs": told, "outputs": {"values": outputs}, "attrs": attributes}

    for make, group in ((old, -1), (new, 2)):
        nodes = [
            make(2, "[pytorch|profiler|execution_trace|thread]", 1, [], [], []),
            make(3, "aten::mm", 2, [], [TENSOR], []),
            make(4, "record_param_comms", 2, [[TENSOR], 0], [[TENSOR]], ["GenericList[Tensor(float)]", "Int"]),
        ]
        path = put(tmp_path, json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 3, "start_ts": 9, "nodes": nodes}))
        trace = read(path)
        assert trace.origin.format == "PyTorch Execution Trace"
        assert trace.duration_ns.tolist() == [-1] * 3
        assert not trace.timed().any()
        assert trace.bytes.tolist() == [-1, -1, 100]
        assert trace.group.tolist()[2] == group
        assert sorted(trace.dependencies.tolist()) == [[1, 0], [2, 0], [2, 1]]
        with pytest.raises(DataError, match="no step marks"):
            steps(trace)


# --- Nsight Systems ------------------------------------------------------------------------------------------------------------------


TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "deviceId, streamId, correlationId, shortName, demangledName",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "globalTid, correlationId, nameId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "deviceId, streamId, bytes, copyKind",
    "NVTX_EVENTS": "text, textId, globalTid",
}


def nsight(path: Path) -> Path:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        db.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", [(1, "gemm"), (2, "ncclDevKernel_AllReduce_Sum_f32"), (3, "cudaLaunchKernel")]
        )
        for name, columns in TABLES.items():
            db.execute(f"CREATE TABLE {name} (start, 'end', {columns})")
        for i in range(3):
            at = 1000 * i
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, 5)", (at, at + 100, f"iteration {i}"))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 5, ?, 3)", (at + 10, at + 15, 2 * i))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 5, ?, 3)", (at + 20, at + 25, 2 * i + 1))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, 1, 1)", (at + 200, at + 500, 2 * i))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 9, ?, 2, 2)", (at + 400, at + 700, 2 * i + 1))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5000, 5010, 0, 7, 64, 1)")
        db.execute("INSERT INTO NVTX_EVENTS VALUES (5000, NULL, 'a mark', NULL, 5)")
        db.execute("INSERT INTO NVTX_EVENTS VALUES (6000, 5999, 'backwards', NULL, 5)")
    db.close()
    return path


def test_nsight_systems(tmp_path: Path) -> None:
    trace = read(nsight(tmp_path / "report"))
    assert trace.origin.format == "Nsight Systems"
    assert trace.counts() == {"cudaLaunchKernel": 6, "gemm": 3, "ncclDevKernel_AllReduce_Sum_f32": 3, "Memcpy HtoD": 1}
    assert {p.what: p.count for p in trace.problems} == {"negative duration": 1}
    assert len(trace.dependencies) == 6
    assert "GPU 0" in trace.nodes
    found = steps(trace)
    assert found.compute.tolist() == [300] * 3
    assert found.exposed.tolist() == [200] * 3
    assert int(trace.bytes[trace.named("Memcpy HtoD")][0]) == 64


def test_databases_that_are_no_trace(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE things (a INTEGER)")
    db.close()
    with pytest.raises(DataError, match=r"not of Nsight Systems \(its tables: things"):
        read(other)
    damaged = put(tmp_path, nsight(tmp_path / "report").read_bytes()[:5000])
    with pytest.raises(DataError, match="damaged SQLite database"):
        read(damaged)
    packed = put(tmp_path, gzip.compress((tmp_path / "report").read_bytes()))
    with pytest.raises(DataError, match="packed SQLite database"):
        read(packed)


# --- text ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "nanoseconds"),
    [
        ("iter 3: loss 10.8, time 469.40ms, mfu -100.00%", 469_400_000),
        ("INFO:tensorflow:global step 7: loss = 2.31 (0.123 sec/step)", 123_000_000),
        ("step 100 loss 2.31 0.25 s/step", 250_000_000),
        ("12/100 [==>....] - 3s 30ms/step - loss: 2.1", 30_000_000),
        (" iteration 5/ 100 | elapsed time per iteration (ms): 834.2 | lm loss: 6.2", 834_200_000),
        ("INFO:tensorflow:global_step/sec: 12.5", 80_000_000),
        ("train: 10%|# | 10/100 [00:05<00:45,  2.00it/s]", 500_000_000),
        ("step 40, loss = 4.67 (457.8 examples/sec; 0.280 sec/batch)", 280_000_000),
        ("step 3 took 1.5 s", 1_500_000_000),
        ("batch size: 32 | 64 samples/s", 500_000_000),
    ],
)
def test_step_times_of_logs(tmp_path: Path, line: str, nanoseconds: int) -> None:
    trace = read(put(tmp_path, f"starting, learning rate 0.1\n{line}\nsaved\n{line}\n"))
    assert trace.origin.format == "training log"
    assert trace.duration_ns.tolist() == [nanoseconds] * 2
    assert trace.start_ns.tolist() == [NO_TIME] * 2


def test_what_a_log_leaves_open_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tells no step time(.|\n)*2 x rate of examples without a batch size"):
        read(put(tmp_path, "64.0 images/sec\n65.1 images/sec\n"))
    trace = read(put(tmp_path, "step 100: 2.5 ms/step\nstep 200: 2.4 ms/step\n"))
    assert trace.mark_number[trace.step].tolist() == [100, 200]
    assert [p.what for p in trace.problems] == ["step time told only every few steps"]


def test_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"rank": [0, 1, 0], "step": [4, 4, 5], "optype": ["fwd", "all-gather", "fwd"], "start_s": [1.0, 1.5, 2.0]}
    path = tmp_path / "x"
    parquet.write_table(arrow.table({**columns, "duration_s": [0.5, 0.25, None], "bytes": [None, 8, None]}), path)
    with pytest.raises(DataError, match="line 3: '' in column duration_s"):
        read(path)
    parquet.write_table(arrow.table({**columns, "duration_s": [0.5, 0.25, 0.0], "bytes": [None, 8, None]}), path)
    trace = read(path)
    assert trace.origin.format == "Parquet"
    assert trace.duration_ns.tolist() == [500_000_000, 250_000_000]
    assert trace.bytes.tolist() == [-1, 8]
    assert trace.zeros == {"fwd": 1}
    assert steps(trace).rank.tolist() == [0, 1]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged Parquet"):
        read(path)


# --- what else is written in Chrome's format ----------------------------------------------------------------------------------------


def test_horovod(tmp_path: Path) -> None:
    """A process is a tensor; marks of no length say which rank was ready; activities lie inside the collective."""
    events = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "gradient_0"}},
        {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10, "pid": 1},
        {"ph": "X", "name": "0", "ts": 11, "pid": 1, "dur": 0},
        {"ph": "X", "name": "3", "ts": 19, "pid": 1, "dur": 0},
        {"ph": "E", "ts": 20, "pid": 1},
        {"ph": "B", "name": "ALLREDUCE", "ts": 20, "pid": 1},
        {"ph": "B", "name": "NCCL_ALLREDUCE", "ts": 22, "pid": 1},
        {"ph": "E", "ts": 42, "pid": 1},
        {"ph": "E", "ts": 45, "pid": 1},
    ]
    trace = read(put(tmp_path, "[\n" + ",\n".join(json.dumps(e) for e in events) + ",\n"))
    assert trace.origin.format == "Horovod timeline"
    assert trace.origin.about["ranks_seen"] == [0, 3]
    assert trace.problems == ()
    assert trace.nodes == ("gradient_0",)
    found = {trace.operations[o]: (d, Kind(k)) for o, d, k in zip(trace.operation, trace.duration_ns.tolist(), trace.kind, strict=True)}
    assert found == {
        "NEGOTIATE_ALLREDUCE": (10_000, Kind.WAIT),
        "ALLREDUCE": (25_000, Kind.COMMUNICATION),
        "NCCL_ALLREDUCE": (20_000, Kind.COMMUNICATION),
    }


def test_async_events_are_matched_by_identity(tmp_path: Path) -> None:
    def half(phase: str, name: str, ts: float, identity: object) -> dict[str, Any]:
        return {"ph": phase, "cat": "net", "name": name, "pid": 1, "tid": 1, "ts": ts, "id": identity}

    events = [half("b", "recv", 10, "0x1"), half("b", "send", 11, 2), half("n", "note", 12, 2), half("e", "recv", 15, "0x1")]
    events += [
        half("e", "send", 31, 2),
        half("b", "open", 40, 3),
        half("e", "lonely", 50, 4),
        half("S", "old", 60, 5),
        half("F", "old", 63, 5),
    ]
    trace = read(write(tmp_path, events))
    assert {trace.operations[o]: d for o, d in zip(trace.operation, trace.duration_ns.tolist(), strict=True)} == {
        "recv": 5_000, "send": 20_000, "old": 3_000,
    }  # fmt: skip
    assert {p.what: p.count for p in trace.problems} == {"begin without an end": 1, "end without a begin": 1}


def test_flows_are_dependencies(tmp_path: Path) -> None:
    places = (("s", 1, 12), ("t", 2, 25), ("f", 1, 30))
    flow = [{"ph": phase, "id": 7, "cat": "f", "pid": 1, "tid": tid, "ts": ts} for phase, tid, ts in places]
    trace = read(write(tmp_path, [event("outer", 5, 20), event("a", 10, 5), event("b", 22, 6, tid=2), event("c", 31, 4), *flow]))
    name = [trace.operations[o] for o in trace.operation.tolist()]
    assert [(name[a], name[b]) for a, b in trace.dependencies.tolist()] == [("b", "a"), ("c", "b")]


def test_an_end_closes_the_begin_of_its_name(tmp_path: Path) -> None:
    events = [{"ph": p, "name": n, "ts": t, "pid": 1, "tid": 1} for p, n, t in (("B", "a", 1), ("B", "lost", 2), ("E", "a", 9))]
    trace = read(write(tmp_path, events[::-1]))  # out of order, which is told and put right
    assert trace.counts() == {"a": 1}
    assert trace.duration_ns.tolist() == [8_000]
    assert {p.what: p.count for p in trace.problems} == {"begin or end out of order": 2, "begin without an end": 1}


def test_json_lines_of_events(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(event("aten::mm", i, 1)) for i in range(5))
    assert read(put(tmp_path, lines + "\n")).counts() == {"aten::mm": 5}
    with pytest.raises(DataError, match="JSON lines"):
        read(put(tmp_path, '{"a": 1}\n{"a": 2}\n'))


# --- files as such -------------------------------------------------------------------------------------------------------------------


def test_windows_slide_over_large_files(tmp_path: Path) -> None:
    """Several megabytes with odd layouts of events, so that windows end anywhere: nothing is lost or told twice."""
    import random

    random.seed(3)
    texts = []
    for i in range(12_000):
        text = json.dumps(event(f"op {i % 7}, {{", i, 1, note="x" * random.randrange(400)), indent=random.choice((None, 1)))
        texts.append(text.replace("}", " }") if random.random() < 0.01 else text)
    path = put(tmp_path, '{"stuff": {"a": [1, 2]}, "traceEvents": [' + ",\n".join(texts) + '], "displayTimeUnit": "ms"}')
    trace = read(path)
    assert trace.start_ns.tolist() == [1000 * i for i in range(12_000)]
    assert trace.origin.about["displayTimeUnit"] == "ms"
    without_comma = ",\n".join(texts[:9000]) + texts[9000]
    with pytest.raises(DataError, match="expected a comma"):
        read(put(tmp_path, '{"traceEvents": [' + without_comma + "]}"))


def test_the_fast_parser_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [
        '{"ph": "X", "name": "r\x01", "ts": 1, "dur": NaN}',
        '{"ph": "X", "name": "s}, {", "ts": 2, "dur": 3, "args": {"a": [{"b": 1}, {"b": 2}]}}',
    ]
    events = [json.dumps(event(f"aten::{i % 5}", i * 1.5, 2.25, a={"deep": [{}, {"x": "}, {"}]})) for i in range(200)]
    path = put(tmp_path, '{"traceEvents": [' + ", ".join(events[:90] + odd + events[90:]) + "]}")
    quick = read(path)
    monkeypatch.setattr("spn.trace.jsonstream._LOADS", None)
    slow = read(path)
    assert quick.operations == slow.operations
    assert quick.start_ns.tolist() == slow.start_ns.tolist()
    assert len(slow) == 201


def test_a_gzip_bomb_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 MB of blanks in 50 kB, and a value of that size: the first is an empty trace, the second is refused before it is whole."""
    monkeypatch.setattr("spn.trace.jsonstream.LARGEST", 1 << 22)
    blanks = put(tmp_path, gzip.compress(b"[" + b" " * 50_000_000 + b"]", compresslevel=9))
    assert len(read(blanks)) == 0
    long = put(tmp_path, gzip.compress(b'{"traceEvents": ["' + b"a" * 50_000_000, compresslevel=1))
    with pytest.raises(DataError, match="one value has more than"):
        read(long)


def test_several_files_become_one_table(tmp_path: Path) -> None:
    paths = []
    for rank in (1, 0):
        kernels = [event("ncclKernel_AllReduce", 100 - 20 * rank, 50 + 20 * rank, cat="kernel"), event("gemm", 10, 30, cat="kernel")]
        paths.append(write(tmp_path, kernels, name=f"{rank}.json", distributedInfo={"rank": rank}))
    trace = read(paths)
    assert trace.origin.path == "2 files"
    assert [p.events for p in trace.parts] == [2, 2]
    assert sorted(zip(trace.rank.tolist(), trace.part.tolist(), strict=True)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    assert trace.counts() == {"gemm": 2, "ncclKernel_AllReduce": 2}
    assert sorted(trace.nodes) == ["rank 0 1", "rank 1 1"]  # process 1 of each
    for node, rank in zip(trace.node().tolist(), trace.rank.tolist(), strict=True):
        assert trace.nodes[node] == f"rank {rank} 1"
    assert {int(trace.layer[0])} == {Layer.DEVICE}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["xspace", "chakra", "stats", "random"]), st.binary(max_size=60), st.integers(0, 400), st.integers(0, 400))
def test_no_bytes_however_odd_are_a_crash(tmp_path: Path, form: str, noise: bytes, at: int, cut: int) -> None:
    from .test_stepstats import binary, step

    good = {"xspace": space(), "chakra": chakra(message((1, 1), (2, "a"), (3, 7))), "stats": binary(step(9)), "random": b""}[form]
    content = (good[:at] + noise + good[at + len(noise) :])[: cut + 1] if cut % 2 else good[:at] + noise + good[at + len(noise) :]
    try:
        read(put(tmp_path, content))
    except DataError as error:
        assert error.diagnostics[0].code in ("E0802", "E0803", "E0806", "E0807")
