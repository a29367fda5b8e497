"""``spn format``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from spn.loading import load, parse

from .conftest import MM1K, Run

UGLY = "/// q\nplace   a=1 // x\n\n\n\ntimed t:a->a~det( 1 s )servers 1\n"
TIDY = "/// q\nplace a = 1  // x\n\ntimed t : a -> a ~ det(1 s)  servers 1\n"


def test_a_file_is_rewritten(spn: Run) -> None:
    Path("m.spn").write_text(UGLY)
    Path("m.spn").chmod(0o640)
    done = spn("format", "m.spn")
    assert (done.code, done.out) == (0, "formatted m.spn\n")
    assert Path("m.spn").read_text() == TIDY
    assert Path("m.spn").stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in Path().iterdir()) == ["m.spn", "mm1k.spn"]
    assert spn("format", "m.spn").err == "note: 1 file in canonical form already\n"


def test_check_shows_the_difference(spn: Run) -> None:
    Path("m.spn").write_text(UGLY)
    done = spn("format", "--check", "m.spn")
    assert done.code == 1
    assert "+++ m.spn (formatted)" in done.out and "+place a = 1  // x" in done.out and "1 file would change" in done.err
    assert Path("m.spn").read_text() == UGLY
    Path("m.spn").write_text(TIDY)
    assert spn("format", "--check", "m.spn").code == 0


def test_line_breaks_are_normalised(spn: Run) -> None:
    Path("m.spn").write_bytes(TIDY.replace("\n", "\r\n").encode())
    assert "line breaks would become" in spn("format", "--check", "m.spn").out
    assert spn("format", "m.spn").code == 0
    assert Path("m.spn").read_bytes() == TIDY.encode()


def test_stdout_leaves_the_file(spn: Run) -> None:
    Path("m.spn").write_text(UGLY)
    assert spn("format", "--stdout", "m.spn") == (0, TIDY, "")
    assert Path("m.spn").read_text() == UGLY


def test_stdin(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert spn("format", "-") == (0, TIDY, "")


def test_one_bad_file_does_not_keep_the_others(spn: Run) -> None:
    Path("a.spn").write_text("place a b")
    Path("m.spn").write_text(UGLY)
    done = spn("format", ".")
    assert done.code == 2 and "a.spn:1:9: error[E" in done.err
    assert Path("m.spn").read_text() == TIDY and Path("a.spn").read_text() == "place a b"


def test_a_link_stays_a_link(spn: Run) -> None:
    Path("m.spn").write_text(UGLY)
    Path("l.spn").symlink_to("m.spn")
    assert spn("format", "l.spn").code == 0
    assert Path("l.spn").is_symlink() and Path("m.spn").read_text() == TIDY


def test_unroll_prints_a_flat_model(spn: Run) -> None:
    done = spn("format", "--unroll", "mm1k.spn", "-p", "room=5")
    assert done.code == 0 and "param" not in done.out
    assert parse(done.out, name="mm1k.spn").net == load("mm1k.spn", room=5).net
    assert Path("mm1k.spn").read_text() == MM1K


@pytest.mark.parametrize("options", [("-p", "room=5"), ("--unroll", "--check"), ("--unroll", "--freeze")])
def test_options_that_do_not_go_together(spn: Run, options: tuple[str, ...]) -> None:
    done = spn("format", "mm1k.spn", *options)
    assert done.code == 2 and "error[E0905]" in done.err


def test_a_missing_file(spn: Run) -> None:
    done = spn("format", "mm2k.spn")
    assert done.code == 2 and "did you mean mm1k.spn?" in done.err


def test_errors_of_stdin_are_shown_as_such(spn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"place a = (1")))
    done = spn("format", "-")
    assert done.code == 2 and done.err.startswith("<stdin>:1:11: error[E0105]")
