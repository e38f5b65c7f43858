"""The tables of a fit: groups, arms, scores."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits.fitting.groups import arm_means, find_misfits
from globalbandits.fitting.posterior import LEVELS
from globalbandits.fitting.scoring import Difference, difference

if TYPE_CHECKING:
    import pandas as pd

    from globalbandits.fitting.result import Fit


def groups_table(fit: "Fit") -> "pd.DataFrame":
    """One row per group."""
    import pandas as pd

    low, middle, high = fit.theta_scale.quantiles(fit.posteriors, LEVELS).T
    misfit = find_misfits(fit.panel, fit.fitted, fit.posteriors)
    expected = arm_means(fit.panel, fit.fitted, fit.posteriors)
    best = fit.worth(expected).argmax(axis=1)
    return pd.DataFrame(
        {
            "rewards": fit.panel.counts.sum(axis=1).astype(np.int64),
            "arms": fit.panel.tried.sum(axis=1),
            "theta": middle,
            "low": low,
            "high": high,
            "best": [fit.offered[arm] for arm in best],
            "misfit_p": misfit.p_values,
            "arms_off": misfit.arms_off,
            "misfit": misfit.groups,
        },
        index=pd.Index(fit.panel.groups, name="group", tupleize_cols=False),
    )


def arms_table(fit: "Fit") -> "pd.DataFrame":
    """One row per arm."""
    import pandas as pd

    low, high = fit.panel.reward_range
    return pd.DataFrame(
        {
            "rewards": fit.panel.counts.sum(axis=0).astype(np.int64),
            "groups": fit.panel.tried.sum(axis=0),
            "mean": low + (high - low) * fit.fitted.means,
            "informativeness": fit.facts.information,
            "best": fit.facts.best,
            "bias": fit.bias,
            "noise": fit.noise,
            "uninformative": fit.curves.flat,
            "stalls": fit.facts.stalls,
        },
        index=pd.Index(fit.offered, name="arm", tupleize_cols=False),
    )


def scores_table(fit: "Fit") -> "pd.DataFrame":
    """One row per comparison on data that the fits had not seen."""
    import pandas as pd

    rows: dict[tuple[str, str], Difference] = {}
    for label, found in (("held-out groups", fit.held_out), ("last third", fit.later)):
        if found is None:
            continue
        for name in found.log_scores:
            if name != "independent":
                rows[label, f"{name} - independent"] = found.over_independent(name)
    values = fit.held_out.values
    for name in ("shared", "raw", "pooled"):
        rows["value in the other half", f"{name} - independent"] = difference(
            values[name], values["independent"]
        )
    return pd.DataFrame(
        [tuple(row) for row in rows.values()],
        index=pd.MultiIndex.from_tuples(rows, names=["score", "comparison"]),
        columns=["difference", "se", "groups"],
    )
