"""A run that was killed and goes on from its file ends as one that was left alone, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spn
from spn.result import Result
from spn.sim import checkpoint, record

QUEUE = """
net queue
param load: count = 8
place q capacity 10
timed arrive exp(rate = 0.08/s * load) { out q }
timed serve exp(rate = 1/s) { in q }
measure mean = E(#q)
measure full = P(#q == 10)
"""


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every file that a run writes; it writes at every opportunity."""
    written: list[bytes] = []
    monkeypatch.setattr(record, "EVERY", 0.0)
    monkeypatch.setattr(record, "SHARE", 1e9)
    replaced = checkpoint._replace

    def replace(path: Path, content: bytes) -> None:
        written.append(content)
        replaced(path, content)

    monkeypatch.setattr(checkpoint, "_replace", replace)
    return written


def told(result: Result) -> dict[str, Any]:
    """All of a result but the time that it took."""
    data = result.to_dict()
    del data["seconds"]
    return data


def goes_on(run: Callable[[Path], Result], files: list[bytes], path: Path, alone: Result) -> None:
    """From the files of several moments, the first and the last among them."""
    whole = run(path)
    assert told(whole) == told(alone)
    assert len(files) > 1
    for k in sorted({0, 1, len(files) // 3, len(files) // 2, 2 * len(files) // 3, len(files) - 2, len(files) - 1}):
        path.write_bytes(files[k])
        assert told(run(path)) == told(alone), f"file {k} of {len(files)}"


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "batches": ("basics/mm1k.spn", {"precision": 0.02}),
    "batches by clocks": ("basics/shared_link.spn", {"precision": 0.02}),
    "classes": ("basics/initial_choice.spn", {"precision": 0.01}),
    "replications": ("basics/mm1k.spn", {"horizon": 200.0, "precision": 0.05}),
    "fixed number": ("basics/md1k.spn", {"replications": 100}),
}


@pytest.mark.parametrize("engine", ["auto", "compiled", "python"])
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_run(case: str, engine: Any, files: list[bytes], tmp_path: Path) -> None:
    name, options = CASES[case]
    model = spn.load(name)
    options = {**options, "seed": 5, "engine": engine}
    if engine == "python":
        options = {**options, "max_firings": 40_000}

    def run(path: Path | None) -> Result:
        return spn.simulate(model, checkpoint=path, **options)

    alone = spn.simulate(model, **options)
    goes_on(run, files, tmp_path / "run.ckpt", alone)
