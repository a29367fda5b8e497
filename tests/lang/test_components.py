"""Components and replication: every construct makes the very net that one writes out by hand, and wrong uses say what is wrong.

Golden messages: golden/components.spn and golden/components.txt. After a change on purpose: ``python -m tests.lang.test_components``
writes the answers anew, to be read before they are committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import DataError, ModelError, render
from spn.lang.expand import MAX_STATEMENTS
from spn.loading import load, parse
from spn.net.model import Member, Replicas
from spn.solvers import solve

HEAD = """
param n : count = 3
param mu : 1/s = 2/s
param size : bytes = 1 MB
param on : bool = true
dist step = erlang(2, mean = 3 s)
link up(capacity = 1 Gbit/s)
place a = 1, b
"""

# What is composed, and the same written out.
PAIRS = {
    "component": (
        "component c { place p = 2, q timed t : p -> q ~ exp(rate = mu) immediate u : q -> p when #p < 2 } use c x use c y",
        """place `x.p` = 2, `x.q` timed `x.t` : `x.p` -> `x.q` ~ exp(rate = mu) immediate `x.u` : `x.q` -> `x.p` when #`x.p` < 2
        place `y.p` = 2, `y.q` timed `y.t` : `y.p` -> `y.q` ~ exp(rate = mu) immediate `y.u` : `y.q` -> `y.p` when #`y.p` < 2""",
    ),
    "component used above its declaration": (
        "use c x component c { place p = n timed t : p -> ~ step2 dist step2 = det(1 s) }"
        .replace("timed t : p -> ~ step2 dist step2 = det(1 s)", "dist own = det(1 s) timed t : p -> ~ own"),
        "place `x.p` = 3 timed `x.t` : `x.p` -> ~ det(1 s)",
    ),
    "parameters of every kind": (
        """component c(k : count, x : number, f : bool, w : probability, delay : time, data : bytes, r : 1/s, v : bytes/s, law : dist,
           from : place, l : link, go : transition) {
          place p = k
          timed t : from -> k*p ~ data over l share x cap v latency delay
          timed u : p -> from ~ law speed if(f, r * delay, 1)
          immediate i : 2*p -> weight w
          join go : p -> 2*p when #p > 1
        }
        timed go : a -> b ~ det(1 s)
        use c y(2, 1.5, on, 25 %, 10 ms, size, mu, 1 MB/s, scale(step, 2), a, up, go)""",
        """timed go : a, `y.p` -> b, 2*`y.p` ~ det(1 s) when #`y.p` > 1
        place `y.p` = 2
        timed `y.t` : a -> 2*`y.p` ~ 1 MB over up share 1.5 cap 1 MB/s latency 10 ms
        timed `y.u` : `y.p` -> a ~ scale(step, 2) speed 0.02
        immediate `y.i` : 2*`y.p` -> weight 0.25""",
    ),
    "named arguments and defaults": (
        """component c(p : place, k : count = n + 1, m : count = 2 * k, law : dist = exp(rate = mu)) { timed t : k*p -> m*p ~ law }
        use c x(a) use c y(a, m = 7) use c z(k = 5, p = b) use c v(a, 2, 3, law = det(1 s))""",
        """timed `x.t` : 4*a -> 8*a ~ exp(rate = mu) timed `y.t` : 4*a -> 7*a ~ exp(rate = mu)
        timed `z.t` : 5*b -> 10*b ~ exp(rate = mu) timed `v.t` : 2*a -> 3*a ~ det(1 s)""",
    ),
    "a parameter hides one of the file": (
        "component c(n : count) { place p = n } use c x(n + 1)",
        "place `x.p` = 4",
    ),
    "array of instances": (
        "component c(k : count, p : place) { place q = k timed t : q -> p ~ exp(rate = mu * k) } use c w[i in 1..n](i^2, a)",
        """place `w[1].q` = 1 timed `w[1].t` : `w[1].q` -> a ~ exp(rate = mu)
        place `w[2].q` = 4 timed `w[2].t` : `w[2].q` -> a ~ exp(rate = mu * 4)
        place `w[3].q` = 9 timed `w[3].t` : `w[3].q` -> a ~ exp(rate = mu * 9)""",
    ),
    "arrays": (
        """place p[i in 1..2] = i capacity i + 1, q[i in 0..1, j in 1..2] = 10 * i + j
        link l[i in 1..2](capacity = i * 1 MB/s)
        timed t[i in 1..2] : p[i] -> q[i - 1, 2] ~ size over l[i] servers i
        immediate u[i in 1..2] : q[0, i] -> p[3 - i] weight i""",
        """place `p[1]` = 1 capacity 2, `p[2]` = 2 capacity 3, `q[0,1]` = 1, `q[0,2]` = 2, `q[1,1]` = 11, `q[1,2]` = 12
        link `l[1]`(capacity = 1 MB/s) link `l[2]`(capacity = 2 MB/s)
        timed `t[1]` : `p[1]` -> `q[0,2]` ~ size over `l[1]` servers 1
        timed `t[2]` : `p[2]` -> `q[1,2]` ~ size over `l[2]` servers 2
        immediate `u[1]` : `q[0,1]` -> `p[2]` weight 1
        immediate `u[2]` : `q[0,2]` -> `p[1]` weight 2""",
    ),
    "for": (
        "place p[i in 1..n] for i in 1..n { timed t[i] : p[i] -> p[i mod n + 1] ~ exp(rate = i * mu) }",
        """place `p[1]`, `p[2]`, `p[3]` timed `t[1]` : `p[1]` -> `p[2]` ~ exp(rate = mu)
        timed `t[2]` : `p[2]` -> `p[3]` ~ exp(rate = 2 * mu) timed `t[3]` : `p[3]` -> `p[1]` ~ exp(rate = 3 * mu)""",
    ),
    "for in for": (
        "for i in 1..2 { for j in i..2 { place p[i, j] = i + j immediate t[j, i] : p[i, j] -> } }",
        """place `p[1,1]` = 2 immediate `t[1,1]` : `p[1,1]` -> place `p[1,2]` = 3 immediate `t[2,1]` : `p[1,2]` ->
        place `p[2,2]` = 4 immediate `t[2,2]` : `p[2,2]` ->""",
    ),
    "use and if in for": (
        "component c(p : place) { timed t : p -> ~ exp(rate = mu) } for i in 1..3 { if i mod 2 == 1 { place p[i] use c x[i](p[i]) } }",
        "place `p[1]` timed `x[1].t` : `p[1]` -> ~ exp(rate = mu) place `p[3]` timed `x[3].t` : `p[3]` -> ~ exp(rate = mu)",
    ),
    "if": (
        "if n > 2 { place x = 1 dist law = det(1 s) } else { place x = 2 dist law = det(2 s) } timed t : x -> ~ law",
        "place x = 1 timed t : x -> ~ det(1 s)",
    ),
    "else": (
        "if not on { place x } else if n == 3 { place y if n > 3 { place z } } else { place v }",
        "place y",
    ),
    "all of them": (
        """component c { place idle = 1 link l(capacity = 1 MB/s) timed t : idle -> ~ det(1 s) } use c w[i in 1..n] use c x
        immediate go : n*a, 2*w[*].idle, !w[*].idle, flush w[*].idle -> w[*].idle, x.idle resets w[*].t, x.t
        timed send : a -> b ~ size over w[*].l""",
        """place `w[1].idle` = 1 link `w[1].l`(capacity = 1 MB/s) timed `w[1].t` : `w[1].idle` -> ~ det(1 s)
        place `w[2].idle` = 1 link `w[2].l`(capacity = 1 MB/s) timed `w[2].t` : `w[2].idle` -> ~ det(1 s)
        place `w[3].idle` = 1 link `w[3].l`(capacity = 1 MB/s) timed `w[3].t` : `w[3].idle` -> ~ det(1 s)
        place `x.idle` = 1 link `x.l`(capacity = 1 MB/s) timed `x.t` : `x.idle` -> ~ det(1 s)
        immediate go : n*a, 2*`w[1].idle`, 2*`w[2].idle`, 2*`w[3].idle`, !`w[1].idle`, !`w[2].idle`, !`w[3].idle`,
          flush `w[1].idle`, flush `w[2].idle`, flush `w[3].idle` -> `w[1].idle`, `w[2].idle`, `w[3].idle`, `x.idle`
          resets `w[1].t`, `w[2].t`, `w[3].t`, `x.t`
        timed send : a -> b ~ size over `w[1].l`, `w[2].l`, `w[3].l`""",
    ),
    "sums over an index": (
        """place p[i in 1..3]
        timed t : (sum(#p[i] for i in 1..3))*a -> ~ exp(rate = mu * max(#p[i] + 1 for i in 1..n))
          when all(#p[i] > 0 for i in 1..n) or any(#p[i] == i for i in 2..3) speed min(i * #p[i] for i in 1..1)
          scaled sum(i * j for i in 1..2, j in i..2)
        immediate u : a -> when all(#p[i] > 0 for i in 1..0) weight 1 + sum(#p[i] for i in 2..1)""",
        """place `p[1]`, `p[2]`, `p[3]`
        timed t : (#`p[1]` + #`p[2]` + #`p[3]`)*a -> ~ exp(rate = mu * max(#`p[1]` + 1, #`p[2]` + 1, #`p[3]` + 1))
          when (#`p[1]` > 0 and #`p[2]` > 0 and #`p[3]` > 0) or (#`p[2]` == 2 or #`p[3]` == 3) speed 1 * #`p[1]` scaled 7
        immediate u : a -> when true weight 1""",
    ),
    "components in components": (
        """component inner(k : count, out : place) { place p = k immediate t : p -> out }
        component outer(k : count, out : place) {
          place q[i in 1..k]
          use inner x[i in 1..k](i, q[i])
          immediate all : x[*].p, q[*] -> out when sum(#x[i].p for i in 1..k) == k
        }
        use outer o(2, a)
        timed end : o.x[2].p, o.q[1] -> ~ step resets end""",
        """place `o.q[1]`, `o.q[2]`
        place `o.x[1].p` = 1 immediate `o.x[1].t` : `o.x[1].p` -> `o.q[1]`
        place `o.x[2].p` = 2 immediate `o.x[2].t` : `o.x[2].p` -> `o.q[2]`
        immediate `o.all` : `o.x[1].p`, `o.x[2].p`, `o.q[1]`, `o.q[2]` -> a when #`o.x[1].p` + #`o.x[2].p` == 2
        timed end : `o.x[2].p`, `o.q[1]` -> ~ step resets end""",
    ),
    "join, given on": (
        """component inner(go : transition, k : count) { place p = k join go : p -> resets go }
        component outer(go : transition, b : place) { use inner x[i in 1..2](go, i) join go : -> when #b < 5 }
        timed go : a -> b ~ exp(rate = mu) when #a > 1 resets other
        timed other : b -> ~ exp(rate = mu)
        use outer o(go, b)""",
        """place `o.x[1].p` = 1, `o.x[2].p` = 2
        timed go : a, `o.x[1].p`, `o.x[2].p` -> b ~ exp(rate = mu) when #a > 1 and #b < 5 resets other, go
        timed other : b -> ~ exp(rate = mu)""",
    ),
    "links and laws": (
        """component c(l : link, law : dist) { link own(capacity = 1 MB/s) dist twice = scale(law, 2)
          timed t : -> ~ twice over l, own timed u : -> ~ mix(0.5: twice, 0.5: law) over own }
        use c x[i in 1..2](up, det(i * size))""",
        """link `x[1].own`(capacity = 1 MB/s) link `x[2].own`(capacity = 1 MB/s)
        timed `x[1].t` : -> ~ scale(det(1 MB), 2) over up, `x[1].own`
        timed `x[1].u` : -> ~ mix(0.5: scale(det(1 MB), 2), 0.5: det(1 MB)) over `x[1].own`
        timed `x[2].t` : -> ~ scale(det(2 MB), 2) over up, `x[2].own`
        timed `x[2].u` : -> ~ mix(0.5: scale(det(2 MB), 2), 0.5: det(2 MB)) over `x[2].own`""",
    ),
    "a size for a law": (
        "component c(message : dist) { timed t : -> ~ message over l link l(capacity = 1 MB/s) } use c x(size)",
        "timed `x.t` : -> ~ size over `x.l` link `x.l`(capacity = 1 MB/s)",
    ),
    "nothing over an empty range": (
        """component c { place p } use c w[i in 1..0] place q[i in 2..1]
        for i in 1..n - 3 { timed t[i] : a -> ~ step } timed s : w[*].p -> ~ step""",
        "timed s : -> ~ step",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", PAIRS)
def test_composed_equals_written_out(title: str) -> None:
    composed, written = (parse(HEAD + text) for text in PAIRS[title])
    assert composed.net == written.net


def test_measures_and_expectations_over_an_index() -> None:
    one = "component c { place p = 1 timed t : p -> p ~ exp(rate = mu) } use c w[i in 1..2] link l[i in 1..2](capacity = 1 MB/s)"
    two = " ".join(f"place `w[{i}].p` = 1 timed `w[{i}].t` : `w[{i}].p` -> `w[{i}].p` ~ exp(rate = mu)" for i in (1, 2))
    two += " link `l[1]`(capacity = 1 MB/s) link `l[2]`(capacity = 1 MB/s)"
    composed = parse(
        HEAD + one + " timed send : a -> a ~ size over l[2]"
        " measure m = sum(throughput(w[i].t) for i in 1..2) measure e = E(max(#w[i].p for i in 1..2) | w[2].t)"
        " measure u = utilisation(l[2]) + utilisation(w[1].t) measure q = sojourn(w[2].p)"
        " expect m == sum(i * mu for i in 1..2) within 1 %"
    )
    written = parse(
        HEAD + two + " timed send : a -> a ~ size over `l[2]`"
        " measure m = throughput(`w[1].t`) + throughput(`w[2].t`) measure e = E(max(#`w[1].p`, #`w[2].p`) | `w[2].t`)"
        " measure u = utilisation(`l[2]`) + utilisation(`w[1].t`) measure q = sojourn(`w[2].p`)"
        " expect m == 3 * mu within 1 %"
    )
    assert composed.measures == written.measures and composed.expectations == written.expectations


@pytest.mark.parametrize("many", [1, 2, 31, 32, 33, 100])
def test_sums_are_grouped_as_the_parser_groups_them(many: int) -> None:
    places = f"place p[i in 1..{many}] place q = 1 "
    composed = parse(places + f"immediate t : q -> when sum(#p[i] for i in 1..{many}) > 0")
    written = parse(places + f"immediate t : q -> when {' + '.join(f'#p[{i}]' for i in range(1, many + 1))} > 0")
    assert composed.net == written.net


# --- replicas -------------------------------------------------------------------------------------------------------------------------


def test_replicas_survive_into_the_net() -> None:
    model = parse(
        HEAD
        + """component c(p : place) { place q[k in 1..2] link l(capacity = 1 MB/s) timed t : q[1], q[2] -> p ~ exp(rate = mu) }
        use c w[i in 1..2](a)
        place ring[i in 1..2]
        for i in 1..2 { timed relay[i] : ring[i] -> ring[i mod 2 + 1] ~ step }"""
    )
    found = {r.name: r for r in model.net.replicas}
    assert list(found) == ["w", "w[1].q", "w[2].q", "ring", "relay"]
    assert found["w"] == Replicas(
        name="w",
        members=tuple(
            Member(index=(i,), places=(f"w[{i}].q[1]", f"w[{i}].q[2]"), links=(f"w[{i}].l",), transitions=(f"w[{i}].t",)) for i in (1, 2)
        ),
    )
    assert found["ring"].members == (Member(index=(1,), places=("ring[1]",)), Member(index=(2,), places=("ring[2]",)))
    assert found["relay"].shifted and not found["ring"].shifted and not found["w"].shifted


def test_replicas_take_no_part_in_equality() -> None:
    assert parse("place p[i in 1..2]").net == parse("place `p[1]`, `p[2]`").net
    assert parse("place p[i in 1..2]").net.replicas and not parse("place `p[1]`, `p[2]`").net.replicas


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 5), st.integers(-2, 3), st.booleans())
def test_any_number_of_replicas(many: int, first: int, branch: bool) -> None:
    last = first + many - 1
    composed = parse(
        f"param many : count = {many} component c(k : number) {{ place p = abs(k) if {str(branch).lower()} {{ place q = many }} }}"
        f" use c w[i in {first}..{last}](i) place all = sum(abs(i) for i in {first}..{last})"
        f" immediate t : all -> w[*].p"
    )
    indices = range(first, last + 1)
    written = "".join(f"place `w[{i}].p` = {abs(i)} " + (f"place `w[{i}].q` = {many} " if branch else "") for i in indices)
    written += f"place all = {sum(map(abs, indices))} immediate t : all -> {', '.join(f'`w[{i}].p`' for i in indices)}"
    assert composed.net == parse(written).net


