"""The direct method in plain C (direct.c), where there is a C compiler: what a net of its kind costs there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from spn.compiled import compile_net
from spn.dist.exponential import Exponential
from spn.dist.random import TAIL, tables
from spn.expr.nodes import constant
from spn.net.model import INFINITE, ArcKind, Net, Timed

SOURCE = Path(__file__).with_name("direct.c")


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


def build(folder: str, source: Path = SOURCE) -> Path | None:
    """A program, None without a compiler."""
    cc = compiler()
    if cc is None:
        return None
    program = Path(folder) / source.stem
    subprocess.run([cc, "-O3", "-march=native", "-o", str(program), str(source), "-lm"], check=True)
    return program


def numbers(net: Net, place: str, transition: str, firings: int) -> Iterable[float]:
    """The net as the program reads it. Arcs carry one token."""
    places = {p.name: i for i, p in enumerate(net.places)}
    reach = compile_net(net).dependencies.timed
    names = [t.name for t in net.transitions]
    for table in ((TAIL,), *tables(), (len(places), len(names), places[place], names.index(transition), firings)):
        yield from table
    yield from (p.initial for p in net.places)
    for t, affected in zip(net.transitions, reach, strict=True):
        assert isinstance(t, Timed) and isinstance(t.law, Exponential) and all(constant(a.multiplicity) == 1 for a in t.arcs)
        inputs = [places[a.place] for a in t.arcs if a.kind is ArcKind.INPUT]
        outputs = [places[a.place] for a in t.arcs if a.kind is ArcKind.OUTPUT]
        bounds = [(p, k - 1) for p in outputs if (k := net.places[p].capacity) is not None]
        changes = [(p, by) for p in {*inputs, *outputs} if (by := outputs.count(p) - inputs.count(p))]
        yield from (t.law.rate, 0 if t.servers == INFINITE else t.servers, len(inputs), len(bounds), len(changes), len(affected))
        for items in (inputs, *bounds, *changes, affected):
            yield from items


def turn(program: Path, net: Net, place: str, transition: str, firings: int) -> tuple[float, float, float]:
    """Mean tokens of the place, firings per second of the transition, firings per CPU second."""
    return run(program, " ".join(repr(x) for x in numbers(net, place, transition, firings)))


def run(program: Path, text: str) -> tuple[float, float, float]:
    """What a program prints, given its numbers."""
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    mean, rate, speed = (float(x) for x in done.stdout.split())
    return mean, rate, speed


def best(net: Net, place: str, transition: str, turns: int = 5) -> float | None:
    """Firings per CPU second, None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        return None if program is None else max(turn(program, net, place, transition, 2_000_000)[2] for _ in range(turns))
