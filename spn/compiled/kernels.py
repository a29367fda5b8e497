"""Kernel helpers: evaluate programs, enabling degree, firing, the choice among immediates.

All take addresses of blocks of 64-bit words (``array.ctypes.data``): ``net`` the image of a compiled net, ``m`` a marking (int64 per
place), ``stack`` scratch space of ``CompiledNet.scratch`` words. A negative result is ``WRONG``: in this marking some quantity is negative,
undefined, infinite or not whole; the caller then asks :mod:`spn.net.semantics` for the message.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.compiled import layout
from spn.compiled.layout import (
    A_CONSTANT,
    A_KIND,
    A_PLACE,
    A_PROGRAMS,
    A_SIZE,
    CONSTANTS,
    F_BOUNDED,
    F_DELTA,
    F_ENABLING,
    F_GROUPS_BEGIN,
    F_GROUPS_END,
    F_GUARD,
    F_NEEDS,
    F_PLACE,
    F_PRIORITY,
    F_SERVERS,
    F_SIZE,
    F_WEIGHT,
    FLUSH,
    H_CAPACITY,
    H_DEPTH,
    H_IMMEDIATES,
    H_RECORDS,
    INHIBITOR,
    INPUT,
    LIMIT,
    ONE_INPUT,
    OUTPUT,
    TEST,
    UNBOUNDED,
)
from spn.jit import getf, geti, helper, inlined, kernel, setf, seti

Ints = NDArray[np.int64]
WRONG = -1
MAX_TOKENS = 2**53

CONSTANT = int(layout.Op.CONSTANT)
PLACE = int(layout.Op.PLACE)
ADD = int(layout.Op.ADD)
SUB = int(layout.Op.SUB)
MUL = int(layout.Op.MUL)
DIV = int(layout.Op.DIV)
IDIV = int(layout.Op.IDIV)
MOD = int(layout.Op.MOD)
POW = int(layout.Op.POW)
EQ = int(layout.Op.EQ)
NE = int(layout.Op.NE)
LT = int(layout.Op.LT)
LE = int(layout.Op.LE)
GT = int(layout.Op.GT)
GE = int(layout.Op.GE)
MIN = int(layout.Op.MIN)
MAX = int(layout.Op.MAX)
NEGATE = int(layout.Op.NEGATE)
NOT = int(layout.Op.NOT)
TRUTH = int(layout.Op.TRUTH)
ABS = int(layout.Op.ABS)
FLOOR = int(layout.Op.FLOOR)
CEIL = int(layout.Op.CEIL)
SQRT = int(layout.Op.SQRT)
LN = int(layout.Op.LN)
EXP = int(layout.Op.EXP)
JUMP = int(layout.Op.JUMP)
JUMP_IF_ZERO = int(layout.Op.JUMP_IF_ZERO)


@helper
def _floor(a: float) -> float:
    return float(math.floor(a)) if abs(a) < MAX_TOKENS else a


@helper
def _binary(op: int, a: float, b: float) -> float:
    """``a op b``; nan where undefined."""
    if op == ADD:
        return a + b
    if op == SUB:
        return a - b
    if op == MUL:
        return a * b
    if op == DIV:
        return a / b if b != 0.0 else math.nan
    if op == IDIV:
        return _floor(a / b) if b != 0.0 else math.nan
    if op == MOD:
        return a - b * _floor(a / b) if b != 0.0 else math.nan
    if op == POW:
        if (a == 0.0 and b < 0.0) or (a < 0.0 and b != _floor(b)):
            return math.nan
        return float(a**b)
    if op == EQ:
        return 1.0 if a == b else 0.0
    if op == NE:
        return 1.0 if a != b else 0.0
    if op == LT:
        return 1.0 if a < b else 0.0
    if op == LE:
        return 1.0 if a <= b else 0.0
    if op == GT:
        return 1.0 if a > b else 0.0
    if op == GE:
        return 1.0 if a >= b else 0.0
    if op == MIN:
        return min(a, b)
    return max(a, b)


@helper
def _unary(op: int, a: float) -> float:
    if op == NEGATE:
        return -a
    if op == NOT:
        return 1.0 if a == 0.0 else 0.0
    if op == TRUTH:
        return 1.0 if a != 0.0 else 0.0
    if op == ABS:
        return abs(a)
    if op == FLOOR:
        return _floor(a)
    if op == CEIL:
        return -_floor(-a)
    if op == SQRT:
        return math.sqrt(a) if a >= 0.0 else math.nan
    if op == LN:
        return math.log(a) if a > 0.0 else math.nan
    return math.exp(a)


@helper
def evaluate(net: int, program: int, m: int, stack: int) -> float:
    """The value of the program at word ``program`` in marking ``m``; nan where it is undefined."""
    pc = program + 1
    end = pc + 2 * geti(net, program)
    height = 0
    top = 0.0
    while pc < end:
        op = geti(net, pc)
        if op <= PLACE:
            setf(stack, height, top)
            height += 1
            top = getf(net, pc + 1) if op == CONSTANT else float(geti(m, geti(net, pc + 1)))
        elif op <= MAX:
            height -= 1
            top = _binary(op, getf(stack, height), top)
            if math.isnan(top):
                return math.nan
        elif op <= EXP:
            top = _unary(op, top)
            if math.isnan(top):
                return math.nan
        elif op == JUMP:
            pc += geti(net, pc + 1)
        else:
            zero = top == 0.0
            height -= 1
            top = getf(stack, height)
            if zero:
                pc += geti(net, pc + 1)
        pc += 2
    return top


@inlined
def quantity(net: int, offset: int, m: int, stack: int) -> float:
    """A weight, speed, scale or share: finite and not negative, or nan."""
    program = geti(net, offset + 1)
    if program == 0:
        return getf(net, offset)
    v = evaluate(net, program, m, stack)
    return v if 0.0 <= v < math.inf else math.nan


@inlined
def record(net: int, t: int) -> int:
    """The word offset of a transition's record."""
    return geti(net, H_RECORDS) + t * F_SIZE


