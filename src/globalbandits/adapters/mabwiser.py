"""Our policies with MABWiser's methods: fit, partial_fit, predict, predict_expectations.

>>> import globalbandits as gb
>>> mab = MABWiserPolicy(gb.WAGP(), gb.demand.linear_power([0.4, 0.6, 0.8]), seed=1)
>>> mab.partial_fit([0.4, 0.8], [0.3, 0.5])
>>> mab.predict() in mab.arms
True
"""

from collections.abc import Sequence
from typing import Any

from globalbandits._validation import require
from globalbandits.errors import RewardError
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Policy


class MABWiserPolicy:
    """A policy of ours for code that was written for `mabwiser.mab.MAB`.

    Decisions are the arms' own values, as there. Expectations are the model's means at the
    estimate of theta, or arms' own mean rewards where the policy has no estimate.

    Args:
        policy: the policy.
        model: the model it knows.
        seed: of its random choices.
    """

    def __init__(self, policy: Policy, model: RewardModel, seed: int = 123456) -> None:
        self.learning_policy = policy
        self.model = model
        self.seed = seed
        self.arms = list(model.arms)
        self.learner = Learner(policy, model, seed=seed)

    def fit(self, decisions: Sequence[Any], rewards: Sequence[float]) -> None:
        """Forget everything, then learn."""
        self.learner = Learner(self.learning_policy, self.model, seed=self.seed)
        self.partial_fit(decisions, rewards)

    def partial_fit(self, decisions: Sequence[Any], rewards: Sequence[float]) -> None:
        """Learn some more decisions and their rewards."""
        for decision in decisions:
            known = decision in self.arms
            require(known, "decisions", "be arms of the model", decision, RewardError)
        arms = [self.arms.index(decision) for decision in decisions]
        self.learner.update(arms, [float(reward) for reward in rewards])

    def predict(self) -> Any:
        """The arm to play."""
        return self.arms[self.learner.select()]

    def predict_expectations(self) -> dict[Any, float]:
        """What each arm is expected to pay."""
        theta = self.learner.estimate
        means = self.learner.means if theta is None else self.model.means(theta)
        return dict(zip(self.arms, map(float, means), strict=True))
