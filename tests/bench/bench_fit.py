"""Seconds to fit 100,000 durations with all families, per law that they were drawn from: ``python tests/bench/bench_fit.py``."""

from __future__ import annotations

import time

import numpy as np

from spn.dist.families import Erlang, Exponential, HyperExponential, Lognormal, Weibull
from spn.fitting import fit
from spn.fitting.goodness import draws

LAWS = (
    Exponential(rate=5),
    Erlang(k=4, rate=300),
    Lognormal(mu=-1.7, sigma=0.08),
    Weibull(shape=0.7, scale=2),
    HyperExponential(probs=(0.9, 0.1), rates=(2, 0.2)),
)


def main() -> None:
    for law in LAWS:
        durations = draws(law, 100_000, np.random.default_rng(1))
        begin = time.perf_counter()
        found = fit(durations)
        print(f"{time.perf_counter() - begin:6.2f} s  {law.describe():55s} -> {found.law.describe()}")


if __name__ == "__main__":
    main()
