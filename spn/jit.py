"""The one door to numba: the compiler's decorators, with a cache that sees edits in every kernel file, and access to raw memory.

Import this module inside functions only: it costs about 0.3 s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped,unused-ignore]  # some releases ship no types
from numba.core import types
from numba.extending import intrinsic

from spn import kernel_cache

F = TypeVar("F", bound=Callable[..., Any])

setattr(numba.config, "CACHE_DIR", str(kernel_cache.folder()))  # noqa: B010  # numba makes the attribute at run time: no type knows it


# Without the interpreter's lock, with the cache, and with arithmetic as in C (a division by 0 gives inf or nan).
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_INSIDE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """A function that Python calls."""
    return cast(F, numba.njit(**_OPTIONS)(function))


def summing(function: F) -> F:
    """A kernel whose sums may be taken in any order, so that vector instructions are used; infinities and nan keep their meaning."""
    return cast(F, numba.njit(**_OPTIONS, fastmath={"reassoc", "contract", "nsz"})(function))


def helper(function: F) -> F:
    """A function that only kernels call: without the entries for Python and C, it compiles faster."""
    return cast(F, numba.njit(**_OPTIONS, **_INSIDE)(function))


def inlined(function: F) -> F:
    """A helper that the compiler merges into its callers: for what every event goes through, and calls would spill registers in."""
    return cast(F, numba.njit(**_OPTIONS, **_INSIDE, forceinline=True)(function))


# --- raw memory ------------------------------------------------------------------------------------------------------------
# Passing arrays to helpers inside a kernel costs reference counts and wide structs. Helpers that take the address of a block of
# 64-bit words (``array.ctypes.data``) and read it through these four run as in C. ``index`` counts words. The caller keeps the
# array alive and the index inside it: nothing here checks.


def _word_pointer(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    return builder.gep(builder.inttoptr(base, ir.PointerType(kind)), [index])


def _reader(kind: Any, numba_type: Any) -> Any:
    def typed(typing_context: Any, base: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_word_pointer(builder, arguments[0], arguments[1], kind))

        return numba_type(types.int64, types.int64), generate

    return typed


def _writer(kind: Any, numba_type: Any) -> Any:
    def typed(typing_context: Any, base: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _word_pointer(builder, arguments[0], arguments[1], kind))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, numba_type), generate

    return typed


geti: Callable[[int, int], int] = intrinsic(_reader(ir.IntType(64), types.int64))
getf: Callable[[int, int], float] = intrinsic(_reader(ir.DoubleType(), types.float64))
seti: Callable[[int, int, int], None] = intrinsic(_writer(ir.IntType(64), types.int64))
setf: Callable[[int, int, float], None] = intrinsic(_writer(ir.DoubleType(), types.float64))


def _get32(typing_context: Any, base: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half = builder.load(_word_pointer(builder, arguments[0], arguments[1], ir.IntType(32)))
        return builder.sext(half, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def _set32(typing_context: Any, base: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half = builder.trunc(arguments[2], ir.IntType(32))
        builder.store(half, _word_pointer(builder, arguments[0], arguments[1], ir.IntType(32)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _prefetch(typing_context: Any, address: Any) -> Any:
    """Ask for the cache line of an address, for reading, to be kept in all levels; an address that is not ours does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, flag = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(call, [builder.inttoptr(arguments[0], pointer), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


get32 = cast(Callable[[int, int], int], intrinsic(_get32))  # ``index`` counts words of 32 bits
set32 = cast(Callable[[int, int, int], None], intrinsic(_set32))
prefetch = cast(Callable[[int], None], intrinsic(_prefetch))


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit that is set; the word is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


def _set_bits(typing_context: Any, word: Any) -> Any:
    """The number of bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


set_bits = cast(Callable[[int], int], intrinsic(_set_bits))
trailing_zeros = cast(Callable[[int], int], intrinsic(_trailing_zeros))
