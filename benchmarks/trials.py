"""Short runs: a dose-finding trial's operating characteristics, beside plain NumPy."""

import dataclasses
import time

import numpy as np

from benchmarks import Row
from globalbandits._types import FloatArray, IntArray
from globalbandits.lab.trials import load_trial, play_trial

N_TRIALS = 10_000
COHORT, N_COHORTS = 3, 12


def plain_crm(truth: FloatArray, skeleton: FloatArray, target: float, n_trials: int) -> IntArray:
    """Recommended doses of a continual reassessment method in NumPy, all trials at once."""
    rng = np.random.default_rng(0)
    thetas = np.linspace(-5.0, 2.2, 201)
    rates = skeleton[:, np.newaxis] ** np.exp(thetas)
    log_yes, log_no = np.log(rates), np.log1p(-rates)
    prior = np.exp(-0.5 * thetas**2 / 1.34)
    treated, events = np.zeros((2, n_trials, skeleton.size))
    rows, dose = np.arange(n_trials), np.zeros(n_trials, np.int64)
    for _ in range(N_COHORTS):
        treated[rows, dose] += COHORT
        new = rng.binomial(COHORT, truth[dose])
        events[rows, dose] += new
        logs = events @ log_yes + (treated - events) @ log_no
        weights = np.exp(logs - logs.max(axis=1, keepdims=True)) * prior
        theta = weights @ thetas / weights.sum(axis=1)
        wanted = np.abs(skeleton ** np.exp(theta)[:, np.newaxis] - target).argmin(axis=1)
        dose = np.minimum(wanted, dose + (new / COHORT < target))
    return dose


def seconds_of_ours(designs: list[str], threads: int | None, *, stops: bool) -> float:
    """All scenarios of the example, compiled before."""
    trial = load_trial()
    kept = {name: trial.designs[name] for name in designs}
    one = dataclasses.replace(trial, designs=kept, stop=trial.stop if stops else None)
    play_trial(one, runs=10, threads=threads)
    start = time.perf_counter()
    play_trial(one, runs=N_TRIALS, threads=threads)
    return time.perf_counter() - start


def run() -> list[Row]:
    """Seconds for five scenarios of 10,000 trials with 36 patients."""
    trial = load_trial()
    skeleton = np.array(trial.model.arms, np.float64)
    start = time.perf_counter()
    for world in trial.worlds.values():
        plain_crm(world.true_means(), skeleton, trial.target, N_TRIALS)
    plain = time.perf_counter() - start
    work = f"5 scenarios, {N_TRIALS:,} trials of 36 patients"
    ours = seconds_of_ours(["CRM"], 1, stops=False)
    return [
        Row(name="trial: CRM", value=ours, unit="s", target=10.0, note=f"{work}, one thread"),
        Row(
            name="trial: CRM, all cores",
            value=seconds_of_ours(["CRM"], None, stops=False),
            unit="s",
            target=None,
            note="the same",
        ),
        Row(
            name="trial: CRM with a stopping rule",
            value=seconds_of_ours(["CRM"], 1, stops=True),
            unit="s",
            target=None,
            note="looked at after every patient, one thread",
        ),
        Row(
            name="trial: WAGP",
            value=seconds_of_ours(["WAGP"], 1, stops=False),
            unit="s",
            target=None,
            note="the same limits, one thread",
        ),
        Row(
            name="trial: plain NumPy CRM",
            value=plain,
            unit="s",
            target=None,
            note=f"decides once per cohort; CRM takes {ours / plain:.1f} times as long",
        ),
    ]
