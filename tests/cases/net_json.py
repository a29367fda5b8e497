"""Nets of the shared cases (net.json) made with the builder. A format of the tests only, not of the product."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from spn.dist.families import Beta, Erlang, Gamma, HyperExponential, Lognormal, Pareto, Triangular, Uniform, Weibull
from spn.dist.law import Law
from spn.expr.nodes import Binary, BinaryOp, Function, Node, Number, Operand, as_node, call, tokens
from spn.net.builder import NetBuilder
from spn.net.model import Net

MEMORY = {"enabling": "restart", "age": "resume", "identical": "repeat"}
ARITHMETIC = {ast.Add: BinaryOp.ADD, ast.Sub: BinaryOp.SUB, ast.Mult: BinaryOp.MUL, ast.Div: BinaryOp.DIV}
COMPARISON = {
    ast.Eq: BinaryOp.EQ,
    ast.NotEq: BinaryOp.NE,
    ast.Lt: BinaryOp.LT,
    ast.LtE: BinaryOp.LE,
    ast.Gt: BinaryOp.GT,
    ast.GtE: BinaryOp.GE,
}


def load(folder: Path) -> tuple[Net, dict[str, Any]]:
    """The net of a case and what is expected of it."""
    expected = json.loads((folder / "expected.json").read_text())["expected"]
    return net(json.loads((folder / "net.json").read_text())), expected


def expression(text: str | float) -> Node:
    """An expression over bare place names."""
    return _node(ast.parse(str(text), mode="eval").body)


def _node(n: ast.expr) -> Node:
    match n:
        case ast.Constant(value=v):
            return Number(Fraction(repr(v)))
        case ast.Name(id=name):
            return tokens(name)
        case ast.BinOp(left=a, op=op, right=b):
            return Binary(ARITHMETIC[type(op)], _node(a), _node(b))
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -_node(a)
        case ast.Compare(left=a, ops=[op], comparators=[b]):
            return Binary(COMPARISON[type(op)], _node(a), _node(b))
        case ast.BoolOp(op=op, values=values):
            whole = _node(values[0])
            for v in values[1:]:
                whole = Binary(BinaryOp.AND if isinstance(op, ast.And) else BinaryOp.OR, whole, _node(v))
            return whole
        case ast.Call(func=ast.Name(id=name), args=args):
            return call(Function(name), *(_node(a) for a in args))
    raise ValueError(ast.dump(n))


def net(data: dict[str, Any]) -> Net:
    b = NetBuilder(data["name"])
    for p in data["places"]:
        b.place(p["id"], p["tokens"])
    for t in data["transitions"]:
        _transition(b, t, data["arcs"])
    return b.build()


def _transition(b: NetBuilder, t: dict[str, Any], arcs: list[dict[str, Any]]) -> None:
    name = t["id"]
    common: dict[str, Any] = {
        "inputs": _merged((a["from"], a["weight"]) for a in arcs if a["to"] == name and a["kind"] == "normal"),
        "outputs": _merged((a["to"], a["weight"]) for a in arcs if a["from"] == name),
        "inhibitors": _merged((a["from"], a["weight"]) for a in arcs if a["to"] == name and a["kind"] == "inhibitor"),
        "when": None if t.get("guard") is None else expression(t["guard"]),
    }
    if t["timing"] == "immediate":
        b.immediate(name, **common, weight=expression(t.get("weight", 1)), priority=int(t.get("priority", 1)))
        return
    common["servers"] = t.get("servers", 1)
    common["memory"] = MEMORY[t.get("memory", "enabling")]
    if t["timing"] == "exponential":
        b.timed(name, **common, rate=expression(t["rate"]))
    else:
        b.timed(name, **common, law=Fraction(t["delay"]) if t["timing"] == "deterministic" else law(t["distribution"]))


def _merged(arcs: Any) -> dict[str, Operand]:
    found: dict[str, Operand] = {}
    for place, weight in arcs:
        found[place] = as_node(found[place]) + expression(weight) if place in found else expression(weight)
    return found


def law(d: dict[str, Any]) -> Law:
    match d["family"]:
        case "uniform":
            return Uniform(low=d["a"], high=d["b"])
        case "weibull":
            return Weibull(shape=d["shape"], scale=d["scale"])
        case "lognormal":
            return Lognormal(mu=d["mu"], sigma=d["sigma"])
        case "gamma":
            return Gamma(shape=d["shape"], scale=d["scale"])
        case "triangular":
            return Triangular(low=d["a"], mode=d["c"], high=d["b"])
        case "pareto":
            return Pareto(alpha=d["alpha"], scale=d["scale"])
        case "hyperexponential":
            return HyperExponential(probs=tuple(d["probs"]), rates=tuple(d["rates"]))
        case "beta":
            return Beta(alpha=d["alpha"], beta=d["beta"], low=0, high=1)
        case "erlang":
            return Erlang(k=d["k"], rate=d["rate"])
    raise ValueError(d["family"])
