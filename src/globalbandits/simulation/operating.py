"""Operating characteristics: which arms runs recommend, and what it takes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.environments import Environment
from globalbandits.errors import SimulationError
from globalbandits.simulation.records import Records

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

GAP_TOLERANCE = 1e-9  # of the largest gap: a gap up to this counts as zero


def true_means_of(
    env: Environment, records: Records, kept: Any
) -> tuple[tuple[str, ...], FloatArray]:
    """The names of the axes of the true means of some runs, and these means."""
    low, high = env.model.reward_range
    if env.population is not None:
        means = env.model.means(records.theta[kept, 0])
    else:
        means = env.true_means()
    if records.bias.shape[1] > 0:
        means = np.clip(means + records.bias[kept], low, high)
    return (("run", "arm") if means.ndim == 2 else ("arm",)), means


def selection(dataset: "xr.Dataset") -> "pd.DataFrame":
    """See `SimulationResult.selection`."""
    choice = dataset["choice"].transpose("policy", "run").values
    shares = [(choice == arm).mean(axis=1) for arm in range(dataset.sizes["arm"])]
    frame = _table(dataset, np.stack(shares, axis=1))
    if "stopped" in dataset:
        frame["none"] = (choice < 0).mean(axis=1)
    return frame


def decisions(dataset: "xr.Dataset") -> "pd.DataFrame":
    """See `SimulationResult.decisions`."""
    return _table(dataset, dataset["pulls"].transpose("policy", "run", "arm").values.mean(axis=1))


def characteristics(
    dataset: "xr.Dataset", target: float | None, more_than: float, within: float
) -> "pd.DataFrame":
    """See `SimulationResult.characteristics`."""
    import pandas as pd

    within = as_float("within", within, SimulationError)
    require(within >= 0.0, "within", "be at least 0", within, SimulationError)
    rule = "be one whose means stay during a run"
    require("gap" in dataset, "result", rule, "one of a world that moves", SimulationError)
    choice = dataset["choice"].transpose("policy", "run").values
    pulls = dataset["pulls"].transpose("policy", "run", "arm").values
    gaps = _by_run(dataset, "gap")
    good = gaps <= within + GAP_TOLERANCE * gaps.max(initial=0.0)
    correct = np.take_along_axis(good[np.newaxis], np.maximum(choice, 0)[..., np.newaxis], axis=2)
    columns = {
        "correct": (correct[..., 0] & (choice >= 0)).mean(axis=1),
        "decisions": pulls.sum(axis=2).mean(axis=1),
    }
    if "stopped" in dataset:
        # A run that stops at the horizon did not stop early.
        stopped = dataset["stopped"].transpose("policy", "run").values
        early = (stopped > 0) & (stopped < int(dataset["time"].values[-1]))
        columns["stopped"] = early.mean(axis=1)
        columns["none"] = (choice < 0).mean(axis=1)
    if target is not None:
        limit = as_float("target", target, SimulationError)
        most = as_float("more_than", more_than, SimulationError)
        above = (pulls * (_by_run(dataset, "true_mean") > limit)).sum(axis=2)
        columns["above"] = above.sum(axis=1) / pulls.sum(axis=(1, 2))
        columns["exceeded"] = (above > most).mean(axis=1)
    names = [str(name) for name in dataset["policy"].values]
    return pd.DataFrame(columns, index=pd.Index(names, name="policy"))


def _by_run(dataset: "xr.Dataset", name: str) -> FloatArray:
    """A variable as (run, arm), also where all runs share the same values."""
    values = dataset[name].values
    shape = dataset.sizes["run"], dataset.sizes["arm"]
    return np.broadcast_to(values, shape)


def _table(dataset: "xr.Dataset", values: FloatArray) -> "pd.DataFrame":
    """One row per policy, one column per arm."""
    import pandas as pd

    names = [str(name) for name in dataset["policy"].values]
    arms = pd.Index(dataset["arm"].values.tolist(), name="arm")
    return pd.DataFrame(values, index=pd.Index(names, name="policy"), columns=arms)
