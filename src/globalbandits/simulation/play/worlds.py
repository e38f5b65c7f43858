"""Worlds: the part of a run that does not depend on the policy, and the rewards drawn from it.

Noise, drift and bias do not depend on the policies. A world is drawn once for some runs, and all
policies play it. They share the uniform numbers, the path of the parameter and the bias.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._random import Source, States, Stream
from globalbandits._types import FloatArray, IntArray
from globalbandits.compiling.engine import Engine
from globalbandits.compiling.routine import Routine
from globalbandits.environments.truth import means_over_time
from globalbandits.errors import SimulationError
from globalbandits.model.analysis.curves import evaluate_many
from globalbandits.model.tables import Tables, evaluate, find_cell, value_of
from globalbandits.simulation.play.drawn_offers import NO_OFFERS, Offers, OfferStream, best_offered
from globalbandits.simulation.play.job import Job
from globalbandits.simulation.play.loop import MAX_REWARDS_PER_DRAW
from globalbandits.simulation.play.scores import ArmGaps, StepWorths, score_fixed, score_steps

# Routines that draw rewards, uniform numbers and paths of the parameter. Each factory takes the
# functions of a noise or a drift and returns one function over plain arguments, which runs
# compiled or in plain Python.
#
# A call covers some rows (runs) of some steps each. Cell ``row * n_steps + step`` is one step of
# one run. Means and rewards are on the unit scale. Arrays over rows have a single row if all runs
# share the same numbers.

UInt64Array = NDArray[np.uint64]
DrawRewards = Callable[[Any, int, int, int, int], None]  # (data, row, arm, first cell, n)

ROUNDING_TOLERANCE = 1e-9  # rounding may move a reward this far out of the unit interval


class UniformBuffers(NamedTuple):
    """Uniform numbers of some runs. Each run has its own stream."""

    rng: np.random.Generator
    rng_states: UInt64Array  # (n_rows, 4) the generator at the start of each run
    rng_words: UInt64Array  # (4,) the memory of the generator's state
    rng_buffered: UInt64Array  # (1,)
    numbers: FloatArray  # (n_cells,)


def fill_uniforms(uniforms: UniformBuffers, n_steps: int, n_rows: int) -> None:
    """Draw the numbers of the first steps of some runs."""
    rng, rng_words = uniforms.rng, uniforms.rng_words
    for row in range(n_rows):
        for word in range(rng_words.shape[0]):
            rng_words[word] = uniforms.rng_states[row, word]
        uniforms.rng_buffered[0] = 0
        for cell in range(row * n_steps, (row + 1) * n_steps):
            uniforms.numbers[cell] = rng.random()


class FixedRewards(NamedTuple):
    """Rewards of arms whose means are constant during a run."""

    noise: Any  # the noise's parameters
    shapes: FloatArray  # (n_rows or 1, n_arms) the noise's shapes
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (MAX_REWARDS_PER_DRAW,) the rewards of the last call
    invalid: FloatArray  # (2,) arm plus 1 and value of an invalid reward; zeros if none


def store_reward(
    rewards: FloatArray, invalid: FloatArray, at: int, arm: int, reward: float
) -> None:
    """Store a reward of an arm, and mark it as invalid if it lies outside the unit interval."""
    rewards[at] = reward
    if not -ROUNDING_TOLERANCE <= reward <= 1.0 + ROUNDING_TOLERANCE:
        invalid[0] = arm + 1
        invalid[1] = reward


@cache
def fixed_rewards_routine(draw: Any) -> DrawRewards:
    """The routine that draws rewards of an arm whose mean is constant."""

    def draw_rewards(data: FixedRewards, row: int, arm: int, first_cell: int, n: int) -> None:
        shape = data.shapes[min(row, data.shapes.shape[0] - 1), arm]
        for at in range(n):
            reward = draw(data.noise, arm, shape, data.uniforms[first_cell + at])
            store_reward(data.rewards, data.invalid, at, arm, reward)

    return draw_rewards


class DelayData(NamedTuple):
    """The input and the output of the routine that draws delays."""

    parameters: Any  # the parameters of the delay
    uniforms: FloatArray  # (n_cells,)
    delays: IntArray  # (1,) the delay of the last call
    invalid: IntArray  # (1,) a delay that is too long; 0 if none
    longest: int


@cache
def delay_routine(draw: Any) -> DrawRewards:
    """The routine that draws the delay of one reward."""

    def draw_delay(data: DelayData, row: int, arm: int, cell: int, n: int) -> None:
        delay = int(draw(data.parameters, arm, data.uniforms[cell]))
        if delay > data.longest:
            data.invalid[0] = delay
            delay = -1
        data.delays[0] = delay

    return draw_delay


class DriftingRewards(NamedTuple):
    """Rewards of arms whose means follow a drifting parameter. Worth is on its own unit scale."""

    noise: Any
    tables: Tables
    is_biased: bool
    shifts: FloatArray  # (n_rows or 1, n_arms) the bias, 0 without one
    thetas: FloatArray  # (n_cells,) the parameter
    best: FloatArray  # (n_cells,) worth of the best arm, by the true means
    nominal_best: FloatArray  # (n_cells,) the same, by the model's means
    worth: FloatArray  # (n_cells,) worth of the arm played, by the true means
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (MAX_REWARDS_PER_DRAW,)
    invalid: FloatArray  # (2,)


@cache
def drifting_rewards_routine(prepare: Any, draw: Any) -> DrawRewards:
    """The routine that draws rewards of an arm whose mean drifts, and records its worth."""

    def draw_rewards(data: DriftingRewards, row: int, arm: int, first_cell: int, n: int) -> None:
        shift = data.shifts[min(row, data.shifts.shape[0] - 1), arm]
        for at in range(n):
            cell = first_cell + at
            mean = evaluate(data.tables.mean, arm, data.thetas[cell])
            true_mean = min(max(mean + shift, 0.0), 1.0)
            shape = prepare(data.noise, arm, true_mean)
            reward = draw(data.noise, arm, shape, data.uniforms[cell])
            store_reward(data.rewards, data.invalid, at, arm, reward)
            nominal = mean
            if data.tables.valued:
                nominal = evaluate(data.tables.worth, arm, data.thetas[cell])
            data.nominal_worth[cell] = nominal
            data.worth[cell] = worth_of_true_mean(data.tables, arm, nominal, mean, true_mean)

    return draw_rewards


class TimedRewards(NamedTuple):
    """Rewards of arms whose means are given for every step. Worth is in the user's units."""

    noise: Any
    n_steps: IntArray  # (1,) steps of this call
    means: FloatArray  # (n_steps, n_arms)
    worths: FloatArray  # (n_steps, n_arms)
    nominal_worths: FloatArray  # (n_arms,) by the model's means, minus the best arm's
    worth: FloatArray  # (n_cells,) of the arm played
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (MAX_REWARDS_PER_DRAW,)
    invalid: FloatArray  # (2,)


