"""`Part`: the common base class of noises, drifts and biases."""

import dataclasses

from globalbandits._registry import Specification
from globalbandits._validation import as_float, as_positive, require
from globalbandits.errors import ScenarioError

# Largest size of shifts and steps, so that sums over a horizon stay finite.
MAX_MAGNITUDE = 1e100


@dataclasses.dataclass(frozen=True)
class Part(Specification):
    """A noise, a drift or a bias: frozen, comparable, printable, and usable in spec files."""


def as_size(name: str, value: object) -> float:
    """Return value as a float from -1e100 to 1e100."""
    size = as_float(name, value, ScenarioError)
    rule = f"lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}"
    require(abs(size) <= MAX_MAGNITUDE, name, rule, value, ScenarioError)
    return size


def as_duration(name: str, value: object) -> float:
    """Return value as a float above zero whose inverse is at most 1e100."""
    duration = as_positive(name, value, ScenarioError)
    rule = f"be at least {1.0 / MAX_MAGNITUDE:g}"
    require(duration >= 1.0 / MAX_MAGNITUDE, name, rule, value, ScenarioError)
    return duration
