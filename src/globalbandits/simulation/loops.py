"""The loops: a policy's own functions and a noise's own functions, step by step.

Each factory takes the functions of a policy and of a noise and gives one function over plain
arguments. That function runs as it stands, or compiled: there is no second version of it.

All rewards and means are on the unit scale; gaps of a fixed world are in the user's units.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate, find_cell
from globalbandits.statistics import Statistics
from globalbandits.statistics import count as count_reward

TOLERANCE = 1e-12  # of the reward range: an arm that falls short by less is as good as the best

# Positions in Tally.numbers: the next checkpoint, the last suboptimal step, an arm that does not
# exist (0 if there is none), the arm played now and how often in a row.
NEXT, LAST_SUBOPTIMAL, WRONG_ARM, ARM, STREAK = range(5)


class FixedWorld(NamedTuple):
    """Rewards of arms whose means stay."""

    noise: Any  # the noise's parameters
    shapes: FloatArray  # (n_arms,) the noise's shapes
    gaps: FloatArray  # (n_arms,) by the means that pay
    nominal_gaps: FloatArray  # (n_arms,) by the model's means
    negligible: float  # a gap up to this one is none
    uniforms: FloatArray  # (block,) one a step


class MovingWorld(NamedTuple):
    """Rewards of arms whose means follow a moving parameter."""

    noise: Any
    tables: Tables
    values_differ: bool  # whether a decision is worth something else than what is observed
    biased: bool
    shifts: FloatArray  # (n_arms,) the bias, 0 without one
    thetas: FloatArray  # (block,) the parameter
    best: FloatArray  # (block,) worth of the best arm, by the means that pay
    nominal_best: FloatArray  # (block,) the same, by the model's means
    negligible: float
    uniforms: FloatArray  # (block,)


class Tally(NamedTuple):
    """What is written down of one policy in one run."""

    times: IntArray  # (n_checkpoints,) when
    numbers: IntArray  # (5,)
    settled: FloatArray  # (2,) regret and nominal regret before the present streak
    totals: FloatArray  # (2,) regret and nominal regret so far
    pulls: IntArray  # (n_arms,)
    regret: FloatArray  # (n_checkpoints,)
    nominal_regret: FloatArray  # (n_checkpoints,)
    estimates: FloatArray  # (n_checkpoints,)


class Game(NamedTuple):
    """One policy in one world: all that a loop reads and writes."""

    setup: Any
    stats: Statistics
    state: Any
    rng: np.random.Generator
    world: Any
    tally: Tally


Steps = Callable[[Game, int, int, int], None]  # (game, start, first, stop)
Loop = Callable[[Game, int, int], None]  # (game, start, n_steps)


@cache
def block_loop(play: Steps, estimate: Callable[[Any, Any, Any], float]) -> Loop:
    """A loop over the steps of a block that stops at checkpoints to write down."""

    def loop(game: Game, start: int, n_steps: int) -> None:
        """Play the steps start + 1 to start + n_steps, the world's block holding those."""
        tally = game.tally
        numbers = tally.numbers
        done = 0
        while done < n_steps and numbers[WRONG_ARM] == 0:
            stop = n_steps
            at = numbers[NEXT]
            if at < tally.times.shape[0]:
                stop = min(n_steps, tally.times[at] - start)
            play(game, start, done, stop)
            done = stop
            if at < tally.times.shape[0] and tally.times[at] == start + done:
                tally.regret[at] = tally.totals[0]
                tally.nominal_regret[at] = tally.totals[1]
                tally.estimates[at] = estimate(game.setup, game.stats, game.state)
                numbers[NEXT] = at + 1

    return loop


@cache
def fixed_steps(select: Any, update: Any, draw: Any) -> Steps:
    """Steps in a fixed world."""

    def play(game: Game, start: int, first: int, stop: int) -> None:
        setup, stats, state, rng = game.setup, game.stats, game.state, game.rng
        world = game.world
        shapes, uniforms = world.shapes, world.uniforms[first:stop]
        n_arms = shapes.shape[0]
        arm = select(setup, stats, state, rng)
        if not 0 <= arm < n_arms:
            game.tally.numbers[WRONG_ARM] = arm
            return
        turn_to(game, arm)
        since = 0  # the step from which on the plays of this arm are not counted
        reward = draw(world.noise, arm, shapes[arm], uniforms[0])
        for step in range(1, uniforms.shape[0]):
            # Most steps play the arm of the step before. Its next reward is drawn before the
            # update, whose result it does not need, so that the processor does both at once.
            ahead = draw(world.noise, arm, shapes[arm], uniforms[step])
            count_reward(stats, arm, reward)
            update(setup, stats, state, arm, reward)
            chosen = select(setup, stats, state, rng)
            reward = ahead
            if chosen != arm:
                if not 0 <= chosen < n_arms:
                    game.tally.numbers[WRONG_ARM] = chosen
                    return
                count(game, arm, step - since, start + first + step)
                turn_to(game, chosen)
                since = step
                arm = chosen
                reward = draw(world.noise, arm, shapes[arm], uniforms[step])
        count_reward(stats, arm, reward)
        update(setup, stats, state, arm, reward)
        count(game, arm, stop - first - since, start + stop)
        add_streak(game, game.tally.totals)

    return play


