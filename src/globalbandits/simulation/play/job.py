"""`Job` and `Records`: the input and the output of the play loop, as plain data.

A job can be sent to another process. Records hold the numbers of its runs.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.environments import Environment
from globalbandits.environments.bias import Bias
from globalbandits.environments.delay import Delay
from globalbandits.environments.drift import Drift
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.noises.noise import Noise
from globalbandits.environments.offers import OfferLaw
from globalbandits.environments.population import Population
from globalbandits.evidence.histogram import DEFAULT_BINS
from globalbandits.evidence.stop_rules import Stop
from globalbandits.model import RegionalModel, VectorModel
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies import StopWhen
from globalbandits.policies.base import Policy, require_masks


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """A simulation without the model's Python functions, so that it can be pickled."""

    policies: tuple[Policy, ...]
    setups: tuple[Any, ...]  # one per policy
    names: tuple[str, ...]
    tables: Any  # Tables, or VectorTables of a model with several unknown numbers
    reward_range: tuple[float, float]
    worth_scale: float  # length of the range of worth
    arms: tuple[Any, ...]
    theta: float  # nan with a population or without theta
    means: FloatArray  # (n_arms,) the model's at theta; the true means without theta
    gaps: FloatArray  # (n_arms,) cost of a decision for each arm by these means
    population: Population | None
    true_means: FloatArray | None  # (n_arms,) of a truth that is constant in time
    truth: Callable[[Any, Any], Any] | None  # a truth that is a function of (time, arm)
    noise: Noise
    noise_parameters: Any
    drift: Drift | None
    track: Any  # the data of the drift's rule
    bias: Bias | None
    horizon: int
    times: IntArray  # (n_checkpoints,)
    seed: int
    evidence: bool  # whether histograms of the rewards are kept
    stop: Stop | None = None  # the rule that ends runs early
    offers: OfferLaw | None = None  # what can be played when; None if everything always can
    n_contexts: int = 0  # 0 for a model without contexts
    delay: Delay | None = None
    batch: int = 1  # decisions that are made without each other's rewards

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def n_numbers(self) -> tuple[int, ...]:
        """Number of unknown numbers as a shape, which is empty for a single one."""
        return (self.tables.n_parameters,) if isinstance(self.tables, VectorTables) else ()

    @property
    def is_late(self) -> bool:
        """Whether a reward may become known after the next decision."""
        return self.delay is not None or self.batch > 1

    @property
    def is_biased(self) -> bool:
        """Whether the true means of a run are shifted from the model's curves."""
        shifts = None if self.population is None else self.population.shifts
        return self.bias is not None or shifts is not None

    @property
    def is_nominal(self) -> bool:
        """Whether the environment has a theta, and thus a nominal regret."""
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
    batch: int = 1,
) -> Job:
    """Make the job of an environment and its policies."""
    offers, n_contexts = env.offers, len(env.context_names)
    env = env.of_cells
    model = env.model
    has_fixed_truth = env.truth is not None and env.moving_truth is None
    true_means = env.true_means() if has_fixed_truth else None
    means, gaps = _nominal_means(env, true_means)
    regional = isinstance(model, RegionalModel)
    setups = tuple(policy.setup(model) for policy in policies.values())
    if offers is not None:
        for policy, setup in zip(policies.values(), setups, strict=True):
            require_masks(policy, policy.rules_of(setup))
    return Job(
        policies=tuple(policies.values()),
        setups=setups,
        names=tuple(policies),
        # Evidence needs a single parameter. `model.tables` raises an error for a regional model.
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
        offers=offers,
        n_contexts=n_contexts,
        delay=env.delay,
        batch=batch,
    )


def _nominal_means(
    env: Environment, true_means: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Means and gaps of the model at theta; of the truth if there is no theta."""
    model = env.model
    if env.theta is None and true_means is not None:
        worth = worth_of_means(model, true_means)
        return true_means, worth.max() - worth
    if isinstance(env.theta, tuple):
        return model.means(env.theta), model.gaps(env.theta)
    if isinstance(model, VectorModel):
        # As below: the middle of the box.
        middle = model.from_unit(np.full(model.n_parameters, 0.5))
        return model.means(middle), model.gaps(middle)
    theta = env.start
    if math.isnan(theta):
        # Neither regret depends on this parameter. The middle of the domain is always valid.
        theta = 0.5 * (model.domain[0] + model.domain[1])
    return model.means(theta), model.gaps(theta)


class Records(NamedTuple):
    """The numbers of some runs."""

    regret: FloatArray  # (policy, run, time)
    nominal_regret: FloatArray  # (policy, run, time)
    estimate: FloatArray  # (policy, run, time); a last axis for several unknown numbers
    pulls: IntArray  # (policy, run, arm)
    last_suboptimal: IntArray  # (policy, run)
    choice: IntArray  # (policy, run) the arm the policy would play next; -1 for none
    stopped: IntArray  # (policy, run) steps before the run was stopped; 0 if it was not
    stop_reason: IntArray  # (policy, run) as in `evidence.stop_rules`
    theta: FloatArray  # (run, time); one time with a population, no times if it is fixed
    bias: FloatArray  # (run, arm); no arms without bias
    histograms: FloatArray  # (policy, run, time, arm, knot); no times without evidence
    context_regret: FloatArray  # (policy, run, time, context); no contexts without them


def empty_records(job: Job, n_runs: int) -> Records:
    """Records of zeros for some runs."""
    n_policies, n_times = len(job.policies), len(job.times)
    curves = (n_policies, n_runs, n_times)
    n_thetas = 0 if job.population is None else 1
    if job.drift is not None:
        n_thetas = n_times
    return Records(
        regret=np.zeros(curves),
        nominal_regret=np.zeros(curves),
        estimate=np.zeros((*curves, *job.n_numbers)),
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
        context_regret=np.zeros((*curves, job.n_contexts)),
    )


def store_runs(records: Records, places: slice, part: Records) -> None:
    """Copy the records of some runs to their places."""
    for name, whole, one in zip(records._fields, records, part, strict=True):
        if name in ("theta", "bias"):  # the same for all policies
            whole[places] = one
        else:
            whole[:, places] = one
