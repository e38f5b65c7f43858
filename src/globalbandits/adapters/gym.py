"""Our worlds as environments of Gymnasium.

``import globalbandits.adapters.gym`` registers ``globalbandits/Pricing-v0``,
``globalbandits/Dose-v0`` and ``globalbandits/Bandit-v0``; or name this module before a colon:

>>> import gymnasium
>>> env = gymnasium.make("globalbandits.adapters.gym:globalbandits/Pricing-v0")
>>> observation, info = env.reset(seed=1)
>>> int(env.action_space.n), observation.shape
(12, (24,))
"""

from typing import Any, ClassVar

import numpy as np

from globalbandits._extras import needs_extra
from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.adapters.live_world import LiveWorld
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.errors import ScenarioError
from globalbandits.model.catalogue import demand, dose

with needs_extra("gym"):
    import gymnasium
    from gymnasium.envs.registration import register, registry

HORIZON = 1_000


class BanditEnv(gymnasium.Env):  # type: ignore[misc]
    """An environment of one state: an action is an arm, an episode a run.

    What is seen are the statistics that a decision may rest on: for each arm the share of the
    horizon it was played, then for each arm its mean reward so far on the unit scale, 0 if it was
    not played. The reward is what was observed; where the model has a value that is a straight
    line in the mean, such as a profit, what the observation is worth. ``info`` has the time, what
    was observed, and ``regret``, what the decision cost. ``reset(seed=...)`` starts the run that
    `simulate` plays with that seed; each reset without a seed the next run.

    Args:
        environment: what the world does.
        horizon: decisions of an episode, which is then truncated.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self, environment: Environment, horizon: int = HORIZON, render_mode: str | None = None
    ) -> None:
        require(
            isinstance(environment, Environment),
            "environment",
            "be an Environment",
            environment,
            ScenarioError,
        )
        rule = "have no delay: a step returns its reward"
        require(environment.delay is None, "environment", rule, environment.delay, ScenarioError)
        require(render_mode is None, "render_mode", "be None", render_mode, ScenarioError)
        self.environment = environment
        self.horizon = as_integer("horizon", horizon, 1, ScenarioError)
        self.render_mode = render_mode
        model = environment.model
        rule = "have a value that is a straight line in the mean, so that one reward has a worth"
        straight = not model.valued or _is_straight(model)
        require(straight, "environment", rule, model, ScenarioError)
        n_arms = model.n_arms
        self.action_space = gymnasium.spaces.Discrete(n_arms)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (2 * n_arms,), np.float64)
        self._world: LiveWorld | None = None
        self._seed, self._run = 0, -1
        self._counts, self._sums = np.zeros(n_arms), np.zeros(n_arms)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start the run of a seed, or the next one."""
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._run = seed, -1
        elif self._run < 0:
            self._seed = int(self.np_random.integers(2**62))
        self._run += 1
        self._world = LiveWorld(self.environment, self._seed, self._run)
        self._counts[:], self._sums[:] = 0.0, 0.0
        return self._observation(), {"time": 0, "run": self._run}

    def step(self, action: Any) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Play an arm."""
        require(self._world is not None, "reset", "come before step", None, ScenarioError)
        assert self._world is not None
        arm = int(action)
        observed = self._world.pay(arm)
        model = self.environment.model
        low, high = model.reward_range
        self._counts[arm] += 1.0
        self._sums[arm] += (observed - low) / (high - low)
        time = self._world.time
        worth = float(model.worth_of(arm, observed)) if model.valued else observed
        info = {"time": time, "observed": observed, "regret": self._world.gap}
        return self._observation(), worth, False, time >= self.horizon, info

    def _observation(self) -> FloatArray:
        means = self._sums / np.maximum(self._counts, 1.0)
        shares = np.minimum(self._counts / self.horizon, 1.0)
        return np.concatenate([shares, np.clip(means, 0.0, 1.0)])


def _is_straight(model: Any) -> bool:
    """Whether every arm's value is a straight line in the mean."""
    low, high = model.reward_range
    means = np.linspace(low, high, 9)
    for arm in range(model.n_arms):
        worth = np.asarray(model.worth_of(arm, means))
        line = np.linspace(worth[0], worth[-1], 9)
        if np.abs(worth - line).max() > 1e-9 * max(1.0, float(np.abs(worth).max())):
            return False
    return True


def make_pricing(theta: float = 0.4, horizon: int = HORIZON, **options: Any) -> BanditEnv:
    """The paper's market: prices 0.40, 0.45, ..., 0.95, revenue price * (1 - theta * price)**2."""
    model = demand.linear_power([round(0.40 + 0.05 * step, 2) for step in range(12)])
    return BanditEnv(Environment(model, theta=theta), horizon, **options)


def make_dose(theta: float = 0.4, horizon: int = HORIZON, **options: Any) -> BanditEnv:
    """Six doses, responses that are there or not, and a price of the dose."""
    model = dose.logistic([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], penalty=0.05)
    return BanditEnv(Environment(model, theta=theta, noise=BernoulliNoise()), horizon, **options)


def register_environments() -> None:
    """Register our environments with `gymnasium.make`. A repeated call changes nothing."""
    for name, entry in {"Pricing": make_pricing, "Dose": make_dose, "Bandit": BanditEnv}.items():
        key = f"globalbandits/{name}-v0"
        if key not in registry:
            register(id=key, entry_point=entry)


register_environments()
