"""The net as flat arrays, and the kernel helpers that mean by them what :mod:`spn.net.semantics` says."""

from spn.compiled.net import CompiledNet, compile_net

__all__ = ["CompiledNet", "compile_net"]
