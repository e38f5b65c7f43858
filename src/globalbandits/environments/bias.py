"""Biases: shifts of the true means away from the model's curves.

Shifts are in the units of the rewards. A shifted mean is clipped to the reward range.
"""

import dataclasses
from typing import ClassVar

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray
from globalbandits._validation import as_floats, require
from globalbandits.environments.part import Part, as_size
from globalbandits.errors import ScenarioError


@dataclasses.dataclass(frozen=True)
class Bias(Part):
    """Base of all biases. A subclass draws the shifts of one run."""

    family: ClassVar[str] = "bias"

    def shifts(self, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Return the shift of each arm in one run: shape (n_arms,)."""
        raise NotImplementedError


@register("uniform")
@dataclasses.dataclass(frozen=True)
class UniformBias(Bias):
    """Every run draws a shift per arm, uniformly from [-size, size] (Experiment 4).

    >>> UniformBias(0.1).shifts(3, np.random.default_rng(0)).round(3).tolist()
    [0.027, -0.046, -0.092]
    """

    size: float

    def __post_init__(self) -> None:
        """Check the size."""
        size = as_size("size", self.size)
        require(size >= 0.0, "size", "be at least 0", self.size, ScenarioError)
        # The absolute value turns -0.0, which would make the interval invalid, into 0.0.
        object.__setattr__(self, "size", abs(size))

    def shifts(self, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Draw uniform shifts."""
        return rng.uniform(-self.size, self.size, n_arms)


@register("fixed")
@dataclasses.dataclass(frozen=True)
class FixedBias(Bias):
    """Given shifts, the same in every run.

    >>> FixedBias([0.0, 0.1]).shifts(2, np.random.default_rng(0)).tolist()
    [0.0, 0.1]
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the shifts."""
        object.__setattr__(self, "values", as_floats("values", self.values, ScenarioError))

    def shifts(self, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Return the shifts, one per arm."""
        enough = len(self.values) == n_arms
        require(enough, "values", f"be {n_arms}, one per arm", self.values, ScenarioError)
        return np.array(self.values, np.float64)
