"""What a fixed policy would have earned, from a log with probabilities, without the model's curves.

A fixed policy plays arm k with probability ``pi_k``. Decision t showed arm a with the logged
probability ``p_t(a)`` and earned y. The weight ``w = pi_a / p_t(a)`` makes ``w y`` an unbiased
estimate of the policy's value, whatever rule chose the arms (Horvitz and Thompson 1952), because
``p_t`` was fixed before the draw.

The interval is that of betting (Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022,
"Anytime-valid off-policy inference for contextual bandits"). Let worth begin at 0 and let g_k be a
predicted worth from earlier rewards. For any constant ``c >= 0`` the variable ::

    x_t = c + w (y - min(g_a, c / w)) + sum_k min(pi_k g_k, c p_t(k))

is at least 0, and its conditional mean is at most c plus the value; it is less only if the log
gives no chance to an arm of the policy. So ``prod_t (1 - f + f x_t / (c + v))`` is a
supermartingale if v is the value, for every share f in [0, 1]. The lower bound is the v at which
the average of these products, over shares and constants, reaches 1 / alpha. The upper bound is
the largest possible worth minus such a lower bound of the shortfall from it.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._rewards import as_batch, given_arm
from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_float, as_floats, require, show
from globalbandits.errors import EvidenceError
from globalbandits.evidence.statements import Statement, as_confidence
from globalbandits.model import AnyModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# Decisions that must have shown each arm of the policy. With fewer, an arm that sells to one
# customer in thirty may have sold nothing.
MIN_SHOWN = 30
# A mean weight that is further below 1 shows that arms of the policy had no chance.
MAX_STANDARD_ERRORS = 4.0
# Shares of the capital that is bet, and constants c as multiples of the largest worth. The capital
# starts in equal parts.
_SHARES = 2.0 ** -np.arange(0.5, 14.0)
_CONSTANTS = (0.0, 1.0, 4.0, 16.0)
_BISECTIONS = 30
_TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class DecisionLog:
    """Decisions in their order: the arm shown, its reward, and the probability it had.

    Args:
        model: the reward model. Rewards are in its units.
        arms: index of the arm of each decision.
        rewards: the reward of each decision.
        probabilities: the probability that the shown arm had; or one row per decision with the
            probabilities of all arms, as `Learner.probabilities` returns them. The rows make
            intervals narrower. Decisions whose probabilities are nan are left out of estimates.
            None if no probabilities are known.
        arm_values: the values of the arms, such as prices, instead of their indices.

    >>> import globalbandits as gb
    >>> model = gb.demand.exponential([4.0, 5.0, 6.0], cost=1.5)
    >>> log = DecisionLog(model, arms=[0, 2], rewards=[1, 0], probabilities=[0.5, 0.2])
    >>> len(log)
    2
    """

    model: AnyModel
    arms: "ArrayLike | None" = None
    rewards: "ArrayLike | None" = None
    probabilities: "ArrayLike | None" = None
    arm_values: dataclasses.InitVar[Sequence[Any] | None] = None

    def __post_init__(self, arm_values: Sequence[Any] | None) -> None:
        """Check every decision."""
        model, arms = self.model, self.arms
        if arm_values is not None:
            arms = given_arm(arms, arm_values, model.arms, many=True)
        indices, units = as_batch(arms, self.rewards, model.n_arms, model.reward_range)
        low, high = model.reward_range
        object.__setattr__(self, "arms", indices)
        object.__setattr__(self, "rewards", low + (high - low) * units)
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", self._as_probabilities(indices))

    def _as_probabilities(self, arms: IntArray) -> FloatArray:
        try:
            found = np.array(self.probabilities, np.float64)
        except (TypeError, ValueError):
            raise EvidenceError("probabilities must be numbers, got other objects") from None
        n, n_arms = len(arms), self.model.n_arms
        rule = f"have the shape ({n},) or ({n}, {n_arms})"
        fits = found.shape in ((n,), (n, n_arms))
        require(fits, "probabilities", rule, found.shape, EvidenceError)
        bad = ~np.isnan(found) & ~((found >= 0.0) & (found <= 1.0 + _TOLERANCE))
        shown = found if found.ndim == 1 else found[np.arange(n), arms]
        bad_value = float(found[bad][0]) if bad.any() else 0.0
        require(not bad.any(), "probabilities", "lie in [0, 1]", bad_value, EvidenceError)
        rule = "be above 0 for the arm that was shown"
        require(not (shown <= 0.0).any(), "probabilities", rule, 0.0, EvidenceError)
        if found.ndim == 2:
            sums = found.sum(axis=1)
            wrong = np.abs(sums - 1.0) > _TOLERANCE * n_arms
            value = float(sums[wrong][0]) if wrong.any() else 1.0
            require(not wrong.any(), "probabilities", "sum to 1 in each row", value, EvidenceError)
        return found

    def __len__(self) -> int:
        return len(self._indices)

    def __repr__(self) -> str:
        known = "without" if self.probabilities is None else "with"
        return (
            f"DecisionLog({self.model.n_arms} arms, {len(self):,} decisions {known} probabilities)"
        )

    @property
    def _indices(self) -> IntArray:
        return np.asarray(self.arms)

    @property
    def shown(self) -> IntArray:
        """How often each arm was shown."""
        return np.bincount(self._indices, minlength=self.model.n_arms)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OffPolicyEstimate(Statement):
    """The value of a fixed policy, per decision, from the logged rewards alone.

    ``ips`` is the mean of weighted worths (inverse propensity), ``snips`` divides by the mean
    weight (self-normalised), and ``dr`` adds weighted errors to predictions from earlier rewards
    (doubly robust). Each has a fixed-time standard error. ``low`` and ``high`` hold at all times at
    once.
    """

    probabilities: tuple[float, ...]  # of the policy
    ips: float
    ips_se: float
    snips: float
    snips_se: float
    dr: float
    dr_se: float
    low: float
    high: float
    confidence: float
    n_decisions: int
    n_used: int  # decisions in which every arm of the policy had a chance

    @property
    def amount(self) -> float:
        """The doubly robust estimate."""
        return self.dr

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return (
            f"{self.amount:.6g} per decision, between {self.low:.6g} and {self.high:.6g} "
            f"(confidence {self.confidence:g}, {self.n_used:,} of {self.n_decisions:,} decisions)"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the estimate."""
        return (
            f"{self}. No curve is used. Inverse propensity gives {self.ips:.6g} "
            f"(standard error {self.ips_se:.2g}), self-normalised {self.snips:.6g} "
            f"({self.snips_se:.2g}), doubly robust {self.dr:.6g} ({self.dr_se:.2g}). The interval "
            "holds at all times at once if the logged probabilities are right, rewards lie in the "
            "declared range, and the arms' means do not change."
        )


