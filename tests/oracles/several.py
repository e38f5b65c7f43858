"""A posterior of two numbers by nested quadrature, written for clarity and not for speed.

The outer number has a fine grid, zoomed to the values that matter. For each of its values the
inner number has its own grid, zoomed the same way. The means come from the given function, not
from a table.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Reference(NamedTuple):
    """Moments of the arms' means, and the probability that each arm is best."""

    means: Array
    variances: Array
    best: Array
    point: Array  # posterior mean in unit coordinates
    log_mass: float


def log_likelihood(means: Array, counts: Array, sums: Array) -> Array:
    """The Bernoulli log-likelihood at means of shape (..., n_arms)."""
    m = np.clip(means, 1e-9, 1.0 - 1e-9)
    return np.log(m) @ sums + np.log1p(-m) @ (counts - sums)


def reference(
    mean: Callable[[Array, Array], Array],
    worth: Callable[[Array], Array],
    counts: Array,
    sums: Array,
    *,
    outer: int = 0,
    n: int = 500,
    n_inner: int = 201,
) -> Reference:
    """The posterior under a uniform prior on the unit square.

    Args:
        mean: unit coordinates x and y, arrays of one shape, to means of shape (..., n_arms).
        worth: means of shape (..., n_arms) to worths of that shape.
        counts: rewards of each arm.
        sums: their sums.
        outer: 0 if x is the outer number, 1 for y.
        n: values of the outer number.
        n_inner: values of the inner number in each zoom.
    """
    low, high = 0.0, 1.0
    for _ in range(7):
        a = low + (high - low) * (np.arange(n) + 0.5) / n
        starts, ends = np.zeros(n), np.ones(n)
        logs = b = means = None
        for zoom in range(14):
            q = (np.arange(n_inner) + 0.5) / n_inner
            b = starts[:, None] + (ends - starts)[:, None] * q
            grid_a = np.broadcast_to(a[:, None], b.shape)
            means = mean(grid_a, b) if outer == 0 else mean(b, grid_a)
            logs = log_likelihood(means, counts, sums)
            top = logs.max(axis=1, keepdims=True)
            inside = logs > top - 30.0
            first = inside.argmax(axis=1)
            last = n_inner - 1 - inside[:, ::-1].argmax(axis=1)
            if zoom == 13 or np.all(last - first > 20):
                break
            width = (ends - starts) / n_inner
            starts, ends = (
                np.maximum(starts, starts + (first - 1) * width),
                np.minimum(ends, starts + (last + 2) * width),
            )
        cells = np.log((ends - starts) / n_inner)[:, None]
        marginal = (logs + cells).max(axis=1)
        inside = np.flatnonzero(marginal > marginal.max() - 30.0)
        width = (high - low) / n
        if inside[-1] - inside[0] > n // 4:
            break
        low, high = (
            max(low, low + (inside[0] - 1) * width),
            min(high, low + (inside[-1] + 2) * width),
        )
    logs = logs + cells + np.log((high - low) / n)
    top = logs.max()
    weights = np.exp(logs - top)
    mass = weights.sum()
    weights /= mass
    best = np.argmax(worth(means), axis=-1)
    n_arms = means.shape[-1]
    expected = np.einsum("ab,abk->k", weights, means)
    centred = means - expected
    inner_mean, outer_mean = (weights * b).sum(), (weights * a[:, None]).sum()
    point = (outer_mean, inner_mean) if outer == 0 else (inner_mean, outer_mean)
    return Reference(
        means=expected,
        variances=np.einsum("ab,abk->k", weights, centred * centred),
        best=np.bincount(best.ravel(), weights.ravel(), minlength=n_arms),
        point=np.array(point),
        log_mass=float(top + np.log(mass)),
    )