# --- values and warnings --------------------------------------------------------------------------------------------------------------


def test_given_values_reach_components() -> None:
    text = "param n : count = 2 in 1..9 dist ruling = det(1 s) component c(law : dist) { place p = n timed t : p -> ~ law } "
    text += "use c w[i in 1..n](ruling)"
    model = parse(text, n=4, ruling="det(3 s)")
    assert [p.initial for p in model.net.places] == [4] * 4
    assert model.net == parse(text.replace("= 2 in", "= 4 in").replace("det(1 s)", "det(3 s)")).net


def test_warnings_are_not_repeated_for_replicas() -> None:
    model = parse("component c(k : count) { place p, q timed t : p -> p ~ normal(mean = 1 s, sd = 1 s) } use c w[i in 1..9](i)")
    assert [w.code for w in model.warnings if w.code in ("W0201", "W0401")] == ["W0201", "W0401"]


def test_what_is_not_used() -> None:
    model = parse("component c(k : count, out : place) { place p = 1 immediate t : p -> out } component e { } place a use c x(1, a)")
    assert [w.message for w in model.warnings if w.code == "W0202"] == [
        "parameter k of component c is not used",
        "component e is not used",
    ]


def test_a_law_given_to_all_is_fitted_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("duration\n" + "\n".join(str(0.5 + i % 7 / 10) for i in range(50)))
    text = 'component c(law : dist) { place p = 1 timed t : p -> p ~ law } use c w[i in 1..3](fit("t.csv", column="duration", unit="s"))'
    model = parse(text, base=tmp_path)
    assert len(model.fits) == 1 and len({t.law for t in model.net.transitions}) == 1  # type: ignore[union-attr]


