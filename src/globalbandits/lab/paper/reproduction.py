"""Run the paper's experiments by number, and the section on trust."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

from globalbandits._validation import as_integer, as_seed, require
from globalbandits.errors import ScenarioError
from globalbandits.lab.paper import comparison, distance, misspecification, random_walk, trust
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import Spec, load_spec
from globalbandits.lab.paper.outcome import Outcome
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS


class Experiment(NamedTuple):
    """The name of an experiment's spec, the function that runs it, and its simulations."""

    spec: str
    run: Callable[[Spec, Size], Outcome]
    n_simulations: int


EXPERIMENTS = {
    1: Experiment("comparison", comparison.run, comparison.N_SIMULATIONS),
    2: Experiment("distance", distance.run, distance.N_SIMULATIONS),
    3: Experiment("random_walk", random_walk.run, random_walk.N_SIMULATIONS),
    4: Experiment("misspecification", misspecification.run, misspecification.N_SIMULATIONS),
}
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
        runs: number of simulated runs, at least 2; that of the spec by default.
        horizon: rounds of a run; the paper's by default.
        seed: seed of all randomness.
        tick: called with the number of runs in each finished batch.

    >>> outcome = run_experiment(2, runs=4, horizon=50)
    >>> outcome.entries["distance_0.2"].verdict.value
    'not reproduced'
    """
    experiment = _find(number)
    spec = load_spec(experiment.spec)
    size = as_size(spec, runs, horizon, seed, tick)
    outcome = experiment.run(spec, size)
    return outcome if size.horizon == spec.horizon else without_simulated_verdicts(outcome)


def run_trust(
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Compute intervals, alarms and refutations in the paper's worlds, and their error rates.

    Args:
        runs: number of simulated runs, at least 2. The number in the spec is the maximum, because
            the statements about a run take much longer than the run.
        horizon: rounds of a run; that of the spec by default.
        seed: seed of all randomness.
        tick: called with the number of runs in each finished batch.

    >>> outcome = run_trust(runs=2, horizon=20)
    >>> outcome.key, outcome.entries["coverage_20"].runs
    ('trust', 2)
    """
    spec = load_spec(TRUST.spec)
    return TRUST.run(spec, as_size(spec, _trust_runs(runs), horizon, seed, tick))


def _trust_runs(runs: int | None) -> int:
    most = load_spec(TRUST.spec).runs
    return most if runs is None else min(runs, most)


def check_request(numbers: Iterable[int], runs: int | None, horizon: int | None, seed: int) -> None:
    """Raise an error for invalid arguments of `run_experiment`.

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


def as_size(
    spec: Spec,
    runs: int | None,
    horizon: int | None,
    seed: int,
    tick: Callable[[int], None],
) -> Size:
    """Return the checked size of an experiment. None selects the value of its spec."""
    check_request((), runs, horizon, seed)
    return Size(
        runs=spec.runs if runs is None else runs,
        horizon=spec.horizon if horizon is None else horizon,
        seed=seed,
        tick=tick,
    )


def without_simulated_verdicts(outcome: Outcome) -> Outcome:
    """Judge only numbers without randomness, because the paper used another horizon."""
    entries = {
        key: entry if entry.runs == 0 else dataclasses.replace(entry, comparable=False)
        for key, entry in outcome.entries.items()
    }
    note = (
        f"The paper simulates {outcome.spec.horizon:,} rounds, not {outcome.horizon:,}: "
        "its numbers are shown, but simulated ones get no verdict."
    )
    return dataclasses.replace(outcome, entries=entries, notes=(note, *outcome.notes))


def runs_to_do(numbers: Iterable[int], runs: int | None, *, trust: bool = False) -> int:
    """Return the total number of runs that ``tick`` counts in these experiments and `run_trust`.

    >>> runs_to_do([1, 2], 10)
    60
    """
    experiments = [_find(number) for number in numbers]
    n_runs = sum(
        experiment.n_simulations * (load_spec(experiment.spec).runs if runs is None else runs)
        for experiment in experiments
    )
    return n_runs + (TRUST.n_simulations * _trust_runs(runs) if trust else 0)


def _find(number: int) -> Experiment:
    known = ", ".join(map(str, EXPERIMENTS))
    require(number in EXPERIMENTS, "experiment", f"be one of {known}", number, ScenarioError)
    return EXPERIMENTS[number]
