"""What the language server answers, without a server: names, hovering, completion, renaming, outline, positions."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from spn.errors import ModelError, Severity
from spn.lang.pieces import pieces
from spn.lang.words import AFTER_ARCS, CLAIMS, CONTINUED, FUNCTIONS, MEASURES, REDUCTIONS, STATEMENTS
from spn.lsp import help
from spn.lsp.analysis import Analysis, analyse
from spn.lsp.completion import complete
from spn.lsp.hover import hover
from spn.lsp.outline import outline
from spn.lsp.rename import applied, rename
from spn.lsp.text import lines
from spn.source import Source

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted(ROOT.glob("models/**/*.spn"))
TEXT = """\
/// Two stations.
param n : count = 3 in 1..9
param rate : 1/s = 2/s
dist step = erlang(2, mean = 3 s)
link up(capacity = 1 Gbit/s)
place idle = n
place busy, `in` capacity 9

/// Begins the work.
timed start : idle -> busy ~ exp(rate = rate * #idle)  when #busy < n
timed done  : busy -> `in` ~ step  servers inf
timed send  : `in` -> idle ~ 1 MB over up
component cell(out : place, slow : number = 1) {
  place inner = 1
  dist step2 = exp(mean = 1 s)
  timed rate : inner -> out ~ scale(step2, slow)
}
use cell c[i in 1..n](idle, slow = i)
measure r = throughput(start) + E(#busy | done) / s + sum(E(#c[i].inner) for i in 1..n) * 0/s
expect r > rate where n = 2
"""
BASE = Path()


def at(text: str, mark: str, skip: int = 0) -> int:
    """The offset of a piece of text, the `skip`-th after the first."""
    offset = text.index(mark)
    for _ in range(skip):
        offset = text.index(mark, offset + 1)
    return offset


def analysis(text: str = TEXT) -> Analysis:
    return analyse(Source("m.spn", text), BASE)


def uses(text: str, mark: str, skip: int = 0) -> list[str]:
    """The lines where the name at a mark is used."""
    found = analysis(text)
    occurrence = found.names.at(at(text, mark, skip))
    assert occurrence is not None
    starts = [text.rfind("\n", 0, o.span.start) + 1 for o in found.names.of(occurrence.symbol)]
    return [text[start:].split("\n", maxsplit=1)[0].strip().split("  ")[0][:14] for start in starts]


# --- names ------------------------------------------------------------------------------------------------------------------------------


def test_names_are_found_by_their_space() -> None:
    assert uses(TEXT, "rate : 1/s") == ["param rate : 1", "timed start : ", "expect r > rat"]
    assert uses(TEXT, "busy, ") == ["place busy, `i", "timed start : ", "timed start : ", "timed done", "measure r = th"]
    assert uses(TEXT, "slow : number") == ["component cell", "timed rate : i", "use cell c[i i"]
    assert uses(TEXT, "inner = 1") == ["place inner = ", "timed rate : i", "measure r = th"]
    assert uses(TEXT, "`in` cap") == ["place busy, `i", "timed done", "timed send"]
    assert uses(TEXT, "i in 1..n](") == ["use cell c[i i"] * 2
    assert uses(TEXT, "n : count")[0] == "param n : coun"


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_every_name_of_a_shipped_model_is_known(path: Path) -> None:
    """Whatever is a name in the text is a symbol, a unit, a keyword, or a word that only laws and functions know."""
    text = path.read_text(encoding="utf-8")
    found = analyse(Source(str(path), text), path.parent)
    known = {o.span.start for o in found.names.occurrences}
    free = {
        *help.EVERYTHING,
        *help.UNIT_HELP,
        *help.FORMAL_TYPES,
        "inf",
        "none",
        "in",
        "and",
        "or",
        "not",
        "mod",
        "div",
        "true",
        "false",
        "as",
    }
    free |= {
        "abs",
        "else",
        "mean",
        "rate",
        "cv",
        "capacity",
        "probs",
        "rates",
        "low",
        "high",
        "mode",
        "sd",
        "alpha",
        "time",
        "until",
        "from",
        "to",
    }
    free |= {"always", "total", "shape", "scale", "completion", "means", "weights"}
    unknown = [p.text for p in pieces(text) if p.kind in ("word", "name") and p.start not in known and p.text not in free]
    assert unknown == []
    assert not [d for d in found.diagnostics if d.severity is Severity.ERROR]
    assert found.model is not None
    for o in found.names.occurrences:
        assert text[o.span.start : o.span.end].strip("`") == o.symbol.name


def test_a_broken_statement_leaves_the_others() -> None:
    text = TEXT.replace("timed done  : busy -> `in` ~ step", "timed done  : busy -> `in` step")
    found = analysis(text)
    assert [d.code for d in found.diagnostics] and found.model is None
    assert {s.name for s in found.names.symbols()} >= {"n", "idle", "start", "send", "cell", "inner", "r"}
    assert found.names.at(at(text, "idle -> busy")) is not None


def test_any_mutilated_text_is_analysed() -> None:
    rng = random.Random(5)
    for _ in range(150):
        text = TEXT
        for _ in range(rng.randint(1, 4)):
            a = rng.randrange(len(text))
            text = text[:a] + rng.choice(["", "{", "}", "(", "~", "#", "`", '"', "/*", "in", "\n"]) + text[a + rng.randint(0, 12) :]
        found = analysis(text)
        place = rng.randrange(len(text) + 1)
        hover(found, place)
        complete(found, place)
        outline(found.names)


def test_imported_names_are_found_in_their_file(tmp_path: Path) -> None:
    (tmp_path / "lib.spn").write_text(
        "/// Cells.\n\n/// A cell.\ncomponent cell(out : place) { place inner = 1 timed go : inner -> out ~ det(1 s) }\n"
    )
    text = 'import "lib.spn" as L\nplace a\nuse L.cell c(a)\nmeasure m = throughput(c.go)\n'
    path = tmp_path / "m.spn"
    found = analyse(Source(str(path), text), tmp_path)
    assert not found.diagnostics
    go = found.names.at(at(text, "go)"))
    assert go is not None and go.symbol.span.source.name == str(tmp_path / "lib.spn")
    cell = found.names.at(at(text, "cell"))
    assert cell is not None and "A cell." in hover(found, at(text, "cell")).markdown  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="rename it there"):
        rename(found, at(text, "cell"), "cells", tmp_path)
    assert labels(text, "go)", tmp_path) == ["inner", "go"]


# --- hovering ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "skip", "expected"),
    [
        ("n : count", 0, ["parameter **n**", "param n : count = 3 in 1..9", "value: 3"]),
        ("rate : 1/s", 0, ["value: 2/s"]),
        ("idle = n", 0, ["place **idle**", "initially 3 tokens", "filled by send, c[1].rate", "emptied by start"]),
        ("start :", 0, ["timed transition **start**", "Begins the work.", "servers: 1, memory: restart"]),
        ("done  :", 0, ["law: erlang(2, mean=3), mean 3 s", "servers: inf"]),
        ("send  :", 0, ["over up", "mean 1e+06 bytes"]),
        ("up(", 0, ["capacity: 125000000 bytes/s"]),
        ("r = through", 0, ["measure **r**", "unit: 1/s"]),
        ("slow : number", 0, ["component parameter **slow** of component cell"]),
        ("cell(", 0, ["component cell(out : place, slow : number = 1)"]),
        ("Gbit", 0, ["unit `Gbit` = 125000000 bytes"]),
        ("erlang", 0, ["erlang(k, mean=)"]),
        ("servers", 0, ["how many clocks may run"]),
        ("step  servers", 0, ["law **step**", "erlang(2, mean = 3 s)"]),
    ],
)
def test_hovering(mark: str, skip: int, expected: list[str]) -> None:
    found = hover(analysis(), at(TEXT, mark, skip))
    assert found is not None
    for part in expected:
        assert part in found.markdown


def test_invariants_of_a_place() -> None:
    text = "place a = 2, b\ntimed t : a -> b ~ det(1 s)\ntimed u : b -> a ~ det(1 s)\n"
    found = hover(analysis(text), at(text, "b"))
    assert found is not None and "never more than 2 tokens" in found.markdown and "≤ 2" in found.markdown


def test_nothing_to_say() -> None:
    assert hover(analysis(), at(TEXT, "= 3 in")) is None
    assert hover(analysis(""), 0) is None


def test_every_word_of_the_language_is_explained() -> None:
    assert set(help.STATEMENTS) == STATEMENTS
    assert set(help.CLAUSES) == AFTER_ARCS | {"flush", "capacity"}
    assert set(help.CLAIMS) == set(CLAIMS)
    assert set(help.MEASURES) == set(MEASURES)
    assert {*FUNCTIONS, *REDUCTIONS} <= set(help.FUNCTIONS)
    assert "else" in CONTINUED


# --- completion -------------------------------------------------------------------------------------------------------------------------


def labels(text: str, mark: str = "|", base: Path = BASE) -> list[str]:
    """What is proposed at a mark; the mark `|` is taken out of the text first."""
    offset = text.rindex(mark)
    if mark == "|":
        text = text[:offset] + text[offset + 1 :]
    return [p.label for p in complete(analyse(Source(str(base / "m.spn"), text), base), offset)]


HEAD = "param n : count = 3\ndist step = exp(mean = 1 s)\nlink up(capacity = 1 GB/s)\nplace idle = n, `in`\ntimed go : idle -> ~ step\n"


@pytest.mark.parametrize(
    ("typed", "first", "never"),
    [
        ("|", ["param", "dist"], ["idle", "exp"]),
        ("pla|", ["place"], ["idle"]),
        ("timed t : |", ["idle", "`in`"], ["go", "ms"]),
        ("timed t : idle, ?|", ["idle", "`in`"], ["n"]),
        ("timed t : idle -> |", ["idle", "n"], ["go"]),
        ("timed t : idle -> idle ~ |", ["step", "exp", "fit"], ["idle", "param"]),
        ("timed t : idle -> idle ~ exp(|", ["mean = ", "rate = "], ["idle"]),
        ("timed t : idle -> idle ~ step |", ["servers", "over", "when"], ["idle"]),
        ("timed t : idle -> idle ~ step over |", ["up"], ["idle", "step"]),
        ("timed t : idle -> idle ~ step servers |", ["inf", "n"], ["idle"]),
        ("timed t : idle -> idle ~ step memory |", ["restart", "resume", "repeat"], ["n"]),
        ("timed t : idle -> idle ~ step resets |", ["go"], ["idle"]),
        ("timed t : idle -> idle ~ det(3 |", ["ms", "Gbit"], []),
        ("timed t : idle -> idle ~ step when #|", ["idle"], ["n"]),
        ("immediate t : idle -> idle |", ["when", "priority", "weight", "resets"], ["servers"]),
        ("param x : |", ["count", "time"], ["idle"]),
        ("measure m = |", ["P", "E", "throughput", "n"], ["idle"]),
        ("measure m = throughput(|", ["go"], ["idle", "n"]),
        ("measure m = sojourn(|", ["idle"], ["go"]),
        ("measure m = utilisation(|", ["go", "up"], ["idle"]),
        ("measure m = P(|", ["time until", "#idle", "n"], ["go"]),
        ("measure m = E(#|", ["idle"], ["go"]),
        ("measure m = P(#idle > 0) |", ["at", "over", "total over"], ["idle"]),
        ("expect n == 3 |", ["within", "where"], ["idle"]),
        ("expect n == 3 within 1 % where |", ["n"], ["idle"]),
        ("property p : |", ["always", "live"], ["idle"]),
        ("sweep |", ["n"], ["step", "idle"]),
        ("component c(a : |", ["place", "dist", "count"], ["idle"]),
        ("dist d = |", ["step", "erlang"], ["n"]),
        ("units |", ["none"], []),
        ("// |", [], ["param"]),
        ('dist d = fit("|', [], ["param"]),
    ],
)
def test_completion(typed: str, first: list[str], never: list[str]) -> None:
    found = labels(HEAD + typed)
    assert set(first) <= set(found)
    assert not set(never) & set(found)


def test_the_parts_of_an_instance() -> None:
    text = HEAD + "component c(o : place) { place x timed y : x -> o ~ det(1 s) }\nuse c k[i in 1..n](idle)\nmeasure m = E(#k[1].|"
    assert labels(text) == ["x", "y"]
    text = HEAD + "component c(o : place, f : number) { place x\ntimed y : x -> o ~ |"
    assert "f" not in labels(text) and "idle" not in labels(text)
    assert "o" in labels(HEAD + "component c(o : place) { place x\ntimed y : x -> |\n}")


# --- renaming ---------------------------------------------------------------------------------------------------------------------------


def renamed(mark: str, name: str, skip: int = 0, text: str = TEXT) -> str:
    return applied(text, rename(analysis(text), at(text, mark, skip), name, BASE))


def test_renaming_changes_every_use_and_nothing_else() -> None:
    found = renamed("idle = n", "resting")
    assert found == TEXT.replace("idle", "resting")
    assert analysis(found).model is not None
    found = renamed("rate : 1/s", "mu")
    assert found.count("mu") == 3 and "exp(rate = mu * #idle)" in found and "timed rate : inner" in found
    assert renamed("`in` cap", "out") == TEXT.replace("`in`", "out")
    assert "place busy, `a b` capacity" in renamed("`in` cap", "a b")
    assert "use cell c[k in 1..n](idle, slow = k)" in renamed("i in 1..n](", "k")
    assert "slower = i" in renamed("slow : number", "slower")
    assert "#c[i].core" in renamed("inner = 1", "core")
    assert renamed("n : count", "n") == TEXT


@pytest.mark.parametrize(
    ("mark", "name", "why"),
    [
        ("idle = n", "busy", "already names something else"),
        ("rate : 1/s", "step", "already names something else"),
        ("rate : 1/s", "ms", "is a unit"),
        ("rate : 1/s", "slow", "already names something else|would be an error"),
        ("start :", "up", "would be an error"),
        ("start :", "", "a name is"),
        ("start :", "a`b`c", "a name is"),
        ("= 3 in", "x", "no name here"),
        ("erlang", "x", "no name here"),
    ],
)
def test_renaming_refuses_clashes(mark: str, name: str, why: str) -> None:
    if (mark, name) == ("rate : 1/s", "slow"):  # it would be hidden in the component only if it were used there
        text = TEXT.replace("scale(step2, slow)", "scale(step2, slow * rate * s)")
    else:
        text = TEXT
    with pytest.raises(ModelError, match=why):
        renamed(mark, name, text=text)


def test_renaming_needs_a_text_that_parses() -> None:
    text = TEXT + "place a b"
    with pytest.raises(ModelError, match="syntax errors"):
        renamed("idle = n", "resting", text=text)


# --- the rest ---------------------------------------------------------------------------------------------------------------------------


def test_outline() -> None:
    found = outline(analysis().names)
    assert [(e.name, e.kind) for e in found[:4]] == [("n", "parameter"), ("rate", "parameter"), ("step", "law"), ("up", "link")]
    (cell,) = [e for e in found if e.kind == "component"]
    assert [e.name for e in cell.inside] == ["inner", "step2", "rate"]
    for e in found:
        assert e.span.start <= e.name_span.start and e.name_span.end <= e.span.end


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\n", "é𝔞b\n𝔞𝔞x\n", "a\tb"])
def test_positions_go_there_and_back(text: str) -> None:
    where = lines(text)
    for offset in range(len(text) + 1):
        line, column = where.position(offset)
        assert where.offset(line, column) == offset
    assert where.offset(99, 0) == len(text)
    assert lines("𝔞x").position(1) == (0, 2)