# --- imports ----------------------------------------------------------------------------------------------------------------------------


def _files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.spn").write_text(text)
    return folder / "main.spn"


LIBRARY = "param k : count = 2 component c(p : place) { place q = k timed t : q -> p ~ exp(rate = 1/s) } place unseen = 1"


def test_import_gives_the_components_of_a_file(tmp_path: Path) -> None:
    main = _files(tmp_path, lib=LIBRARY, main='import "lib.spn" as L param k : count = 7 place a = k use L.c w[i in 1..2](a)')
    names = ["a", "w[1].q", "w[2].q"]
    assert [(p.name, p.initial) for p in load(main).net.places] == list(zip(names, (7, 2, 2), strict=True))


def test_imports_are_looked_for_beside_the_file_that_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts").mkdir()
    _files(tmp_path / "parts", one='import "two.spn" as T component d(p : place) { use T.c x(p) }', two=LIBRARY)
    main = _files(tmp_path, main='import "parts/one.spn" as O import "parts/two.spn" as T place a use O.d y(a) use T.c z(a)')
    assert [p.name for p in load(main).net.places] == ["a", "y.x.q", "z.q"]
    monkeypatch.chdir(tmp_path)
    assert [p.name for p in parse('import "parts/two.spn" as T place a use T.c z(a)').net.places] == ["a", "z.q"]


