"""Tables of means with confidence intervals."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._means import mean_interval
from globalbandits._rewards import as_arm
from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, require
from globalbandits.errors import SimulationError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

REGRETS = ("regret", "nominal_regret")


def summarize(
    dataset: "xr.Dataset", baseline: str | None, confidence: float, variable: str
) -> "pd.DataFrame":
    """See `SimulationResult.summary`."""
    import pandas as pd

    from globalbandits.simulation.printing import Summary

    confidence = as_fraction("confidence", confidence, SimulationError)
    check_regret(variable)
    names = [str(name) for name in dataset["policy"].values]
    # Contiguous, so that sums have the same bits wherever the dataset comes from.
    final = np.ascontiguousarray(dataset[variable].isel(time=-1).transpose("policy", "run"))
    columns = _columns("regret", final, confidence)
    if baseline is not None:
        rule = f"be one of {', '.join(names)}"
        require(baseline in names, "baseline", rule, baseline, SimulationError)
        columns |= _columns("difference", final - final[names.index(baseline)], confidence)
    return Summary(columns, index=pd.Index(names, name="policy"))


def gains(dataset: "xr.Dataset", baseline: str | int, confidence: float) -> "pd.DataFrame":
    """See `SimulationResult.earnings`."""
    import pandas as pd

    from globalbandits.simulation.printing import Summary

    confidence = as_fraction("confidence", confidence, SimulationError)
    names = [str(name) for name in dataset["policy"].values]
    regrets = np.ascontiguousarray(dataset["regret"].isel(time=-1).transpose("policy", "run"))
    if isinstance(baseline, str):
        rule = f"be one of {', '.join(names)}, or an arm's index"
        require(baseline in names, "baseline", rule, baseline, SimulationError)
        lost = regrets[names.index(baseline)]
    else:
        arm = as_arm("baseline", baseline, dataset.sizes["arm"])
        if "gap" not in dataset:
            raise SimulationError(
                "baseline must be a policy of the simulation where means move: "
                f"simulate FixedArm({arm}) beside the others, and name it"
            )
        gap = dataset["gap"].isel(arm=arm).to_numpy()
        n_decisions = dataset["pulls"].transpose("policy", "run", "arm").sum("arm")
        lost = np.broadcast_to(np.asarray(n_decisions, np.float64) * gap, regrets.shape)
    numbers = _columns("gain", lost - regrets, confidence)
    return Summary(numbers, index=pd.Index(names, name="policy"))


def check_regret(variable: str) -> None:
    """Raise if this is not one of the two regrets."""
    rule = "be 'regret' or 'nominal_regret'"
    require(variable in REGRETS, "variable", rule, variable, SimulationError)


def _columns(name: str, values: FloatArray, confidence: float) -> dict[str, FloatArray]:
    statistics = ("mean", "sem", "low", "high")
    numbers = mean_interval(values, confidence)
    return {f"{name}_{what}": number for what, number in zip(statistics, numbers, strict=True)}
