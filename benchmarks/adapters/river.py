"""river: its policies in our simulator, and ours in ``river.bandit.evaluate``.

>>> import globalbandits as gb
>>> policy = RiverPolicy(gb.WAGP(), gb.demand.linear_power([0.4, 0.6, 0.8]), seed=1)
>>> arm = policy.pull([0, 1, 2])
>>> policy.update(arm, 0.3)
>>> policy.learner.n_observations
1
"""

from collections.abc import Callable
from typing import Any

from river.bandit.base import Policy as RiverBase

from benchmarks.adapters.peer import Peer
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Policy


class RiverPolicy(RiverBase):  # type: ignore[misc]
    """One of our policies with river's methods; arms are indices 0, 1, 2, ...

    Args:
        policy: the policy.
        model: the model of the policy.
        seed: seed of its random choices.
    """

    def __init__(self, policy: Policy, model: RewardModel, seed: int = 0) -> None:
        super().__init__()
        self.policy = policy
        self.model = model
        self.seed = seed
        self.learner = Learner(policy, model, seed=seed)

    def _pull(self, arm_ids: Any) -> Any:
        allowed = list(arm_ids)
        every = allowed == list(range(self.model.n_arms))
        return int(self.learner.select() if every else self.learner.select(allowed=allowed))

    def update(self, arm_id: int, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn a reward in the units of the model."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        self.learner.update(int(arm_id), float(reward_args[0]))


def from_river(make: Callable[[int], Any], name: str) -> Peer:
    """Return a policy of river for `simulate`.

    Args:
        make: for example ``lambda seed: bandit.UCB(delta=1, seed=seed)``.
        name: label in legends and tables.
    """
    return Peer(make=make, name=name)