def count(game: Game, arm: int, n_plays: int, time: int) -> None:
    """Add the last plays of an arm, the last one at ``time``."""
    world, tally = game.world, game.tally
    tally.pulls[arm] += n_plays
    tally.numbers[STREAK] += n_plays
    if world.gaps[arm] > world.negligible:
        tally.numbers[LAST_SUBOPTIMAL] = time


def turn_to(game: Game, arm: int) -> None:
    """Begin a streak of an arm, unless it is the arm played now.

    A streak enters the sum as one product, wherever blocks and checkpoints cut it: where they
    are makes no difference to a single bit.
    """
    tally = game.tally
    if arm != tally.numbers[ARM]:
        add_streak(game, tally.settled)
        tally.numbers[ARM] = arm
        tally.numbers[STREAK] = 0


def add_streak(game: Game, totals: FloatArray) -> None:
    """Regret up to now."""
    world, tally = game.world, game.tally
    arm, streak = tally.numbers[ARM], tally.numbers[STREAK]
    totals[0] = tally.settled[0] + streak * world.gaps[arm]
    totals[1] = tally.settled[1] + streak * world.nominal_gaps[arm]


@cache
def moving_steps(select: Any, update: Any, prepare: Any, draw: Any) -> Steps:
    """Steps in a moving world."""

    def play(game: Game, start: int, first: int, stop: int) -> None:
        setup, stats, state, rng = game.setup, game.stats, game.state, game.rng
        world, tally = game.world, game.tally
        n_arms = world.tables.n_arms
        for step in range(first, stop):
            arm = select(setup, stats, state, rng)
            if not 0 <= arm < n_arms:
                tally.numbers[WRONG_ARM] = arm
                return
            theta = world.thetas[step]
            mean = evaluate(world.tables.mean, arm, theta)
            paid = min(max(mean + world.shifts[arm], 0.0), 1.0)
            reward = draw(world.noise, arm, prepare(world.noise, arm, paid), world.uniforms[step])
            count_reward(stats, arm, reward)
            update(setup, stats, state, arm, reward)
            worth = mean
            if world.values_differ:
                worth = evaluate(world.tables.worth, arm, theta)
            gap = max(world.best[step] - (worth + (paid - mean)), 0.0)
            tally.pulls[arm] += 1
            tally.totals[0] += gap
            tally.totals[1] += max(world.nominal_best[step] - worth, 0.0)
            if gap > world.negligible:
                tally.numbers[LAST_SUBOPTIMAL] = start + step + 1

    return play


@cache
def shape_loop(prepare: Any) -> Callable[[Any, FloatArray, FloatArray], None]:
    """A loop that prepares a noise for every arm."""

    def loop(noise: Any, means: FloatArray, shapes: FloatArray) -> None:
        for arm in range(means.shape[0]):
            shapes[arm] = prepare(noise, arm, means[arm])

    return loop


class Path(NamedTuple):
    """A moving parameter: where it is, and what moves it."""

    track: Any
    uniforms: FloatArray  # (block,)
    now: FloatArray  # (1,) the parameter at the last step of the block before


@cache
def path_loop(move: Any) -> Callable[[Path, Any, int, int], None]:
    """A loop that moves the parameter through a block and finds what the best arm is worth."""

    def loop(path: Path, world: Any, start: int, n_steps: int) -> None:
        theta = path.now[0]
        for step in range(n_steps):
            if start + step > 0:
                theta = move(path.track, start + step + 1, theta, path.uniforms[step])
            world.thetas[step] = theta
            look_around(world, step, theta)
        path.now[0] = theta

    return loop


def look_around(world: Any, step: int, theta: float) -> None:
    """What the best arm is worth at theta: by the envelope, or among all where biases count."""
    tables = world.tables
    envelope = tables.envelope
    arm = envelope.arms[envelope.starts[find_cell(envelope, theta)]]
    worth = evaluate(tables.worth, arm, theta)
    world.nominal_best[step] = worth
    if world.biased:
        worth = -np.inf
        for other in range(tables.n_arms):
            mean = evaluate(tables.mean, other, theta)
            paid = min(max(mean + world.shifts[other], 0.0), 1.0)
            worth = max(worth, evaluate(tables.worth, other, theta) + (paid - mean))
    world.best[step] = worth
