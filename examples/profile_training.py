"""Profile a real training loop and keep a small trace of it.

Two processes train a small network with DistributedDataParallel over gloo on CPU, on batches of sentences padded to their longest, so that
some steps have more to compute than others. The first one records a Kineto trace with the PyTorch
profiler; of it are kept the step marks, the named ranges, the collectives with their sizes, and the outermost operators.

    pip install torch numpy
    python examples/profile_training.py examples/training_trace.json.gz --steps 80

The package itself needs no torch: this script only shows where ``training_trace.json.gz`` comes from.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule

WORKERS, SENTENCES, FEATURES, WIDTH, CLASSES = 2, 8, 256, 1024, 10
MEDIAN_LENGTH, SPREAD = 20.0, 0.5  # words of a sentence: lognormal
WARM_UP = 10
KEPT_ARGUMENTS = ("Input Dims", "Input type")
KEPT_ABOUT = ("schemaVersion", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceEvents")


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Words as vectors, and the class of each: sentences of various lengths, all padded to the longest."""
    lengths = MEDIAN_LENGTH * torch.exp(SPREAD * torch.randn(SENTENCES))
    words = SENTENCES * max(1, round(float(lengths.max())))
    return torch.randn(words, FEATURES), torch.randint(0, CLASSES, (words,))


def train(rank: int, steps: int, rendezvous: str, raw: str) -> None:
    """One worker: forward, backward (which averages the gradients over the workers) and the optimizer, again and again."""
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORKERS)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    plan = schedule(wait=WARM_UP, warmup=1, active=steps, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as recorder:
        for _ in range(WARM_UP + 1 + steps):
            with record_function("data"):
                inputs, targets = batch()
            with record_function("forward"):
                loss = loss_of(model(inputs), targets)
            with record_function("backward"):
                loss.backward()
            with record_function("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
            recorder.step()
    if rank == 0:
        recorder.export_chrome_trace(raw)
    dist.barrier()
    dist.destroy_process_group()


def slim(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace without nested operators, flows, and what tells of the machine's owner."""
    kept = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") == "user_annotation"]
    operators = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") == "cpu_op"]
    kept += outermost(operators)
    events = [
        {**{k: e[k] for k in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}, "args": arguments(e)}
        for e in sorted(kept, key=lambda e: float(e["ts"]))
    ]
    return {**{k: trace[k] for k in KEPT_ABOUT if k in trace}, "traceEvents": events}


def outermost(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that lie in no other one on their thread."""
    found: list[dict[str, Any]] = []
    end: dict[Any, float] = {}
    for event in sorted(events, key=lambda e: (float(e["ts"]), -float(e["dur"]))):
        if event["ts"] >= end.get(event["tid"], float("-inf")):
            found.append(event)
            end[event["tid"]] = event["ts"] + event["dur"]
    return found


def arguments(event: dict[str, Any]) -> dict[str, Any]:
    """Shapes and types of a collective; nothing of the rest."""
    if not event["name"].startswith("gloo:"):
        return {}
    return {k: v for k, v in event.get("args", {}).items() if k in KEPT_ARGUMENTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="where the slimmed trace goes, for instance training_trace.json.gz")
    parser.add_argument("--steps", type=int, default=80, help="steps recorded, after a warm-up of 11")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "raw.json")
        mp.spawn(train, args=(options.steps, os.path.join(folder, "rendezvous"), raw), nprocs=WORKERS)
        slimmed = slim(json.loads(Path(raw).read_text(encoding="utf-8")))
    text = json.dumps(slimmed, separators=(",", ":")).encode()
    options.output.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"{options.output}: {len(slimmed['traceEvents'])} events, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
