"""`GridThompson`: Thompson sampling with a posterior of the parameter."""

import dataclasses
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import choose_in_cell, find_cell
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies.base import register
from globalbandits.policies.shared import grid, ridge_posterior
from globalbandits.policies.shared.grid import Setup, draw_theta
from globalbandits.policies.shared.ridge_posterior import (
    draw_best,
    draw_point,
    probabilities_of_best,
)
from globalbandits.policies.shared.worth import choose_best_offered, choose_offered
from globalbandits.policies.structured.grid_policy import (
    GridPolicy,
    State,
    posterior_variants,
    several_numbers,
)
from globalbandits.statistics import Statistics


def select_several(
    setup: ridge_posterior.Setup,
    stats: Statistics,
    state: ridge_posterior.State,
    rng: np.random.Generator,
) -> int:
    """Return the best arm at a point drawn from the posterior of several numbers."""
    return draw_best(state.posterior, rng)


def select_several_among(
    setup: ridge_posterior.Setup,
    stats: Statistics,
    state: ridge_posterior.State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm at a point drawn from the posterior of several numbers."""
    point, _ = draw_point(state.posterior, rng)
    return choose_offered(state.posterior.worths[point], offered, rng)


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best arm at a parameter drawn from the posterior."""
    envelope = setup.tables.envelope
    theta = draw_theta(setup, state.posterior, rng)
    return choose_in_cell(envelope, find_cell(envelope, theta), rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm at a parameter drawn from the posterior."""
    theta = draw_theta(setup, state.posterior, rng)
    return choose_best_offered(setup.tables, theta, offered, rng)


def masses_of_best(setup: Setup, posterior: grid.State, offered: IntArray) -> FloatArray:
    """Return the posterior mass where each offered arm is best; arms that tie share it.

    Not compiled. The draws of `select_among` have exactly these probabilities.
    """
    envelope = setup.tables.envelope
    first, last = posterior.window
    weights = posterior.weights[first : last + 1]
    thetas, points = setup.thetas[first : last + 1], envelope.breakpoints
    # `find_cell` for all thetas at once: even numbers are breakpoints, odd ones lie between.
    below = np.clip(np.searchsorted(points, thetas, side="right") - 1, 0, len(points) - 1)
    cells = np.minimum(2 * below + (thetas > points[below]), 2 * (len(points) - 1))
    masses = np.zeros(setup.tables.n_arms)
    is_open = np.zeros(len(thetas), np.bool_)
    for cell in np.unique(cells):
        best = envelope.arms[envelope.starts[cell] : envelope.starts[cell + 1]]
        best = best[np.isin(best, offered)]
        if best.size:
            masses[best] += weights[cells == cell].sum() / best.size
        else:
            is_open |= cells == cell
    worths = setup.worths[offered, first : last + 1]
    masses[offered] += masses_of_largest(worths[:, is_open], weights[is_open])
    return np.asarray(masses / weights.sum())


def masses_of_largest(worths: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weight of the columns in which each row is largest; rows that tie share it.

    >>> masses_of_largest(np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]]), np.array([0.2, 0.5, 0.3]))
    array([0.4, 0.6])
    """
    is_largest = worths == worths.max(axis=0, initial=-np.inf)
    return np.asarray((is_largest / np.maximum(is_largest.sum(axis=0), 1)) @ weights)


@register("grid_thompson")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GridThompson(GridPolicy):
    """Draw a parameter from the posterior and play the arm that is best there.

    This is Thompson sampling (Thompson 1933) on the parameter, with a prior on the middles of
    equal cells of the domain; see `shared.grid`. Several unknown numbers have a ridge grid; see
    `shared.ridge_grid`. Value: any.

    Args:
        likelihood: ``"bernoulli"`` is exact for Bernoulli rewards and a quasi-likelihood for
            others in [0, 1]; the estimate converges to theta for every noise. ``"beta"`` is for
            rewards that are Beta(1, (1 - m) / m) with mean m, the noise of the paper. It is
            slightly sharper there and inconsistent under other noises, and a learner can neither
            forget nor be merged.
        cells: number of cells, from 2 to 1,000,000.
        prior: mean and standard deviation of a normal prior of theta, truncated to the domain;
            one such pair per number if there are several; uniform by default.
        prior_variance: variance of a normal prior around 0, instead of ``prior``; dfcrm's is 1.34.

    >>> GridThompson().to_dict()
    {'policy': 'grid_thompson', 'likelihood': 'bernoulli', 'cells': 2000, 'prior': None}
    """

    variants = posterior_variants(select, select_among)
    several = several_numbers(
        ridge_posterior.init,
        select_several,
        ridge_posterior.update,
        ridge_posterior.rebuild,
        ridge_posterior.resume,
        select_several_among,
    )

    def probabilities(
        self, setup: Any, stats: Statistics, state: Any, offered: IntArray | None = None
    ) -> FloatArray:
        """Return the posterior mass where each arm is the best of those offered."""
        posterior = state.posterior
        if not isinstance(setup.tables, VectorTables):
            every = np.arange(setup.tables.n_arms)
            return masses_of_best(setup, posterior, every if offered is None else offered)
        if offered is None:
            return probabilities_of_best(posterior)
        n_points = int(posterior.grid.n_points[0])
        weights = posterior.weights[:n_points]
        masses = np.zeros(posterior.worths.shape[1])
        masses[offered] = masses_of_largest(posterior.worths[:n_points, offered].T, weights)
        return np.asarray(masses / weights.sum())

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the interval of the posterior."""
        if isinstance(setup.tables, VectorTables):
            return "best arm at a draw of the unknown numbers from their posterior"
        low, high = setup.thetas[state.posterior.window]
        return f"best arm at a draw of theta from the posterior on [{low:.6g}, {high:.6g}]"
