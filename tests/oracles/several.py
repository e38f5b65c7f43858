"""A posterior of two numbers by nested quadrature, written for clarity and not for speed.

The first number has a fine grid, zoomed to the values that matter. For each of its values the
second one has its own grid, zoomed the same way. The means come from the given function, not
from a table.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

NATS = 25.0  # what is less likely by so much is left out


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
    n: int = 600,
    n_inner: int = 120,
) -> Reference:
    """The posterior under a uniform prior on the unit square.

    Args:
        mean: unit coordinates x and y, arrays of one shape, to means of shape (..., n_arms).
        worth: means of shape (..., n_arms) to worths of that shape.
        counts: rewards of each arm.
        sums: their sums.
        n: values of x in the end.
        n_inner: values of y for each of them.
    """
    low, high = 0.0, 1.0
    for _ in range(6):
        x = low + (high - low) * (np.arange(100) + 0.5) / 100
        starts, ends = _narrow(mean, counts, sums, x)
        y = starts[:, None] + (ends - starts)[:, None] * (np.arange(40) + 0.5) / 40
        logs = log_likelihood(mean(np.broadcast_to(x[:, None], y.shape), y), counts, sums)
        marginal = (logs + np.log(ends - starts)[:, None]).max(axis=1)
        inside = np.flatnonzero(marginal > marginal.max() - NATS)
        if inside[-1] - inside[0] > 30:
            break
        width = (high - low) / 100
        low, high = (
            max(low, low + (inside[0] - 1) * width),
            min(high, low + (inside[-1] + 2) * width),
        )
    x = low + (high - low) * (np.arange(n) + 0.5) / n
    starts, ends = _narrow(mean, counts, sums, x)
    y = starts[:, None] + (ends - starts)[:, None] * (np.arange(n_inner) + 0.5) / n_inner
    means = mean(np.broadcast_to(x[:, None], y.shape), y)
    logs = log_likelihood(means, counts, sums) + np.log((ends - starts) / n_inner)[:, None]
    logs += np.log((high - low) / n)
    top = logs.max()
    weights = np.exp(logs - top)
    mass = weights.sum()
    weights /= mass
    best = np.argmax(worth(means), axis=-1)
    expected = np.einsum("ab,abk->k", weights, means)
    centred = means - expected
    return Reference(
        means=expected,
        variances=np.einsum("ab,abk->k", weights, centred * centred),
        best=np.bincount(best.ravel(), weights.ravel(), minlength=means.shape[-1]),
        point=np.array([(weights * x[:, None]).sum(), (weights * y).sum()]),
        log_mass=float(top + np.log(mass)),
    )


def _narrow(
    mean: Callable[[Array, Array], Array], counts: Array, sums: Array, x: Array
) -> tuple[Array, Array]:
    """For each x, an interval of y that holds everything within NATS of the best y."""
    starts, ends = np.zeros(len(x)), np.ones(len(x))
    n = 40
    for _ in range(6):
        y = starts[:, None] + (ends - starts)[:, None] * (np.arange(n) + 0.5) / n
        logs = log_likelihood(mean(np.broadcast_to(x[:, None], y.shape), y), counts, sums)
        inside = logs > logs.max(axis=1, keepdims=True) - NATS
        first = inside.argmax(axis=1)
        last = n - 1 - inside[:, ::-1].argmax(axis=1)
        width = (ends - starts) / n
        starts, ends = (
            np.maximum(starts, starts + (first - 1) * width),
            np.minimum(ends, starts + (last + 2) * width),
        )
        if np.all(last - first > n // 3):
            break
    return starts, ends
