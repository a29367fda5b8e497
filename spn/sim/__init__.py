"""Simulation: the reference trajectory, the kernel that agrees with it draw for draw, and estimates with confidence intervals."""

from spn.sim.run import Path, simulate, trajectory

__all__ = ["Path", "simulate", "trajectory"]
