"""``spn trace`` on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


def _worker(path: str, rank: int) -> None:
    """Three steps of 100 us on a device: a kernel of 40 us, and a collective for which rank 0 waits 10 us longer."""
    events: list[dict[str, Any]] = []
    for i in range(3):
        at, early = 100 * i, 10 * (1 - rank)
        launch = {"name": "cudaLaunchKernel", "cat": "cuda_runtime", "args": {"correlation": i}}
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "ts": at, "dur": 100, "pid": 1, "tid": 1},
            {"ph": "X", "ts": at + 1, "dur": 1, "pid": 1, "tid": 1, **launch},
            {"ph": "X", "cat": "kernel", "name": "gemm", "ts": at + 5, "dur": 40, "pid": 0, "tid": 7, "args": {"correlation": i}},
            {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "ts": at + 60 - early, "dur": 20 + early, "pid": 0, "tid": 9,
             "args": {"correlation": i, "In msg nelems": 250, "dtype": "Float"}},
        ]  # fmt: skip
    Path(path).write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank}, "traceEvents": events}))


@pytest.fixture
def ranks(spn: Run) -> tuple[str, str]:
    for rank in (0, 1):
        _worker(f"rank{rank}.json", rank)
    return "rank0.json", "rank1.json"


def test_what_a_trace_holds(spn: Run, ranks: tuple[str, str]) -> None:
    done = spn("trace", ranks[0])
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "rank0.json: Kineto"
    assert lines[1] == "9 records of 3 operations from 12 entries, 279 us, 6 dependencies"
    assert "1 rank: 0" in lines
    assert "3 steps, told by marks; compute and communication on the device:" in lines
    assert any(line.split()[:3] == ["compute", "40", "us"] for line in lines)
    assert "  bytes a step: 1000" in lines
    assert "waiting cannot be told apart" in done.err


def test_all_ranks_tell_waiting_from_transfer(spn: Run, ranks: tuple[str, str]) -> None:
    found = json.loads(spn("trace", *ranks, "--json").out)
    assert found["ranks"] == [0, 1]
    assert found["steps"]["count"] == 6
    assert found["collectives"]["matched"] == 3
    assert found["collectives"]["service"] == pytest.approx(60e-6)
    assert found["collectives"]["wait"] == pytest.approx([30e-6, 0])
    assert "waiting inside them up to 30 us on rank 0" in spn("trace", *ranks).out


def test_records_as_a_table(spn: Run, ranks: tuple[str, str]) -> None:
    assert spn("trace", *ranks, "-o", "out.csv").code == 0
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    kernels = [r for r in rows if r["operation"] == "gemm"]
    assert {(r["rank"], r["step"], r["duration_ns"], r["bytes"], r["kind"]) for r in kernels} == {
        (str(rank), str(step), "40000", "", "compute") for rank in (0, 1) for step in range(3)
    }
    assert all(rows[int(r["depends_on"])]["operation"] == "cudaLaunchKernel" for r in kernels)
    assert {r["bytes"] for r in rows if r["collective"] == "all_reduce"} == {"1000"}
    parquet = pytest.importorskip("pyarrow.parquet")
    assert spn("trace", *ranks, "-o", "out.parquet").code == 0
    table = parquet.read_table("out.parquet").to_pylist()
    assert [str(r["start_ns"]) for r in table] == [r["start_ns"] for r in rows]
    assert table[0]["bytes"] is None


def test_strict_refuses_what_is_otherwise_told(spn: Run, ranks: tuple[str, str]) -> None:
    text = Path(ranks[0]).read_text()
    Path("cut.json").write_text(text[:-40])
    assert spn("trace", ranks[0], "--strict").code == 0
    told = spn("trace", "cut.json")
    assert (told.code, "1 x event cut off at the end of the file" in told.err) == (0, True)
    refused = spn("trace", "cut.json", "--strict")
    assert (refused.code, refused.out) == (2, "")
    assert "E0809" in refused.err


def test_without_steps_it_says_why(spn: Run) -> None:
    Path("t.csv").write_text("op,ms\na,1\nb,2\n")
    done = spn("trace", "t.csv")
    assert done.code == 0
    assert "no steps: t.csv has no step marks" in done.out
    assert spn("trace", "t.csv", "--mark", "c").code == 2
    assert "there is no file u.csv" in spn("trace", "u.csv").err
