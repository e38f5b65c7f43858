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


class PlausibleSet(NamedTuple):
    """Bounds on each arm from a confidence set of two numbers."""

    size: float  # share of the unit square
    worths: Array  # the most that each arm is worth in the set; -inf if it is empty
    best: Array  # share of the set in which each arm is worth most


def plausible_set(
    mean: Callable[[Array, Array], Array],
    worth: Callable[[Array], Array],
    averages: Array,
    radii: Array,
    *,
    n: int = 1_000,
) -> PlausibleSet:
    """The points of a dense grid at which every mean is within its radius of the average.

    Args:
        mean: as in `reference`.
        worth: as in `reference`.
        averages: average reward of each arm.
        radii: radius of each arm; infinity without rewards.
        n: points per axis, from edge to edge.
    """
    axis = np.linspace(0.0, 1.0, n)
    x, y = (side.ravel() for side in np.meshgrid(axis, axis, indexing="ij"))
    inside = []
    for rows in np.array_split(np.arange(n * n), 50):
        means = mean(x[rows], y[rows])
        inside.append(means[np.all(np.abs(means - averages) <= radii, axis=1)])
    means = np.concatenate(inside)
    worths = worth(means)
    best = np.bincount(worths.argmax(axis=1), minlength=len(averages)) if len(means) else averages
    return PlausibleSet(
        size=len(means) / n**2,
        worths=worths.max(axis=0, initial=-np.inf),
        best=best / max(len(means), 1),
    )


def reference_of_three(
    mean: Callable[[Array, Array, Array], Array],
    worth: Callable[[Array], Array],
    counts: Array,
    sums: Array,
    *,
    n_depths: int = 60,
) -> Reference:
    """The posterior under a uniform prior on the unit cube: `reference` for many third numbers."""

    def at(z: float, n: int, n_inner: int) -> Reference:
        return reference(
            lambda x, y: mean(x, y, np.full_like(x, z)), worth, counts, sums, n=n, n_inner=n_inner
        )

    low, high = 0.0, 1.0
    for _ in range(8):
        z = low + (high - low) * (np.arange(20) + 0.5) / 20
        logs = np.array([at(depth, 30, 20).log_mass for depth in z])
        inside = np.flatnonzero(logs > logs.max() - 15.0)
        if inside[-1] - inside[0] > 8:
            break
        width = (high - low) / 20
        low, high = (
            max(low, low + (inside[0] - 1) * width),
            min(high, low + (inside[-1] + 2) * width),
        )
    z = low + (high - low) * (np.arange(n_depths) + 0.5) / n_depths
    sheets = [at(depth, 150, 50) for depth in z]
    logs = np.array([sheet.log_mass for sheet in sheets])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means = np.array([sheet.means for sheet in sheets])
    expected = weights @ means
    points = np.column_stack([[sheet.point for sheet in sheets], z])
    return Reference(
        means=expected,
        variances=weights @ (np.array([sheet.variances for sheet in sheets]) + means**2)
        - expected**2,
        best=weights @ np.array([sheet.best for sheet in sheets]),
        point=weights @ points,
        log_mass=float(np.log(np.exp(logs - logs.max()).sum()) + logs.max()),
    )
