"""Random replicated models as texts, whole or broken at random."""

from __future__ import annotations

import random

BREAKS = ("", "parameter", "arc", "measure", "guard", "tokens", "priority", "timed measure", "passage", "ring", "pairs")


def text(seed: int) -> str:
    """A model with 2 to 4 replicas of 2 to 3 places that share places, rates, guards, a barrier, a link; perhaps with something that tells
    one replica from the others."""
    r = random.Random(seed)
    n, k = r.randint(2, 4), r.randint(2, 3)
    if k == 3 and n == 4:
        n = 3
    broken = r.choice(BREAKS) if r.random() < 0.7 else ""
    return "\n".join(["units none", *_component(r, k, n, broken), *_outside(r, k, n, broken), *_measures(r, n, broken)])


def _rate(r: random.Random, n: int, local: bool) -> str:
    base = f"{r.randint(1, 9)}/{r.randint(1, 4)}"
    if not local and r.random() < 0.4:
        return f"{base} * (1 + sum(#w[j].p0 for j in 1..{n}))"
    if not local and r.random() < 0.3:
        return f"{base} * max(1, min(2, sum(#w[j].p1 for j in 1..{n})))"
    return f"{'slow' if local else 'other'} * {base}" if r.random() < 0.5 else f"{base} * (1 + #pool)"


def _component(r: random.Random, k: int, n: int, broken: str) -> list[str]:
    lines = ["place pool = 1, done", "link line(capacity = 2)", "param other : number = 1"]
    lines.append("component worker(pool : place, line : link, slow : number = 1, start : count = 1, urgent : count = 1) {")
    lines.append("  place p0 = start")
    lines += [f"  place p{i}" for i in range(1, k)]
    law = "erlang(2, rate = slow * 2)" if r.random() < 0.15 else f"exp(rate = {_rate(r, n, True)})"
    lines.append(f"  timed step0 : p0 -> p1 ~ {law}  servers 1")
    for i in range(1, k):
        target = f"p{(i + 1) % k}"
        form = r.randrange(5)
        if form == 0 and i == k - 1:
            lines.append(f"  immediate step{i} : pool, p{i} -> pool, {target} priority urgent weight {r.randint(1, 3)}")
            lines.append(f"  timed slip{i} : p{i} -> {target} ~ exp(rate = {r.randint(1, 3)})")
        elif form == 1:
            lines.append(f"  timed step{i} : pool, p{i} -> pool, {target} ~ exp(rate = {_rate(r, n, True)})")
        elif form == 2:
            lines.append(f"  timed step{i} : p{i} -> {target} ~ exp(rate = {r.randint(1, 3)}) over line")
        else:
            servers = r.choice(["servers 1", "servers inf"])
            lines.append(f"  timed step{i} : p{i} -> {target} ~ exp(rate = {_rate(r, n, True)}) {servers}")
    if r.random() < 0.4:
        lines.append(f"  timed back : p1, !2*pool -> p0 ~ exp(rate = {r.randint(1, 3)})")
    lines.append("}")
    special = {"parameter": "slow = if(i == 2, 3, 1)", "tokens": "start = if(i == 1, 2, 1)", "priority": "urgent = if(i == 1, 2, 1)"}.get(
        broken
    )
    lines.append(f"use worker w[i in 1..{n}](pool, line{', ' + special if special else ''})")
    return lines


def _outside(r: random.Random, k: int, n: int, broken: str) -> list[str]:
    lines = [f"timed lend : pool -> done ~ exp(rate = {r.randint(1, 3)}) when any(#w[i].p0 == 0 for i in 1..{n})"]
    lines.append(f"timed give : done -> pool ~ exp(rate = {_rate(r, n, False)})")
    if r.random() < 0.4:
        kind = "immediate all_go : " if r.random() < 0.3 else "timed all_go : "
        law = "" if kind.startswith("imm") else f" ~ exp(rate = {r.randint(1, 3)})"
        lines.append(f"{kind} w[*].p1 -> w[*].p0{law}")
    if r.random() < 0.3:
        lines.append(f"timed extra[i in 1..{n}] : w[i].p1 -> w[i].p0 ~ exp(rate = {_rate(r, n, False)})")
    if broken == "arc":
        lines.append("timed one : w[1].p1 -> w[1].p0 ~ exp(rate = 1/2)")
    if broken == "guard":
        lines.append("timed drain : pool -> done ~ exp(rate = 1) when #w[2].p0 > 0")
    if broken == "ring":
        lines.append(f"timed pass[i in 1..{n}] : w[i].p1, w[i mod {n} + 1].p0 -> w[i].p0, w[i mod {n} + 1].p1 ~ exp(rate = 1/3)")
    if broken == "pairs":
        lines.append(f"timed rare : pool -> done ~ exp(rate = 1 + sum(#w[i].p0 * #w[j].p1 for i in 1..{n}, j in 1..{n}))")
    return lines


def _measures(r: random.Random, n: int, broken: str) -> list[str]:
    lines = [
        f"measure flow = sum(throughput(w[i].step0) for i in 1..{n})",
        "measure pooled = E(#pool)",
        f"measure top = E(max(#w[i].p0 for i in 1..{n}))",
        f"measure rest = P(all(#w[i].p0 > 0 for i in 1..{n}))",
        f"measure used = sum(utilisation(w[i].step0) for i in 1..{n})",
        f"measure busy = sum(E(#w[i].p1) for i in 1..{n})",
        "measure wire = utilisation(line)",
        f"measure soon = E(sum(#w[i].p1 for i in 1..{n})) at 0.7",
        f"measure until = E(time until any(#w[i].p1 > 0 for i in 1..{n}))",
        f"measure mean = E(sum(#w[i].p0 for i in 1..{n}) | give)",
    ]
    lines += {
        "measure": ["measure one = throughput(w[1].step0)"],
        "timed measure": ["measure one = E(#w[2].p0) at 0.3"],
        "passage": [f"measure one = P(time until #w[{n}].p1 > 0 <= 0.4)"],
    }.get(broken, [])
    return lines