@cache
def timed_rewards_routine(prepare: Any, draw: Any) -> DrawRewards:
    """The routine that draws rewards of an arm whose means are given step by step."""

    def draw_rewards(data: TimedRewards, row: int, arm: int, first_cell: int, n: int) -> None:
        for at in range(n):
            cell = first_cell + at
            step = cell - row * data.n_steps[0]
            shape = prepare(data.noise, arm, data.means[step, arm])
            reward = draw(data.noise, arm, shape, data.uniforms[cell])
            store_reward(data.rewards, data.invalid, at, arm, reward)
            data.worth[cell] = data.worths[step, arm]
            data.nominal_worth[cell] = data.nominal_worths[arm]

    return draw_rewards


def worth_of_true_mean(
    tables: Tables, arm: int, nominal: float, mean: float, true_mean: float
) -> float:
    """Worth of an arm whose true mean may differ from the model's, on the unit scale.

    `true_worths` computes the same for all arms if means are constant.

    Args:
        tables: the tables of the model.
        arm: the arm.
        nominal: worth of the arm by the model.
        mean: mean of the arm by the model.
        true_mean: mean of the arm's rewards.
    """
    if true_mean == mean:
        return nominal
    return value_of(tables, arm, true_mean)


@cache
def shapes_loop(prepare: Any) -> Callable[[Any, FloatArray, FloatArray, int], None]:
    """The loop that computes a noise's shapes for every run and arm."""

    def loop(noise: Any, means: FloatArray, shapes: FloatArray, n_rows: int) -> None:
        for row in range(n_rows):
            for arm in range(means.shape[1]):
                shapes[row, arm] = prepare(noise, arm, means[row, arm])

    return loop


