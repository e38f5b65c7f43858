"""Synthetic histories: many groups with a number of their own each, and what they earned.

Every function draws groups, gives every arm of every group its true mean, and lets the arms be
played. Two things can be added to the shared curves: `rho`, an error of each group's own around
the curve (a Beta with variance ``rho * f * (1 - f)``), and rewards that are not coins.

>>> history = expo(groups=3, rewards=7, seed=1)
>>> sorted(history), history["reward"].size
(['arm', 'group', 'reward'], 21)
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._files import replacing
from globalbandits._types import AnyArray, FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import FitError
from globalbandits.fitting.public_panels import read_gdsc, read_orange_juice

__all__ = [
    "History",
    "emax",
    "expo",
    "free",
    "paper",
    "read_gdsc",
    "read_orange_juice",
    "same",
    "size",
    "two",
]

PRICES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
DOSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class History(dict[str, AnyArray]):
    """Rows as a dict of the columns group, arm and reward, and the truth they came from.

    Attributes:
        arms: The arms' values.
        theta: The number of each group (nan where there is none): shape (groups,).
        curves: Mean of each arm by the group's number: shape (groups, n_arms).
        means: The same with the group's own errors: what rewards are drawn from.
    """

    def __init__(
        self,
        columns: dict[str, AnyArray],
        arms: tuple[float, ...],
        theta: FloatArray,
        curves: FloatArray,
        means: FloatArray,
    ) -> None:
        super().__init__(columns)
        self.arms = arms
        self.theta = theta
        self.curves = curves
        self.means = means

    def save(
        self,
        path: str | os.PathLike[str],
        names: tuple[str, str, str] = ("store", "price", "sold"),
    ) -> None:
        """Write the rows into a CSV file, with these names for group, arm and reward."""
        import pandas as pd

        columns = dict(zip(names, (self[key] for key in ("group", "arm", "reward")), strict=True))
        with replacing(path) as temporary:
            pd.DataFrame(columns).to_csv(temporary, index=False)


def expo(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Shops: a customer buys at price p with probability exp(-theta p), theta log-normal.

    Args:
        groups: Number of groups.
        rewards: Rewards per group.
        seed: Of the random draws.
        **how: ``rho`` (default 0), ``uneven`` (False) and ``concentration`` (None): see `draw`.
    """
    rng = _generator(groups, seed)
    theta = np.exp(rng.normal(np.log(0.22), 0.35, groups))
    return draw(theta, np.exp(-theta[:, None] * np.array(PRICES)), PRICES, rewards, rng, **how)


def emax(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Cohorts: the response to a dose x is x / (theta + x), theta log-normal."""
    rng = _generator(groups, seed)
    theta = np.exp(rng.normal(np.log(3.0), 0.8, groups))
    doses = np.array(DOSES)
    return draw(theta, doses / (theta[:, None] + doses), DOSES, rewards, rng, **how)


def paper(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """The paper's three arms: 1 - sqrt(t), 0.8 t and t**2, t uniform on [.02, .98]."""
    rng = _generator(groups, seed)
    theta = rng.uniform(0.02, 0.98, groups)
    curves = np.column_stack([1 - np.sqrt(theta), 0.8 * theta, theta**2])
    return draw(theta, curves, (0.0, 1.0, 2.0), rewards, rng, **how)


def two(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Two kinds of shops: half with theta near .12, half near .4, else as `expo`."""
    rng = _generator(groups, seed)
    theta = np.where(rng.random(groups) < 0.5, 0.12, 0.4) * np.exp(rng.normal(0.0, 0.05, groups))
    return draw(theta, np.exp(-theta[:, None] * np.array(PRICES)), PRICES, rewards, rng, **how)


def size(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Shops that differ in how many people come by, not in what they are ready to pay."""
    rng = _generator(groups, seed)
    theta = np.exp(rng.normal(np.log(0.6), 0.25, groups)).clip(0.1, 0.99)
    return draw(
        theta, theta[:, None] * np.exp(-0.2 * np.array(PRICES)), PRICES, rewards, rng, **how
    )


def free(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Groups without a number: every arm's logit has a spread of .8 for itself."""
    rng = _generator(groups, seed)
    usual = np.exp(-0.22 * np.array(PRICES))
    logits = np.log(usual / (1 - usual)) + rng.normal(0.0, 0.8, (groups, len(PRICES)))
    return draw(np.full(groups, np.nan), 1 / (1 + np.exp(-logits)), PRICES, rewards, rng, **how)


def same(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Groups that do not differ at all: theta is .22 in each."""
    rng = _generator(groups, seed)
    theta = np.full(groups, 0.22)
    return draw(theta, np.exp(-theta[:, None] * np.array(PRICES)), PRICES, rewards, rng, **how)


def draw(
    theta: FloatArray,
    curves: FloatArray,
    arms: Sequence[float],
    rewards: int,
    rng: np.random.Generator,
    *,
    rho: float = 0.0,
    uneven: bool = False,
    concentration: float | None = None,
) -> History:
    """Play the arms of every group and keep the rows.

    Args:
        theta: Number of each group.
        curves: Mean of each arm in each group: shape (groups, n_arms), inside (0, 1).
        arms: The arms' values.
        rewards: Rewards per group.
        rng: Generator of all draws.
        rho: Size of the groups' own errors around the curves: their variance is
            ``rho * f * (1 - f)``.
        uneven: Whether every group tries a random subset of at least two arms, instead of
            all arms equally often.
        concentration: None for coins; else rewards are Beta with this sum of parameters.
    """
    rewards = as_integer("rewards", rewards, 1, FitError)
    rho = as_float("rho", rho, FitError)
    require(0.0 <= rho < 1.0, "rho", "lie in [0, 1)", rho, FitError)
    means = curves
    if rho > 0.0:
        precision = (1.0 - rho) / rho
        means = rng.beta(precision * curves, precision * (1 - curves))
    plan = _subsets if uneven else _evenly
    counts = plan(rewards, curves.shape, rng)
    group, arm = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    chance = np.repeat(means.ravel(), counts.ravel())
    if concentration is None:
        reward = (rng.random(chance.size) < chance).astype(np.float64)
    else:
        chance = chance.clip(1e-6, 1 - 1e-6)
        reward = rng.beta(concentration * chance, concentration * (1 - chance))
    columns = {"group": group, "arm": np.array(arms)[arm], "reward": reward}
    return History(columns, tuple(arms), theta, curves, means)


def _generator(groups: int, seed: int) -> np.random.Generator:
    as_integer("groups", groups, 1, FitError)
    return np.random.default_rng(as_integer("seed", seed, 0, FitError))


def _evenly(rewards: int, shape: tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Every arm equally often, what is left over on random arms."""
    counts = np.full(shape, rewards // shape[1], np.int64)
    places = rng.random(shape).argsort(axis=1)
    return np.asarray(counts + (places < rewards % shape[1]))


def _subsets(rewards: int, shape: tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """At least two arms per group, which ones and how often at random."""
    n_groups, n_arms = shape
    counts = np.zeros(shape, np.int64)
    for row in range(n_groups):
        tried = rng.permutation(n_arms)[: rng.integers(2, n_arms + 1)]
        counts[row, tried] = rng.multinomial(rewards, np.full(tried.size, 1 / tried.size))
    return counts
