"""Checkpoints: the time steps at which results are recorded."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer, as_list, require
from globalbandits.errors import SimulationError

SPACINGS = ("linear", "log")
MAX_HORIZON = 2**40  # time steps; they take half a day at full speed
MAX_RUNS = 2**31
MAX_CHECKPOINTS = 10**6  # products with horizons fit 64-bit integers


def checkpoint_times(
    horizon: int, checkpoints: "int | Sequence[int]" = 200, spacing: str = "linear"
) -> IntArray:
    """Time steps at which results are recorded, in increasing order.

    Args:
        horizon: the last time step.
        checkpoints: the time steps; or their maximum number, up to a million. With a number, the
            last checkpoint is the horizon.
        spacing: "linear" or "log"; applies to a number of checkpoints.

    >>> checkpoint_times(1000, 4).tolist()
    [250, 500, 750, 1000]
    >>> checkpoint_times(1000, 4, "log").tolist()
    [1, 10, 100, 1000]
    >>> checkpoint_times(1000, [5, 700]).tolist()
    [5, 700]
    """
    known = isinstance(spacing, str) and spacing in SPACINGS
    require(known, "spacing", "be 'linear' or 'log'", spacing, SimulationError)
    if isinstance(checkpoints, Iterable):
        rule = "be a number of times or a list of time steps"
        steps = as_list("checkpoints", checkpoints, rule, SimulationError)
        times = [as_integer("checkpoints", time, 1, SimulationError) for time in steps]
        rising = len(times) > 0 and all(a < b for a, b in pairwise(times))
        require(rising, "checkpoints", "be increasing time steps", checkpoints, SimulationError)
        rule = f"end by the horizon {horizon}"
        require(times[-1] <= horizon, "checkpoints", rule, times[-1], SimulationError)
        return np.array(times, np.int64)
    number = as_integer("checkpoints", checkpoints, 1, SimulationError, maximum=MAX_CHECKPOINTS)
    if number >= horizon:
        return np.arange(1, horizon + 1)
    if spacing == "linear":
        # Integer arithmetic spaces the times evenly if the number divides the horizon.
        return np.arange(1, number + 1) * horizon // number
    spaced = np.rint(np.exp(np.linspace(0.0, np.log(horizon), number))).astype(np.int64)
    spaced[-1] = horizon  # rounding may give another number
    return np.unique(spaced)
