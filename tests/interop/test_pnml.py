"""PNML: small nets in its dialects, what is refused and where, and the shared cases beside the checkout."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spn.errors import DataError, ModelError, Severity, SpnError
from spn.expr.nodes import Number
from spn.loading import formatted, load, load_parameters, parse, settable
from spn.model import Model
from spn.net.model import ArcKind, Immediate, Net, Timed
from spn.reach import Limits
from spn.reach.graph import explore_graph
from spn.source import position

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
MALFORMED = sorted(p.parent for p in (SHARED / "malformed").glob("*/model.pnml"))
BANK = sorted(p.parent for p in (SHARED / "pnml").glob("*/expected.json") if (p.parent / "model.pnml").exists())
TINY = SHARED / "pnml" / "bddbench-mcnet-tiny"
FEW = 10_000  # states explored in this test; the rest in tests/verify
LARGE = 150_000  # bytes

HEAD = '<?xml version="1.0"?>\n<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">'
NET = '<net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">'


def document(inside: str, head: str = HEAD) -> str:
    return f"{head}\n{NET}\n{inside}\n</page></net></pnml>"


MARKED = '<place id="p"><name><text>p</text></name><initialMarking><text>2</text></initialMarking></place>'
P = MARKED + '\n<place id="q"/>\n<transition id="t"/>\n'
FLOW = '<arc id="a" source="p" target="t"/><arc id="b" source="t" target="q"/>'


def states(net: Net) -> int:
    return len(explore_graph(net, Limits()).markings)


def test_a_net() -> None:
    model = parse(document(P + FLOW))
    assert [(p.name, p.initial, p.capacity) for p in model.net.places] == [("p", 2, None), ("q", 0, None)]
    assert [(a.kind, a.place) for a in model.net.transitions[0].arcs] == [(ArcKind.INPUT, "p"), (ArcKind.OUTPUT, "q")]
    assert states(model.net) == 3 and model.unitless
    (warning,) = model.warnings
    assert warning.code == "W0501" and warning.severity is Severity.WARNING and warning.span
    assert position(warning.span.source, warning.span.start).line == 3


@pytest.mark.parametrize(
    "head",
    [
        "<pnml>",
        '<pnml xmlns="http://www.informatik.hu-berlin.de/top/pnml/ptNetb">',
        '<?xml version="1.0" encoding="UTF-8"?><!-- a tool --><pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">',
    ],
)
def test_namespaces_and_none(head: str) -> None:
    assert states(parse(document(P + FLOW, head)).net) == 3


def test_old_labels_capacities_and_colours_of_one_kind() -> None:
    text = """<place id="p"><initialMarking><value>Default,3</value></initialMarking><capacity><value>0</value></capacity></place>
      <place id="q"><name><value>out</value></name><capacity><value>2</value></capacity></place><transition id="t"/>
      <arc id="a" source="p" target="t"><inscription><value>Default,1</value></inscription><type value="normal"/></arc>
      <arc id="b" source="t" target="q"><arctype><text>normal</text></arctype></arc>"""
    net = parse(document(text)).net
    assert [(p.name, p.initial, p.capacity) for p in net.places] == [("p", 3, None), ("out", 0, 2)]
    assert states(net) == 3


def test_rates_weights_and_servers_as_pipe_writes_them() -> None:
    text = """<place id="a"><initialMarking><value>Default,2</value></initialMarking></place><place id="b"/><place id="c"/>
      <transition id="t"><rate><value>2.5</value></rate><timed><value>true</value></timed>
        <infiniteServer><value>true</value></infiniteServer></transition>
      <transition id="u"><rate><value>3.0</value></rate><timed><value>false</value></timed>
        <priority><value>2</value></priority></transition>
      <transition id="v"><rate><value>1.0</value></rate><timed><value>true</value></timed></transition>
      <arc id="1" source="a" target="t"/><arc id="2" source="t" target="b"/><arc id="3" source="b" target="u"/>
      <arc id="4" source="u" target="c"/><arc id="5" source="c" target="v"/><arc id="6" source="v" target="a"/>"""
    model = parse(document(text))
    t, u, v = model.net.transitions
    assert isinstance(t, Timed) and isinstance(u, Immediate) and isinstance(v, Timed)
    assert (t.law.mean(), t.servers, v.servers, u.weight, u.priority) == (0.4, "inf", 1, Number(Fraction(3)), 2)
    assert model.warnings == ()
    with pytest.raises(ModelError, match=r"E0825.*rate of t"):
        parse(document(text.replace("2.5", "nan")))
    for wrong in ("0", "-1", "inf", "1e999999999", "1e-999999999", "two"):
        with pytest.raises(ModelError, match="E0825"):
            parse(document(text.replace("2.5", wrong)))


@pytest.mark.parametrize(
    ("kind", "arc"),
    [
        (ArcKind.INHIBITOR, '<arc id="c" source="q" target="t" type="inhibitor"/>'),
        (ArcKind.INHIBITOR, '<arc id="c" source="q" target="t"><type value="inhibitor"/></arc>'),
        (ArcKind.INHIBITOR, '<arc id="c" source="q" target="t"><arctype><text>inhibitor</text></arctype></arc>'),
        (ArcKind.TEST, '<arc id="c" source="q" target="t" type="test"/>'),
        (ArcKind.TEST, '<arc id="c" source="q" target="t"><type value="read"/></arc>'),
        (ArcKind.FLUSH, '<arc id="c" source="q" target="t" type="reset"/>'),
    ],
)
def test_kinds_of_arcs(kind: ArcKind, arc: str) -> None:
    assert parse(document(P + FLOW + arc)).net.transitions[0].arcs[-1].kind is kind


def test_parallel_arcs_add_and_names_stay_apart() -> None:
    net = parse(document(P + FLOW + '<arc id="c" source="p" target="t"/>')).net
    assert states(net) == 2
    model = parse(document(P.replace('<place id="q"/>', '<place id="q"><name><text>p</text></name></place>') + FLOW))
    assert [(p.name, p.doc) for p in model.net.places] == [("p (p)", "id p"), ("p (q)", "id q")]
    assert [w.code for w in model.warnings] == ["W0501", "W0502"]


def test_pages_references_and_what_tools_add() -> None:
    text = (
        P
        + """<page id="inner"><referencePlace id="r" ref="s"/><referencePlace id="s" ref="p"/>
      <referenceTransition id="u" ref="t"/><arc id="a" source="r" target="u"/>
      <toolspecific tool="x" version="1"><place id="hidden"/></toolspecific></page>
      <other xmlns="urn:another"><place id="foreign"/></other>"""
    )
    net = parse(document(text)).net
    assert [p.name for p in net.places] == ["p", "q"]
    assert [(a.kind, a.place) for a in net.transitions[0].arcs] == [(ArcKind.INPUT, "p")]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("<html><body>404</body></html>", "E0822", 1),
        ("<!DOCTYPE html><html></html>", "E0822", 1),
        (HEAD + "</pnml>", "E0822", 2),
        (HEAD + '\n<net id="a"/>\n<net id="b"/></pnml>', "E0822", 4),
        (document(P)[:-10], "E0820", None),
        (document("<place>"), "E0820", None),
        ('<?xml version="1.0"?>\n<!DOCTYPE pnml [<!ENTITY x "y">]>\n<pnml/>', "E0821", 2),
        ('<!DOCTYPE pnml SYSTEM "http://example.org/pnml.dtd"><pnml/>', "E0821", 1),
        ("<pnml>" + "<page>" * 300, "E0821", 1),
        (HEAD + '\n<net id="n" type="http://www.pnml.org/version-2009/grammar/symmetricnet"/></pnml>', "E0823", 3),
        (document(P + '<arc id="a" target="t"/>'), "E0824", 7),
        (document(P + '<arc id="a" source="pp" target="t"/>'), "E0824", 7),
        (document(P + '<place id="p"/>'), "E0824", 7),
        (document("<place/>"), "E0824", 4),
        (document(P + '<arc id="a" source="p" target="q"/>'), "E0826", 7),
        (document(P + '<arc id="a" source="t" target="p" type="inhibitor"/>'), "E0826", 7),
        (document(P + '<referencePlace id="r" ref="r"/>\n<arc id="a" source="r" target="t"/>'), "E0826", 7),
        (document(P + '<arc id="a" source="p" target="t" type="transport"/>'), "E0827", 7),
        (document(P + '<arc id="a" source="p" target="t"><inscription><text>[0,inf)</text></inscription></arc>'), "E0825", 7),
        (document(P + '<arc id="a" source="p" target="t"><inscription><text>0</text></inscription></arc>'), "E0404", 7),
        (document('<place id="p"><initialMarking><text>1.5</text></initialMarking></place>'), "E0825", 4),
        (document(f'<place id="p"><initialMarking><text>{2**63}</text></initialMarking></place>'), "E0825", 4),
        (document(f'<place id="p"><initialMarking><text>{"9" * 5000}</text></initialMarking></place>'), "E0825", 4),
        (document('<place id="p"><initialMarking><text>3</text></initialMarking><capacity><text>2</text></capacity></place>'), "E0403", 4),
    ],
)
def test_what_is_refused_and_where(text: str, code: str, line: int | None) -> None:
    with pytest.raises((ModelError, DataError)) as caught:
        parse(text)
    first = caught.value.diagnostics[0]
    assert first.code == code and first.span
    assert line is None or position(first.span.source, first.span.start).line == line
    assert len(str(caught.value)) < 3_000


def test_content_decides_and_suffixes_help(tmp_path: Path) -> None:
    file = tmp_path / "net.txt"
    file.write_text(document(P + FLOW))
    assert load(file).name == "n"
    assert settable(file) == ()
    with pytest.raises(ModelError, match=r"E0828.*no parameters"):
        load(file, n=3)
    for function in (formatted, load_parameters):
        with pytest.raises(ModelError, match="E0829"):
            function(file)
    (tmp_path / "empty.pnml").write_bytes(b"")
    with pytest.raises(DataError, match=r"E0820.*empty"):
        load(tmp_path / "empty.pnml")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    text = document(P.replace("<text>p</text>", "<text>Größe</text>") + FLOW, HEAD.replace('"1.0"', f'"1.0" encoding="{declared}"'))
    file = tmp_path / "net.pnml"
    file.write_bytes(text.encode(encoding))
    assert load(file).net.places[0].name == "Größe"


def test_a_text_has_no_encoding_but_its_own() -> None:
    text = document(P.replace("<text>p</text>", "<text>Größe</text>") + FLOW, HEAD.replace('"1.0"', '"1.0" encoding="ISO-8859-1"'))
    assert parse(text).net.places[0].name == "Größe"


# --- cases beside the checkout ----------------------------------------------------------------------------------------------------------


def ids(nodes: Any) -> list[str]:
    """The ids of the file, which the expected values name."""
    return [n.doc.removeprefix("id ") or n.name for n in nodes]


@pytest.mark.parametrize("folder", MALFORMED, ids=lambda f: f.name)
def test_malformed(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    began = time.perf_counter()
    model: Model | None = None
    try:
        model = load(folder / "model.pnml")
    except SpnError as error:
        assert expected["outcome"] != "accept", error
        assert str(folder / "model.pnml") in str(error) and "root:" not in str(error)
    assert time.perf_counter() - began < 1
    if model is None:
        return
    assert expected["outcome"] != "error"
    if "place_names" in expected:
        assert [p.name for p in model.net.places] == expected["place_names"]
    if expected.get("bounded", True):
        graph = explore_graph(model.net, Limits())
        found = {"states": len(graph.markings), "states_if_summed": len(graph.markings), "places": len(model.net.places)}
        found["arcs"] = len(graph.source)
        assert {k: v for k, v in expected.items() if k in found} == {k: v for k, v in found.items() if k in expected}


@pytest.mark.parametrize("folder", [f for f in BANK if (f / "model.pnml").stat().st_size < 1_000_000], ids=lambda f: f.name)
def test_bank(folder: Path) -> None:
    from spn.structural.bounds import place_bounds
    from spn.structural.incidence import incidence
    from spn.structural.semiflows import Limits as Search
    from spn.structural.semiflows import place_semiflows, transition_semiflows

    expected = json.loads((folder / "expected.json").read_text())["expected"]
    net = load(folder / "model.pnml").net
    right = expected.get("structure", {})
    matrix = incidence(net)
    for kind, nodes, search in (("p", net.places, place_semiflows), ("t", net.transitions, transition_semiflows)):
        wanted = right.get(f"minimal_{kind}_semiflow_list")
        if wanted is not None:
            names = ids(nodes)
            found = [{names[k]: v for k, v in y.items()} for y in search(matrix, Search()).vectors]
            assert sorted(sorted(y.items()) for y in found) == sorted(sorted(y.items()) for y in wanted)
        elif f"minimal_{kind}_semiflows" in right:
            assert len(search(matrix, Search()).vectors) == right[f"minimal_{kind}_semiflows"]
    if len(net.transitions) < 1_000:
        most = dict(zip(ids(net.places), place_bounds(net), strict=True))
        for place, reached in (expected.get("place_bounds") or {}).items():
            assert most[place] is None or (reached != "omega" and most[place] >= reached)
    if expected.get("states", FEW) < FEW and len(net.transitions) < 1_000:
        graph = explore_graph(net, Limits())
        assert len(graph.markings) == expected["states"]
        assert graph.markings.most().max(initial=0) == expected["max_token_in_place"]
        assert len(graph.source) == expected["arcs"]


@pytest.mark.parametrize("folder", BANK, ids=lambda f: f.name)
def test_what_the_structure_proves_of_the_bank_is_so(folder: Path) -> None:
    from spn.structural.analysis import structure

    expected = json.loads((folder / "expected.json").read_text())["expected"]
    if (folder / "model.pnml").stat().st_size > LARGE:
        pytest.skip("large: see tests/verify")
    net = load(folder / "model.pnml").net
    found = structure(net, seconds=0.25)
    right = expected.get("structure", {})
    if found.rank is not None and "incidence_rank" in right:
        assert (found.rank, found.p_flows.dimension) == (right["incidence_rank"], right["p_flow_dimension"])
        if not any("inhibitor" in r for r in found.remarks):
            assert found.t_flows.dimension == right["t_flow_dimension"]
    if found.commoner.deadlock_free:
        assert not expected.get("deadlocks")
    if found.commoner.live is not None and "live" in expected:
        assert found.commoner.live == expected["live"]
    assert not (found.bounded and expected.get("bounded") is False)


@pytest.mark.parametrize("file", sorted(TINY.glob("*.pnml")), ids=lambda f: f.name)
def test_tiny(file: Path) -> None:
    right = json.loads((TINY / "expected.json").read_text())["expected"][file.name]
    net = load(file).net
    if right.get("bounded", True):
        graph = explore_graph(net, Limits())
        assert (len(graph.markings), graph.markings.most().max(initial=0)) == (right["states"], right["max_token_in_place"])
    else:
        with pytest.raises(SpnError, match="E060"):
            explore_graph(net, Limits())