def test_imports_of_the_shipped_library(tmp_path: Path) -> None:
    text = """import "library/sgd.spn" as S link l(capacity = 1 MB/s) dist m = det(1 MB) dist x = det(1 s) place free = 1
    use S.worker w(l, l, m, x) use S.server t(free, w.sent, w.idle, x)"""
    assert "w.compute" in [t.name for t in load(_files(tmp_path, main=text)).net.transitions]


def _refused(main: Path) -> str:
    with pytest.raises(ModelError) as e:
        load(main)
    return "\n".join(render(d) for d in e.value.diagnostics).replace(f"{main.parent}/", "")


def test_a_cycle_of_imports_shows_both_places(tmp_path: Path) -> None:
    main = _files(tmp_path, main='import "one.spn" as O', one='\nimport "two.spn" as T', two='\n\nimport "one.spn" as O')
    text = _refused(main)
    assert "two.spn:3:1: error[E0234]: one.spn imports itself: one.spn -> two.spn -> one.spn" in text
    assert "one.spn:2 imports two.spn" in text
    itself = _refused(_files(tmp_path, main='import "main.spn" as M'))
    assert "main.spn imports itself: main.spn -> main.spn" in itself


def test_two_imports_of_one_name_show_both_places(tmp_path: Path) -> None:
    text = _refused(_files(tmp_path, one="", two="", main='import "one.spn" as L\nimport "two.spn" as L'))
    assert "main.spn:2:21: error[E0234]: two imports are called L" in text and 'main.spn:1 imports "one.spn" under that name' in text


