"""Steps: compute, communication, exposed communication, update and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from spn.errors import DataError
from spn.trace import read, steps

from .writing import Event, event, mark, write


def host_step(number: int, at: float) -> list[Event]:
    """100 us: compute 0-40 and 50-70 (nested op inside), collective 60-90 on another thread, optimizer 90-98 (with an operator in it)."""
    return [
        mark(number, at, 100),
        event("aten::mm", at, 40),
        event("aten::inner", at + 5, 10),
        event("aten::mm", at + 50, 20),
        event("gloo:all_reduce", at + 60, 30, cat="user_annotation", tid=2, **{"Input Dims": [[250]], "Input type": ["float"]}),
        event("Optimizer.step#SGD.step", at + 90, 8, cat="user_annotation"),
        event("aten::add_", at + 91, 5),
    ]


def test_a_step_on_the_host(tmp_path: Path) -> None:
    found = steps(read(write(tmp_path, host_step(1, 0) + host_step(2, 100))))
    assert not found.on_device
    assert found.number.tolist() == [1, 2]
    assert found.step.tolist() == [100_000] * 2
    assert found.compute.tolist() == [60_000] * 2
    assert found.communication.tolist() == [30_000] * 2
    assert found.exposed.tolist() == [20_000] * 2
    assert found.update.tolist() == [8_000] * 2
    assert found.local.tolist() == [80_000] * 2
    assert found.bytes.tolist() == [1000] * 2
    assert "2 on the host" in repr(found)
    assert "1000 bytes" in repr(found)


def launch(at: float, correlation: int) -> Event:
    return event("cudaLaunchKernel", at, 1, cat="cuda_runtime", correlation=correlation)


def test_device_work_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    """Kernels that run after the host's step has ended still count for it; a kernel launched by the optimizer is update."""
    events = [
        mark(7, 0, 100),
        launch(10, 1), event("gemm", 20, 50, cat="kernel", tid=7, correlation=1),
        launch(11, 2), event("ncclAllReduce", 60, 80, cat="kernel", tid=8, correlation=2, **{"In msg nelems": 10, "dtype": "Float"}),
        event("record_param_comms", 11, 1, **{"In msg nelems": 10, "dtype": "Float"}),
        event("Optimizer.step#SGD.step", 30, 10, cat="user_annotation"),
        launch(31, 3), event("sgd_kernel", 140, 20, cat="kernel", tid=7, correlation=3),
        mark(8, 100, 100),
        launch(110, 4), event("gemm", 170, 30, cat="kernel", tid=7, correlation=4),
    ]  # fmt: skip
    found = steps(read(write(tmp_path, events)))
    assert found.on_device
    assert found.compute.tolist() == [50_000, 30_000]
    assert found.communication.tolist() == [80_000, 0]
    assert found.exposed.tolist() == [70_000, 0]
    assert found.update.tolist() == [20_000, 0]
    assert found.bytes.tolist() == [40, -1]


def test_a_last_step_cut_off_is_left_out_and_reported(tmp_path: Path) -> None:
    events = host_step(1, 0) + host_step(2, 100) + [mark(3, 200, 20), event("aten::mm", 200, 10)]
    found = steps(read(write(tmp_path, events)))
    assert found.number.tolist() == [1, 2]
    assert [p.what for p in found.problems] == ["step cut off by the end of the recording, left out"]


def test_a_short_but_whole_last_step_is_kept(tmp_path: Path) -> None:
    quick = [mark(3, 200, 40), *(event(f"aten::{i}", 200 + 5 * i, 4) for i in range(6))]
    found = steps(read(write(tmp_path, host_step(1, 0) + host_step(2, 100) + quick)))
    assert found.number.tolist() == [1, 2, 3]


def test_ranges_serve_where_there_are_no_operators(tmp_path: Path) -> None:
    events = [
        mark(1, 0, 100),
        event("forward", 0, 30, cat=""),
        event("backward", 30, 40, cat=""),
        event("push", 60, 30, cat="", tid=2, bytes=77),
    ]
    found = steps(read(write(tmp_path, events)))
    assert found.compute.tolist() == [70_000]
    assert found.exposed.tolist() == [20_000]
    assert found.bytes.tolist() == [77]


def test_steps_are_told_by_repetition_where_nothing_marks_them(tmp_path: Path) -> None:
    """Each step is pull, compute, compute, push, and the thread is idle before every pull."""
    row = (("pull", 0, 30), ("compute", 30, 20), ("compute", 50, 30), ("push", 80, 10))
    events = [event(name, 100 * i + at, dur, cat="") for i in range(5) for name, at, dur in row]
    found = steps(read(write(tmp_path, events)))
    assert found.step.tolist() == [100_000] * 4 + [90_000]
    assert found.compute.tolist() == [50_000] * 5
    assert found.marked_by == "repeated structure, each beginning with pull"


def test_without_marks_and_repetition_there_are_no_steps(tmp_path: Path) -> None:
    events = [event(name, at, 5, cat="") for at, name in ((0, "a"), (10, "b"), (20, "a"), (30, "c"), (40, "c"), (50, "a"), (60, "b"))]
    with pytest.raises(DataError, match="no step marks") as error:
        steps(read(write(tmp_path, events)))
    assert error.value.diagnostics[0].code == "E0805"


def test_a_slow_first_step_is_a_warm_up(tmp_path: Path) -> None:
    marks = [mark(0, 0, 900), *(mark(i, 1000 * i, 100 + i) for i in range(1, 6))]
    found = steps(read(write(tmp_path, [*marks, *(event("aten::mm", 1000 * i + 10, 50) for i in range(6))])))
    assert found.number.tolist() == [1, 2, 3, 4, 5]
    assert [(p.what, p.count) for p in found.problems] == [("warm-up step, left out", 1)]


def test_the_device_has_other_steps_than_a_host_that_runs_ahead(tmp_path: Path) -> None:
    """Launches within 10 us of each other, kernels of 300 us that run one after another: all but the first run after their host step."""
    events = []
    for i in range(3):
        events += [mark(i, 20 * i, 20), event("cudaLaunchKernel", 20 * i + 5, 2, cat="cuda_runtime", correlation=i)]
        events += [event("gemm", 10 + 300 * i, 300, cat="kernel", tid=7, correlation=i)]
    trace = read(write(tmp_path, events))
    found = steps(trace)
    assert found.step.tolist() == [20_000] * 3
    assert found.compute.tolist() == [300_000] * 3
    assert found.device_periods().tolist() == [300_000] * 2
    launch, kernel = trace.operations.index("cudaLaunchKernel"), trace.operations.index("gemm")
    pairs = [(int(trace.operation[a]), int(trace.operation[b]), int(trace.step[a])) for a, b in trace.dependencies]
    assert sorted(pairs) == [(kernel, launch, i) for i in range(3)]


def test_an_operation_can_mark_the_steps(tmp_path: Path) -> None:
    events = [event(name, at, dur, cat="") for base in (0, 100, 200) for name, at, dur in (("pull", base, 30), ("compute", base + 30, 50))]
    trace = read(write(tmp_path, events))
    found = steps(trace, mark="pull")
    assert found.step.tolist() == [100_000, 100_000, 80_000]
    assert found.compute.tolist() == [50_000] * 3
    assert found.exposed.tolist() == [30_000] * 3
    with pytest.raises(DataError, match=r"did you mean pull \(3\)\?") as error:
        steps(trace, mark="pul")
    assert error.value.diagnostics[0].code == "E0804"
