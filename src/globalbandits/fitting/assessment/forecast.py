"""What policies would lose: simulations of new groups, and replays of the history's own groups."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._means import mean_and_error
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.environments import BernoulliNoise, Environment, Population, ScaledCoinNoise
from globalbandits.errors import FitError, PolicyError
from globalbandits.fitting.assessment.held_out_scores import Difference
from globalbandits.fitting.assessment.standard_errors import StandardErrors, expected_bias_scale
from globalbandits.fitting.assessment.value_of_information import (
    N_DRAWN_GROUPS,
    value_of_information,
)
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.curve_model import ThetaScale
from globalbandits.fitting.estimation.fitted_population import (
    CURVE_MARGIN,
    MIN_DRAWN_RHO,
    DrawnGroups,
    FittedPopulation,
    draw_groups,
)
from globalbandits.fitting.estimation.group_posterior import posterior_weights
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.panel_checks import check_enough_groups
from globalbandits.model import AnyModel, RewardModel
from globalbandits.policies import (
    IDS,
    WAGP,
    Elastic,
    IndependentGittins,
    Policy,
    RandomEffectsThompson,
    ThompsonSampling,
)
from globalbandits.policies.elastic.curve_posterior import SCALES

if TYPE_CHECKING:
    import pandas as pd


N_CHECKPOINTS = 12
MAX_HORIZON = 10_000_000  # rounds
MAX_DEFAULT_ROUNDS = 10_000  # trials are simulated for this long unless a horizon is given
N_DRAWS_PER_GROUP = 20  # plausible sets of means of each group in a replay

# Names of the policies that a forecast compares.
ELASTIC_HISTORY = "Elastic(history)"
INDEPENDENT = "IndependentGittins"
WAGP_NAME = "WAGP"
# These policies take the curves for true, whatever the rewards are.
CURVE_TRUSTING = (WAGP_NAME, "IDS")
IDS_CELLS = 500  # of the parameter; the regret is that of 2,000 cells at a quarter of the time
REPLAY_FIXED_ARM = "one arm always"

# WAGP is recommended only with this many groups, and only if it loses less than this share of what
# Elastic(history) loses.
MIN_GROUPS_TO_TRUST_CURVES = 50
MAX_SHARE_OF_ELASTIC_REGRET = 0.5

# The prior of Elastic(history): log-normal weights around the size of errors.
PRIOR_LOG_SPREAD = 0.7
MIN_PRIOR_WEIGHT = 0.001
EXACT_PRIOR_WEIGHT = 0.01  # of curves without errors
# History shows the errors of single arms too, so that Elastic(history) expects few others.
HISTORY_EXCEPTION, HISTORY_CAUTION = 0.01, 0.03


@dataclasses.dataclass(frozen=True, eq=False)
class Forecast:
    """Regret of policies over time, in units of worth.

    Attributes:
        times: Rounds: shape (n_times,); the last one is the horizon.
        runs: Regret of every policy in every simulated group: shape (n_runs, n_times) each. All
            policies play the same groups with the same random numbers, so differences are paired.
        fixed: Name of the best fixed arm, ``"always 5.0"``.
        fixed_gaps: Regret per round of the best fixed arm in every group drawn from the
            population. It needs no simulation. Empty if a fixed arm must not be considered.
    """

    times: IntArray
    runs: dict[str, FloatArray]
    fixed: str
    fixed_gaps: FloatArray

    @property
    def horizon(self) -> int:
        """The last of the times."""
        return int(self.times[-1])

    @property
    def n_runs(self) -> int:
        """Number of simulated groups."""
        return len(next(iter(self.runs.values())))

    @cached_property
    def means(self) -> dict[str, FloatArray]:
        """Mean regret over time; the policy with the least at the horizon comes first."""
        found = {name: runs.mean(axis=0) for name, runs in self.runs.items()}
        if self.fixed_gaps.size:
            found[self.fixed] = float(self.fixed_gaps.mean()) * self.times
        return dict(sorted(found.items(), key=lambda each: float(each[1][-1])))

    @cached_property
    def errors(self) -> dict[str, FloatArray]:
        """Standard errors of the means."""
        found = {
            name: mean_and_error(self.runs[name], axis=0)[1]
            for name in self.means
            if name != self.fixed
        }
        if self.fixed_gaps.size:
            found[self.fixed] = mean_and_error(self.fixed_gaps[:, None] * self.times, axis=0)[1]
        return found

    def beyond(self, name: str, other: str) -> Difference:
        """Return a policy's regret minus another's at the horizon; paired if both were run."""
        means, errors = self._differences(name, other)
        return Difference(float(means[-1]), float(errors[-1]), self.n_runs)

    def break_even(self, name: str, other: str = INDEPENDENT) -> int | None:
        """Return the time from which a policy loses more than another, up to the horizon.

        The difference must exceed one standard error. None if it does not at the horizon.
        """
        if other not in self.means or name == other:
            return None
        means, errors = self._differences(name, other)
        level = np.flatnonzero(means <= errors)
        first = 0 if level.size == 0 else int(level[-1]) + 1
        return int(self.times[first]) if first < self.times.size else None

    def far_below_elastic(self, name: str) -> bool:
        """Whether a policy was run and loses less than half of what Elastic(history) does."""
        if name not in self.means or ELASTIC_HISTORY not in self.means:
            return False
        limit = MAX_SHARE_OF_ELASTIC_REGRET * float(self.means[ELASTIC_HISTORY][-1])
        return float(self.means[name][-1]) < limit

    def without_fixed_arm(self) -> "Forecast":
        """Return the forecast of the simulated policies only."""
        return dataclasses.replace(self, fixed_gaps=np.empty(0))

    def _differences(self, name: str, other: str) -> tuple[FloatArray, FloatArray]:
        """Return mean differences over time and their standard errors."""
        means = np.asarray(self.means[name] - self.means[other])
        if self.fixed in (name, other):
            return means, np.hypot(self.errors[name], self.errors[other])
        return means, mean_and_error(self.runs[name] - self.runs[other], axis=0)[1]

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """One row per policy and time: mean regret and its standard error."""
        import pandas as pd

        index = pd.MultiIndex.from_product(
            [list(self.means), self.times.tolist()], names=["policy", "rounds"]
        )
        columns = {
            "regret": np.concatenate(list(self.means.values())),
            "se": np.concatenate([self.errors[name] for name in self.means]),
        }
        return pd.DataFrame(columns, index=index)


class Prospects(NamedTuple):
    """The forecasts for new groups that a verdict uses."""

    forecast: Forecast
    cautious: Forecast | None  # with the bias at its 90 % quantile; None if no rule needs it


class ForecastSettings(NamedTuple):
    """How a forecast is simulated."""

    horizon: int = 1_000
    runs: int = 200
    seed: int = 0
    progress: bool = False  # whether to show a bar
    known_horizon: int | None = None  # that of Elastic(history)

    @classmethod
    def checked(
        cls, horizon: object, runs: object, seed: object, progress: bool
    ) -> "ForecastSettings":
        """Return the settings, or raise an error that names the wrong one.

        Without a horizon the default one is simulated, and Elastic(history) plays without one.
        """
        known = None
        if horizon is not None:
            known = as_integer("horizon", horizon, 1, FitError, maximum=MAX_HORIZON)
        return cls(
            horizon=cls._field_defaults["horizon"] if known is None else known,
            known_horizon=known,
            runs=as_integer("runs", runs, 2, FitError),
            seed=as_integer("seed", seed, 0, FitError),
            progress=progress,
        )

    def in_rounds(self, panel: Panel) -> "ForecastSettings":
        """Return the settings with a horizon in rounds; it was given in rows of the history.

        If it was not given and rows are counts or trials, a new group is played as long as the
        average group of the history was.
        """
        if not (panel.with_trials or panel.unbounded):
            return self
        rounds = panel.n_rewards / panel.n_groups
        if self.known_horizon is not None:
            rounds = self.known_horizon * panel.rounds_per_row
        rule = f"be at most {MAX_HORIZON} trials"
        require(rounds <= MAX_HORIZON, "horizon", rule, round(rounds), FitError)
        if self.known_horizon is None:
            rounds = min(rounds, MAX_DEFAULT_ROUNDS)
        rounds = max(1, round(rounds))
        return self._replace(
            horizon=rounds, known_horizon=None if self.known_horizon is None else rounds
        )


class ErrorSizes(NamedTuple):
    """Sizes of the groups' own errors, as `Elastic` measures them.

    A size is the standard deviation of an error on the log-odds scale, divided by four. At a mean
    of 1/2 that is its standard deviation on the unit reward scale.
    """

    scale: float  # root mean square over arms
    relative: tuple[float, ...]  # size of each of the model's arms, relative to the scale


def error_sizes(
    fitted: FittedPopulation, bias_scale: float, arms: Sequence[Any], model: AnyModel
) -> ErrorSizes:
    """Return the sizes of errors that a policy should expect.

    Args:
        fitted: The population, with the bias of each arm.
        bias_scale: Rms bias to expect, on the unit scale; the proportions of arms count half.
        arms: The arms of the population.
        model: Its arms may be more; those that the history lacks have errors of the usual size.
    """
    factor = bias_scale / max(fitted.bias_scale, 1e-12)
    sizes = factor * fitted.bias / (4.0 * np.maximum(fitted.spread, CURVE_MARGIN))
    scale = float(np.sqrt(np.mean(sizes**2)))
    relative = np.ones(model.n_arms)
    # Half of the variance is that of all arms: a few groups may show no error of an arm by chance.
    own = 0.5 + 0.5 * (sizes / max(scale, 1e-12)) ** 2
    relative[[model.arms.index(arm) for arm in arms]] = np.sqrt(own)
    return ErrorSizes(scale, tuple(relative.round(4).tolist()))


def error_prior(size: float) -> tuple[float, ...]:
    """Return the weights of `Elastic`'s error sizes: log-normal around this size.

    The weight of size s is ``exp(-(ln(s / size) / 0.7)² / 2)``, at least .001. Exact curves, s = 0,
    have the weight .01.

    >>> [round(weight, 3) for weight in error_prior(0.04)]
    [0.01, 0.001, 0.012, 0.141, 0.613, 1.0, 0.613, 0.141, 0.012]
    """
    centre = max(size, 1e-6)

    def weight(size: float) -> float:
        if size == 0:
            return EXACT_PRIOR_WEIGHT
        density = math.exp(-0.5 * (math.log(size / centre) / PRIOR_LOG_SPREAD) ** 2)
        return round(max(MIN_PRIOR_WEIGHT, density), 4)

    return tuple(weight(size) for size in SCALES)


def history_policy(sizes: ErrorSizes, horizon: int | None = None) -> Elastic:
    """Return Elastic with the error sizes that the history shows, arm by arm."""
    return Elastic(
        horizon=horizon,
        exception=HISTORY_EXCEPTION,
        caution=HISTORY_CAUTION,
        prior=error_prior(sizes.scale),
        arm_errors=sizes.relative,
    )


def candidate_policies(
    sizes: ErrorSizes, model: RewardModel, horizon: int | None = None
) -> dict[str, Policy]:
    """Return the policies to compare by name, without those that cannot play the model.

    Args:
        sizes: The sizes of the curves' errors.
        model: What they play.
        horizon: The horizon of Elastic(history), or None.
    """
    every: dict[str, Policy] = {
        ELASTIC_HISTORY: history_policy(sizes, horizon),
        "Elastic": Elastic(),
        "RandomEffectsThompson(history)": RandomEffectsThompson(prior=error_prior(sizes.scale)),
        INDEPENDENT: IndependentGittins(),
        "IDS": IDS(cells=IDS_CELLS),
        WAGP_NAME: WAGP(),
        "ThompsonSampling": ThompsonSampling(),
    }

    def can_play(policy: Policy) -> bool:
        try:
            policy.setup(model)
        except PolicyError:
            return False
        return True

    return {name: policy for name, policy in every.items() if can_play(policy)}


def forecast_new_groups(
    fitted: FittedPopulation,
    model: RewardModel,
    worth: Worth,
    scale: ThetaScale,
    errors: StandardErrors,
    n_groups: int,
    settings: ForecastSettings,
) -> Prospects:
    """Simulate the candidate policies in new groups.

    Policies that trust the curves are also simulated with a larger bias, if a rule of the verdict
    could choose them.

    Args:
        fitted: The population, with the offered arms.
        model: Its model.
        worth: The worth of the offered arms.
        scale: Theta at the population's points.
        errors: The standard errors of the fit, which bound the bias.
        n_groups: The number of groups of the history.
        settings: How to simulate.
    """
    expected = error_sizes(fitted, expected_bias_scale(fitted, errors), worth.arms, model)
    policies = candidate_policies(expected, model, settings.known_horizon)
    forecast = forecast_regret(fitted, model, worth, scale, policies, settings)
    cautious = None
    trusting = forecast.far_below_elastic(WAGP_NAME)
    if n_groups >= MIN_GROUPS_TO_TRUST_CURVES and trusting:
        few = {name: policies[name] for name in (ELASTIC_HISTORY, WAGP_NAME) if name in policies}
        biased = fitted.with_bias_scale(max(errors.bias_scale_high, fitted.bias_scale))
        cautious = forecast_regret(biased, model, worth, scale, few, settings)
    return Prospects(forecast, cautious)


def forecast_regret(
    fitted: FittedPopulation,
    model: RewardModel,
    worth: Worth,
    scale: ThetaScale,
    policies: Mapping[str, Policy],
    settings: ForecastSettings,
) -> Forecast:
    """Simulate policies in new groups of a population.

    Args:
        fitted: The population.
        model: The model that policies use.
        worth: The worth of the population's arms.
        scale: Theta at the population's points.
        policies: By name.
        settings: How to simulate.
    """
    drawn = draw_groups(fitted, N_DRAWN_GROUPS, np.random.default_rng(settings.seed))
    true = worth(drawn.means)
    fixed = int(true.mean(axis=0).argmax())
    env = groups_environment(drawn, fitted, model, worth.arms, scale)
    times, runs = simulate_groups(env, policies, settings)
    gaps = fixed_arm_gaps(fixed, true, env, worth.arms)
    return Forecast(times, runs, fixed_arm_name(worth.arms[fixed]), gaps)


def fixed_arm_gaps(
    fixed: int, true: FloatArray, env: Environment, arms: Sequence[Any]
) -> FloatArray:
    """Return what one arm loses per round in every group: shape (n_groups,).

    Args:
        fixed: The arm, an index of ``arms``.
        true: Worth of the groups' arms: shape (n_groups, n_arms).
        env: The groups' environment; its model may have arms that the history lacks.
        arms: The arms of the history.
    """
    best, population = true.max(axis=1), env.theta
    others = [place for place, arm in enumerate(env.model.arms) if arm not in arms]
    if others and isinstance(population, Population) and population.samples is not None:
        best = np.maximum(best, env.model.worth(population.samples)[:, others].max(axis=1))
    return np.asarray(best - true[:, fixed])


def fixed_arm_name(arm: Any) -> str:
    """Return the name of a fixed arm among the policies."""
    return f"always {arm!r}"


def simulate_groups(
    env: Environment, policies: Mapping[str, Policy], settings: ForecastSettings
) -> tuple[IntArray, dict[str, FloatArray]]:
    """Return times, and the regret of every policy in every run: shape (n_runs, n_times)."""
    from globalbandits.simulation import simulate
    from globalbandits.simulation.simulate import require_all_runs

    played = simulate(
        env,
        policies,
        settings.horizon,
        settings.runs,
        settings.seed,
        checkpoints=N_CHECKPOINTS,
        spacing="log",
        progress=settings.progress,
    )
    result = require_all_runs(played, settings.runs)
    regret = result.dataset["regret"]
    times = np.asarray(result.dataset["time"].values)
    return times, {name: np.asarray(regret.sel(policy=name).values) for name in policies}


def groups_environment(
    drawn: DrawnGroups,
    fitted: FittedPopulation,
    model: RewardModel,
    arms: Sequence[Any],
    scale: ThetaScale,
) -> Environment:
    """Return an environment whose runs have one of the drawn groups each.

    Args:
        drawn: The groups.
        fitted: The population they come from, with its noise.
        model: The model that policies use.
        arms: The arms of groups and population.
        scale: Theta at the points of the groups.
    """
    places = [model.arms.index(arm) for arm in arms]
    middles = np.clip(0.5 * (scale.edges[1:] + scale.edges[:-1]), *model.domain)
    theta = middles[drawn.points]
    low, high = model.reward_range
    shifts = np.zeros((theta.size, model.n_arms))
    curves = model.means(theta)[:, places]
    shifts[:, places] = low + (high - low) * drawn.means - curves
    population = Population(samples=theta.tolist(), shifts=shifts.tolist())
    if fitted.binary:
        return Environment(model, theta=population, noise=BernoulliNoise())
    shares = np.full(model.n_arms, float(fitted.phi.mean()))
    shares[places] = fitted.phi
    return Environment(model, theta=population, noise=ScaledCoinNoise(tuple(shares.tolist())))


def replay_groups(
    panel: Panel,
    fitted: FittedPopulation,
    worth: Worth,
    learn: Callable[[Panel], tuple[FittedPopulation, RewardModel, ThetaScale]],
    settings: ForecastSettings,
) -> Forecast:
    """Play the groups of each half of a history with what is learned from the other half.

    The true means of a group are not known exactly: every run draws plausible
    means of one group, given its rewards and the fit to the whole history.

    Args:
        panel: The history.
        fitted: The fit to all of it.
        worth: The worth of the arms.
        learn: Learns population, model and theta from half of the groups.
        settings: How to simulate.
    """
    order = np.random.default_rng(settings.seed).permutation(panel.n_groups)
    halves = order[: panel.n_groups // 2], order[panel.n_groups // 2 :]
    for half in halves:
        check_enough_groups(panel.take(half), "replay", "in each half of the history")
    runs: list[dict[str, FloatArray]] = []
    gaps: list[FloatArray] = []
    for number, (half, other) in enumerate((halves, halves[::-1])):
        seed = settings.seed + number
        learned, model, theta_scale = learn(panel.take(np.sort(other)))
        drawn = plausible_groups(panel.take(half), fitted, np.random.default_rng(seed))
        env = groups_environment(drawn, learned, model, panel.arms, theta_scale)
        expected = error_sizes(learned, learned.bias_scale, panel.arms, model)
        policies = candidate_policies(expected, model, settings.known_horizon)
        half_settings = settings._replace(runs=max(2, settings.runs // 2), seed=seed)
        times, found = simulate_groups(env, policies, half_settings)
        fixed = value_of_information(learned, worth, seed).fixed
        runs.append(found)
        gaps.append(fixed_arm_gaps(fixed, worth(drawn.means), env, panel.arms))
    both = {name: np.concatenate([each[name] for each in runs]) for name in runs[0]}
    return Forecast(times, both, REPLAY_FIXED_ARM, np.concatenate(gaps))


def plausible_groups(
    panel: Panel, fitted: FittedPopulation, rng: np.random.Generator
) -> DrawnGroups:
    """Draw twenty plausible sets of true means for each group, given its rewards.

    A point of the population is drawn from the group's posterior, then every arm's mean from a
    Beta in which the curve weighs (1 - rho) / rho rewards, and n rewards weigh n / phi.
    """
    weights = posterior_weights(panel, fitted)
    below = np.cumsum(weights, axis=1)
    u = rng.random((panel.n_groups, N_DRAWS_PER_GROUP)) * below[:, -1:]
    points = np.stack(
        [np.searchsorted(row, each, side="right") for row, each in zip(below, u, strict=True)]
    ).ravel()
    rho = np.maximum(fitted.rho, MIN_DRAWN_RHO)
    curves = fitted.curves[points]
    strength = (1.0 - rho) / rho
    inside = np.clip(curves, CURVE_MARGIN, 1.0 - CURVE_MARGIN)
    effective = panel.counts if panel.binary else panel.counts / fitted.phi
    counts = np.repeat(effective, N_DRAWS_PER_GROUP, axis=0)
    mean = np.repeat(panel.means, N_DRAWS_PER_GROUP, axis=0)
    means = rng.beta(
        strength * inside + counts * mean, strength * (1.0 - inside) + counts * (1.0 - mean)
    )
    return DrawnGroups(points.astype(np.int64), curves, means)
