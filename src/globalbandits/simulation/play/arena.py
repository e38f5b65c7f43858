"""`Arena`: a world and the policies that play it, in the memory of one thread."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._random import Source, States, Stream, source
from globalbandits.compiling.engine import Engine
from globalbandits.errors import SimulationError
from globalbandits.evidence.histogram import Histogram, empty
from globalbandits.evidence.stop_rules import NO_STOP
from globalbandits.policies.base import State
from globalbandits.simulation.play.job import Job, Records
from globalbandits.simulation.play.loop import PolicyMemory, RunBuffers, late_rewards, play_loop
from globalbandits.simulation.play.scores import empty_scores
from globalbandits.simulation.play.worlds import World, make_world
from globalbandits.simulation.progress import say_compiling
from globalbandits.statistics import Statistics, no_statistics

_WORD_BYTES = 8
MAX_BLOCK_CELLS = 2**15  # small enough for the processor's cache, large enough for few calls
FIRST_BLOCK_CELLS = 2**8  # before the duration of a step has been measured
# Blocks grow after a short call and shrink after a long one.
SHORT_CALL_SECONDS, LONG_CALL_SECONDS = 0.005, 0.05
MAX_PULL_COUNTS = 2**22  # n_rows * n_arms
MAX_HISTOGRAM_NUMBERS = 2**18  # in the histograms of all rows and checkpoints
# Numbers of one block of offers, and the least number of cells in a block.
MAX_OFFER_NUMBERS, MIN_OFFER_CELLS = 2**19, 2**8


class RunState(NamedTuple):
    """The memory that is reset at the start of a run, in one block."""

    stats: Statistics
    state: State
    histogram: Histogram


class PolicyPlayer:
    """A policy with its compiled loops and their buffers, in the world of an arena."""

    def __init__(
        self, job: Job, policy_index: int, world: World, arena: "Arena", engine: Engine
    ) -> None:
        policy, setup = job.policies[policy_index], job.setups[policy_index]
        rules = policy.rules_of(setup)
        self.name = job.names[policy_index]
        self._n_arms = job.n_arms
        self._has_offers = job.offers is not None
        self._states = arena.states
        self._source = Source()
        # Without evidence the histogram has no arms, so that there is less memory to reset.
        histogram = empty(job.n_arms if job.evidence else 0)
        initial = RunState(no_statistics(job.n_arms), rules.init(setup), histogram)
        run_state, words = pack(initial)
        n_rows, n_times = arena.n_rows, len(job.times)
        self.runs = RunBuffers(
            initial_words=words.copy(),
            words=words,
            rng_states=np.zeros((n_rows, 4), np.uint64),
            rng_words=self._source.memory,
            rng_buffered=self._source.buffered,
            draw_rewards=world.draw_rewards.address,
            draw_data=world.draw_rewards.data_address,
            rewards=world.data.rewards,
            max_ahead=world.max_ahead,
            times=job.times,
            estimates=np.zeros((n_rows, n_times, *job.n_numbers)),
            deviations=np.zeros(job.n_numbers or 1),
            histograms=np.zeros(
                (n_rows, n_times if job.evidence else 0, job.n_arms, histogram.counts.shape[1])
            ),
            streak_arms=np.zeros(arena.n_cells, np.int64),
            streak_starts=np.zeros(arena.n_cells, np.int64),
            n_streaks=np.zeros(n_rows, np.int64),
            n_played=np.zeros(n_rows, np.int64),
            choices=np.zeros(n_rows, np.int64),
            stop_times=np.zeros(n_rows, np.int64),
            stop_reasons=np.zeros(n_rows, np.int64),
            next_time=np.zeros(1, np.int64),
            invalid_arm=np.zeros(1, np.int64),
        )
        stop = NO_STOP
        if job.stop is not None:
            # The rule writes to its arrays, so each thread needs its own copy.
            stop = job.stop._replace(logs=job.stop.logs.copy(), masses=job.stop.masses.copy())
        delay = job.delay
        longest, deadline = (0, None) if delay is None else (delay.longest, delay.last_age)
        # Without late rewards the loop does not read this memory.
        late = late_rewards(job.horizon if job.is_late else 1, job.batch, longest, deadline)
        if world.draw_delays is not None:
            late = late._replace(
                draw_delays=world.draw_delays.address,
                draw_data=world.draw_delays.data_address,
                delays=world.delays,
                has_delays=True,
            )
        memory = PolicyMemory(
            setup=setup,
            stats=run_state.stats,
            state=run_state.state,
            rng=self._source.rng,
            histogram=run_state.histogram,
            runs=self.runs,
            late=late,
            stop=stop,
            offers=world.offers,
        )
        # Plain Python calls the world's routine as a function, compiled code by its address.
        routine = world.draw_rewards
        plain_runs = self.runs._replace(draw_rewards=routine.function, draw_data=routine.data)
        plain_late, has_code = late, routine.address != 0
        if world.draw_delays is not None:
            delays = world.draw_delays
            plain_late = late._replace(draw_delays=delays.function, draw_data=delays.data)
            has_code = has_code and delays.address != 0
        self._play = engine.bind_later(
            play_loop(
                rules, job.evidence, job.stop is not None, job.is_late, job.offers is not None
            ),
            type(policy).__name__,
            (memory,),
            0,
            0,
            0,
            False,
            plain=(memory._replace(runs=plain_runs, late=plain_late),),
            compiled=has_code and policy.compiled,
        )
        self.scores = empty_scores(job.times, n_rows, job.n_arms, job.n_contexts)
        score_data = world.score_data, self.runs, self.scores
        self._score = engine.bind(world.score, "the simulator", score_data, 0, 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Set the random streams to the start of some runs."""
        states = self._states.of(Stream.POLICY, first_run, n_rows)
        self.runs.rng_states[:n_rows] = states
        self._source.set(states[0])

    def play(self, start: int, n_steps: int, n_rows: int, is_last: bool) -> None:
        """Play steps start + 1 to start + n_steps of some runs."""
        self._play(start, n_steps, n_rows, is_last)
        invalid = int(self.runs.invalid_arm[0])
        if invalid != 0:
            last = self._n_arms - 1
            if self._has_offers and invalid == -1:
                raise SimulationError(
                    f"{self.name} must find an available arm within its limits, got none"
                )
            raise SimulationError(f"{self.name} must select an arm from 0 to {last}, got {invalid}")
        self._score(start, n_steps, n_rows)


