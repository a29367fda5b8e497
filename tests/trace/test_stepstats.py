"""RunMetadata of TensorFlow: exact bytes of received tensors, dependencies, steps of one file each."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from spn.errors import DataError
from spn.trace import Collective, Kind, phases, read, steps

from .writing import field, message

WORKER, SERVER = "/job:worker/replica:0/task:3/device:CPU:0", "/job:ps/replica:0/task:0/device:CPU:0"
Node = tuple[str, int, int, str, int]  # name, start and length in microseconds, label, bytes


def received(edge: str, source: str, target: str) -> str:
    return f"[1.0MB] [213.5Mb/s] edge_5_{edge} from {source} to {target}"


def step(at: int, up: int = 300) -> dict[str, list[Node]]:
    """One step of a worker: two tensors down that overlap, an operation, one tensor up."""
    return {
        WORKER: [
            ("RecvTensor", at, 40, received("w0/read", SERVER, WORKER), 1000),
            ("RecvTensor", at + 10, 90, received("w1/read", SERVER, WORKER), 3000),
            ("fw0", at + 100, 50, "fw0 = PyFunc(w0/read_S1, w1/read_S3)", 8),
            ("grad", at + 150, 20, "grad = MatMul(fw0)", 300),
        ],
        SERVER: [
            ("w0/read", at - 5, 1, "w0/read = Identity(w0)", 1000),
            ("w1/read", at - 4, 1, "w1/read = Identity(w1)", 3000),
            ("RecvTensor", at + 170, 30, received("grad", WORKER, SERVER), up),
            ("update", at + 200, 7, "update = ApplyGradientDescent(w0, grad_S7)", 0),
        ],
    }


def binary(devices: dict[str, list[Node]], nanos: bool = False) -> bytes:
    def node(name: str, start: int, length: int, label: str, size: int) -> bytes:
        tensor = field(3, message((1, 1), (4, field(1, size))))
        exact = ((13, start * 1000 + 5), (16, length * 1000 + 1)) if nanos else ()
        return message((1, name), (2, start), (5, length), (7, tensor), (8, label), (10, 2), *exact)

    parts = [message((1, device), *((2, node(*n)) for n in nodes)) for device, nodes in devices.items()]
    return field(1, b"".join(field(1, part) for part in parts))


def text(devices: dict[str, list[Node]]) -> dict[str, Any]:
    def node(name: str, start: int, length: int, label: str, size: int) -> dict[str, Any]:
        output = [{"tensorDescription": {"allocationDescription": {"requestedBytes": str(size)}}}]
        return {"nodeName": name, "allStartMicros": str(start), "allEndRelMicros": str(length), "timelineLabel": label, "output": output}

    return {"devStats": [{"device": d, "nodeStats": [node(*n) for n in nodes]} for d, nodes in devices.items()]}


def archive(path: Path, steps: list[dict[str, list[Node]]]) -> Path:
    with tarfile.open(path, "w:gz") as files:
        for i, devices in enumerate(steps):
            data = binary(devices)
            entry = tarfile.TarInfo(f"step{i}.pb")
            entry.size = len(data)
            files.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize("form", ["protocol buffer", "JSON", "JSON inside RunMetadata", "snake case"])
def test_all_forms_read_alike(tmp_path: Path, form: str) -> None:
    path, told = tmp_path / "x", json.dumps(text(step(5000)))
    if form == "snake case":
        for old, new in (("devStats", "dev_stats"), ("nodeStats", "node_stats"), ("allStartMicros", "all_start_micros")):
            told = told.replace(old, new)
    if form == "JSON inside RunMetadata":
        told = f'{{"stepStats": {told}}}'
    path.write_bytes(binary(step(5000)) if form == "protocol buffer" else told.encode())
    trace = read(path)
    assert trace.origin.format == "TensorFlow RunMetadata"
    assert trace.problems == ()
    assert trace.counts()["RecvTensor grad"] == 1
    assert trace.nodes == ("/job:worker/task:3", "/job:ps/task:0")
    assert set(trace.rank.tolist()) == {3}
    moved = trace.collective == Collective.RECV
    assert sorted(trace.bytes[moved].tolist()) == [300, 1000, 3000]
    assert (trace.bytes[~moved] == -1).all()  # what an operation puts out is not sent
    assert dict(zip(trace.operations, trace.types, strict=True))["fw0"] == "PyFunc"
    kinds = {name: Kind(int(trace.kind[trace.named(name)][0])) for name in trace.operations}
    assert (kinds["fw0"], kinds["update"], kinds["RecvTensor grad"]) == (Kind.COMPUTE, Kind.UPDATE, Kind.COMMUNICATION)


def test_nanoseconds_where_they_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(binary(step(5000), nanos=True))
    trace = read(path)
    chosen = trace.select("fw0")
    assert (trace.start_ns[chosen].tolist(), trace.duration_ns[chosen].tolist()) == ([5_100_005], [50_001])


def test_dependencies_cross_from_node_to_node(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(binary(step(5000)))
    trace = read(path)
    name = [trace.operations[o] for o in trace.operation.tolist()]
    assert {(name[a], name[b]) for a, b in trace.dependencies.tolist()} == {
        ("RecvTensor w0/read", "w0/read"), ("RecvTensor w1/read", "w1/read"), ("fw0", "RecvTensor w0/read"), ("fw0", "RecvTensor w1/read"),
        ("grad", "fw0"), ("RecvTensor grad", "grad"), ("update", "RecvTensor grad"),
    }  # fmt: skip


def test_links_carry_phases_not_durations(tmp_path: Path) -> None:
    """The two tensors down overlap: one phase of 4000 bytes in 100 us, although their durations add up to 130 us."""
    path = tmp_path / "x"
    path.write_bytes(binary(step(5000)))
    trace = read(path)
    found = phases(trace)
    rows = zip(
        found.source.tolist(), found.target.tolist(), found.bytes.tolist(), found.length_ns.tolist(), found.messages.tolist(), strict=True
    )
    assert list(rows) == [(1, 0, 4000, 100_000, 2), (0, 1, 300, 30_000, 1)]


def test_a_step_whose_transfers_were_cut_is_reported_and_left_out(tmp_path: Path) -> None:
    """Twelve files in an archive, in no order: one step each; the eleventh lacks bytes."""
    order = [7, 2, 0, 1, 3, 4, 5, 6, 8, 9, 11, 10]
    trace = read(archive(tmp_path / "job.tar.gz", [step(5000 + 1000 * i, up=100 if i == 10 else 300) for i in order]))
    assert sorted(trace.mark_number.tolist()) == list(range(12))
    assert [p.path[-8:] for p in trace.parts][:2] == ["step0.pb", "step1.pb"]
    found = steps(trace)
    assert 10 not in found.number.tolist()
    assert set(found.bytes.tolist()) == {4300}
    assert [(p.what, p.count) for p in found.problems] == [("step that lacks transfers, left out", 1)]
    assert len(phases(trace)) == 24
    assert len(phases(trace, found)) == 22


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_a_cut_file_keeps_what_is_whole_or_is_refused(tmp_path: Path, keep: float) -> None:
    data = binary(step(5000))
    path = tmp_path / "x"
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(DataError, match="damaged RunMetadata"):  # the outermost length says that something is missing
        read(path)


def test_the_timeline_of_the_same_step(tmp_path: Path) -> None:
    """Chrome's format has the type as the name and the operation in the arguments, with its inputs."""

    def event(name: str, op: str, ts: int, dur: int, pid: int, **inputs: str) -> dict[str, Any]:
        return {"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": 0, "ts": ts, "dur": dur, "args": {"name": name, "op": op, **inputs}}

    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/job:localhost/replica:0/task:0/cpu:0 Compute"}}
    events = [process]
    for at in (100, 300, 500):
        events += [
            event("_SOURCE", "NoOp", at, 2, 1),
            event("a", "MatMul", at + 10, 40, 1),
            event("b", "BiasAdd", at + 60, 30, 1, input0="a"),
        ]
    path = tmp_path / "x"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read(path)
    assert trace.origin.format == "TensorFlow timeline"
    assert trace.counts() == {"_SOURCE": 3, "a": 3, "b": 3}
    assert steps(trace).step.tolist() == [200_000, 200_000, 90_000]
    name = [trace.operations[o] for o in trace.operation.tolist()]
    assert [(name[a], name[b]) for a, b in trace.dependencies.tolist()] == [("b", "a")] * 3
