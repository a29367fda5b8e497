"""The command as scripts and people meet it: exit codes, streams, hints, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spn.cli import solve as solve_command
from spn.cli.main import main
from tests.cli.conftest import MM1K, Run

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("check", "solve", "simulate", "draw", "fit", "compare", "structure", "bounds", "test")


def _spawn(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "spn.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)


# --- help -------------------------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_exit_code(spn: Run) -> None:
    done = spn("--help")
    assert done.code == 0
    assert all(re.search(rf"^    {command} ", done.out, re.MULTILINE) for command in COMMANDS)
    assert all(re.search(rf"^  {code} ", done.out, re.MULTILINE) for code in (0, 1, 2, 3, 130))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str, spn: Run) -> None:
    done = spn(command, "--help")
    assert done.code == 0
    assert f"spn {command}" in done.out.partition("examples:")[2]


def test_help_imports_nothing_heavy() -> None:
    code = """if True:
        import sys
        from spn.cli.main import main
        try:
            main(["--help"])
        except SystemExit:
            print(sorted(sys.modules), file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    heavy = ("numpy", "scipy", "numba", "matplotlib", "lark", "graphviz", "rich")
    assert not [m for m in heavy if f"'{m}'" in done.stderr]


def test_the_version_is_that_of_the_package(spn: Run) -> None:
    from spn import __version__

    assert spn("--version").out == f"spn {__version__}\n"


# --- bad input ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["solv", "mm1k.spn"], 2, "did you mean solve?"),
        (["solve"], 2, "the following arguments are required: FILE"),
        (["solve", "mm1k.spn", "--method", "ctcm"], 2, "did you mean ctmc?"),
        (["solve", "mm1k.spn", "--seed", "-1"], 2, "whole number"),
        (["solve", "mm1k.spn", "--precision", "2"], 2, "between 0 and 1"),
        (["solve", "mm1k.spn", "--horizon", "soon"], 2, "write for instance 90 s"),
        (["solve", "mm2k.spn"], 2, "did you mean mm1k.spn?"),
        (["solve", "nowhere/mm1k.spn"], 2, "did you mean mm1k.spn?"),
        (["solve", "."], 2, "is a folder"),
        (["check", "mm2k.spn"], 2, "did you mean mm1k.spn?"),
        (["solve", "mm1k.spn", "-p", "rom=3"], 2, "did you mean room?"),
        (["solve", "mm1k.spn", "-p", "room"], 2, "name=value"),
        (["solve", "mm1k.spn", "-p", "room=1", "-p", "room=2"], 2, "twice"),
        (["solve", "mm1k.spn", "-p", "room=3 s"], 2, "room"),
        (["solve", "mm1k.spn", "-p", "room=1000"], 2, "room"),
        (["draw", "mm1k.spn", "-o", "net.pgn"], 2, "did you mean png?"),
        (["draw", "mm1k.spn", "-o", "no/such/net.dot"], 2, "no/such/net.dot"),
        (["compare", "mm1k.spn", "--over", "room"], 2, "name=1..16"),
        (["compare", "mm1k.spn", "--over", "room=5..1"], 2, "write 1..5"),
        (["compare", "mm1k.spn", "--over", "room=1..2.5"], 2, "whole numbers"),
        (["compare", "mm1k.spn"], 2, "--over"),
        (["fit", "trace.json"], 2, "there is no file trace.json"),
    ],
)  # fmt: skip
def test_what_people_get_wrong_is_told_on_stderr_with_a_hint(arguments: list[str], code: int, said: str, spn: Run) -> None:
    done = spn(*arguments)
    assert done.code == code
    assert said in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_errors_of_a_model_point_at_the_text(spn: Run) -> None:
    Path("bad.spn").write_text("place a = 1\ntimed t : a -> bb ~ exp(rate = 1/s)\n")
    done = spn("solve", "bad.spn")
    assert done.code == 2
    assert "bad.spn:2:16: error[" in done.err
    assert "\n   |                ^^" in done.err


def test_an_analysis_that_refuses_has_its_own_code(spn: Run) -> None:
    Path("unbounded.spn").write_text("place q\ntimed t : -> q ~ exp(rate = 1/s)\nmeasure m = E(#q)\n")
    done = spn("solve", "unbounded.spn", "--method", "ctmc")
    assert (done.code, done.out) == (3, "")
    assert "q" in done.err


