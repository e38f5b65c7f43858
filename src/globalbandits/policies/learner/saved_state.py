"""A learner's state as a plain dict that survives JSON bit for bit, and back.

What is saved: the statistics, the fields of the policy's state that do not follow from them,
the evidence, the generator, and where the learner comes from. All else is derived again.
"""

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._encoding import check_keys, decode_array, decode_tuple, encode_tuple, plain
from globalbandits._random import Stream, generator
from globalbandits._types import FloatArray
from globalbandits._validation import as_seed, show
from globalbandits.errors import PolicyError, StateError
from globalbandits.evidence.evidence import decode_statistics
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.policies.wrappers.inner_policy import (
    check_kept,
    derive,
)
from globalbandits.statistics import Statistics, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


FORMAT = "globalbandits.learner"
VERSION = 2
KEYS = (
    "format",
    "version",
    "policy",
    "model",
    "generator",
    "lineage",
    "statistics",
    "kept",
    "evidence",
)

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def check_header(state: Any) -> None:
    """Refuse what is not a learner's state, or is one of another version of the format."""
    kind = state.get("format") if isinstance(state, Mapping) else None
    if kind != FORMAT:
        raise StateError(f"state must be a dict with format {FORMAT!r}, got {show(kind)}")
    version = state.get("version")
    if version != VERSION or type(version) is not int:
        raise StateError(
            f"state must have version {VERSION}, got {show(version)}: "
            "states of other versions cannot be read; tell the learner its rewards again"
        )
    check_keys("state", state, KEYS)


def kept_fields(rules: Rules, state: State) -> tuple[str, ...]:
    """The fields of a policy's state to be saved: all of them where order matters."""
    return tuple(state._fields) if rules.rebuild is None else rules.kept


def encode_kept(rules: Rules, state: State) -> dict[str, Any]:
    """What of a policy's state does not follow from the statistics."""
    return {name: encode_tuple(getattr(state, name)) for name in kept_fields(rules, state)}


def decode_kept(rules: Rules, setup: Setup, stats: Statistics, saved: Any) -> State:
    """The policy's state: derived from the statistics and the kept fields.

    Raises:
        StateError: if the kept fields cannot be those of a learner with these statistics.
    """
    derived = derive(rules, setup, stats)
    names = kept_fields(rules, derived)
    check_keys("kept", saved, names)
    fields = {
        name: decode_tuple(f"kept.{name}", saved[name], getattr(derived, name)) for name in names
    }
    state = derived._replace(**fields)
    check_kept(rules, setup, stats, state, derived)
    return state


def as_generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """The generator of a new learner: a given one, one of a seed, or one of fresh entropy."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return generator(Stream.LEARNER, as_seed(seed, PolicyError))


def encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as plain numbers and lists."""
    encoded: dict[str, Any] = plain(rng.bit_generator.state)
    return encoded


def decode_generator(saved: Any) -> np.random.Generator:
    """The generator that goes on where the saved one stopped."""
    kind = saved.get("bit_generator") if isinstance(saved, Mapping) else None
    if not isinstance(kind, str) or kind not in _BIT_GENERATORS:
        known = ", ".join(_BIT_GENERATORS)
        raise StateError(f"generator must be the state of one of {known}, got {show(saved)}")
    bits = getattr(np.random, kind)()
    try:
        # Numbers of thousands of digits, or lists nested a thousand deep, fail in their own ways.
        bits.state = saved
        same = plain(bits.state) == saved
    except Exception as error:
        raise StateError(
            f"generator must be a state of {kind}, got {show(saved)}: {show(error)}"
        ) from None
    if not same:
        raise StateError(f"generator must be a state of {kind}, got {show(saved)}")
    return np.random.Generator(bits)


def decode_policy(saved: Any) -> Policy:
    """The policy of a saved state."""
    if not isinstance(saved, Mapping):
        raise StateError(f"policy must be a dict, got {show(saved)}")
    try:
        return Policy.from_dict(saved)
    except (PolicyError, TypeError, OverflowError, RecursionError) as error:
        raise StateError(f"policy must be a known spec, got {show(saved)}: {show(error)}") from None


__all__ = [
    "FORMAT",
    "VERSION",
    "as_generator",
    "check_header",
    "decode_array",
    "decode_generator",
    "decode_kept",
    "decode_policy",
    "decode_statistics",
    "encode_generator",
    "encode_kept",
    "encode_tuple",
]


# Where a learner's rewards come from, so that a merge counts a common past once.
#
# A learner that is saved, forked or merged leaves a *mark*: a random name for all it has seen up
# to then. A learner that was restored or forked remembers what it had seen at its *base*, the
# mark it started from; so does one that was merged into another. Two learners can be added if
# one's base is a mark of the other and neither holds anything the other has gained since: then
# what was seen at the base is counted once. Learners without any common origin are added whole.
# Whatever else is asked cannot be known, and is refused.

_N_BYTES = 8  # of a mark
_MOST_MARKS = 256  # older ones are dropped, but never the origins


class Seen(NamedTuple):
    """All that adds up in a learner."""

    stats: Statistics
    histogram: FloatArray  # (n_arms, n_bins + 1)


class Base(NamedTuple):
    """What a learner had seen when it was restored, forked or last merged into another."""

    marks: frozenset[str]  # its own among them
    mark: str
    seen: Seen


