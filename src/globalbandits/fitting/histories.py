"""Example histories: synthetic ones, and readers of two public panels.

A synthetic history draws groups, gives every arm of every group its true mean, and plays the arms.
Two things can be added to the shared curves: `rho`, each group's own error around the curve (a Beta
with variance ``rho * f * (1 - f)``), and rewards that are not 0 or 1.

>>> history = exponential_demand(groups=3, rewards=7, seed=1)
>>> sorted(history), history["reward"].size
(['arm', 'group', 'reward'], 21)
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._arrow_files import is_arrow_file, write_tables
from globalbandits._extras import needs_extra
from globalbandits._files import replacing
from globalbandits._types import AnyArray, FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import FitError
from globalbandits.fitting.panel.history_files import readable
from globalbandits.fitting.panel.panel_checks import check_column_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "History",
    "emax",
    "exponential_demand",
    "identical_groups",
    "paper",
    "read_gdsc",
    "read_orange_juice",
    "traffic_only",
    "two_segments",
    "unstructured",
]

PRICES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
DOSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_DRUG_ALONE_TAG = r"(?:L|R)\d+(?:-D\d+)?-S"
_GDSC_COLUMNS = ["SCAN_ID", "CELL_LINE_NAME", "TAG", "DRUG_ID", "CONC", "INTENSITY"]


class History(dict[str, AnyArray]):
    """A dict of the columns group, arm and reward, with the truth they were drawn from.

    Attributes:
        arms: The arms' values.
        theta: The number of each group, nan if it has none: shape (groups,).
        curves: Mean of each arm by the group's number: shape (groups, n_arms).
        means: The same with the group's own errors; rewards are drawn from these.
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

    def to_arrow(self, names: tuple[str, str, str] = ("group", "arm", "reward")) -> Any:
        """Return a table of PyArrow with these names for the columns group, arm and reward."""
        with needs_extra("files"):
            import pyarrow as pa

        return pa.table(
            dict(zip(names, (self[key] for key in ("group", "arm", "reward")), strict=True))
        )

    def save(
        self,
        path: str | os.PathLike[str],
        names: tuple[str, str, str] = ("store", "price", "sold"),
    ) -> None:
        """Write a file with these names for the columns group, arm and reward.

        It is a Parquet file if the path ends with .parquet, a file of Arrow if it ends with
        .arrow, and a CSV file otherwise.
        """
        if is_arrow_file(path):
            write_tables(path, [self.to_arrow(names)])
            return
        import pandas as pd

        columns = dict(zip(names, (self[key] for key in ("group", "arm", "reward")), strict=True))
        with replacing(path) as temporary:
            pd.DataFrame(columns).to_csv(temporary, index=False)


def exponential_demand(
    groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any
) -> History:
    """Shops: a customer buys at price p with probability exp(-theta p), theta log-normal.

    Args:
        groups: Number of groups.
        rewards: Rewards per group.
        seed: The seed of the random draws.
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


def two_segments(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """`exponential_demand` with two segments of shops: half have theta near .12, half near .4."""
    rng = _generator(groups, seed)
    theta = np.where(rng.random(groups) < 0.5, 0.12, 0.4) * np.exp(rng.normal(0.0, 0.05, groups))
    return draw(theta, np.exp(-theta[:, None] * np.array(PRICES)), PRICES, rewards, rng, **how)


def traffic_only(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Shops that differ in how many people come by, but not in willingness to pay."""
    rng = _generator(groups, seed)
    theta = np.exp(rng.normal(np.log(0.6), 0.25, groups)).clip(0.1, 0.99)
    return draw(
        theta, theta[:, None] * np.exp(-0.2 * np.array(PRICES)), PRICES, rewards, rng, **how
    )


