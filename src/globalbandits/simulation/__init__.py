"""Simulation: policies play environments in a compiled loop; results, sweeps and figures."""

from globalbandits.simulation.checkpoints import checkpoint_times
from globalbandits.simulation.joining import concat
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.simulate import simulate
from globalbandits.simulation.stepping import Watch, watch
from globalbandits.simulation.sweeps import SweepResult, sweep

__all__ = [
    "SimulationResult",
    "SweepResult",
    "Watch",
    "checkpoint_times",
    "concat",
    "simulate",
    "sweep",
    "watch",
]
