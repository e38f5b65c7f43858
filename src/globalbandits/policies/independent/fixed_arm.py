"""`FixedArm`: always the same arm, such as today's price, as a baseline for comparisons."""

import dataclasses
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, State, register, stateless
from globalbandits.policies.shared.index import no_estimate
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, and the arm."""

    tables: Tables
    arm: int


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm."""
    return setup.arm


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the arm, or the offered one with the nearest index; of two, the lower one."""
    n_arms = setup.tables.n_arms // setup.tables.n_contexts
    best = int(offered[0])
    for i in range(1, offered.shape[0]):
        if abs(offered[i] % n_arms - setup.arm) < abs(best % n_arms - setup.arm):
            best = int(offered[i])
    return best


@register("fixed_arm")
@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedArm(Policy):
    """Always play one arm, independently of the rewards: a baseline such as today's price.

    Args:
        arm: index of the arm; may be given by position.

    >>> FixedArm(3).label, FixedArm(3).to_dict()
    ('FixedArm(3)', {'policy': 'fixed_arm', 'arm': 3})
    """

    arm: int = dataclasses.field(default=0, kw_only=False)

    rules = stateless(select, no_estimate, select_among)
    ignores_value = True

    def __post_init__(self) -> None:
        """Check the arm. `setup` compares it with the model."""
        object.__setattr__(self, "arm", as_integer("arm", self.arm, 0, PolicyError))

    @property
    def label(self) -> str:
        """The name with the arm, also if it is the default."""
        return f"FixedArm({self.arm})"

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables and the arm, and check that the model has it."""
        last = model.n_arms // model.tables.n_contexts - 1
        require(self.arm <= last, "arm", f"be at most {last}, the last arm", self.arm, PolicyError)
        return Setup(model.tables, self.arm)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Name the arm."""
        return f"always arm {setup.arm}"
