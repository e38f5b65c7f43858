"""`GridPlugIn`: the best arm at the posterior mean of the parameter."""

import dataclasses

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model.tables import choose_in_cell, find_cell
from globalbandits.policies.base import register
from globalbandits.policies.shared.grid import Setup, posterior_mean
from globalbandits.policies.shared.worth import choose_best_offered
from globalbandits.policies.structured.grid_policy import GridPolicy, State, posterior_variants
from globalbandits.statistics import Statistics


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best arm at the posterior mean of the parameter."""
    envelope = setup.tables.envelope
    theta = posterior_mean(setup, state.posterior)
    return choose_in_cell(envelope, find_cell(envelope, theta), rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm at the posterior mean of the parameter."""
    theta = posterior_mean(setup, state.posterior)
    return choose_best_offered(setup.tables, theta, offered, rng)


@register("grid_plug_in")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GridPlugIn(GridPolicy):
    """Play the arm that is best at the posterior mean of the parameter.

    On a dose model with a target this is the rule of the continual reassessment method
    (O'Quigley, Pepe and Fisher 1990): the dose whose response at the posterior mean is nearest
    to the target. The posterior is on the middles of equal cells of the domain; see
    `shared.grid`. Use `Limited` around it for cohorts and for doses that must not be skipped.
    Value: any.

    Args:
        likelihood: ``"bernoulli"`` is exact for Bernoulli rewards and a quasi-likelihood for
            others in [0, 1]; ``"beta"`` is for rewards that are Beta(1, (1 - m) / m) with mean m,
            the noise of the paper. With ``"beta"`` a learner can neither forget nor be merged.
        cells: number of cells, from 2 to 1,000,000.
        prior: mean and standard deviation of a normal prior of theta, truncated to the domain;
            uniform by default.
        prior_variance: variance of a normal prior around 0, instead of ``prior``; dfcrm's is 1.34.

    >>> GridPlugIn(prior_variance=2.25).label
    'GridPlugIn(prior=(0.0, 1.5))'
    """

    variants = posterior_variants(select, select_among)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The posterior mean."""
        theta = posterior_mean(setup, state.posterior)
        return f"best arm at the posterior mean of theta, {theta:.6g}"
