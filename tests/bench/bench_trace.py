"""Speed and memory of reading a large Kineto trace: python -m tests.bench.bench_trace [MEGABYTES]

A trace of that size (default 1000) is written to a temporary folder, with the fields and the layout that torch 2.3 and later write:
operators, calls with correlations, kernels, flows, marks of steps; about 250 bytes an event. It is read in a process of its own, twice:
by orjson, and by the standard library's parser alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

EVENTS_A_STEP = 4000

_OP = """  {
    "ph": "X", "cat": "cpu_op", "name": "aten::%s", "pid": 1, "tid": 1,
    "ts": %.3f, "dur": 4.125,
    "args": {
      "External id": %d,"Record function id": %d, "Sequence number": 1080, "Fwd thread id": 1, "Ev Idx": %d
    }
  },
"""
_CALL = """  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
    "ts": %.3f, "dur": 2.25,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 1, "tid": 1, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"
  },
"""
_KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "void at::native::kernel_%d<4, at::native::BinaryFunctor<float> >(int)", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": 5.5,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d, "registers per thread": 40,
      "shared memory": 400, "blocks per SM": 4.740741, "warps per SM": 75.851852, "grid": [512, 1, 1], "block": [512, 1, 1]
    }
  },
  {
    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""
_MARK = """  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d
    }
  },
"""
_READ = """
import resource, sys, time
import spn.trace.jsonstream as stream
from spn.trace import read, steps
if sys.argv[2] == "json":
    stream._LOADS = None
begin, cpu = time.perf_counter(), time.process_time()
trace = read(sys.argv[1])
wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
found = steps(trace)
size = float(sys.argv[3])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{sys.argv[2]:7} {size:6.0f} MB, {trace.origin.events:,} events, {len(trace):,} records, {len(found)} steps: "
      f"{cpu:5.1f} CPU s, {wall:5.1f} s, {size / cpu:4.0f} MB/s of CPU, peak {peak:.0f} MiB")
"""


def events(megabytes: float) -> Iterator[str]:
    """The text, a step at a time."""
    yield '{\n  "schemaVersion": 1,\n  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},\n  "traceEvents": [\n'
    size, step, number, time = 0, 0, 0, 4458676000000.0
    names = ("mm", "add_", "convolution_backward", "empty_strided", "to", "native_batch_norm")
    while size < megabytes * 1e6:
        begin, parts = time, []
        for i in range(EVENTS_A_STEP // 5):
            number += 1
            parts.append(_OP % (names[i % 6], time, number, number, number))
            parts.append(_CALL % (time + 1.25, number, number, number, time + 1.25))
            parts.append(_KERNEL % (i % 60, time + 900.5, number, number, number, time + 900.5))
            time += 6.125
        parts.append(_MARK % (step, begin, time - begin, number))
        text = "".join(parts)
        size, step = size + len(text), step + 1
        yield text
    yield '  {\n    "name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "python"}\n  }\n  ]\n}\n'


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(events(megabytes))
        for parser in ("orjson", "json"):
            size = str(path.stat().st_size / 1e6)
            subprocess.run([sys.executable, "-c", _READ, str(path), parser, size], check=True)


if __name__ == "__main__":
    main()
