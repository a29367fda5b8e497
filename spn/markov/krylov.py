"""Stationary vectors of large chains: Gauss-Seidel to begin with, then Krylov methods preconditioned by incomplete factors.

The unknowns are the flows through the states (probability times exit rate), so that the equations of a stiff chain are of one size. The
equation of the state with the largest flow is replaced by flow = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spn.markov import kernels
from spn.markov.balance import imbalance
from spn.markov.direct import flow_matrix, probabilities
from spn.reach.space import Floats, Ints, Rates

ROUNDS = 4  # of sweeps and Krylov steps, each with more of both than the last
SWEEPS = 10  # of Gauss-Seidel in each direction, in the first round; four times as many in each further one
PRODUCTS = 120  # matrix products in the first round; twice as many in each further one
SPACE = 4  # s of IDR(s)
STALLED = 0.5  # of the last round's error: an error still larger than that is not worth another round
GOAL = 1e-3  # of the tolerance; the residual bounds the error only up to the condition of the chain


@dataclass(frozen=True, slots=True)
class System:
    """I - P^T pinned at one state (compressed rows), its incomplete factors, and the jump matrix P^T itself."""

    indptr: Ints
    columns: Ints
    values: Floats
    factors: Floats
    diagonal: Ints
    right: Floats


def smooth(rates: Rates, flow: Floats, sweeps: int) -> Floats:
    """Symmetric Gauss-Seidel sweeps on the flows, in both directions because one alone may never converge on a ring."""
    jumps = _jumps(rates)
    x = flow.copy()
    for _ in range(sweeps):
        for backward in (False, True):
            kernels.gauss_seidel(jumps.indptr, jumps.indices, jumps.data, x, backward)
            x /= x.max()
    return x


def _jumps(rates: Rates) -> Any:
    """P^T in compressed rows."""
    from scipy.sparse import csr_array

    sources = rates.sources()
    p = csr_array((rates.values / rates.exits()[sources], rates.columns, rates.indptr), shape=(rates.n, rates.n))
    transposed = p.T.tocsr()
    transposed.sort_indices()
    return transposed


def system(rates: Rates, pinned: int) -> System:
    """Raises ZeroDivisionError where a pivot of the incomplete factors is 0."""
    matrix = flow_matrix(rates, pinned).tocsr()
    matrix.sort_indices()
    indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    rows = np.repeat(np.arange(rates.n), np.diff(indptr))
    diagonal = np.flatnonzero(rows == columns)
    factors = matrix.data.copy()
    if not kernels.incomplete_lu(indptr, columns, factors, diagonal):
        raise ZeroDivisionError("a pivot of the incomplete factors is 0")
    right = np.zeros(rates.n)
    right[pinned] = 1.0
    return System(indptr, columns, matrix.data, factors, diagonal, right)


def _pin(rates: Rates, flow: Floats, sweeps: int) -> tuple[System, Floats]:
    """Smoothed flows, relative to the largest, and the system pinned at its state."""
    smoothed = smooth(rates, flow, sweeps)
    pinned = int(np.argmax(smoothed))
    return system(rates, pinned), smoothed / smoothed[pinned]


def by_idr(rates: Rates, tolerance: float) -> Floats:
    """IDR(4) with ILU(0) in rounds. An improbable state pinned makes the system ill-conditioned, and which state is probable is not known
    before: so each round sweeps on from the best flows so far, pins their largest, and runs longer than the last."""
    rng = np.random.default_rng(1)
    best, least = np.ones(rates.n), np.inf
    for k in range(ROUNDS):
        before = least
        sys, swept = _pin(rates, best, SWEEPS * 4**k)
        for flow in (swept, _idr(rates, sys, swept, tolerance, PRODUCTS * 2**k, rng)):
            error = imbalance(rates, flow / rates.exits())
            if error < least:
                best, least = flow, error
        if least <= 10 * GOAL * tolerance or (k > 1 and least > STALLED * before):
            break
    return probabilities(rates, best)


def _idr(rates: Rates, sys: System, start: Floats, tolerance: float, most: int, rng: np.random.Generator) -> Floats:
    """The flows that IDR makes of ``start``, swept once more; a vector of nan where it breaks down."""
    shadow = np.linalg.qr(rng.standard_normal((rates.n, SPACE)))[0].T.copy()
    flow = start.copy()
    goal = GOAL * tolerance * float(np.sqrt(flow @ flow))
    kernels.idr(sys.indptr, sys.columns, sys.values, sys.factors, sys.diagonal, sys.right, flow, shadow, goal, most)
    return smooth(rates, np.maximum(flow, 0.0), 1)


def by_gmres(rates: Rates, tolerance: float) -> Floats:
    """Restarted GMRES(60) with ILU(0) (scipy)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, gmres

    sys, flow = _pin(rates, np.ones(rates.n), 4 * SWEEPS)
    shape = (rates.n, rates.n)

    def precondition(v: Floats) -> Floats:
        x: Floats = np.array(v, dtype=np.float64)
        kernels.lu_solve(sys.indptr, sys.columns, sys.factors, sys.diagonal, x)
        return x

    matrix: Any = csr_array((sys.values, sys.columns, sys.indptr), shape=shape)
    flow, _ = gmres(
        matrix, sys.right, x0=flow, rtol=GOAL * tolerance, atol=0.0, restart=60, maxiter=20, M=LinearOperator(shape, matvec=precondition)
    )
    return probabilities(rates, smooth(rates, np.maximum(flow, 0.0), 1))
