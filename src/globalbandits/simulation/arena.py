"""One thread's memory: a world and the policies that play it, used again run after run."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._random import Stream, generator
from globalbandits._types import FloatArray, IntArray
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.evidence.histogram import DEFAULT_BINS
from globalbandits.policies.base import Policy
from globalbandits.simulation.job import Job
from globalbandits.simulation.loops import (
    LAST_SUBOPTIMAL,
    WRONG_ARM,
    Game,
    Tally,
    block_loop,
    fixed_steps,
    moving_steps,
)
from globalbandits.simulation.worlds import make_world
from globalbandits.statistics import clear, no_statistics

BLOCK = 2**14  # steps: small enough for the processor's cache, large enough to call seldom
SLOW_BLOCK = 2**10  # in plain Python, so that an interrupt is heard soon


class Records(NamedTuple):
    """What is kept of some runs."""

    regret: FloatArray  # (policy, run, time)
    nominal_regret: FloatArray  # (policy, run, time)
    estimate: FloatArray  # (policy, run, time)
    pulls: IntArray  # (policy, run, arm)
    last_suboptimal: IntArray  # (policy, run)
    theta: FloatArray  # (run, time), no time without drift
    bias: FloatArray  # (run, arm), no arm without bias
    histograms: FloatArray  # (policy, run, time, arm, knot), no time without evidence


def empty_records(job: Job, n_runs: int) -> Records:
    """Room for some runs."""
    n_policies, n_times = len(job.policies), len(job.times)
    curves = (n_policies, n_runs, n_times)
    return Records(
        regret=np.zeros(curves),
        nominal_regret=np.zeros(curves),
        estimate=np.zeros(curves),
        pulls=np.zeros((n_policies, n_runs, job.n_arms), np.int64),
        last_suboptimal=np.zeros((n_policies, n_runs), np.int64),
        theta=np.zeros((n_runs, 0 if job.drift is None else n_times)),
        bias=np.zeros((n_runs, 0 if job.bias is None else job.n_arms)),
        histograms=np.zeros(
            (n_policies, n_runs, n_times if job.evidence else 0, job.n_arms, DEFAULT_BINS + 1)
        ),
    )


class Player:
    """A policy at work in the arena's world."""

    def __init__(self, job: Job, at: int, world: Any, engine: Engine) -> None:
        policy, setup = job.policies[at], job.setups[at]
        self.name = job.names[at]
        self._fresh = policy.rules.init(setup)
        self._rng = np.random.Generator(np.random.PCG64(0))
        n_times = len(job.times)
        self.tally = Tally(
            times=job.times,
            numbers=np.zeros(5, np.int64),
            settled=np.zeros(2),
            totals=np.zeros(2),
            pulls=np.zeros(job.n_arms, np.int64),
            regret=np.zeros(n_times),
            nominal_regret=np.zeros(n_times),
            estimates=np.zeros(n_times),
        )
        self.state = policy.rules.init(setup)
        self.stats = no_statistics(job.n_arms)
        game = Game(setup, self.stats, self.state, self._rng, world, self.tally)
        loop = _loop_of(policy, job)
        self.play = engine.bind(loop, type(policy).__name__, (game,), 0, 0)

    def begin(self, rng_state: Any) -> None:
        """Forget the run before; random numbers from the start of a stream."""
        self._rng.bit_generator.state = rng_state
        restore(self.state, self._fresh)
        clear(self.stats)
        tally = self.tally
        for array in (tally.numbers, tally.settled, tally.totals, tally.pulls):
            array[:] = 0


def _loop_of(policy: Policy, job: Job) -> Callable[..., None]:
    rules, noise = policy.rules, job.noise.rules
    if job.drift is None:
        steps = fixed_steps(rules.select, rules.update, noise.draw)
    else:
        steps = moving_steps(rules.select, rules.update, noise.prepare, noise.draw)
    return block_loop(steps, rules.estimate)


def restore(state: Any, source: Any) -> None:
    """Copy the arrays of one state into another one's."""
    for target, value in zip(state, source, strict=True):
        if hasattr(target, "_fields"):
            restore(target, value)
        else:
            target[...] = value


class Arena:
    """A world with its players."""

    def __init__(self, job: Job, engine: Engine, block: int | None = None) -> None:
        self.job = job
        self._engine = engine
        self._world = make_world(job, block or BLOCK, engine)
        content = self._world.content
        self._players = [Player(job, at, content, engine) for at in range(len(job.policies))]
        self._block = block or (SLOW_BLOCK if engine.slow else BLOCK)

    def copy(self) -> "Arena":
        """An arena for another thread."""
        return Arena(self.job, self._engine)

    def play(self, run: int, tick: Callable[[int], bool]) -> bool:
        """Play one run; after each block ``tick(steps)`` says whether to go on."""
        job, players = self.job, self._players
        self._world.begin(run)
        rng_state = generator(Stream.POLICY, job.seed, run).bit_generator.state
        for player in players:
            player.begin(rng_state)
        for start in range(0, job.horizon, self._block):
            n_steps = min(self._block, job.horizon - start)
            self._world.next_block(start, n_steps)
            for player in players:
                player.play(start, n_steps)
                self._check_arm(player)
            if not tick(n_steps * len(players)):
                return False
        return True

    def store(self, records: Records, at: int) -> None:
        """Write the run just played into one place of the records."""
        moving = self.job.drift is not None
        scale = self.job.scale if moving else 1.0  # moving worlds count on the unit scale
        for number, player in enumerate(self._players):
            tally = player.tally
            records.regret[number, at] = scale * tally.regret
            records.nominal_regret[number, at] = scale * tally.nominal_regret
            records.estimate[number, at] = tally.estimates
            records.pulls[number, at] = tally.pulls
            records.last_suboptimal[number, at] = tally.numbers[LAST_SUBOPTIMAL]
            if self.job.evidence:
                records.histograms[number, at] = player.state.copies
        records.theta[at] = self._world.path
        records.bias[at] = self._world.bias

    def _check_arm(self, player: Player) -> None:
        arm = int(player.tally.numbers[WRONG_ARM])
        if arm != 0:
            last = self.job.n_arms - 1
            raise SimulationError(f"{player.name} must select an arm from 0 to {last}, got {arm}")
