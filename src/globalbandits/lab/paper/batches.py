"""Simulations in batches of runs, summarised batch by batch to bound memory."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._means import Moments
from globalbandits._types import FloatArray, IntArray
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy
from globalbandits.simulation import SimulationResult, simulate
from globalbandits.simulation.checkpoints import MAX_CHECKPOINTS
from globalbandits.simulation.simulate import require_all_runs

BATCH = 500  # runs
CHECKPOINTS = 200


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """Runs, horizon and seed of a simulation, and a function called after every batch."""

    runs: int
    horizon: int
    seed: int
    tick: Callable[[int], None] = lambda runs: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gathered:
    """Results of all runs: curves as moments, and a few numbers of each run."""

    times: IntArray  # (time,)
    policies: tuple[str, ...]
    regret: Moments  # (policy, time), by the true means
    shares: Moments  # (policy, arm)
    final: dict[str, FloatArray]  # by policy: (run,) regret at the horizon
    final_nominal: dict[str, FloatArray]  # the same, by the model's means
    last_suboptimal: dict[str, IntArray]  # by policy: (run,) round of the last wrong decision
    error: dict[
        str, FloatArray
    ]  # by policy: (run,) mean distance of the estimate, over checkpoints

    def curve(self, policy: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean regret over time and both ends of its 95 % band: three arrays (time,)."""
        at = self.policies.index(policy)
        return self.regret.mean[at], self.regret.low[at], self.regret.high[at]


def gather(
    environment: Environment,
    policies: Mapping[str, Policy],
    size: Size,
    *,
    groups: Sequence[Sequence[int]] | None = None,
    checkpoints: int = CHECKPOINTS,
    spacing: str = "linear",
) -> Gathered:
    """Simulate policies with common random numbers and keep the numbers of the experiments.

    Args:
        environment: the environment.
        policies: the policies by name.
        size: runs, horizon and seed.
        groups: groups of arms whose share of rounds is kept; single arms by default.
        checkpoints: maximum number of recorded rounds.
        spacing: "linear" or "log" between recorded rounds.
    """
    n_arms = environment.model.n_arms
    members = np.zeros((n_arms, n_arms if groups is None else len(groups)))
    for at, group in enumerate([[arm] for arm in range(n_arms)] if groups is None else groups):
        members[list(group), at] = 1.0
    regret, shares = Moments(), Moments()
    parts: dict[str, list[Any]] = {name: [] for name in ("final", "nominal", "last", "error")}
    times: IntArray = np.zeros(0, np.int64)
    for result in _batches(environment, policies, size, checkpoints, spacing):
        data = result.dataset.transpose("run", "policy", ...)
        times = data["time"].to_numpy()
        regret.add(data["regret"].to_numpy())
        shares.add(data["pulls"].to_numpy() @ members / size.horizon)
        # The last column is copied, because a view would keep the whole batch in memory.
        parts["final"].append(data["regret"].to_numpy()[:, :, -1].copy())
        parts["nominal"].append(data["nominal_regret"].to_numpy()[:, :, -1].copy())
        parts["last"].append(data["last_suboptimal"].to_numpy())
        truth = data["theta"] if environment.drift is not None else environment.start
        distance = abs(data["estimate"] - truth).transpose("run", "policy", "time")
        parts["error"].append(distance.to_numpy().mean(axis=2))
    whole = {name: np.concatenate(batches) for name, batches in parts.items()}

    def by_policy(name: str) -> dict[str, Any]:
        return {policy: whole[name][:, at] for at, policy in enumerate(policies)}

    return Gathered(
        times=times,
        policies=tuple(policies),
        regret=regret,
        shares=shares,
        final=by_policy("final"),
        final_nominal=by_policy("nominal"),
        last_suboptimal=by_policy("last"),
        error=by_policy("error"),
    )


def trace(
    environment: Environment, policies: Mapping[str, Policy], size: Size
) -> tuple[IntArray, FloatArray, dict[str, FloatArray]]:
    """Return one run round by round: rounds, true parameters, and estimates by policy.

    At most a million rounds are kept, evenly spaced.
    """
    one = dataclasses.replace(size, runs=1, tick=lambda runs: None)
    (result,) = _batches(environment, policies, one, min(size.horizon, MAX_CHECKPOINTS))
    data = result.dataset.transpose("run", "policy", ...)
    estimates = data["estimate"].to_numpy()[0]
    by_policy = dict(zip(policies, estimates, strict=True))
    return data["time"].to_numpy(), data["theta"].to_numpy()[0], by_policy


def _batches(
    environment: Environment,
    policies: Mapping[str, Policy],
    size: Size,
    checkpoints: int,
    spacing: str = "linear",
) -> Iterator[SimulationResult]:
    for first in range(0, size.runs, BATCH):
        runs = min(BATCH, size.runs - first)
        result = simulate(
            environment,
            policies,
            horizon=size.horizon,
            runs=runs,
            seed=size.seed,
            checkpoints=checkpoints,
            spacing=spacing,
            first_run=first,
        )
        yield require_all_runs(result, runs)
        size.tick(runs)
