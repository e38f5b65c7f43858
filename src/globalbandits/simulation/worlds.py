"""Worlds in memory: what happens in some runs, before any policy acts.

Neither noise nor drift nor bias depends on the policies, so a world is made once for some runs
and played by all policies: they see the same uniform numbers, the same path, the same bias.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from globalbandits._random import States, Stream
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine, Routine
from globalbandits.environments.truth import means_over_time
from globalbandits.errors import SimulationError
from globalbandits.model.polynomials import evaluate_many
from globalbandits.simulation.accounts import FixedScores, MovingScores, score_fixed, score_moving
from globalbandits.simulation.draws import Biases, Members, Tap, check_rewards
from globalbandits.simulation.job import Job
from globalbandits.simulation.rewards import (
    FixedWorld,
    MovingWorld,
    Path,
    TimedWorld,
    fixed_pay,
    moving_pay,
    path_loop,
    shape_rows,
    timed_pay,
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
    kind: Callable[..., World] = Fixed
    if job.truth is not None:
        kind = Timed
    elif job.drift is not None:
        kind = Moving
    return kind(job, states, n_cells, n_rows, engine)


def worth_of_paid(job: Job, paid: FloatArray, means: FloatArray, gaps: FloatArray) -> FloatArray:
    """What arms are worth whose means pay this, less what the reference's best arm is worth.

    This is where a fixed world knows it; a moving one has `rewards.worth_of_paid`. Everything is
    in the user's units.

    Args:
        job: what is played.
        paid: means that pay, shape (n_rows, n_arms).
        means: those of the reference, shape (n_rows or 1, n_arms).
        gaps: what they cost, of the same shape.
    """
    if not job.tables.valued:
        return (paid - means) - gaps
    return worths(job, paid) - worths(job, means) - gaps


def worths(job: Job, means: FloatArray) -> FloatArray:
    """What arms with these means are worth, from 0 at the least: shape (n_rows, n_arms)."""
    low, high = job.reward_range
    units = (means - low) / (high - low)
    if not job.tables.valued:
        return job.worth_scale * units
    columns = [evaluate_many(job.tables.value, arm, units[:, arm]) for arm in range(job.n_arms)]
    return job.worth_scale * np.stack(columns, axis=1)


class Fixed:
    """Means stay during a run; they may change from run to run."""

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        self._job = job
        self._biases = Biases(job, states)
        self._members = None if job.population is None else Members(job, states)
        self._tap = Tap(Stream.REWARD, states, n_cells, n_rows, engine)
        n_thetas = 1 if self._members is None else n_rows
        n_own = n_rows if job.is_biased else n_thetas  # rows, where runs differ
        shape = (n_own, job.n_arms)
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
            nominal_gaps=np.tile(job.gaps, (n_thetas, 1)),
            negligible=TOLERANCE * job.worth_scale,
        )
        self.path = np.zeros((n_rows, 0))
        self.bias = np.zeros((n_rows, 0))
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        self._pay_means(self._paid_by(means), means, gaps)

    def _paid_by(self, means: FloatArray) -> FloatArray:
        """The means that pay where the model's are these: the truth's if there is one."""
        return means if self._job.paid is None else self._job.paid[np.newaxis]

    def _pay_means(self, paid: FloatArray, means: FloatArray, gaps: FloatArray) -> None:
        """Let means pay; the arguments as in `worth_of_paid`."""
        low, high = self._job.reward_range
        n_rows = len(paid)
        worth = worth_of_paid(self._job, paid, means, gaps)
        self.scores.gaps[:n_rows] = worth.max(axis=1, keepdims=True) - worth
        self._means[:n_rows] = (paid - low) / (high - low)
        self._find_shapes(n_rows)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start the runs' streams of rewards; draw their parameters and their bias."""
        job = self._job
        self._tap.begin(first_run, n_rows)
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        if self._members is not None:
            thetas, self.bias = self._members.draw(first_run, n_rows)
            self.path = thetas[:, np.newaxis]
            means, gaps = self._model_at(thetas)
            self.scores.nominal_gaps[:n_rows] = gaps
        if job.bias is not None:
            self.bias = self._biases.draw(first_run, n_rows)
        if job.is_biased:
            paid = np.clip(self._paid_by(means) + self.bias, *job.reward_range)
            self._pay_means(paid, means, gaps)
        elif self._members is not None:
            self._pay_means(self._paid_by(means), means, gaps)

    def _model_at(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and gaps of the model for every run: both (n_rows, n_arms)."""
        job, arms = self._job, range(self._job.n_arms)
        units = np.stack([evaluate_many(job.tables.mean, arm, thetas) for arm in arms], axis=1)
        worth = np.stack([evaluate_many(job.tables.worth, arm, thetas) for arm in arms], axis=1)
        low, high = job.reward_range
        gaps = job.worth_scale * (worth.max(axis=1, keepdims=True) - worth)
        return low + (high - low) * np.clip(units, 0.0, 1.0), gaps

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
                f"got {float(theta)!r} at time {int(time)}"
            )


class Timed:
    """Means are a given function of time and arm."""

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        assert job.truth is not None
        self._job, self._truth = job, job.truth
        self._tap = Tap(Stream.REWARD, states, n_cells, n_rows, engine)
        n_steps = min(n_cells, job.horizon)
        self._world = TimedWorld(
            noise=job.noise_parameters,
            n_steps=np.ones(1, np.int64),
            means=np.zeros((n_steps, job.n_arms)),
            worths=np.zeros((n_steps, job.n_arms)),
            nominal_worths=-job.gaps,
            worth=np.zeros(n_cells),
            nominal_worth=np.zeros(n_cells),
            uniforms=self._tap.numbers,
            rewards=np.zeros(AHEAD),
            fault=np.zeros(2),
        )
        name, rules = type(job.noise).__name__, job.noise.rules
        self.pay = engine.routine(timed_pay(rules.prepare, rules.draw), name, self._world)
        self.rewards, self.ahead = self._world.rewards, 1
        self.score, self.unit = score_moving, 1.0
        self.scores = MovingScores(
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            worth=self._world.worth,
            nominal_worth=self._world.nominal_worth,
            negligible=TOLERANCE * job.worth_scale,
        )
        self.path = np.zeros((n_rows, 0))
        self.bias = np.zeros((n_rows, 0))

    def begin(self, first_run: int, n_rows: int) -> None:
        """Start the runs' streams of rewards."""
        self._tap.begin(first_run, n_rows)

    def next_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw one uniform number a step, and look up the means of the steps."""
        job, world = self._job, self._world
        self._tap.draw(n_steps, n_rows)
        times = np.arange(start + 1, start + n_steps + 1)
        means = means_over_time(self._truth, times, job.arms, job.reward_range)
        low, high = job.reward_range
        world.n_steps[0] = n_steps
        world.means[:n_steps] = (means - low) / (high - low)
        world.worths[:n_steps] = worths(job, means)
        best = world.worths[:n_steps].max(axis=1)
        self.scores.best[: n_rows * n_steps] = np.tile(best, n_rows)

    def check(self) -> None:
        """Raise if a reward cannot be."""
        check_rewards(self._job, self._world.fault)
