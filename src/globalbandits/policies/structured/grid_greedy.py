"""`GridGreedy`: the arm with the largest posterior mean of its worth."""

import dataclasses
import warnings
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import VectorModel
from globalbandits.policies.base import register
from globalbandits.policies.shared import grid, ridge_posterior
from globalbandits.policies.shared.grid import Setup, average_worths
from globalbandits.policies.shared.grid import estimate as estimate_parameter
from globalbandits.policies.shared.grid import rebuild as rebuild_posterior
from globalbandits.policies.shared.grid import resume as resume_posterior
from globalbandits.policies.shared.grid import update as update_posterior
from globalbandits.policies.shared.ridge_posterior import average_worths as average_over_points
from globalbandits.policies.shared.ridge_posterior import rebuild as rebuild_points
from globalbandits.policies.shared.ridge_posterior import resume as resume_points
from globalbandits.policies.shared.ridge_posterior import update as update_points
from globalbandits.policies.shared.worth import choose_largest, choose_offered, unit_scale
from globalbandits.policies.structured.grid_policy import GridPolicy, several_numbers, variants_of
from globalbandits.statistics import Statistics


class State(NamedTuple):
    """The posterior, and the expected worths of the arms."""

    posterior: grid.State
    values: FloatArray  # (n_arms,) posterior means of the arms' worths


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    state = State(grid.init(setup), np.zeros(setup.tables.n_arms))
    average_worths(setup, state.posterior, state.values)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest posterior mean of its worth."""
    return choose_largest(state.values, rng)


def select_among(
    setup: Any,
    stats: Statistics,
    state: Any,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest posterior mean of its worth."""
    return choose_offered(state.values, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the posterior with one reward, and average the arms' worths."""
    update_posterior(setup, stats, state.posterior, arm, reward)
    average_worths(setup, state.posterior, state.values)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute posterior and averages from counts and sums."""
    rebuild_posterior(setup, stats, state.posterior)
    average_worths(setup, state.posterior, state.values)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Complete a saved posterior, and average; False if the statistics exclude it."""
    fits = resume_posterior(setup, stats, state.posterior)
    if fits:
        average_worths(setup, state.posterior, state.values)
    return fits


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter; nan before any reward."""
    return estimate_parameter(setup, stats, state.posterior)


# The same with several unknown numbers.


class SeveralState(NamedTuple):
    """The posterior of several numbers, and the expected worths of the arms."""

    fitted: Statistics
    due: FloatArray  # (1,)
    posterior: ridge_posterior.Posterior
    values: FloatArray  # (n_arms,) posterior means of the arms' worths


def init_several(setup: ridge_posterior.Setup) -> SeveralState:
    """No reward yet: the prior."""
    state = SeveralState(*ridge_posterior.init(setup), np.zeros(setup.tables.n_arms))
    average_over_points(state.posterior, state.values)
    return state


def update_several(
    setup: ridge_posterior.Setup, stats: Statistics, state: Any, arm: int, reward: float
) -> None:
    """Update the posterior with one reward, and average the arms' worths."""
    update_points(setup, stats, state, arm, reward)
    average_over_points(state.posterior, state.values)


def rebuild_several(setup: ridge_posterior.Setup, stats: Statistics, state: Any) -> None:
    """Compute posterior and averages from counts and sums."""
    rebuild_points(setup, stats, state)
    average_over_points(state.posterior, state.values)


def resume_several(setup: ridge_posterior.Setup, stats: Statistics, state: Any) -> bool:
    """Complete a saved posterior, and average; False if the statistics exclude it."""
    fits = resume_points(setup, stats, state)
    if fits:
        average_over_points(state.posterior, state.values)
    return fits


@register("grid_greedy")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GridGreedy(GridPolicy):
    """Play the arm with the largest posterior mean of what it is worth.

    The posterior is on the middles of equal cells of the domain; see `shared.grid`. This is the
    one-step optimal Bayes rule. It needs no exploration if means are monotone, because the rewards
    of every arm inform about all arms. In a model with ``monotone=False`` an arm may have the same
    mean at two parameters, and a greedy policy may play it without end. Use `IDS` or
    `GridThompson` for such models.

    With two unknown numbers there are nearly always parameters at which greedy play stays with a
    wrong arm, because its rewards confirm a wrong belief. In 37 % of random worlds with exact
    curves its last arm was more than 1 % off, with `IDS` in 9 % (docs/measured/several.md).
    `setup` warns. Take `Elastic` or `IDS` instead.

    Value: any. The posterior uses the observed rewards; the averages are of worth.

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

    >>> GridGreedy(likelihood="beta").label
    "GridGreedy(likelihood='beta')"
    """

    variants = variants_of(init, select, update, estimate, rebuild, resume, select_among)
    several = several_numbers(
        init_several, select, update_several, rebuild_several, resume_several, select_among
    )

    def setup_several(self, model: VectorModel) -> ridge_posterior.Setup:
        """The model's curves on the box of its unknown numbers, with a warning."""
        found = super().setup_several(model)
        if model.n_parameters > 1:
            text = (
                f"GridGreedy may never leave a wrong arm when {model.n_parameters} numbers are "
                "unknown; take Elastic or IDS"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        return found

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The largest posterior mean."""
        largest = float(np.max(state.values))
        return f"largest posterior mean: {largest:.6g} on {unit_scale(setup.tables)}"