def test_a_bug_of_ours_asks_to_be_reported(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(solve_command, "run", broken)
    done = spn("solve", "mm1k.spn")
    assert done.code == 70
    assert "internal error: ZeroDivisionError: oh, please report" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("SPN_DEBUG", "1")
    assert "Traceback" in spn("solve", "mm1k.spn").err


def test_an_interruption_is_no_traceback(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(solve_command, "run", interrupted)
    done = spn("solve", "mm1k.spn")
    assert (done.code, done.err) == (130, "error: interrupted\n")


def test_memory_that_runs_out_is_a_failure_with_advice(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def huge(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(solve_command, "run", huge)
    done = spn("solve", "mm1k.spn")
    assert done.code == 3
    assert "out of memory" in done.err


def test_a_reader_that_goes_away_is_met_in_silence(tmp_path: Path) -> None:
    (tmp_path / "mm1k.spn").write_text(MM1K)
    command = f'"{sys.executable}" -m spn.cli solve mm1k.spn --json | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "mm1k.spn").write_text(MM1K)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "spn.cli", "solve", "mm1k.spn"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_a_narrow_encoding_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "mm1k.spn").write_text("place größe = 1\ntimed t : größe -> größe ~ exp(rate = 1/s)\nmeasure länge = E(#größe)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "spn.cli", "solve", "mm1k.spn"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0
    assert "l?nge" in done.stdout


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["solve", "no-such-file-anywhere.spn"]) == 2
    assert "\033[1;31merror[E0901]\033[0m" in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["solve", "no-such-file-anywhere.spn"]) == 2
    assert "\033[" not in capsys.readouterr().err


# --- check ------------------------------------------------------------------------------------------------------------------------


def test_check_sums_up_a_good_model(spn: Run) -> None:
    done = spn("check", "mm1k.spn")
    assert (done.code, done.err) == (0, "")
    assert done.out == "mm1k.spn: ok (2 places, 2 transitions, 2 parameters, 3 measures, 1 expectation)\n"


def test_check_goes_through_all_files_and_counts_what_it_found(spn: Run) -> None:
    Path("more").mkdir()
    Path("more/bad.spn").write_text("place a = 1\ntimed t : a -> b, c ~ exp(rate = 1/s)\n")
    done = spn("check", ".")
    assert done.code == 1
    assert done.out.splitlines()[0].startswith("mm1k.spn: ok")
    assert done.out.splitlines()[1] == "more/bad.spn: 2 errors"
    assert done.err.count("error[") == 2


def test_check_shows_warnings_but_they_are_no_failure(spn: Run) -> None:
    Path("doubtful.spn").write_text("place a = 1, unused\ntimed t : a -> a ~ exp(rate = 1/s)\n")
    done = spn("check", "doubtful.spn")
    assert done.code == 0
    assert "warning[" in done.err and "unused" in done.err
    assert done.out.startswith("doubtful.spn: 1 warning (")


def test_check_as_json(spn: Run) -> None:
    Path("bad.spn").write_text("place a = 1\ntimed t : a -> bb ~ exp(rate = 1/s)\n")
    done = spn("check", "mm1k.spn", "bad.spn", "--json")
    good, bad = json.loads(done.out)
    assert done.code == 1
    assert (good["ok"], good["places"], good["measures"]) == (True, 2, ["rate", "delay", "mean"])
    assert (bad["ok"], bad["diagnostics"][0]["line"], bad["diagnostics"][0]["column"]) == (False, 2, 16)


# --- solve ------------------------------------------------------------------------------------------------------------------------


def test_solve_prints_a_table(spn: Run) -> None:
    done = spn("solve", "mm1k.spn")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "mm1k, ctmc: all laws are exponential or phase-type"
    assert lines[1] == "rho = 0.5, room = 2"
    assert lines[3:8] == [
        "measure        value  unit",
        "-------  -----------  ----",
        "rate        0.428571  /s",
        "delay    1333.33      ms",
        "mean        0.571429",
    ]
    assert lines[9].startswith("3 states, 4 arcs, ")


def test_solve_as_json_gives_values_in_their_units(spn: Run) -> None:
    done = spn("solve", "mm1k.spn", "-p", "room=1", "--json")
    data = json.loads(done.out)
    assert data["measures"]["rate"]["value"] == pytest.approx(1 / 3, rel=1e-12)
    assert data["measures"]["rate"]["unit"] == "1/s"
    assert data["measures"]["rate"]["half_width"] is None
    assert data["measures"]["delay"]["value"] == pytest.approx(1000, rel=1e-12)
    assert data["measures"]["delay"]["unit"] == "ms"
    assert data["method"] == "ctmc" and data["converged"] is True and data["residual"] < 1e-10
    assert data["provenance"]["parameters"] == {"rho": 0.5, "room": 1.0}


def test_solve_writes_json_to_a_file(spn: Run) -> None:
    done = spn("solve", "mm1k.spn", "-o", "result.json")
    assert done.code == 0
    assert done.out.startswith("mm1k, ctmc")
    assert json.loads(Path("result.json").read_text())["measures"]["mean"]["value"] == pytest.approx(4 / 7)


def test_a_model_without_measures_answers_the_usual_ones(spn: Run) -> None:
    Path("plain.spn").write_text("place a = 1, b\ntimed go : a -> b ~ exp(rate = 1/s)\ntimed back : b -> a ~ exp(rate = 3/s)\n")
    data = json.loads(spn("solve", "plain.spn", "--json").out)
    values = {name: v["value"] for name, v in data["measures"].items()}
    assert values == pytest.approx({"E(#a)": 0.75, "E(#b)": 0.25, "throughput(go)": 0.75, "throughput(back)": 0.75})


def test_classes_are_listed(spn: Run) -> None:
    Path("fate.spn").write_text(
        "place s = 1, a, b\nimmediate left : s -> a weight 3\nimmediate right : s -> b\n"
        "timed stay : a -> a ~ exp(rate = 2/s)\nmeasure m = throughput(stay)\n"
    )
    done = spn("solve", "fate.spn")
    assert done.code == 0
    assert "ends in one of 2 classes:" in done.out
    assert re.search(r"^recurrent +0\.75 +1 +a +2$", done.out, re.MULTILINE)
    assert re.search(r"^dead +0\.25 +1 +b +0$", done.out, re.MULTILINE)


# --- simulate -----------------------------------------------------------------------------------------------------------------------


def test_simulate_covers_the_right_value(spn: Run) -> None:
    """3/7 lies in the 99.99 % interval; the seed is fixed, a fresh one would miss once in 10,000 runs."""
    done = spn("simulate", "mm1k.spn", "--seed", "1", "--precision", "2%", "--confidence", "99.99%", "--json")
    data = json.loads(done.out)
    rate = data["measures"]["rate"]
    assert done.code == 0
    assert abs(rate["value"] - 3 / 7) <= rate["half_width"] <= 0.02 * rate["value"]
    assert (rate["unit"], rate["confidence"], data["provenance"]["seed"]) == ("1/s", 0.9999, 1)


def test_equal_seeds_give_equal_figures(spn: Run) -> None:
    first, second = (
        json.loads(spn("simulate", "mm1k.spn", "--seed", "5", "--precision", "5%", "--json").out)["measures"] for _ in range(2)
    )
    assert first == second


def test_a_table_of_estimates_says_level_and_seed(spn: Run) -> None:
    done = spn("solve", "mm1k.spn", "--method", "simulate", "--seed", "3", "--precision", "5%", "--confidence", "90%")
    assert done.code == 0
    assert "90 % interval" in done.out and " ± " in done.out and "seed 3" in done.out


def test_a_run_over_a_horizon(spn: Run) -> None:
    done = spn("simulate", "mm1k.spn", "--seed", "3", "--horizon", "1 min", "--replications", "20", "--json")
    data = json.loads(done.out)
    assert data["details"]["replications"] == 20
    assert data["provenance"]["options"]["horizon"] == 60


@pytest.mark.parametrize(("interrupted", "code"), [(True, 130), (False, 3)])
def test_figures_short_of_the_precision_are_printed_and_said_to_be(
    interrupted: bool, code: int, spn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spn.result import Result, Value

    def cut_short(*_: object, **__: object) -> Result:
        details = {"interrupted": True} if interrupted else {}
        return Result(method="simulate", reason="", measures={"rate": Value(value=0.4, half_width=0.1)}, converged=False, details=details)

    monkeypatch.setattr("spn.sim.simulate", cut_short)
    done = spn("simulate", "mm1k.spn")
    assert done.code == code
    assert "0.40" in done.out and "± 0.10" in done.out and "NOT CONVERGED" in done.out


# --- draw -------------------------------------------------------------------------------------------------------------------------


def test_draw_writes_the_picture_named_or_one_named_after_the_model(spn: Run) -> None:
    done = spn("draw", "mm1k.spn")
    assert (done.code, done.out) == (0, "wrote mm1k.svg\n")
    assert "<svg" in Path("mm1k.svg").read_text()
    assert spn("draw", "mm1k.spn", "-o", "x.png", "-p", "room=7").code == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


def test_draw_to_standard_output(tmp_path: Path) -> None:
    (tmp_path / "mm1k.spn").write_text(MM1K)
    done = _spawn("draw", "mm1k.spn", "-o", "-", "--format", "dot", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith('digraph "mm1k" {')


def test_an_option_that_there_is_not_points_at_the_command(spn: Run) -> None:
    done = spn("solve", "mm1k.spn", "--max-second", "3")
    assert done.code == 2
    assert "unrecognized arguments: --max-second 3" in done.err and "see `spn solve --help`" in done.err