def test_errors_in_an_imported_file_point_into_it(tmp_path: Path) -> None:
    text = _refused(_files(tmp_path, lib="component c { place p, }\nplace q r", main='import "lib.spn" as L use L.c x'))
    assert "lib.spn:1:22: error[E0109]" in text and "lib.spn:2:9: error[E0109]" in text
    text = _refused(_files(tmp_path, lib="component c { place p timed t : pp -> ~ det(1 s) }", main='import "lib.spn" as L use L.c x'))
    assert "lib.spn:1:33: error[E0201]: place pp is not declared" in text and "did you mean p?" in text
    lib = "component c(k : number) { place p = k }"
    text = _refused(_files(tmp_path, lib=lib, main='import "lib.spn" as L use L.c w[i in 0..9](i - 5)'))
    assert text.count("error[") == 1 and "lib.spn:1:37: error[E0402]" in text and "in w[0], used in line 1" in text


def test_imports_that_cannot_be_read(tmp_path: Path) -> None:
    text = _refused(_files(tmp_path, library="", main='import "libary.spn" as L'))
    assert "main.spn:1:8: error[E0801]: there is no file libary.spn" in text and "did you mean library.spn?" in text
    with pytest.raises((ModelError, DataError), match="is not UTF-8"):
        (tmp_path / "bin.spn").write_bytes(b"\xff\xfe")
        load(_files(tmp_path, main='import "bin.spn" as L'))