class Arena:
    """A world and the players of its policies. One thread uses it for run after run.

    A call plays a block of cells. A cell is one step of one run.

    Args:
        job: the simulation to play.
        engine: compiles the functions of the job.
        states: start states of the random streams of all runs that this arena may play.
        block: cells per call; by default adapted to the speed. Results do not depend on it.
    """

    def __init__(self, job: Job, engine: Engine, states: States, block: int | None = None) -> None:
        self.job = job
        self.states = states
        self._engine = engine
        self._block = block
        self.n_cells = block or MAX_BLOCK_CELLS
        if job.offers is not None:
            largest = max(MIN_OFFER_CELLS, MAX_OFFER_NUMBERS // job.offers.n_arms)
            self.n_cells = min(self.n_cells, largest)
        # Compiled code switches between the streams of several runs by writing the generator's
        # memory. If the layout of this memory is unknown, each call plays a single run, whose
        # stream is set before the call.
        n_rows = min(self.n_cells // job.horizon, MAX_PULL_COUNTS // job.n_arms)
        self.n_rows = max(1, n_rows) if source.KNOWN_LAYOUT else 1
        if job.evidence:
            n_numbers = len(job.times) * job.n_arms * empty(1).counts.size
            self.n_rows = max(1, min(self.n_rows, MAX_HISTOGRAM_NUMBERS // n_numbers))
        self._block_cells = block or FIRST_BLOCK_CELLS
        self._world = make_world(job, states, self.n_cells, self.n_rows, engine)
        self._players = [
            PolicyPlayer(job, index, self._world, self, engine)
            for index in range(len(job.policies))
        ]
        engine.finish()

    def copy(self) -> "Arena":
        """An arena for another thread. Call it in that thread, so that its memory is local."""
        return Arena(self.job, self._engine.share(), self.states, self._block)

    def n_next(self) -> int:
        """Number of runs to play by the next call of `play`."""
        return max(1, min(self.n_rows, self._block_cells // self.job.horizon))

    def play(
        self,
        first_run: int,
        n_runs: int,
        records: Records,
        place: int,
        tick: Callable[[int], bool],
    ) -> int:
        """Play some runs, write them to the records and return the number of finished runs.

        Args:
            first_run: number of the first run.
            n_runs: number of runs.
            records: the records to fill.
            place: index of the first run in the records.
            tick: called with the number of steps after each block; returns False to stop.
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
        """Play runs to their end and return True; return False if ``tick`` has stopped them."""
        horizon, world = self.job.horizon, self._world
        world.begin(first_run, n_rows)
        for player in self._players:
            player.begin(first_run, n_rows)
        start = 0
        while start < horizon:
            n_steps = min(max(1, self._block_cells // n_rows), horizon - start)
            begun = time.perf_counter()
            world.draw_block(start, n_steps, n_rows)
            for player in self._players:
                player.play(start, n_steps, n_rows, start + n_steps == horizon)
            world.check()
            self._adapt_block(time.perf_counter() - begun)
            start += n_steps
            if not tick(n_steps * n_rows * len(self._players)):
                return False
        return True

    def _adapt_block(self, seconds: float) -> None:
        """Keep calls long enough to be efficient and short enough to be interruptible."""
        if self._block is None:
            if seconds < SHORT_CALL_SECONDS:
                self._block_cells = min(2 * self._block_cells, self.n_cells)
            elif seconds > LONG_CALL_SECONDS:
                self._block_cells = max(self._block_cells // 2, 1)

    def _store(self, records: Records, places: slice, n_rows: int) -> None:
        unit = self._world.score_unit
        for index, player in enumerate(self._players):
            runs, scores = player.runs, player.scores
            np.multiply(scores.regret[:n_rows], unit, out=records.regret[index, places])
            nominal_regret = records.nominal_regret[index, places]
            if self.job.is_nominal:
                np.multiply(scores.nominal_regret[:n_rows], unit, out=nominal_regret)
            else:
                nominal_regret[...] = np.nan
            records.estimate[index, places] = runs.estimates[:n_rows]
            records.pulls[index, places] = scores.pulls[:n_rows]
            records.last_suboptimal[index, places] = scores.last_suboptimal[:n_rows]
            # No single arm is the choice for all contexts.
            records.choice[index, places] = -1 if self.job.n_contexts else runs.choices[:n_rows]
            np.multiply(
                scores.context_regret[:n_rows], unit, out=records.context_regret[index, places]
            )
            if self.job.stop is not None:
                records.stopped[index, places] = runs.stop_times[:n_rows]
                records.stop_reason[index, places] = runs.stop_reasons[:n_rows]
            records.histograms[index, places] = runs.histograms[:n_rows]
        records.theta[places] = self._world.path[:n_rows]
        records.bias[places] = self._world.bias[:n_rows]


def compiled_arena(job: Job, states: States | None = None, *, shown: bool = False) -> Arena:
    """Compile the functions of a job, with a message, and return an arena that plays it.

    Args:
        job: the simulation to play.
        states: the random streams of its runs; those of run 0 by default.
        shown: write the message even if standard error is not a terminal.
    """
    states = States(job.seed, 0, 1) if states is None else states
    return Arena(job, Engine(announce=partial(say_compiling, shown=shown)), states)


def pack(value: Any) -> tuple[Any, NDArray[np.uint64]]:
    """Return the same NamedTuple with all its arrays in one block of memory, and that block.

    >>> from typing import NamedTuple
    >>> class Pair(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> pair, words = pack(Pair(np.array([1, 2]), np.array([[0.5]])))
    >>> fresh = words.copy()
    >>> pair.a[:] = 7
    >>> words[:] = fresh
    >>> pair.a.tolist(), pair.b.tolist(), words.size
    ([1, 2], [[0.5]], 3)
    """
    words = np.zeros(_size(value), np.uint64)
    return _place(value, words, 0)[0], words


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return -(-value.nbytes // _WORD_BYTES)
    return sum(_size(field) for field in value) if isinstance(value, tuple) else 0


def _place(value: Any, words: NDArray[np.uint64], at: int) -> tuple[Any, int]:
    """A copy in the words from ``at`` on, and the index after its last word."""
    if isinstance(value, np.ndarray):
        end = at + _size(value)
        room = words[at:end].view(np.uint8)[: value.nbytes]
        placed = room.view(value.dtype).reshape(value.shape)
        placed[...] = value
        return placed, end
    if not hasattr(value, "_fields"):
        return value, at
    fields = []
    for field in value:
        placed, at = _place(field, words, at)
        fields.append(placed)
    return type(value)(*fields), at
