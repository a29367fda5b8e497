"""Symmetry of replicated nets: which replicas are interchangeable, and smaller nets or markings that stand for all their permutations."""
