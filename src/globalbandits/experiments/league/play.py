"""Playing the league: each policy by itself, so that its time can be taken.

A policy's result does not depend on who plays beside it (all of a run's randomness is keyed by
seed and run), so playing one after the other gives the same paired comparison.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError, SimulationError
from globalbandits.experiments.league.scenarios import Scenario
from globalbandits.experiments.league.standings import Cell, Standings, rank
from globalbandits.policies import Policy
from globalbandits.simulation import simulate

Tick = Callable[[str, str], None]


def play_league(
    scenarios: Sequence[Scenario],
    policies: Mapping[str, Policy],
    *,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    tick: Tick | None = None,
) -> Standings:
    """Play every policy on every scenario.

    Args:
        scenarios: what to play, from `load_scenarios`.
        policies: who plays, by label.
        runs: instead of each scenario's own number.
        seed: of all randomness.
        threads: as in `simulate`.
        tick: called with (scenario title, policy label) before each of them plays.
    """
    if runs is not None:
        as_integer("runs", runs, 2, SimulationError)
    started = time.perf_counter()
    cells: dict[str, dict[str, Cell]] = {}
    absent: dict[str, dict[str, str]] = {}
    for scenario in scenarios:
        regrets: dict[str, FloatArray] = {}
        nanoseconds: dict[str, float] = {}
        absent[scenario.key] = {}
        for label, policy in policies.items():
            if tick is not None:
                tick(scenario.title, label)
            try:
                policy.setup(scenario.environment.model)
            except PolicyError as error:
                absent[scenario.key][label] = str(error)
                continue
            regrets[label], nanoseconds[label] = _play(
                scenario, policy, runs or scenario.runs, seed, threads
            )
        cells[scenario.key] = rank(regrets, nanoseconds)
    return Standings(
        scenarios=tuple(scenarios),
        policies=tuple(policies),
        cells=cells,
        absent=absent,
        seed=seed,
        seconds=time.perf_counter() - started,
    )


def _play(
    scenario: Scenario, policy: Policy, runs: int, seed: int, threads: int | None
) -> tuple[FloatArray, float]:
    """Final regrets by run, and nanoseconds per step and core."""
    simulate(scenario.environment, [policy], horizon=1, runs=1, seed=seed)  # compile it first
    started = time.perf_counter()
    result = simulate(
        scenario.environment,
        [policy],
        horizon=scenario.horizon,
        runs=runs,
        seed=seed,
        checkpoints=1,
        threads=threads,
    )
    seconds = time.perf_counter() - started
    final = np.asarray(result.dataset["regret"].isel(policy=0, time=-1).values, dtype=np.float64)
    cores = min(threads or _n_cores(), runs)
    return final, seconds * cores / (runs * scenario.horizon) * 1e9


def _n_cores() -> int:
    import os

    return max(1, math.floor(os.cpu_count() or 1))
