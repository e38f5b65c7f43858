"""The records of runs: arrays over policies, runs and time."""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.histogram import DEFAULT_BINS
from globalbandits.simulation.job import Job


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
