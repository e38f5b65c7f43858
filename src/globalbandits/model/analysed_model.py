"""`AnalysedModel`: what models of one and of several unknown numbers have in common."""

import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import ModelError
from globalbandits.model.analysis.functions import ArmFunctions, PerArm
from globalbandits.model.analysis.values import Values
from globalbandits.model.description import save_description
from globalbandits.model.inputs import as_numbers

# Largest difference of equal models, as a share of the reward range or of an interval.
_SAME_TOLERANCE = 1e-7


class AnalysedModel:
    """Arms with mean rewards and worths that were analysed when the model was built.

    `RewardModel` and `VectorModel` build it and add the questions about their parameters.
    """

    # The name and parameters of a catalogue family; None for other models.
    _family: dict[str, Any] | None = None

    _arms: tuple[Any, ...]
    _reward_range: tuple[float, float]
    _value: ArmFunctions | None  # in the user's units; None if the worth is the mean reward
    _values: Values
    _tables: Any
    _remarks: tuple[str, ...]
    _target: float | None

    def _set_remarks(self, value: PerArm | None) -> None:
        """Store the target and the warnings of the function that gives the worth."""
        joint = None if value is None else value.joint
        remarks = getattr(joint, "remarks", None)
        self._remarks = (remarks(self._arms) if remarks else ()) + self._values.remarks
        self._target = getattr(joint, "target", None)

    @property
    def arms(self) -> tuple[Any, ...]:
        """The arms' user-facing values."""
        return self._arms

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self._arms)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The interval of rewards."""
        return self._reward_range

    @property
    def worth_range(self) -> tuple[float, float]:
        """Smallest and largest worth of any arm at any mean in the reward range."""
        return self._values.range

    @property
    def valued(self) -> bool:
        """Whether the worth of a decision differs from its mean reward."""
        return self._value is not None

    @property
    def observes_sales(self) -> bool:
        """Whether a reward is the purchase of one customer, 0 or 1: a family with a cost."""
        family = self._family or {}
        return "cost" in family or family.get("observe") == "sales"

    @property
    def target(self) -> float | None:
        """The best mean reward of a dose model with a target; None for other models."""
        return self._target

    def remember_family(
        self, name: str, parameters: dict[str, Any], remarks: tuple[str, ...] = ()
    ) -> None:
        """Store the name and the parameters of a catalogue family, for `to_dict`, and remarks."""
        self._family = {"family": name, "arms": list(self._arms)} | parameters
        self._remarks = remarks + self._remarks

    def remember_contexts(self, n_contexts: int) -> None:
        """Store that the arms are the cells of this number of contexts."""
        self._tables = self._tables._replace(n_contexts=n_contexts)

    def worth(self, theta: Any) -> FloatArray:
        """Return the worth of a decision for every arm, shape (..., n_arms)."""
        raise NotImplementedError

    def worth_of(self, arm: int, mean: ArrayLike) -> Any:
        """Return the worth of a decision for an arm (an index) whose mean reward is ``mean``.

        >>> import globalbandits as gb
        >>> gb.dose.emax([1.0, 2.0], target=0.25).worth_of(0, [0.15, 0.25]).round(2).tolist()
        [-0.1, 0.0]
        """
        arm = self._as_arm(arm)
        means = as_numbers("mean", mean)
        low, high = self._reward_range
        slack = 1e-9 * (high - low)
        inside = bool(((means >= low - slack) & (means <= high + slack)).all())
        require(inside, "mean", f"lie in the reward range [{low:g}, {high:g}]", mean, ModelError)
        self._check_unchanged()
        means = np.clip(means, low, high)
        worth = means if self._value is None else self._value(np.array(arm), means)
        return float(worth) if means.ndim == 0 else worth

    def gaps(self, theta: Any) -> FloatArray:
        """Return how much less each arm is worth than the best one, shape (..., n_arms)."""
        worth = self.worth(theta)
        return np.asarray(worth.max(axis=-1, keepdims=True) - worth)

    def _as_arm(self, arm: object) -> int:
        index = as_integer("arm", arm, 0, ModelError)
        require(index < self.n_arms, "arm", f"be below {self.n_arms}", arm, ModelError)
        return index

    def _check_unchanged(self) -> None:
        """Raise an error if the functions have changed since the model was built."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file; `globalbandits.load_model` reads it."""
        save_description(self.to_dict(), path)

    # Models are immutable.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


# Comparison: models are compared by samples of their means, to a tolerance, because a bit of
# rounding must not make a saved state unreadable.


def same_samples(
    mine: Mapping[str, Any],
    other: object,
    intervals: Callable[[Any], Sequence[Any]],
    rows: Sequence[int | None] | None = None,
) -> bool:
    """Whether the `observed_samples` of two models agree.

    Args:
        mine: The samples of one model.
        other: The samples of the other model, possibly read from a file.
        intervals: Returns the intervals of a sampled domain; a ValueError says that the domain
            has other parameters.
        rows: As in `RewardModel.same_observed`.
    """
    if not isinstance(other, Mapping):
        return False
    try:
        spans, other_spans = (
            np.array([*intervals(side["domain"]), side["reward_range"]], float)
            for side in (mine, other)
        )
        curves, others = (np.array(side["means"], float) for side in (mine, other))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return False
    if other_spans.shape != spans.shape or others.ndim != 2 or others.shape[1] != curves.shape[1]:
        return False
    length = spans[:, 1:] - spans[:, :1]
    if not (np.abs(spans - other_spans) <= _SAME_TOLERANCE * length).all():
        return False
    if rows is None:
        rows = range(len(others))
        if len(others) != len(curves):
            return False
    pairs = [(arm, row) for arm, row in enumerate(rows) if row is not None]
    if len(rows) != len(curves) or any(not 0 <= row < len(others) for _, row in pairs):
        raise ModelError(
            f"rows must name a row of the samples, or None, for each of {len(curves)} arms, "
            f"got {list(rows)!r}"
        )
    if not pairs:
        return True
    own, theirs = np.array(pairs, dtype=np.int64).T
    return bool((np.abs(curves[own] - others[theirs]) <= _SAME_TOLERANCE).all())


def digest(
    arms: tuple[Any, ...], domain: Any, reward_range: tuple[float, float], curves: FloatArray
) -> str:
    """Return 32 hexadecimal digits that identify a model with these unit means."""
    content = hashlib.sha256()
    content.update(json.dumps([[repr(arm) for arm in arms], domain, reward_range]).encode())
    content.update(np.rint(curves * 1e9).astype("<i8").tobytes())
    return content.hexdigest()[:32]


def can_be_pickled(functions: Sequence[Any]) -> bool:
    """Whether another process can read these functions from a pickle."""
    try:
        raw = pickle.dumps(functions)
    except Exception:
        # Pickling may run the user's code, which may raise any exception.
        return False
    # Another process cannot import a function that was typed at a prompt.
    return b"__main__" not in raw or hasattr(sys.modules["__main__"], "__file__")
