"""`Request`: the checked arguments of one simulation, for `simulate` and for sweeps."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from globalbandits._types import BoolArray
from globalbandits._validation import as_integer, as_seed, require
from globalbandits._version import __version__
from globalbandits.environments import Environment
from globalbandits.errors import SimulationError
from globalbandits.policies import StopWhen
from globalbandits.policies.base import Policy, describe
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS, checkpoint_times
from globalbandits.simulation.play.job import Job, Records, make_job
from globalbandits.simulation.result import SimulationResult, make_result


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A simulation to play: its checked arguments and the job for the workers."""

    env: Environment
    job: Job
    runs: int
    first_run: int
    stop: StopWhen | None

    @property
    def n_steps(self) -> int:
        """Decisions of all policies in all runs."""
        return self.runs * self.job.horizon * len(self.job.policies)

    def result(self, records: Records, finished: BoolArray) -> SimulationResult:
        """The result of the finished runs."""
        spec = self._spec()
        return make_result(self.job, self.env, records, finished, self.first_run, spec)

    def _spec(self) -> dict[str, Any]:
        """The simulation as plain values."""
        options: dict[str, Any] = {} if self.stop is None else {"stop": self.stop.to_dict()}
        if self.job.batch > 1:
            options["batch"] = self.job.batch
        return options | {
            "environment": self.env.to_dict(),
            "policies": {
                name: describe(policy)
                for name, policy in zip(self.job.names, self.job.policies, strict=True)
            },
            "horizon": self.job.horizon,
            "runs": self.runs,
            "seed": self.job.seed,
            "version": __version__,
        }


def make_request(
    env: Environment,
    policies: Sequence[Policy] | Mapping[str, Policy],
    horizon: int,
    runs: int,
    seed: int,
    *,
    checkpoints: int | Sequence[int] = 200,
    spacing: str = "linear",
    first_run: int = 0,
    stop: StopWhen | None = None,
    evidence: bool = False,
    batch: int = 1,
) -> Request:
    """Check the arguments of `simulate` and make its request."""
    named = _policies_by_name(policies)
    require(isinstance(env, Environment), "env", "be an Environment", env, SimulationError)
    horizon = as_integer("horizon", horizon, 1, SimulationError, maximum=MAX_HORIZON)
    runs = as_integer("runs", runs, 1, SimulationError, maximum=MAX_RUNS)
    seed = as_seed(seed, SimulationError)
    first_run = as_integer("first_run", first_run, 0, SimulationError)
    if env.drift is not None:
        rule = f"be at most {env.drift.last_time}, where the drift's path ends"
        require(horizon <= env.drift.last_time, "horizon", rule, horizon, SimulationError)
    if stop is not None:
        require(isinstance(stop, StopWhen), "stop", "be a StopWhen", stop, SimulationError)
        rule = "have no at_recommended, at_any or precision; designs of gb.trial support them"
        require(stop.is_compiled, "stop", rule, stop, SimulationError)
    batch = as_integer("batch", batch, 1, SimulationError, maximum=MAX_HORIZON)
    times = checkpoint_times(horizon, checkpoints, spacing)
    job = make_job(env, named, horizon, times, seed, evidence=evidence, stop=stop, batch=batch)
    return Request(env=env, job=job, runs=runs, first_run=first_run, stop=stop)


def _policies_by_name(policies: Sequence[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    """Policies by name: their labels, or the keys of a mapping."""
    if isinstance(policies, Mapping):
        named = dict(policies)
    else:
        is_list = isinstance(policies, Sequence) and not isinstance(policies, str)
        require(is_list, "policies", "be a list of policies", policies, SimulationError)
        named = {}
        for policy in policies:
            label = policy.label if isinstance(policy, Policy) else ""
            rule = "have different labels (give a mapping from names to policies)"
            require(label not in named, "policies", rule, label, SimulationError)
            named[label] = policy
    require(len(named) > 0, "policies", "be at least one", policies, SimulationError)
    for name, policy in named.items():
        is_policy = isinstance(policy, Policy)
        require(is_policy, "policies", "be policies such as WAGP()", policy, SimulationError)
        require(isinstance(name, str), "policies", "have texts as names", name, SimulationError)
    return named
