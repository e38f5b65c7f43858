"""Traps: parameters at which greedy play stays with a wrong arm.

Let theta be true and theta' believed. If the best arm j at theta' is not best at theta, but has
the same mean at both, then playing j confirms theta'. With one number and monotone means there is
no such pair. With two there nearly always is ("incomplete learning": McLennan 1984; Harrison,
Keskin and Zeevi 2012).

A trap is *absorbing* if, given only its own mean, arm j has the largest expected worth under
a uniform prior: a greedy policy that knows the mean of j exactly, and nothing else, stays with j.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.model.vector.tabulation import UnitModel, grid_points
from globalbandits.plots.labels import printed_label

# Cells along each parameter.
_CELLS = {1: 1024, 2: 64, 3: 24}

# Bins of the mean of the arm that is played.
_N_BINS = 96

# Smaller losses, as a share of the scale of worth, are ignored.
SMALL_LOSS = 0.01


class TrapExample(NamedTuple):
    """A parameter vector at which greedy play can stay with a wrong arm."""

    truth: dict[str, float]
    belief: dict[str, float]
    arm: Any  # the value of the arm that is played
    mean: float  # its mean, at the truth and at the belief
    best_arm: Any  # the value of the arm that is best at the truth
    loss: float  # the worth of the best arm less that of the played one


class Traps(NamedTuple):
    """Where greedy play stays with a wrong arm and loses more than 1 % of the scale of worth."""

    absorbing: float  # share of the box at which a greedy policy that knows one arm stays with it
    possible: float  # share of the box at which some wrong belief is confirmed by its best arm
    mean_loss: float  # average loss of absorbing traps over the box, as a share of the scale
    scale: float  # the scale of worth: from its 1 % quantile to the 99 % quantile of the best
    losses: FloatArray  # (cells,) * n_parameters: the loss, as a share of the scale
    example: TrapExample | None

    def __str__(self) -> str:
        """The share of the box, and the example."""
        if self.example is None:
            return "No greedy policy stays with a wrong arm."
        found = self.example
        true, believed = (
            ", ".join(f"{name} {number:.3g}" for name, number in theta.items())
            for theta in (found.truth, found.belief)
        )
        return (
            f"On {self.absorbing:.0%} of the box a greedy policy can stay with a wrong arm. "
            f"Example: {true} are true, {believed} are believed. "
            f"The mean of arm {printed_label(found.arm)} is {found.mean:.4g} at both, "
            f"so nothing contradicts; arm {printed_label(found.best_arm)} would be worth "
            f"{found.loss:.4g} more."
        )


def find_traps(
    model: UnitModel,
    parameters: tuple[str, ...],
    arms: tuple[Any, ...],
    reward_range: tuple[float, float],
) -> Traps:
    """Search the cells of the box for traps, with bins of the mean of each arm."""
    n_cells = _CELLS[model.n_parameters]
    points = grid_points(model.n_parameters, n_cells, middles=True)
    means = model.means(points)
    worth = model.worth(means)
    best, top = worth.argmax(axis=1), worth.max(axis=1)
    scale = float(np.quantile(top, 0.99) - np.quantile(worth, 0.01))
    possible, absorbing = np.zeros(len(points)), np.zeros(len(points))
    largest, found = 0.0, None
    for arm in range(model.n_arms):
        low, high = float(means[:, arm].min()), float(means[:, arm].max())
        if high <= low:
            continue
        bins = np.minimum((means[:, arm] - low) / (high - low) * _N_BINS, _N_BINS - 1).astype(int)
        number = np.maximum(np.bincount(bins, minlength=_N_BINS), 1)
        expected = np.stack(
            [np.bincount(bins, worth[:, k], minlength=_N_BINS) for k in range(model.n_arms)], axis=1
        )
        stays = (expected / number[:, None]).argmax(axis=1) == arm
        believed = np.bincount(bins, best == arm, minlength=_N_BINS) > 0
        loss = np.where(best == arm, 0.0, top - worth[:, arm])
        confirmed = np.where(believed[bins], loss, 0.0)
        kept = np.where(stays[bins], confirmed, 0.0)
        possible, absorbing = np.maximum(possible, confirmed), np.maximum(absorbing, kept)
        if kept.max() > largest:
            truth = int(kept.argmax())
            same = np.flatnonzero((bins == bins[truth]) & (best == arm))
            belief = int(same[np.abs(means[same, arm] - means[truth, arm]).argmin()])
            largest, found = float(kept[truth]), (arm, truth, belief)
    small = SMALL_LOSS * scale
    example = None
    if found is not None and largest > small:
        arm, truth, belief = found
        least, most = reward_range
        example = TrapExample(
            truth=_named(model, parameters, points[truth]),
            belief=_named(model, parameters, points[belief]),
            arm=arms[arm],
            mean=float(least + (most - least) * means[truth, arm]),
            best_arm=arms[int(best[truth])],
            loss=largest,
        )
    shape = (n_cells,) * model.n_parameters
    size = scale if scale > 0.0 else 1.0
    return Traps(
        absorbing=float((absorbing > small).mean()),
        possible=float((possible > small).mean()),
        mean_loss=float(absorbing.mean() / size),
        scale=scale,
        losses=absorbing.reshape(shape) / size,
        example=example,
    )


def _named(model: UnitModel, names: tuple[str, ...], point: FloatArray) -> dict[str, float]:
    return dict(zip(names, model.thetas(point).tolist(), strict=True))
