"""When to write down: evenly, ever more seldom, or as asked for."""

from collections.abc import Sequence

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import SimulationError

SPACINGS = ("linear", "log")


def checkpoint_times(
    horizon: int, checkpoints: "int | Sequence[int]" = 200, spacing: str = "linear"
) -> IntArray:
    """Time steps at which results are recorded, increasing.

    Args:
        horizon: the last time step.
        checkpoints: at most how many, the last one at the horizon; or the time steps themselves.
        spacing: "linear" or "log", for a number of checkpoints.

    >>> checkpoint_times(1000, 4).tolist()
    [250, 500, 750, 1000]
    >>> checkpoint_times(1000, 4, "log").tolist()
    [1, 10, 100, 1000]
    >>> checkpoint_times(1000, [5, 700]).tolist()
    [5, 700]
    """
    require(spacing in SPACINGS, "spacing", "be 'linear' or 'log'", spacing, SimulationError)
    if isinstance(checkpoints, (Sequence, np.ndarray)):
        times = [as_integer("checkpoints", time, 1, SimulationError) for time in checkpoints]
        rising = len(times) > 0 and bool(np.all(np.diff(times) > 0))
        require(rising, "checkpoints", "be increasing time steps", checkpoints, SimulationError)
        rule = f"end by the horizon {horizon}"
        require(times[-1] <= horizon, "checkpoints", rule, times[-1], SimulationError)
        return np.array(times, np.int64)
    number = as_integer("checkpoints", checkpoints, 1, SimulationError)
    if number >= horizon:
        return np.arange(1, horizon + 1)
    if spacing == "linear":
        # In integers, so that times come out even where they can.
        return np.arange(1, number + 1) * horizon // number
    steps = np.linspace(0.0, np.log(horizon), number) if number > 1 else np.log([horizon])
    return np.unique(np.rint(np.exp(steps)).astype(np.int64))
