"""A simulation as plain data: what shards need, ready to be sent to another process."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.environments import Environment
from globalbandits.environments.bias import Bias
from globalbandits.environments.drift import Drift
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.noise import Noise
from globalbandits.environments.population import Population
from globalbandits.evidence.histogram import DEFAULT_BINS
from globalbandits.evidence.stop_rules import Stop
from globalbandits.model import RegionalModel
from globalbandits.model.tables import Tables
from globalbandits.policies import StopWhen
from globalbandits.policies.base import Policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """Environment and policies, without the model's functions, which may not be picklable."""

    policies: tuple[Policy, ...]
    setups: tuple[Any, ...]  # one per policy
    names: tuple[str, ...]
    tables: Tables
    reward_range: tuple[float, float]
    worth_scale: float  # length of the range of what decisions are worth
    arms: tuple[Any, ...]
    theta: float  # nan with a population, or without theta
    means: FloatArray  # (n_arms,) the model's at theta; the truth's without theta
    gaps: FloatArray  # (n_arms,) what a decision for each arm costs by these means
    population: Population | None
    true_means: FloatArray | None  # (n_arms,) means of a truth that stays
    truth: Callable[[Any, Any], Any] | None  # a truth that is a function of (time, arm)
    noise: Noise
    noise_parameters: Any
    drift: Drift | None
    track: Any  # what the drift reads
    bias: Bias | None
    horizon: int
    times: IntArray  # (n_checkpoints,)
    seed: int
    evidence: bool  # whether histograms of the rewards are kept
    stop: Stop | None = None  # when runs end early

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def is_biased(self) -> bool:
        """Whether the true means of a run are shifted away from the curves."""
        shifts = None if self.population is None else self.population.shifts
        return self.bias is not None or shifts is not None

    @property
    def is_nominal(self) -> bool:
        """Whether there is a theta, and so a nominal regret."""
        return self.population is not None or not math.isnan(self.theta)

    @property
    def scale(self) -> float:
        """Length of the reward range."""
        return self.reward_range[1] - self.reward_range[0]


def make_job(
    env: Environment,
    policies: Mapping[str, Policy],
    horizon: int,
    times: IntArray,
    seed: int,
    *,
    evidence: bool = False,
    stop: StopWhen | None = None,
) -> Job:
    """Extract from the environment what shards need."""
    model = env.model
    has_fixed_truth = env.truth is not None and env.moving_truth is None
    true_means = env.true_means() if has_fixed_truth else None
    means, gaps = _nominal_means(env, true_means)
    regional = isinstance(model, RegionalModel)
    return Job(
        policies=tuple(policies.values()),
        setups=tuple(policy.setup(model) for policy in policies.values()),
        names=tuple(policies),
        # Evidence is about one parameter: `model.tables` refuses arms in groups.
        tables=model.joint_tables if regional and not evidence else model.tables,
        reward_range=model.reward_range,
        worth_scale=model.worth_range[1] - model.worth_range[0],
        arms=model.arms,
        theta=env.start,
        means=means,
        gaps=gaps,
        population=env.population,
        true_means=true_means,
        truth=env.moving_truth,
        noise=env.noise,
        noise_parameters=env.noise.parameters(model),
        drift=env.drift,
        track=None if env.drift is None else env.drift.track(model.domain, env.start),
        bias=env.bias,
        horizon=horizon,
        times=times,
        seed=seed,
        evidence=evidence,
        stop=None if stop is None else stop.setup(model),
    )


def _nominal_means(
    env: Environment, true_means: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Means and gaps of the model at theta; of the truth if only that is given."""
    model = env.model
    if env.theta is None and true_means is not None:
        worth = worth_of_means(model, true_means)
        return true_means, worth.max() - worth
    if isinstance(env.theta, tuple):
        return model.means(env.theta), model.gaps(env.theta)
    theta = env.start
    if math.isnan(theta):
        # Any parameter will do: neither regret depends on it.
        theta = 0.5 * (model.domain[0] + model.domain[1])
    return model.means(theta), model.gaps(theta)


class Records(NamedTuple):
    """The records of some runs."""

    regret: FloatArray  # (policy, run, time)
    nominal_regret: FloatArray  # (policy, run, time)
    estimate: FloatArray  # (policy, run, time)
    pulls: IntArray  # (policy, run, arm)
    last_suboptimal: IntArray  # (policy, run)
    choice: IntArray  # (policy, run) what the policy would play after the last reward; -1: none
    stopped: IntArray  # (policy, run) steps after which it was stopped; 0 if it was not
    stop_reason: IntArray  # (policy, run) as in `evidence.stopping`
    theta: FloatArray  # (run, time); one time with a population, none where it is fixed
    bias: FloatArray  # (run, arm), no arm without bias
    histograms: FloatArray  # (policy, run, time, arm, knot), no time without evidence


def empty_records(job: Job, n_runs: int) -> Records:
    """Arrays for some runs."""
    n_policies, n_times = len(job.policies), len(job.times)
    curves = (n_policies, n_runs, n_times)
    n_thetas = 0 if job.population is None else 1
    if job.drift is not None:
        n_thetas = n_times
    return Records(
        regret=np.zeros(curves),
        nominal_regret=np.zeros(curves),
        estimate=np.zeros(curves),
        pulls=np.zeros((n_policies, n_runs, job.n_arms), np.int64),
        last_suboptimal=np.zeros((n_policies, n_runs), np.int64),
        choice=np.zeros((n_policies, n_runs), np.int64),
        stopped=np.zeros((n_policies, n_runs), np.int64),
        stop_reason=np.zeros((n_policies, n_runs), np.int64),
        theta=np.zeros((n_runs, n_thetas)),
        bias=np.zeros((n_runs, job.n_arms if job.is_biased else 0)),
        histograms=np.zeros(
            (n_policies, n_runs, n_times if job.evidence else 0, job.n_arms, DEFAULT_BINS + 1)
        ),
    )


def store_runs(records: Records, places: slice, part: Records) -> None:
    """Copy the records of some runs to their places."""
    for name, whole, one in zip(records._fields, records, part, strict=True):
        if name in ("theta", "bias"):  # the same for all policies
            whole[places] = one
        else:
            whole[:, places] = one
