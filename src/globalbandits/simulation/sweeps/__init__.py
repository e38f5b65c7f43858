"""Experiments as files: a spec, the tasks of its sweep, and a folder that survives crashes."""

from globalbandits.simulation.sweeps.result import SweepResult
from globalbandits.simulation.sweeps.sweep import sweep

__all__ = ["SweepResult", "sweep"]
