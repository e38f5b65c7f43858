"""Simulation: policies play environments in a compiled loop. Includes results and sweeps."""

from globalbandits._extras import needs_extra

with needs_extra("lab", "numba", "pandas", "rich", "scipy", "xarray"):
    from globalbandits.simulation.checkpoints import checkpoint_times
    from globalbandits.simulation.result import SimulationResult, concat
    from globalbandits.simulation.simulate import simulate
    from globalbandits.simulation.sweeps import SweepResult, sweep
    from globalbandits.simulation.watch import Watch, watch

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
