"""Base class and rules of policies with a posterior of the parameter on a grid."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.model.vector_model import VectorModel
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies.base import Policy, Rules, require_one_number
from globalbandits.policies.shared import grid, ridge_posterior
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
from globalbandits.policies.shared.open_outcomes import pend_open_outcomes
from globalbandits.statistics import Statistics


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
    select_among: Callable[..., int],
    grid_of: Callable[[Any], Setup] = lambda setup: setup,
) -> Variants:
    """Return the rules of a policy whose state has the posterior in the field `posterior`.

    ``grid_of`` returns the grid's setup inside the setup of the policy.
    """

    def pend(
        setup: Any, stats: Statistics, state: Any, arms: IntArray, weights: FloatArray
    ) -> None:
        grid.await_outcomes(grid_of(setup), arms, weights)

    return Variants(
        beta=Rules(init, select, update, estimate, resume=resume, select_among=select_among),
        bernoulli=Rules(
            init,
            select,
            update,
            estimate,
            rebuild,
            ("posterior",),
            resume,
            select_among=select_among,
            pend=pend,
        ),
    )


def posterior_variants(select: Callable[..., int], select_among: Callable[..., int]) -> Variants:
    """Return the rules of a policy whose state is the posterior alone."""
    return variants_of(init, select, update, estimate, rebuild, resume, select_among)


def several_numbers(
    init: Callable[..., Any],
    select: Callable[..., int],
    update: Callable[..., None],
    rebuild: Callable[..., None],
    resume: Callable[..., bool],
    select_among: Callable[..., int],
) -> Rules:
    """Return the rules of a policy whose state has the fields of `ridge_posterior.State`."""
    return Rules(
        init,
        select,
        update,
        ridge_posterior.no_single_estimate,
        rebuild,
        ("fitted",),
        resume,
        ridge_posterior.numbers,
        select_among=select_among,
        pend=pend_open_outcomes,
    )


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
    prior: tuple[float, float] | tuple[tuple[float, float], ...] | None = None
    prior_variance: float | None = None

    variants: ClassVar[Variants]
    # For models with several unknown numbers; None if the policy refuses them.
    several: ClassVar[Rules | None] = None

    def __post_init__(self) -> None:
        """Check the likelihood, the number of cells and the prior."""
        object.__setattr__(self, "likelihood", as_likelihood(self.likelihood))
        object.__setattr__(self, "cells", as_cells(self.cells))
        prior = as_prior(self.prior, self.prior_variance)
        for name, value in (("prior", prior), ("prior_variance", None)):
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The specification as a plain dict; ``prior`` holds the prior, however it was given."""
        plain = super().to_dict()
        del plain["prior_variance"]
        return plain

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of the likelihood. With ``"beta"`` a learner can neither forget nor merge."""
        return self.variants.beta if self.likelihood == "beta" else self.variants.bernoulli

    def rules_of(self, setup: Any) -> Rules:
        """The rules for one unknown number, or for several."""
        if self.several is not None and isinstance(setup.tables, VectorTables):
            return self.several
        return self.rules

    def setup(self, model: AnyModel) -> Any:
        """The model's curves and likelihoods on the grid, or on the box of several numbers."""
        if self.several is None:
            require_one_number(model, type(self).__name__)
        if isinstance(model, VectorModel):
            return self.setup_several(model)
        return build(model, self.likelihood, self.cells, self.prior)

    def setup_several(self, model: VectorModel) -> ridge_posterior.Setup:
        """The model's curves on the box of its unknown numbers."""
        rule = "be 'bernoulli' for a model with several unknown numbers"
        require(self.likelihood == "bernoulli", "likelihood", rule, self.likelihood, PolicyError)
        prior: Any = self.prior
        return ridge_posterior.build(model, prior)

    def details(self, setup: Any, stats: Statistics, state: Any) -> dict[str, Any]:
        """With several unknown numbers, the probability of each arm that it is worth most."""
        if isinstance(setup.tables, VectorTables):
            return {"best": ridge_posterior.probabilities_of_best(state.posterior).tolist()}
        return {}
