"""Diagrams: what the DOT says of a net, and that every format comes out of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import pytest

from spn.dist.families import Deterministic, Erlang, Exponential, Gamma, Uniform
from spn.errors import AnalysisError, DataError, ModelError
from spn.expr.nodes import call, equal, tokens
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.report import graphviz
from spn.report.dot import BLUE, GREY, INK, WHITE, to_dot
from spn.report.draw import draw
from spn.report.labels import UNITLESS, transition_lines

STRANGE = 'a <b> & "c" \\ größe'
SECOND = Fraction(1)


def server() -> Net:
    """A parameter server, one transition of each look."""
    net = NetBuilder("async <ps>")
    net.place("idle", 4)
    net.place("full", 12, capacity=20)
    net.place(STRANGE, 1)
    net.link("up", Fraction(10**10, 8))
    net.timed("pull", "idle", STRANGE, Fraction(975, 10) * 2**20, over="up")
    net.timed("compute", {STRANGE: 2}, "full", Erlang(k=4, rate=4 / 0.012), servers="inf", tests="idle")
    net.timed("tick", "full", "idle", SECOND, inhibitors={"idle": 3})
    net.timed("leave", "full", "idle", rate=4)
    net.immediate("go", {"full": tokens("idle")}, "idle", flushes=[STRANGE], weight=tokens("idle") + 1, priority=2)
    return net.build()


def _edges(dot: str, place: str, transition: str) -> list[str]:
    ends = (f'"place {place}"', f'"transition {transition}":t')
    return [line for line in dot.splitlines() if "->" in line and all(e in line for e in ends)]


def _node(dot: str, kind: str, name: str) -> str:
    return next(line for line in dot.splitlines() if line.startswith(f'"{kind} {name}" ['))


def test_places_are_circles_with_a_dot_a_token_and_a_number_from_six_on() -> None:
    net = NetBuilder()
    for n in range(8):
        net.place(f"p{n}", n)
    dot = to_dot(net.build())
    for n in range(8):
        node = _node(dot, "place", f"p{n}")
        assert "shape=circle" in node
        assert node.count('STYLE="ROUNDED"') == (n if n <= 5 else 0)
        assert (f">{n}</TD>" in node) == (n > 5)


def test_transitions_look_as_their_timing_says() -> None:
    dot = to_dot(server())
    fills = {"pull": BLUE, "compute": GREY, "tick": INK, "leave": WHITE, "go": INK}
    for name, fill in fills.items():
        node = _node(dot, "transition", name)
        assert f'BGCOLOR="{fill}"></TD>' in node
        assert ('WIDTH="4"' in node) == (name == "go")  # the thin bar


def test_arcs_look_as_their_kind_says() -> None:
    dot = to_dot(server())
    strange = STRANGE.replace("\\", "\\\\").replace('"', '\\"')
    assert _edges(dot, "idle", "pull") == ['"place idle" -> "transition pull":t;']
    assert _edges(dot, strange, "compute") == [f'"place {strange}" -> "transition compute":t [label="2"];']
    assert _edges(dot, "idle", "compute") == ['"place idle" -> "transition compute":t [style=dashed];']
    assert '"place idle" -> "transition tick":t [arrowhead=odot, label="3"];' in _edges(dot, "idle", "tick")
    assert '"transition go":t -> "place full" [dir=back, label="#idle"];' in _edges(dot, "full", "go")  # leads to the left
    assert _edges(dot, strange, "go") == [f'"place {strange}" -> "transition go":t [arrowhead=normalnormal];']


def test_links_are_shown_with_their_capacity_and_users() -> None:
    dot = to_dot(server())
    assert "link up<BR/>10 Gbit/s" in _node(dot, "link", "up")
    assert '"transition pull":t -> "link up" [dir=none, style=dotted' in dot


def test_capacities_are_noted() -> None:
    assert "at most 20" in _node(to_dot(server()), "place", "full")


@pytest.mark.parametrize(
    ("attributes", "lines"),
    [
        ({"rate": 4}, ("exp 4/s",)),
        ({"law": Exponential(rate=1 / 0.012)}, ("exp 12 ms",)),
        ({"rate": 2 * tokens("a")}, ("exp (2 * #a)/s",)),
        ({"rate": tokens("a")}, ("exp #a/s",)),
        ({"law": SECOND}, ("det 1 s",)),
        ({"law": Uniform(low=0, high=2)}, ("uniform 0 s to 2 s",)),
        ({"law": Erlang(k=4, rate=4 / 0.012)}, ("erlang(4) 12 ms",)),
        ({"law": Gamma(shape=4.0, scale=0.045)}, ("gamma 180 ms cv 0.5",)),
        ({"law": Fraction(975, 10) * 2**20, "over": "up"}, ("97.5 MiB over up",)),
        ({"law": Exponential(rate=1e-6), "over": ["up", "down"]}, ("exp 1 MB over up, down",)),
        (
            {"law": Fraction(8), "over": "up", "share": 2, "cap": Fraction(10**9, 8), "latency": Fraction(1, 1000), "servers": 3},
            ("8 B over up", "share 2", "cap 1 Gbit/s", "latency 1 ms", "servers 3"),
        ),
        ({"rate": 1, "servers": "inf", "memory": "resume", "scale": 1 + tokens("a")}, ("exp 1/s × (1 + #a)", "servers ∞", "resume")),
        (
            {"law": SECOND, "speed": tokens("a") / 2, "when": (tokens("a") < 6) & equal(tokens("b"), 0), "priority": 2, "weight": 5},
            ("det 1 s", "speed #a / 2", "[#a < 6 and #b == 0]", "priority 2", "weight 5"),
        ),
        ({"rate": 1, "resets": ["other"]}, ("exp 1/s", "resets other")),
    ],
)  # fmt: skip
def test_labels_say_what_is_not_the_default(attributes: dict[str, object], lines: tuple[str, ...]) -> None:
    net = NetBuilder()
    net.place("a", 1)
    net.place("b")
    net.link("up", 1)
    net.link("down", 1)
    net.timed("t", "a", "b", **attributes)  # type: ignore[arg-type]
    net.timed("other", "b", "a", rate=1)
    assert transition_lines(net.build().transitions[0]) == lines


def test_a_unitless_model_has_labels_without_units() -> None:
    net = NetBuilder()
    net.place("a", 1)
    net.timed("t", "a", "a", rate=0.9)
    net.timed("d", "a", "a", Deterministic(value=Fraction(2)))
    built = net.build()
    assert [transition_lines(t, UNITLESS) for t in built.transitions] == [("exp 0.9",), ("det 2",)]
    drawn = draw(Model(name="m", net=built, unitless=True)).dot
    assert ">exp 0.9<" in drawn and ">exp 0.9/s<" not in drawn


def test_equal_nets_give_equal_files() -> None:
    for form in ("dot", "svg", "png", "pdf"):
        assert draw(server()).render(form) == draw(server()).render(form)  # type: ignore[arg-type]


def test_names_of_any_characters_survive(tmp_path: Path) -> None:
    draw(server(), tmp_path / "net.svg")
    svg = ET.parse(tmp_path / "net.svg")
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert STRANGE in texts
    titles = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")}
    assert "async <ps>" in titles


@pytest.mark.parametrize(
    ("suffix", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("dot", b"digraph"), ("gv", b"digraph")]
)
def test_the_suffix_says_the_format(suffix: str, magic: bytes, tmp_path: Path) -> None:
    draw(server(), tmp_path / f"net.{suffix}")
    assert (tmp_path / f"net.{suffix}").read_bytes().startswith(magic)


def test_a_net_without_anything_can_be_drawn() -> None:
    assert b"<svg" in draw(Net()).render("svg")
    assert draw(Net()).render("pdf").startswith(b"%PDF")


def test_a_pdf_holds_its_texts_as_text() -> None:
    plain = draw(server()).render("pdf")
    assert b"/Font" in plain and b"/Subtype /Image" not in plain


def test_unknown_formats_propose_the_nearest() -> None:
    with pytest.raises(ModelError, match="did you mean png"):
        draw(server(), "net.pngg")
    with pytest.raises(ModelError, match="no suffix"):
        draw(server(), "net")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no/such"):
        draw(server(), tmp_path / "no/such/net.dot")


def test_without_graphviz_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("SPN_DOT", raising=False)
    monkeypatch.setattr(graphviz, "_beside_python", lambda program: None)
    with pytest.raises(AnalysisError, match="pip install graphviz-pure"):
        draw(server()).render("svg")


def test_an_engine_that_is_no_program_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPN_DOT", "no-such-engine")
    with pytest.raises(AnalysisError, match="no-such-engine"):
        draw(server()).render("svg")


def test_an_engine_that_fails_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\necho it hurts >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("SPN_DOT", str(broken))
    with pytest.raises(AnalysisError, match="it hurts"):
        draw(server()).render("svg")


def test_the_engine_lays_out_without_complaint() -> None:
    """No warning of labels that do not fit their cells."""
    net = NetBuilder()
    for n in range(7):
        net.place(f"p{n}", n, capacity=n + 1)
    net.timed("t", "p1", "p0", rate=call("min", tokens("p1"), 3))
    done = subprocess.run([graphviz.engine(), "-Tsvg"], input=to_dot(net.build()).encode(), capture_output=True, check=True)
    assert b"too small" not in done.stderr


@pytest.mark.skipif(not shutil.which("dot"), reason="there is no system Graphviz")
def test_the_system_engine_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPN_DOT", raising=False)
    assert Path(graphviz.engine()).name == "dot"
