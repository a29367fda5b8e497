"""A run that was killed and goes on from its file ends as one that was left alone, bit for bit."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spn
from spn.errors import DataError, SpnError
from spn.model import Model
from spn.result import Result
from spn.sim import checkpoint, load_kernels, record
from spn.sim.progress import Progress
from spn.sim.streams import Crew


@pytest.fixture(autouse=True, scope="module")
def _kernels() -> None:
    """Loaded before all runs: one that begins in plain Python may differ from another in the last bits."""
    load_kernels()


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
    """All of a result but the time that it took and the advice to go on."""
    data = result.to_dict()
    del data["seconds"]
    data["notes"] = [n for n in data["notes"] if not n.startswith("ask the same again")]
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
    "batches": ("basics/mm1k.spn", {"precision": 0.1, "estimator": "batches"}),
    "cycles": ("basics/mm1k.spn", {"precision": 0.1, "estimator": "regenerative"}),
    "clocks": ("basics/shared_link.spn", {"precision": 0.02, "estimator": "batches"}),
    "classes": ("basics/initial_choice.spn", {"precision": 0.02}),
    "replications": ("basics/mm1k.spn", {"horizon": 200.0, "precision": 0.1}),
    "fixed number": ("basics/md1k.spn", {"replications": 70}),
}

ASKED = {
    "passages": "measure m = E(time until #b == 2)\nmeasure q = quantile(0.9, time until #b == 2)",
    "times": "measure m = E(#a) at 3 s\nmeasure t = throughput(go) over 1 s..5 s",
    "quantiles": "measure q = quantile(0.9, #b)",
    "several sorts": "measure l = E(#b)\nmeasure m = E(#a) at 3 s\nmeasure p = E(time until #b == 2)",
}

SMALL = """
place a = 3
place b
timed go   : a -> b ~ exp(rate = 1/s) servers inf
timed back : b -> a ~ det(1 s)
"""

ENDS = """
place start = 1
place x
place y
place z
timed one   : start -> x ~ det(1 s)
timed two   : start -> y ~ uniform(0 s, 3 s)
timed x_out : x -> z ~ exp(rate = 1/s)
timed x_in  : z -> x ~ uniform(0 s, 1 s)
timed y_out : y -> y ~ exp(rate = 1/s)
measure share = E(#x + 2*#z)
measure rate  = throughput(y_out)
"""


IN_PYTHON = ("batches", "clocks", "replications")


@pytest.mark.parametrize(("case", "engine"), [*((c, "auto") for c in CASES), *((c, "python") for c in IN_PYTHON)])
def test_every_kind_of_run(case: str, engine: Any, files: list[bytes], tmp_path: Path) -> None:
    name, options = CASES[case]
    model = spn.load(name)
    limit: dict[str, Any] = {"max_firings": 15_000} if engine == "python" else {}

    def run(path: Path | None) -> Result:
        return spn.simulate(model, checkpoint=path, seed=5, engine=engine, **options, **limit)

    goes_on(run, files, tmp_path / "run.ckpt", run(None))


@pytest.mark.parametrize("case", ["passages", "times", "quantiles", "several sorts", "classes of unknown chances"])
def test_every_kind_of_question(case: str, files: list[bytes], tmp_path: Path) -> None:
    model = spn.parse(ENDS if case not in ASKED else SMALL + ASKED[case])

    def run(path: Path | None) -> Result:
        return spn.simulate(model, checkpoint=path, seed=7, precision=0.1)

    goes_on(run, files, tmp_path / "run.ckpt", run(None))


def test_nothing_is_simulated_twice(tmp_path: Path) -> None:
    """A run that is done is not run again: no trajectory takes a step."""
    model, path = spn.load("basics/mm1k.spn"), tmp_path / "run.ckpt"
    options: dict[str, Any] = {"seed": 1, "precision": 0.1, "estimator": "batches", "checkpoint": path}
    first = spn.simulate(model, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Crew, "run", None)
        assert told(spn.simulate(model, **options)) == told(first)


def test_interrupted_and_resumed_to_the_precision_wanted(tmp_path: Path) -> None:
    model, path = spn.load("basics/mm1k.spn"), tmp_path / "run.ckpt"
    options: dict[str, Any] = {"precision": 0.05, "estimator": "batches"}
    seen: list[int] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress.firings)
        if len(seen) == 4:
            raise KeyboardInterrupt

    first = spn.simulate(model, seed=9, checkpoint=path, progress=interrupt, **options)
    assert first.details["interrupted"] and not first.converged
    assert any("ask the same again to go on" in n for n in first.notes)
    again = spn.simulate(model, checkpoint=path, **options)  # the seed is in the file
    assert again.converged and told(again) == told(spn.simulate(model, seed=9, **options))


def test_histograms(files: list[bytes], tmp_path: Path) -> None:
    """They go on too, with the seed in the file."""
    model, path = spn.parse(SMALL), tmp_path / "run.ckpt"
    first = spn.histogram(model, "#b", seed=3, precision=0.02, checkpoint=path)
    path.write_bytes(files[len(files) // 2])
    again = spn.histogram(model, "#b", precision=0.02, checkpoint=path)
    assert again.bins == first.bins == spn.histogram(model, "#b", seed=3, precision=0.02).bins


def test_limits_may_be_raised(tmp_path: Path) -> None:
    """What was done under a lower limit on firings is used, and the answer is that of the higher limit."""
    model, path = spn.load("basics/mm1k.spn"), tmp_path / "run.ckpt"
    options: dict[str, Any] = {"precision": 0.05, "seed": 9, "estimator": "batches"}
    assert not spn.simulate(model, checkpoint=path, max_firings=200_000, **options).converged
    assert told(spn.simulate(model, checkpoint=path, **options)) == told(spn.simulate(model, **options))


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Processes killed by SIGKILL, again and again, until one gets to the end."""
    path = tmp_path / "run.ckpt"
    script = f"""
import spn
from spn.sim import record
record.EVERY, record.SHARE = 0.0, 1e9
options = dict(seed=4, precision=0.015, estimator="batches")
print(spn.simulate(spn.load("basics/mm1k.spn"), checkpoint={str(path)!r}, **options).to_dict()["measures"])
"""
    kills = 0
    for seconds in (*(0.3 + 0.3 * k for k in range(4)), None):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        if seconds is None:
            out, _ = process.communicate(timeout=120)
            break
        until = time.monotonic() + 30
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(seconds)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
    alone = spn.simulate(spn.load("basics/mm1k.spn"), seed=4, precision=0.015, estimator="batches")
    assert kills
    assert out.strip() == str(alone.to_dict()["measures"])


# --- files that are of no use -----------------------------------------------------------------------------------------------------

MODEL = spn.parse(SMALL + "measure m = E(#a)")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "run.ckpt"
    spn.simulate(MODEL, seed=1, precision=0.2, checkpoint=path)
    return path


def refused(model: Model, path: Path, **options: Any) -> str:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(SpnError) as e:
        spn.simulate(model, checkpoint=path, **options)
    assert not path.is_file() or path.read_bytes() == before
    assert isinstance(e.value, DataError)
    return f"{e.value.diagnostics[0].code}: {e.value.diagnostics[0].message}"


def test_of_another_run(kept: Path) -> None:
    asked: dict[str, Any] = {"seed": 1, "precision": 0.2}
    other = spn.parse(SMALL.replace("1/s", "2/s") + "measure m = E(#a)")
    assert "its model is" in refused(other, kept, **asked)
    assert "its model is" in refused(spn.parse(SMALL + "measure m = E(#b)"), kept, **asked)
    assert "E0720" in refused(MODEL, kept, **{**asked, "seed": 2}) and "its seed is 1, not 2" in refused(
        MODEL, kept, **{**asked, "seed": 2}
    )
    assert "its precision is 0.2, not 0.1" in refused(MODEL, kept, **{**asked, "precision": 0.1})
    assert "its horizon is None, not 5.0" in refused(MODEL, kept, **asked, horizon=5.0)
    assert spn.simulate(MODEL, checkpoint=kept, workers=1, max_seconds=7, **asked).converged


def test_of_another_version(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spn, "__version__", "99")
    assert "version of spn is" in refused(MODEL, kept, seed=1, precision=0.2)


@pytest.mark.parametrize("at", [0, 10, 16, 18, 30, 85, 300, -1])
def test_damaged(at: int, kept: Path) -> None:
    content = bytearray(kept.read_bytes())
    content[at] ^= 1
    kept.write_bytes(content)
    assert "E0721" in refused(MODEL, kept, seed=1, precision=0.2)


@pytest.mark.parametrize("length", [0, 5, 40, 100, 1000])
def test_cut_off(length: int, kept: Path) -> None:
    kept.write_bytes(kept.read_bytes()[:length])
    assert "E0721" in refused(MODEL, kept, seed=1, precision=0.2)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    assert "E0722" in refused(MODEL, tmp_path / "no such folder" / "run.ckpt", seed=1)
    assert "E0722" in refused(MODEL, tmp_path, seed=1)


def test_a_full_disk_later_on(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends as it would have, the file stays as it was, and the result says so."""
    before = kept.read_bytes()

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_replace", full)
    result = spn.simulate(MODEL, seed=1, precision=0.2, checkpoint=kept)
    assert result.converged and any("could not be written (No space left on device)" in n for n in result.notes)
    assert kept.read_bytes() == before
