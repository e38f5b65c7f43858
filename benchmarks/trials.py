"""Short runs: a dose-finding trial's operating characteristics, beside plain NumPy."""

import time

import numpy as np

from benchmarks import Row
from globalbandits._types import FloatArray, IntArray
from globalbandits.lab.trials import load_trial
from globalbandits.policies import StopWhen
from globalbandits.trial import Design, blrm, crm, tite_crm

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


GUESSES = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
AMOUNTS = [5.0, 10.0, 20.0, 40.0, 60.0, 80.0]


def designs() -> dict[str, Design]:
    """The designs that are timed."""
    stop = StopWhen(above=0.25, prior_variance=1.34, after=3)
    prior = {"reference": 40.0, "prior_mean": (-1.0, 0.0), "prior_sd": (2.0, 1.0)}
    return {
        "CRM": crm(GUESSES, 0.25),
        "CRM with a stopping rule": crm(GUESSES, 0.25, stop=stop),
        "BLRM with overdose control": blrm(AMOUNTS, 0.25, **prior),  # type: ignore[arg-type]
        "TITE-CRM": tite_crm(GUESSES, 0.25, window=28.0, every=14.0),
    }


def run() -> list[Row]:
    """Seconds of one core for a scenario of 10,000 trials with 36 patients; best of three."""
    truth = load_trial().scenarios["steep"]
    rows = []
    for name, design in designs().items():
        times = []
        for seed in range(3):
            start = time.process_time()
            design.simulate(truth, runs=N_TRIALS, seed=seed)
            times.append(time.process_time() - start)
        target = {"CRM": 1.0, "BLRM with overdose control": 10.0}.get(name)
        note = f"{N_TRIALS:,} trials of 36 patients"
        rows.append(
            Row(name=f"trial: {name}", value=min(times), unit="s", target=target, note=note)
        )
    start = time.process_time()
    plain_crm(np.array(truth), np.array(GUESSES), 0.25, N_TRIALS)
    seconds = time.process_time() - start
    note = "201 points, equal trials are computed again"
    rows.append(Row(name="trial: plain NumPy CRM", value=seconds, unit="s", target=None, note=note))
    return rows
