"""What the pieces of an environment have in common: they are frozen and have a name."""

import dataclasses

from globalbandits._registry import Specification
from globalbandits._validation import as_float, as_positive, require
from globalbandits.errors import ScenarioError

LARGEST = 1e100  # a shift, a step or a swing; beyond it sums over a horizon would be no numbers


@dataclasses.dataclass(frozen=True)
class Part(Specification):
    """A noise, a drift or a bias: frozen, comparable, printable, and nameable in spec files."""


def as_size(name: str, value: object) -> float:
    """Return value as a float from -1e100 to 1e100."""
    size = as_float(name, value, ScenarioError)
    rule = f"lie between -{LARGEST:g} and {LARGEST:g}"
    require(abs(size) <= LARGEST, name, rule, value, ScenarioError)
    return size


def as_duration(name: str, value: object) -> float:
    """Return value as a float above zero whose inverse is at most 1e100."""
    duration = as_positive(name, value, ScenarioError)
    rule = f"be at least {1.0 / LARGEST:g}"
    require(duration >= 1.0 / LARGEST, name, rule, value, ScenarioError)
    return duration