def off_policy(
    log: DecisionLog, policy: "ArrayLike | Mapping[Any, float]", confidence: float = 0.95
) -> OffPolicyEstimate:
    """Estimate what a fixed policy would have earned per decision, without the model's curves.

    Args:
        log: decisions with probabilities.
        policy: the probability of each arm, by index; or a mapping from values of arms to
            probabilities, such as ``{6.0: 1.0}``.
        confidence: the confidence of the interval.

    Raises:
        EvidenceError: if the log explores too little: an arm of the policy was shown fewer than 30
            times, or had no chance in too many decisions.

    >>> import globalbandits as gb
    >>> rng = np.random.default_rng(0)
    >>> model = gb.demand.exponential([4.0, 5.0, 6.0], cost=1.5)
    >>> arms = rng.integers(3, size=3_000)
    >>> sold = 1.0 * (rng.random(3_000) < model.means(0.2)[arms])
    >>> log = DecisionLog(model, arms=arms, rewards=sold, probabilities=np.full(3_000, 1 / 3))
    >>> found = off_policy(log, {6.0: 1.0})
    >>> round(found.dr, 2), float(model.worth(0.2)[2]) in found
    (1.37, True)
    """
    require(isinstance(log, DecisionLog), "log", "be a DecisionLog", log, EvidenceError)
    confidence = as_confidence(confidence)
    require(len(log) > 0, "log", "have decisions", 0, EvidenceError)
    rule = "have probabilities: log them, or use globalbandits replay --probabilities"
    require(log.probabilities is not None, "log", rule, log, EvidenceError)
    pi = as_policy(policy, log.model)
    least, most = worth_ends(log.model)
    arms, rewards = np.asarray(log.arms), np.asarray(log.rewards)
    chances = np.asarray(log.probabilities)
    used = _supported(chances, arms, pi)
    shown = np.bincount(arms[used], minlength=len(pi))
    _require_exploration(log, pi, shown)
    arms, rewards, chances = arms[used], rewards[used], chances[used]
    worths = _worths(log.model, arms, rewards)
    own = chances if chances.ndim == 1 else chances[np.arange(len(arms)), arms]
    weights = pi[arms] / own
    alpha = 1.0 - confidence
    _require_support(weights)
    rows = chances if chances.ndim == 2 else None
    floor, ceiling = float(pi @ least), float(pi @ most)
    gained = _value_above(worths - least[arms], arms, weights, pi, rows, most - least, alpha / 2)
    missing = _value_above(most[arms] - worths, arms, weights, pi, rows, most - least, alpha / 2)
    points = point_estimates(arms, worths, weights, pi)
    return OffPolicyEstimate(
        probabilities=tuple(pi.tolist()),
        **points,
        low=floor + gained,
        high=ceiling - missing,
        confidence=confidence,
        n_decisions=len(log),
        n_used=len(arms),
    )


