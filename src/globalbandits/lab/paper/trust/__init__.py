"""Intervals, alarms and refutations in the paper's worlds, and their error rates."""

from globalbandits.lab.paper.trust.section import N_SIMULATIONS, run

__all__ = ["N_SIMULATIONS", "run"]
