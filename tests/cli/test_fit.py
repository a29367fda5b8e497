"""Laws from files on the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def durations(spn: Run) -> list[float]:
    """Gamma durations of 200 ms in ``steps.csv``, in milliseconds."""
    values: list[float] = np.random.default_rng(1).gamma(16, 200 / 16, 300).tolist()
    Path("steps.csv").write_text("duration_ms\n" + "\n".join(f"{v:.6f}" for v in values))
    return values


def _trace(path: Path, steps: int = 6) -> None:
    """A profiler's trace: marked steps, each of one computation and one collective."""
    events = []
    for i in range(steps):
        start = 1000 * i
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "ts": start, "dur": 900 + i, "pid": 1, "tid": 1},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": start + 10, "dur": 400 + 10 * i, "pid": 1, "tid": 1},
            {"ph": "X", "cat": "cpu_op", "name": "gloo:all_reduce", "ts": start + 500, "dur": 300, "pid": 1, "tid": 1},
        ]
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))


@pytest.mark.usefixtures("durations")
def test_without_a_name_the_operations_are_listed(spn: Run) -> None:
    done = spn("fit", "steps.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "steps.csv: CSV, 300 records of 1 operation"
    assert "`spn fit steps.csv --name NAME` fits one of them" in done.out


def test_a_list_as_json_gives_seconds(spn: Run, durations: list[float]) -> None:
    (operation,) = json.loads(spn("fit", "steps.csv", "--json").out)["operations"]
    assert operation["count"] == 300
    assert operation["mean"] == pytest.approx(np.mean(durations) / 1000, rel=1e-6)
    assert operation["cv"] == pytest.approx(np.std(durations) / np.mean(durations), rel=1e-5)


def test_a_trace_lists_the_phases_of_its_steps_first(spn: Run) -> None:
    _trace(Path("trace.json.gz"))
    done = spn("fit", "trace.json.gz")
    assert done.code == 0
    assert done.out.index("per training step:") < done.out.index("operations by total time:")
    phases = {p["name"]: p for p in json.loads(spn("fit", "trace.json.gz", "--json").out)["phases"]}
    assert phases["compute"]["mean"] == pytest.approx(np.mean([400 + 10 * i for i in range(phases["compute"]["count"])]) * 1e-6, rel=0.05)


def test_a_fit_is_told_as_model_text_with_its_rivals(spn: Run, durations: list[float]) -> None:
    done = spn("fit", "steps.csv", "--name", "duration", "--family", "gamma")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("duration in steps.csv: 300 durations, mean ")
    assert lines[2].startswith("  gamma(")
    assert "Kolmogorov-Smirnov distance" in done.out
    mean = json.loads(spn("fit", "steps.csv", "--name", "duration", "--family", "gamma", "--json").out)["law_mean"]
    assert mean == pytest.approx(np.mean(durations) / 1000, rel=1e-3)


@pytest.mark.usefixtures("durations")
def test_the_law_told_can_be_put_into_a_model(spn: Run) -> None:
    from spn.loading import parse

    law = spn("fit", "steps.csv", "--name", "duration").out.splitlines()[2].strip()
    model = parse(f"place a = 1\ntimed t : a -> a ~ {law}\n")
    assert model.net.transitions


@pytest.mark.usefixtures("durations")
def test_a_fit_is_plotted(spn: Run) -> None:
    done = spn("fit", "steps.csv", "--name", "duration", "--plot", "fit.svg")
    assert done.code == 0
    assert done.err == "note: wrote fit.svg\n"
    assert "<svg" in Path("fit.svg").read_text()


@pytest.mark.usefixtures("durations")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "duratio"], "did you mean duration"),
        (["--name", "duration", "--family", "gama"], "gamma"),
        (["--name", "duration", "--plot", "fit.gif"], "formats: svg, png, pdf"),
    ],
)
def test_mistakes(arguments: list[str], said: str, spn: Run) -> None:
    done = spn("fit", "steps.csv", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("name", "content"), [("empty.csv", b""), ("cut.json", b'{"traceEv'), ("cut.json.gz", b"\x1f\x8b\x08\x00"), ("x.json", b"[]")]
)
def test_broken_files_are_told(name: str, content: bytes, spn: Run) -> None:
    Path(name).write_bytes(content)
    done = spn("fit", name)
    assert done.code in (0, 2)  # a list of nothing is a list
    assert "Traceback" not in done.err and "internal error" not in done.err
    named = spn("fit", name, "--name", "step")
    assert named.code == 2 and name in named.err


CALIBRATED = """\
param size : bytes = 1 MB
dist step  = exp(mean = 1 s)
dist apply = exp(mean = 1 s)
place idle = 1
place computed
timed train  : idle -> computed ~ step
timed absorb : computed -> idle ~ apply
measure steps = throughput(absorb)
"""


def test_a_trace_gives_the_laws_of_a_model_unless_they_are_set(spn: Run) -> None:
    """One worker alone: the throughput is the reciprocal of the mean computation (that of the trace) and update (1 s, or as set)."""
    Path("train.spn").write_text(CALIBRATED)
    _trace(Path("trace.json.gz"))
    compute = json.loads(spn("fit", "trace.json.gz", "--name", "compute", "--json").out)["law_mean"]
    done = spn("simulate", "train.spn", "--trace", "trace.json.gz", "-p", "apply=det(1 ms)", "--seed", "1", "--precision", "1%", "--json")
    assert done.code == 0
    assert "calibrated: step: " in done.err
    steps = json.loads(done.out)["measures"]["steps"]["value"]
    assert steps == pytest.approx(1 / (compute + 1e-3), rel=0.03)


def test_a_trace_that_is_missing_is_told(spn: Run) -> None:
    done = spn("compare", "mm1k.spn", "--over", "room=1..2", "--measure", "rate", "--trace", "none.json")
    assert (done.code, done.out) == (2, "")
    assert "there is no file none.json" in done.err