def test_parameters_of_an_imported_file_need_defaults(tmp_path: Path) -> None:
    text = _refused(_files(tmp_path, lib="param k : count component c { place p = k }", main='import "lib.spn" as L use L.c x'))
    assert "lib.spn:1:7: error[E0411]: parameter k has no default" in text


def test_units_agree_across_an_import(tmp_path: Path) -> None:
    text = _refused(_files(tmp_path, lib="units none component c { place p }", main='import "lib.spn" as L use L.c x'))
    assert "error[E0234]: lib.spn has `units none`, this file has units" in text


# --- models -----------------------------------------------------------------------------------------------------------------------------

EXPONENTIAL = {"step": "exp(mean = 180 ms)", "message": "exp(mean = 97.5 MiB)"}


def test_workers_by_name_and_as_tokens_agree_without_barrier() -> None:
    tokens, named = (solve(load(f"sgd/{name}.spn", **EXPONENTIAL), method="ctmc") for name in ("async_ps", "async_ps_workers"))
    for measure in ("steps", "training", "uplink", "server"):
        assert named[measure] == pytest.approx(tokens[measure], rel=1e-9)


def test_workers_by_name_and_as_tokens_agree_with_barrier() -> None:
    tokens = solve(load("sgd/sync_ps.spn", **EXPONENTIAL), method="ctmc")
    named = solve(load("sgd/sync_ps_straggler.spn", slow=1, **EXPONENTIAL), method="ctmc")
    for measure in ("steps", "round", "uplink"):
        assert named[measure] == pytest.approx(tokens[measure], rel=1e-9)