@helper
def _read_multiplicity(net: int, group: int, m: int, stack: int) -> int:
    programs = geti(net, group + A_PROGRAMS)
    kind = geti(net, group + A_KIND)
    combined = 0
    for i in range(1, geti(net, programs) + 1):
        v = evaluate(net, geti(net, programs + i), m, stack)
        if not 0.0 <= v <= MAX_TOKENS or v != _floor(v):
            return WRONG
        k = int(v)
        if k == 0:
            continue
        if kind == TEST:
            combined = max(combined, k)
        elif kind == INHIBITOR:
            combined = k if combined == 0 else min(combined, k)
        else:
            combined += k
    return combined


@inlined
def multiplicity(net: int, group: int, m: int, stack: int) -> int:
    """The combined multiplicity of an arc group; 0 means absent in this marking."""
    constant = geti(net, group + A_CONSTANT)
    if constant >= 0:
        return constant
    return _read_multiplicity(net, group, m, stack)


@inlined
def fire(net: int, t: int, m: int, stack: int) -> int:
    """Fire an enabled transition in place. Everything is read before anything changes."""
    r = record(net, t)
    delta = geti(net, r + F_DELTA)
    if delta != 0:
        for i in range(delta + 1, delta + 1 + geti(net, delta), 2):
            p = geti(net, i)
            seti(m, p, geti(m, p) + geti(net, i + 1))
        return 0
    return _fire_read(net, r, m, stack)


