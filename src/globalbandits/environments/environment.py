"""What the world does: a model at a true parameter, and how rewards come about."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.environments.bias import Bias
from globalbandits.environments.drift import Drift
from globalbandits.environments.noise import BetaNoise, Noise
from globalbandits.environments.sale import SaleNoise
from globalbandits.errors import ScenarioError
from globalbandits.model import RegionalModel, RewardModel

_BETA = BetaNoise()


@dataclasses.dataclass(frozen=True)
class Environment:
    """A model with its true parameter, and the noise, drift and bias of its rewards.

    Args:
        model: the curves, as the policies know them; arms in groups with a parameter each are a
            `RegionalModel`, whose parameters stay.
        theta: the true parameter, for arms in groups one per group; under drift the one at time 1.
        noise: how rewards scatter around their means.
        drift: how theta moves; None: not at all.
        bias: how far the true means are from the model's; None: not at all.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> Environment(model, theta=0.4).noise
    BetaNoise()
    """

    model: Any  # a RewardModel or a RegionalModel
    theta: float | tuple[float, ...]
    noise: Noise = _BETA
    drift: Drift | None = None
    bias: Bias | None = None

    def __post_init__(self) -> None:
        """Check every part against the model."""
        if isinstance(self.model, RegionalModel):
            rule = "have no amounts for arms in groups"
            plain = not isinstance(self.noise, SaleNoise)
            require(plain, "noise", rule, self.noise, ScenarioError)
        else:
            _check_part("model", self.model, RewardModel)
        object.__setattr__(self, "theta", _as_theta(self.model, self.theta))
        _check_part("noise", self.noise, Noise)
        self.noise.parameters(self.model)
        if self.drift is not None:
            _check_part("drift", self.drift, Drift)
            self.start_drift()
        if self.bias is not None:
            _check_part("bias", self.bias, Bias)
            self.bias.shifts(self.model.n_arms, np.random.default_rng(0))

    def start_drift(self) -> Any:
        """What the drift's rules need from the start; None without drift."""
        if self.drift is None:
            return None
        if isinstance(self.theta, tuple):
            rule = "be None for arms in groups, whose parameters stay"
            raise ScenarioError(f"drift must {rule}, got {self.drift!r}")
        return self.drift.track(self.model.domain, self.theta)

    @property
    def parameter(self) -> float:
        """The one true parameter; nan for arms in groups, which have several."""
        return math.nan if isinstance(self.theta, tuple) else self.theta

    @property
    def scale(self) -> float:
        """Length of the reward range: what a unit of the unit scale is worth."""
        low, high = self.model.reward_range
        return float(high - low)

    def shifts(self, rng: np.random.Generator) -> FloatArray | None:
        """The bias of one run, per arm, in the units of the rewards; None without bias."""
        return None if self.bias is None else self.bias.shifts(self.model.n_arms, rng)

    def true_means(self, shifts: FloatArray | None = None) -> FloatArray:
        """Means that pay at theta: the model's, shifted, inside the reward range: (n_arms,)."""
        means: FloatArray = self.model.means(self.theta)
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
                "domain": _domain(self.model),
                "reward_range": list(self.model.reward_range),
                "fingerprint": self.model.fingerprint,
            },
            "theta": list(self.theta) if isinstance(self.theta, tuple) else self.theta,
            "best_arms": list(self.model.best_arms(self.theta)) if stays else [],
        } | {name: None if part is None else part.to_dict() for name, part in parts.items()}


def _as_theta(model: RewardModel | RegionalModel, theta: Any) -> float | tuple[float, ...]:
    """The parameter inside the domain, or one per group, each inside its own."""
    if not isinstance(model, RegionalModel):
        return _inside("theta", theta, model.domain)
    rule = f"be {model.n_groups} parameters, one per group"
    several = isinstance(theta, Sequence | np.ndarray) and len(theta) == model.n_groups
    require(several and not isinstance(theta, str), "theta", rule, theta, ScenarioError)
    return tuple(
        _inside(f"theta of group {number}", value, group.domain)
        for number, (value, group) in enumerate(zip(theta, model.groups, strict=True))
    )


def _inside(name: str, value: Any, domain: tuple[float, float]) -> float:
    theta = as_float(name, value, ScenarioError)
    low, high = domain
    rule = f"lie in the domain [{low:g}, {high:g}]"
    require(low <= theta <= high, name, rule, value, ScenarioError)
    return theta


def _domain(model: RewardModel | RegionalModel) -> list[Any]:
    """The domain, or the groups' domains, as plain lists."""
    if isinstance(model, RegionalModel):
        return [list(group.domain) for group in model.groups]
    return list(model.domain)


def _check_part(name: str, value: object, kind: type) -> None:
    require(isinstance(value, kind), name, f"be a {kind.__name__}", value, ScenarioError)