class ParameterPath(NamedTuple):
    """A drifting parameter: its current values and the input of the drift's rule."""

    track: Any  # the data of the drift's rule
    uniforms: FloatArray  # (n_cells,)
    theta: FloatArray  # (n_rows,) the parameter at the last step of the previous call
    invalid: FloatArray  # (2,) time and value of a parameter outside the domain; zeros if none


@cache
def path_loop(move: Any) -> Callable[[ParameterPath, DriftingRewards, int, int, int], None]:
    """The loop that moves the parameter and records the worth of the best arm."""

    def loop(
        path: ParameterPath, data: DriftingRewards, start: int, n_steps: int, n_rows: int
    ) -> None:
        tables = data.tables
        for row in range(n_rows):
            theta = path.theta[row]
            for step in range(n_steps):
                cell = row * n_steps + step
                if start + step > 0:
                    theta = move(path.track, start + step + 1, theta, path.uniforms[cell])
                if not tables.low <= theta <= tables.high:
                    path.invalid[0] = start + step + 1
                    path.invalid[1] = theta
                data.thetas[cell] = theta
                record_best_worth(data, row, cell, theta)
            path.theta[row] = theta

    return loop


def record_best_worth(data: DriftingRewards, row: int, cell: int, theta: float) -> None:
    """Record the worth of the best arm at theta.

    Without bias the envelope gives the best arm. With bias all arms are compared.
    """
    tables = data.tables
    envelope = tables.envelope
    arm = envelope.arms[envelope.starts[find_cell(envelope, theta)]]
    worth = evaluate(tables.worth, arm, theta)
    data.nominal_best[cell] = worth
    if data.is_biased:
        worth = -np.inf
        for other in range(tables.n_arms):
            mean = evaluate(tables.mean, other, theta)
            shift = data.shifts[min(row, data.shifts.shape[0] - 1), other]
            true_mean = min(max(mean + shift, 0.0), 1.0)
            nominal = evaluate(tables.worth, other, theta)
            worth = max(worth, worth_of_true_mean(tables, other, nominal, mean, true_mean))
    data.best[cell] = worth


