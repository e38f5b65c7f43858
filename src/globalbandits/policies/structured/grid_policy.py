"""Base class and rules of policies with a posterior of the parameter on a grid."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from globalbandits.policies.base import Policy, Rules
from globalbandits.policies.shared import grid
from globalbandits.policies.shared.grid import (
    Setup,
    as_cells,
    as_likelihood,
    as_prior,
    build,
)
from globalbandits.policies.shared.grid import estimate as estimate_parameter
from globalbandits.policies.shared.grid import rebuild as rebuild_posterior
from globalbandits.policies.shared.grid import resume as resume_posterior
from globalbandits.policies.shared.grid import update as update_posterior
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class State(NamedTuple):
    """The posterior, for policies that keep nothing else."""

    posterior: grid.State


class Variants(NamedTuple):
    """The rules for the two likelihoods."""

    beta: Rules  # without `rebuild`, because statistics do not contain the sums of log(1 - x)
    bernoulli: Rules


def variants_of(
    init: Callable[..., Any],
    select: Callable[..., int],
    update: Callable[..., None],
    estimate: Callable[..., float],
    rebuild: Callable[..., None],
    resume: Callable[..., bool],
) -> Variants:
    """Return the rules of a policy whose state has the posterior in the field `posterior`."""
    return Variants(
        beta=Rules(init, select, update, estimate, resume=resume),
        bernoulli=Rules(init, select, update, estimate, rebuild, ("posterior",), resume),
    )


def posterior_variants(select: Callable[..., int]) -> Variants:
    """Return the rules of a policy whose state is the posterior alone."""
    return variants_of(init, select, update, estimate, rebuild, resume)


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    return State(grid.init(setup))


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the posterior with one reward."""
    update_posterior(setup, stats, state.posterior, arm, reward)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the posterior from counts and sums."""
    rebuild_posterior(setup, stats, state.posterior)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Complete a saved posterior; False if the statistics exclude it."""
    return resume_posterior(setup, stats, state.posterior)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter; nan before any reward."""
    return estimate_parameter(setup, stats, state.posterior)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GridPolicy(Policy):
    """Base of policies with a likelihood, a number of cells and a prior."""

    likelihood: str = "bernoulli"
    cells: int = 2000
    prior: tuple[float, float] | None = None
    prior_sd: float | None = None
    prior_variance: float | None = None

    variants: ClassVar[Variants]

    def __post_init__(self) -> None:
        """Check the likelihood, the number of cells and the prior."""
        object.__setattr__(self, "likelihood", as_likelihood(self.likelihood))
        object.__setattr__(self, "cells", as_cells(self.cells))
        prior = as_prior(self.prior, self.prior_sd, self.prior_variance)
        for name, value in (("prior", prior), ("prior_sd", None), ("prior_variance", None)):
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The specification as a plain dict; ``prior`` holds the prior, however it was given."""
        plain = super().to_dict()
        del plain["prior_sd"], plain["prior_variance"]
        return plain

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of the likelihood. With ``"beta"`` a learner can neither forget nor merge."""
        return self.variants.beta if self.likelihood == "beta" else self.variants.bernoulli

    def setup(self, model: "RewardModel") -> Any:
        """The model's curves and likelihoods on the grid."""
        return build(model, self.likelihood, self.cells, self.prior)
