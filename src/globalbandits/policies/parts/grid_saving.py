"""The check of a saved posterior on a grid."""

import math

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.policies.parts.grid import (
    MIN_REST,
    WINDOW_NATS,
    Setup,
    State,
    exponentiate,
    largest_log,
)
from globalbandits.statistics import Statistics

# Rounding of a sum of many terms, relative to the sum of their sizes.
_TOLERANCE = 1e-6


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Derive the weights; False if the other fields cannot be those of the statistics."""
    first, last = state.window.tolist()
    if not 0 <= first <= last < state.logs.shape[0] or not _are_possible_rests(setup, stats, state):
        return False
    for values in (state.logs, state.weights):
        values[:first] = 0.0
        values[last + 1 :] = 0.0
    exponentiate(state, largest_log(state))
    sums = state.rests if setup.logarithmic else stats.sums
    fresh = setup.log_prior + stats.counts @ setup.constants + sums @ setup.slopes
    terms = (
        np.abs(setup.log_prior)
        + stats.counts @ np.abs(setup.constants)
        + np.abs(sums) @ np.abs(setup.slopes)
    )
    return _is_window(fresh, _TOLERANCE * (1.0 + terms), state)


def _is_window(fresh: FloatArray, slack: FloatArray, state: State) -> bool:
    """Whether the window holds the cells near the largest log-likelihood, with its values."""
    first, last = state.window.tolist()
    within = slice(first, last + 1)
    edge = float(fresh[within].max()) - WINDOW_NATS
    ends = [cell for cell in (first - 1, last + 1) if 0 <= cell < len(fresh)]
    return (
        bool(np.all(np.abs(state.logs - fresh)[within] <= slack[within]))
        and all(fresh[cell] >= edge - slack[cell] for cell in (first, last))
        and all(fresh[cell] <= edge + slack[cell] for cell in ends)
    )


def _are_possible_rests(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether sums of log(1 - x) are possible: by Jensen's inequality N log(1 - mean) at most."""
    if not setup.logarithmic:
        return not np.any(state.rests)
    left = 1.0 - stats.sums / np.maximum(stats.counts, 1)
    most = stats.counts * np.log(np.clip(left, MIN_REST, 1.0))
    least = stats.counts * math.log(MIN_REST)
    slack = _TOLERANCE * np.abs(least)
    return bool(np.all((state.rests <= most + slack) & (state.rests >= least - slack)))
