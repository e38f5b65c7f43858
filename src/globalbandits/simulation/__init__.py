"""Simulation: policies play environments in a compiled loop. Includes results and sweeps.

Without the extra ``lab`` only the loop itself can be imported (`simulation.play`), and the names of
this package raise a MissingExtraError.
"""

from typing import Any

from globalbandits._extras import needs_extra
from globalbandits.errors import MissingExtraError

try:
    with needs_extra("lab", "numba", "rich", "scipy", "xarray"):
        from globalbandits.simulation.checkpoints import checkpoint_times
        from globalbandits.simulation.result import SimulationResult, concat
        from globalbandits.simulation.simulate import simulate
        from globalbandits.simulation.sweeps import SweepResult, sweep
        from globalbandits.simulation.watch import Watch, watch
except MissingExtraError as error:
    _missing = error

    def __getattr__(name: str) -> Any:
        raise _missing


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