@helper
def _fire_read(net: int, r: int, m: int, stack: int) -> int:
    begin = geti(net, r + F_GROUPS_BEGIN)
    end = geti(net, r + F_GROUPS_END)
    read = geti(net, H_DEPTH)
    for g in range(begin, end, A_SIZE):
        kind = geti(net, g + A_KIND)
        if kind in (INPUT, OUTPUT):
            k = multiplicity(net, g, m, stack)
            if k < 0:
                return WRONG
            seti(stack, read, k)
            read += 1
    read = geti(net, H_DEPTH)
    for g in range(begin, end, A_SIZE):
        kind = geti(net, g + A_KIND)
        p = geti(net, g + A_PLACE)
        if kind == INPUT:
            seti(m, p, geti(m, p) - geti(stack, read))
            read += 1
        elif kind == FLUSH:
            seti(m, p, 0)
        elif kind == OUTPUT:
            after = geti(m, p) + geti(stack, read)
            if after > MAX_TOKENS:
                return WRONG
            seti(m, p, after)
            read += 1
    return 0


@helper
def _left_after_removal(net: int, r: int, p: int, m: int, stack: int) -> int:
    """Tokens left in place ``p`` once the inputs and flushes of a transition have taken theirs."""
    left = geti(m, p)
    for g in range(geti(net, r + F_GROUPS_BEGIN), geti(net, r + F_GROUPS_END), A_SIZE):
        if geti(net, g + A_PLACE) == p:
            kind = geti(net, g + A_KIND)
            if kind == INPUT:
                left -= multiplicity(net, g, m, stack)
            elif kind == FLUSH:
                left = 0
    return left


@helper
def fits(net: int, r: int, m: int, stack: int) -> int:
    """1 where a firing respects all capacities, 0 where not, or WRONG."""
    fitting = 1
    for g in range(geti(net, r + F_GROUPS_BEGIN), geti(net, r + F_GROUPS_END), A_SIZE):
        if geti(net, g + A_KIND) == OUTPUT:
            k = multiplicity(net, g, m, stack)
            if k < 0:
                return WRONG
            p = geti(net, g + A_PLACE)
            if _left_after_removal(net, r, p, m, stack) + k > geti(net, geti(net, H_CAPACITY) + p):
                fitting = 0
    return fitting


@inlined
def bounded(conditions: int, m: int) -> int:
    """The enabling degree by inputs and bounds with constants alone."""
    inputs = geti(conditions, 0)
    d = UNBOUNDED if inputs > 0 else 1
    for i in range(1, 1 + 2 * inputs, 2):
        tokens = geti(m, geti(conditions, i))
        needs = geti(conditions, i + 1)
        if tokens < needs:  # (an exit from the loop also keeps the compiler from making vectors of two or three numbers)
            return 0
        if needs > 1:
            tokens = tokens // needs
        d = min(d, tokens)
    bounds = conditions + 8 * (1 + 2 * inputs)
    for i in range(1, 1 + 3 * geti(bounds, 0), 3):
        tokens = geti(m, geti(bounds, i))
        if tokens < geti(bounds, i + 1) or tokens > geti(bounds, i + 2):
            return 0
    return d


@inlined
def degree(net: int, t: int, m: int, stack: int) -> int:
    """The enabling degree, 0 where disabled, WRONG where it is undefined."""
    r = record(net, t)
    kind = geti(net, r + F_ENABLING)
    if kind == ONE_INPUT:
        d = geti(m, geti(net, r + F_PLACE))
        needs = geti(net, r + F_NEEDS)
        return d if needs == 1 else d // needs
    if kind == CONSTANTS:
        return bounded(net + 8 * geti(net, r + F_NEEDS), m)
    return general_degree(net, r, m, stack)


