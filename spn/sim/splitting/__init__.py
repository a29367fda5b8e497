"""Rare events by multilevel splitting: RESTART on an importance function."""

from spn.sim.splitting.run import splitting

__all__ = ["splitting"]
