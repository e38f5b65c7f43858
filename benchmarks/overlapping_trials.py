"""Trials whose patients overlap: a patient enters every 14 days and is observed for 28 days.

``python -m benchmarks.overlapping_trials 100000`` counts what reported toxicities do to the next
dose. A toxicity is reported when it happens, at a uniform time of the window; its absence is
reported at the end of the window.
"""

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from globalbandits._types import FloatArray, IntArray
from globalbandits.compiling.engine import Engine
from globalbandits.policies.base import Rules
from globalbandits.statistics import clear, count

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
SCENARIOS = {
    "as guessed": [0.05, 0.12, 0.25, 0.40, 0.55, 0.65],
    "steep": [0.01, 0.02, 0.05, 0.25, 0.60, 0.85],
    "first dose": [0.25, 0.40, 0.55, 0.65, 0.75, 0.80],
    "last dose": [0.01, 0.02, 0.04, 0.08, 0.15, 0.25],
}
INNER = gb.GridPlugIn(cells=200, prior_variance=1.34)
N_PATIENTS = 36
DAYS_BETWEEN_PATIENTS, WINDOW_DAYS = 14.0, 28.0


class Overlap(NamedTuple):
    """The design, the world and the counts of many trials."""

    setup: Any
    stats: Any
    state: Any
    rng: np.random.Generator  # of the design
    world: np.random.Generator
    truth: FloatArray  # (n_doses,)
    due: FloatArray  # (n_patients,) days of the reports
    doses: IntArray  # (n_patients,)
    events: FloatArray  # (n_patients,) 1 for a toxicity
    counts: IntArray  # (5,) see `Counts`


class Counts(NamedTuple):
    """What happened in all trials."""

    reports: int  # of toxicities
    raised: int  # after which the next dose was higher than before
    after_event: int  # steps up straight after a report of a toxicity
    above_second: int  # trials that treated a patient above the second dose
    selected: int  # trials that recommend a best dose


@cache
def overlap_loop(rules: Rules) -> Callable[[Overlap, int, int], None]:
    """Return a function that plays trials with the rules of a policy that counts decisions."""
    select, update, decide, recommend = rules.select, rules.update, rules.decide, rules.recommend
    rebuild_inner = INNER.rules.rebuild
    assert decide is not None
    assert recommend is not None
    assert rebuild_inner is not None

    def play(trial: Overlap, n_trials: int, best: int) -> None:
        setup, stats, state, rng = trial.setup, trial.stats, trial.state, trial.rng
        for _ in range(n_trials):
            reset(trial)
            last = -1
            reached = 0
            for patient in range(trial.due.shape[0]):
                now = patient * DAYS_BETWEEN_PATIENTS
                reported_event = False
                while True:
                    first = -1
                    for other in range(patient):
                        if trial.due[other] <= now and (
                            first < 0 or trial.due[other] < trial.due[first]
                        ):
                            first = other
                    if first < 0:
                        break
                    trial.due[first] = np.inf
                    event, dose = trial.events[first], trial.doses[first]
                    before = select(setup, stats, state, rng)
                    count(stats, dose, event)
                    update(setup, stats, state, dose, event)
                    if event > 0.0:
                        reported_event = True
                        trial.counts[0] += 1
                        if select(setup, stats, state, rng) > before:
                            trial.counts[1] += 1
                dose = select(setup, stats, state, rng)
                decide(setup, stats, state, dose)
                if reported_event and dose > last:
                    trial.counts[2] += 1
                last = dose
                reached = max(reached, dose)
                event = 1.0 if trial.world.random() < trial.truth[dose] else 0.0
                delay = trial.world.random() * WINDOW_DAYS if event > 0.0 else WINDOW_DAYS
                trial.doses[patient] = dose
                trial.events[patient] = event
                trial.due[patient] = now + delay
            for patient in range(trial.due.shape[0]):
                if trial.due[patient] < np.inf:
                    count(stats, trial.doses[patient], trial.events[patient])
                    update(setup, stats, state, trial.doses[patient], trial.events[patient])
            if reached > 1:
                trial.counts[3] += 1
            if recommend(setup, stats, state, rng) == best:
                trial.counts[4] += 1

    def reset(trial: Overlap) -> None:
        clear(trial.stats)
        rebuild_inner(trial.setup.inner, trial.stats, trial.state.inner)
        trial.state.arm[0] = trial.setup.start
        trial.state.decided[0] = 0
        trial.state.observed[0] = 0
        trial.state.reported[0] = 0.0
        trial.state.waiting[:] = 0

    return play


def play_overlapping(
    truth: list[float], n_trials: int, *, cohort: int = 3, seed: int = 0, compiled: bool = True
) -> Counts:
    """Play trials of the CRM with cohorts, and count."""
    model = gb.dose.power(SKELETON, target=0.25)
    policy = gb.Limited(INNER, cohort=cohort)
    rules, setup, stats, state = gb.Learner(policy, model, seed=0, compiled=False).parts
    trial = Overlap(
        setup,
        stats,
        state,
        np.random.default_rng(seed),
        np.random.default_rng(seed + 1),
        np.array(truth),
        np.full(N_PATIENTS, np.inf),
        np.zeros(N_PATIENTS, np.int64),
        np.zeros(N_PATIENTS),
        np.zeros(5, np.int64),
    )
    best = int(np.abs(np.array(truth) - 0.25).argmin())
    engine = Engine(interpreted=not compiled)
    engine.bind(overlap_loop(rules), "overlapping trials", (trial,), 1, 0)(n_trials, best)
    return Counts(*trial.counts.tolist())


def run(n_trials: int = 25_000) -> list[Row]:
    """Numbers of steps up that reported toxicities cause."""
    rows = []
    for name, truth in SCENARIOS.items():
        for cohort in (1, 3):
            start = time.perf_counter()
            found = play_overlapping(truth, n_trials, cohort=cohort)
            seconds = time.perf_counter() - start
            note = (
                f"{n_trials:,} trials, {found.reports:,} reported toxicities; "
                f"{found.after_event} steps up straight after one; "
                f"{found.above_second / n_trials:.1%} of trials leave the two lowest doses, "
                f"{found.selected / n_trials:.1%} recommend the best dose; {seconds:.1f} s"
            )
            rows.append(
                Row(
                    name=f"overlap: {name}, cohort {cohort}",
                    value=found.raised,
                    unit="doses raised by a toxicity",
                    target=0.0,
                    note=note,
                )
            )
    return rows


if __name__ == "__main__":
    for row in run(int(sys.argv[1]) // len(SCENARIOS)):
        print(f"{row['name']}: {row['value']} {row['unit']} ({row['note']})")