@helper
def general_degree(net: int, r: int, m: int, stack: int) -> int:
    """The degree of the transition with record ``r`` by reading all that it depends on."""
    guard = geti(net, r + F_GUARD)
    if guard != 0:
        v = evaluate(net, guard, m, stack)
        if math.isnan(v):
            return WRONG
        if v == 0.0:
            return 0
    d = UNBOUNDED
    for g in range(geti(net, r + F_GROUPS_BEGIN), geti(net, r + F_GROUPS_END), A_SIZE):
        kind = geti(net, g + A_KIND)
        if kind >= FLUSH:
            break
        k = geti(net, g + A_CONSTANT)
        if k < 0:
            k = _read_multiplicity(net, g, m, stack)
            if k < 0:
                return WRONG
        n = geti(m, geti(net, g + A_PLACE))
        if kind == INPUT:
            if k > 0:
                if n < k:
                    return 0
                d = min(d, n if k == 1 else n // k)
        elif kind == TEST:
            if n < k:
                return 0
        elif n >= k and (k > 0 or kind == LIMIT):
            return 0
    if geti(net, r + F_BOUNDED) != 0:
        fitting = fits(net, r, m, stack)
        if fitting <= 0:
            return fitting
    return 1 if d == UNBOUNDED else d


@inlined
def clocks(net: int, t: int, m: int, stack: int) -> int:
    """Running clocks of a timed transition in a tangible marking: min(servers, degree)."""
    d = degree(net, t, m, stack)
    servers = geti(net, record(net, t) + F_SERVERS)
    return d if servers < 0 else min(d, servers)


@helper
def choices(net: int, m: int, stack: int, out: int) -> int:
    """The immediates that may fire, in the order of the net: their number, 0 in a tangible marking.

    Writes pairs of words (transition, weight as a double) to ``out`` (room for all immediates). Only those of the highest priority
    enabled and of positive weight; WRONG where all weights are 0."""
    order = geti(net, H_IMMEDIATES)
    found = 0
    rank = 0
    for i in range(order + 1, order + 1 + geti(net, order)):
        t = geti(net, i)
        priority = geti(net, record(net, t) + F_PRIORITY)
        if found > 0 and priority < rank:
            break
        d = degree(net, t, m, stack)
        if d < 0:
            return WRONG
        if d > 0:
            rank = priority
            seti(out, 2 * found, t)
            found += 1
    return weigh(net, m, stack, out, found)


@helper
def weigh(net: int, m: int, stack: int, out: int, found: int) -> int:
    """Keep of the ``found`` candidates in ``out`` those of positive weight, with their weights."""
    kept = 0
    for i in range(found):
        t = geti(out, 2 * i)
        w = quantity(net, record(net, t) + F_WEIGHT, m, stack)
        if math.isnan(w):
            return WRONG
        if w > 0.0:
            seti(out, 2 * kept, t)
            setf(out, 2 * kept + 1, w)
            kept += 1
    return WRONG if found > 0 and kept == 0 else kept


@helper
def by_weight(out: int, kept: int, u: float) -> int:
    """The one of the candidates left by :func:`weigh` in whose share of the weights ``u``, uniform on [0, 1), falls."""
    total = 0.0
    for i in range(kept):
        total += getf(out, 2 * i + 1)
    reached = 0.0
    for i in range(kept):
        reached += getf(out, 2 * i + 1)
        if u * total < reached:
            return geti(out, 2 * i)
    return geti(out, 2 * (kept - 1))


# --- entry points that take arrays: for host code and tests -------------------------------------------------------------------


@kernel
def evaluate_at(image: Ints, program: int, marking: Ints, scratch: Ints) -> float:
    return evaluate(image.ctypes.data, program, marking.ctypes.data, scratch.ctypes.data)


@kernel
def degree_at(image: Ints, t: int, marking: Ints, scratch: Ints) -> int:
    return degree(image.ctypes.data, t, marking.ctypes.data, scratch.ctypes.data)


@kernel
def fire_at(image: Ints, t: int, marking: Ints, scratch: Ints) -> int:
    return fire(image.ctypes.data, t, marking.ctypes.data, scratch.ctypes.data)


@kernel
def choices_at(image: Ints, marking: Ints, scratch: Ints, out: Ints) -> int:
    return choices(image.ctypes.data, marking.ctypes.data, scratch.ctypes.data, out.ctypes.data)
