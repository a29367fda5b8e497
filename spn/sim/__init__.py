"""Simulation: the reference trajectory, the kernel that agrees with it draw for draw, and estimates with confidence intervals."""

from spn.sim.run import Path, simulate, trajectory

__all__ = ["Path", "load_kernels", "simulate", "trajectory"]


def load_kernels() -> None:
    """Load the compiled engines now: worth it before many simulations in one process, which then do not start in plain Python."""
    import spn.sim.direct.kernels
    import spn.sim.kernels  # noqa: F401  # importing it is the loading
