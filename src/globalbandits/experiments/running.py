"""Run an experiment by its number."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

from globalbandits._validation import as_integer, as_seed, require
from globalbandits.errors import ScenarioError
from globalbandits.experiments import (
    comparison,
    distance,
    drift,
    misspecification,
    readings,
    trust,
)
from globalbandits.experiments.batches import Size
from globalbandits.experiments.outcome import Outcome
from globalbandits.experiments.specs import Spec, load_spec
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS


class Experiment(NamedTuple):
    """Where an experiment's spec is, what runs it, and how many simulations that takes."""

    spec: str
    run: Callable[[Spec, Size], Outcome]
    n_simulations: int


EXPERIMENTS = {
    1: Experiment("comparison", comparison.run, comparison.N_SIMULATIONS),
    2: Experiment("distance", distance.run, distance.N_SIMULATIONS),
    3: Experiment("drift", drift.run, drift.N_SIMULATIONS),
    4: Experiment("misspecification", misspecification.run, misspecification.N_SIMULATIONS),
}
READINGS = Experiment("readings", readings.run, readings.N_SIMULATIONS)
TRUST = Experiment("trust", trust.run, trust.N_SIMULATIONS)


def run_experiment(
    number: int,
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Simulate one of the paper's experiments and judge its numbers.

    Args:
        number: 1, 2, 3 or 4.
        runs: simulated runs, at least 2; the spec's by default.
        horizon: rounds of a run; the spec's, which is the paper's, by default.
        seed: of all randomness.
        tick: called with a number of runs whenever so many more are simulated.

    >>> outcome = run_experiment(2, runs=4, horizon=50)
    >>> outcome.entries["distance_0.2"].verdict.value
    'not reproduced'
    """
    experiment = _find(number)
    spec = load_spec(experiment.spec)
    size = _as_size(spec, runs, horizon, seed, tick)
    outcome = experiment.run(spec, size)
    return outcome if size.horizon == spec.horizon else _without_simulated_verdicts(outcome)


def run_trust(
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Ask in the paper's worlds how far the rewards can be trusted, and how soon.

    Args:
        runs: simulated runs, at least 2; more than the spec's are not done, because what is
            asked of a run takes much longer than the run itself.
        horizon: rounds of a run; the spec's by default.
        seed: of all randomness.
        tick: called with a number of runs whenever so many more are done.

    >>> outcome = run_trust(runs=2, horizon=20)
    >>> outcome.key, outcome.entries["coverage_20"].runs
    ('trust', 2)
    """
    spec = load_spec(TRUST.spec)
    return TRUST.run(spec, _as_size(spec, _trust_runs(runs), horizon, seed, tick))


def run_readings(
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Simulate Experiments 1, 2 and 4 under every reading of what the paper leaves open.

    Args:
        runs: simulated runs, at least 2; the spec's by default.
        horizon: rounds of a run; the spec's, which is the paper's, by default.
        seed: of all randomness.
        tick: called with a number of runs whenever so many more are simulated.
    """
    spec = load_spec(READINGS.spec)
    size = _as_size(spec, runs, horizon, seed, tick)
    outcome = READINGS.run(spec, size)
    return outcome if size.horizon == spec.horizon else _without_simulated_verdicts(outcome)


def _trust_runs(runs: int | None) -> int:
    most = load_spec(TRUST.spec).runs
    return most if runs is None else min(runs, most)


def check_request(numbers: Iterable[int], runs: int | None, horizon: int | None, seed: int) -> None:
    """Refuse what no experiment can be run with, before any is.

    >>> check_request([1], 1, None, 0)
    Traceback (most recent call last):
        ...
    globalbandits.errors.ScenarioError: runs must be at least 2, got 1
    """
    for number in numbers:
        _find(number)
    if runs is not None:
        as_integer("runs", runs, 2, ScenarioError, maximum=MAX_RUNS)
    if horizon is not None:
        as_integer("horizon", horizon, 1, ScenarioError, maximum=MAX_HORIZON)
    as_seed(seed, ScenarioError)


def _as_size(
    spec: Spec,
    runs: int | None,
    horizon: int | None,
    seed: int,
    tick: Callable[[int], None],
) -> Size:
    check_request((), runs, horizon, seed)
    return Size(
        runs=spec.runs if runs is None else runs,
        horizon=spec.horizon if horizon is None else horizon,
        seed=seed,
        tick=tick,
    )


def _without_simulated_verdicts(outcome: Outcome) -> Outcome:
    """The paper says nothing of other horizons: only numbers without randomness are judged."""
    entries = {
        key: entry if entry.runs == 0 else dataclasses.replace(entry, comparable=False)
        for key, entry in outcome.entries.items()
    }
    note = (
        f"The paper simulates {outcome.spec.horizon:,} rounds and says nothing of "
        f"{outcome.horizon:,}: its numbers are shown, but simulated ones get no verdict."
    )
    return dataclasses.replace(outcome, entries=entries, notes=(note, *outcome.notes))


def runs_to_do(
    numbers: Iterable[int], runs: int | None, *, trust: bool = False, readings: bool = False
) -> int:
    """How many runs ``tick`` will count over these experiments, `run_trust`, `run_readings`.

    >>> runs_to_do([1, 2], 10)
    60
    """
    experiments = [_find(number) for number in numbers] + [READINGS] * readings
    n_runs = sum(
        experiment.n_simulations * (load_spec(experiment.spec).runs if runs is None else runs)
        for experiment in experiments
    )
    return n_runs + (TRUST.n_simulations * _trust_runs(runs) if trust else 0)


def _find(number: int) -> Experiment:
    known = ", ".join(map(str, EXPERIMENTS))
    require(number in EXPERIMENTS, "experiment", f"be one of {known}", number, ScenarioError)
    return EXPERIMENTS[number]