def unstructured(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
    """Groups without a shared number: every arm's logit varies independently, with spread .8."""
    rng = _generator(groups, seed)
    usual = np.exp(-0.22 * np.array(PRICES))
    logits = np.log(usual / (1 - usual)) + rng.normal(0.0, 0.8, (groups, len(PRICES)))
    return draw(np.full(groups, np.nan), 1 / (1 + np.exp(-logits)), PRICES, rewards, rng, **how)


def identical_groups(groups: int = 50, rewards: int = 140, *, seed: int = 0, **how: Any) -> History:
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
    """Play the arms of every group and return the rows.

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
        concentration: None for 0/1 rewards; otherwise rewards are Beta with this sum of
            parameters.
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
    """Play every arm equally often; the remainder goes to random arms."""
    counts = np.full(shape, rewards // shape[1], np.int64)
    places = rng.random(shape).argsort(axis=1)
    return np.asarray(counts + (places < rewards % shape[1]))


def _subsets(rewards: int, shape: tuple[int, ...], rng: np.random.Generator) -> IntArray:
    """Play at least two random arms per group, a random number of times each."""
    n_groups, n_arms = shape
    counts = np.zeros(shape, np.int64)
    for row in range(n_groups):
        tried = rng.permutation(n_arms)[: rng.integers(2, n_arms + 1)]
        counts[row, tried] = rng.multinomial(rewards, np.full(tried.size, 1 / tried.size))
    return counts


def read_gdsc(
    path: str | os.PathLike[str], drug: int, *, control: str = "NC-1", blank: str = "B"
) -> dict[str, AnyArray]:
    """Cell lines and doses of one drug, from the raw data of the GDSC project.

    The file is ``GDSC2_public_raw_data_....csv`` (or GDSC1, with ``control="NC-0"``) of
    https://www.cancerrxgene.org/downloads, as it is or zipped. An intensity is scaled between
    the means of its plate's wells without cells and without drug, and clipped to [0, 1], as the
    project does. A survival of 1 means that the dose has no effect.

    Args:
        path: The file.
        drug: Number of the drug, such as 1003 for camptothecin.
        control: Tag of wells without drug.
        blank: Tag of wells without cells.

    Returns:
        The columns group (the cell line), arm (the concentration) and reward (the survival).
    """
    import pandas as pd

    drug = as_integer("drug", drug, 0, FitError)
    rows = _read_csv(path, _GDSC_COLUMNS)
    levels = {
        tag: rows[rows["TAG"] == tag].groupby("SCAN_ID")["INTENSITY"].mean()
        for tag in (control, blank)
    }
    for tag, level in levels.items():
        require(len(level) > 0, "TAG", f"have wells {tag!r}", sorted(set(rows["TAG"])), FitError)
    alone = rows["TAG"].astype(str).str.fullmatch(_DRUG_ALONE_TAG)
    wells = rows[(pd.to_numeric(rows["DRUG_ID"], errors="coerce") == drug) & alone]
    require(len(wells) > 0, "drug", "be one of the file's DRUG_ID", drug, FitError)
    top, bottom = (
        wells["SCAN_ID"].map(levels[tag]).to_numpy(np.float64) for tag in (control, blank)
    )
    surviving = (wells["INTENSITY"].to_numpy(np.float64) - bottom) / (top - bottom)
    known = np.isfinite(surviving)
    return {
        "group": wells["CELL_LINE_NAME"].to_numpy()[known],
        "arm": wells["CONC"].to_numpy(np.float64)[known],
        "reward": np.clip(surviving[known], 0.0, 1.0),
    }


def read_orange_juice(
    path: str | os.PathLike[str], brand: int, *, levels: int = 6
) -> dict[str, AnyArray]:
    """Stores and prices of one brand of orange juice, from the R package bayesm.

    The file is ``write.csv(orangeJuice$yx, "orange.csv")`` after ``data(orangeJuice)``. Prices are
    binned into levels with about the same number of weeks each; an arm is the median price of
    its level, per ounce.

    Args:
        path: The file.
        brand: From 1 to 11; 10 is Dominick's 64 oz.
        levels: Number of arms.

    Returns:
        The columns group (the store), arm (the price), reward (units sold, as a share of the
        largest week of all) and time (the week).
    """
    brand = as_integer("brand", brand, 1, FitError, maximum=11)
    levels = as_integer("levels", levels, 2, FitError)
    price = f"price{brand}"
    rows = _read_csv(path, ["store", "brand", "week", "logmove", price])
    rows = rows[rows["brand"] == brand]
    require(len(rows) > 0, "brand", "be one of the file's", brand, FitError)
    prices = rows[price].to_numpy(np.float64)
    edges = np.unique(np.quantile(prices, np.linspace(0, 1, levels + 1)[1:-1]))
    level = np.searchsorted(edges, prices, side="left")
    found, places = np.unique(level, return_inverse=True)
    middles = np.array([np.median(prices[level == each]) for each in found])
    units = np.exp(rows["logmove"].to_numpy(np.float64))
    return {
        "group": rows["store"].to_numpy(),
        "arm": np.round(middles, 5)[places],
        "reward": units / units.max(),
        "time": rows["week"].to_numpy(),
    }


def _read_csv(path: str | os.PathLike[str], columns: list[str]) -> "pd.DataFrame":
    """Read some columns of a CSV file."""
    import pandas as pd

    with readable(path):
        header = [str(name) for name in pd.read_csv(path, nrows=0).columns]
        check_column_names(columns, header)
        return pd.read_csv(path, usecols=columns, low_memory=False)
