"""What the world does: a model at a true parameter, and how rewards come about."""

import dataclasses
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.environments.bias import Bias
from globalbandits.environments.drift import Drift
from globalbandits.environments.noise import BetaNoise, Noise
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

_BETA = BetaNoise()


@dataclasses.dataclass(frozen=True)
class Environment:
    """A model with its true parameter, and the noise, drift and bias of its rewards.

    Args:
        model: the curves, as the policies know them.
        theta: the true parameter; under drift the one at time 1.
        noise: how rewards scatter around their means.
        drift: how theta moves; None: not at all.
        bias: how far the true means are from the model's; None: not at all.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> Environment(model, theta=0.4).noise
    BetaNoise()
    """

    model: RewardModel
    theta: float
    noise: Noise = _BETA
    drift: Drift | None = None
    bias: Bias | None = None

    def __post_init__(self) -> None:
        """Check every part against the model."""
        _check_part("model", self.model, RewardModel)
        theta = as_float("theta", self.theta, ScenarioError)
        low, high = self.model.domain
        inside = low <= theta <= high
        rule = f"lie in the domain [{low:g}, {high:g}]"
        require(inside, "theta", rule, self.theta, ScenarioError)
        object.__setattr__(self, "theta", theta)
        _check_part("noise", self.noise, Noise)
        self.noise.parameters(self.model)
        if self.drift is not None:
            _check_part("drift", self.drift, Drift)
            self.drift.track(self.model.domain, theta)
        if self.bias is not None:
            _check_part("bias", self.bias, Bias)
            self.bias.shifts(self.model.n_arms, np.random.default_rng(0))

    @property
    def scale(self) -> float:
        """Length of the reward range: what a unit of the unit scale is worth."""
        low, high = self.model.reward_range
        return high - low

    def shifts(self, rng: np.random.Generator) -> FloatArray | None:
        """The bias of one run, per arm, in the units of the rewards; None without bias."""
        return None if self.bias is None else self.bias.shifts(self.model.n_arms, rng)

    def true_means(self, shifts: FloatArray | None = None) -> FloatArray:
        """Means that pay at theta: the model's, shifted, inside the reward range: (n_arms,)."""
        means = self.model.means(self.theta)
        if shifts is None:
            return means
        return np.clip(means + shifts, *self.model.reward_range)

    def to_dict(self) -> dict[str, Any]:
        """What is needed to tell this environment from others, as plain values."""
        parts = {"noise": self.noise, "drift": self.drift, "bias": self.bias}
        stays = self.drift is None and self.bias is None
        return {
            "model": {
                "arms": [
                    arm if isinstance(arm, (int, float)) else str(arm) for arm in self.model.arms
                ],
                "domain": list(self.model.domain),
                "reward_range": list(self.model.reward_range),
                "fingerprint": self.model.fingerprint,
            },
            "theta": self.theta,
            "best_arms": list(self.model.best_arms(self.theta)) if stays else [],
        } | {name: None if part is None else part.to_dict() for name, part in parts.items()}


def _check_part(name: str, value: object, kind: type) -> None:
    require(isinstance(value, kind), name, f"be a {kind.__name__}", value, ScenarioError)
