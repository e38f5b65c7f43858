"""Is a formula monotone: its slope is enclosed on ever smaller cells until its sign is sure."""

from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.expressions.enclosures import enclose
from globalbandits.model.expressions.tape import Tape

_N_CELLS = 16  # per arm, to start with
_N_HALVINGS = 36
_MOST_CELLS = 100_000  # at a time, of all arms


def undecided_width(
    mean: Tape, slope: Tape, arms: tuple[Any, ...], domain: tuple[float, float]
) -> float:
    """The widest stretch of theta on which an arm's slope may have either sign; 0 if there is none.

    Nor may the mean be undefined or without bounds: beside a pole its slope has one sign.
    Infinite where too much stays open to go on. Slopes of both signs, each of them sure, are an
    error. Between smooth functions a slope that is nowhere below 0 is as good as one above.
    """
    values = np.array(arms if mean.uses("arm") else [0.0], dtype=float)
    edges = np.linspace(*domain, _N_CELLS + 1)
    arm = np.repeat(np.arange(values.size), _N_CELLS)
    low, high = np.tile(edges[:-1], values.size), np.tile(edges[1:], values.size)
    rises, falls = np.full(values.size, np.nan), np.full(values.size, np.nan)
    for halving in range(_N_HALVINGS + 1):
        cells = {"theta": (low, high), "arm": (values[arm], values[arm])}
        least, most, lowest, highest = (
            np.broadcast_to(end, arm.shape)
            for end in (*enclose(slope, cells), *enclose(mean, cells))
        )
        sure = (least > 0.0) | (most < 0.0)
        rises[arm[least > 0.0]] = 0.5 * (low + high)[least > 0.0]
        falls[arm[most < 0.0]] = 0.5 * (low + high)[most < 0.0]
        _refuse_both(rises, falls, arms)
        if slope.smooth:
            sure |= ((least >= 0.0) & (most > 0.0)) | ((most <= 0.0) & (least < 0.0))
        sure &= np.isfinite(lowest) & np.isfinite(highest)
        arm, low, high = arm[~sure], low[~sure], high[~sure]
        if arm.size == 0:
            return 0.0
        if arm.size > _MOST_CELLS:
            return np.inf
        if halving < _N_HALVINGS:
            middle = 0.5 * (low + high)
            arm = np.repeat(arm, 2)
            low, high = (
                np.column_stack([low, middle]).ravel(),
                np.column_stack([middle, high]).ravel(),
            )
    return _widest_run(arm, low, high)


def _refuse_both(rises: FloatArray, falls: FloatArray, arms: tuple[Any, ...]) -> None:
    both = np.flatnonzero(np.isfinite(rises) & np.isfinite(falls))
    if both.size:
        arm = int(both[0])
        raise ModelError(
            f"mean of arm {arms[arm]!r} must be strictly monotone in theta, rises at "
            f"theta = {rises[arm]:.6g} and falls at {falls[arm]:.6g}"
        )


def _widest_run(arm: Any, low: FloatArray, high: FloatArray) -> float:
    """The longest row of cells that touch each other."""
    order = np.lexsort((low, arm))
    arm, low, high = arm[order], low[order], high[order]
    apart = np.append(True, (arm[1:] != arm[:-1]) | (low[1:] > high[:-1]))
    starts = np.flatnonzero(apart)
    ends = np.append(starts[1:], arm.size) - 1
    return float((high[ends] - low[starts]).max())
