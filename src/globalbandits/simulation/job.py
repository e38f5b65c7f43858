"""A simulation as plain data: what every shard of it needs, ready to be sent to a process."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from globalbandits._types import FloatArray, IntArray
from globalbandits.environments import Environment
from globalbandits.environments.bias import Bias
from globalbandits.environments.drift import Drift
from globalbandits.environments.noise import Noise
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """Environment and policies without the model's functions, which need not be picklable."""

    policies: tuple[Policy, ...]
    setups: tuple[Any, ...]  # one a policy
    names: tuple[str, ...]
    tables: Tables
    reward_range: tuple[float, float]
    worth_scale: float  # length of the range of what decisions are worth
    theta: float
    means: FloatArray  # (n_arms,) the model's, at theta
    gaps: FloatArray  # (n_arms,) the model's, at theta
    noise: Noise
    noise_parameters: Any
    drift: Drift | None
    track: Any  # what the drift reads
    bias: Bias | None
    horizon: int
    times: IntArray  # (n_checkpoints,)
    seed: int
    evidence: bool  # whether histograms of the rewards are kept

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.means)

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
) -> Job:
    """Take from the environment what the shards need."""
    model = env.model
    return Job(
        policies=tuple(policies.values()),
        setups=tuple(policy.setup(model) for policy in policies.values()),
        names=tuple(policies),
        tables=model.tables,
        reward_range=model.reward_range,
        worth_scale=model.worth_range[1] - model.worth_range[0],
        theta=env.theta,
        means=model.means(env.theta),
        gaps=model.gaps(env.theta),
        noise=env.noise,
        noise_parameters=env.noise.parameters(model),
        drift=env.drift,
        track=None if env.drift is None else env.drift.track(model.domain, env.theta),
        bias=env.bias,
        horizon=horizon,
        times=times,
        seed=seed,
        evidence=evidence,
    )
