"""Play the league: one policy after the other, so that the time of each can be measured.

The random numbers of a run depend only on the seed and the run, so comparisons between policies are
paired.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError, ScenarioError, SimulationError
from globalbandits.lab.league.games import Game, Games
from globalbandits.lab.league.players import Policies, league_policies
from globalbandits.lab.league.scenarios import Scenario, load_scenarios
from globalbandits.lab.league.standings import Cell, Standings, rank
from globalbandits.policies import Policy
from globalbandits.simulation.compile_ahead import call_in_processes
from globalbandits.simulation.simulate import require_all_runs, simulate
from globalbandits.simulation.workers import available_cores

Tick = Callable[[str, str], None]


def league(
    policies: Policies | None = None,
    scenarios: "Iterable[str | os.PathLike[str] | Scenario] | None" = None,
    *,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Standings:
    """Play policies on scenarios, and rank them by regret under the true means.

    Args:
        policies: labels such as "WAGP", your own policies, ``module:Object`` names, or a mapping
            from labels to policies; all policies of the league by default.
        scenarios: keys such as "pricing", paths of TOML files, or `Scenario` objects; all
            scenarios of the league by default.
        runs: number of runs of each scenario; by default the scenario's own number.
        seed: seed of all randomness.
        threads: as in `simulate`.
        folder: folder of stored games, which are not played again.

    >>> import globalbandits as gb
    >>> standings = gb.league([gb.WAGP(), gb.UCB1()], ["short"], runs=10)
    >>> standings.order()
    ('WAGP', 'UCB1')
    """
    return play_league(
        load_scenarios(scenarios),
        league_policies(policies),
        runs=runs,
        seed=seed,
        threads=threads,
        games=Games(folder),
    )


def play_league(
    scenarios: Sequence[Scenario],
    policies: Mapping[str, Policy],
    *,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    tick: Tick | None = None,
    games: Games | None = None,
) -> Standings:
    """Play every policy on every scenario.

    Args:
        scenarios: the scenarios, from `load_scenarios`.
        policies: policies by label.
        runs: number of runs of each scenario; by default the scenario's own number.
        seed: seed of all randomness.
        threads: as in `simulate`.
        tick: called with (scenario title, policy label) before each game.
        games: the stored games, which are not played again.
    """
    kept = games or Games(None)
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
            n_runs = runs or scenario.runs
            game = kept.find(scenario, policy, n_runs, seed)
            if game is None:
                game = _play(scenario, policy, n_runs, seed, threads)
                kept.keep(scenario, policy, n_runs, seed, game)
            regrets[label], nanoseconds[label] = game
        if not regrets:
            why = "; ".join(f"{label}: {text}" for label, text in absent[scenario.key].items())
            raise ScenarioError(f"a policy must be able to play {scenario.key}, got none: {why}")
        cells[scenario.key] = rank(regrets, nanoseconds)
    return Standings(
        scenarios=tuple(scenarios),
        policies=tuple(policies),
        cells=cells,
        absent=absent,
        seed=seed,
        seconds=time.perf_counter() - started,
    )


def compile_ahead(policies: Sequence[str], tick: Tick) -> None:
    """Compile the policies of the league in parallel, with one process per core.

    Compiling takes most of the time of a first league, and one process compiles one function at a
    time.

    Args:
        policies: labels of the league, or ``module:Object`` names.
        tick: called with ("compiled", policy) after each policy.
    """
    for name, done in call_in_processes(_compile, policies, available_cores()):
        done.result()
        tick("compiled", name)


def _compile(name: str) -> None:
    (policy,) = league_policies([name]).values()
    (scenario,) = load_scenarios(["short"])
    with contextlib.suppress(PolicyError):  # the league reports policies that cannot play
        simulate(scenario.environment, [policy], horizon=1, runs=1)


def _play(scenario: Scenario, policy: Policy, runs: int, seed: int, threads: int | None) -> Game:
    """Return final regrets by run, and nanoseconds per step and core."""
    simulate(scenario.environment, [policy], horizon=1, runs=1, seed=seed)  # compile it first
    started = time.perf_counter()
    played = simulate(
        scenario.environment,
        [policy],
        horizon=scenario.horizon,
        runs=runs,
        seed=seed,
        checkpoints=1,
        threads=threads,
    )
    seconds = time.perf_counter() - started
    result = require_all_runs(played, runs)
    final = np.asarray(result.dataset["regret"].isel(policy=0, time=-1).values, dtype=np.float64)
    cores = min(threads or available_cores(), runs)
    return Game(final, seconds * cores / (runs * scenario.horizon) * 1e9)
