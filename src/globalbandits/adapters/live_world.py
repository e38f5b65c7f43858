"""One run of an environment, one decision at a time: the same rewards as in the simulator."""

import numpy as np

from globalbandits._random import Stream, generator
from globalbandits._rewards import as_arm
from globalbandits._types import FloatArray
from globalbandits.environments import Environment
from globalbandits.environments.environment import worth_of_means
from globalbandits.environments.truth import means_over_time


class LiveWorld:
    """Rewards of one run, drawn from the simulator's streams for (seed, run).

    Args:
        env: the environment.
        seed: the seed of all randomness.
        run: number of the run.

    >>> import globalbandits as gb
    >>> world = LiveWorld(gb.Environment(gb.demand.linear([0.4, 0.8]), theta=0.3), seed=7)
    >>> round(world.pay(1), 6), round(world.gap, 6)
    (0.156675, 0.0)
    """

    def __init__(self, env: Environment, seed: int, run: int = 0) -> None:
        self.env = env
        self.time = 0  # decisions so far
        model = env.model
        self._parameters = env.noise.parameters(model)
        self._rewards = generator(Stream.REWARD, seed, run)
        self._moves = generator(Stream.DRIFT, seed, run)
        self._moves.random()  # of the first step, which does not move
        self._shifts = env.shifts(generator(Stream.BIAS, seed, run))
        self._theta = env.theta
        self._track = None
        if env.population is not None:
            u = float(generator(Stream.POPULATION, seed, run).random())
            self._theta = env.population.theta_at(u, model.domain)
            if env.population.shifts is not None:
                self._shifts = env.population.shifts_at(u, model.n_arms)
        if env.drift is not None:
            self._track = env.drift.track(model.domain, env.start)
        self._means = self._means_now()
        self._worth = worth_of_means(model, self._means)
        self.gap = 0.0  # what the last decision cost

    def _means_now(self) -> FloatArray:
        env = self.env
        if env.moving_truth is not None:
            now, model = np.array([self.time + 1]), env.model
            rows = means_over_time(env.moving_truth, now, model.arms, model.reward_range)
            return np.asarray(rows[0])
        if env.truth is not None:
            return env.true_means(self._shifts)
        means: FloatArray = env.model.means(self._theta)
        if self._shifts is None:
            return means
        return np.asarray(np.clip(means + self._shifts, *env.model.reward_range))

    def pay(self, arm: int) -> float:
        """The reward of a decision, in the units of the rewards."""
        env = self.env
        arm = as_arm("arm", arm, env.model.n_arms)
        if self.time > 0 and (self._track is not None or env.moving_truth is not None):
            if self._track is not None:
                assert env.drift is not None
                move = env.drift.rules.move
                u = float(self._moves.random())
                self._theta = move(self._track, self.time + 1, self._theta, u)  # type: ignore[arg-type]
            self._means = self._means_now()
            self._worth = worth_of_means(env.model, self._means)
        low, high = env.model.reward_range
        unit = float((self._means[arm] - low) / (high - low))
        shape = env.noise.rules.prepare(self._parameters, arm, unit)
        u = float(self._rewards.random())
        self.time += 1
        self.gap = float(self._worth.max() - self._worth[arm])
        return float(low + (high - low) * env.noise.rules.draw(self._parameters, arm, shape, u))
