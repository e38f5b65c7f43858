"""What policies would lose in a new group: simulated in groups drawn from the fitted population."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._means import mean_and_error
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer
from globalbandits.errors import FitError
from globalbandits.fitting.candidates import ALONE
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.knowing import N_DRAWN
from globalbandits.fitting.population import Drawn, draw_groups
from globalbandits.fitting.scoring import Difference
from globalbandits.fitting.theta import ThetaScale
from globalbandits.fitting.worth import Worth

if TYPE_CHECKING:
    import pandas as pd

    from globalbandits.environments import Environment
    from globalbandits.model import RewardModel
    from globalbandits.policies import Policy

N_CHECKPOINTS = 12
MAX_HORIZON = 10_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Forecast:
    """Regret of policies over time, in units of worth.

    Attributes:
        times: Rounds: shape (n_times,), the last one being the horizon.
        runs: Regret of every policy in every simulated group: shape (n_runs, n_times) each. The
            same groups and the same random numbers for all, so that differences are paired.
        fixed: Name of the best fixed arm, ``"always 5.0"``.
        fixed_gaps: What the best fixed arm loses per round in every group of the population
            that was drawn: its regret needs no simulation.
    """

    times: IntArray
    runs: dict[str, FloatArray]
    fixed: str
    fixed_gaps: FloatArray

    @property
    def horizon(self) -> int:
        """The last of the times."""
        return int(self.times[-1])

    @property
    def n_runs(self) -> int:
        """Number of simulated groups."""
        return len(next(iter(self.runs.values())))

    @cached_property
    def means(self) -> dict[str, FloatArray]:
        """Mean regret over time, the least at the horizon first."""
        found = {name: runs.mean(axis=0) for name, runs in self.runs.items()}
        found[self.fixed] = float(self.fixed_gaps.mean()) * self.times
        return dict(sorted(found.items(), key=lambda each: float(each[1][-1])))

    @cached_property
    def errors(self) -> dict[str, FloatArray]:
        """Standard errors of the means."""
        found = {name: _error(self.runs[name]) for name in self.means if name != self.fixed}
        return found | {self.fixed: _error(self.fixed_gaps[:, None] * self.times)}

    def beyond(self, name: str, other: str) -> Difference:
        """Regret of a policy less that of another at the horizon; paired where both were run."""
        means, errors = self._differences(name, other)
        return Difference(float(means[-1]), float(errors[-1]), self.n_runs)

    def break_even(self, name: str, other: str = ALONE) -> int | None:
        """The first of the times from which on a policy clearly loses more than another one.

        Clearly: by more than one standard error. None if at the horizon it does not.
        """
        if other not in self.means or name == other:
            return None
        means, errors = self._differences(name, other)
        level = np.flatnonzero(means <= errors)
        first = 0 if level.size == 0 else int(level[-1]) + 1
        return int(self.times[first]) if first < self.times.size else None

    def _differences(self, name: str, other: str) -> tuple[FloatArray, FloatArray]:
        """Mean differences over time and their standard errors."""
        means = np.asarray(self.means[name] - self.means[other])
        if self.fixed in (name, other):
            return means, np.hypot(self.errors[name], self.errors[other])
        return means, _error(self.runs[name] - self.runs[other])

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """One row per policy and time: mean regret and its standard error."""
        import pandas as pd

        index = pd.MultiIndex.from_product(
            [list(self.means), self.times.tolist()], names=["policy", "rounds"]
        )
        columns = {
            "regret": np.concatenate(list(self.means.values())),
            "se": np.concatenate([self.errors[name] for name in self.means]),
        }
        return pd.DataFrame(columns, index=index)


def _error(values: FloatArray) -> FloatArray:
    return mean_and_error(values, axis=0)[1]


class Playing(NamedTuple):
    """How a forecast is simulated."""

    horizon: int = 1_000
    runs: int = 200
    seed: int = 0
    progress: bool = False  # whether a bar is shown


def as_playing(horizon: object, runs: object, seed: object, progress: bool) -> Playing:
    """Checked numbers of a simulation."""
    return Playing(
        horizon=as_integer("horizon", horizon, 1, FitError, maximum=MAX_HORIZON),
        runs=as_integer("runs", runs, 2, FitError),
        seed=as_integer("seed", seed, 0, FitError),
        progress=progress,
    )


def foresee(
    fitted: Fitted,
    model: "RewardModel",
    worth: Worth,
    scale: ThetaScale,
    policies: "Mapping[str, Policy]",
    playing: Playing,
) -> Forecast:
    """Let policies play new groups of a population.

    Args:
        fitted: The population.
        model: What policies believe.
        worth: Of the population's arms.
        scale: Theta at the population's points.
        policies: By name.
        playing: How long, how often, and with which seed.
    """
    drawn = draw_groups(fitted, N_DRAWN, np.random.default_rng(playing.seed))
    true = worth(drawn.means)
    fixed = int(true.mean(axis=0).argmax())
    env = world_of(drawn, fitted, model, worth.arms, scale)
    times, runs = simulate_groups(env, policies, playing)
    gaps = gaps_of(fixed, true, env, worth.arms)
    return Forecast(times, runs, always_name(worth.arms[fixed]), gaps)


def gaps_of(fixed: int, true: FloatArray, env: "Environment", arms: Sequence[Any]) -> FloatArray:
    """What one arm loses per round in every group: shape (n_groups,).

    Args:
        fixed: The arm, an index of ``arms``.
        true: What the groups' arms are worth: shape (n_groups, n_arms).
        env: The groups' world; its model may have arms that are not in the history, too.
        arms: Of the history.
    """
    from globalbandits.environments import Population

    best, people = true.max(axis=1), env.theta
    others = [place for place, arm in enumerate(env.model.arms) if arm not in arms]
    if others and isinstance(people, Population) and people.samples is not None:
        best = np.maximum(best, env.model.worth(people.samples)[:, others].max(axis=1))
    return np.asarray(best - true[:, fixed])


def always_name(arm: Any) -> str:
    """The name of a fixed arm among policies."""
    return f"always {arm!r}"


def simulate_groups(
    env: "Environment", policies: "Mapping[str, Policy]", playing: Playing
) -> tuple[IntArray, dict[str, FloatArray]]:
    """Times, and regret of every policy in every run: shape (n_runs, n_times)."""
    from globalbandits.simulation import simulate
    from globalbandits.simulation.simulate import require_all_runs

    played = simulate(
        env,
        policies,
        playing.horizon,
        playing.runs,
        playing.seed,
        checkpoints=N_CHECKPOINTS,
        spacing="log",
        progress=playing.progress,
    )
    result = require_all_runs(played, playing.runs)
    regret = result.dataset["regret"]
    times = np.asarray(result.dataset["time"].values)
    return times, {name: np.asarray(regret.sel(policy=name).values) for name in policies}


def world_of(
    drawn: Drawn, fitted: Fitted, model: "RewardModel", arms: Sequence[Any], scale: ThetaScale
) -> "Environment":
    """A world whose runs have one of the drawn groups each, and the noise of the outcome.

    Args:
        drawn: The groups.
        fitted: Where they come from; its noise.
        model: What policies believe.
        arms: The arms of groups and fit.
        scale: Theta at the points of the groups.
    """
    from globalbandits.environments import BernoulliNoise, Environment, Population, ScaledCoinNoise

    places = [model.arms.index(arm) for arm in arms]
    middles = np.clip(0.5 * (scale.edges[1:] + scale.edges[:-1]), *model.domain)
    theta = middles[drawn.points]
    low, high = model.reward_range
    shifts = np.zeros((theta.size, model.n_arms))
    curves = model.means(theta)[:, places]
    shifts[:, places] = low + (high - low) * drawn.means - curves
    people = Population(samples=theta.tolist(), shifts=shifts.tolist())
    if fitted.binary:
        return Environment(model, theta=people, noise=BernoulliNoise())
    shares = np.full(model.n_arms, float(fitted.phi.mean()))
    shares[places] = fitted.phi
    return Environment(model, theta=people, noise=ScaledCoinNoise(tuple(shares.tolist())))