# --- wrong uses -------------------------------------------------------------------------------------------------------------------------

GOLDEN = Path(__file__).parent / "golden"


def _entries(file: str) -> dict[str, str]:
    """The parts of a golden file, by the title after ``////``."""
    parts = (GOLDEN / file).read_text(encoding="utf-8").split("//// ")[1:]
    return {title: body for title, _, body in (p.partition("\n") for p in parts)}


WRONG = _entries("components.spn")


def answer(model: str) -> str:
    with pytest.raises(ModelError) as e:
        parse(model.rstrip("\n"), name="model.spn")
    return "\n".join(render(d) for d in e.value.diagnostics) + "\n"


@pytest.mark.parametrize("title", WRONG)
def test_what_is_said(title: str) -> None:
    assert answer(WRONG[title]) == _entries("components.txt")[title]


def test_no_answer_is_left_over() -> None:
    assert list(_entries("components.txt")) == list(WRONG)


# --- bounds -----------------------------------------------------------------------------------------------------------------------------

CHAIN = "".join(f"component k{i}(n : count) {{ use k{i + 1} x[i in 1..10](n) }} " for i in range(12))
CHAIN += "component k12(n : count) { place a }"
TENS, ONES, TWOS = (
    "".join(f"component k{i} {{ use k{i + 1} {x} }} " for i in range(n)) + f"component k{n} {{ }} use k0 z"
    for x, n in (("x[i in 1..10]", 30), ("x", 2000), ("x[i in 1..2]", 2000))
)
BOMBS = {
    "instances": "component e { } use e w[i in 1..10^9]",
    "instances in two indices": "component e { place p } use e w[i in 1..10^5, j in 1..10^5]",
    "places": "place p[i in 1..10^12]",
    "transitions": "timed t[i in 1..10^9] : -> ~ exp(rate = 1/s)",
    "an empty loop": "for i in 1..10^9 { }",
    "loops in loops": "for i in 1..1000 { for j in 1..1000 { for k in 1..1000 { } } }",
    "components in components": TENS,
    "given numbers of replicas": "component c(n : count) { place p[i in 1..n] } use c w[i in 1..10](10^9)",
    "a chain of components": CHAIN + " use k0 z(1)",
    "a sum": "place a measure m = E(sum(#a for i in 1..10^9))",
    "sums in sums": "param x : number = sum(sum(sum(1 for i in 1..1000) for j in 1..1000) for k in 1..1000)",
    "a deep chain": ONES,
    "a deep chain of arrays": TWOS,
}  # fmt: skip


@pytest.mark.parametrize("title", BOMBS)
def test_too_many_replicas_are_refused(title: str) -> None:
    with pytest.raises(ModelError) as e:
        parse(BOMBS[title])
    assert {d.code for d in e.value.diagnostics} == {"E0431"}


def test_a_model_of_some_size_passes() -> None:
    model = parse("component c { place p = 1 timed t : p -> p ~ exp(rate = 1/s) } use c w[i in 1..500]")
    assert len(model.net.transitions) == 500 < MAX_STATEMENTS


if __name__ == "__main__":
    (GOLDEN / "components.txt").write_text("".join(f"//// {t}\n{answer(m)}" for t, m in WRONG.items()), encoding="utf-8")
