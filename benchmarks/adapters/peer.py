"""A policy of another library in our simulator: any object that chooses and learns."""

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
    """An array whose address identifies one player of the simulator."""

    place: IntArray


class Players:
    """The objects of the other library, one for each address."""

    def __init__(self, make: Callable[[int], Any], n_arms: int, pull: Pull, learn: Learn) -> None:
        self._make, self._pull, self._learn = make, pull, learn
        self._arms = list(range(n_arms))
        self._at: dict[int, Any] = {}

    def start(self, place: int, seed: int) -> None:
        """Create a new object."""
        self._at[place] = self._make(seed)

    def select(self, place: int) -> int:
        """Return the arm that the object plays."""
        return int(self._pull(self._at[place], self._arms))

    def update(self, place: int, arm: int, reward: float) -> None:
        """Report a reward to the object."""
        if place not in self._at:
            self.start(place, 0)
        self._learn(self._at[place], arm, reward)


class Setup(NamedTuple):
    """The model's tables, which every setup has, and the players."""

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

    It runs in plain Python, at the other library's speed. Arms are 0, 1, 2, ..., and rewards are
    on the unit scale. Each run creates a new object with its own seed.

    Args:
        make: ``make(seed)`` returns a new object of the other library.
        pull: ``pull(object, arms)`` returns the arm to play; ``object.pull(arms)`` by default.
        learn: ``learn(object, arm, reward)`` reports a reward; ``object.update(arm, reward)`` by
            default.
        name: label in legends and tables. A sweep identifies the policy by it, not by its code.

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
        for name in ("make", "pull", "learn"):
            value = getattr(self, name)
            good = callable(value) or (value is None and name != "make")
            require(good, name, "be a function", value, PolicyError)

    def setup(self, model: "RewardModel") -> Setup:
        """Return the players; of the model they need only the number of arms."""
        pull, learn = self.pull or _pull, self.learn or _learn
        return Setup(model.tables, Players(self.make, model.n_arms, pull, learn))

    @property
    def label(self) -> str:
        """The name of the policy."""
        return self.name

    def __repr__(self) -> str:
        return f"Peer({self.name!r})"


def _pull(player: Any, arms: list[int]) -> int:
    return int(player.pull(arms))


def _learn(player: Any, arm: int, reward: float) -> None:
    player.update(arm, reward)
