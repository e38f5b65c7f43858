"""How policies would have done in the history's own groups, with curves from other groups."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.fitting.arms import ArmScale, arm_scale
from globalbandits.fitting.candidates import candidates
from globalbandits.fitting.checks import check_several
from globalbandits.fitting.factor import fit_shared
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.forecast import Forecast, Playing, gaps_of, simulate_groups, world_of
from globalbandits.fitting.given import fit_given, read_curves
from globalbandits.fitting.groups import posterior_weights
from globalbandits.fitting.knowing import worth_of_knowing
from globalbandits.fitting.likelihood import END
from globalbandits.fitting.modelling import build_model
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.population import Drawn
from globalbandits.fitting.theta import quantile_scale, tabulate

if TYPE_CHECKING:
    from globalbandits.fitting.result import Fit

N_DRAWS = 20  # plausible means of each group
FIXED = "one arm always"


def replay(fit: "Fit", playing: Playing) -> Forecast:
    """Let policies play the groups of one half with curves from the other half, both ways.

    What a group's arms really earn is known only as far as its rewards tell: every run draws
    plausible means of one group, given its rewards and the whole fit.
    """
    panel = fit.panel
    scale = arm_scale(panel.arms, labels=not fit.ordered)
    order = np.random.default_rng(playing.seed).permutation(panel.n_groups)
    halves = order[: panel.n_groups // 2], order[panel.n_groups // 2 :]
    for half in halves:
        check_several(panel.take(half), "replay", "in each half of the history")
    first, second = (
        _play_half(fit, scale, half, np.sort(other), playing._replace(seed=playing.seed + number))
        for number, (half, other) in enumerate((halves, halves[::-1]))
    )
    return Forecast(
        first.times,
        {name: np.concatenate([runs, second.runs[name]]) for name, runs in first.runs.items()},
        FIXED,
        np.concatenate([first.fixed_gaps, second.fixed_gaps]),
    )


def _play_half(
    fit: "Fit", scale: ArmScale, half: IntArray, other: IntArray, playing: Playing
) -> Forecast:
    """Groups of one half, with all that policies know coming from the other."""
    seen = fit.panel.take(other)
    if fit.given_model is not None:
        learned = fit_given(seen, scale, read_curves(fit.given_model, fit.panel))
        model, theta_scale = fit.model, fit.theta_scale
    else:
        learned = fit_shared(seen, scale)
        model, theta_scale = build_model(tabulate(learned), fit.offered, fit.worth), None
    rng = np.random.default_rng(playing.seed)
    drawn = plausible_groups(fit.panel.take(half), fit.fitted, rng)
    env = world_of(drawn, learned, model, fit.offered, theta_scale or quantile_scale(learned))
    policies = candidates(learned.bias_scale, model)
    runs = max(2, playing.runs // 2)
    times, found = simulate_groups(env, policies, playing._replace(runs=runs))
    fixed = worth_of_knowing(learned, fit.worth, playing.seed).fixed
    true = fit.worth(drawn.means)
    return Forecast(times, found, FIXED, gaps_of(fixed, true, env, fit.offered))


def plausible_groups(panel: Panel, fitted: Fitted, rng: np.random.Generator) -> Drawn:
    """Twenty plausible sets of true means for each group, given its rewards.

    First a point of the population from the group's posterior, then every arm's mean, which is
    Beta: the curve weighs (1 - rho) / rho coins, n rewards weigh n / phi.
    """
    weights = posterior_weights(panel, fitted)
    below = np.cumsum(weights, axis=1)
    u = rng.random((panel.n_groups, N_DRAWS)) * below[:, -1:]
    points = np.stack(
        [np.searchsorted(row, each, side="right") for row, each in zip(below, u, strict=True)]
    ).ravel()
    rho = np.maximum(fitted.rho, 1e-9)
    curves = fitted.curves[points]
    strength = (1.0 - rho) / rho
    inside = np.clip(curves, END, 1.0 - END)
    coins = _repeated(panel.counts if panel.binary else panel.counts / fitted.phi)
    mean = _repeated(panel.means)
    means = rng.beta(
        strength * inside + coins * mean, strength * (1.0 - inside) + coins * (1.0 - mean)
    )
    return Drawn(points.astype(np.int64), curves, means)


def _repeated(cells: FloatArray) -> FloatArray:
    return np.repeat(cells, N_DRAWS, axis=0)
