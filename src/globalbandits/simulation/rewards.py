"""The routines that draw rewards, and the uniform numbers and parameter paths they read.

Each factory takes the functions of a noise or a drift and returns one function over plain
arguments, which runs in plain Python or compiled.

A call is about some rows (runs) of some steps each; cell ``row * n_steps + step`` is one step.
Means and rewards are on the unit scale. Arrays over rows have a single row where all runs share
the same numbers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate, find_cell, value_of

UInt64Array = NDArray[np.uint64]
DrawRewards = Callable[[Any, int, int, int, int], None]  # (data, row, arm, first cell, n)

ROUNDING_TOLERANCE = 1e-9  # how far outside the unit scale rounding may put a reward


class UniformBuffers(NamedTuple):
    """Uniform numbers of some runs, each run from its own stream."""

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
    """Rewards of arms whose means stay."""

    noise: Any  # the noise's parameters
    shapes: FloatArray  # (n_rows or 1, n_arms) the noise's shapes
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (MAX_REWARDS_PER_DRAW,) the rewards that were drawn last
    invalid: FloatArray  # (2,) an invalid reward: its arm plus 1, and the reward; 0 if none


@cache
def fixed_rewards_routine(draw: Any) -> DrawRewards:
    """The routine that draws rewards of an arm whose mean stays."""

    def draw_rewards(data: FixedRewards, row: int, arm: int, first_cell: int, n: int) -> None:
        rewards = data.rewards
        shape = data.shapes[min(row, data.shapes.shape[0] - 1), arm]
        for at in range(n):
            reward = draw(data.noise, arm, shape, data.uniforms[first_cell + at])
            rewards[at] = reward
            if not -ROUNDING_TOLERANCE <= reward <= 1.0 + ROUNDING_TOLERANCE:
                data.invalid[0] = arm + 1
                data.invalid[1] = reward

    return draw_rewards


class DriftingRewards(NamedTuple):
    """Rewards of arms whose means follow a drifting parameter; worth is on its own unit scale."""

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
            data.rewards[at] = reward
            if not -ROUNDING_TOLERANCE <= reward <= 1.0 + ROUNDING_TOLERANCE:
                data.invalid[0] = arm + 1
                data.invalid[1] = reward
            nominal = mean
            if data.tables.valued:
                nominal = evaluate(data.tables.worth, arm, data.thetas[cell])
            data.nominal_worth[cell] = nominal
            data.worth[cell] = worth_of_true_mean(data.tables, arm, nominal, mean, true_mean)

    return draw_rewards


class TimedRewards(NamedTuple):
    """Rewards of arms whose means are given for every step; worth is in the user's units."""

    noise: Any
    n_steps: IntArray  # (1,) steps of this call
    means: FloatArray  # (n_steps, n_arms)
    worths: FloatArray  # (n_steps, n_arms)
    nominal_worths: FloatArray  # (n_arms,) by the model's means, less the best arm's
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
            data.rewards[at] = reward
            if not -ROUNDING_TOLERANCE <= reward <= 1.0 + ROUNDING_TOLERANCE:
                data.invalid[0] = arm + 1
                data.invalid[1] = reward
            data.worth[cell] = data.worths[step, arm]
            data.nominal_worth[cell] = data.nominal_worths[arm]

    return draw_rewards


def worth_of_true_mean(
    tables: Tables, arm: int, nominal: float, mean: float, true_mean: float
) -> float:
    """What an arm is worth whose true mean may differ from the model's, on the unit scale.

    `worlds.true_worths` does the same for all arms where means stay.

    Args:
        tables: the model's.
        arm: the arm.
        nominal: what the arm is worth by the model.
        mean: its mean by the model.
        true_mean: the mean of its rewards.
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
    """A drifting parameter: where it is, and what moves it."""

    track: Any  # what the drift reads
    uniforms: FloatArray  # (n_cells,)
    theta: FloatArray  # (n_rows,) the parameter at the last step of the call before
    invalid: FloatArray  # (2,) a time at which the parameter leaves the domain, and its value


@cache
def path_loop(move: Any) -> Callable[[ParameterPath, DriftingRewards, int, int, int], None]:
    """The loop that moves the parameter and computes what the best arm is worth."""

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
    """Record what the best arm is worth at theta: by the envelope, or among all if biased."""
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
