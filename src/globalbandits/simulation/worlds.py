"""Worlds in memory: what happens in some runs, before any policy acts.

Neither noise nor drift nor bias depends on the policies, so a world is made once for some runs
and played by all policies: they see the same uniform numbers, the same path, the same bias.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from globalbandits._random import Source, States, Stream
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.compiling.routines import Routine
from globalbandits.errors import SimulationError
from globalbandits.model.polynomials import evaluate_many
from globalbandits.simulation.accounts import FixedScores, MovingScores, score_fixed, score_moving
from globalbandits.simulation.job import Job
from globalbandits.simulation.rewards import (
    FixedWorld,
    MovingWorld,
    Path,
    Uniforms,
    fill,
    fixed_pay,
    moving_pay,
    path_loop,
    shape_rows,
)
from globalbandits.simulation.seat import AHEAD

TOLERANCE = 1e-12  # of the range of worth: an arm that falls short by less is as good as the best


class World(Protocol):
    """A world that can be begun for any runs, and gone through block by block."""

    pay: Routine  # draws rewards
    rewards: FloatArray  # where it puts them
    ahead: int  # how many it should draw at once, at most
    score: Callable[..., None]  # scores what policies have played
    scores: Any  # what it reads
    unit: float  # of the scores, in the user's units
    path: FloatArray  # (n_rows, n_times) the parameter at the checkpoints; no times if it stays
    bias: FloatArray  # (n_rows, n_arms) shifts in the user's units; no arms without bias

    def begin(self, first_run: int, n_rows: int) -> None:
        """Draw what is drawn once a run, and go back to the first step."""

    def next_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw the steps start + 1 to start + n_steps."""

    def check(self) -> None:
        """Raise if something cannot be that was drawn since the world was made."""


