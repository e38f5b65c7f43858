"""Proof that a formula is monotone: its slope is enclosed on ever smaller cells."""

from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.expressions.enclosures import enclose_steps
from globalbandits.model.expressions.tape import Builder, Tape

_N_CELLS = 16  # per arm, at the start
_N_HALVINGS = 36
_MAX_CELLS = 100_000  # in one round, over all arms
_TIP_FLOATS = 16  # width of the cells at the ends of the domain, in spacings of floats


def undecided_width(
    mean: Tape, slope: Tape, arms: tuple[Any, ...], domain: tuple[float, float]
) -> float:
    """The widest interval of theta on which an arm is not proved monotone; 0 if there is none.

    A cell is decided if the slope's enclosure has one sign there and the mean's enclosure is
    finite. The mean matters because on both sides of a pole the slope has the same sign.

    The result is infinite if too many cells stay open. A slope that is proved positive in one
    place and negative in another is an error.
    """
    builder = Builder()
    places = [builder.append(slope), builder.append(mean)]
    values = np.array(arms if mean.uses("arm") else [0.0], dtype=float)
    tip = _TIP_FLOATS * float(np.spacing(max(abs(domain[0]), abs(domain[1]))))
    edges = np.linspace(*domain, _N_CELLS + 1)
    edges = np.concatenate(
        [edges[:1], [edges[0] + tip], edges[1:-1], [edges[-1] - tip], edges[-1:]]
    )
    n_cells = edges.size - 1
    arm = np.repeat(np.arange(values.size), n_cells)
    low, high = np.tile(edges[:-1], values.size), np.tile(edges[1:], values.size)
    rises, falls = np.full(values.size, np.nan), np.full(values.size, np.nan)
    narrow_cells: list[tuple[Any, FloatArray, FloatArray]] = []
    for halving in range(_N_HALVINGS + 1):
        point = values[arm]
        cells = {"theta": (low, high), "arm": (point, point)}
        pairs = enclose_steps(builder.steps, cells, places)
        (least, most), (lowest, highest) = (np.broadcast_arrays(*pair, arm)[:2] for pair in pairs)
        rises[arm[least > 0.0]] = 0.5 * (low + high)[least > 0.0]
        falls[arm[most < 0.0]] = 0.5 * (low + high)[most < 0.0]
        _refuse_both(rises, falls, arms)
        sure = (least > 0.0) | (most < 0.0)
        if slope.smooth:
            # A smooth function whose slope is nowhere negative is flat at single points only.
            sure |= ((least >= 0.0) & (most > 0.0)) | ((most <= 0.0) & (least < 0.0))
        narrow = high - low <= 1.5 * tip
        # A kinked function may be flat on a tip, which is too narrow to matter. Demand that
        # ends exactly at the end of the domain is an example.
        is_tip = narrow & ((low == domain[0]) | (high == domain[1]))
        sure |= is_tip & ((least >= 0.0) | (most <= 0.0))
        sure &= np.isfinite(lowest) & np.isfinite(highest)
        stuck = narrow & ~sure
        if stuck.any():
            narrow_cells.append((arm[stuck], low[stuck], high[stuck]))
        rest = ~(sure | narrow)
        arm, low, high = arm[rest], low[rest], high[rest]
        if arm.size > _MAX_CELLS:
            return np.inf
        if arm.size == 0:
            break
        if halving < _N_HALVINGS:
            middle = 0.5 * (low + high)
            arm = np.repeat(arm, 2)
            low, high = (
                np.column_stack([low, middle]).ravel(),
                np.column_stack([middle, high]).ravel(),
            )
    open_cells = zip((arm, low, high), *narrow_cells, strict=True)
    arm, low, high = (np.concatenate(part) for part in open_cells)
    return _widest_run(arm, low, high) if arm.size else 0.0


def _refuse_both(rises: FloatArray, falls: FloatArray, arms: tuple[Any, ...]) -> None:
    both = np.flatnonzero(np.isfinite(rises) & np.isfinite(falls))
    if both.size:
        arm = int(both[0])
        raise ModelError(
            f"mean of arm {arms[arm]!r} must be strictly monotone in theta, rises at "
            f"theta = {rises[arm]:.6g} and falls at {falls[arm]:.6g}"
        )


def _widest_run(arm: Any, low: FloatArray, high: FloatArray) -> float:
    """The width of the longest row of adjacent cells of one arm."""
    order = np.lexsort((low, arm))
    arm, low, high = arm[order], low[order], high[order]
    apart = np.append(True, (arm[1:] != arm[:-1]) | (low[1:] > high[:-1]))
    starts = np.flatnonzero(apart)
    ends = np.append(starts[1:], arm.size) - 1
    return float((high[ends] - low[starts]).max())
