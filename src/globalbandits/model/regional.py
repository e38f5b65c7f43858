"""The regional model: groups of arms, each group with its own unknown parameter.

This is the regional bandit of Wang, Zhou and Shen (2018). With one group it is a global bandit,
with one arm per group it is a classical bandit.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import stretched
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.tables import Curves, Peaks, Tables


class RegionalModel:
    """Groups of arms. The arms of a group share one unknown parameter; groups share nothing.

    Args:
        groups: One reward model per group, all with the same reward range. Arms are numbered
            consecutively: those of the first group, then those of the second, and so on.

    Examples:
        >>> import numpy as np
        >>> from globalbandits.model import RewardModel
        >>> city = RewardModel(lambda theta, p: p * (1 - p * theta), [0.5, 0.7])
        >>> land = RewardModel(lambda theta, p: p * (1 - theta) ** 2, [0.4, 0.6, 0.8])
        >>> model = RegionalModel([city, land])
        >>> model.n_arms, model.arms[2]
        (5, (1, 0.4))
        >>> model.means([0.5, 0.2]).round(3).tolist()
        [0.375, 0.455, 0.256, 0.384, 0.512]
        >>> model.best_arms([0.5, 0.2])
        (4,)
    """

    def __init__(self, groups: Sequence[RewardModel]) -> None:
        self._groups = tuple(groups)
        require(len(self._groups) >= 1, "groups", "hold at least one model", groups, ModelError)
        ranges = sorted({group.reward_range for group in self._groups})
        require(len(ranges) == 1, "groups", "have one reward range", ranges, ModelError)

    @property
    def groups(self) -> tuple[RewardModel, ...]:
        """One reward model per group."""
        return self._groups

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self._groups)

    @cached_property
    def arms(self) -> tuple[Any, ...]:
        """Pairs of group index and user-facing value, one per arm."""
        return tuple((number, arm) for number, g in enumerate(self._groups) for arm in g.arms)

    @property
    def n_arms(self) -> int:
        """Number of arms in all groups."""
        return len(self.arms)

    @cached_property
    def group_of(self) -> IntArray:
        """The group index of every arm, shape (n_arms,)."""
        return np.repeat(np.arange(self.n_groups), [group.n_arms for group in self._groups])

    @property
    def reward_range(self) -> tuple[float, float]:
        """The interval of rewards."""
        return self._groups[0].reward_range

    @property
    def tables(self) -> NoReturn:
        """An error: tables exist only for a model with one parameter."""
        self._refuse()

    @property
    def domain(self) -> NoReturn:
        """An error: every group has its own domain."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"model must have one parameter, got a regional model with {self.n_groups} of them: "
            "use RegionalUCB, or a policy on the model of one group"
        )

    def means(self, thetas: ArrayLike) -> FloatArray:
        """Return every arm's mean reward: thetas (..., n_groups) to means (..., n_arms)."""
        values = self._as_thetas(thetas)
        return np.concatenate(
            [group.means(values[..., i]) for i, group in enumerate(self._groups)], axis=-1
        )

    def _as_thetas(self, thetas: ArrayLike) -> FloatArray:
        values = np.asarray(thetas, dtype=float)
        fits = values.ndim >= 1 and values.shape[-1] == self.n_groups
        require(fits, "thetas", f"hold {self.n_groups} parameters", thetas, ModelError)
        return values

    def worth(self, thetas: ArrayLike) -> FloatArray:
        """Return every arm's worth: thetas (..., n_groups) to worth (..., n_arms)."""
        values = self._as_thetas(thetas)
        return np.concatenate(
            [group.worth(values[..., i]) for i, group in enumerate(self._groups)], axis=-1
        )

    def worth_of(self, arm: int, mean: ArrayLike) -> Any:
        """Return the worth of a decision for an arm (an index) whose mean reward is ``mean``."""
        index = as_integer("arm", arm, 0, ModelError)
        require(index < self.n_arms, "arm", f"be below {self.n_arms}", arm, ModelError)
        number = int(self.group_of[index])
        first = sum(group.n_arms for group in self._groups[:number])
        return self._groups[number].worth_of(index - first, mean)

    def gaps(self, thetas: ArrayLike) -> FloatArray:
        """Return how much less each arm is worth than the best arm, shape (..., n_arms)."""
        worth = self.worth(thetas)
        return np.asarray(worth.max(axis=-1, keepdims=True) - worth)

    def best_arms(self, thetas: ArrayLike) -> tuple[int, ...]:
        """Return the indices of the best arms at the groups' parameters, including ties."""
        return tuple(np.flatnonzero(self.gaps(thetas) == 0.0).tolist())

    @property
    def valued(self) -> bool:
        """Whether, in some group, the worth of a decision differs from its mean reward."""
        return any(group.valued for group in self._groups)

    @cached_property
    def worth_range(self) -> tuple[float, float]:
        """Smallest and largest worth of any arm at any mean in the reward range."""
        lows, highs = zip(*(group.worth_range for group in self._groups), strict=True)
        return min(lows), max(highs)

    def joint_curves(self, name: str) -> Curves:
        """Return the curves ``"mean"``, ``"inverse"``, ``"worth"`` or ``"value"`` of all arms.

        All groups share one unit scale of worth, that of `worth_range`.
        """
        parts: list[Curves] = [getattr(group.tables, name) for group in self._groups]
        if self.valued and name in ("worth", "value"):
            parts = [
                stretched(part, *self._scale(group))
                for part, group in zip(parts, self._groups, strict=True)
            ]
        n_columns = max(part.guide.shape[1] for part in parts)
        segments = np.cumsum([0] + [len(part.left) for part in parts])
        # A guide with fewer cells is padded with its last segment.
        guides = [
            np.pad(part.guide, ((0, 0), (0, n_columns - part.guide.shape[1])), mode="edge") + before
            for part, before in zip(parts, segments[:-1].tolist(), strict=True)
        ]
        joined = {
            field: np.concatenate([getattr(part, field) for part in parts])
            for field in Curves._fields
            if field != "guide"
        }
        return Curves(**joined, guide=np.concatenate(guides))

    def _scale(self, group: RewardModel) -> tuple[FloatArray, FloatArray]:
        """Return slope and offset from a group's unit scale of worth to that of all groups."""
        low, high = self.worth_range
        length = (high - low) or 1.0
        own_low, own_high = group.worth_range
        every = np.ones(group.n_arms)
        return every * ((own_high - own_low) / length), every * ((own_low - low) / length)

    @cached_property
    def joint_tables(self) -> Tables:
        """The tables of all arms. Envelope and domain are those of the first group only."""
        groups = [group.tables for group in self._groups]
        scales = [self._scale(group) for group in self._groups]
        slopes = [t.value_slope * slope for t, (slope, _) in zip(groups, scales, strict=True)]
        offsets = [
            offset + t.value_offset * slope
            for t, (slope, offset) in zip(groups, scales, strict=True)
        ]
        counts = np.concatenate([np.diff(tables.peaks.starts) for tables in groups])
        peaks = Peaks(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            np.concatenate([tables.peaks.positions for tables in groups]),
        )
        mean = self.joint_curves("mean")
        return groups[0]._replace(
            n_arms=self.n_arms,
            mean=mean,
            inverse=self.joint_curves("inverse"),
            worth=self.joint_curves("worth") if self.valued else mean,
            invertible=all(tables.invertible for tables in groups),
            valued=self.valued,
            value=self.joint_curves("value"),
            peaks=peaks,
            value_slope=np.concatenate(slopes),
            value_offset=np.concatenate(offsets),
            affine_increasing=all(tables.affine_increasing for tables in groups),
        )

    def observed_samples(self) -> dict[str, Any]:
        """Sample the groups' observed means, as plain data for a saved state."""
        return {"groups": [group.observed_samples() for group in self._groups]}

    def same_observed(self, samples: object, rows: Sequence[int | None] | None = None) -> bool:
        """Whether the `observed_samples` of another model show the same curves, group by group.

        ``rows`` must be None or all arms in order: arms cannot move between groups.
        """
        if rows is not None and list(rows) != list(range(self.n_arms)):
            raise ModelError(f"rows must be all arms in their order, got {list(rows)!r}")
        groups = samples.get("groups") if isinstance(samples, dict) else None
        if not isinstance(groups, list) or len(groups) != self.n_groups:
            return False
        pairs = zip(self._groups, groups, strict=True)
        return all(group.same_observed(found) for group, found in pairs)

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of the groups' fingerprints, for display and logs."""
        digest = hashlib.sha256()
        for group in self._groups:
            digest.update(group.fingerprint.encode())
        return digest.hexdigest()[:32]

    def __repr__(self) -> str:
        """The number of groups and arms."""
        return f"RegionalModel({self.n_groups} groups, {self.n_arms} arms)"
