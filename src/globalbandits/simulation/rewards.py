"""Where rewards come from: the numbers behind them, and the routines that draw them.

Each factory takes the functions of a noise or a drift and gives one function over plain
arguments. That function runs as it stands, or compiled: there is no second version of it.

A call is about some rows (runs) of some steps each; cell ``row * n_steps + step`` is one step.
Means and rewards are on the unit scale, worth on one of its own. What is the same for all runs has
one row only.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate, find_cell, value_of

UInt64Array = NDArray[np.uint64]
Pay = Callable[[Any, int, int, int, int], None]  # (world, row, arm, at, n)

_SLACK = 1e-9  # how far beyond the unit scale rounding may put a reward


class Uniforms(NamedTuple):
    """Uniform numbers of some runs, each from a stream of its own."""

    rng: np.random.Generator
    streams: UInt64Array  # (n_rows, 4) first states of the generator
    memory: UInt64Array  # (4,) where the generator has its state
    buffered: UInt64Array  # (1,)
    numbers: FloatArray  # (n_cells,)


def fill(uniforms: Uniforms, n_steps: int, n_rows: int) -> None:
    """Draw the first steps of some runs."""
    rng, memory = uniforms.rng, uniforms.memory
    for row in range(n_rows):
        for word in range(memory.shape[0]):
            memory[word] = uniforms.streams[row, word]
        uniforms.buffered[0] = 0
        for at in range(row * n_steps, (row + 1) * n_steps):
            uniforms.numbers[at] = rng.random()


class FixedWorld(NamedTuple):
    """Rewards of arms whose means stay."""

    noise: Any  # the noise's parameters
    shapes: FloatArray  # (n_rows or 1, n_arms) the noise's shapes
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (AHEAD,) the rewards that were drawn last
    fault: FloatArray  # (2,) an arm plus 1 whose reward cannot be, and the reward; 0 if none


@cache
def fixed_pay(draw: Any) -> Pay:
    """The routine that draws rewards of an arm whose mean stays."""

    def pay(world: FixedWorld, row: int, arm: int, at: int, n: int) -> None:
        rewards = world.rewards
        shape = world.shapes[min(row, world.shapes.shape[0] - 1), arm]
        for ahead in range(n):
            reward = draw(world.noise, arm, shape, world.uniforms[at + ahead])
            rewards[ahead] = reward
            if not -_SLACK <= reward <= 1.0 + _SLACK:
                world.fault[0] = arm + 1
                world.fault[1] = reward

    return pay


class MovingWorld(NamedTuple):
    """Rewards of arms whose means follow a moving parameter."""

    noise: Any
    tables: Tables
    biased: bool
    shifts: FloatArray  # (n_rows or 1, n_arms) the bias, 0 without one
    thetas: FloatArray  # (n_cells,) the parameter
    best: FloatArray  # (n_cells,) worth of the best arm, by the means that pay
    nominal_best: FloatArray  # (n_cells,) the same, by the model's means
    worth: FloatArray  # (n_cells,) worth of the arm played, by the means that pay
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (AHEAD,)
    fault: FloatArray  # (2,)


@cache
def moving_pay(prepare: Any, draw: Any) -> Pay:
    """The routine that draws rewards of an arm whose mean moves, and notes what it is worth."""

    def pay(world: MovingWorld, row: int, arm: int, at: int, n: int) -> None:
        shift = world.shifts[min(row, world.shifts.shape[0] - 1), arm]
        for ahead in range(n):
            cell = at + ahead
            mean = evaluate(world.tables.mean, arm, world.thetas[cell])
            paid = min(max(mean + shift, 0.0), 1.0)
            shape = prepare(world.noise, arm, paid)
            reward = draw(world.noise, arm, shape, world.uniforms[cell])
            world.rewards[ahead] = reward
            if not -_SLACK <= reward <= 1.0 + _SLACK:
                world.fault[0] = arm + 1
                world.fault[1] = reward
            nominal = mean
            if world.tables.valued:
                nominal = evaluate(world.tables.worth, arm, world.thetas[cell])
            world.nominal_worth[cell] = nominal
            world.worth[cell] = worth_of_paid(world.tables, arm, nominal, mean, paid)

    return pay


class TimedWorld(NamedTuple):
    """Rewards of arms whose means are given for every step; worth in the user's units."""

    noise: Any
    n_steps: IntArray  # (1,) steps of this call
    means: FloatArray  # (n_steps, n_arms)
    worths: FloatArray  # (n_steps, n_arms)
    nominal_worths: FloatArray  # (n_arms,) by the model's means, less the best arm's
    worth: FloatArray  # (n_cells,) of the arm played
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    uniforms: FloatArray  # (n_cells,)
    rewards: FloatArray  # (AHEAD,)
    fault: FloatArray  # (2,)


