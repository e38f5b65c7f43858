"""Sweeps: a spec describes a grid of simulations, and a folder stores their results."""

from globalbandits.simulation.sweeps.sweep import sweep
from globalbandits.simulation.sweeps.sweep_result import SweepResult

__all__ = ["SweepResult", "sweep"]