def as_policy(policy: Any, model: AnyModel) -> FloatArray:
    """Check the probabilities of a fixed policy.

    >>> import globalbandits as gb
    >>> as_policy({5.0: 0.5, 6.0: 0.5}, gb.demand.exponential([4.0, 5.0, 6.0])).tolist()
    [0.0, 0.5, 0.5]
    """
    n_arms = model.n_arms
    if isinstance(policy, Mapping):
        pi = np.zeros(n_arms)
        for value, chance in policy.items():
            found = [arm for arm in range(n_arms) if model.arms[arm] == value]
            rule = f"name arms of {show(list(model.arms))}"
            require(len(found) > 0, "policy", rule, value, EvidenceError)
            pi[found[0]] += as_float("policy", chance, EvidenceError)
    else:
        pi = np.array(as_floats("policy", policy, EvidenceError))
        rule = f"be {n_arms} probabilities, one per arm"
        require(pi.shape == (n_arms,), "policy", rule, policy, EvidenceError)
    good = bool((pi >= 0.0).all()) and abs(float(pi.sum()) - 1.0) <= _TOLERANCE * n_arms
    rule = "be probabilities of at least 0 that sum to 1"
    require(good, "policy", rule, policy, EvidenceError)
    return np.asarray(pi / pi.sum())


def worth_ends(model: AnyModel) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest worth of a decision for each arm.

    Raises:
        EvidenceError: if worth is not linear in the reward. Then the mean worth of single rewards
            is not the worth of their mean.
    """
    low, high = model.reward_range
    ends = np.array(
        [model.worth_of(arm, [low, 0.5 * (low + high), high]) for arm in range(model.n_arms)]
    )
    gaps = np.abs(ends[:, 1] - 0.5 * (ends[:, 0] + ends[:, 2]))
    arm = int(np.argmax(gaps))
    where = f"arm {model.arms[arm]}, rewards {low:g}, {0.5 * (low + high):g} and {high:g}"
    rule = f"be linear in the reward, as a price less a cost is ({where})"
    linear = gaps[arm] <= 1e-9 * max(1.0, float(np.abs(ends).max()))
    require(linear, "value", rule, ends[arm].tolist(), EvidenceError)
    return ends[:, ::2].min(axis=1), ends[:, ::2].max(axis=1)


def _worths(model: AnyModel, arms: IntArray, rewards: FloatArray) -> FloatArray:
    worths = np.empty(len(arms))
    for arm in np.unique(arms).tolist():
        worths[arms == arm] = model.worth_of(arm, rewards[arms == arm])
    return worths


def _supported(chances: FloatArray, arms: IntArray, pi: FloatArray) -> BoolArray:
    """Return the decisions in which no arm of the policy is known to have had probability 0.

    It depends only on what was known before the draw, so that the others can be left out. If only
    the probability of the shown arm is known, a probability of 1 says that no other arm had one.
    """
    if chances.ndim == 2:
        return np.asarray((chances[:, pi > 0.0] > 0.0).all(axis=1))
    only = np.count_nonzero(pi) == 1
    certain = chances >= 1.0 - 1e-12
    return np.asarray(~np.isnan(chances) & (~certain | (only & (pi[arms] > 0.0))))


def _require_exploration(log: DecisionLog, pi: FloatArray, shown: IntArray) -> None:
    for arm in np.flatnonzero(pi).tolist():
        times, before = int(shown[arm]), int(log.shown[arm])
        if times < MIN_SHOWN:
            value = show(log.model.arms[arm])
            where = "" if times == before else " in decisions that could have shown all its arms"
            raise EvidenceError(
                f"log must show each arm of the policy at least {MIN_SHOWN} times, "
                f"got {value}, which was shown {times} times{where}"
            )


def _require_support(weights: FloatArray) -> None:
    """Refuse a log that gives arms of the policy no chance: the mean weight is then below 1."""
    mean = float(weights.mean())
    error = float(weights.std()) / math.sqrt(len(weights))
    if mean + MAX_STANDARD_ERRORS * error < 1.0:
        raise EvidenceError(
            f"weights must average 1, got {mean:.3g}: the log gives no chance to arms of the "
            f"policy in about {1.0 - mean:.0%} of the decisions"
        )


def point_estimates(
    arms: IntArray, worths: FloatArray, weights: FloatArray, pi: FloatArray
) -> dict[str, float]:
    """Return the three estimates of a policy's value and their standard errors."""
    n = len(arms)
    weighted = weights * worths
    ips, mean_weight = float(weighted.mean()), float(weights.mean())
    snips = ips / mean_weight if mean_weight > 0.0 else math.nan
    residuals = weights * (worths - snips) / mean_weight if mean_weight > 0.0 else weighted
    predicted = predictions(arms, worths, len(pi))
    robust = predicted @ pi + weights * (worths - predicted[np.arange(n), arms])
    root = math.sqrt(n)
    return {
        "ips": ips,
        "ips_se": float(weighted.std(ddof=min(1, n - 1))) / root,
        "snips": snips,
        "snips_se": float(np.sqrt(np.mean(residuals**2))) / root,
        "dr": float(robust.mean()),
        "dr_se": float(robust.std(ddof=min(1, n - 1))) / root,
    }


