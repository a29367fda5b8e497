"""Marking expressions as postfix programs for the kernels' one virtual machine.

Programs run in double precision, the reference evaluator in rationals; so that a guard such as ``0.1 * #x == 0.3`` means the same in
both, a program works on *scaled* numbers: every part with rational constants is kept as (whole number) / (constant denominator), and
the denominator is divided out once, at the end, or cancelled in a comparison. Whole numbers below 2**53 are exact in a double, so
the one division gives the correctly rounded value of the exact result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spn.compiled.layout import Op
from spn.expr.evaluate import fold
from spn.expr.nodes import Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, Unary, UnaryOp

EXACT = 2**53  # whole numbers up to here are exact in a double


Instruction = tuple[Op, float]
Code = tuple[Instruction, ...]

_BINARY = {
    BinaryOp.EQ: Op.EQ,
    BinaryOp.NE: Op.NE,
    BinaryOp.LT: Op.LT,
    BinaryOp.LE: Op.LE,
    BinaryOp.GT: Op.GT,
    BinaryOp.GE: Op.GE,
    BinaryOp.ADD: Op.ADD,
    BinaryOp.SUB: Op.SUB,
}
_UNARY = {
    Function.ABS: Op.ABS,
    Function.FLOOR: Op.FLOOR,
    Function.CEIL: Op.CEIL,
    Function.SQRT: Op.SQRT,
    Function.LN: Op.LN,
    Function.EXP: Op.EXP,
}
_PUSHES = frozenset({Op.CONSTANT, Op.PLACE})
_POPS = frozenset(range(Op.ADD, Op.MAX + 1)) | {Op.JUMP_IF_ZERO}


@dataclass(frozen=True, slots=True)
class Scaled:
    """Code whose result, divided by the constant ``over``, is the value."""

    code: Code
    over: int = 1


def program(node: Node, places: Mapping[str, int]) -> Code:
    """The postfix code of an expression; ``places`` gives the index of each place. Its result is the value in double precision, nan where
    the expression is undefined."""
    return _valued(_scaled(fold(node), places))


def depth(code: Code) -> int:
    """The words of stack that a program needs (an upper bound: both branches of a condition are counted)."""
    height = highest = 0
    for op, _ in code:
        height += 1 if op in _PUSHES else -1 if op in _POPS else 0
        highest = max(highest, height)
    return highest


def _push(value: float) -> Code:
    return ((Op.CONSTANT, float(value)),)


def _valued(s: Scaled) -> Code:
    """Code of the value itself."""
    if s.over == 1:
        return s.code
    if len(s.code) == 1 and s.code[0][0] is Op.CONSTANT:
        return _push(s.code[0][1] / s.over)
    return (*s.code, (Op.CONSTANT, float(s.over)), (Op.DIV, 0.0))


def _times(s: Scaled, over: int) -> Code:
    """Code of the value times ``over``, a multiple of the denominator."""
    factor = over // s.over
    if factor == 1:
        return s.code
    if len(s.code) == 1 and s.code[0][0] is Op.CONSTANT:
        return _push(s.code[0][1] * factor)
    return (*s.code, (Op.CONSTANT, float(factor)), (Op.MUL, 0.0))


def _aligned(parts: Sequence[Scaled]) -> tuple[list[Code], int]:
    """The codes of several parts over one common denominator."""
    over = math.lcm(*(s.over for s in parts))
    if over > EXACT:
        return [_valued(s) for s in parts], 1
    return [_times(s, over) for s in parts], over


def _scaled(node: Node, places: Mapping[str, int]) -> Scaled:
    match node:
        case Number(value=v):
            return _number(v)
        case Tokens(place=p):
            return Scaled(((Op.PLACE, float(places[p])),))
        case Unary(op=UnaryOp.NEGATE, operand=x):
            s = _scaled(x, places)
            return Scaled((*s.code, (Op.NEGATE, 0.0)), s.over)
        case Unary(operand=x):
            return Scaled((*_scaled(x, places).code, (Op.NOT, 0.0)))
        case Binary(op=op, left=a, right=b):
            return _binary(op, _scaled(a, places), _scaled(b, places))
        case Conditional(test=c, then=a, otherwise=b):
            (then, otherwise), over = _aligned([_scaled(a, places), _scaled(b, places)])
            return Scaled(_branch(_scaled(c, places).code, then, otherwise), over)
        case Call(function=f, arguments=args):
            return _call(f, [_scaled(a, places) for a in args])
    raise TypeError(f"not a marking expression: {node!r}")


def _number(v: Fraction | float) -> Scaled:
    if isinstance(v, Fraction) and abs(v.numerator) <= EXACT and v.denominator <= EXACT:
        return Scaled(_push(v.numerator), v.denominator)
    return Scaled(_push(float(v)))


def _branch(test: Code, then: Code, otherwise: Code) -> Code:
    return (*test, (Op.JUMP_IF_ZERO, float(len(then) + 1)), *then, (Op.JUMP, float(len(otherwise))), *otherwise)


def _binary(op: BinaryOp, a: Scaled, b: Scaled) -> Scaled:
    match op:
        case BinaryOp.AND:
            return Scaled(_branch(a.code, (*b.code, (Op.TRUTH, 0.0)), _push(0)))
        case BinaryOp.OR:
            return Scaled(_branch(a.code, _push(1), (*b.code, (Op.TRUTH, 0.0))))
        case BinaryOp.MUL:
            return _product(a, b)
        case BinaryOp.DIV:
            return _quotient(a, b)
        case BinaryOp.POW:
            return _power(a, b)
    (left, right), over = _aligned([a, b])
    match op:
        case BinaryOp.IDIV:
            return Scaled((*left, *right, (Op.IDIV, 0.0)))
        case BinaryOp.MOD:
            return Scaled((*left, *right, (Op.MOD, 0.0)), over)
        case BinaryOp.ADD | BinaryOp.SUB:
            return Scaled((*left, *right, (_BINARY[op], 0.0)), over)
    return Scaled((*left, *right, (_BINARY[op], 0.0)))


def _product(a: Scaled, b: Scaled) -> Scaled:
    if a.over * b.over > EXACT:
        return Scaled((*_valued(a), *_valued(b), (Op.MUL, 0.0)))
    return Scaled((*a.code, *b.code, (Op.MUL, 0.0)), a.over * b.over)


def _quotient(a: Scaled, b: Scaled) -> Scaled:
    divisor = b.code[0][1] if len(b.code) == 1 and b.code[0][0] is Op.CONSTANT else 0.0
    if divisor and divisor == int(divisor) and a.over * abs(int(divisor)) <= EXACT and b.over <= EXACT:
        code = (*a.code, *_push(math.copysign(b.over, divisor)), (Op.MUL, 0.0))
        return Scaled(code, a.over * abs(int(divisor)))
    (left, right), _ = _aligned([a, b])
    return Scaled((*left, *right, (Op.DIV, 0.0)))


def _power(a: Scaled, b: Scaled) -> Scaled:
    exponent = b.code[0][1] if len(b.code) == 1 and b.over == 1 and b.code[0][0] is Op.CONSTANT else -1.0
    if 0 <= exponent <= 64 and exponent == int(exponent) and a.over ** int(exponent) <= EXACT:
        return Scaled((*a.code, *b.code, (Op.POW, 0.0)), a.over ** int(exponent))
    return Scaled((*_valued(a), *_valued(b), (Op.POW, 0.0)))


def _call(f: Function, args: Sequence[Scaled]) -> Scaled:
    if f in (Function.MIN, Function.MAX):
        codes, over = _aligned(args)
        code = codes[0]
        for c in codes[1:]:
            code = (*code, *c, (Op.MIN if f is Function.MIN else Op.MAX, 0.0))
        return Scaled(code, over)
    if f is Function.ABS:
        return Scaled((*args[0].code, (Op.ABS, 0.0)), args[0].over)
    return Scaled((*_valued(args[0]), (_UNARY[f], 0.0)))
