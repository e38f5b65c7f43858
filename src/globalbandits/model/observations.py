"""What a model observes, and whether it is still, or elsewhere, the same."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError
from globalbandits.model.curves import Evaluate
from globalbandits.model.functions import ArmFunctions
from globalbandits.model.identity import N_SAMPLES, as_samples, is_same, short_text
from globalbandits.model.intervals import as_thetas
from globalbandits.model.recorder import unit_means
from globalbandits.model.worth import Worth

_PROBES = (0.2360679774997897, 0.8541019662496847)  # of the domain: where changes are watched


class Observations:
    """The part of a reward model that is about the mean of what is observed."""

    _arms: tuple[Any, ...]
    _domain: tuple[float, float]
    _reward_range: tuple[float, float]
    _observed: ArmFunctions
    _value: ArmFunctions | None
    _worth: Worth

    def means(self, theta: ArrayLike) -> FloatArray:
        """Mean reward of every arm at theta: shape (..., n_arms)."""
        self._watch()
        thetas = as_thetas(theta, self._domain)
        return self._observed(np.arange(len(self._arms)), thetas[..., np.newaxis])

    @cached_property
    def fingerprint(self) -> str:
        """A short text to show and to log: arms, domain, range and observed curves.

        Two models that differ in the last bit of a mean may have different ones: never refuse
        anything because of it. `same_observed` compares models.
        """
        return short_text(self._arms, self._domain, self._reward_range, self._sampled_curves())

    def observed_samples(self) -> dict[str, Any]:
        """What this model observes, as plain data that a saved state can carry.

        Domain, reward range, and 33 samples of each arm's mean on the unit scale. Arms' names
        and what decisions are worth are not part of it.
        """
        return as_samples(self._sampled_curves(), self._domain, self._reward_range)

    def same_observed(self, samples: object, rows: Sequence[int | None] | None = None) -> bool:
        """Whether `observed_samples` of another model show the same curves, to 1e-7.

        Args:
            samples: What `observed_samples` gave, perhaps read from a file.
            rows: For each arm of this model the arm of the other one to compare it with, or None
                for an arm the other one does not have. By default the same arms in order.

        >>> import globalbandits as gb
        >>> one = gb.RewardModel(lambda t, q: q * (1 - q * t), [0.4, 0.6])
        >>> other = gb.RewardModel(lambda t, q: q - q * q * t, [0.4, 0.6])
        >>> one.same_observed(other.observed_samples())
        True
        """
        return is_same(self.observed_samples(), samples, rows)

    def _sampled_curves(self) -> FloatArray:
        self._watch()
        grid = np.linspace(*self._domain, N_SAMPLES)
        unit_mean = unit_means(self._observed, self._reward_range)
        return unit_mean(np.arange(len(self._arms))[:, None], np.tile(grid, (len(self._arms), 1)))

    def _remember(self) -> None:
        """Note what the functions are now, at two places."""
        low, high = self._domain
        self._probes = low + np.array(_PROBES) * (high - low)
        every = np.arange(len(self._arms)), self._probes[:, np.newaxis]
        self._seen = {"mean": self._observed(*every)}
        if self._value is not None:
            self._seen["value"] = self._worth(*every)

    def _watch(self) -> None:
        """Refuse functions that have changed since their tables were made."""
        arms = np.arange(len(self._arms))
        for what, was in self._seen.items():
            source: Evaluate = self._observed if what == "mean" else self._worth
            now = source(arms, self._probes[:, np.newaxis])
            changed = ~(np.abs(now - was) <= 1e-9 * np.maximum(np.abs(was), 1.0))
            if changed.any():
                row, arm = np.argwhere(changed)[0]
                raise ModelError(
                    f"{what} of arm {self._arms[arm]!r} must not change after the model was "
                    f"built, got {now[row, arm]:.6g}, was {was[row, arm]:.6g} "
                    f"at theta = {self._probes[row]:.6g}"
                )
