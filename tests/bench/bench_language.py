"""Times of reading models: python -m tests.bench.bench_language

Instances of one component of 20 transitions, as many components of 20 transitions each, and the same net written out line by line. Each
row doubles the size, so that the last column shows how the time grows (1 is linear). Then what people wait for: formatting, the language
server's answer to a change, the start of a command.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from spn.lang.format import formatted
from spn.lang.parse import parse as parse_text
from spn.loading import parse
from spn.lsp.analysis import analyse
from spn.source import Source

TRANSITIONS = 20
HEAD = "param mu : 1/s = 1/s\nplace a = 1, b\ndist step = exp(rate = mu)\n"
PARAMETERS = "(a : place, b : place, step : dist, k : count, slow : number = 1)"
TURNS = 3


def body(before: str = "", after: str = "") -> str:
    """A ring of places and transitions that all read what surrounds it."""
    lines = []
    for i in range(TRANSITIONS):
        p, q, t = (f"{before}{name}{after}" for name in (f"p{i}", f"p{(i + 1) % TRANSITIONS}", f"t{i}"))
        lines += [f"place {p} = 1", f"timed {t} : {p}, ?2*a, !3*b -> {q} ~ scale(step, 2) when #{p} > 0 and #a < 4 servers inf"]
    return "\n".join(lines)


def instances(n: int) -> str:
    return f"{HEAD}component c{PARAMETERS} {{\n{body()}\n}}\nuse c w[i in 1..{n}](a, b, step, k = i, slow = 2)\n"


def components(n: int) -> str:
    parts = [f"component c{j}{PARAMETERS} {{\n{body()}\n}}\nuse c{j} w{j}(a, b, step, k = 3, slow = 2)\n" for j in range(n)]
    return HEAD + "".join(parts)


def written(n: int) -> str:
    return HEAD + "\n".join(body("`", f" of {j}`") for j in range(n))


def best(work: Callable[[], object]) -> float:
    """The shortest of a few turns, in CPU seconds, since the load of a shared machine only ever slows one down."""
    found = math.inf
    for _ in range(TURNS):
        began = time.process_time()
        work()
        found = min(found, time.process_time() - began)
    return found


def best_of_process(arguments: list[str]) -> float:
    """The shortest CPU time of a whole command, start-up included."""
    found = math.inf
    for _ in range(TURNS):
        before = os.times()
        subprocess.run([sys.executable, "-m", "spn.cli", *arguments], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        found = min(found, after.children_user + after.children_system - before.children_user - before.children_system)
    return found


def main() -> None:
    parse("place a")
    print("| model | transitions | lines | parse | whole | growth |\n| --- | --- | --- | --- | --- | --- |")
    for make in (instances, components, written):
        last = 0.0
        for n in (16, 32, 64, 128):
            text = make(n)
            reading = best(lambda text=text: parse_text(Source("bench", text)))  # type: ignore[misc]
            whole = best(lambda text=text: parse(text))  # type: ignore[misc]
            growth = f"{math.log2(whole / last):.2f}" if last else ""
            lines = text.count("\n") + 1
            print(f"| {make.__name__} | {n * TRANSITIONS:,} | {lines:,} | {reading:.2f} s | {whole:.2f} s | {growth} |")
            last = whole
    print("\n| what | time |\n| --- | --- |")
    text = instances(4) + "\n" + written(48)
    print(f"| format {text.count(chr(10)):,} lines | {best(lambda: formatted(Source('bench', text))):.2f} s |")
    ring = Path(__file__).parents[2] / "models" / "sgd" / "ring.spn"
    source = Source(str(ring), ring.read_text(encoding="utf-8"))
    print(f"| language server: analyse {ring.name} | {best(lambda: analyse(source, ring.parent)):.3f} s |")
    for arguments in (["--help"], ["check", str(ring)]):
        print(f"| spn {arguments[0]} | {best_of_process(arguments):.2f} s |")


if __name__ == "__main__":
    main()
