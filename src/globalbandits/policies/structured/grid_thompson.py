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


def masses_of_best(setup: Setup, posterior: grid.State) -> FloatArray:
    """Return the posterior mass of each arm's regions; arms that tie share it. Not compiled."""
    envelope, n_arms = setup.tables.envelope, setup.tables.n_arms
    first, last = posterior.window
    weights = posterior.weights[first : last + 1]
    thetas, points = setup.thetas[first : last + 1], envelope.breakpoints
    # `find_cell` for all thetas at once: even numbers are breakpoints, odd ones lie between.
    below = np.clip(np.searchsorted(points, thetas, side="right") - 1, 0, len(points) - 1)
    cells = np.minimum(2 * below + (thetas > points[below]), 2 * (len(points) - 1))
    masses = np.zeros(n_arms)
    for cell, mass in enumerate(np.bincount(cells, weights)):
        best = envelope.arms[envelope.starts[cell] : envelope.starts[cell + 1]]
        if mass > 0.0:
            masses[best] += mass / len(best)
    return np.asarray(masses / weights.sum())


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

    def probabilities(self, setup: Any, stats: Statistics, state: Any) -> FloatArray:
        """Return the posterior mass of the cells in which each arm is best."""
        if isinstance(setup.tables, VectorTables):
            return probabilities_of_best(state.posterior)
        return masses_of_best(setup, state.posterior)

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the interval of the posterior."""
        if isinstance(setup.tables, VectorTables):
            return "best arm at a draw of the unknown numbers from their posterior"
        low, high = setup.thetas[state.posterior.window]
        return f"best arm at a draw of theta from the posterior on [{low:.6g}, {high:.6g}]"