def make_world(job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> World:
    """The world of a job, for up to ``n_cells`` steps of up to ``n_rows`` runs at once."""
    kind = Fixed if job.drift is None else Moving
    return kind(job, states, n_cells, n_rows, engine)


class Tap:
    """Uniform numbers of one stream, run after run."""

    def __init__(
        self, stream: Stream, states: States, n_cells: int, n_rows: int, engine: Engine
    ) -> None:
        self._stream = stream
        self._states = states
        self._source = Source()
        self._uniforms = Uniforms(
            rng=self._source.rng,
            streams=np.zeros((n_rows, 4), np.uint64),
            memory=self._source.memory,
            buffered=self._source.buffered,
            numbers=np.zeros(n_cells),
        )
        self.numbers = self._uniforms.numbers
        self._fill = engine.bind(fill, "the simulator", (self._uniforms,), 0, 0)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Go to the start of some runs."""
        states = self._states.of(self._stream, first_run, n_rows)
        self._uniforms.streams[:n_rows] = states
        self._source.set(states[0])

    def draw(self, n_steps: int, n_rows: int) -> None:
        """Draw steps: the next ones of one run, or the first ones of several."""
        if n_rows == 1:
            self._source.rng.random(out=self.numbers[:n_steps])
        else:
            self._fill(n_steps, n_rows)


class Biases:
    """Shifts of the arms' means, drawn for each run."""

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


def worth_of_paid(job: Job, paid: FloatArray) -> FloatArray:
    """What arms are worth whose means pay this, less what the model's best arm is worth.

    This is where a fixed world knows it; a moving one has `rewards.worth_of_paid`. Everything is
    in the user's units, shape (n_rows, n_arms).
    """
    if not job.tables.valued:
        return (paid - job.means) - job.gaps
    low, high = job.reward_range
    gained = np.empty(paid.shape)
    for arm in range(job.n_arms):
        means = np.append(paid[:, arm], job.means[arm])
        worth = evaluate_many(job.tables.value, arm, (means - low) / (high - low))
        gained[:, arm] = worth[:-1] - worth[-1]
    return job.worth_scale * gained - job.gaps


class Fixed:
    """The parameter stays; what pays may change from run to run."""

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        self._job = job
        self._biases = Biases(job, states)
        self._tap = Tap(Stream.REWARD, states, n_cells, n_rows, engine)
        self._n_own = n_rows if job.bias is not None else 1  # rows, where runs differ
        shape = (self._n_own, job.n_arms)
        self._means = np.zeros(shape)
        self._world = FixedWorld(
            noise=job.noise_parameters,
            shapes=np.zeros(shape),
            uniforms=self._tap.numbers,
            rewards=np.zeros(AHEAD),
            fault=np.zeros(2),
        )
        name = type(job.noise).__name__
        data = job.noise_parameters, self._means, self._world.shapes
        self._find_shapes = engine.bind(shape_rows(job.noise.rules.prepare), name, data, 0)
        self.pay = engine.routine(fixed_pay(job.noise.rules.draw), name, self._world)
        self.rewards, self.ahead = self._world.rewards, AHEAD
        self.score, self.unit = score_fixed, 1.0
        self.scores = FixedScores(
            gaps=np.zeros(shape),
            nominal_gaps=job.gaps[np.newaxis],
            negligible=TOLERANCE * job.worth_scale,
        )
        self.path = np.zeros((n_rows, 0))
        self.bias = np.zeros((n_rows, 0))
        self._set_means(job.means[np.newaxis])

    def _set_means(self, paid: FloatArray) -> None:
        """Let these means pay, in the user's units: shape (n_rows or 1, n_arms)."""
        low, high = self._job.reward_range
        n_rows = len(paid)
        worth = worth_of_paid(self._job, paid)
        self.scores.gaps[:n_rows] = worth.max(axis=1, keepdims=True) - worth
        self._means[:n_rows] = (paid - low) / (high - low)
        self._find_shapes(n_rows)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start the runs' streams of rewards; draw their bias."""
        self._tap.begin(first_run, n_rows)
        if self._job.bias is not None:
            self.bias = self._biases.draw(first_run, n_rows)
            self._set_means(np.clip(self._job.means + self.bias, *self._job.reward_range))

    def next_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw one uniform number a step."""
        self._tap.draw(n_steps, n_rows)

    def check(self) -> None:
        """Raise if a reward cannot be."""
        check_rewards(self._job, self._world.fault)


class Moving:
    """The parameter moves, and the means with it."""

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        assert job.drift is not None
        self._job = job
        self._biases = Biases(job, states)
        self._tap = Tap(Stream.REWARD, states, n_cells, n_rows, engine)
        self._steps = Tap(Stream.DRIFT, states, n_cells, n_rows, engine)
        self._world = MovingWorld(
            noise=job.noise_parameters,
            tables=job.tables,
            biased=job.bias is not None,
            shifts=np.zeros((n_rows if job.bias is not None else 1, job.n_arms)),
            thetas=np.zeros(n_cells),
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            worth=np.zeros(n_cells),
            nominal_worth=np.zeros(n_cells),
            uniforms=self._tap.numbers,
            rewards=np.zeros(AHEAD),
            fault=np.zeros(2),
        )
        name, rules = type(job.noise).__name__, job.noise.rules
        self.pay = engine.routine(moving_pay(rules.prepare, rules.draw), name, self._world)
        # Preparing a noise may cost much more than drawing: nothing is drawn in vain.
        self.rewards, self.ahead = self._world.rewards, 1
        self.score, self.unit = score_moving, job.worth_scale
        self.scores = MovingScores(
            best=self._world.best,
            nominal_best=self._world.nominal_best,
            worth=self._world.worth,
            nominal_worth=self._world.nominal_worth,
            negligible=TOLERANCE,
        )
        self._path = Path(job.track, self._steps.numbers, np.zeros(n_rows), np.zeros(2))
        loop = path_loop(job.drift.rules.move)
        data = self._path, self._world
        self._move = engine.bind(loop, type(job.drift).__name__, data, 0, 0, 0)
        self.path = np.zeros((n_rows, len(job.times)))
        self.bias = np.zeros((n_rows, 0))

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start the runs' streams; put the parameter back to its start."""
        job = self._job
        self._tap.begin(first_run, n_rows)
        self._steps.begin(first_run, n_rows)
        self._path.now[:] = job.theta
        self.bias = self._biases.draw(first_run, n_rows)
        if job.bias is not None:
            self._world.shifts[:n_rows] = self.bias / job.scale

    def next_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw uniform numbers for the rewards and for the path, and move along it."""
        self._tap.draw(n_steps, n_rows)
        self._steps.draw(n_steps, n_rows)
        self._move(start, n_steps, n_rows)
        times = self._job.times
        first, last = np.searchsorted(times, [start, start + n_steps], side="right")
        thetas = self._world.thetas[: n_rows * n_steps].reshape(n_rows, n_steps)
        self.path[:n_rows, first:last] = thetas[:, times[first:last] - start - 1]

    def check(self) -> None:
        """Raise if a parameter or a reward cannot be."""
        check_rewards(self._job, self._world.fault)
        time, theta = self._path.fault
        if time > 0:
            low, high = self._job.tables.low, self._job.tables.high
            raise SimulationError(
                f"{type(self._job.drift).__name__} must stay in the domain [{low:g}, {high:g}], "
                f"got {theta!r} at time {int(time)}"
            )


def check_rewards(job: Job, fault: FloatArray) -> None:
    """Raise if a noise has drawn a reward that lies outside of the reward range."""
    if fault[0] > 0:
        low, high = job.reward_range
        reward = low + (high - low) * float(fault[1])
        raise SimulationError(
            f"{type(job.noise).__name__} must draw rewards in [{low:g}, {high:g}], "
            f"got {reward!r} for arm {int(fault[0]) - 1}"
        )
