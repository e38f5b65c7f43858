"""Sweeps: a spec describes a grid of simulations, and a folder stores their results."""

from globalbandits.simulation.sweeps.result import SweepResult
from globalbandits.simulation.sweeps.sweep import sweep

__all__ = ["SweepResult", "sweep"]
