"""MABWiser: its policies in our simulator, and ours with its methods.

>>> import globalbandits as gb
>>> mab = MABWiserPolicy(gb.WAGP(), gb.demand.linear_power([0.4, 0.6, 0.8]), seed=1)
>>> mab.partial_fit([0.4, 0.8], [0.3, 0.5])
>>> mab.predict() in mab.arms
True
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.adapters.peer import Peer
from globalbandits._validation import require
from globalbandits.errors import RewardError
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Policy


class MABWiserPolicy:
    """One of our policies with the methods of `mabwiser.mab.MAB`.

    Decisions are the values of the arms. Expectations are the model's means at the estimate of
    theta, or the mean rewards of the arms if the policy has no estimate.

    Args:
        policy: the policy.
        model: the model of the policy.
        seed: seed of its random choices.
    """

    def __init__(self, policy: Policy, model: RewardModel, seed: int = 123456) -> None:
        self.learning_policy = policy
        self.model = model
        self.seed = seed
        self.arms = list(model.arms)
        self.learner = Learner(policy, model, seed=seed)

    def fit(self, decisions: Sequence[Any], rewards: Sequence[float]) -> None:
        """Forget everything, then learn these decisions and rewards."""
        self.learner = Learner(self.learning_policy, self.model, seed=self.seed)
        self.partial_fit(decisions, rewards)

    def partial_fit(self, decisions: Sequence[Any], rewards: Sequence[float]) -> None:
        """Learn more decisions and their rewards."""
        for decision in decisions:
            known = decision in self.arms
            require(known, "decisions", "be arms of the model", decision, RewardError)
        arms = [self.arms.index(decision) for decision in decisions]
        self.learner.update(arms, [float(reward) for reward in rewards])

    def predict(self) -> Any:
        """Return the arm to play."""
        return self.arms[self.learner.select()]

    def predict_expectations(self) -> dict[Any, float]:
        """Return the expected reward of each arm."""
        theta = self.learner.estimate
        means = self.learner.means if theta is None else self.learner.model.means(theta)
        return dict(zip(self.arms, map(float, means), strict=True))


def from_mabwiser(learning_policy: Any, n_arms: int, name: str) -> Peer:
    """Return a policy of MABWiser for `simulate`.

    MABWiser needs rewards before it predicts, so each arm is played once first.

    Args:
        learning_policy: for example ``LearningPolicy.UCB1(alpha=1.0)``.
        n_arms: number of arms of the model.
        name: label in legends and tables.
    """
    from mabwiser.mab import MAB

    class OneByOne:
        def __init__(self, seed: int) -> None:
            self.mab = MAB(list(range(n_arms)), learning_policy, seed=seed)
            self.first: list[tuple[int, float]] = []

        def pull(self, arms: list[int]) -> int:
            return len(self.first) if len(self.first) < n_arms else int(self.mab.predict())

        def update(self, arm: int, reward: float) -> None:
            if len(self.first) >= n_arms:
                self.mab.partial_fit([arm], [reward])
                return
            self.first.append((arm, reward))
            if len(self.first) == n_arms:
                decisions, rewards = zip(*self.first, strict=True)
                self.mab.fit(list(decisions), list(rewards))

    return Peer(make=OneByOne, name=name)
