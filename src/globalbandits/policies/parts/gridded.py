"""What specs of policies with a posterior on a grid have in common."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from globalbandits.policies.base import Policy, Rules
from globalbandits.policies.parts.grid import as_cells, as_likelihood, as_prior, build

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Variants(NamedTuple):
    """The rules for the two likelihoods."""

    beta: Rules  # sums of log(1 - x) cannot be had from the statistics
    bernoulli: Rules


def variants_of(
    init: Callable[..., Any],
    select: Callable[..., int],
    update: Callable[..., None],
    estimate: Callable[..., float],
    rebuild: Callable[..., None],
    resume: Callable[..., bool],
) -> Variants:
    """The rules of a policy whose state has the posterior in the field `posterior`."""
    return Variants(
        beta=Rules(init, select, update, estimate, resume=resume),
        bernoulli=Rules(init, select, update, estimate, rebuild, ("posterior",), resume),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gridded(Policy):
    """A spec with a likelihood, a number of cells and a prior."""

    likelihood: str = "bernoulli"
    cells: int = 2000
    prior: tuple[float, float] | None = None

    variants: ClassVar[Variants]

    def __post_init__(self) -> None:
        """Check the likelihood, the number of cells and the prior."""
        object.__setattr__(self, "likelihood", as_likelihood(self.likelihood))
        object.__setattr__(self, "cells", as_cells(self.cells))
        object.__setattr__(self, "prior", as_prior(self.prior))

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The rules of the likelihood: with ``"beta"`` there is no forgetting and no merging."""
        return self.variants.beta if self.likelihood == "beta" else self.variants.bernoulli

    def setup(self, model: "RewardModel") -> Any:
        """The model's curves and likelihoods on the grid."""
        return build(model, self.likelihood, self.cells, self.prior)
