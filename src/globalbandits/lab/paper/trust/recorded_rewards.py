"""Rewards of policies in the paper's worlds at chosen times, and entries computed from them."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits import plots
from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.environments import Environment
from globalbandits.evidence.inference import Findings, Inference
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.outcome import Chart, Grid
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy
from globalbandits.simulation.play.job import make_job
from globalbandits.simulation.workers import play_shard

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_LOG_E = math.log(1e6)  # larger e-values are not distinguished


class RewardRecords(NamedTuple):
    """The rewards of some policies in all runs."""

    times: IntArray  # (time,)
    histograms: FloatArray  # (policy, run, time, arm, knot) of the rewards so far
    regret: FloatArray  # (policy, run) at the last time, by the true means
    theta: FloatArray  # (run, time)


def record_rewards(
    env: Environment, policies: Mapping[str, Policy], size: Size, times: Sequence[int]
) -> RewardRecords:
    """Simulate policies with common random numbers and keep the histograms of their rewards.

    All statements are computed later from the histograms, because they take much longer than the
    simulation and differ between worlds.
    """
    moments = np.array(times, np.int64)
    job = make_job(env, policies, int(moments[-1]), moments, size.seed, evidence=True)
    records = play_shard(job, 0, size.runs)
    fixed = np.full((size.runs, moments.size), env.theta)
    theta = fixed if env.drift is None else records.theta
    return RewardRecords(moments, records.histograms, records.regret[:, :, -1], theta)


def decade_thirds(horizon: int) -> list[int]:
    """Return three times per decade, including the powers of ten and the horizon.

    >>> decade_thirds(300)
    [1, 2, 5, 10, 22, 46, 100, 215, 300]
    """
    times = {round(10.0 ** (step / 3.0)) for step in range(3 * len(str(horizon)) + 1)}
    return sorted({time for time in times if time < horizon} | {horizon})


def find_interval(model: RewardModel, counts: FloatArray, confidence: float) -> tuple[float, float]:
    """Return both ends of the interval for theta; nan if it is empty."""
    hull = Inference(model, counts).hull(confidence)
    return hull.low, hull.high


def log_e_value(model: RewardModel, counts: FloatArray) -> float:
    """Return the log e-value against the model.

    E-values below 1 or above a million are approximate. Exact values would take longer, and no
    alarm depends on them.
    """
    return Inference(model, counts).rough_against(least=0.0, enough=MAX_LOG_E).certified


class Part(NamedTuple):
    """The contribution of one world to the section."""

    entries: dict[str, Entry]
    grids: tuple[Grid, ...]
    charts: tuple[Chart, ...]


def share_of_runs(hits: BoolArray, *, label: str) -> Entry:
    """Return an entry for the share of runs with a hit, in percent.

    The standard error is that of Agresti and Coull, with two additional hits and misses each, so
    that 60 hits in 60 runs have a positive error.

    >>> entry = share_of_runs(np.array([True, True, False, False]), label="heads")
    >>> entry.value, round(entry.sem, 1)
    (50.0, 17.7)
    """
    n = hits.size
    cautious = (np.count_nonzero(hits) + 2.0) / (n + 4.0)
    sem = math.sqrt(cautious * (1.0 - cautious) / (n + 4.0))
    return Entry(label=label, value=100.0 * float(hits.mean()), sem=100.0 * sem, runs=n, unit="%")


def median_of_runs(values: FloatArray, *, label: str) -> Entry:
    """Return an entry for the median over runs.

    Its standard error is half the distance between the quantiles one standard deviation of a
    binomial count below and above the middle.

    >>> entry = median_of_runs(np.arange(101.0), label="rank")
    >>> entry.value, round(entry.sem, 2)
    (50.0, 4.98)
    """
    reach = min(0.5, 0.5 / math.sqrt(values.size))
    low, middle, high = np.quantile(values, [0.5 - reach, 0.5, 0.5 + reach])
    sem = 0.5 * float(high - low)
    return Entry(label=label, value=float(middle), sem=sem, runs=values.size)


def one_run_figure(
    model: RewardModel,
    times: IntArray,
    found: Findings,
    confidence: float,
    *,
    title: str,
    truth: FloatArray | None = None,
) -> "Figure":
    """Draw the statements about one run: interval, e-value and contenders over time."""
    return plots.evidence_figure(
        times,
        low=found.low,
        high=found.high,
        log_e_values=found.log_e_value,
        contenders=found.contenders,
        arms=[f"{price:.2f}" for price in model.arms],
        confidence=confidence,
        domain=model.domain,
        truth=truth,
        title=title,
        xlabel="round",
    )
