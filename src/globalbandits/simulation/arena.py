"""One thread's memory: a world and the policies that play it, used again for run after run."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._random import Source, States, Stream, source
from globalbandits.compiling.engine import Engine
from globalbandits.compiling.memory import pack
from globalbandits.errors import SimulationError
from globalbandits.evidence.histogram import Histogram, empty
from globalbandits.evidence.stopping import NO_STOP
from globalbandits.policies.base import State
from globalbandits.simulation.accounts import new_account
from globalbandits.simulation.job import Job
from globalbandits.simulation.records import Records
from globalbandits.simulation.seat import Runs, Seat, play_loop
from globalbandits.simulation.worlds import World, make_world
from globalbandits.statistics import Statistics, no_statistics

BLOCK = 2**15  # cells of a call: few enough for the processor's cache, many enough to call seldom
_FIRST_BLOCK = 2**8  # until it is known how long a step takes
_QUICK, _SLOW = 0.005, 0.05  # seconds of a call: it grows below, and shrinks above
_MOST_COUNTED = 2**22  # plays of arms that are counted apart in one call
_MOST_COPIED = 2**18  # numbers in histograms of one call


class Memory(NamedTuple):
    """All that a run starts afresh, in one piece of memory."""

    stats: Statistics
    state: State
    histogram: Histogram


class Player:
    """A policy at work in the arena's world."""

    def __init__(self, job: Job, at: int, world: World, arena: "Arena", engine: Engine) -> None:
        policy, setup = job.policies[at], job.setups[at]
        self.name = job.names[at]
        self._n_arms = job.n_arms
        self._states = arena.states
        self._source = Source()
        histogram = empty(job.n_arms if job.evidence else 0)  # less to start afresh without
        fresh = Memory(no_statistics(job.n_arms), policy.rules.init(setup), histogram)
        memory, words = pack(fresh)
        n_rows, n_times = arena.n_rows, len(job.times)
        self.runs = Runs(
            fresh=words.copy(),
            current=words,
            streams=np.zeros((n_rows, 4), np.uint64),
            memory=self._source.memory,
            buffered=self._source.buffered,
            pay=world.pay.address,
            world=world.pay.data_address,
            rewards=world.rewards,
            ahead=world.ahead,
            times=job.times,
            estimates=np.zeros((n_rows, n_times)),
            copies=np.zeros(
                (n_rows, n_times if job.evidence else 0, job.n_arms, histogram.counts.shape[1])
            ),
            arms=np.zeros(arena.n_cells, np.int64),
            starts=np.zeros(arena.n_cells, np.int64),
            n_streaks=np.zeros(n_rows, np.int64),
            n_played=np.zeros(n_rows, np.int64),
            choices=np.zeros(n_rows, np.int64),
            stopped=np.zeros(n_rows, np.int64),
            why=np.zeros(n_rows, np.int64),
            next_time=np.zeros(1, np.int64),
            wrong_arm=np.zeros(1, np.int64),
        )
        stop = NO_STOP
        if job.stop is not None:  # with room of its own, as threads use it at the same time
            stop = job.stop._replace(logs=job.stop.logs.copy(), masses=job.stop.masses.copy())
        seat = Seat(
            setup, memory.stats, memory.state, self._source.rng, memory.histogram, self.runs, stop
        )
        self.account = new_account(job.times, n_rows, job.n_arms)
        play, name = (
            play_loop(policy.rules, job.evidence, job.stop is not None),
            type(policy).__name__,
        )
        plain = seat._replace(runs=self.runs._replace(pay=world.pay.function, world=world.pay.data))
        compiled = world.pay.address != 0 and policy.compiled
        self._play = engine.bind_later(
            play, name, (seat,), 0, 0, 0, False, plain=(plain,), compiled=compiled
        )
        data = world.scores, self.runs, self.account
        self._score = engine.bind(world.score, "the simulator", data, 0, 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Random numbers from the start of some runs."""
        states = self._states.of(Stream.POLICY, first_run, n_rows)
        self.runs.streams[:n_rows] = states
        self._source.set(states[0])

    def play(self, start: int, n_steps: int, n_rows: int, is_last: bool) -> None:
        """Play steps start + 1 to start + n_steps of some runs."""
        self._play(start, n_steps, n_rows, is_last)
        wrong = int(self.runs.wrong_arm[0])
        if wrong != 0:
            last = self._n_arms - 1
            raise SimulationError(f"{self.name} must select an arm from 0 to {last}, got {wrong}")
        self._score(start, n_steps, n_rows)


class Arena:
    """A world with its players.

    Args:
        job: what to play.
        engine: compiles it.
        states: where random numbers start, for all runs this arena may play.
        block: cells of a call; found by itself by default. It makes no difference to a result.
    """

    def __init__(self, job: Job, engine: Engine, states: States, block: int | None = None) -> None:
        self.job = job
        self.states = states
        self._engine = engine
        self._block = block
        self.n_cells = block or BLOCK
        # Where a generator's memory is not known, a run's stream is set before each call.
        most = min(self.n_cells // job.horizon, _MOST_COUNTED // job.n_arms)
        self.n_rows = max(1, most) if source.KNOWN_LAYOUT else 1
        if job.evidence:
            copied = len(job.times) * job.n_arms * empty(1).counts.size
            self.n_rows = max(1, min(self.n_rows, _MOST_COPIED // copied))
        self._size = block or _FIRST_BLOCK
        self._world = make_world(job, states, self.n_cells, self.n_rows, engine)
        self._players = [
            Player(job, at, self._world, self, engine) for at in range(len(job.policies))
        ]
        engine.finish()

    def copy(self) -> "Arena":
        """An arena for another thread, to be made by that thread: memory of its own, near it."""
        return Arena(self.job, self._engine.share(), self.states, self._block)

    def n_next(self) -> int:
        """How many runs should be played by the next call of `play`."""
        return max(1, min(self.n_rows, self._size // self.job.horizon))

    def play(
        self,
        first_run: int,
        n_runs: int,
        records: Records,
        place: int,
        tick: Callable[[int], bool],
    ) -> int:
        """Play some runs and write them into the records; returns how many are finished.

        Args:
            first_run: number of the first run.
            n_runs: how many.
            records: where to write.
            place: of the first run in the records.
            tick: called with a number of steps done; says whether to go on.
        """
        done = 0
        while done < n_runs:
            n_rows = min(self.n_next(), n_runs - done)
            if not self._play_rows(first_run + done, n_rows, tick):
                break
            self._store(records, slice(place + done, place + done + n_rows), n_rows)
            done += n_rows
        return done

    def _play_rows(self, first_run: int, n_rows: int, tick: Callable[[int], bool]) -> bool:
        """Play runs to their end, side by side; whether it was reached."""
        horizon, world = self.job.horizon, self._world
        world.begin(first_run, n_rows)
        for player in self._players:
            player.begin(first_run, n_rows)
        start = 0
        while start < horizon:
            n_steps = min(max(1, self._size // n_rows), horizon - start)
            begun = time.perf_counter()
            world.next_block(start, n_steps, n_rows)
            for player in self._players:
                player.play(start, n_steps, n_rows, start + n_steps == horizon)
            world.check()
            self._adapt(time.perf_counter() - begun)
            start += n_steps
            if not tick(n_steps * n_rows * len(self._players)):
                return False
        return True

    def _adapt(self, seconds: float) -> None:
        """Let calls be long enough to be worth it, and short enough to be interrupted."""
        if self._block is None:
            if seconds < _QUICK:
                self._size = min(2 * self._size, self.n_cells)
            elif seconds > _SLOW:
                self._size = max(self._size // 2, 1)

    def _store(self, records: Records, place: slice, n_rows: int) -> None:
        unit = self._world.unit
        for number, player in enumerate(self._players):
            runs, account = player.runs, player.account
            _scale(account.regret[:n_rows], unit, records.regret[number, place])
            _scale(account.nominal_regret[:n_rows], unit, records.nominal_regret[number, place])
            if not self.job.is_nominal:
                records.nominal_regret[number, place] = np.nan
            records.estimate[number, place] = runs.estimates[:n_rows]
            records.pulls[number, place] = account.pulls[:n_rows]
            records.last_suboptimal[number, place] = account.last_suboptimal[:n_rows]
            records.choice[number, place] = runs.choices[:n_rows]
            if self.job.stop is not None:
                records.stopped[number, place] = runs.stopped[:n_rows]
                records.why[number, place] = runs.why[:n_rows]
            records.histograms[number, place] = runs.copies[:n_rows]
        records.theta[place] = self._world.path[:n_rows]
        records.bias[place] = self._world.bias[:n_rows]


def _scale(values: Any, unit: float, out: Any) -> None:
    if unit == 1.0:
        out[...] = values
    else:
        np.multiply(values, unit, out=out)