class UniformStream:
    """Draws the uniform numbers of one kind of random stream."""

    def __init__(
        self, stream: Stream, states: States, n_cells: int, n_rows: int, engine: Engine
    ) -> None:
        self._stream = stream
        self._states = states
        self._source = Source()
        self._buffers = UniformBuffers(
            rng=self._source.rng,
            rng_states=np.zeros((n_rows, 4), np.uint64),
            rng_words=self._source.memory,
            rng_buffered=self._source.buffered,
            numbers=np.zeros(n_cells),
        )
        self.numbers = self._buffers.numbers
        self._fill = engine.bind(fill_uniforms, "the simulator", (self._buffers,), 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Set the streams to the start of some runs."""
        states = self._states.of(self._stream, first_run, n_rows)
        self._buffers.rng_states[:n_rows] = states
        self._source.set(states[0])

    def draw(self, n_steps: int, n_rows: int) -> None:
        """Draw numbers for the next steps of one run, or for the first steps of several runs."""
        if n_rows == 1:
            self._source.rng.random(out=self.numbers[:n_steps])
        else:
            self._fill(n_steps, n_rows)


class BiasSampler:
    """Draws the bias of each run."""

    def __init__(self, job: Job, states: States) -> None:
        self._job = job
        self._states = states
        self._source = Source()

    def draw(self, first_run: int, n_rows: int) -> FloatArray:
        """Shifts in the user's units, shape (n_rows, n_arms); no arms without a bias."""
        job = self._job
        if job.bias is None:
            return np.zeros((n_rows, 0))
        shifts = np.zeros((n_rows, job.n_arms))
        for row, state in enumerate(self._states.of(Stream.BIAS, first_run, n_rows)):
            self._source.set(state)
            shifts[row] = job.bias.shifts(job.n_arms, self._source.rng)
        return shifts


class PopulationSampler:
    """Draws the parameter of each run, and its shifts if any, from a population."""

    def __init__(self, job: Job, states: States) -> None:
        assert job.population is not None
        self._population = job.population
        self._domain = job.tables.low, job.tables.high
        self._n_arms = job.n_arms
        self._states = states
        self._source = Source()

    def draw(self, first_run: int, n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Parameters, shape (n_rows,), and shifts, shape (n_rows, n_arms) or (n_rows, 0)."""
        has_shifts = self._population.shifts is not None
        thetas = np.zeros(n_rows)
        shifts = np.zeros((n_rows, self._n_arms if has_shifts else 0))
        for row, state in enumerate(self._states.of(Stream.POPULATION, first_run, n_rows)):
            self._source.set(state)
            u = self._source.rng.random()
            thetas[row] = self._population.theta_at(u, self._domain)
            if has_shifts:
                shifts[row] = self._population.shifts_at(u, self._n_arms)
        return thetas, shifts


# The worlds.

WORTH_TOLERANCE = 1e-12  # as a share of the range of worth; a smaller gap counts as zero


def make_world(job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> "World":
    """The world of a job, for up to ``n_cells`` steps of up to ``n_rows`` runs at once."""
    kind: type[World] = FixedWorld
    if job.truth is not None:
        kind = TimedWorld
    elif job.drift is not None:
        kind = DriftingWorld
    return kind(job, states, n_cells, n_rows, engine)


class World:
    """Base class of all worlds. Call ``begin`` for some runs, then ``draw_block`` for each block.

    A subclass makes the data of its rewards, the routine that draws them, and the data of scores.

    Attributes:
        data: the data that the routine reads and writes.
        draw_rewards: the routine that draws rewards.
        draw_delays: the routine that draws delays; None if rewards are known at once.
        delays: (1,) the output of this routine.
        offers: what can be played at each step; empty if everything always can.
        max_ahead: maximum number of rewards per call of the routine.
        score: function that scores the arms that policies have played.
        score_data: the data that ``score`` reads.
        score_unit: unit of the scores, in the user's units.
        path: (n_rows, n_times) the parameter at the checkpoints; no times if it is constant.
        bias: (n_rows, n_arms) shifts in the user's units; no arms without bias.
    """

    data: Any
    draw_rewards: Routine
    draw_delays: Routine | None = None
    delays: IntArray
    offers: Offers
    max_ahead = 1
    score: Callable[..., None] = staticmethod(score_steps)
    score_data: Any
    score_unit = 1.0

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        self._job = job
        self._reward_stream = UniformStream(Stream.REWARD, states, n_cells, n_rows, engine)
        self._streams = [self._reward_stream]
        self.path = np.zeros((n_rows, 0))
        self.bias = np.zeros((n_rows, 0))
        self.offers = NO_OFFERS
        self._offer_stream: OfferStream | None = None
        self._offered_worths: StepWorths | None = None
        if job.offers is not None:
            self._offer_stream = OfferStream(job.offers, states, n_cells)
            self.offers = self._offer_stream.offers
        self.delays = np.zeros(1, np.int64)
        self._delay_data: DelayData | None = None
        if job.delay is not None:
            stream = UniformStream(Stream.DELAY, states, n_cells, n_rows, engine)
            self._streams.append(stream)
            self._delay_data = DelayData(
                parameters=job.delay.parameters(job.n_arms),
                uniforms=stream.numbers,
                delays=self.delays,
                invalid=np.zeros(1, np.int64),
                longest=job.delay.longest,
            )
            routine, name = delay_routine(job.delay.rules.draw), type(job.delay).__name__
            self.draw_delays = engine.routine(routine, name, self._delay_data)

    def _score_offers(self, n_cells: int, **worths: Any) -> None:
        """Score decisions against the best offered arm, if some arms cannot always be played."""
        if self._offer_stream is None:
            return
        self._offered_worths = self._step_worths(
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            tolerance=self.score_data.tolerance,
            **worths,
        )
        self.score = score_steps
        self.score_data = self._offered_worths

    def _step_worths(self, **worths: Any) -> StepWorths:
        """Worths that change from step to step, with empty arrays for what is not read."""
        unused: dict[str, Any] = {
            "contexts": self.offers.contexts,
            "by_step": True,
            "worth": np.zeros(0),
            "nominal_worth": np.zeros(0),
            "gaps": np.zeros((1, self._job.n_arms)),
            "nominal_gaps": np.zeros((1, self._job.n_arms)),
        }
        return StepWorths(**(unused | worths))

    def _set_best_offered(
        self, worths: FloatArray, nominal: FloatArray, rows: IntArray, n_steps: int, n_rows: int
    ) -> None:
        """Set the worth of the best offered arm at every step.

        Args:
            worths: worth of all arms by the true means, one row for each value in ``rows``.
            nominal: the same by the model's means.
            rows: (n_rows * n_steps,) the row of each step; a single row is used for all.
            n_steps: number of steps.
            n_rows: number of runs.
        """
        assert self._offer_stream is not None
        assert self._offered_worths is not None
        contexts, available = self._offer_stream.cells_of(n_steps, n_rows)
        n = n_rows * n_steps
        best, nominal_best = self._offered_worths.best, self._offered_worths.nominal_best
        for target, source in ((best, worths), (nominal_best, nominal)):
            places = np.minimum(rows, len(source) - 1)
            target[:n] = best_offered(source, places, contexts, available)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start some runs: draw the quantities that are drawn once per run."""
        for stream in self._streams:
            stream.begin(first_run, n_rows)
        if self._offer_stream is not None:
            self._offer_stream.begin(first_run, n_rows)

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw the steps start + 1 to start + n_steps."""
        for stream in self._streams:
            stream.draw(n_steps, n_rows)
        if self._offer_stream is not None:
            self._offer_stream.draw(start, n_steps, n_rows)

    def check(self) -> None:
        """Raise if an invalid reward or delay was drawn since the world was created."""
        if self._delay_data is not None and self._delay_data.invalid[0] > 0:
            longest, delay = self._delay_data.longest, int(self._delay_data.invalid[0])
            name = type(self._job.delay).__name__
            raise SimulationError(f"{name} must draw delays of at most {longest}, got {delay}")
        arm_plus_1, unit_reward = self.data.invalid
        if arm_plus_1 > 0:
            low, high = self._job.reward_range
            reward = low + (high - low) * float(unit_reward)
            raise SimulationError(
                f"{type(self._job.noise).__name__} must draw rewards in [{low:g}, {high:g}], "
                f"got {reward!r} for arm {int(arm_plus_1) - 1}"
            )


class FixedWorld(World):
    """Means are constant during a run. They may differ between runs."""

    max_ahead = MAX_REWARDS_PER_DRAW
    score = staticmethod(score_fixed)

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        super().__init__(job, states, n_cells, n_rows, engine)
        self._bias_sampler = BiasSampler(job, states)
        self._population = None if job.population is None else PopulationSampler(job, states)
        n_nominal_rows = 1 if self._population is None else n_rows
        shape = (n_rows if job.is_biased else n_nominal_rows, job.n_arms)
        self._unit_means = np.zeros(shape)
        self.data = FixedRewards(
            noise=job.noise_parameters,
            shapes=np.zeros(shape),
            uniforms=self._reward_stream.numbers,
            rewards=np.zeros(MAX_REWARDS_PER_DRAW),
            invalid=np.zeros(2),
        )
        name, rules = type(job.noise).__name__, job.noise.rules
        shape_data = job.noise_parameters, self._unit_means, self.data.shapes
        self._compute_shapes = engine.bind(shapes_loop(rules.prepare), name, shape_data, 0)
        self.draw_rewards = engine.routine(fixed_rewards_routine(rules.draw), name, self.data)
        self.score_data = ArmGaps(
            gaps=np.zeros(shape),
            nominal_gaps=np.tile(job.gaps, (n_nominal_rows, 1)),
            tolerance=WORTH_TOLERANCE * job.worth_scale,
        )
        self._gaps = self.score_data
        self._score_offers(
            n_cells,
            by_step=False,
            gaps=self._gaps.gaps,
            nominal_gaps=self._gaps.nominal_gaps,
        )
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        self._set_true_means(self._unbiased(means), means, gaps)

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw the steps, and the worth of the best offered arm."""
        super().draw_block(start, n_steps, n_rows)
        if self._offer_stream is not None:
            rows = np.repeat(np.arange(n_rows), n_steps)
            self._set_best_offered(
                -self._gaps.gaps, -self._gaps.nominal_gaps, rows, n_steps, n_rows
            )

    def _unbiased(self, means: FloatArray) -> FloatArray:
        """True means without bias: those of the truth if there is one, otherwise the model's."""
        true_means = self._job.true_means
        return means if true_means is None else true_means[np.newaxis]

    def _set_true_means(self, true_means: FloatArray, means: FloatArray, gaps: FloatArray) -> None:
        """Set the true means of the runs. The arguments are those of `true_worths`."""
        low, high = self._job.reward_range
        n_rows = len(true_means)
        worths = true_worths(self._job, true_means, means, gaps)
        self._gaps.gaps[:n_rows] = worths.max(axis=1, keepdims=True) - worths
        self._unit_means[:n_rows] = (true_means - low) / (high - low)
        self._compute_shapes(n_rows)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start some runs and draw their parameters and bias."""
        super().begin(first_run, n_rows)
        job = self._job
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        if self._population is not None:
            thetas, self.bias = self._population.draw(first_run, n_rows)
            self.path = thetas[:, np.newaxis]
            means, gaps = self._model_at(thetas)
            self._gaps.nominal_gaps[:n_rows] = gaps
        if job.bias is not None:
            self.bias = self._bias_sampler.draw(first_run, n_rows)
        if job.is_biased:
            true_means = np.clip(self._unbiased(means) + self.bias, *job.reward_range)
            self._set_true_means(true_means, means, gaps)
        elif self._population is not None:
            self._set_true_means(self._unbiased(means), means, gaps)

    def _model_at(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and gaps of the model for every run: both (n_rows, n_arms)."""
        job, arms = self._job, range(self._job.n_arms)
        units = np.stack([evaluate_many(job.tables.mean, arm, thetas) for arm in arms], axis=1)
        worth = np.stack([evaluate_many(job.tables.worth, arm, thetas) for arm in arms], axis=1)
        low, high = job.reward_range
        gaps = job.worth_scale * (worth.max(axis=1, keepdims=True) - worth)
        return low + (high - low) * np.clip(units, 0.0, 1.0), gaps


class DriftingWorld(World):
    """The parameter drifts, and the means with it."""

    # `max_ahead` stays 1. Preparing a noise may take much longer than drawing, so rewards that may
    # not be used should not be drawn.

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        super().__init__(job, states, n_cells, n_rows, engine)
        assert job.drift is not None
        self._bias_sampler = BiasSampler(job, states)
        self._drift_stream = UniformStream(Stream.DRIFT, states, n_cells, n_rows, engine)
        self.data = DriftingRewards(
            noise=job.noise_parameters,
            tables=job.tables,
            is_biased=job.bias is not None,
            shifts=np.zeros((n_rows if job.bias is not None else 1, job.n_arms)),
            thetas=np.zeros(n_cells),
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            worth=np.zeros(n_cells),
            nominal_worth=np.zeros(n_cells),
            uniforms=self._reward_stream.numbers,
            rewards=np.zeros(MAX_REWARDS_PER_DRAW),
            invalid=np.zeros(2),
        )
        name, rules = type(job.noise).__name__, job.noise.rules
        routine = drifting_rewards_routine(rules.prepare, rules.draw)
        self.draw_rewards = engine.routine(routine, name, self.data)
        self.score_unit = job.worth_scale
        self.score_data = self._step_worths(
            best=self.data.best,
            nominal_best=self.data.nominal_best,
            worth=self.data.worth,
            nominal_worth=self.data.nominal_worth,
            tolerance=WORTH_TOLERANCE,
        )
        self._score_offers(n_cells, worth=self.data.worth, nominal_worth=self.data.nominal_worth)
        self._parameter_path = ParameterPath(
            track=job.track,
            uniforms=self._drift_stream.numbers,
            theta=np.zeros(n_rows),
            invalid=np.zeros(2),
        )
        path_data = self._parameter_path, self.data
        loop, name = path_loop(job.drift.rules.move), type(job.drift).__name__
        self._move = engine.bind(loop, name, path_data, 0, 0, 0)
        self.path = np.zeros((n_rows, len(job.times)))

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start some runs, with the parameter at its initial value."""
        super().begin(first_run, n_rows)
        job = self._job
        self._drift_stream.begin(first_run, n_rows)
        self._parameter_path.theta[:] = job.theta
        self.bias = self._bias_sampler.draw(first_run, n_rows)
        if job.bias is not None:
            self.data.shifts[:n_rows] = self.bias / job.scale

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw uniform numbers for rewards and path, and move the parameter."""
        super().draw_block(start, n_steps, n_rows)
        self._drift_stream.draw(n_steps, n_rows)
        self._move(start, n_steps, n_rows)
        times = self._job.times
        first, last = np.searchsorted(times, [start, start + n_steps], side="right")
        thetas = self.data.thetas[: n_rows * n_steps].reshape(n_rows, n_steps)
        self.path[:n_rows, first:last] = thetas[:, times[first:last] - start - 1]
        if self._offer_stream is not None:
            worths, nominal = self._worths_at(thetas.ravel(), n_steps)
            self._set_best_offered(worths, nominal, np.arange(thetas.size), n_steps, n_rows)

    def _worths_at(self, thetas: FloatArray, n_steps: int) -> tuple[FloatArray, FloatArray]:
        """Worth of all arms at every step, by the true means and by the model's."""
        tables, shifts = self._job.tables, self.data.shifts
        rows = np.minimum(np.arange(thetas.size) // n_steps, len(shifts) - 1)
        worths, nominal = np.empty((2, thetas.size, tables.n_arms))
        for arm in range(tables.n_arms):
            means = evaluate_many(tables.mean, arm, thetas)
            nominal[:, arm] = means
            if tables.valued:
                nominal[:, arm] = evaluate_many(tables.worth, arm, thetas)
            true_means = np.clip(means + shifts[rows, arm], 0.0, 1.0)
            moved = true_means
            if tables.valued:
                moved = evaluate_many(tables.value, arm, true_means)
            worths[:, arm] = np.where(true_means == means, nominal[:, arm], moved)
        return worths, nominal

    def check(self) -> None:
        """Raise if a reward or a parameter is invalid."""
        super().check()
        time, theta = self._parameter_path.invalid
        if time > 0:
            low, high = self._job.tables.low, self._job.tables.high
            raise SimulationError(
                f"{type(self._job.drift).__name__} must stay in the domain [{low:g}, {high:g}], "
                f"got {float(theta)!r} at time {int(time)}"
            )


class TimedWorld(World):
    """Means are a given function of time and arm."""

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        super().__init__(job, states, n_cells, n_rows, engine)
        assert job.truth is not None
        self._truth = job.truth
        n_steps = min(n_cells, job.horizon)
        self.data = TimedRewards(
            noise=job.noise_parameters,
            n_steps=np.ones(1, np.int64),
            means=np.zeros((n_steps, job.n_arms)),
            worths=np.zeros((n_steps, job.n_arms)),
            nominal_worths=-job.gaps,
            worth=np.zeros(n_cells),
            nominal_worth=np.zeros(n_cells),
            uniforms=self._reward_stream.numbers,
            rewards=np.zeros(MAX_REWARDS_PER_DRAW),
            invalid=np.zeros(2),
        )
        name, rules = type(job.noise).__name__, job.noise.rules
        routine = timed_rewards_routine(rules.prepare, rules.draw)
        self.draw_rewards = engine.routine(routine, name, self.data)
        self.score_data = self._step_worths(
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            worth=self.data.worth,
            nominal_worth=self.data.nominal_worth,
            tolerance=WORTH_TOLERANCE * job.worth_scale,
        )
        self._best = self.score_data.best
        self._score_offers(n_cells, worth=self.data.worth, nominal_worth=self.data.nominal_worth)

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw one uniform number per step, and compute the means of the steps."""
        super().draw_block(start, n_steps, n_rows)
        job, data = self._job, self.data
        times = np.arange(start + 1, start + n_steps + 1)
        means = means_over_time(self._truth, times, job.arms, job.reward_range)
        low, high = job.reward_range
        data.n_steps[0] = n_steps
        data.means[:n_steps] = (means - low) / (high - low)
        data.worths[:n_steps] = worths_of_means(job, means)
        if self._offer_stream is not None:
            steps = np.tile(np.arange(n_steps), n_rows)
            nominal = data.nominal_worths[np.newaxis]
            self._set_best_offered(data.worths[:n_steps], nominal, steps, n_steps, n_rows)
        else:
            best = data.worths[:n_steps].max(axis=1)
            self._best[: n_rows * n_steps] = np.tile(best, n_rows)


def true_worths(
    job: Job, true_means: FloatArray, means: FloatArray, gaps: FloatArray
) -> FloatArray:
    """Worth of arms by their true means, minus the worth of the model's best arm.

    Everything is in the user's units. `worth_of_true_mean` computes the worth of one arm if means
    drift.

    Args:
        job: the simulation.
        true_means: shape (n_rows, n_arms).
        means: the model's means, shape (n_rows or 1, n_arms).
        gaps: the model's gaps, of the same shape.
    """
    if not job.tables.valued:
        return (true_means - means) - gaps
    return worths_of_means(job, true_means) - worths_of_means(job, means) - gaps


def worths_of_means(job: Job, means: FloatArray) -> FloatArray:
    """Worth of arms with these means, above the least possible worth: (n_rows, n_arms)."""
    low, high = job.reward_range
    units = (means - low) / (high - low)
    if not job.tables.valued:
        return job.worth_scale * units
    columns = [evaluate_many(job.tables.value, arm, units[:, arm]) for arm in range(job.n_arms)]
    return job.worth_scale * np.stack(columns, axis=1)
