"""Greedy and Thompson sampling on a posterior over the parameter."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError
from globalbandits.model.tables import choose_in_cell, find_cell
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_largest
from globalbandits.policies.grid import (
    Setup,
    State,
    absorb,
    average,
    build,
    check_likelihood,
    draw_theta,
    estimate,
    init,
    refresh,
)

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

ADDITIVE = ("counts", "sums", "statistics")


def select_greedy(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The largest posterior mean of an arm's worth."""
    return choose_largest(state.values, rng)


def select_draw(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The best arm at a parameter drawn from the posterior."""
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, draw_theta(setup, state, rng)), rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    absorb(setup, state, arm, reward, 1)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    absorb(setup, state, arm, reward, -1)


def update_values(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward, and average the arms' worths."""
    absorb(setup, state, arm, reward, 1)
    average(setup, state)


def forget_values(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back, and average the arms' worths."""
    absorb(setup, state, arm, reward, -1)
    average(setup, state)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _GridPolicy(Policy):
    """What both policies have in common: the likelihood and the grid."""

    likelihood: str = "beta"
    cells: int = 2000

    def __post_init__(self) -> None:
        """Check the likelihood and the number of cells."""
        check_likelihood(self.likelihood)
        object.__setattr__(self, "cells", as_integer("cells", self.cells, 2, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's curves and likelihoods on the grid."""
        return build(model, self.likelihood, self.cells)


@register("grid_greedy")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GridGreedy(_GridPolicy):
    """Play the arm with the largest posterior mean, the prior being uniform over the domain.

    The posterior lives on the middles of equal cells of the domain; see `grid`. This is the
    one-step optimal Bayes rule; nothing is added for exploration, because every arm teaches
    about all.

    Args:
        likelihood: ``"beta"`` for rewards that are Beta(1, (1 - m) / m) with mean m, the noise
            of the paper; ``"bernoulli"`` for rewards 0 and 1, and as a quasi-likelihood for any
            others in [0, 1].
        cells: number of cells; at least 2.

    >>> GridGreedy(likelihood="bernoulli").label
    "GridGreedy(likelihood='bernoulli')"
    """

    rules = Rules(init, select_greedy, update_values, estimate, forget_values, ADDITIVE, refresh)

    def reason(self, setup: Setup, state: State) -> str:
        """The largest posterior mean."""
        return f"largest posterior mean: {float(np.max(state.values)):.6g} on the unit reward scale"


@register("grid_thompson")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GridThompson(_GridPolicy):
    """Draw a parameter from the posterior and play the arm that is best there.

    Thompson sampling (Thompson 1933) on the parameter itself, with a uniform prior on the
    middles of equal cells of the domain; see `grid`.

    Args:
        likelihood: ``"beta"`` for rewards that are Beta(1, (1 - m) / m) with mean m, the noise
            of the paper; ``"bernoulli"`` for rewards 0 and 1, and as a quasi-likelihood for any
            others in [0, 1].
        cells: number of cells; at least 2.

    >>> GridThompson().to_dict()
    {'policy': 'grid_thompson', 'likelihood': 'beta', 'cells': 2000}
    """

    rules = Rules(init, select_draw, update, estimate, forget, ADDITIVE, refresh)

    def reason(self, setup: Setup, state: State) -> str:
        """A draw, and where the posterior is."""
        low, high = setup.thetas[state.window[0]], setup.thetas[state.window[1]]
        return f"best arm at a draw of theta from the posterior on [{low:.6g}, {high:.6g}]"
