"""Policies in the paper's worlds, and what their rewards say at chosen times."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.readings import Reading
from globalbandits.experiments.batches import Size

if TYPE_CHECKING:
    from globalbandits.environments import Environment
    from globalbandits.model import RewardModel
    from globalbandits.policies.base import Policy

_MOST = math.log(1e6)  # larger e-values are not distinguished


class Watch(NamedTuple):
    """Some policies over all runs."""

    times: IntArray  # (time,)
    histograms: FloatArray  # (policy, run, time, arm, knot) of the rewards so far
    regret: FloatArray  # (policy, run) at the last time, by the means that pay
    theta: FloatArray  # (run, time)


def watch(
    env: "Environment", policies: "Mapping[str, Policy]", size: Size, times: Sequence[int]
) -> Watch:
    """Simulate policies side by side and keep the histograms of their rewards.

    The statements that are wanted differ from world to world, and cost far more than the
    simulation: histograms, from which all of them follow, are kept instead of statements.
    """
    from globalbandits.simulation.job import make_job
    from globalbandits.simulation.spreading import play_shard

    moments = np.array(times, np.int64)
    job = make_job(env, policies, int(moments[-1]), moments, size.seed, evidence=True)
    records = play_shard(job, 0, size.runs)
    fixed = np.full((size.runs, moments.size), env.theta)
    theta = fixed if env.drift is None else records.theta
    return Watch(moments, records.histograms, records.regret[:, :, -1], theta)


def decade_thirds(horizon: int) -> list[int]:
    """Times three a decade, the powers of ten and the horizon among them.

    >>> decade_thirds(300)
    [1, 2, 5, 10, 22, 46, 100, 215, 300]
    """
    times = {round(10.0 ** (step / 3.0)) for step in range(3 * len(str(horizon)) + 1)}
    return sorted({time for time in times if time < horizon} | {horizon})


def find_interval(
    model: "RewardModel", counts: FloatArray, confidence: float
) -> tuple[float, float]:
    """Ends of the interval for theta; nan if it is empty."""
    hull = Reading(model, counts).hull(confidence)
    return hull.low, hull.high


def log_e_value(model: "RewardModel", counts: FloatArray) -> float:
    """Evidence against the model, less exact below 1 and above a million.

    There precision changes no alarm, and this is quicker.
    """
    return Reading(model, counts).rough_against(least=0.0, enough=_MOST).certified
