"""Markov chains: stationary vectors, recurrent classes, absorption."""

from spn.markov.longrun import Class, LongRun, long_run
from spn.markov.stationary import Stationary, stationary

__all__ = ["Class", "LongRun", "Stationary", "long_run", "stationary"]
