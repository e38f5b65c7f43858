"""`SaleNoise`: a customer pays the arm's amount, or nothing."""

import dataclasses
import numbers
from typing import NamedTuple

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray
from globalbandits._validation import as_floats, require, show
from globalbandits.environments.noises.noise import Noise, NoiseRules
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

N_DOMAIN_POINTS = 33  # at which means are compared with amounts
# Share of an amount by which the rounding of curves may exceed it.
ROUNDING_TOLERANCE = 1e-9


class Parameters(NamedTuple):
    """The payments of customers, on the unit scale."""

    nothing: float
    amounts: FloatArray  # (n_arms,)


def prepare(parameters: Parameters, arm: int, mean: float) -> float:
    """Return the probability of a sale.

    A bias may put the mean outside of [nothing, amount]. Then the arm pays the nearer of the two,
    or the end of the reward range beyond it. The shape exceeds [0, 1] by the probability of that
    end. So the mean is exact in this case too.
    """
    nothing, amount = parameters.nothing, float(parameters.amounts[arm])
    if amount < mean and amount < 1.0:
        return 1.0 + (min(mean, 1.0) - amount) / (1.0 - amount)
    if mean < nothing and nothing > 0.0:
        return (max(mean, 0.0) - nothing) / nothing
    return (mean - nothing) / (amount - nothing)


def draw(parameters: Parameters, arm: int, shape: float, u: float) -> float:
    """Return the arm's amount with probability ``shape``, or nothing."""
    amount = float(parameters.amounts[arm])
    if shape > 1.0:
        return 1.0 if u < shape - 1.0 else amount
    if shape < 0.0:
        return 0.0 if u < -shape else parameters.nothing
    return amount if u < shape else parameters.nothing


@register("sale")
@dataclasses.dataclass(frozen=True)
class SaleNoise(Noise):
    """A customer pays the arm's amount, or nothing.

    Use it for models that observe revenue at a price. The probability of a sale is the arm's mean
    divided by its amount. For models that observe the sale itself, 0 or 1, use `BernoulliNoise`.

    Args:
        amounts: the payment for a sale of each arm, in the units of the rewards. The default is
            the arms themselves, which must then be numbers (prices). An amount is positive, at
            least its arm's largest mean, and inside the reward range.

    >>> import globalbandits as gb
    >>> model = gb.demand.linear([2.0, 5.0], domain=(0.0, 0.2))  # rewards from 0 to 5
    >>> noise = SaleNoise()
    >>> parameters = noise.parameters(model)
    >>> shape = noise.rules.prepare(parameters, 0, 0.3)  # price 2, mean 1.5: three of four buy
    >>> [5 * noise.rules.draw(parameters, 0, shape, u) for u in (0.7, 0.8)]
    [2.0, 0.0]
    """

    amounts: tuple[float, ...] | None = None

    rules = NoiseRules(prepare, draw)

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        if self.amounts is not None:
            amounts = as_floats("amounts", self.amounts, ScenarioError)
            for amount in amounts:
                require(amount > 0.0, "amounts", "be positive", amount, ScenarioError)
            object.__setattr__(self, "amounts", amounts)

    def parameters(self, model: RewardModel) -> Parameters:
        """Return the amounts on the unit scale."""
        amounts = self.amounts
        if amounts is None:
            amounts = _arms_as_amounts(model.arms)
        rule = f"be {model.n_arms}, one per arm"
        require(len(amounts) == model.n_arms, "amounts", rule, amounts, ScenarioError)
        low, high = model.reward_range
        rule = "be 0 or less at its lower end, so that nothing can be paid"
        require(low <= 0.0, "reward_range", rule, model.reward_range, ScenarioError)
        means = model.means(np.linspace(*model.domain, N_DOMAIN_POINTS))
        ends = zip(means.min(axis=0).tolist(), means.max(axis=0).tolist(), strict=True)
        for arm, amount, (least, most) in zip(model.arms, amounts, ends, strict=True):
            rule = "be at least 0, as a sale pays something or nothing"
            require(
                least >= -ROUNDING_TOLERANCE * amount,
                f"mean of arm {show(arm)}",
                rule,
                least,
                ScenarioError,
            )
            name = f"amount of arm {show(arm)}"
            rule = f"be at least its largest mean {most:.6g}"
            require(amount * (1.0 + ROUNDING_TOLERANCE) >= most, name, rule, amount, ScenarioError)
            rule = f"be at most {high:g}, where rewards end"
            require(amount <= high, name, rule, amount, ScenarioError)
        # No amount is equal to `nothing` here, because its arm would have a constant mean.
        scaled = (np.array(amounts) - low) / (high - low)
        return Parameters((0.0 - low) / (high - low), scaled)


def _arms_as_amounts(arms: tuple[object, ...]) -> tuple[float, ...]:
    """Return the arms as prices; raise if they are not positive numbers."""
    for arm in arms:
        is_price = isinstance(arm, numbers.Real) and not isinstance(arm, (bool, np.bool_))
        rule = "be given where arms are not prices: SaleNoise(amounts=[...])"
        require(is_price and float(arm) > 0.0, "amounts", rule, arm, ScenarioError)  # type: ignore[arg-type]
    return as_floats("amounts", arms, ScenarioError)