def predictions(arms: IntArray, worths: FloatArray, n_arms: int) -> FloatArray:
    """Return each arm's mean worth before each decision, 0 before its first: (n, n_arms).

    A decision's own worth is not part of its prediction, so that estimates stay unbiased.
    """
    n = len(arms)
    one = np.zeros((n + 1, n_arms))
    one[np.arange(1, n + 1), arms] = 1.0
    counts = one.cumsum(axis=0)[:-1]
    one[np.arange(1, n + 1), arms] = worths
    sums = one.cumsum(axis=0)[:-1]
    return np.asarray(np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0.0))


def _value_above(
    gains: FloatArray,
    arms: IntArray,
    weights: FloatArray,
    pi: FloatArray,
    rows: FloatArray | None,
    lengths: FloatArray,
    alpha: float,
) -> float:
    """Return a lower bound of the policy's mean gain, for gains of at least 0.

    Args:
        gains: what each decision earned above the least possible.
        arms: the arms shown.
        weights: the weights of the decisions.
        pi: the policy.
        rows: the probabilities of all arms in each decision; without them predictions cannot be
            used, because only the chance of the shown arm is known.
        lengths: the largest gain of each arm.
        alpha: the probability that the bound is ever above the mean gain.
    """
    # Gains in units of the policy's largest possible one.
    unit = float(pi @ lengths)
    if unit <= 0.0:
        return 0.0
    scaled = weights * gains / unit
    bets = [(0.0, scaled)]
    if rows is not None:
        guessed = predictions(arms, gains / unit, len(pi))
        own = guessed[np.arange(len(arms)), arms]
        for constant in _CONSTANTS[1:]:
            kept = np.minimum(pi * guessed, constant * rows).sum(axis=1)
            errors = scaled - np.minimum(weights * own, constant)
            bets.append((constant, constant + kept + errors))

    def capital(value: float) -> float:
        """Return the logarithm of the average capital of all bets against this value."""
        logs = []
        for constant, x in bets:
            ratio = x / (constant + value)
            logs += [float(np.log1p(share * (ratio - 1.0)).sum()) for share in _SHARES]
        return float(np.logaddexp.reduce(logs)) - math.log(len(logs))

    # The capital falls as the value rises.
    low, high = 0.0, 1.0
    if capital(high) >= -math.log(alpha):
        return unit
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if capital(middle) >= -math.log(alpha):
            low = middle
        else:
            high = middle
    return unit * low
