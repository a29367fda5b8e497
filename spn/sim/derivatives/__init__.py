"""Derivatives of long-run measures by simulation: likelihood ratios and infinitesimal perturbation analysis."""