class Lineage:
    """The marks of one learner, and its base."""

    def __init__(
        self, origins: frozenset[str], marks: tuple[str, ...], base: Base | None, version: int
    ) -> None:
        self._origins = origins  # of all learners whose rewards are in this one
        self._marks = marks  # the latest last
        self._base = base
        self._marked = version  # the learner's version at the last mark

    @classmethod
    def new(cls) -> "Lineage":
        """The lineage of a learner that starts with nothing."""
        return cls(frozenset([_new_mark()]), (), None, -1)

    def mark(self, version: int) -> str:
        """A mark of the present; ``version`` tells whether anything has changed since the last."""
        if not self._marks or version != self._marked:
            self._marks = (*self._marks, _new_mark())[-_MOST_MARKS:]
            self._marked = version
        return self._marks[-1]

    def rebase(self, seen: Seen, version: int) -> None:
        """What has been seen so far is in another learner now: the next merge starts here."""
        mark = self.mark(version)
        self._base = Base(frozenset(self._marks), mark, seen)

    def common_past(self, other: "Lineage") -> Seen | None:
        """What is in both learners, when ``other`` is merged into this one; None for nothing.

        Raises:
            StateError: if it cannot be known.
        """
        if not self._origins & other._origins:
            return None
        for one, two in ((other, self), (self, other)):
            base = one._base
            if base is not None and base.mark in two._marks:
                ones, twos = set(one._marks), set(two._marks)
                if not (ones - base.marks) & twos and not (twos - base.marks) & ones:
                    return base.seen
        raise StateError(
            "learners to merge must share no more than a state that one of them started from, "
            "got two that share rewards in a way that cannot be told apart"
        )

    def join(self, other: "Lineage") -> None:
        """Take over the marks of a learner that is being merged into this one."""
        self._origins |= other._origins
        mine = set(self._marks)
        added = tuple(mark for mark in other._marks if mark not in mine)
        self._marks = (*added, *self._marks)[-_MOST_MARKS:]

    def encode(self, version: int) -> dict[str, Any]:
        """The lineage as plain lists, with a mark of the present."""
        self.mark(version)
        return {"origins": sorted(self._origins), "marks": list(self._marks)}

    @classmethod
    def decode(cls, saved: Any, seen: Seen) -> "Lineage":
        """The lineage of a learner of version 0, restored with this much seen."""
        check_keys("lineage", saved, ("origins", "marks"))
        origins = frozenset(_as_marks("lineage.origins", saved["origins"]))
        marks = _as_marks("lineage.marks", saved["marks"])
        return cls(origins, marks, Base(frozenset(marks), marks[-1], seen), 0)


def _new_mark() -> str:
    return secrets.token_hex(_N_BYTES)


def _as_marks(name: str, saved: Any) -> tuple[str, ...]:
    good = isinstance(saved, list) and len(saved) > 0
    if not good or not all(isinstance(mark, str) and len(mark) == 2 * _N_BYTES for mark in saved):
        raise StateError(
            f"{name} must be a list of texts of {2 * _N_BYTES} characters, got {show(saved)}"
        )
    return tuple(saved)


# Which model a learner's rewards belong to: the arms' values, and what is observed of them.
#
# What decisions are worth is no part of it, and neither is the last bit of a curve: a changed
# cost or target, or the same formula written in another way, does not part a learner from its
# data.


def encode_model(model: "RewardModel") -> dict[str, Any]:
    """The arms' values and samples of what is observed, as plain data."""
    return {"arms": [_plain_value(arm) for arm in model.arms], "observed": model.observed_samples()}


def check_same(model: "RewardModel", saved: Any) -> None:
    """Refuse rewards of other arms, or of arms that other curves describe."""
    arms = saved_arms(saved)
    mine = [_plain_value(arm) for arm in model.arms]
    if arms != mine:
        raise StateError(f"state must be of a model with the arms {show(mine)}, got {show(arms)}")
    if not model.same_observed(saved["observed"]):
        raise StateError(
            "state must be of a model with the same curves, domain and reward range, "
            f"got another one with the arms {show(arms)}"
        )


def match_arms(model: "RewardModel", saved: Any, stats: Statistics) -> list[int | None]:
    """For each arm of a model the arm of the saved one with the same value, None for a new one.

    Args:
        model: the model to move to.
        saved: what `encode_model` wrote.
        stats: of the saved model's arms.

    Raises:
        StateError: if the curves of a common arm differ, or an arm with rewards would be lost.
    """
    arms = saved_arms(saved)
    mine = [_plain_value(arm) for arm in model.arms]
    rows = [arms.index(arm) if arm in arms else None for arm in mine]
    lost = [arm for row, arm in enumerate(arms) if row not in rows and stats.counts[row] > 0]
    if lost:
        raise StateError(
            f"model must keep the arms that have rewards, got one without {show(lost)}"
        )
    if not model.same_observed(saved["observed"], rows):
        raise StateError(
            "model must have the same domain and reward range and the same curves for the arms "
            f"{show([arm for arm, row in zip(mine, rows, strict=True) if row is not None])}, "
            "got another one"
        )
    return rows


def move(stats: Statistics, rows: list[int | None]) -> Statistics:
    """Statistics with arms in other places."""
    moved = no_statistics(len(rows))
    for arm, row in enumerate(rows):
        if row is not None:
            moved.counts[arm] = stats.counts[row]
            moved.sums[arm] = stats.sums[row]
            moved.squares[arm] = stats.squares[row]
    moved.total[0] = stats.total[0]
    return moved


def saved_arms(saved: Any) -> list[Any]:
    """The arms of a saved model."""
    check_keys("model", saved, ("arms", "observed"))
    arms, observed = saved["arms"], saved["observed"]
    if not isinstance(arms, list) or not isinstance(observed, Mapping):
        raise StateError(f"model must have a list of arms and their samples, got {show(saved)}")
    return arms


def _plain_value(arm: Any) -> Any:
    """An arm's value as JSON gives it back; whatever is no number is its text."""
    if isinstance(arm, (bool, str)):
        return arm
    try:
        return float(arm)
    except (TypeError, ValueError, OverflowError):
        return repr(arm)
