"""Worlds: what happens in some runs whatever the policies do.

Noise, drift and bias do not depend on the policies. So a world is drawn once for some runs and
played by all policies: they see the same uniform numbers, the same path and the same bias.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from globalbandits._random import States, Stream
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine, Routine
from globalbandits.environments.truth import means_over_time
from globalbandits.errors import SimulationError
from globalbandits.model.polynomials import evaluate_many
from globalbandits.simulation.accounts import ArmGaps, StepWorths, score_fixed, score_steps
from globalbandits.simulation.draws import BiasSampler, PopulationSampler, UniformStream
from globalbandits.simulation.job import Job
from globalbandits.simulation.rewards import (
    DriftingRewards,
    FixedRewards,
    ParameterPath,
    TimedRewards,
    drifting_rewards_routine,
    fixed_rewards_routine,
    path_loop,
    shapes_loop,
    timed_rewards_routine,
)
from globalbandits.simulation.seat import MAX_REWARDS_PER_DRAW

WORTH_TOLERANCE = 1e-12  # of the range of worth: an arm worth this much less counts as best


def make_world(job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> "World":
    """The world of a job, for up to ``n_cells`` steps of up to ``n_rows`` runs at once."""
    kind: type[World] = FixedWorld
    if job.truth is not None:
        kind = TimedWorld
    elif job.drift is not None:
        kind = DriftingWorld
    return kind(job, states, n_cells, n_rows, engine)


class World:
    """Base of all worlds: it is begun for some runs, and then drawn block by block.

    A subclass makes the data of its rewards, the routine that draws them, and what scores need.

    Attributes:
        data: what the routine reads and writes.
        draw_rewards: the routine.
        max_ahead: rewards that the routine should draw at once, at most.
        score: scores the arms that policies have played.
        score_data: what ``score`` reads.
        score_unit: unit of the scores, in the user's units.
        path: (n_rows, n_times) the parameter at the checkpoints; no times if it stays.
        bias: (n_rows, n_arms) shifts in the user's units; no arms without bias.
    """

    data: Any
    draw_rewards: Routine
    max_ahead = 1
    score: Callable[..., None] = staticmethod(score_steps)
    score_data: Any
    score_unit = 1.0

    def __init__(self, job: Job, states: States, n_cells: int, n_rows: int, engine: Engine) -> None:
        self._job = job
        self._reward_stream = UniformStream(Stream.REWARD, states, n_cells, n_rows, engine)
        self.path = np.zeros((n_rows, 0))
        self.bias = np.zeros((n_rows, 0))

    def begin(self, first_run: int, n_rows: int) -> None:
        """Draw what is drawn once per run, and go to the first step."""
        self._reward_stream.begin(first_run, n_rows)

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw the steps start + 1 to start + n_steps."""
        self._reward_stream.draw(n_steps, n_rows)

    def check(self) -> None:
        """Raise if anything invalid was drawn since the world was made."""
        arm_plus_1, unit_reward = self.data.invalid
        if arm_plus_1 > 0:
            low, high = self._job.reward_range
            reward = low + (high - low) * float(unit_reward)
            raise SimulationError(
                f"{type(self._job.noise).__name__} must draw rewards in [{low:g}, {high:g}], "
                f"got {reward!r} for arm {int(arm_plus_1) - 1}"
            )


class FixedWorld(World):
    """Means stay during a run. They may change from run to run."""

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
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        self._set_true_means(self._unbiased(means), means, gaps)

    def _unbiased(self, means: FloatArray) -> FloatArray:
        """True means before the bias: those of the truth if there is one, or the model's."""
        true_means = self._job.true_means
        return means if true_means is None else true_means[np.newaxis]

    def _set_true_means(self, true_means: FloatArray, means: FloatArray, gaps: FloatArray) -> None:
        """Use these true means; the arguments are those of `true_worths`."""
        low, high = self._job.reward_range
        n_rows = len(true_means)
        worths = true_worths(self._job, true_means, means, gaps)
        self.score_data.gaps[:n_rows] = worths.max(axis=1, keepdims=True) - worths
        self._unit_means[:n_rows] = (true_means - low) / (high - low)
        self._compute_shapes(n_rows)

    def begin(self, first_run: int, n_rows: int) -> None:
        """Go to the start of the runs; draw their parameters and their bias."""
        super().begin(first_run, n_rows)
        job = self._job
        means, gaps = job.means[np.newaxis], job.gaps[np.newaxis]
        if self._population is not None:
            thetas, self.bias = self._population.draw(first_run, n_rows)
            self.path = thetas[:, np.newaxis]
            means, gaps = self._model_at(thetas)
            self.score_data.nominal_gaps[:n_rows] = gaps
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

    # `max_ahead` stays 1: preparing a noise may cost much more than drawing, so that nothing
    # should be drawn in vain.

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
        self.score_data = StepWorths(
            best=self.data.best,
            nominal_best=self.data.nominal_best,
            worth=self.data.worth,
            nominal_worth=self.data.nominal_worth,
            tolerance=WORTH_TOLERANCE,
        )
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
        """Go to the start of the runs; put the parameter back to its start."""
        super().begin(first_run, n_rows)
        job = self._job
        self._drift_stream.begin(first_run, n_rows)
        self._parameter_path.theta[:] = job.theta
        self.bias = self._bias_sampler.draw(first_run, n_rows)
        if job.bias is not None:
            self.data.shifts[:n_rows] = self.bias / job.scale

    def draw_block(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw uniform numbers for the rewards and for the path, and move along it."""
        super().draw_block(start, n_steps, n_rows)
        self._drift_stream.draw(n_steps, n_rows)
        self._move(start, n_steps, n_rows)
        times = self._job.times
        first, last = np.searchsorted(times, [start, start + n_steps], side="right")
        thetas = self.data.thetas[: n_rows * n_steps].reshape(n_rows, n_steps)
        self.path[:n_rows, first:last] = thetas[:, times[first:last] - start - 1]

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
        self.score_data = StepWorths(
            best=np.zeros(n_cells),
            nominal_best=np.zeros(n_cells),
            worth=self.data.worth,
            nominal_worth=self.data.nominal_worth,
            tolerance=WORTH_TOLERANCE * job.worth_scale,
        )

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
        best = data.worths[:n_steps].max(axis=1)
        self.score_data.best[: n_rows * n_steps] = np.tile(best, n_rows)


def true_worths(
    job: Job, true_means: FloatArray, means: FloatArray, gaps: FloatArray
) -> FloatArray:
    """What arms are worth by their true means, less the worth of the model's best arm.

    Everything is in the user's units. `rewards.worth_of_true_mean` does the same for one arm where
    means drift.

    Args:
        job: what is played.
        true_means: shape (n_rows, n_arms).
        means: the model's means, shape (n_rows or 1, n_arms).
        gaps: the model's gaps, of the same shape.
    """
    if not job.tables.valued:
        return (true_means - means) - gaps
    return worths_of_means(job, true_means) - worths_of_means(job, means) - gaps


def worths_of_means(job: Job, means: FloatArray) -> FloatArray:
    """What arms with these means are worth, the least possible worth being 0: (n_rows, n_arms)."""
    low, high = job.reward_range
    units = (means - low) / (high - low)
    if not job.tables.valued:
        return job.worth_scale * units
    columns = [evaluate_many(job.tables.value, arm, units[:, arm]) for arm in range(job.n_arms)]
    return job.worth_scale * np.stack(columns, axis=1)
