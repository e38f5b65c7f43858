"""Policies of other libraries in our simulator: river's, MABWiser's, or any with two methods."""

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

Pull = Callable[[Any, list[int]], int]
Learn = Callable[[Any, int, float], None]


class State(NamedTuple):
    """Only a place in memory: every player of the simulator has one of its own."""

    place: IntArray


class Players:
    """The other library's objects at work, one for each place."""

    def __init__(self, make: Callable[[int], Any], n_arms: int, pull: Pull, learn: Learn) -> None:
        self._make, self._pull, self._learn = make, pull, learn
        self._arms = list(range(n_arms))
        self._at: dict[int, Any] = {}

    def start(self, place: int, seed: int) -> None:
        """A new object, that has seen nothing."""
        self._at[place] = self._make(seed)

    def select(self, place: int) -> int:
        """The arm it plays."""
        return int(self._pull(self._at[place], self._arms))

    def update(self, place: int, arm: int, reward: float) -> None:
        """Tell it a reward."""
        if place not in self._at:
            self.start(place, 0)
        self._learn(self._at[place], arm, reward)


class Setup(NamedTuple):
    """The model's tables, as every setup has; and the players."""

    tables: Tables
    players: Players


def _init(setup: Setup) -> State:
    return State(np.zeros(1, np.int64))


def _select(setup: Setup, stats: Statistics, state: State, rng: Any) -> int:
    place = state.place.ctypes.data
    if stats.total[0] == 0:
        setup.players.start(place, int(rng.random() * 2**31))
    return setup.players.select(place)


def _update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    setup.players.update(state.place.ctypes.data, arm, reward)


def _estimate(setup: Setup, stats: Statistics, state: State) -> float:
    return math.nan


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Peer(Policy):
    """A policy of another library, for `simulate`: the same worlds, the same random numbers.

    It runs in plain Python, at the other library's speed. Arms are 0, 1, 2, ..., rewards are on
    the unit scale. Each run has a new object, made with a seed of the run's own.

    Args:
        make: ``make(seed)`` gives a new object of the other library.
        pull: ``pull(object, arms)`` gives the arm to play.
        learn: ``learn(object, arm, reward)`` tells it a reward.
        name: for legends and tables; and for names of tasks, which do not see the code.

    >>> import globalbandits as gb
    >>> class Stubborn:
    ...     def pull(self, arms): return arms[-1]
    ...     def update(self, arm, reward): pass
    >>> peer = Peer(make=lambda seed: Stubborn(), name="stubborn")
    >>> env = gb.Environment(gb.demand.linear([0.4, 0.6]), theta=0.9)
    >>> gb.simulate(env, [peer], horizon=5, runs=1).dataset["pulls"].values.ravel().tolist()
    [0, 5]
    """

    compiled: ClassVar[bool] = False

    make: Callable[[int], Any]
    pull: Pull | None = None
    learn: Learn | None = None
    name: str = "peer"

    rules = Rules(_init, _select, _update, _estimate)

    def __post_init__(self) -> None:
        """Check the functions."""
        for name in ("make", "pull", "learn"):
            value = getattr(self, name)
            good = callable(value) or (value is None and name != "make")
            require(good, name, "be a function", value, PolicyError)

    def setup(self, model: "RewardModel") -> Setup:
        """Nothing of the model but the number of arms."""
        pull, learn = self.pull or _pull, self.learn or _learn
        return Setup(model.tables, Players(self.make, model.n_arms, pull, learn))

    @property
    def label(self) -> str:
        """The name it was given."""
        return self.name

    def __repr__(self) -> str:
        return f"Peer({self.name!r})"


def _pull(player: Any, arms: list[int]) -> int:
    return int(player.pull(arms))


def _learn(player: Any, arm: int, reward: float) -> None:
    player.update(arm, reward)


def from_river(make: Callable[[int], Any], name: str) -> Peer:
    """A policy of river, such as ``lambda seed: bandit.UCB(delta=1, seed=seed)``."""
    return Peer(make=make, name=name)


def from_mabwiser(learning_policy: Any, n_arms: int, name: str) -> Peer:
    """A policy of MABWiser, by its learning policy: ``LearningPolicy.UCB1(alpha=1.0)``.

    MABWiser needs rewards before it predicts: each arm is played once first.

    Args:
        learning_policy: one of `mabwiser.mab.LearningPolicy`.
        n_arms: how many arms the model has.
        name: for legends and tables.
    """
    from mabwiser.mab import MAB

    class OneByOne:
        def __init__(self, seed: int) -> None:
            self.mab = MAB(list(range(n_arms)), learning_policy, seed=seed)
            self.first: list[tuple[int, float]] = []

        def pull(self, arms: list[int]) -> int:
            return len(self.first) if len(self.first) < n_arms else int(self.mab.predict())

        def update(self, arm: int, reward: float) -> None:
            if len(self.first) >= n_arms:
                self.mab.partial_fit([arm], [reward])
                return
            self.first.append((arm, reward))
            if len(self.first) == n_arms:
                decisions, rewards = zip(*self.first, strict=True)
                self.mab.fit(list(decisions), list(rewards))

    return Peer(make=OneByOne, name=name)
