"""Expressions that are linear in the marking, with exact coefficients."""

from __future__ import annotations

from fractions import Fraction

from spn.expr.nodes import Binary, BinaryOp, Node, Number, Tokens, Unary, UnaryOp

Linear = tuple[dict[str, Fraction], Fraction]  # coefficients of places, constant


def linear(node: Node) -> Linear | None:
    """Coefficients of the places and the constant of an expression that is linear in the marking, else None."""
    match node:
        case Number(value=v):
            return ({}, Fraction(v)) if v - v == 0 else None
        case Tokens(place=place):
            return {place: Fraction(1)}, Fraction(0)
        case Unary(op=UnaryOp.NEGATE, operand=x):
            return scaled(linear(x), Fraction(-1))
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB as op, left=x, right=y):
            return added(linear(x), scaled(linear(y), Fraction(1 if op is BinaryOp.ADD else -1)))
        case Binary(op=BinaryOp.MUL, left=Number(value=v), right=x) | Binary(op=BinaryOp.MUL, left=x, right=Number(value=v)) if v - v == 0:
            return scaled(linear(x), Fraction(v))
        case Binary(op=BinaryOp.DIV, left=x, right=Number(value=v)) if v and v - v == 0:
            return scaled(linear(x), 1 / Fraction(v))
    return None


def scaled(x: Linear | None, factor: Fraction) -> Linear | None:
    return None if x is None else ({p: factor * c for p, c in x[0].items()}, factor * x[1])


def added(x: Linear | None, y: Linear | None) -> Linear | None:
    if x is None or y is None:
        return None
    return {p: x[0].get(p, Fraction(0)) + y[0].get(p, Fraction(0)) for p in {**x[0], **y[0]}}, x[1] + y[1]
