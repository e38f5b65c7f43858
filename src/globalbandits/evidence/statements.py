"""The statements that `Evidence` returns: interval, evidence against the model, contenders, drift.

Each statement is a frozen dataclass. `str` gives one sentence, `explain` its meaning and its
assumptions. Intervals and sets have a ``confidence`` of at least 0.5, tests have a false-alarm
rate ``alpha`` of at most 0.5, and the two are never interchanged.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_fraction, require
from globalbandits.errors import EvidenceError
from globalbandits.model import AnyModel, RewardModel
from globalbandits.pages import paragraph
from globalbandits.plots.labels import counted
from globalbandits.statistics import Statistics


def as_confidence(confidence: object) -> float:
    """Check the confidence of an interval or of a set of contenders, such as 0.95.

    >>> as_confidence(0.05)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: confidence must be 0.5 or more, got 0.05
    """
    number = as_fraction("confidence", confidence, EvidenceError)
    require(number >= 0.5, "confidence", "be 0.5 or more", confidence, EvidenceError)
    return number


def as_alpha(alpha: object) -> float:
    """Check the false-alarm rate of a test, such as 0.05.

    >>> as_alpha(0.95)
    Traceback (most recent call last):
        ...
    globalbandits.errors.EvidenceError: alpha must be 0.5 or less, got 0.95
    """
    number = as_fraction("alpha", alpha, EvidenceError)
    require(number <= 0.5, "alpha", "be 0.5 or less", alpha, EvidenceError)
    return number


_MAX_LOG_E_VALUE = math.log(1e300)  # beyond this the e-value is reported as infinite
_MAX_SHOWN_ARMS = 12

_ASSUMPTIONS = (
    "Assumed: rewards lie in the declared range, and each reward's mean given the past is the "
    "model's mean of the arm played. Nothing else: arms may be chosen by any rule, and you may "
    "look as often as you like and stop when you like."
)


def _e_value(log_e_value: float) -> float:
    return math.exp(log_e_value) if log_e_value < _MAX_LOG_E_VALUE else math.inf


def _e_value_text(log_e_value: float) -> str:
    """An e-value in words; one beyond the range of floats is a bound, not "inf"."""
    return f"{_e_value(log_e_value):.3g}" if log_e_value < _MAX_LOG_E_VALUE else "above 1e+300"


class Statement:
    """A result with a one-sentence summary (`str`) and an explanation."""

    def explain(self) -> str:
        """The meaning and the assumptions of the statement."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        said = str(self)
        return paragraph(said, strong=True) + paragraph(self.explain().removeprefix(f"{said}. "))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Interval(Statement):
    """A confidence interval for theta that holds at all times at once.

    Both ends are nan if every theta is excluded. ``slack`` is the largest distance by which an
    end may have been rounded outward.
    """

    confidence: float
    low: float
    high: float
    slack: float
    n_observations: int

    @property
    def width(self) -> float:
        """Length of the interval; nan if it is empty."""
        return self.high - self.low

    @property
    def is_empty(self) -> bool:
        """Whether every theta is excluded, which refutes the model at this confidence."""
        return math.isnan(self.low)

    def __contains__(self, theta: float) -> bool:
        return self.low <= theta <= self.high

    def __str__(self) -> str:
        where = "nowhere" if self.is_empty else f"in [{self.low:.6g}, {self.high:.6g}]"
        seen = counted(self.n_observations, "observation")
        return f"theta {where} (confidence {self.confidence:g}, {seen})"

    def explain(self) -> str:
        """The meaning and the assumptions of the interval."""
        chance = f"{1.0 - self.confidence:.3g}"
        meaning = (
            f"{self}. The chance that the true theta is ever outside such an interval, at any "
            f"time from the first reward on, is at most {chance}."
        )
        if self.is_empty:
            meaning += (
                " No theta is left: either the model is wrong, or theta has moved, or this is "
                f"the one case in {1.0 / (1.0 - self.confidence):.0f}."
            )
        return f"{meaning} {_ASSUMPTIONS} It is no statement about a model that is wrong."


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfidenceSet(Statement):
    """A confidence set for all unknown numbers together that holds at all times at once.

    ``intervals`` are its projections: the set is usually a thin part of their product. They are
    nan if every vector is excluded.
    """

    confidence: float
    intervals: dict[str, tuple[float, float]]
    share: float  # of the box of the parameters
    n_observations: int
    # Whether the set contains a vector. It is no field, because it cannot be written as data.
    holds: dataclasses.InitVar[Callable[[Any], bool]]

    def __post_init__(self, holds: Callable[[Any], bool]) -> None:
        object.__setattr__(self, "_holds", holds)

    @property
    def is_empty(self) -> bool:
        """Whether every vector is excluded, which refutes the model at this confidence."""
        return self.share == 0.0

    def __contains__(self, theta: Any) -> bool:
        return bool(self._holds(theta))  # type: ignore[attr-defined]

    def __str__(self) -> str:
        parts = [f"{name} in [{a:.6g}, {b:.6g}]" for name, (a, b) in self.intervals.items()]
        where = "nowhere" if self.is_empty else ", ".join(parts)
        return (
            f"{where}; {self.share:.2%} of the box (confidence {self.confidence:g}, "
            f"{counted(self.n_observations, 'observation')})"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the set."""
        meaning = (
            f"{self}. The chance that the true numbers are ever outside such a set, at any time "
            f"from the first reward on, is at most {1.0 - self.confidence:.3g}. The intervals are "
            "its projections, and hold together with the same confidence."
        )
        if self.is_empty:
            meaning += " Nothing is left: the model is wrong, or the numbers have changed."
        return f"{meaning} {_ASSUMPTIONS} It is no statement about a model that is wrong."


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelEvidence(Statement):
    """Evidence against the model, that is, against every theta.

    ``log_e_value`` belongs to all rewards so far. ``peak_log_e_value`` is the largest one at
    any earlier time that was checked (every 100 rewards, and now). The largest counts: a refuted
    model stays refuted, although later rewards may fit it.
    """

    log_e_value: float
    theta: Any  # the least refuted theta: a number, or a dict of several numbers by name
    shares: tuple[float, ...]  # each arm's share of the evidence at that theta
    arms: tuple[Any, ...]  # the arms' values
    n_arms_seen: int
    n_observations: int
    peak_log_e_value: float = -math.inf
    end: str = ""  # "lower" or "upper" if theta lies at that end of the domain

    @property
    def e_value(self) -> float:
        """Wealth of the bets against the least refuted theta; inf beyond 1e300."""
        return _e_value(self.log_e_value)

    @property
    def peak_e_value(self) -> float:
        """The largest e-value so far."""
        return _e_value(max(self.log_e_value, self.peak_log_e_value))

    @property
    def p_value(self) -> float:
        """min(1, 1 / largest e-value), a p-value that is valid at all times at once."""
        return min(1.0, math.exp(-max(self.log_e_value, self.peak_log_e_value, 0.0)))

    def refuted(self, alpha: float = 0.05) -> bool:
        """Whether the model is refuted, with a false-alarm rate of ``alpha`` over all time."""
        return max(self.log_e_value, self.peak_log_e_value) >= -math.log(as_alpha(alpha))

    def __str__(self) -> str:
        if isinstance(self.theta, dict):
            where = ", ".join(f"{name} {number:.6g}" for name, number in self.theta.items())
        else:
            where = f"theta {self.theta:.6g}"
        end = f" at the {self.end} end of the domain" if self.end else ""
        largest = ""
        if self.peak_log_e_value > max(self.log_e_value, 0.0):
            largest = f", at its largest {_e_value_text(self.peak_log_e_value)}"
        seen = counted(self.n_observations, "observation")
        return (
            f"e-value {_e_value_text(self.log_e_value)} against the model{largest} "
            f"(p {self.p_value:.3g}, least refuted {where}{end}, {seen})"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the e-value, and the arms it comes from."""
        text = (
            f"{self}. If the model is right the e-value ever exceeds 20 with probability at most "
            f"1/20, and 100 with probability at most 1/100. {_ASSUMPTIONS}"
        )
        if self.peak_log_e_value > max(self.log_e_value, 0.0):
            text += (
                " The largest e-value counts: rewards that came later fit some theta on average, "
                "but no theta explained the earlier ones."
            )
        ranked = sorted(zip(self.shares, self.arms, strict=True), key=lambda pair: -pair[0])
        leading = [f"{arm!r} {share:.0%}" for share, arm in ranked[:3] if share > 0.0]
        if leading:
            text += f" Most of it comes from the arms {', '.join(leading)}."
        if self.end:
            text += (
                f" The least refuted theta lies at the {self.end} end of the domain: the true one "
                "may lie beyond it. Widen the domain."
            )
        if self.n_arms_seen < 2:
            text += (
                " Rewards of a single arm fit some theta: play at least two arms now and then, "
                "or the model can never be refuted."
            )
        if isinstance(self.theta, dict):
            text += (
                " A policy that plays one arm nearly always sees little of what is wrong: several "
                "numbers fit the rewards of as many arms."
            )
        return text + " A small e-value does not show that the model is right."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contenders(Statement):
    """The arms that can still be best, with a p-value of "this arm is best" for every arm.

    The best arm has the largest worth. After a refutation of the model (``model_free``) the
    curves are not used: each arm is judged by its own rewards, and ``bounds`` contains
    simultaneous intervals for all mean rewards.
    """

    confidence: float
    arms: tuple[int, ...]  # indices of the arms with p-values above 1 - confidence
    p_values: tuple[float, ...]  # one per arm of the model
    values: tuple[Any, ...]  # the arms' user-facing values
    model_free: bool
    bounds: tuple[tuple[float, float], ...] | None  # per arm, only if model_free
    n_observations: int
    errors: float = 0.0  # how far a mean may lie from its curve, see `Evidence.contenders`

    def __contains__(self, arm: int) -> bool:
        return arm in self.arms

    def __len__(self) -> int:
        return len(self.arms)

    def __str__(self) -> str:
        ranked = sorted(self.arms, key=lambda arm: -self.p_values[arm])
        shown = ", ".join(
            f"{self.values[arm]!r} (p {self.p_values[arm]:.2g})" for arm in ranked[:_MAX_SHOWN_ARMS]
        )
        more = ", ..." if len(ranked) > _MAX_SHOWN_ARMS else ""
        how = ", if the curves are right"
        if self.model_free:
            how = ", without the model"
        elif self.errors:
            how = f", curves within {self.errors:g}"
        return (
            f"{len(self.arms)} of {len(self.values)} arms can be best: {shown}{more} "
            f"(confidence {self.confidence:g}{how}, {counted(self.n_observations, 'observation')})"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the set of contenders."""
        text = (
            f"{self}. The chance that the best arm is ever missing is at most "
            f"{1.0 - self.confidence:.3g}. The p-value of an arm is no probability that it is best."
        )
        if self.model_free:
            return (
                f"{text} The model was refuted, so its curves are not used: what is said holds "
                "if rewards lie in the declared range and the arms' means do not change."
            )
        if self.errors:
            return (
                f"{text} A mean may differ from its curve in either direction: by {self.errors:g} "
                "of the reward range in its middle, and by as much in log-odds elsewhere. "
                f"{_ASSUMPTIONS}"
            )
        return (
            f"{text} {_ASSUMPTIONS} It holds only if the curves do: curves that are slightly wrong "
            "can exclude the best arm long before they are refuted. If you are not certain of "
            "them, ask with errors=0.05."
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Drift(Statement):
    """Whether theta has changed, and when."""

    alpha: float
    log_e_value: float
    since: int | None  # observations before the change, if there is an alarm and a date
    between: tuple[int, int] | None  # times of the copies next to the date
    n_observations: int

    @property
    def alarm(self) -> bool:
        """Whether every constant theta is refuted at this alpha."""
        return self.log_e_value >= -math.log(self.alpha)

    @property
    def e_value(self) -> float:
        """Evidence against every constant theta; inf beyond 1e300."""
        return _e_value(self.log_e_value)

    @property
    def p_value(self) -> float:
        """min(1, 1 / e-value)."""
        return min(1.0, math.exp(-max(self.log_e_value, 0.0)))

    def __str__(self) -> str:
        seen = counted(self.n_observations, "observation")
        how = f"e-value {_e_value_text(self.log_e_value)}, alpha {self.alpha:g}, {seen}"
        if not self.alarm:
            return f"no change found ({how})"
        if self.between is None:
            return f"no constant theta explains the rewards ({how})"
        low, high = self.between
        return (
            f"theta has changed after about {self.since:,} observations "
            f"(between {low:,} and {high:,}; {how})"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the alarm."""
        return (
            f"{self}. While theta stays the same, the chance of ever raising this alarm is at "
            f"most {self.alpha:g}. {_ASSUMPTIONS} A wrong model can raise it too: ask for the "
            "evidence against the model on the rewards since the change. The date is an estimate."
        )


_N_POINTS = 1025  # grid points per round in the search for an extreme value


@dataclasses.dataclass(frozen=True, kw_only=True)
class FreeEarnings(Statement):
    """Earnings from the rewards alone, without the model's curves.

    ``amount`` is the sum over the plays of the mean worth of the arm played minus that of the
    baseline, both from their own rewards. The bounds hold at all times at once. If worth is linear
    in the reward, they are those of two sums of rewards, the baseline's and all others'; otherwise
    they are over all mean rewards in intervals that hold for all arms.
    """

    baseline: Any  # the arm's user-facing value
    amount: float
    low: float
    high: float
    se: float  # fixed-time standard error of the amount
    confidence: float
    n_observations: int
    n_baseline: int  # rewards of the baseline

    def __str__(self) -> str:
        return (
            f"{self.amount:+.6g} against always {self.baseline!r} by the rewards alone, of which "
            f"the baseline has {self.n_baseline:,}: between {self.low:+.6g} and {self.high:+.6g} "
            f"(confidence {self.confidence:g})"
        )

    def explain(self) -> str:
        """The meaning and the assumptions of the amount."""
        return (
            f"{self}. No curve is used: it holds at all times at once if rewards lie in the "
            "declared range and the arms' means do not change."
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Earnings(Statement):
    """Worth of the decisions minus the worth of always playing the baseline arm.

    The sum over decisions of the worth of the arm played minus the worth of the baseline. It
    uses mean rewards, not the observed ones. ``amount`` is the sum at the least refuted theta;
    ``low`` and ``high`` are the smallest and largest sum over the interval of theta.
    ``model_free`` is the same sum from the rewards alone, if the baseline has rewards of its own.
    """

    baseline: Any  # the arm's user-facing value
    amount: float
    low: float
    high: float
    confidence: float
    n_observations: int
    model_free: FreeEarnings | None = None

    @property
    def per_decision(self) -> float:
        """The amount divided by the number of decisions; nan without decisions."""
        return self.amount / self.n_observations if self.n_observations else math.nan

    @property
    def disagrees(self) -> bool:
        """Whether the rewards alone say something else than the curves.

        The interval by the curves is farther than two standard errors from the amount by the
        rewards alone.
        """
        free = self.model_free
        if free is None or math.isnan(self.low):
            return False
        return not self.low - 2.0 * free.se <= free.amount <= self.high + 2.0 * free.se

    def __str__(self) -> str:
        decisions = counted(self.n_observations, "decision")
        free = "" if self.model_free is None else str(self.model_free)
        if math.isnan(self.low):
            if self.model_free is not None:
                return f"{free} over {decisions}; the model is refuted, so its curves are not used"
            return (
                f"nothing can be said of {decisions}: the model is refuted, and "
                f"{self.baseline!r} has no rewards of its own"
            )
        text = (
            f"{self.amount:+.6g} against always {self.baseline!r} over {decisions}: between "
            f"{self.low:+.6g} and {self.high:+.6g} (confidence {self.confidence:g})"
        )
        if free:
            text += f"; {free}"
        if self.disagrees:
            text += ". Curves and rewards disagree: trust the rewards"
        return text

    def explain(self) -> str:
        """The meaning and the assumptions of the amount."""
        return (
            f"{self}. By the curves, it is what the arms played are worth at the least refuted "
            "parameter, less what the baseline would have been worth as often; the bounds are over "
            "all parameters that are not excluded. It holds at all times at once if the model's "
            "curves are right and do not move."
        )


def earned_without_model(
    model: AnyModel,
    statistics: Statistics,
    bounds: FloatArray,
    baselines: IntArray,
    label: Any,
    confidence: float,
) -> FreeEarnings | None:
    """Earnings from the rewards alone; None if a baseline that is needed has no rewards.

    Args:
        model: the reward model; only its value functions are used.
        statistics: counts, sums and squares on the unit scale.
        bounds: simultaneous intervals of the mean rewards, shape (n_arms, 2).
        baselines: for each arm the index of the arm that it is compared with.
        label: the user-facing value of the baseline.
        confidence: confidence of the intervals.
    """
    counts = statistics.counts.astype(np.float64)
    is_baseline = baselines == np.arange(counts.size)
    if not counts[is_baseline].any() or (counts[baselines[counts > 0.0]] == 0.0).any():
        return None
    bottom, top = model.reward_range
    means = np.divide(statistics.sums, counts, out=np.full(counts.size, 0.5), where=counts > 0)
    spread = np.maximum(statistics.squares - counts * means**2, 0.0)
    # An arm with a single reward has no spread of its own. A Bernoulli variance of 1/4 is the
    # largest possible.
    variance = np.where(counts > 1, spread / np.maximum(counts - 1.0, 1.0), 0.25)
    amount, low, high, noise = 0.0, 0.0, 0.0, 0.0

    def worth_at(arm: int) -> tuple[float, float, float, float]:
        """Worth at the mean, its extremes over the interval, and the variance of the first."""
        mean = bottom + (top - bottom) * float(means[arm])
        values = model.worth_of(
            arm, np.linspace(bounds[arm, 0], bounds[arm, 1], _N_INTERVAL_POINTS)
        )
        slope = float(np.ptp(values)) / max(float(np.ptp(bounds[arm])), 1e-300) * (top - bottom)
        error = slope**2 * float(variance[arm]) / float(counts[arm])
        return float(model.worth_of(arm, mean)), float(values.min()), float(values.max()), error

    for baseline in np.flatnonzero(is_baseline & (counts > 0.0)).tolist():
        base, others = worth_at(baseline), 0.0
        for arm in np.flatnonzero((counts > 0.0) & (baselines == baseline)).tolist():
            if arm == baseline:
                continue
            number, own = float(counts[arm]), worth_at(arm)
            others += number
            amount += number * (own[0] - base[0])
            low += number * (own[1] - base[2])
            high += number * (own[2] - base[1])
            noise += number**2 * own[3]
        noise += others**2 * base[3]
    ends = np.array(
        [model.worth_of(k, [bottom, 0.5 * (bottom + top), top]) for k in range(counts.size)]
    )
    bend = float(np.abs(ends[:, 1] - 0.5 * (ends[:, 0] + ends[:, 2])).max())
    slopes = ends[:, 2] - ends[:, 0]
    if bend <= 1e-9 * max(1.0, float(np.abs(ends).max())) and float(slopes.min()) >= 0.0:
        low, high = _linear_bounds(statistics, ends[:, 0], slopes, baselines, 1.0 - confidence)
    return FreeEarnings(
        baseline=label,
        amount=amount,
        low=low,
        high=high,
        se=math.sqrt(noise),
        confidence=confidence,
        n_observations=int(counts.sum()),
        n_baseline=int(counts[is_baseline].sum()),
    )


def _linear_bounds(
    statistics: Statistics,
    floors: FloatArray,
    slopes: FloatArray,
    baselines: IntArray,
    alpha: float,
) -> tuple[float, float]:
    """Bounds of the earnings if arm k is worth ``floors[k] + slopes[k] m_k`` at the mean m_k.

    The plays of all arms but the baselines are one sum, which has half of alpha. The baselines
    share the other half. Their sums stay apart: a weight that depends on later plays would make
    the bound of a common sum invalid.
    """
    is_baseline = baselines == np.arange(floors.size)
    counts = statistics.counts * ~is_baseline
    unit = max(float(slopes[~is_baseline].max(initial=0.0)), 1e-300)
    scales = ~is_baseline * slopes / unit
    radius = unit * _sum_radius(statistics, scales, alpha / 4.0)
    total = float(floors @ counts + (slopes * ~is_baseline) @ statistics.sums)
    low = max(total - radius, float(floors @ counts))
    high = min(total + radius, float((floors + slopes) @ counts))
    share = alpha / 4.0 / int(is_baseline.sum())
    for baseline in np.flatnonzero(is_baseline).tolist():
        number = float(counts[baselines == baseline].sum())
        if number == 0.0:
            continue
        n_own, own = float(statistics.counts[baseline]), float(statistics.sums[baseline])
        is_own = 1.0 * (np.arange(floors.size) == baseline)
        own_radius = _sum_radius(statistics, is_own, share)
        means = max(own - own_radius, 0.0) / n_own, min(own + own_radius, n_own) / n_own
        base = [number * float(floors[baseline] + slopes[baseline] * mean) for mean in means]
        low, high = low - base[1], high - base[0]
    return low, high


def _sum_radius(statistics: Statistics, scales: FloatArray, alpha: float) -> float:
    """How far a sum of scaled rewards is from the sum of their means, at all times.

    Let x and c lie in [0, 1], let m be the mean of x, and b in [0, 1) a bet. With
    ``psi(b) = -log(1 - b) - b``, ``exp(b (x - m) - psi(b) (x - c)**2)`` has a mean of at most 1
    (Howard, Ramdas, McAuliffe and Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic
    confidence sequences", Theorem 4).
    So has that of ``1 - x`` and ``1 - c``. The product over all rewards, averaged over b and c,
    stays below ``1 / alpha`` with a probability of at least ``1 - alpha``.

    Args:
        statistics: counts, sums and squares on the unit scale.
        scales: in [0, 1], of each arm.
        alpha: the probability that one side is ever farther away.
    """
    squares = [
        float(
            scales**2 @ (statistics.squares - 2.0 * c * statistics.sums + c**2 * statistics.counts)
        )
        for c in _CENTERS
    ]
    shifts = -np.outer(squares, -np.log1p(-_BETS) - _BETS)
    log_weight = math.log(shifts.size) - math.log(alpha)
    low, high = 0.0, float(statistics.counts.sum()) + 2.0 * log_weight
    # The capital rises with the distance.
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if float(np.logaddexp.reduce((_BETS * middle + shifts).ravel())) >= log_weight:
            high = middle
        else:
            low = middle
    return high


_BETS = 2.0 ** -np.arange(1.0, 12.0)
_CENTERS = (0.0, 0.25, 0.5, 1.0)
_BISECTIONS = 50
_N_INTERVAL_POINTS = 257  # means at which the extremes of an arm's worth are sought


def earned(
    model: RewardModel,
    counts: IntArray,
    theta: float,
    span: tuple[float, float],
    baselines: IntArray,
) -> tuple[float, float, float]:
    """The amount of `Earnings` at theta, and its smallest and largest value over a span of theta.

    ``baselines`` has for each arm the index of the arm that it is compared with.

    >>> from globalbandits.model import RewardModel
    >>> model = RewardModel.from_functions([lambda t: t, lambda t: 1 - t])
    >>> counts, first = np.array([0, 10]), np.array([0, 0])
    >>> [round(amount, 9) for amount in earned(model, counts, 0.25, (0.2, 0.3), first)]
    [5.0, 4.0, 6.0]
    """

    def extra(thetas: FloatArray) -> FloatArray:
        worth = model.worth(thetas)
        return np.asarray((worth - worth[..., baselines]) @ counts.astype(np.float64))

    low, high = extremes(extra, span)
    return float(extra(np.array([theta]))[0]), low, high


def worth_bounds(model: RewardModel, span: tuple[float, float]) -> FloatArray:
    """Smallest and largest worth of every arm over a span of theta, shape (n_arms, 2)."""
    thetas = np.linspace(*span, _N_POINTS)
    worth = model.worth(thetas)
    return np.stack([worth.min(axis=0), worth.max(axis=0)], axis=1)


def extremes(
    function: Callable[[FloatArray], FloatArray], span: tuple[float, float]
) -> tuple[float, float]:
    """Smallest and largest value of a continuous function over an interval."""
    if math.isnan(span[0]):
        return math.nan, math.nan
    return -_largest(lambda x: -function(x), span), _largest(function, span)


def _largest(function: Callable[[FloatArray], FloatArray], span: tuple[float, float]) -> float:
    """The largest value on grids that get finer around the best point."""
    low, high = span
    best = -math.inf
    while True:
        points = np.linspace(low, high, _N_POINTS)
        values = function(points)
        top = int(values.argmax())
        best = max(best, float(values[top]))
        left, right = points[max(top - 1, 0)], points[min(top + 1, _N_POINTS - 1)]
        if right - left <= 1e-13 * max(span[1] - span[0], 1e-300) or (left, right) == (low, high):
            return best
        low, high = float(left), float(right)
