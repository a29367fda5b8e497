"""Lumping and the mean field on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spn.cli.main import main

MODEL = """units none
param n : count = 3
place a[i in 1..n] = 1, b[i in 1..n]
timed go[i in 1..n]   : a[i] -> b[i] ~ exp(rate = 1)
timed back[i in 1..n] : b[i] -> a[i] ~ exp(rate = 2)
measure x = sum(throughput(go[i]) for i in 1..n)
measure y = throughput(go[2])
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "pairs.spn"
    path.write_text(MODEL, encoding="utf-8")
    return str(path)


def test_lumped_and_not(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", file]) == 0
    out = capsys.readouterr().out
    assert "a[2] breaks the symmetry of a: measure y (line 7)" in out and "6 states" in out and "for 8 unlumped" in out
    assert main(["solve", file, "--lump", "off"]) == 0
    out = capsys.readouterr().out
    assert "8 states" in out and "symmetry" not in out


def test_lump_is_an_option_of_the_exact_method(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", file, "--lump", "off", "--method", "simulate"]) != 0
    assert "lump is no option of method simulate" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["solve", file, "--lump", "on"])


def test_mean_field(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", file, "-p", "n=20", "--method", "meanfield", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["method"] == "meanfield" and data["measures"]["x"]["value"] == pytest.approx(40 / 3)
    assert data["measures"]["x"]["note"].startswith("exact 13.333")


def test_mean_field_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "guarded.spn"
    path.write_text("units none place a = 9 timed t : a -> a ~ exp(rate = 1) when #a > 3 measure x = throughput(t)", encoding="utf-8")
    assert main(["solve", str(path), "--method", "meanfield"]) == 3
    assert "E0650" in capsys.readouterr().err