@cache
def timed_pay(prepare: Any, draw: Any) -> Pay:
    """The routine that draws rewards of an arm whose means are given step by step."""

    def pay(world: TimedWorld, row: int, arm: int, at: int, n: int) -> None:
        for ahead in range(n):
            cell = at + ahead
            step = cell - row * world.n_steps[0]
            shape = prepare(world.noise, arm, world.means[step, arm])
            reward = draw(world.noise, arm, shape, world.uniforms[cell])
            world.rewards[ahead] = reward
            if not -_SLACK <= reward <= 1.0 + _SLACK:
                world.fault[0] = arm + 1
                world.fault[1] = reward
            world.worth[cell] = world.worths[step, arm]
            world.nominal_worth[cell] = world.nominal_worths[arm]

    return pay


def worth_of_paid(tables: Tables, arm: int, nominal: float, mean: float, paid: float) -> float:
    """What an arm is worth whose mean pays something else than the model says.

    This is where a moving world knows it; a fixed one has `worlds.worth_of_paid`.

    Args:
        tables: the model's.
        arm: the arm.
        nominal: what it is worth by the model.
        mean: its mean by the model.
        paid: the mean that pays.
    """
    if paid == mean:
        return nominal
    return value_of(tables, arm, paid)


@cache
def shape_rows(prepare: Any) -> Callable[[Any, FloatArray, FloatArray, int], None]:
    """A loop that prepares a noise for every run and arm."""

    def loop(noise: Any, means: FloatArray, shapes: FloatArray, n_rows: int) -> None:
        for row in range(n_rows):
            for arm in range(means.shape[1]):
                shapes[row, arm] = prepare(noise, arm, means[row, arm])

    return loop


class Path(NamedTuple):
    """A moving parameter: where it is, and what moves it."""

    track: Any
    uniforms: FloatArray  # (n_cells,)
    now: FloatArray  # (n_rows,) the parameter at the last step of the call before
    fault: FloatArray  # (2,) a time at which the parameter leaves the domain, and where to


@cache
def path_loop(move: Any) -> Callable[[Path, MovingWorld, int, int, int], None]:
    """A loop that moves the parameter and finds what the best arm is worth."""

    def loop(path: Path, world: MovingWorld, start: int, n_steps: int, n_rows: int) -> None:
        tables = world.tables
        for row in range(n_rows):
            theta = path.now[row]
            for step in range(n_steps):
                cell = row * n_steps + step
                if start + step > 0:
                    theta = move(path.track, start + step + 1, theta, path.uniforms[cell])
                if not tables.low <= theta <= tables.high:
                    path.fault[0] = start + step + 1
                    path.fault[1] = theta
                world.thetas[cell] = theta
                look_around(world, row, cell, theta)
            path.now[row] = theta

    return loop


def look_around(world: MovingWorld, row: int, cell: int, theta: float) -> None:
    """What the best arm is worth at theta: by the envelope, or among all where biases count."""
    tables = world.tables
    envelope = tables.envelope
    arm = envelope.arms[envelope.starts[find_cell(envelope, theta)]]
    worth = evaluate(tables.worth, arm, theta)
    world.nominal_best[cell] = worth
    if world.biased:
        worth = -np.inf
        for other in range(tables.n_arms):
            mean = evaluate(tables.mean, other, theta)
            shift = world.shifts[min(row, world.shifts.shape[0] - 1), other]
            paid = min(max(mean + shift, 0.0), 1.0)
            nominal = evaluate(tables.worth, other, theta)
            worth = max(worth, worth_of_paid(tables, other, nominal, mean, paid))
    world.best[cell] = worth
